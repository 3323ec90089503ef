// AdmissionRequest and Admission: the request and the response of an admission webhook.
//
//   Admission CheckNetwork(const AdmissionRequest& request, const Network* old, const Network* network) {
//     Admission answer;                                                              // allowed by default
//     if (network->spec.gateway.empty()) answer.Required("spec.gateway");            // field errors together become one 422
//     if (old != nullptr && old->spec.cidr != network->spec.cidr) answer.Forbidden("spec.cidr", "is immutable");
//     if (network->spec.mtu > 9000) answer.Warn("spec.mtu: most networks drop frames of that size");
//     return answer;                                                                 // or: return Admission::Deny("on Sundays");
//   }
//
// The functions are plain ones: tests call them with objects, without a server. webhook.h registers them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/api/authentication/v1.h"
#include "kube/base/error.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/meta/field_error.h"
#include "kube/meta/gvk.h"
#include "kube/value/raw.h"
#include "kube/value/string.h"
#include "kube/value/value.h"

namespace kube {

// Operations combine into a set: AdmissionOperation::kCreate | AdmissionOperation::kUpdate.
enum class AdmissionOperation : std::uint8_t { kNone = 0, kCreate = 1, kUpdate = 2, kDelete = 4, kConnect = 8 };
constexpr AdmissionOperation operator|(AdmissionOperation a, AdmissionOperation b) {
  return static_cast<AdmissionOperation>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
// Whether `operation` is in `set`.
constexpr bool Includes(AdmissionOperation set, AdmissionOperation operation) {
  return (static_cast<unsigned>(set) & static_cast<unsigned>(operation)) != 0;
}
// "CREATE", "UPDATE", "DELETE", "CONNECT". Requires: one operation.
KUBE_EXPORT std::string_view ToString(AdmissionOperation operation);

// A request that the API server sends to a webhook.
struct KUBE_EXPORT AdmissionRequest {
  String uid{};  // of the review
  AdmissionOperation operation = AdmissionOperation::kCreate;
  // The kind and resource that the webhook registered for. `subresource` is "status", "scale", "exec" and so on.
  Gvk kind{};
  Gvr resource{};
  String subresource{};
  // What the client sent. Differs if the API server converted the object because of match policy Equivalent.
  Gvk request_kind{};
  Gvr request_resource{};
  String request_subresource{};
  ObjectKey key{};                      // empty name for a create with generateName
  authentication::v1::UserInfo user{};  // who sent the request
  bool dry_run = false;                 // nothing is stored: the webhook must not have side effects
  // JSON. `object` is absent for DELETE, `old_object` for CREATE and CONNECT. `options` is a CreateOptions, UpdateOptions and so on.
  RawJson object{};
  RawJson old_object{};
  RawJson options{};
};

// The response of a webhook: allowed, unless there is an error or a field error. Warnings and audit annotations apply either way.
//
// The client gets, after `admission webhook "NAME" denied the request: `:
//   field errors                 422 Invalid with a cause for each
//   an Error of kind kApi        its own code, reason and details, such as errors of Client calls
//   Deny(), kInvalid, kUserCode  403 Forbidden with the message
//   all other Errors             500 InternalError: the webhook failed
//
// Thread safety: none.
class KUBE_EXPORT Admission {
 public:
  Admission() = default;
  Admission(const Error& error) : error_(error) {}  // NOLINT(google-explicit-constructor)
  Admission(const Result<void>& result) {           // NOLINT(google-explicit-constructor)
    if (!result) error_ = result.error();
  }
  // Allow returns an allowed response, Deny a denial with this message.
  static Admission Allow() { return {}; }
  static Admission Deny(std::string why) { return Error::Invalid(std::move(why)); }

  // ---- Denials that name fields, in the API server's words ----
  Admission& Invalid(std::string field, const Value& value, std::string detail) {
    return Add(FieldError::Invalid(std::move(field), value, std::move(detail)));
  }
  Admission& Required(std::string field, std::string detail = {}) { return Add(FieldError::Required(std::move(field), std::move(detail))); }
  Admission& Forbidden(std::string field, std::string detail) { return Add(FieldError::Forbidden(std::move(field), std::move(detail))); }
  Admission& NotSupported(std::string field, const Value& value, const std::vector<std::string>& supported) {
    return Add(FieldError::NotSupported(std::move(field), value, supported));
  }
  Admission& Add(FieldError error) {
    field_errors_.push_back(std::move(error));
    return *this;
  }

  // kubectl shows warnings to the user. API servers cut each after 256 bytes (stay below 120) and drop them beyond 4 KiB in total.
  Admission& Warn(std::string warning) {
    warnings_.push_back(std::move(warning));
    return *this;
  }
  // Adds an annotation to the audit event. The API server prefixes the key with "WEBHOOKNAME/".
  Admission& Audit(std::string key, std::string value) {
    audit_annotations_.emplace_back(std::move(key), std::move(value));
    return *this;
  }
  // For raw handlers: a JSON patch (RFC 6902) of request.object. Defaulting functions change their object instead.
  Admission& Patch(Value json_patch) {
    patch_ = std::move(json_patch);
    return *this;
  }
  // Appends the field errors, warnings and audit annotations of `other`. Keeps the first error and the last patch.
  Admission& Merge(Admission other);

  bool allowed() const { return !error_ && field_errors_.empty(); }
  const std::optional<Error>& error() const { return error_; }
  const std::vector<FieldError>& field_errors() const { return field_errors_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  const std::vector<std::pair<std::string, std::string>>& audit_annotations() const { return audit_annotations_; }
  const std::optional<Value>& patch() const { return patch_; }

  // Returns an Error of kind kApi according to the table above, or nullopt if the request is allowed.
  std::optional<Error> Denial(const AdmissionRequest& request) const;
  // Returns "allowed", or "denied: ..." with all field errors, then the warnings. For tests and logs.
  std::string ToString() const;

 private:
  std::optional<Error> error_{};
  std::vector<FieldError> field_errors_{};
  std::vector<std::string> warnings_{};
  std::vector<std::pair<std::string, std::string>> audit_annotations_{};
  std::optional<Value> patch_{};
};

}  // namespace kube
