#include "kube/base/error.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace kube {
namespace {

// With one of these reasons the HTTP code says nothing more.
constexpr std::array<std::string_view, 19> kKnownReasons = {
    "Unauthorized",
    "Forbidden",
    "NotFound",
    "AlreadyExists",
    "Conflict",
    "Gone",
    "Invalid",
    "ServerTimeout",
    "Timeout",
    "StorageReadError",
    "TooManyRequests",
    "BadRequest",
    "MethodNotAllowed",
    "NotAcceptable",
    "RequestEntityTooLarge",
    "InternalError",
    "Expired",
    "ServiceUnavailable",
    "UnsupportedMediaType",
};

bool Matches(const Error& e, std::string_view reason, int code) {
  if (e.kind() != ErrorKind::kApi) return false;
  if (e.reason() == reason) return true;
  return e.http_code() == code && std::find(kKnownReasons.begin(), kKnownReasons.end(), e.reason()) == kKnownReasons.end();
}

bool HasReason(const Error& e, std::string_view reason) { return e.kind() == ErrorKind::kApi && e.reason() == reason; }

bool HasReasonOrCode(const Error& e, std::string_view reason, int code) {
  return e.kind() == ErrorKind::kApi && (e.reason() == reason || e.http_code() == code);
}

}  // namespace

std::string_view ToString(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kApi:
      return "api";
    case ErrorKind::kTransport:
      return "transport";
    case ErrorKind::kTimeout:
      return "timeout";
    case ErrorKind::kCancelled:
      return "cancelled";
    case ErrorKind::kAuth:
      return "auth";
    case ErrorKind::kConfig:
      return "config";
    case ErrorKind::kDecode:
      return "decode";
    case ErrorKind::kInvalid:
      return "invalid";
    case ErrorKind::kClosed:
      return "closed";
    case ErrorKind::kUserCode:
      return "user code";
    case ErrorKind::kInternal:
      return "internal";
  }
  return "unknown";
}

Error::Error(ErrorKind kind, std::string message) : rep_(new Rep{internal::RefCount(1), {}}) {
  rep_->payload.kind = kind;
  rep_->payload.message = std::move(message);
}

Error::Error(Payload payload) : rep_(new Rep{internal::RefCount(1), std::move(payload)}) {}

void Error::Free(Rep* rep) noexcept { delete rep; }

std::string Error::ToString() const {
  std::string out;
  for (const std::string& what : payload().context) {
    out += what;
    out += ": ";
  }
  if (!payload().message.empty()) {
    out += payload().message;
  } else if (!payload().reason.empty()) {
    out += payload().reason;
  } else if (payload().http_code != 0) {
    out += "HTTP " + std::to_string(payload().http_code);
  } else {
    out += kube::ToString(payload().kind);
    out += " error";
  }
  return out;
}

Error Error::WithContext(std::string what) const {
  Payload copy = payload();
  copy.context.insert(copy.context.begin(), std::move(what));
  return Error(std::move(copy));
}

bool IsNotFound(const Error& e) { return Matches(e, "NotFound", 404); }
bool IsAlreadyExists(const Error& e) { return HasReason(e, "AlreadyExists"); }
bool IsConflict(const Error& e) { return Matches(e, "Conflict", 409); }
bool IsInvalid(const Error& e) { return Matches(e, "Invalid", 422); }
bool IsGone(const Error& e) { return Matches(e, "Gone", 410); }
bool IsResourceExpired(const Error& e) { return HasReason(e, "Expired"); }
bool IsForbidden(const Error& e) { return Matches(e, "Forbidden", 403); }
bool IsUnauthorized(const Error& e) { return Matches(e, "Unauthorized", 401); }
bool IsTimeout(const Error& e) { return Matches(e, "Timeout", 504); }
bool IsServerTimeout(const Error& e) { return HasReason(e, "ServerTimeout"); }
bool IsTooManyRequests(const Error& e) { return HasReasonOrCode(e, "TooManyRequests", 429); }
bool IsBadRequest(const Error& e) { return Matches(e, "BadRequest", 400); }
bool IsMethodNotSupported(const Error& e) { return Matches(e, "MethodNotAllowed", 405); }
bool IsNotAcceptable(const Error& e) { return Matches(e, "NotAcceptable", 406); }
bool IsUnsupportedMediaType(const Error& e) { return Matches(e, "UnsupportedMediaType", 415); }
bool IsRequestEntityTooLarge(const Error& e) { return HasReasonOrCode(e, "RequestEntityTooLarge", 413); }
bool IsServiceUnavailable(const Error& e) { return Matches(e, "ServiceUnavailable", 503); }
bool IsInternalError(const Error& e) { return Matches(e, "InternalError", 500); }
bool IsStoreReadError(const Error& e) { return HasReason(e, "StorageReadError"); }

std::optional<int> SuggestsClientDelay(const Error& e) {
  if (e.kind() != ErrorKind::kApi) return std::nullopt;
  if (IsServerTimeout(e)) return e.retry_after_seconds().value_or(0);
  if (e.retry_after_seconds().value_or(0) > 0) return e.retry_after_seconds();
  return std::nullopt;
}

ErrorException::ErrorException(Error error) : error_(std::move(error)), what_(error_.ToString()) {}

namespace internal {

void ThrowError(const Error& error) { throw ErrorException(error); }

void AbortNoError() { std::abort(); }

}  // namespace internal
}  // namespace kube
