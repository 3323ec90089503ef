// Patches: descriptions of a change, as Kubernetes servers accept them.
//
//                   apply                        create
//   JSON Patch      ApplyJsonPatch               CreateJsonPatch             RFC 6902: a list of operations; exact, order matters
//   Merge patch     ApplyMergePatch              CreateMergePatch            RFC 7386: an object that is laid over; lists are replaced
//   Strategic       ApplyStrategicMergePatch     CreateTwoWayMergePatch      lists merge by key, as the type's table says;
//                                                CreateThreeWayMergePatch    built-in kinds only
//
// All of them work on Values; the templates at the end take and give typed objects:
//
//   Result<Deployment> scaled = ApplyMergePatch(deployment, R"({"spec":{"replicas":3}})");
//
// Inputs are never changed (Values are shared and copied on write). Errors are of kind kInvalid (kDecode for text that is no JSON)
// and name the operation or the path. Thread safety: all functions may be called from anywhere.
#pragma once

#include <cstddef>
#include <string_view>

#include "kube/base/result.h"
#include "kube/codec/json.h"
#include "kube/value/any_object.h"
#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube {

// ---- JSON Patch (RFC 6902) ----

// What a patch from outside may cost. The defaults are those of the API server.
struct JsonPatchLimits {
  std::size_t max_operations = 10'000;
  // Sum over all `copy` operations of the size of what they copy, as JSON text: a few of them can double a document again and again.
  std::size_t max_copied_bytes = 3 * 1024 * 1024;
};

// `patch` is a list of operations: test, add, remove, replace, move, copy; members that an operation has no use for are ignored.
// All or nothing. Errors look like `operation 2 (remove "/spec/x"): path does not exist`; operations count from 0.
// Stricter than Go's library, as the RFC has it: no negative indices, and `test` fails where its path does not exist.
KUBE_EXPORT Result<Value> ApplyJsonPatch(const Value& document, const Value& patch, const JsonPatchLimits& limits = {});

// A patch that turns `from` into `to`: no operation for what is equal, lists by their longest common subsequence (where the two are
// not too large for that). More operations than JsonPatchLimits allows become one that replaces the document.
KUBE_EXPORT Value CreateJsonPatch(const Value& from, const Value& to);

// ---- JSON Merge Patch (RFC 7386) ----

// Cannot fail: every JSON value is a merge patch.
KUBE_EXPORT Value ApplyMergePatch(const Value& document, const Value& patch);

// A patch that turns `from` into `to`. In a merge patch a null member means "remove", so a member of `to` (outside lists) that is
// null and was not null before cannot be expressed: an Error names it.
KUBE_EXPORT Result<Value> CreateMergePatch(const Value& from, const Value& to);

// ---- Strategic merge patch ----
//
// Works along `type`, the table of the object. Objects are merged member by member, and null removes. A list is replaced, unless the
// table says `merge`: then objects are matched by the merge key, and plain values are united. The patch may carry directives:
//
//   "$patch": "replace" | "delete" | "merge"      in an object: it replaces, empties or (as always) is merged into the one that is there;
//                                                 in an element of a merging list: replaces the list, removes the element with that key
//   "$retainKeys": ["a", "b"]                     all members but these are removed first
//   "$deleteFromPrimitiveList/f": [1, 2]          removes these values from the list f
//   "$setElementOrder/f": [...]                   the order that f has afterwards; elements that are not listed keep their place
//
// Fields that the table does not know are merged as untyped JSON (Go refuses them); lists there are replaced.

KUBE_EXPORT Result<Value> ApplyStrategicMergePatch(const TypeInfo& type, const Value& original, const Value& patch);

// The patch that turns `original` into `modified`. A null member of `modified` asks for its removal. Elements with the same merge key
// in one list, which Go's patches mix up, are handled by replacing that list.
KUBE_EXPORT Result<Value> CreateTwoWayMergePatch(const TypeInfo& type, const Value& original, const Value& modified);

// What `kubectl apply` sends: brings `current` to `modified`, keeps what others have added to `current` since `original` (the
// configuration that was applied last), and removes what `modified` has dropped since `original`.
// Without `overwrite` it fails (IsPatchConflict) where `current` and `modified` changed the same field in different ways.
KUBE_EXPORT Result<Value> CreateThreeWayMergePatch(const TypeInfo& type, const Value& original, const Value& modified, const Value& current,
                                                   bool overwrite);

// True for the error of CreateThreeWayMergePatch that says that somebody else changed the same fields.
KUBE_EXPORT bool IsPatchConflict(const Error& e);

// ---- Typed objects ----

namespace internal {
enum class PatchFormat : unsigned char { kJson, kMerge, kStrategicMerge };
// Decodes the patched `object` into `out`, a default-valued struct of the same type.
KUBE_EXPORT Result<void> PatchObject(const TypeInfo& type, const void* object, PatchFormat format, std::string_view patch_json, void* out);
template <typename T>
Result<T> PatchTyped(const T& object, PatchFormat format, std::string_view patch_json) {
  T out{};
  if (auto r = PatchObject(T::kType, &object, format, patch_json, &out); !r) return r.error();
  return out;
}
KUBE_EXPORT Result<Value> CreateTypedPatch(const TypeInfo& type, const void* from, const void* to, PatchFormat format);
}  // namespace internal

template <Described T>
Result<T> ApplyJsonPatch(const T& object, std::string_view patch_json) {
  return internal::PatchTyped(object, internal::PatchFormat::kJson, patch_json);
}
template <Described T>
Result<T> ApplyMergePatch(const T& object, std::string_view patch_json) {
  return internal::PatchTyped(object, internal::PatchFormat::kMerge, patch_json);
}
template <Described T>
Result<T> ApplyStrategicMergePatch(const T& object, std::string_view patch_json) {
  return internal::PatchTyped(object, internal::PatchFormat::kStrategicMerge, patch_json);
}

// The patch as a Value: ToJson() gives the text to send.
template <Described T>
Result<Value> CreateJsonPatch(const T& from, const T& to) {
  return internal::CreateTypedPatch(T::kType, &from, &to, internal::PatchFormat::kJson);
}
template <Described T>
Result<Value> CreateMergePatch(const T& from, const T& to) {
  return internal::CreateTypedPatch(T::kType, &from, &to, internal::PatchFormat::kMerge);
}
template <Described T>
Result<Value> CreateTwoWayMergePatch(const T& from, const T& to) {
  return internal::CreateTypedPatch(T::kType, &from, &to, internal::PatchFormat::kStrategicMerge);
}

}  // namespace kube
