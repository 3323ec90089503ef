#include "orphans.h"

#include <algorithm>
#include <utility>

#include "kube/base/log.h"
#include "kube/meta/owner_reference.h"

namespace auto_expose {
namespace {

using kube::Result;
using kube::Value;

// The object was meanwhile deleted, recreated or changed, which its watch reports; or the role forbids the write.
Result<void> Lenient(const kube::Error& error) {
  if (kube::IsNotFound(error) || kube::IsConflict(error) || kube::IsForbidden(error)) return {};
  return error;
}

Value Adoption(const kube::DynamicObject& live, const Workload& owner) {
  kube::List<Value> references = live["metadata"]["ownerReferences"].list();
  references.push_back(Value::Object({{"apiVersion", Value(owner.gvk.group_version().ToString())},
                                      {"kind", Value(owner.gvk.kind)},
                                      {"name", Value(owner.metadata.name)},
                                      {"uid", Value(owner.metadata.uid)},
                                      {"controller", Value(true)},
                                      {"blockOwnerDeletion", Value(true)}}));
  return Value::Object({{"metadata", Value::Object({{"uid", Value(live.uid())},
                                                    {"resourceVersion", Value(live.resource_version())},
                                                    {"labels", Value::Object({{kOwnerLabel, Value(owner.metadata.uid)}})},
                                                    {"ownerReferences", Value(std::move(references))}})}});
}

}  // namespace

bool IsOrphan(const kube::meta::v1::ObjectMeta& child) {
  return child.labels.Get(kSetLabel) == kSet && kube::FindController(child.owner_references) == nullptr &&
         child.deletion_timestamp.IsZero();
}

bool IsOwnOrphan(const kube::DynamicObject& live) {
  const auto& entries = live["metadata"]["managedFields"].list();
  return IsOrphan(live.metadata()) &&
         std::any_of(entries.begin(), entries.end(), [](const Value& entry) { return entry["manager"].string_value() == kFieldManager; });
}

Result<void> SettleOrphan(const kube::Context& ctx, const kube::Client& client, const kube::Gvr& gvr, const kube::ObjectKey& key,
                          const Workload* owner, const std::function<Result<bool>(const kube::String& uid)>& has_owner) {
  const kube::ResourceClient<kube::DynamicObject> resource = client.Resource(gvr);
  const Result<kube::DynamicObject> live = resource.Get(ctx, key);
  if (!live) return Lenient(live.error());
  if (!IsOwnOrphan(*live)) return {};
  const std::string what = gvr.resource.str() + " " + key.ToString();
  if (owner != nullptr) {
    const Result<kube::DynamicObject> adopted =
        resource.Patch(ctx, key, kube::Patch::Merge(Adoption(*live, *owner)), {.field_manager = kFieldManager});
    if (!adopted) return Lenient(adopted.error());
    kube::Logger("auto-expose").Info("Adopted", {{"child", what}, {"workload", kube::KeyOf(owner->metadata).ToString()}});
    return {};
  }
  const Result<bool> owned = has_owner(live->metadata().labels.Get(kOwnerLabel));
  if (!owned) return owned.error();
  if (*owned) return {};
  const Result<void> deleted = resource.Delete(
      ctx, key, {.propagation = "Background", .uid = live->uid().str(), .resource_version = live->resource_version().str()});
  if (!deleted) return Lenient(deleted.error());
  kube::Logger("auto-expose").Info("Deleted a child of a deleted workload", {{"child", what}});
  return {};
}

}  // namespace auto_expose
