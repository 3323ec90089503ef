#include "transport/curl/wire.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "kube/transport/transport_errors.h"

namespace kube::internal {
namespace {

// What is taken from the socket at once: several records of TLS.
constexpr std::size_t kReadAhead = 64 * 1024 + 2048;

int SocketOf(BIO* bio) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

bool Again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// OpenSSL's own for sockets, but without SIGPIPE.
const BIO_METHOD* SocketMethod() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "kubexx socket");
    if (made == nullptr) return made;
    BIO_meth_set_create(made, [](BIO* bio) -> int {
      BIO_set_init(bio, 1);
      BIO_set_shutdown(bio, 0);
      return 1;
    });
    BIO_meth_set_read(made, [](BIO* bio, char* buffer, int size) -> int {
      BIO_clear_retry_flags(bio);
      const ssize_t got = recv(SocketOf(bio), buffer, static_cast<std::size_t>(size), 0);
      if (got < 0 && Again()) BIO_set_retry_read(bio);
      if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
      return static_cast<int>(got);
    });
    BIO_meth_set_write(made, [](BIO* bio, const char* bytes, int size) -> int {
      BIO_clear_retry_flags(bio);
      const ssize_t sent = send(SocketOf(bio), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL);
      if (sent < 0 && Again()) BIO_set_retry_write(bio);
      return static_cast<int>(sent);
    });
    BIO_meth_set_ctrl(made, [](BIO* bio, int command, long, void*) -> long {
      if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
      return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP ? 1 : 0;
    });
    return made;
  }();
  return method;
}

}  // namespace

Wire::Wire(const Settings& settings, CURL* easy, SSL* ssl, int fd, bool direct)
    : settings_(settings), easy_(easy), ssl_(ssl), direct_(direct) {
  SSL_set_mode(ssl_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (!direct_) return;
  BIO* bio = BIO_new(SocketMethod());
  if (bio == nullptr) {
    failure_.code = CURLE_OUT_OF_MEMORY;
    return;
  }
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  SSL_set_bio(ssl_, bio, bio);
  SSL_set_read_ahead(ssl_, 1);
  SSL_set_default_read_buffer_len(ssl_, kReadAhead);
  // libcurl's function for new sessions expects to be called by libcurl.
  SSL_CTX_sess_set_new_cb(SSL_get_SSL_CTX(ssl_), nullptr);
}

Wire::Outcome Wire::Read(char* buffer, std::size_t size) {
  if (failure_.code != CURLE_OK) return {State::kEnd, 0};
  if (!direct_) {
    std::size_t got = 0;
    const CURLcode code = curl_easy_recv(easy_, buffer, size, &got);
    if (code != CURLE_OK) return Failed(code);
    if (got == 0) return Failed(CURLE_GOT_NOTHING);
    read_ = true;
    return {State::kDone, got};
  }
  ERR_clear_error();
  const int got = SSL_read(ssl_, buffer, static_cast<int>(std::min<std::size_t>(size, 1U << 30U)));
  if (got <= 0) return Failed(got);
  read_ = true;
  return {State::kDone, static_cast<std::size_t>(got)};
}

Wire::Outcome Wire::Write(std::string_view bytes) {
  if (failure_.code != CURLE_OK) return {State::kEnd, 0};
  if (!direct_) {
    std::size_t sent = 0;
    const CURLcode code = curl_easy_send(easy_, bytes.data(), bytes.size(), &sent);
    return code == CURLE_OK ? Outcome{State::kDone, sent} : Failed(code);
  }
  ERR_clear_error();
  const int sent = SSL_write(ssl_, bytes.data(), static_cast<int>(std::min<std::size_t>(bytes.size(), 1U << 30U)));
  return sent > 0 ? Outcome{State::kDone, static_cast<std::size_t>(sent)} : Failed(sent);
}

Wire::Outcome Wire::Failed(CURLcode code) {
  if (code == CURLE_AGAIN) return {State::kWait, 0};
  failure_ = ReadFailure(easy_, code, nullptr);
  return {State::kEnd, 0};
}

Wire::Outcome Wire::Failed(int result) {
  const int saved = errno;
  const int error = SSL_get_error(ssl_, result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) return {State::kWait, 0};
  failure_.code = CURLE_RECV_ERROR;
  if (error == SSL_ERROR_ZERO_RETURN) {
    failure_.code = CURLE_GOT_NOTHING;
  } else if (error == SSL_ERROR_SYSCALL) {
    failure_.os_error = saved;
    failure_.detail = saved == 0 ? "unexpected eof" : std::strerror(saved);  // NOLINT(concurrency-mt-unsafe): glibc's is safe
  } else {
    char text[256];
    ERR_error_string_n(ERR_get_error(), text, sizeof text);
    failure_.detail = text;
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
