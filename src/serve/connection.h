// Connection: a socket, optional TLS, and the session that speaks over them. The only place, with http_server.cc, that knows
// Boost.Asio.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/mutex.h"
#include "serve/ledger.h"
#include "serve/session.h"
#include "serve/tls.h"

namespace kube::serve {

// What the connections of one I/O thread share.
struct IoBuffers {
  std::array<char, std::size_t{64} << 10> read;
  std::array<char, std::size_t{32} << 10> plain;
  std::string output;
};

// Thread safety: runs on the one thread of its io_context. Only its Waker is used by other threads.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  struct Settings {
    std::shared_ptr<const HttpServerOptions> options;
    std::shared_ptr<const HttpServer::Handler> handler;
    std::shared_ptr<const TlsContext> tls;  // null: plain
    std::shared_ptr<Ledger> ledger;
    std::string peer;  // PeerName
    // Called once when it is closed, as the last thing.
    std::function<void(const std::shared_ptr<Connection>&)> on_closed;
  };

  Connection(boost::asio::io_context& io, boost::asio::ip::tcp::socket socket, IoBuffers& buffers, Settings settings);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();
  // Counts it; before Start, from any thread.
  void Open();
  void Start();
  // At once, without a word. What the system has not sent yet is thrown away if it is `hard`.
  void Close(bool hard = false);

 private:
  class Link;
  enum class Phase { kHandshake, kSniff, kSession, kDraining, kClosed };

  void OnReadable();
  // Bytes off the network, through TLS if it is used.
  void Consume(std::string_view bytes);
  void ConsumePlain(std::string_view bytes);
  void ConsumeEnd();
  void BeginSession(bool http2, std::string_view input);
  // Lets the session work off what is new, sends, arms what has to be armed.
  void Pump();
  // True when all output is with the system.
  bool Send();
  bool SendPending();
  void Drain(bool goodbye);
  void Arm();
  void ArmTimer();
  void OnTimer();
  // Nothing more will be asked of the session.
  bool over() const;
  // What it holds: counted, and paid for by those that hold most if it is too much.
  void CountBytes();
  std::optional<Session::TimePoint> NextDeadline();

  boost::asio::io_context& io_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer timer_;
  IoBuffers& buffers_;
  const Settings settings_;
  const std::shared_ptr<Link> link_;
  std::shared_ptr<Account> account_;
  std::unique_ptr<Charge> charge_;
  std::string peer_;
  std::unique_ptr<TlsEngine> tls_;
  std::unique_ptr<Session> session_;
  Phase phase_ = Phase::kSniff;
  std::string sniffed_;
  std::string plain_pending_;  // without TLS: what the system did not take yet
  std::size_t plain_sent_ = 0;
  bool reading_ = false;
  bool writing_ = false;
  bool read_ended_ = false;
  bool tls_failed_ = false;
  Session::TimePoint phase_deadline_;
  std::optional<Session::TimePoint> last_send_deadline_;
  std::optional<Session::TimePoint> send_deadline_;  // while the system does not take what there is
  std::optional<Session::TimePoint> armed_;
};

// The clients that limits take for one: an IPv4 address, or the /64 of an IPv6 address.
std::string PeerName(const boost::asio::ip::address& address);

}  // namespace kube::serve
