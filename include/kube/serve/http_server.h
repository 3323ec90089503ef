// HttpServer: HTTP/1.1 and HTTP/2 on one loopback or public port, with or without TLS. The embedded API server, webhooks, metrics and
// health pages are built on it.
//
//   auto server = HttpServer::Start({.port = 0}, [](const std::shared_ptr<HttpExchange>& exchange) {
//     exchange->Reply({.status = 200, .headers = {{"content-type", "text/plain"}}, .body = "hello\n"});
//   });
//
// A few I/O threads serve all connections: an answer that streams for hours (a watch) costs memory, not a thread. Handlers run on those
// threads and must not block. A handler that has to wait keeps the exchange and answers later, from any other thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/serve/http_limits.h"
#include "kube/serve/tls_policy.h"

namespace kube::serve {

// One header field.
struct HttpHeader {
  std::string name{};  // lower case
  std::string value{};
};

// Header fields in the order in which they were added.
class KUBE_EXPORT HttpHeaders {
 public:
  HttpHeaders() = default;
  HttpHeaders(std::initializer_list<HttpHeader> headers) : headers_(headers) {}
  void Add(std::string name, std::string value) { headers_.push_back({std::move(name), std::move(value)}); }  // appends a field
  // The first value of that name (in lower case), or empty.
  std::string_view Get(std::string_view name) const;
  // All values of that name, in order, joined by ", ".
  std::string GetAll(std::string_view name) const;
  auto begin() const { return headers_.begin(); }
  auto end() const { return headers_.end(); }

 private:
  std::vector<HttpHeader> headers_;
};

// The identity in a client certificate that the server's client CA signed.
struct ClientCertificate {
  std::string common_name{};
  std::vector<std::string> organizations{};
};

// A request as received.
struct HttpRequest {
  std::string method{};  // "GET"
  std::string path{};    // as sent, percent-encoded, without the query
  std::string query{};   // as sent, without '?'
  HttpHeaders headers{};
  std::string body{};
  bool body_too_large = false;  // longer than HttpLimits::max_body_bytes; `body` is empty then
  // Set if the client presented a valid certificate.
  std::optional<ClientCertificate> client_certificate{};
  std::string peer{};        // "127.0.0.1:51234"
  std::string peer_group{};  // the unit of per-peer limits: "127.0.0.1", "2001:db8::/64"
  int http_major = 1;        // 1 or 2
};

// A complete answer.
struct HttpResponse {
  int status = 200;
  // The server adds content-length, date, connection and transfer-encoding itself. "connection: close" closes the connection after this
  // answer (HTTP/2: GOAWAY). Control characters in values are replaced by spaces.
  HttpHeaders headers{};
  std::string body{};
};

// The raw bytes of a connection after 101 Switching Protocols, as used for WebSocket and SPDY.
//
// Thread safety: one reader and one writer at a time. Destroying it closes the connection.
class KUBE_EXPORT UpgradedStream {
 public:
  virtual ~UpgradedStream();
  // Waits for at least one byte. Returns 0 at the end of the stream. Errors: kCancelled, kTimeout, kTransport.
  virtual Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) = 0;
  // Waits until the system has accepted all bytes.
  virtual Result<void> Write(const Context& ctx, std::string_view bytes) = 0;
  // Ends pending reads and writes.
  virtual void Close() = 0;
};

// One request and its answer.
//
// Thread safety: all functions may be called from any thread, even after the handler has returned and the server is destroyed. They do
//   nothing once the answer has ended. Call exactly one of Reply, Start and Upgrade; later calls are ignored. If the exchange is destroyed
//   without an answer, the client gets a 500; if between Start and Finish, the answer is aborted. No function blocks.
class KUBE_EXPORT HttpExchange {
 public:
  virtual ~HttpExchange();
  // Valid while the handler holds the exchange. The memory is freed when the handler releases it, even if the client has not received the
  // answer yet.
  virtual const HttpRequest& request() const = 0;

  // Sends a complete answer.
  virtual void Reply(HttpResponse response) = 0;

