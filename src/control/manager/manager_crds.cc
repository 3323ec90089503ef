#include "control/manager/manager_crds.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "control/crds/crd_client.h"
#include "kube/base/log.h"

namespace kube::internal {
namespace {

Logger Log() { return Logger("control.crds"); }

bool IsMigrated(const DynamicObject& crd) {
  const List<Value>& stored = crd["status"]["storedVersions"].list();
  for (const Value& version : crd["spec"]["versions"].list()) {
    if (version["storage"].bool_value()) return stored.size() == 1 && stored[0] == version["name"];
  }
  return false;
}

Result<void> Complete(std::vector<CrdSource>& crds, const ManagerCrds::Change& change) {
  for (CrdSource& source : crds) {
    if (Result<void> changed = change(source.crd); !changed)
      return source.where.empty() ? changed.error() : changed.error().WithContext(source.where);
  }
  return {};
}

// Objects would be served as they are stored. False if the live definition cannot be read.
bool LacksConversion(const Context& ctx, const Client& client, const DynamicObject& wanted) {
  if (!ConvertsByWebhook(wanted)) return false;
  const Result<DynamicObject> crd = CrdClient(client).Get(ctx, {"", wanted.name()});
  return crd && !ConvertsByWebhook(*crd);
}

// Waits until the definition has not changed for `delay`. Returns at once if no object has to be rewritten.
Result<void> Settle(const Context& ctx, const Client& client, const std::string& name, std::chrono::nanoseconds delay) {
  if (delay <= std::chrono::nanoseconds(0)) return {};
  std::int64_t generation = -1;
  for (;;) {
    const Result<DynamicObject> crd = CrdClient(client).Get(ctx, {"", String(name)});
    if (!crd) return crd.error();
    if (IsMigrated(*crd) || crd->generation() == generation) return {};
    generation = crd->generation();
    if (Result<void> slept = ctx.SleepFor(delay); !slept) return slept;
  }
}

}  // namespace

Result<void> ManagerCrds::Add(ManagedCrds crds) {
  for (const CrdSource& source : crds.crds) {
    const std::string name = source.crd.name().str();
    if (name.empty() || source.crd.kind() != "CustomResourceDefinition") {
      return Error::Invalid(fmt::format("{}: not a CustomResourceDefinition with a name", source.where.empty() ? name : source.where));
    }
    for (const ManagedCrds& set : sets_) {
      const bool known = std::any_of(set.crds.begin(), set.crds.end(), [&](const CrdSource& s) { return s.crd.name() == name; });
      if (known) return Error::Invalid(fmt::format("the manager installs the CRD {} already", name));
    }
  }
  if (crds.crds.empty()) return Error::Invalid("ManagedCrds has no definitions");
  sets_.push_back(std::move(crds));
  return {};
}

std::vector<AccessNeed> ManagerCrds::needs() const {
  std::vector<AccessNeed> out;
  for (const ManagedCrds& set : sets_) {
    std::vector<AccessNeed> needs = NeedsOf(set);
    out.insert(out.end(), std::make_move_iterator(needs.begin()), std::make_move_iterator(needs.end()));
  }
  return out;
}

Result<void> ManagerCrds::ForEach(const Change& change) {
  for (ManagedCrds& set : sets_) {
    if (Result<void> changed = Complete(set.crds, change); !changed) return changed;
  }
  return {};
}

const DynamicObject* ManagerCrds::Find(std::string_view name) const {
  for (const ManagedCrds& set : sets_) {
    for (const CrdSource& source : set.crds) {
      if (source.crd.name().view() == name) return &source.crd;
    }
  }
  return nullptr;
}

Result<void> ManagerCrds::Install(const Context& ctx, const Change& change) const {
  for (const ManagedCrds& set : sets_) {
    std::vector<CrdSource> crds = set.crds;
    if (Result<void> changed = Complete(crds, change); !changed) return changed;
    const Result<std::vector<InstalledCrd>> installed = InstallCrds(ctx, client_, crds, set.install);
    if (installed) {
      for (const InstalledCrd& crd : *installed) {
        if (crd.change == CrdChange::kUnchanged) continue;
        Log().Info("Installed a CRD", {{"name", crd.name}, {"change", ToString(crd.change)}});
        for (const CrdFinding& finding : crd.findings) {
          if (finding.breaks()) Log().Warn("The new CRD has a breaking change", {{"name", crd.name}, {"finding", finding.ToString()}});
        }
      }
      continue;
    }
    if (!IsForbidden(installed.error())) return installed.error();
    Result<std::vector<std::string>> missing = FindUnservedCrds(ctx, client_, crds);
    if (!missing) return missing.error().WithContext(installed.error().ToString());
    for (const CrdSource& source : crds) {
      if (LacksConversion(ctx, client_, source.crd)) missing->push_back(fmt::format("the conversion of {}", source.crd.name()));
    }
    const AccessReport rules{.missing = NeedsOf(set)};
    if (!missing->empty()) {
      return installed.error().WithContext(fmt::format("CRDs are missing ({}) and this program may not install them; it needs {}",
                                                       fmt::join(*missing, ", "), fmt::join(rules.Rules(), "; ")));
    }
    Log().Warn("This program may not install its CRDs; it continues with the installed ones, which may be older",
               {{"err", installed.error()}, {"rules", rules.Rules()}});
  }
  return {};
}

Result<void> ManagerCrds::Await(const Context& ctx) const {
  for (const ManagedCrds& set : sets_) {
    if (Result<void> there = WaitForCrds(ctx, client_, set.crds); !there) return there;
  }
  return {};
}

bool ManagerCrds::migrates() const {
  return std::any_of(sets_.begin(), sets_.end(), [](const ManagedCrds& set) { return set.migrate_storage; });
}

void ManagerCrds::Migrate(const Context& ctx) const {
  for (const ManagedCrds& set : sets_) {
    if (!set.migrate_storage) continue;
    for (const CrdSource& source : set.crds) {
      const std::string name = source.crd.name().str();
      const Result<void> settled = Settle(ctx, client_, name, set.migration_delay);
      const Result<StorageMigration> done =
          settled ? MigrateStorage(ctx, client_, name, set.migration) : Result<StorageMigration>(settled.error());
      if (ctx.stopped()) return;
      if (!done) {
        Log().Error("The storage of a CRD could not be migrated", {{"name", name}, {"err", done.error()}});
      } else if (!done->trimmed) {
        Log().Warn("The storage of a CRD is not migrated",
                   {{"name", name}, {"why", done->not_trimmed_because}, {"failures", done->failures}});
      } else if (done->rewritten + done->changed_by_others != 0) {
        Log().Info("Migrated the storage of a CRD", {{"name", name}, {"version", done->storage_version}, {"objects", done->rewritten}});
      }
    }
  }
}

}  // namespace kube::internal
