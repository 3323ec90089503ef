#include "kube/webhook/admission.h"

#include <fmt/format.h>

#include <iterator>

namespace kube {
namespace {

Error ApiError(int code, std::string_view reason, std::string message) {
  Error::Payload payload;
  payload.kind = ErrorKind::kApi;
  payload.http_code = code;
  payload.reason = reason;
  payload.message = std::move(message);
  return Error(std::move(payload));
}

}  // namespace

std::string_view ToString(AdmissionOperation operation) {
  switch (operation) {
    case AdmissionOperation::kCreate:
      return "CREATE";
    case AdmissionOperation::kUpdate:
      return "UPDATE";
    case AdmissionOperation::kDelete:
      return "DELETE";
    case AdmissionOperation::kConnect:
      return "CONNECT";
    case AdmissionOperation::kNone:
      break;
  }
  return "";
}

Admission& Admission::Merge(Admission other) {
  if (!error_) error_ = std::move(other.error_);
  const auto append = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(field_errors_, other.field_errors_);
  append(warnings_, other.warnings_);
  append(audit_annotations_, other.audit_annotations_);
  if (other.patch_) patch_ = std::move(other.patch_);
  return *this;
}

std::optional<Error> Admission::Denial(const AdmissionRequest& request) const {
  if (error_) {
    switch (error_->kind()) {
      case ErrorKind::kApi:
        return error_;
      case ErrorKind::kInvalid:
      case ErrorKind::kUserCode:
        return ApiError(403, "Forbidden", error_->ToString());
      default:
        return ApiError(500, "InternalError", error_->ToString());
    }
  }
  if (field_errors_.empty()) return std::nullopt;
  return InvalidObject(request.kind.group_kind(), request.key.name, field_errors_);
}

std::string Admission::ToString() const {
  std::string out = allowed() ? "allowed" : "denied: ";
  if (error_) out += error_->ToString();
  for (std::size_t i = 0; i < field_errors_.size(); ++i) {
    if (i > 0 || error_) out += ", ";
    out += field_errors_[i].ToString();
  }
  for (const std::string& warning : warnings_) out += fmt::format("; warning: {}", warning);
  return out;
}

}  // namespace kube
