// Wire: a TLS connection that libcurl has opened (name, proxy, certificates) and that is read and written here, as bytes.
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

namespace kube::internal {

class Wire {
 public:
  // `easy` is libcurl's handle of the connection, and stays in its multi handle while this lives. `direct`: nothing but `ssl` is between
  // the bytes and the socket; else libcurl has to be asked.
  Wire(const Settings& settings, CURL* easy, SSL* ssl, int fd, bool direct);

  enum class State { kDone, kWait, kEnd };
  struct Outcome {
    State state = State::kDone;
    std::size_t bytes = 0;
  };
  // kDone: some bytes. kWait: not before the socket can be read, or written. kEnd: never again; failure() says why.
  Outcome Read(char* buffer, std::size_t size);
  Outcome Write(std::string_view bytes);
  // There may be more to read that the socket does not know of.
  bool pending() const { return !direct_ || SSL_has_pending(ssl_) == 1; }
  // ConnectionReset, UnexpectedEof, or Tls for a server that did not like the client's certificate.
  Error failure() const;

 private:
  Outcome Failed(int result);
  Outcome Failed(CURLcode code);

  const Settings& settings_;
  CURL* const easy_;
  SSL* const ssl_;
  const bool direct_;
  bool read_ = false;  // something came
  Failure failure_;
};

}  // namespace kube::internal
