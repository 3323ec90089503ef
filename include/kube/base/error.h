// Error: the one error type of kubexx.
//
//   Error                    what went wrong: a kind, a message, and for API errors the HTTP code, the Kubernetes reason and details
//   IsNotFound(e) ...        predicates with the names that Go users know
//   ErrorException           what Result<T>::value() throws for programs that prefer exceptions
//
// Functions that can fail return Result<T> (result.h); they never throw, except std::bad_alloc.
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

// Where an error comes from. `kApi` errors carry what the server said; all others are made on this side.
enum class ErrorKind : std::uint8_t {
  kApi,        // the server answered with a Status
  kTransport,  // connection refused, reset, TLS failure, unexpected end of stream
  kTimeout,    // a deadline passed
  kCancelled,  // the Context was stopped
  kAuth,       // credentials could not be obtained
  kConfig,     // kubeconfig, flags or environment are wrong
  kDecode,     // bytes from outside could not be understood; the message names the path or the offset
  kInvalid,    // an argument or an object is not acceptable
  kClosed,     // the thing that was asked is shut down
  kUserCode,   // a user's callback threw or failed
  kInternal,   // a bug in kubexx
};

KUBE_EXPORT std::string_view ToString(ErrorKind kind);

// One entry of a Status's `details.causes`: the field that the server refused, and why.
struct ErrorCause {
  std::string reason;
  std::string message;
  std::string field;
};

// An immutable description of a failure. Copies share one payload: one pointer wide, cheap to pass around.
//
// Thread safety: immutable; copies may be used from any thread.
class KUBE_EXPORT Error {
 public:
  struct Payload {
    ErrorKind kind = ErrorKind::kInternal;
    int http_code = 0;                                // 0 where no server answered
    std::string reason;                               // Kubernetes reason: "NotFound", "Conflict", ...
    std::string message;                              // for a person
    std::optional<int> retry_after_seconds;           // the server's wish, where it had one
    std::string resource_group, resource_kind, name;  // what the error is about, where known
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

  static Error Decode(std::string message) { return Error(ErrorKind::kDecode, std::move(message)); }
  static Error Invalid(std::string message) { return Error(ErrorKind::kInvalid, std::move(message)); }
  static Error Cancelled(std::string message) { return Error(ErrorKind::kCancelled, std::move(message)); }
  static Error Timeout(std::string message) { return Error(ErrorKind::kTimeout, std::move(message)); }
  static Error Internal(std::string message) { return Error(ErrorKind::kInternal, std::move(message)); }

  ErrorKind kind() const { return payload().kind; }
  int http_code() const { return payload().http_code; }
  const std::string& reason() const { return payload().reason; }
  const std::string& message() const { return payload().message; }
  std::optional<int> retry_after_seconds() const { return payload().retry_after_seconds; }
  const std::vector<ErrorCause>& causes() const { return payload().causes; }
  const std::vector<std::string>& context() const { return payload().context; }
  const Payload& payload() const { return rep_->payload; }

  // The context chain and the message on one line: "list pods in ns x: connection refused".
  std::string ToString() const;

  // The same failure, said from one level further out.
  [[nodiscard]] Error WithContext(std::string what) const;

 private:
  struct Rep {
    internal::RefCount refs;
    Payload payload;
  };
  static void Free(Rep* rep) noexcept;

  Rep* rep_;  // never null: there is no moved-from Error, moving copies
};

// Predicates over API errors. They match the Kubernetes reason; the HTTP code decides only where the reason is none of the known
// ones, so a 409 AlreadyExists is not a Conflict. IsTooManyRequests and IsRequestEntityTooLarge also match by code alone;
// IsAlreadyExists, IsResourceExpired, IsServerTimeout and IsStoreReadError match by reason only.
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

// Predicates over errors of this side.
inline bool IsCancelled(const Error& e) { return e.kind() == ErrorKind::kCancelled; }
// A deadline of this side passed. (IsTimeout is about the server's answer.)
inline bool IsDeadlineExceeded(const Error& e) { return e.kind() == ErrorKind::kTimeout; }

// The server's suggested delay in seconds: `details.retryAfterSeconds`; always an answer (at least 0) for ServerTimeout.
KUBE_EXPORT std::optional<int> SuggestsClientDelay(const Error& e);

// Thrown by Result<T>::value() when there is no value.
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
// Out of line so that Result<T> stays small in every user's object file.
[[noreturn]] KUBE_EXPORT void ThrowError(const Error& error);
[[noreturn]] KUBE_EXPORT void AbortNoError();
}  // namespace internal

}  // namespace kube
