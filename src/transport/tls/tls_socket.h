// A TLS connection over a socket with OpenSSL: verification of the server, and the client certificate.
#pragma once

#include <openssl/ssl.h>

#include <memory>

#include "kube/config/credentials.h"
#include "transport/request/failure.h"

namespace kube::internal {

struct SslContextDeleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using SslContext = std::unique_ptr<SSL_CTX, SslContextDeleter>;

struct SslDeleter {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using Ssl = std::unique_ptr<SSL, SslDeleter>;

// TLS 1.2 or later, without renegotiation; offers HTTP/2 and HTTP/1.1. A null `material` means the system's roots and no client
// certificate. Returns null if it cannot be used; `failure` has the reason.
SslContext MakeSslContext(const TlsMaterial* material, Failure& failure);

// Makes a context of libcurl verify and behave as `rules`, which MakeSslContext created: the same roots (libcurl's own reader rejects a
// whole bundle for one bad certificate), no common names, no renegotiation. Returns false if memory is exhausted.
bool ApplyTlsRules(SSL_CTX* rules, SSL_CTX* context);

// The client side of a handshake on a connected non-blocking socket. `name` is the host, or the name that the certificate must have
// instead. The caller keeps the socket. Null if memory is exhausted.
Ssl MakeSsl(SSL_CTX* context, int fd, const std::string& name, bool verify);

// Returns and clears OpenSSL's last error of this thread. Empty: none.
std::string TakeSslError();

}  // namespace kube::internal
