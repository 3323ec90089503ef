// Wire: an open TLS connection, read and written as bytes. It was opened by a Dial, or by libcurl (curl/curl_wire.h) through a proxy.
//
// Everything here belongs to the thread that does the I/O of the transport: one thread at a time.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <string_view>
#include <utility>

#include "kube/base/error.h"
#include "transport/request/failure.h"
#include "transport/request/settings.h"
#include "transport/tls/tls_socket.h"

namespace kube::internal {

class Wire {
 public:
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  virtual ~Wire() = default;

  enum class State { kDone, kWait, kEnd };
  struct Outcome {
    State state = State::kDone;
    std::size_t bytes = 0;
  };
  // kDone: some bytes. kWait: not until the socket is readable or writable. kEnd: never again; failure() has the reason.
  Outcome Read(char* buffer, std::size_t size);
  Outcome Write(std::string_view bytes);
  // Whether there may be more to read that the socket does not report.
  virtual bool pending() const = 0;
  // ConnectionReset, UnexpectedEof, or Tls if the server rejected the client certificate.
  Error failure() const;

 protected:
  explicit Wire(const Settings& settings) : settings_(settings) {}
  bool failed() const { return failure_.kind != FailureKind::kNone; }
  // Records why nothing can be read or written any more.
  Outcome End(Failure failure);

 private:
  virtual Outcome DoRead(char* buffer, std::size_t size) = 0;
  virtual Outcome DoWrite(std::string_view bytes) = 0;

  const Settings& settings_;
  bool read_ = false;  // data was received
  Failure failure_;
};

class TlsWire final : public Wire {
 public:
  // `ssl` has completed the handshake; the caller keeps its socket.
  TlsWire(const Settings& settings, Ssl ssl) : Wire(settings), ssl_(std::move(ssl)) {}
  // Sends close_notify to the server.
  ~TlsWire() override;

  bool pending() const override { return SSL_has_pending(ssl_.get()) == 1; }

 private:
  Outcome DoRead(char* buffer, std::size_t size) override;
  Outcome DoWrite(std::string_view bytes) override;
  Outcome Failed(int result);

  const Ssl ssl_;
};

}  // namespace kube::internal
