#include "control/helpers/owner_record.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "kube/control/finalizers.h"

namespace kube::internal {
namespace {

constexpr int kAttempts = 5;  // while others write the owner

bool Has(const std::vector<Gvk>& kinds, const GroupKind& kind) {
  return std::any_of(kinds.begin(), kinds.end(), [&](const Gvk& known) { return known.group_kind() == kind; });
}

// "v1/ConfigMap,rbac.authorization.k8s.io/v1/ClusterRole"
std::vector<Gvk> ParseKinds(std::string_view text) {
  std::vector<Gvk> kinds;
  for (std::size_t start = 0; start < text.size() && kinds.size() < OwnerRecord::kMostKinds;) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string_view item = text.substr(start, end - start);
    start = end + 1;
    const std::size_t slash = item.rfind('/');
    if (slash == std::string_view::npos || slash + 1 == item.size()) continue;
    Result<Gvk> gvk = Gvk::Parse(item.substr(0, slash), item.substr(slash + 1));
    if (gvk && !gvk->version.empty() && !Has(kinds, gvk->group_kind())) kinds.push_back(*std::move(gvk));
  }
  return kinds;
}

std::string FormatKinds(const std::vector<Gvk>& kinds) {
  std::string out;
  for (const Gvk& kind : kinds) out += (out.empty() ? "" : ",") + kind.api_version().str() + "/" + kind.kind.str();
  return out;
}

Patch RecordPatch(const meta::v1::ObjectMeta& owner, const std::string& name, const std::vector<Gvk>& kinds) {
  Value metadata = Value::Object();
  metadata["resourceVersion"] = owner.resource_version;  // of one object only, so this cannot hit a later one of that name
  List<Value> finalizers;
  for (const String& finalizer : owner.finalizers) {
    if (finalizer != name) finalizers.push_back(finalizer);
  }
  if (!kinds.empty()) finalizers.push_back(Value(name));
  metadata["finalizers"] = Value(std::move(finalizers));
  metadata["annotations"][name] = kinds.empty() ? Value() : Value(FormatKinds(kinds));
  return Patch::Merge(Value::Object({{"metadata", std::move(metadata)}}));
}

}  // namespace

OwnerRecord OwnerRecord::Of(const meta::v1::ObjectMeta& owner, const std::string& name) {
  return {.finalizer = HasName(owner.finalizers, name), .kinds = ParseKinds(owner.annotations.Get(name).view())};
}

bool OwnerRecord::Covers(const std::vector<Gvk>& wanted) const {
  return wanted.empty() ||
         (finalizer && std::all_of(wanted.begin(), wanted.end(), [&](const Gvk& kind) { return Has(kinds, kind.group_kind()); }));
}

Result<bool> WriteOwnerRecord(const Context& ctx, const ResourceClient<DynamicObject>& owners, const std::string& name,
                              const RecordEdit& edit, const PatchOptions& options, meta::v1::ObjectMeta& owner, int& writes) {
  for (int attempt = 1;; ++attempt) {
    const OwnerRecord record = OwnerRecord::Of(owner, name);
    if (!edit.add.empty() && !owner.deletion_timestamp.IsZero()) return true;
    std::vector<Gvk> all = record.kinds;
    std::erase_if(all, [&](const Gvk& kind) { return Has(edit.drop, kind.group_kind()); });
    for (const Gvk& kind : edit.add) {
      if (!Has(all, kind.group_kind())) all.push_back(kind);
    }
    if (all.size() > OwnerRecord::kMostKinds) {
      return Error::Invalid("more than " + std::to_string(OwnerRecord::kMostKinds) + " kinds of children outside of the owner's namespace");
    }
    if (record.finalizer != all.empty() && owner.annotations.Get(name) == FormatKinds(all)) return true;
    ++writes;
    Result<DynamicObject> patched = owners.Patch(ctx, KeyOf(owner), RecordPatch(owner, name, all), options);
    if (patched) {
      owner = patched->metadata();
      return true;
    }
    if (IsNotFound(patched.error())) return false;
    if (!IsConflict(patched.error()) || attempt == kAttempts) return patched.error();
    Result<DynamicObject> live = owners.Get(ctx, KeyOf(owner));
    if (!live && !IsNotFound(live.error())) return live.error();
    if (!live || live->uid() != owner.uid) return false;
    owner = live->metadata();
  }
}

}  // namespace kube::internal
