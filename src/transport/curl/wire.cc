#include "transport/curl/wire.h"

#include <openssl/err.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "transport/curl/libcurl.h"

namespace kube::internal {

Wire::~Wire() {
  if (ssl_ == nullptr || failure_.code != CURLE_OK) return;
  (void)SSL_shutdown(ssl_.get());  // its answer is not waited for
  ERR_clear_error();
}

Wire::Outcome Wire::Read(char* buffer, std::size_t size) {
  if (failure_.code != CURLE_OK) return {State::kEnd, 0};
  if (ssl_ == nullptr) {
    std::size_t got = 0;
    const CURLcode code = Curl().easy_recv(easy_, buffer, size, &got);
    if (code != CURLE_OK) return Failed(code);
    if (got == 0) return Failed(CURLE_GOT_NOTHING);
    read_ = true;
    return {State::kDone, got};
  }
  ERR_clear_error();
  const int got = SSL_read(ssl_.get(), buffer, static_cast<int>(std::min<std::size_t>(size, 1U << 30U)));
  if (got <= 0) return Failed(got);
  read_ = true;
  return {State::kDone, static_cast<std::size_t>(got)};
}

Wire::Outcome Wire::Write(std::string_view bytes) {
  if (failure_.code != CURLE_OK) return {State::kEnd, 0};
  if (ssl_ == nullptr) {
    std::size_t sent = 0;
    const CURLcode code = Curl().easy_send(easy_, bytes.data(), bytes.size(), &sent);
    return code == CURLE_OK ? Outcome{State::kDone, sent} : Failed(code);
  }
  ERR_clear_error();
  const int sent = SSL_write(ssl_.get(), bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), 1U << 30U)));
  return sent > 0 ? Outcome{State::kDone, static_cast<std::size_t>(sent)} : Failed(sent);
}

Wire::Outcome Wire::Failed(CURLcode code) {
  if (code == CURLE_AGAIN) return {State::kWait, 0};
  failure_ = ReadFailure(easy_, code, nullptr);
  return {State::kEnd, 0};
}

Wire::Outcome Wire::Failed(int result) {
  const int saved = errno;
  const int error = SSL_get_error(ssl_.get(), result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return {State::kWait, 0};
  failure_.code = CURLE_RECV_ERROR;
  if (error == SSL_ERROR_ZERO_RETURN) {
    failure_.code = CURLE_GOT_NOTHING;
  } else if (error == SSL_ERROR_SYSCALL) {
    failure_.os_error = saved;
    failure_.detail = saved == 0 ? "unexpected eof" : std::strerror(saved);  // NOLINT(concurrency-mt-unsafe): glibc's is safe
  } else {
    failure_.detail = TakeSslError();
  }
  ERR_clear_error();
  return {State::kEnd, 0};
}

Error Wire::failure() const {
  Failure failure = failure_;
  failure.answered = read_;
  // The TLS layer's text for a socket that ended without a word of TLS.
  if (failure.detail.find("unexpected eof") != std::string::npos) failure.code = CURLE_GOT_NOTHING;
  return ToError(settings_, failure);
}

}  // namespace kube::internal
