// Errors as the API server words them. Every failing verb returns one of these; the HTTP layer turns it into a Status (ToStatus).
//
// Messages and reasons are part of the contract with clients and are compared with a real server by tests/contract.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"
#include "kube/base/export.h"
#include "kube/meta/gvk.h"
#include "kube/value/value.h"

namespace kube::apiserver {

// What is wrong with one field of an object.
enum class FieldErrorType {
  kNotFound,
  kRequired,
  kDuplicate,
  kInvalid,
  kNotSupported,
  kForbidden,
  kTooLong,
  kTooShort,
  kTooMany,
  kTooFew,
  kInternal,
  kTypeInvalid,
};

struct KUBE_EXPORT FieldError {
  FieldErrorType type = FieldErrorType::kInvalid;
  std::string field;   // "spec.containers[0].name"
  std::string value;   // the bad value as Go's %v or %q prints it, with its quotes: `"x y"`, `-1`; unused by kRequired, kForbidden, ...
  std::string detail;  // "must be no more than 63 characters"

  // "Invalid value: \"x y\": must be ..." : a cause's message.
  std::string Body() const;
  // "spec.x: Invalid value: ..."
  std::string ToString() const { return field + ": " + Body(); }
};
// "FieldValueInvalid", ...: a cause's reason.
std::string_view ReasonOf(FieldErrorType type);

// Shorthands.
FieldError Required(std::string field, std::string detail = "");
FieldError InvalidValue(std::string field, const Value& value, std::string detail);
FieldError NotSupported(std::string field, const Value& value, const std::vector<std::string>& supported);
FieldError ForbiddenField(std::string field, std::string detail);
FieldError DuplicateValue(std::string field, const Value& value);
FieldError TooLong(std::string field, std::size_t limit);
FieldError TooMany(std::string field, std::size_t actual, std::size_t limit);
FieldError TypeInvalid(std::string field, const Value& value, std::string detail);
// A value as it stands in a message: strings quoted, others as JSON.
std::string PrintValue(const Value& value);

// `deployments.apps` or `pods`.
std::string PrintGroupResource(std::string_view group, std::string_view resource);

Error NotFound(std::string_view group, std::string_view resource, std::string_view name);
Error AlreadyExists(std::string_view group, std::string_view resource, std::string_view name);
Error BeingDeleted(std::string_view group, std::string_view resource, std::string_view name);  // AlreadyExists, on its way out
Error Conflict(std::string_view group, std::string_view resource, std::string_view name, std::string_view why);
// The optimistic lock's own message.
Error ModifiedConflict(std::string_view group, std::string_view resource, std::string_view name);
Error Invalid(std::string_view group, std::string_view kind, std::string_view name, const std::vector<FieldError>& errors);
Error BadRequest(std::string message);
Error Unauthorized(std::string message = "Unauthorized");
Error Forbidden(std::string_view group, std::string_view resource, std::string_view name, std::string_view why);
// The resource is there and has no such verb: a route that does not exist, or (with names) a handler that refuses.
Error MethodNotAllowed();
Error MethodNotSupported(std::string_view group, std::string_view resource, std::string_view verb);
Error PatchDoesNotApply();  // a JSON patch that does not fit the object
Error UnknownPatchType();
Error ResourceNotFound();  // a path under a known group that names no resource of it
Error NotAcceptable(const std::vector<std::string>& offered);
// The same for a media type that no handler of the server knows at all.
Error NoSuchRepresentation(const std::vector<std::string>& offered);
Error UnsupportedMediaType(const std::vector<std::string>& accepted);
Error TooLarge(std::string message);
Error Expired(std::string message);  // 410, reason Expired
Error TooManyRequests(std::string message, int retry_after_seconds);
Error InternalError(std::string message);
// A 500 that says nothing but its message, as the real server answers errors that it did not foresee.
Error UnforeseenError(std::string message);
Error ServiceUnavailable(std::string message);
// Any code and reason.
Error StatusError(int code, std::string reason, std::string message);

// The Status object of an error, as a Value. Errors that are not of kind kApi become 500 InternalError.
Value ToStatus(const Error& error);

}  // namespace kube::apiserver
