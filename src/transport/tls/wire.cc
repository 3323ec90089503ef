#include "transport/tls/wire.h"

#include <openssl/err.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace kube::internal {

Wire::Outcome Wire::Read(char* buffer, std::size_t size) {
  if (failed()) return {State::kEnd, 0};
  const Outcome outcome = DoRead(buffer, size);
  read_ = read_ || outcome.state == State::kDone;
  return outcome;
}

Wire::Outcome Wire::Write(std::string_view bytes) {
  if (failed()) return {State::kEnd, 0};
  return DoWrite(bytes);
}

Wire::Outcome Wire::End(Failure failure) {
  failure_ = std::move(failure);
  return {State::kEnd, 0};
}

Error Wire::failure() const {
  Failure failure = failure_;
  failure.answered = read_;
  // The TLS layer's text for a socket that ended without a word of TLS.
  if (failure.detail.find("unexpected eof") != std::string::npos) failure.kind = FailureKind::kNoAnswer;
  return ToError(settings_, failure);
}

TlsWire::~TlsWire() {
  if (failed()) return;
  (void)SSL_shutdown(ssl_.get());  // its answer is not waited for
  ERR_clear_error();
}

Wire::Outcome TlsWire::DoRead(char* buffer, std::size_t size) {
  ERR_clear_error();
  const int got = SSL_read(ssl_.get(), buffer, static_cast<int>(std::min<std::size_t>(size, 1U << 30U)));
  return got > 0 ? Outcome{State::kDone, static_cast<std::size_t>(got)} : Failed(got);
}

Wire::Outcome TlsWire::DoWrite(std::string_view bytes) {
  ERR_clear_error();
  const int sent = SSL_write(ssl_.get(), bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), 1U << 30U)));
  return sent > 0 ? Outcome{State::kDone, static_cast<std::size_t>(sent)} : Failed(sent);
}

Wire::Outcome TlsWire::Failed(int result) {
  const int saved = errno;
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return {State::kWait, 0};
  Failure failure{.kind = FailureKind::kConnection};
  if (error == SSL_ERROR_ZERO_RETURN) {
    failure.kind = FailureKind::kNoAnswer;
  } else if (error == SSL_ERROR_SYSCALL) {
    failure.os_error = saved;
    failure.detail = saved == 0 ? "unexpected eof" : std::strerror(saved);  // NOLINT(concurrency-mt-unsafe): glibc's is safe
  } else {
    failure.detail = TakeSslError();
  }
  ERR_clear_error();
  return End(std::move(failure));
}

}  // namespace kube::internal
