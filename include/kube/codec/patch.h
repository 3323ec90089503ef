// Patches: changes to objects, in the formats that Kubernetes servers accept.
//
//                   apply                        create
//   JSON Patch      ApplyJsonPatch               CreateJsonPatch             RFC 6902: a list of operations; exact, order matters
//   Merge patch     ApplyMergePatch              CreateMergePatch            RFC 7386: a partial object; lists are replaced
//   Strategic       ApplyStrategicMergePatch     CreateTwoWayMergePatch      lists merge by key, as the type's table says;
//                                                CreateThreeWayMergePatch    built-in kinds only
//
// These functions work on Values; the templates at the end take and return typed objects:
//
//   Result<Deployment> scaled = ApplyMergePatch(deployment, R"({"spec":{"replicas":3}})");
//
// Inputs are never changed (Values are shared and copied on write).
// Errors: kInvalid (kDecode for text that is not JSON), naming the operation or the path.
// Thread safety: all functions may be called from any thread.
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

// Limits for patches from untrusted sources. The defaults are those of the API server.
struct JsonPatchLimits {
  std::size_t max_operations = 10'000;
  // Limits the total size, as JSON text, of the values that `copy` operations copy: a few of them can double a document repeatedly.
  std::size_t max_copied_bytes = 3 * 1024 * 1024;
};

// Applies a list of operations: test, add, remove, replace, move, copy. Members that an operation does not use are ignored. Applies all or
// none.
// Errors look like `operation 2 (remove "/spec/x"): path does not exist`; operations count from 0. Stricter than Go's library, as the RFC
// requires: negative indices are rejected, and `test` fails if its path does not exist.
KUBE_EXPORT Result<Value> ApplyJsonPatch(const Value& document, const Value& patch, const JsonPatchLimits& limits = {});

// Returns a patch that turns `from` into `to`. Equal parts need no operation; lists are compared by their longest common subsequence,
// unless they are too large. If more operations than JsonPatchLimits allows are needed, the patch replaces the whole document.
KUBE_EXPORT Value CreateJsonPatch(const Value& from, const Value& to);

// ---- JSON Merge Patch (RFC 7386) ----

// Applies a merge patch. Cannot fail: every JSON value is a merge patch.
KUBE_EXPORT Value ApplyMergePatch(const Value& document, const Value& patch);

// Returns a patch that turns `from` into `to`. In a merge patch a null member means "remove". A member of `to` (outside lists) that is null
// but was not null in `from` therefore cannot be expressed; the Error names it.
KUBE_EXPORT Result<Value> CreateMergePatch(const Value& from, const Value& to);

// ---- Strategic merge patch ----
//
// These functions follow `type`, the table of the object. Objects are merged member by member, and null removes a member. A list is
// replaced unless the table says `merge`; then objects are matched by the merge key, and plain values are united. The patch may contain
// directives:
//
//   "$patch": "replace" | "delete" | "merge"      in an object: replaces, empties or (the default) merges the existing object;
//                                                 in an element of a merging list: replaces the list, or removes the element with that key
//   "$retainKeys": ["a", "b"]                     first removes all members except these
//   "$deleteFromPrimitiveList/f": [1, 2]          removes these values from the list f
//   "$setElementOrder/f": [...]                   the resulting order of f; elements that are not listed keep their place
//
// Fields that the table does not define are merged as untyped JSON (Go rejects them); their lists are replaced.

// Applies a strategic merge patch.
KUBE_EXPORT Result<Value> ApplyStrategicMergePatch(const TypeInfo& type, const Value& original, const Value& patch);

// Returns the patch that turns `original` into `modified`. A null member of `modified` removes it. If elements of a list share a merge key,
// the patch replaces the list; Go's patches confuse such elements.
KUBE_EXPORT Result<Value> CreateTwoWayMergePatch(const TypeInfo& type, const Value& original, const Value& modified);

// Returns the patch that `kubectl apply` sends: it changes `current` to `modified`, keeps what other clients have added to `current` since
// `original` (the last applied configuration), and removes what `modified` has dropped since `original`. Without `overwrite` it fails
// (IsPatchConflict) if `current` and `modified` changed the same field in different ways.
KUBE_EXPORT Result<Value> CreateThreeWayMergePatch(const TypeInfo& type, const Value& original, const Value& modified, const Value& current,
                                                   bool overwrite);

// True for the error of CreateThreeWayMergePatch that another client changed the same fields.
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

// Return the patched object. `patch_json` is the text of the patch.
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

// Return the patch as a Value; ToJson() returns the text to send.
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
