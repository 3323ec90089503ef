// Session: one protocol over the bytes of one connection. It does not use sockets: bytes go in, bytes come out, so tests and fuzzers drive
// it as the network does.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kube/serve/http_server.h"
#include "serve/exchange.h"

namespace kube::serve {

// The connection that a session runs on.
struct SessionContext {
  std::shared_ptr<const HttpServerOptions> options;
  std::shared_ptr<const HttpServer::Handler> handler;
  std::shared_ptr<Waker> waker;
  std::string peer;
  std::string peer_group{};
  std::optional<ClientCertificate> client_certificate;
  std::shared_ptr<Account> account{};  // of the connection; null to count nothing
};

// Thread safety: none; everything happens on the connection's I/O thread. Other threads use the exchanges of a session, and reach it
//   through Waker and Wake.
class Session {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // Produce stops near this many bytes: a single write to the socket, and what a connection holds beyond its exchanges.
  static constexpr std::size_t kOutputBytes = std::size_t{256} << 10;

  enum class Ending {
    kNone,   // continue
    kClean,  // close once all output is sent
    kCut,    // the same, but show the client that it was cut (no close_notify of TLS)
    kNow,    // close at once: the client does not read, or floods
  };

  virtual ~Session() = default;

  virtual void Receive(std::string_view bytes) = 0;
  virtual void ReceiveEnd() = 0;
  // An exchange of this session has changed.
  virtual void Wake(ExchangeState& exchange) = 0;
  // Appends what can be sent now to `out`. Called when the system has accepted all output before.
  virtual void Produce(std::string& out) = 0;
  // False while input is not accepted, because earlier input is still being processed.
  virtual bool WantsInput() const = 0;
  virtual Ending ending() const = 0;
  // When to call OnDeadline if nothing else happens before.
  virtual std::optional<TimePoint> deadline() const = 0;
  virtual void OnDeadline(TimePoint now) = 0;
  // Memory of the session itself, without its exchanges.
  virtual std::size_t held_bytes() const = 0;
  // The connection has closed: closes all exchanges. The last call.
  virtual void Close() = 0;
  // The session that replaces this one; returned once.
  virtual std::unique_ptr<Session> TakeSuccessor() { return nullptr; }
};

// HTTP/1.0 and HTTP/1.1.
std::unique_ptr<Session> MakeHttp1Session(SessionContext context);
// HTTP/2, from the client's preface on.
std::unique_ptr<Session> MakeHttp2Session(SessionContext context);

}  // namespace kube::serve
