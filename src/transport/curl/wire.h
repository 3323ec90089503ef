// Wire: a TLS connection that is read and written here, as bytes. It was opened by a Dial; by libcurl where a proxy is in between.
//
// Everything here belongs to who does the I/O of the transport: one thread at a time.
#pragma once

#include <curl/curl.h>
#include <openssl/ssl.h>

#include <cstddef>
#include <optional>
#include <string_view>

#include "kube/base/error.h"
#include "transport/curl/settings.h"
#include "transport/tls/tls_socket.h"

namespace kube::internal {

class Wire {
 public:
  // `ssl` has shaken hands. Null: `easy` is libcurl's handle of the connection, and stays in its multi handle while this lives.
  Wire(const Settings& settings, Ssl ssl, CURL* easy) : settings_(settings), ssl_(std::move(ssl)), easy_(easy) {}
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  // Takes leave of the server. The socket stays open.
  ~Wire();

  enum class State { kDone, kWait, kEnd };
  struct Outcome {
    State state = State::kDone;
    std::size_t bytes = 0;
  };
  // kDone: some bytes. kWait: not before the socket can be read, or written. kEnd: never again; failure() says why.
  Outcome Read(char* buffer, std::size_t size);
  Outcome Write(std::string_view bytes);
  // There may be more to read that the socket does not know of.
  bool pending() const { return ssl_ == nullptr || SSL_has_pending(ssl_.get()) == 1; }
  // ConnectionReset, UnexpectedEof, or Tls for a server that did not like the client's certificate.
  Error failure() const;

 private:
  Outcome Failed(int result);
  Outcome Failed(CURLcode code);

  const Settings& settings_;
  const Ssl ssl_;
  CURL* const easy_;
  bool read_ = false;  // something came
  Failure failure_;
};

}  // namespace kube::internal
