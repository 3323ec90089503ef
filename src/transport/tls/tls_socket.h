// A TLS connection over a socket, as OpenSSL has it: what the server has to prove, what the client shows.
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

// TLS 1.2 or better, without renegotiation; HTTP/2 and HTTP/1.1 are offered. `material` may be null: the system's roots, and no
// certificate. Null where it cannot be used; `failure` says why.
SslContext MakeSslContext(const TlsMaterial* material, Failure& failure);

// Lets a context that libcurl made verify and behave as `rules`, which MakeSslContext made: the same roots (libcurl's own reader drops a
// whole bundle for one bad certificate), no common names, no renegotiation. False if memory is short.
bool ApplyTlsRules(SSL_CTX* rules, SSL_CTX* context);

// The client's side of a handshake on a connected socket that does not block; `name` is the host's, or the one that the certificate has to
// have instead. The socket stays the caller's. Null where memory is short.
Ssl MakeSsl(SSL_CTX* context, int fd, const std::string& name, bool verify);

// What OpenSSL says about the last failure on this thread; takes it away. Empty: nothing.
std::string TakeSslError();

}  // namespace kube::internal
