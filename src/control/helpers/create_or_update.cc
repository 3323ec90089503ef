#include "kube/control/create_or_update.h"

#include <algorithm>
#include <functional>
#include <string>

#include "control/helpers/child_compare.h"
#include "control/helpers/erased_object.h"
#include "control/lru_map.h"
#include "kube/base/mutex.h"
#include "kube/client/retry.h"
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

// Hashes what a writer decides, without what the server counts and other clients report.
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

Result<void> RetryWrites(const Context& ctx, bool on_conflict, const std::function<Result<void>()>& attempt) {
  // Created by another client in between: that is no reason to fail, whatever the option says.
  const auto retriable = [on_conflict](const Error& e) { return IsAlreadyExists(e) || (on_conflict && IsConflict(e)); };
  return RetryOnError(ctx, kDefaultRetry, retriable, attempt);
}

// Errors: kInvalid if the two differ.
Result<void> CheckSameKey(const ObjectKey& before, const ObjectKey& after) {
  if (before == after) return {};
  return Error::Invalid("the function must not change name and namespace: it made " + after.ToString() + " of " + before.ToString());
}

// What the server made of a change. For the whole process, bounded. Thread safety: one thread; the memory behind it is shared.
class ChangeMemory {
 public:
  ChangeMemory(const DynamicObject& before, const DynamicObject& wanted);
  // Whether this change was made to this object before, and the server had it as it is now afterwards.
  bool IsFutile() const;
  void Remember(const DynamicObject& after) const;

 private:
  String uid_;
  std::uint64_t before_;
  std::uint64_t wanted_;
};

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

// What both functions begin with: the state on the server, and the one that the function makes of it.
struct Mutated {
  std::optional<ErasedObject> live{};
  ErasedObject next;
};
Result<Mutated> ReadAndMutate(const Context& ctx, const ClientCore& core, const ResourceTarget& target, const ErasedObject& start,
                              const MutateFunction& mutate) {
  Mutated out{.next = start};
  ErasedObject live(target.type);
  const ObjectKey key = start.key();
  if (Result<void> r = GetObject(core, ctx, target, key, {}, {}, live.mutable_data()); r) {
    out.next = live;
    out.live = std::move(live);
  } else if (!IsNotFound(r.error())) {
    return r.error();
  }
  const ObjectKey before = out.next.key();
  if (Result<void> r = mutate(out.next.mutable_data()); !r) return r.error();
  if (Result<void> r = CheckSameKey(before, out.next.key()); !r) return r.error();
  return out;
}

}  // namespace

Result<std::optional<Patch>> PatchBetween(const Value& before, const Value& after) {
  return PatchFor(before, after, before["metadata"]["resourceVersion"].string_value());
}

Result<std::optional<Patch>> PatchWithoutStatus(const DynamicObject& before, const DynamicObject& after) {
  return PatchBetween(Writable(before).value(), Writable(after).value());
}

Result<std::optional<Patch>> PatchOfStatus(const DynamicObject& before, const DynamicObject& after) {
  return PatchFor(OnlyStatus(before), OnlyStatus(after), before.resource_version());
}

Result<OperationResult> CreateOrUpdateObject(const Context& ctx, const ClientCore& core, const ResourceTarget& target, void* object,
                                             const MutateFunction& mutate, const CreateOrUpdateOptions& options) {
  OperationResult result = OperationResult::kUnchanged;
  const WriteOptions write{.dry_run = options.dry_run, .field_manager = options.field_manager};
  const ErasedObject start(target.type, object);
  Result<void> done = RetryWrites(ctx, options.retry_on_conflict, [&]() -> Result<void> {
    Result<Mutated> state = ReadAndMutate(ctx, core, target, start, mutate);
    if (!state) return state.error();
    ErasedObject answer(target.type);
    if (!state->live) {
      if (Result<void> r = CreateObject(core, ctx, target, state->next.data(), write, answer.mutable_data()); !r) return r;
      answer.CopyTo(object);
      result = OperationResult::kCreated;
      return {};
    }
    const ErasedObject& live = *state->live;
    result = OperationResult::kUnchanged;
    if (state->next == live) {
      live.CopyTo(object);
      return {};
    }
    Result<DynamicObject> before = live.ToDynamic(), wanted = state->next.ToDynamic();
    if (!before) return before.error();
    if (!wanted) return wanted.error();
    const ChangeMemory memory(*before, *wanted);
    if (memory.IsFutile()) {
      live.CopyTo(object);
      return {};
    }
    if (Result<void> r = UpdateObject(core, ctx, target, {}, state->next.data(), write, answer.mutable_data()); !r) return r;
    Result<DynamicObject> after = answer.ToDynamic();
    if (after && !options.dry_run) memory.Remember(*after);
    if (answer.resource_version() != live.resource_version() || options.dry_run) result = OperationResult::kUpdated;
    answer.CopyTo(object);
    return {};
  });
  if (!done) return done.error();
  return result;
}

Result<OperationResult> CreateOrPatchObject(const Context& ctx, const ClientCore& core, const ResourceTarget& target, void* object,
                                            const MutateFunction& mutate, const CreateOrUpdateOptions& options) {
  OperationResult result = OperationResult::kUnchanged;
  const WriteOptions write{.dry_run = options.dry_run, .field_manager = options.field_manager};
  const ErasedObject start(target.type, object);
  Result<void> done = RetryWrites(ctx, options.retry_on_conflict, [&]() -> Result<void> {
    Result<Mutated> state = ReadAndMutate(ctx, core, target, start, mutate);
    if (!state) return state.error();
    Result<DynamicObject> wanted = state->next.ToDynamic();
    if (!wanted) return wanted.error();
    bool body_changed = false;
    result = OperationResult::kUnchanged;
    ErasedObject now(target.type);
    if (!state->live) {
      if (Result<void> r = CreateObject(core, ctx, target, state->next.data(), write, now.mutable_data()); !r) return r;
      result = OperationResult::kCreated;
    } else {
      now = *std::move(state->live);
      Result<DynamicObject> before = now.ToDynamic();
      if (!before) return before.error();
      const ChangeMemory memory(*before, *wanted);
      Result<std::optional<Patch>> patch = PatchWithoutStatus(*before, *wanted);
      if (!patch) return patch.error();
      if (*patch && !memory.IsFutile()) {
        ErasedObject patched(target.type);
        if (Result<void> r = PatchObject(core, ctx, target, now.key(), {}, **patch, write, patched.mutable_data()); !r) return r;
        Result<DynamicObject> after = patched.ToDynamic();
        if (after && !options.dry_run) memory.Remember(*after);
        body_changed = patched.resource_version() != now.resource_version() || options.dry_run;
        now = std::move(patched);
        if (body_changed) result = OperationResult::kUpdated;
      }
    }
    Result<DynamicObject> before = now.ToDynamic();
    if (!before) return before.error();
    Result<std::optional<Patch>> status = PatchOfStatus(*before, *wanted);
    if (!status) return status.error();
    // A dry run has created nothing whose status could be patched.
    if (*status && !(options.dry_run && result == OperationResult::kCreated)) {
      ErasedObject patched(target.type);
      if (Result<void> r = PatchObject(core, ctx, target, now.key(), "status", **status, write, patched.mutable_data()); !r) return r;
      if (result != OperationResult::kCreated) {
        result = body_changed ? OperationResult::kUpdatedStatus : OperationResult::kUpdatedStatusOnly;
      }
      now = std::move(patched);
    }
    now.CopyTo(object);
    return {};
  });
  if (!done) return done.error();
  return result;
}

}  // namespace internal
}  // namespace kube
