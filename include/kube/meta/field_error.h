// FieldError: an error in one field of an object, in the API server's words.
//
//   std::vector<FieldError> errors;
//   errors.push_back(FieldError::Required("spec.gateway"));
//   errors.push_back(FieldError::Invalid("spec.mtu", 12, "must be at least 576"));
//   return InvalidObject({"samplecrd.k8s.io", "Network"}, "blue", errors);        // 422, one cause per error
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"
#include "kube/base/export.h"
#include "kube/meta/gvk.h"
#include "kube/value/value.h"

namespace kube {

// The type of a FieldError; the same set as the API server's.
enum class FieldErrorType : std::uint8_t {
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
// The reason of a cause: "FieldValueInvalid".
KUBE_EXPORT std::string_view ReasonOf(FieldErrorType type);

// An invalid field.
struct KUBE_EXPORT FieldError {
  FieldErrorType type = FieldErrorType::kInvalid;
  std::string field{};  // "spec.containers[0].name"
  // The bad value as the message shows it: `"x y"`, `-1`. Empty for kRequired, kForbidden, kTooLong and kInternal.
  std::string value{};
  std::string detail{};  // "must be no more than 63 characters"

  // Errors of the common types, with the API server's details.
  static FieldError Invalid(std::string field, const Value& value, std::string detail);
  static FieldError Required(std::string field, std::string detail = {});  // the field is missing
  static FieldError Forbidden(std::string field, std::string detail);      // the field must not be set
  static FieldError Duplicate(std::string field, const Value& value);      // another element has this value
  static FieldError NotFound(std::string field, const Value& value);       // no object has this name
  static FieldError NotSupported(std::string field, const Value& value, const std::vector<std::string>& supported);  // not a known value
  static FieldError TooLong(std::string field, std::size_t max_bytes);                                               // more than max_bytes
  static FieldError TooMany(std::string field, std::size_t actual, std::size_t max_items);                           // more than max_items

  // The message of the cause: `Invalid value: "x y": must be no more than 63 characters`.
  std::string Body() const;
  std::string ToString() const;  // "spec.x: Invalid value: ..."

  friend bool operator==(const FieldError&, const FieldError&) = default;
};

// Formats a value for a message: strings as Go's %q, all others as JSON.
KUBE_EXPORT std::string PrintFieldValue(const Value& value);

// The error for an object with invalid fields: 422, reason Invalid, one cause per field error.
KUBE_EXPORT Error InvalidObject(const GroupKind& kind, std::string_view name, std::span<const FieldError> errors);

}  // namespace kube
