// AdmissionRequest and Admission: what an admission webhook is asked, and what it answers.
//
//   Admission CheckNetwork(const AdmissionRequest& request, const Network* old, const Network* network) {
//     Admission answer;                                                              // allowed, so far
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

// Operations combine to a set: AdmissionOperation::kCreate | AdmissionOperation::kUpdate.
enum class AdmissionOperation : std::uint8_t { kNone = 0, kCreate = 1, kUpdate = 2, kDelete = 4, kConnect = 8 };
constexpr AdmissionOperation operator|(AdmissionOperation a, AdmissionOperation b) {
  return static_cast<AdmissionOperation>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool Includes(AdmissionOperation set, AdmissionOperation operation) {
  return (static_cast<unsigned>(set) & static_cast<unsigned>(operation)) != 0;
}
// "CREATE", "UPDATE", "DELETE", "CONNECT". Requires: one operation.
KUBE_EXPORT std::string_view ToString(AdmissionOperation operation);

// A request that the API server wants to have judged.
struct KUBE_EXPORT AdmissionRequest {
  String uid{};
  AdmissionOperation operation = AdmissionOperation::kCreate;
  // The objects of this review: the kind that the webhook registered for. `subresource` is "status", "scale", "exec" and so on.
  Gvk kind{};
  Gvr resource{};
  String subresource{};
  // What the client sent. Differs if the server converted it because of match policy Equivalent.
  Gvk request_kind{};
  Gvr request_resource{};
  String request_subresource{};
  ObjectKey key{};  // the name is empty for a create with generateName
  authentication::v1::UserInfo user{};
  bool dry_run = false;  // nothing will be stored: a webhook must not have side effects
  // JSON. `object` is absent for DELETE, `old_object` for CREATE and CONNECT. `options` is a CreateOptions, UpdateOptions ...
  RawJson object{};
  RawJson old_object{};
  RawJson options{};
};

// Allowed, unless something was said against it; warnings and audit annotations go with either.
//
// What the client gets, after `admission webhook "NAME" denied the request: `:
//   field errors                 422 Invalid with a cause for each
//   an Error of kind kApi        its own code, reason and details, such as errors of Client calls
//   Deny(), kInvalid, kUserCode  403 Forbidden with the message
//   all other Errors             500 InternalError: the request could not be judged
//
// Thread safety: none.
class KUBE_EXPORT Admission {
 public:
  Admission() = default;
  Admission(const Error& error) : error_(error) {}  // NOLINT(google-explicit-constructor)
  Admission(const Result<void>& result) {           // NOLINT(google-explicit-constructor)
    if (!result) error_ = result.error();
  }
  static Admission Allow() { return {}; }
  static Admission Deny(std::string why) { return Error::Invalid(std::move(why)); }

  // ---- Field errors ----
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

  // Shown to the user by kubectl. Servers cut warnings after 256 bytes (120 is polite) and drop them beyond 4 KiB in all.
  Admission& Warn(std::string warning) {
    warnings_.push_back(std::move(warning));
    return *this;
  }
  // An annotation of the audit event. The server puts "WEBHOOKNAME/" in front of the key.
  Admission& Audit(std::string key, std::string value) {
    audit_annotations_.emplace_back(std::move(key), std::move(value));
    return *this;
  }
  // For raw handlers: a JSON patch (RFC 6902) of request.object. Defaulting functions change their object instead.
  Admission& Patch(Value json_patch) {
    patch_ = std::move(json_patch);
    return *this;
  }
  // Everything that `other` says, after what this one says.
  Admission& Merge(Admission other);

  bool allowed() const { return !error_ && field_errors_.empty(); }
  const std::optional<Error>& error() const { return error_; }
  const std::vector<FieldError>& field_errors() const { return field_errors_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  const std::vector<std::pair<std::string, std::string>>& audit_annotations() const { return audit_annotations_; }
  const std::optional<Value>& patch() const { return patch_; }

  // An Error of kind kApi, as the table above says; nothing if it is allowed.
  std::optional<Error> Denial(const AdmissionRequest& request) const;
  // "allowed", or "denied: ..." with all field errors; then the warnings. For tests and logs.
  std::string ToString() const;

 private:
  std::optional<Error> error_{};
  std::vector<FieldError> field_errors_{};
  std::vector<std::string> warnings_{};
  std::vector<std::pair<std::string, std::string>> audit_annotations_{};
  std::optional<Value> patch_{};
};

}  // namespace kube
