// TLS over memory: ciphertext in, plaintext out and the other way round. No sockets, and whole answers become one piece of ciphertext, so
// that a connection sends them with one call (asio::ssl would send each record of 16 KiB by itself).
//
//   TlsContext   the certificate, key and client CA of a server; shared by its connections
//   TlsEngine    one connection
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

#include "kube/base/result.h"
#include "kube/serve/http_server.h"

namespace kube::serve {

class TlsContext {
 public:
  // Errors: kConfig; kInvalid for the policy.
  static Result<std::shared_ptr<TlsContext>> Create(const HttpTlsOptions& options, const TlsPolicy& policy, bool http2);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

 private:
  friend class TlsEngine;
  struct Impl;
  explicit TlsContext(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Thread safety: none.
class TlsEngine {
 public:
  enum class Step { kOk, kMore, kEnd, kFailed };

  explicit TlsEngine(const TlsContext& context);
  ~TlsEngine();
  TlsEngine(const TlsEngine&) = delete;
  TlsEngine& operator=(const TlsEngine&) = delete;

  // Bytes from the client.
  void Feed(std::string_view ciphertext);
  // kOk when the connection is made, kMore while it waits for the client.
  Step Handshake();
  // kEnd: the client said goodbye.
  Step Read(char* buffer, std::size_t size, std::size_t& got);
  bool Write(std::string_view plaintext);
  // Says goodbye to the client.
  void Shutdown();

  // The bytes to send to the client; call Sent(n) after sending n of them.
  std::string_view pending() const;
  void Sent(std::size_t size);
  // Memory of the buffers on both sides.
  std::size_t held_bytes() const;

  // After the handshake.
  bool speaks_http2() const;
  std::optional<ClientCertificate> client_certificate() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube::serve
