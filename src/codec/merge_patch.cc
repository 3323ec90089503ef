// JSON Merge Patch (RFC 7386).
#include <optional>
#include <string>
#include <utility>

#include "codec/object_join.h"
#include "codec/path.h"
#include "kube/codec/patch.h"

namespace kube {
namespace {

using internal::Path;

Error CannotBeNull(const Path& path) {
  return Error::Invalid(internal::At(&path, "becomes null, which a merge patch cannot express (null removes)"));
}

// Fails at the first null member of an object outside lists.
Result<void> CheckNoNull(const Value& value, const Path* path) {
  for (const auto& [key, member] : value.object()) {
    Path at = Path::Field(path, key);
    if (member.is_null()) return CannotBeNull(at);
    if (auto r = CheckNoNull(member, &at); !r) return r;
  }
  return {};
}

// Requires: both are objects.
Result<Value> CreateObjectPatch(const Value& from, const Value& to, const Path* path) {
  Value patch = Value::Object();
  for (const auto& [key, before] : from.object()) {
    if (to.Find(key) == nullptr) patch[key.view()] = Value();
  }
  for (const auto& [key, after] : to.object()) {
    const Value* before = from.Find(key);
    if (before != nullptr && *before == after) continue;
    Path at = Path::Field(path, key);
    if (after.is_null()) return CannotBeNull(at);
    if (before != nullptr && before->is_object() && after.is_object()) {
      Result<Value> below = CreateObjectPatch(*before, after, &at);
      if (!below) return below;
      patch[key.view()] = *std::move(below);
      continue;
    }
    if (auto r = CheckNoNull(after, &at); !r) return r.error();
    patch[key.view()] = after;
  }
  return patch;
}

}  // namespace

Value ApplyMergePatch(const Value& document, const Value& patch) {
  if (!patch.is_object()) return patch;
  return internal::JoinObjects(document.object(), patch.object(), [](const String&, const Value* before, const Value* change) {
    if (change == nullptr) return std::optional<Value>(*before);
    if (change->is_null()) return std::optional<Value>();
    return std::optional<Value>(ApplyMergePatch(before != nullptr ? *before : Value(), *change));
  });
}

Result<Value> CreateMergePatch(const Value& from, const Value& to) {
  if (!to.is_object()) return to;
  if (from.is_object()) return CreateObjectPatch(from, to, nullptr);
  if (auto r = CheckNoNull(to, nullptr); !r) return r.error();
  return to;
}

}  // namespace kube
