// HttpServer: HTTP/1.1 and HTTP/2 on one loopback or public port, with or without TLS. What the embedded API server, webhooks, metrics
// and health pages stand on.
//
//   auto server = HttpServer::Start({.port = 0}, [](const std::shared_ptr<HttpExchange>& exchange) {
//     exchange->Reply({.status = 200, .headers = {{"content-type", "text/plain"}}, .body = "hello\n"});
//   });
//
// A few I/O threads serve all connections: an answer that streams for hours (a watch) costs memory, not a thread. Handlers run on
// those threads, so they must not block; one that has to wait keeps the exchange and answers later from any other thread.
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

struct HttpHeader {
  std::string name{};  // lower case
  std::string value{};
};

class KUBE_EXPORT HttpHeaders {
 public:
  HttpHeaders() = default;
  HttpHeaders(std::initializer_list<HttpHeader> headers) : headers_(headers) {}
  void Add(std::string name, std::string value) { headers_.push_back({std::move(name), std::move(value)}); }
  // The first one of that name (lower case); empty where there is none.
  std::string_view Get(std::string_view name) const;
  // All values of that name, in order, joined by ", " as HTTP allows.
  std::string GetAll(std::string_view name) const;
  auto begin() const { return headers_.begin(); }
  auto end() const { return headers_.end(); }

 private:
  std::vector<HttpHeader> headers_;
};

// Who the client says it is, by a certificate that the server's client CA signed.
struct ClientCertificate {
  std::string common_name{};
  std::vector<std::string> organizations{};
};

struct HttpRequest {
  std::string method{};  // "GET"
  std::string path{};    // as sent: still percent-encoded, without the query
  std::string query{};   // as sent, without '?'
  HttpHeaders headers{};
  std::string body{};
  bool body_too_large = false;  // beyond HttpLimits::max_body_bytes; `body` is then empty
  std::optional<ClientCertificate> client_certificate{};
  std::string peer{};        // "127.0.0.1:51234"
  std::string peer_group{};  // the clients that limits take for one: "127.0.0.1", "2001:db8::/64"
  int http_major = 1;
};

struct HttpResponse {
  int status = 200;
  // content-length, date, connection and transfer-encoding are the server's own, and added; but "connection: close" makes this answer the
  // last one of its connection (HTTP/2: GOAWAY). Control characters in values become blanks.
  HttpHeaders headers{};
  std::string body{};
};

// The raw bytes of a connection that left HTTP (101 Switching Protocols): WebSocket and SPDY are spoken over it.
//
// Thread safety: one reader and one writer at a time. Destroying it closes the connection.
class KUBE_EXPORT UpgradedStream {
 public:
  virtual ~UpgradedStream();
  // Waits for at least one byte; 0 at the end of the stream. Errors: kCancelled, kTimeout, kTransport.
  virtual Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) = 0;
  // Waits until all is handed to the system.
  virtual Result<void> Write(const Context& ctx, std::string_view bytes) = 0;
  // Ends reads and writes that wait.
  virtual void Close() = 0;
};

// One request and the answer to it.
//
// Thread safety: all functions may be called from any thread, also after the handler has returned and after the server is gone; they do
// nothing where the answer is over. Exactly one of Reply, Start and Upgrade is called: the first one counts. Where the exchange is dropped
// without an answer, the client gets a 500; where it is dropped between Start and Finish, the answer is aborted. None of them blocks.
class KUBE_EXPORT HttpExchange {
 public:
  virtual ~HttpExchange();
  // Valid for as long as the handler holds the exchange. Its memory is freed when the handler lets go of it, even if the client has not
  // taken the answer yet.
  virtual const HttpRequest& request() const = 0;

  // The whole answer at once.
  virtual void Reply(HttpResponse response) = 0;

  // An answer in pieces. Each Write is sent at once, together with what waits for the same connection. A content-length among the headers
  // counts only where there is no body (HEAD, 304).
  virtual void Start(int status, HttpHeaders headers) = 0;
  // False where the client is gone. The text is shared, not copied: one event to a thousand watchers is one text.
  virtual bool Write(std::shared_ptr<const std::string> text) = 0;
  virtual void Finish() = 0;

  // Bytes written and not yet taken by the client: what a producer looks at to bound a slow reader. (What one connection hands to the
  // system at once, up to 256 KiB, is not counted any more.)
  virtual std::size_t buffered_bytes() const = 0;
  // Called once, when the answer is complete or the client is gone, on an I/O thread; here and now where that is so already. Several
  // callbacks may be given. A callback that holds the exchange keeps it, and the request, until then.
  virtual void OnClose(std::function<void()> callback) = 0;
  // Ends the answer the hard way: HTTP/1.1 closes the connection, HTTP/2 resets the stream. What was written and did not go out is lost.
  virtual void Abort() = 0;

  // Faults for tests. The answer is aborted once this many bytes of its body went out, also where that is all of it (HTTP/2: 50 ms later,
  // because clients drop what they have not read when a stream is reset); held back, its head too, while stalled.
  virtual void CutAfter(std::size_t body_bytes) = 0;
  virtual void Stall(bool stalled) = 0;

  // Answers 101 and leaves HTTP. HTTP/1.1 only: kInvalid otherwise. Blocks for nothing; the stream is for another thread than an I/O
  // thread.
  virtual Result<std::unique_ptr<UpgradedStream>> Upgrade(HttpHeaders headers) = 0;
};

struct HttpTlsOptions {
  std::string certificate_pem{};  // the chain, leaf first
  std::string key_pem{};
  std::string client_ca_pem{};  // empty: client certificates are not asked for. They are optional; a wrong one fails the handshake.
};

struct HttpServerOptions {
  std::string address = "127.0.0.1";  // an IP address; empty or "::": all, of IPv4 and IPv6
  std::uint16_t port = 0;             // 0: a free one
  std::optional<HttpTlsOptions> tls{};
  TlsPolicy tls_policy{};  // also for certificates that SetTls brings
  int io_threads = 2;
  HttpLimits limits{};  // safe for health and metrics; HttpLimits::ForApi() for more
};

// Destroying it stops it: the port is closed, answers under way are aborted, threads are joined. Not on one of its own threads. Exchanges
// and upgraded streams may outlive it.
//
// What it does by itself: 400, 431, 501 and 505 for what is no HTTP; 500 for a handler that throws; closes connections that exceed a limit
// or a deadline of HttpLimits.
class KUBE_EXPORT HttpServer {
 public:
  using Handler = std::function<void(const std::shared_ptr<HttpExchange>&)>;

  // Errors: kConfig for a bad certificate, kInvalid for a bad TlsPolicy, kTransport where the port cannot be had.
  static Result<std::unique_ptr<HttpServer>> Start(HttpServerOptions options, Handler handler);
  ~HttpServer();

  std::uint16_t port() const;
  std::size_t connections() const;  // that are open now
  HttpUsage usage() const;          // of what HttpLimits bounds; from any thread

  // Another certificate for connections that come from now on; those that are open keep theirs. From any thread.
  // Errors: kConfig for one that is not usable: the old one stays. kInvalid where the server has no TLS.
  Result<void> SetTls(const HttpTlsOptions& tls);

  // Faults for tests, from any thread: stop accepting (new connections are refused as soon as it returns; those that there are go on; the
  // port stays reserved), accept again on the same port, cut all connections (at once, but after it returns).
  void StopListening();
  Result<void> Listen();
  void CloseConnections();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube::serve
