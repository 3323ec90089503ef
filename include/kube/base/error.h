// Error: the error type of kubexx.
//
//   Error                    a kind and a message; for API errors also the HTTP code, the Kubernetes reason and details
//   IsNotFound(e) ...        predicates named as in Go's apierrors
//   ErrorException           thrown by Result<T>::value(), for programs that prefer exceptions
//
// Functions that can fail return Result<T> (result.h). They never throw, except std::bad_alloc.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/ref_count.h"

namespace kube {

// The origin of an error. `kApi` errors come from the server; all others arise in this process.
enum class ErrorKind : std::uint8_t {
  kApi,        // the server answered with a Status
  kTransport,  // connection refused, reset, TLS failure, unexpected end of stream
  kTimeout,    // a deadline passed
  kCancelled,  // the Context was stopped
  kAuth,       // credentials could not be obtained
  kConfig,     // kubeconfig, flags or environment are wrong
  kDecode,     // external bytes could not be decoded; the message names the path or the offset
  kInvalid,    // an argument or an object is invalid
  kClosed,     // the object that was called is shut down
  kUserCode,   // a user callback threw or failed
  kInternal,   // a bug in kubexx
};

// The name of the kind, for messages and logs.
KUBE_EXPORT std::string_view ToString(ErrorKind kind);

// One entry of a Status's `details.causes`: the rejected field and the reason.
struct ErrorCause {
  std::string reason;
  std::string message;
  std::string field;
};

// An immutable description of a failure. Copies share one payload: an Error is one pointer wide and cheap to copy.
//
// Thread safety: immutable; copies may be used from any thread.
class KUBE_EXPORT Error {
 public:
  // The contents of an Error.
  struct Payload {
    ErrorKind kind = ErrorKind::kInternal;
    int http_code = 0;                                // 0 if no server answered
    std::string reason;                               // Kubernetes reason: "NotFound", "Conflict", ...
    std::string message;                              // human-readable
    std::optional<int> retry_after_seconds;           // Retry-After of the server, if it sent one
    std::string resource_group, resource_kind, name;  // the object in question, if known
    std::vector<ErrorCause> causes;
    std::vector<std::string> context;  // outermost first: "list pods in ns x"
  };

  Error(ErrorKind kind, std::string message);
  explicit Error(Payload payload);
  Error(const Error& other) noexcept : rep_(other.rep_) { rep_->refs.Increment(); }
  Error& operator=(const Error& other) noexcept {
    Error copy(other);
    std::swap(rep_, copy.rep_);
    return *this;
  }
  ~Error() {
    if (rep_->refs.DropsLast()) Free(rep_);
  }

  // Errors of the common kinds.
  static Error Decode(std::string message) { return Error(ErrorKind::kDecode, std::move(message)); }
  static Error Invalid(std::string message) { return Error(ErrorKind::kInvalid, std::move(message)); }
  static Error Cancelled(std::string message) { return Error(ErrorKind::kCancelled, std::move(message)); }
  static Error Timeout(std::string message) { return Error(ErrorKind::kTimeout, std::move(message)); }
  static Error Internal(std::string message) { return Error(ErrorKind::kInternal, std::move(message)); }

  // The members of the payload.
  ErrorKind kind() const { return payload().kind; }
  int http_code() const { return payload().http_code; }
  const std::string& reason() const { return payload().reason; }
  const std::string& message() const { return payload().message; }
  std::optional<int> retry_after_seconds() const { return payload().retry_after_seconds; }
  const std::vector<ErrorCause>& causes() const { return payload().causes; }
  const std::vector<std::string>& context() const { return payload().context; }
  const Payload& payload() const { return rep_->payload; }

  // The context chain and the message in one line: "list pods in ns x: connection refused".
  std::string ToString() const;

  // Returns the same error with `what` prepended to its context.
  [[nodiscard]] Error WithContext(std::string what) const;

 private:
  struct Rep {
    internal::RefCount refs;
    Payload payload;
  };
  static void Free(Rep* rep) noexcept;

  Rep* rep_;  // never null: there is no moved-from Error, moving copies
};

// Predicates over API errors. They match the Kubernetes reason. The HTTP code decides only if the reason is unknown, so a 409 AlreadyExists
// is not a Conflict. IsTooManyRequests and IsRequestEntityTooLarge also match by code alone; IsAlreadyExists, IsResourceExpired,
// IsServerTimeout and IsStoreReadError match by reason only.
KUBE_EXPORT bool IsNotFound(const Error& e);
KUBE_EXPORT bool IsAlreadyExists(const Error& e);
KUBE_EXPORT bool IsConflict(const Error& e);
KUBE_EXPORT bool IsInvalid(const Error& e);
KUBE_EXPORT bool IsGone(const Error& e);             // reason Gone, or 410 with an unknown reason
KUBE_EXPORT bool IsResourceExpired(const Error& e);  // reason Expired
KUBE_EXPORT bool IsForbidden(const Error& e);
KUBE_EXPORT bool IsUnauthorized(const Error& e);
KUBE_EXPORT bool IsTimeout(const Error& e);
KUBE_EXPORT bool IsServerTimeout(const Error& e);
KUBE_EXPORT bool IsTooManyRequests(const Error& e);
KUBE_EXPORT bool IsBadRequest(const Error& e);
KUBE_EXPORT bool IsMethodNotSupported(const Error& e);
KUBE_EXPORT bool IsNotAcceptable(const Error& e);
KUBE_EXPORT bool IsUnsupportedMediaType(const Error& e);
KUBE_EXPORT bool IsRequestEntityTooLarge(const Error& e);
KUBE_EXPORT bool IsServiceUnavailable(const Error& e);
KUBE_EXPORT bool IsInternalError(const Error& e);
KUBE_EXPORT bool IsStoreReadError(const Error& e);

// Predicates over errors of this process.
inline bool IsCancelled(const Error& e) { return e.kind() == ErrorKind::kCancelled; }
// True if a local deadline passed. (IsTimeout is about the server's response.)
inline bool IsDeadlineExceeded(const Error& e) { return e.kind() == ErrorKind::kTimeout; }

// The delay in seconds that the server suggests: `details.retryAfterSeconds`. Always set (at least 0) for ServerTimeout.
KUBE_EXPORT std::optional<int> SuggestsClientDelay(const Error& e);

// Thrown by Result<T>::value() if there is no value.
class KUBE_EXPORT ErrorException : public std::exception {
 public:
  explicit ErrorException(Error error);
  const char* what() const noexcept override { return what_.c_str(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
  std::string what_;
};

namespace internal {
// Out of line, to keep Result<T> small in the object files of callers.
[[noreturn]] KUBE_EXPORT void ThrowError(const Error& error);
[[noreturn]] KUBE_EXPORT void AbortNoError();
}  // namespace internal

}  // namespace kube