  // Streams an answer. Each Write is sent at once, together with other pending data of the connection. A content-length header is used only
  // if the answer has no body (HEAD, 304).
  virtual void Start(int status, HttpHeaders headers) = 0;
  // Returns false if the client has disconnected. The text is shared, not copied: an event for a thousand watchers exists once.
  virtual bool Write(std::shared_ptr<const std::string> text) = 0;
  virtual void Finish() = 0;  // ends a streamed answer

  // Bytes that were written but not yet received by the client; a producer can use it to bound slow readers. Excludes up to 256 KiB per
  // connection that were already handed to the system.
  virtual std::size_t buffered_bytes() const = 0;
  // Calls `callback` once, on an I/O thread, when the answer is complete or the client has disconnected; immediately if that has already
  // happened. May be called several times. A callback that holds the exchange keeps it and the request alive until then.
  virtual void OnClose(std::function<void()> callback) = 0;
  // Aborts the answer: HTTP/1.1 closes the connection, HTTP/2 resets the stream. Unsent data is lost.
  virtual void Abort() = 0;

  // Faults for tests. CutAfter aborts the answer once this many bytes of its body were sent, even if that is all of it (HTTP/2: 50 ms
  // later, because clients discard unread data when a stream is reset). Stall holds the answer back, including its headers.
  virtual void CutAfter(std::size_t body_bytes) = 0;
  virtual void Stall(bool stalled) = 0;

  // Answers 101 and leaves HTTP. HTTP/1.1 only, otherwise kInvalid. Does not block. Do not use the stream on an I/O thread.
  virtual Result<std::unique_ptr<UpgradedStream>> Upgrade(HttpHeaders headers) = 0;
};

// The server's certificate, and the CA of its clients.
struct HttpTlsOptions {
  std::string certificate_pem{};  // the chain, leaf first
  std::string key_pem{};
  // Empty to request no client certificates. They are optional, but an invalid one fails the handshake.
  std::string client_ca_pem{};
};

// Options of an HttpServer.
struct HttpServerOptions {
  std::string address = "127.0.0.1";  // an IP address; empty or "::" for all, IPv4 and IPv6
  std::uint16_t port = 0;             // 0 picks a free port
  std::optional<HttpTlsOptions> tls{};
  TlsPolicy tls_policy{};  // also applies to certificates set by SetTls
  int io_threads = 2;      // threads that serve all connections
  HttpLimits limits{};     // safe for health and metrics; see HttpLimits::ForApi()
};

// A running server. The destructor stops it: it closes the port, aborts pending answers and joins the threads. Do not call it on one of the
// server's threads. Exchanges and upgraded streams may outlive the server.
//
// The server itself answers 400, 431, 501 and 505 to malformed requests and 500 if a handler throws, and closes connections that exceed a
// limit or a deadline of HttpLimits.
class KUBE_EXPORT HttpServer {
 public:
  // Called for each request, on an I/O thread.
  using Handler = std::function<void(const std::shared_ptr<HttpExchange>&)>;

  // Errors: kConfig for a bad certificate, kInvalid for a bad TlsPolicy, kTransport if the port is not available.
  static Result<std::unique_ptr<HttpServer>> Start(HttpServerOptions options, Handler handler);
  ~HttpServer();

  std::uint16_t port() const;
  std::size_t connections() const;  // open connections
  HttpUsage usage() const;          // see HttpLimits; may be called from any thread

  // Replaces the certificate for new connections; open ones keep theirs. May be called from any thread. Errors: kConfig if it is not usable
  // (the old one stays), kInvalid if the server has no TLS.
  Result<void> SetTls(const HttpTlsOptions& tls);

  // Faults for tests, from any thread. StopListening refuses new connections as soon as it returns; open ones continue and the port stays
  // reserved. Listen accepts again on the same port. CloseConnections cuts all connections, shortly after it returns.
  void StopListening();
  Result<void> Listen();
  void CloseConnections();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube::serve
