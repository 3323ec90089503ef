// Session: one protocol over the bytes of one connection. It knows no sockets: bytes go in, bytes come out, so tests and fuzzers drive it
// as the network does.
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

// What a session knows of the connection that it runs on.
struct SessionContext {
  std::shared_ptr<const HttpServerOptions> options;
  std::shared_ptr<const HttpServer::Handler> handler;
  std::shared_ptr<Waker> waker;
  std::string peer;
  std::string peer_group{};
  std::optional<ClientCertificate> client_certificate;
  std::shared_ptr<Account> account{};  // of the connection; null: nothing is counted
};

// Thread safety: none; everything happens on the I/O thread of the connection. Exchanges that a session made are used by other threads,
// and reach it through Waker and Wake.
class Session {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // Produce stops near this many bytes: what is written to the socket at once, and what a connection holds beyond what exchanges hold.
  static constexpr std::size_t kOutputBytes = std::size_t{256} << 10;

  enum class Ending {
    kNone,   // goes on
    kClean,  // close once all output is sent
    kCut,    // the same, and let the client see that it was cut (no close_notify of TLS)
    kNow,    // close at once: the client does not take what was sent, or floods
  };

  virtual ~Session() = default;

  virtual void Receive(std::string_view bytes) = 0;
  virtual void ReceiveEnd() = 0;
  // An exchange of this session has something new.
  virtual void Wake(ExchangeState& exchange) = 0;
  // Appends what can be sent now to `out`. Called when all output before is with the system.
  virtual void Produce(std::string& out) = 0;
  // False while no more input is wanted, because what came before is not worked off.
  virtual bool WantsInput() const = 0;
  virtual Ending ending() const = 0;
  // When to call OnDeadline, if nothing else happens before.
  virtual std::optional<TimePoint> deadline() const = 0;
  virtual void OnDeadline(TimePoint now) = 0;
  // Memory of the session itself, without what its exchanges hold.
  virtual std::size_t held_bytes() const = 0;
  // The connection is gone: closes all exchanges. The last call.
  virtual void Close() = 0;
  // The session that takes over from here, once.
  virtual std::unique_ptr<Session> TakeSuccessor() { return nullptr; }
};

// HTTP/1.0 and HTTP/1.1.
std::unique_ptr<Session> MakeHttp1Session(SessionContext context);
// HTTP/2, from the client's preface on.
std::unique_ptr<Session> MakeHttp2Session(SessionContext context);

}  // namespace kube::serve
