#include "kube/control/crd_compat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "control/crds/schema_compat.h"
#include "kube/codec/json.h"

namespace kube {
namespace {

using internal::FindingSink;

constexpr CrdSeverity kHarmless = CrdSeverity::kHarmless;
constexpr CrdSeverity kClients = CrdSeverity::kBreaksClients;
constexpr CrdSeverity kStored = CrdSeverity::kBreaksStored;

std::string Text(const Value& value) { return value.is_string() ? value.string_value().str() : ToJson(value); }

std::map<std::string, Value> VersionsOf(const Value& crd) {
  std::map<std::string, Value> out;
  for (const Value& version : crd["spec"]["versions"].list()) out[version["name"].string_value().str()] = version;
  return out;
}

const Value* StorageVersionOf(const Value& crd) {
  for (const Value& version : crd["spec"]["versions"].list()) {
    if (version["storage"].bool_value()) return &version;
  }
  return nullptr;
}

std::set<std::string> StoredVersionsOf(const Value& crd) {
  std::set<std::string> out;
  for (const Value& version : crd["status"]["storedVersions"].list()) out.insert(version.string_value().str());
  if (const Value* storage = StorageVersionOf(crd)) out.insert((*storage)["name"].string_value().str());
  return out;
}

std::string_view ConversionOf(const Value& crd) {
  std::string_view strategy = crd["spec"]["conversion"]["strategy"].string_value();
  return strategy.empty() ? "None" : strategy;
}

void CompareNames(const Value& old, const Value& next, std::vector<CrdFinding>& out) {
  auto must_stay = [&](const std::string& path, const Value& a, const Value& b) {
    if (a == b) return;
    out.push_back(
        {kStored, "", path,
         fmt::format("changed from {} to {}: that is another resource, and existing objects do not belong to it", Text(a), Text(b))});
  };
  const Value &a = old["spec"], &b = next["spec"];
  must_stay("spec.group", a["group"], b["group"]);
  must_stay("spec.scope", a["scope"], b["scope"]);
  must_stay("spec.names.plural", a["names"]["plural"], b["names"]["plural"]);
  must_stay("spec.names.kind", a["names"]["kind"], b["names"]["kind"]);
  // The server fills these in, so a manifest that leaves them out changes nothing.
  for (const char* member : {"singular", "listKind"}) {
    const Value &from = a["names"][member], &to = b["names"][member];
    if (from.is_null() || to.is_null() || from == to) continue;
    out.push_back({kClients, "", std::string("spec.names.") + member, fmt::format("changed from {} to {}", Text(from), Text(to))});
  }
  for (const char* member : {"shortNames", "categories"}) {
    for (const Value& name : a["names"][member].list()) {
      const List<Value>& now = b["names"][member].list();
      if (std::find(now.begin(), now.end(), name) == now.end()) {
        out.push_back({kClients, "", std::string("spec.names.") + member, fmt::format("{} removed", Text(name))});
      }
    }
  }
}

void CompareVersionSets(const Value& old, const Value& next, std::vector<CrdFinding>& out) {
  const std::map<std::string, Value> before = VersionsOf(old), after = VersionsOf(next);
  const std::set<std::string> stored = StoredVersionsOf(old);
  for (const auto& [name, version] : before) {
    auto now = after.find(name);
    const bool served = version["served"].bool_value();
    if (now == after.end()) {
      if (stored.contains(name)) {
        out.push_back({kStored, "", "spec.versions",
                       fmt::format("version {} removed, but status.storedVersions has it: objects may be stored "
                                   "in it; migrate the storage first",
                                   name)});
      } else if (served) {
        out.push_back({kClients, "", "spec.versions", fmt::format("served version {} removed", name)});
      } else {
        out.push_back({kHarmless, "", "spec.versions", fmt::format("version {} removed, which was not served", name)});
      }
    } else if (served && !now->second["served"].bool_value()) {
      out.push_back({kClients, name, "", "no longer served"});
    }
  }
  // Also finds a version that was stored once and that no definition names.
  for (const std::string& name : stored) {
    if (before.contains(name) || after.contains(name)) continue;
    out.push_back(
        {kStored, "", "spec.versions", fmt::format("status.storedVersions has version {}, which is in neither definition", name)});
  }
  for (const auto& [name, version] : after) {
    if (!before.contains(name)) out.push_back({kHarmless, "", "spec.versions", fmt::format("version {} added", name)});
  }
}

// Without conversion, objects in the store keep their members and are read by the schema of the version that is stored from now on.
void CompareStorage(const Value& old, const Value& next, std::vector<CrdFinding>& out) {
  const Value *from = StorageVersionOf(old), *to = StorageVersionOf(next);
  if (from == nullptr || to == nullptr || (*from)["name"] == (*to)["name"]) return;
  out.push_back(
      {kHarmless, "", "spec.versions",
       fmt::format("storage version changed from {} to {}: objects are rewritten when they are next written, or by migrating the storage",
                   Text((*from)["name"]), Text((*to)["name"]))});
  if (ConversionOf(next) != "None") return;
  FindingSink sink(Text((*to)["name"]), out, true);
  sink.prefix = fmt::format("objects stored in {}: ", Text((*from)["name"]));
  internal::CompareSchemas((*from)["schema"]["openAPIV3Schema"], (*to)["schema"]["openAPIV3Schema"], sink);
}

void CompareConversion(const Value& old, const Value& next, std::vector<CrdFinding>& out) {
  const std::string from(ConversionOf(old)), to(ConversionOf(next));
  if (from == to) return;
  const bool several = next["spec"]["versions"].list().size() > 1 || StoredVersionsOf(old).size() > 1;
  if (to == "None") {
    out.push_back({several ? kStored : kHarmless, "", "spec.conversion.strategy",
                   fmt::format("changed from {} to None{}", from,
                               several ? ": fields that differ between the versions are pruned instead of converted" : "")});
  } else {
    out.push_back({kHarmless, "", "spec.conversion.strategy",
                   fmt::format("changed from {} to {}: requests in other than the stored version need the webhook from now on", from, to)});
  }
}

void CompareSubresources(const Value& old, const Value& next, FindingSink& sink) {
  const Value *status_before = old.Find("status"), *status_after = next.Find("status");
  if (status_before == nullptr && status_after != nullptr) {
    sink.Add(kClients, ".status",
             "status subresource added: writes of the object ignore .status from now on, it has to be written by /status");
  } else if (status_before != nullptr && status_after == nullptr) {
    sink.Add(kClients, ".status", "status subresource removed: requests to /status fail, and writes of the object replace .status");
  }
  const Value *before = old.Find("scale"), *after = next.Find("scale");
  if (before != nullptr && after == nullptr) {
    sink.Add(kClients, ".", "scale subresource removed: autoscalers and kubectl scale fail");
  } else if (before == nullptr && after != nullptr) {
    sink.Add(kHarmless, ".", "scale subresource added");
  } else if (before != nullptr) {
    for (const char* member : {"specReplicasPath", "statusReplicasPath", "labelSelectorPath"}) {
      const Value &a = (*before)[member], &b = (*after)[member];
      if (a == b) continue;
      const bool only_more = a.is_null();
      sink.Add(only_more ? kHarmless : kClients, ".", fmt::format("{} of scale changed from {} to {}", member, Text(a), Text(b)));
    }
  }
}

void CompareSelectableFields(const Value& old, const Value& next, FindingSink& sink) {
  for (const Value& field : old.list()) {
    const List<Value>& now = next.list();
    const bool kept = std::any_of(now.begin(), now.end(), [&](const Value& f) { return f["jsonPath"] == field["jsonPath"]; });
    if (!kept) sink.Add(kClients, Text(field["jsonPath"]), "no longer a selectable field: field selectors on it fail");
  }
}

}  // namespace

std::string_view ToString(CrdSeverity severity) {
  switch (severity) {
    case CrdSeverity::kHarmless:
      return "harmless";
    case CrdSeverity::kBreaksClients:
      return "breaks clients";
    case CrdSeverity::kBreaksStored:
      return "breaks stored objects";
  }
  return "";
}

std::string CrdFinding::ToString() const {
  std::string where = version;
  if (!path.empty()) where += (where.empty() ? "" : " ") + path;
  return fmt::format("{}: {} [{}]", where, text, kube::ToString(severity));
}

std::vector<CrdFinding> CompareCrds(const DynamicObject& old_crd, const DynamicObject& next_crd) {
  const Value &old = old_crd.value(), &next = next_crd.value();
  std::vector<CrdFinding> out;
  CompareNames(old, next, out);
  if (old["spec"]["preserveUnknownFields"].bool_value() && !next["spec"]["preserveUnknownFields"].bool_value()) {
    out.push_back({kStored, "", "spec.preserveUnknownFields", "switched off: fields that the schema does not have are pruned"});
  }
  CompareVersionSets(old, next, out);
  CompareStorage(old, next, out);
  CompareConversion(old, next, out);
  const std::map<std::string, Value> after = VersionsOf(next);
  for (const auto& [name, version] : VersionsOf(old)) {
    auto now = after.find(name);
    if (now == after.end()) continue;
    FindingSink sink(name, out, false);
    internal::CompareSchemas(version["schema"]["openAPIV3Schema"], now->second["schema"]["openAPIV3Schema"], sink);
    CompareSubresources(version["subresources"], now->second["subresources"], sink);
    CompareSelectableFields(version["selectableFields"], now->second["selectableFields"], sink);
  }
  std::stable_sort(out.begin(), out.end(), [](const CrdFinding& a, const CrdFinding& b) { return a.severity > b.severity; });
  return out;
}

}  // namespace kube
