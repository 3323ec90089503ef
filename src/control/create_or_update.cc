#include "kube/control/create_or_update.h"

#include <algorithm>
#include <functional>
#include <string>

#include "control/child_compare.h"
#include "control/lru_map.h"
#include "kube/base/mutex.h"
#include "kube/codec/json.h"
#include "kube/codec/patch.h"

namespace kube {

std::string_view ToString(OperationResult result) {
  switch (result) {
    case OperationResult::kUnchanged:
      return "unchanged";
    case OperationResult::kCreated:
      return "created";
    case OperationResult::kUpdated:
      return "updated";
    case OperationResult::kUpdatedStatus:
      return "updatedStatus";
    case OperationResult::kUpdatedStatusOnly:
      return "updatedStatusOnly";
  }
  return "unknown";
}

namespace internal {
namespace {

constexpr std::size_t kRememberedChanges = 20'000;

struct Memory {
  struct Change {
    std::uint64_t wanted = 0;
    std::uint64_t after = 0;
  };
  Mutex mu;
  LruMap<Change> changes KUBE_GUARDED_BY(mu){kRememberedChanges};
};
Memory& TheMemory() {
  static Memory& memory = *new Memory;
  return memory;
}

// Of what a writer decides: not of what the server counts and others report.
std::uint64_t ContentHash(DynamicObject object) {
  object.RemoveManagedFields();
  object.set_resource_version({});
  object.set_generation(0);
  object.mutable_value().MutableObject().Erase("status");
  return HashText(ToJson(object.value()));
}

bool HasList(const Value& value) {
  if (value.is_list()) return true;
  const Map<Value>& members = value.object();
  return std::any_of(members.begin(), members.end(), [](const auto& member) { return HasList(member.value); });
}

Result<std::optional<Patch>> PatchFor(const Value& before, const Value& after, const String& version) {
  Result<Value> patch = CreateMergePatch(before, after);
  if (!patch) return patch.error();
  if (patch->object().empty()) return std::optional<Patch>();
  if (HasList(*patch) && !version.empty()) (*patch)["metadata"]["resourceVersion"] = version;
  return std::optional<Patch>(Patch::Merge(*patch));
}

// Without what the server owns anyway.
DynamicObject Writable(DynamicObject object) {
  object.RemoveManagedFields();
  object.mutable_value().MutableObject().Erase("status");
  return object;
}

Value OnlyStatus(const DynamicObject& object) {
  Value out = Value::Object();
  if (const Value* status = object.value().Find("status")) out["status"] = *status;
  return out;
}

}  // namespace

Result<void> RetryWrites(const Context& ctx, bool on_conflict, const std::function<Result<void>()>& attempt) {
  // Created by somebody else in between: that is no reason to fail, whatever the option says.
  const auto retriable = [on_conflict](const Error& e) { return IsAlreadyExists(e) || (on_conflict && IsConflict(e)); };
  return RetryOnError(ctx, kDefaultRetry, retriable, attempt);
}

Result<void> CheckSameKey(const ObjectKey& before, const ObjectKey& after) {
  if (before == after) return {};
  return Error::Invalid("the function must not change name and namespace: it made " + after.ToString() + " of " + before.ToString());
}

ChangeMemory::ChangeMemory(const DynamicObject& before, const DynamicObject& wanted)
    : uid_(before.uid()), before_(ContentHash(before)), wanted_(ContentHash(wanted)) {}

bool ChangeMemory::IsFutile() const {
  Memory& memory = TheMemory();
  MutexLock lock(memory.mu);
  const Memory::Change* found = memory.changes.Find(uid_.view());
  return found != nullptr && found->wanted == wanted_ && found->after == before_;
}

void ChangeMemory::Remember(const DynamicObject& after) const {
  const std::uint64_t hash = ContentHash(after);
  Memory& memory = TheMemory();
  MutexLock lock(memory.mu);
  memory.changes.Remove(uid_.view());
  // Only a change that came to nothing is worth it.
  if (hash == before_) memory.changes.Insert(uid_.str(), {wanted_, hash});
}

Result<std::optional<Patch>> PatchBetween(const Value& before, const Value& after) {
  return PatchFor(before, after, before["metadata"]["resourceVersion"].string_value());
}

Result<std::optional<Patch>> PatchWithoutStatus(const DynamicObject& before, const DynamicObject& after) {
  return PatchBetween(Writable(before).value(), Writable(after).value());
}

Result<std::optional<Patch>> PatchOfStatus(const DynamicObject& before, const DynamicObject& after) {
  return PatchFor(OnlyStatus(before), OnlyStatus(after), before.resource_version());
}

}  // namespace internal
}  // namespace kube
