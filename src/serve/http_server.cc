#include "kube/serve/http_server.h"

#include <fmt/format.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <climits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "serve/connection.h"

namespace kube::serve {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

class HttpServer::Impl {
 public:
  Impl(HttpServerOptions options, Handler handler, std::shared_ptr<TlsContext> tls)
      : options_(std::make_shared<const HttpServerOptions>(std::move(options))),
        handler_(std::make_shared<const Handler>(std::move(handler))),
        ledger_(std::make_shared<Ledger>(options_->limits)),
        tls_(std::move(tls)) {
    const int count = std::max(1, options_->io_threads);
    for (int i = 0; i < count; ++i) loops_.push_back(std::make_unique<Loop>());
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { Stop(); }

  Result<void> Start() {
    error_code ec;
    const bool all = options_->address.empty();
    const asio::ip::address address = all ? asio::ip::address_v6::any() : asio::ip::make_address(options_->address, ec);
    if (ec) return Error(ErrorKind::kConfig, fmt::format("'{}' is no IP address", options_->address));
    endpoint_ = tcp::endpoint(address, options_->port);
    // Reserves the port while the server does not listen.
    reserved_ = std::make_unique<tcp::socket>(loops_[0]->io);
    Result<void> bound = Bind(*reserved_, "listen on");
    if (!bound && all && !reserved_->is_open()) {  // this system has no IPv6
      endpoint_ = tcp::endpoint(asio::ip::address_v4::any(), options_->port);
      bound = Bind(*reserved_, "listen on");
    }
    if (!bound) return bound;
    endpoint_ = reserved_->local_endpoint(ec);
    if (Result<void> listening = Listen(); !listening) return listening;
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      Loop& loop = *loops_[i];
      loop.thread = Thread(fmt::format("kube-http-{}", i), [&loop] { loop.io.run(); });
    }
    return {};
  }

  void Stop() {
    {
      MutexLock lock(mu_);
      stopping_ = true;
    }
    StopListening();
    for (const std::unique_ptr<Loop>& loop : loops_) {
      asio::post(loop->io, [&loop = *loop] {
        loop.stopping = true;
        loop.CloseAll();
        loop.io.stop();
      });
    }
    for (const std::unique_ptr<Loop>& loop : loops_) loop->thread.Join();
  }

  std::uint16_t port() const { return endpoint_.port(); }
  HttpUsage usage() const { return ledger_->usage(); }

  void StopListening() {
    MutexLock lock(mu_);
    ++generation_;
    error_code ec;
    if (acceptor_ != nullptr) acceptor_->close(ec);
    // The handler of the accept under way still names it; it dies with the next one, or with the server.
  }

  Result<void> Listen() {
    MutexLock lock(mu_);
    if (stopping_) return Error(ErrorKind::kClosed, "the server is stopped");
    if (acceptor_ != nullptr && acceptor_->is_open()) return {};
    auto acceptor = std::make_shared<tcp::acceptor>(loops_[0]->io);
    if (Result<void> bound = Bind(*acceptor, "listen on"); !bound) return bound;
    error_code ec;
    // Connections inherit them; a receive buffer counts only before the handshake.
    const HttpLimits& limits = options_->limits;
    if (limits.send_buffer_bytes > 0) acceptor->set_option(asio::socket_base::send_buffer_size(Clamped(limits.send_buffer_bytes)), ec);
    if (limits.receive_buffer_bytes > 0)
      acceptor->set_option(asio::socket_base::receive_buffer_size(Clamped(limits.receive_buffer_bytes)), ec);
    acceptor->listen(asio::socket_base::max_listen_connections, ec);
    if (ec) return TransportError("listen on", ec);
    acceptor_ = std::move(acceptor);
    Accept();
    return {};
  }

  Result<void> SetTls(const HttpTlsOptions& tls) {
    Result<std::shared_ptr<TlsContext>> made = TlsContext::Create(tls, options_->tls_policy, options_->limits.http2);
    if (!made) return made.error();
    MutexLock lock(mu_);
    if (tls_ == nullptr) return Error::Invalid("the server was started without TLS");
    tls_ = *std::move(made);
    return {};
  }

  void CloseConnections() {
    {
      MutexLock lock(mu_);
      ++closings_;
    }
    for (const std::unique_ptr<Loop>& loop : loops_) {
      asio::post(loop->io, [&loop = *loop] { loop.CloseAll(); });
    }
  }

 private:
  // One I/O thread and its connections.
  struct Loop {
    asio::io_context io{1};
    asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(io);
    IoBuffers buffers;
    bool stopping = false;                                        // used by the thread only
    std::unordered_set<std::shared_ptr<Connection>> connections;  // used by the thread only
    Thread thread;

    void CloseAll() {
      const std::vector<std::shared_ptr<Connection>> all(connections.begin(), connections.end());
      for (const std::shared_ptr<Connection>& connection : all) connection->Close();
    }
  };

  static int Clamped(std::size_t size) { return static_cast<int>(std::min<std::size_t>(size, INT_MAX)); }

  Error TransportError(std::string_view what, const error_code& ec) const {
    return Error(ErrorKind::kTransport, fmt::format("{} {}:{}: {}", what, options_->address, endpoint_.port(), ec.message()));
  }

  template <typename Socket>
  Result<void> Bind(Socket& socket, std::string_view what) {
    error_code ec;
    socket.open(endpoint_.protocol(), ec);
    if (!ec) socket.set_option(asio::socket_base::reuse_address(true), ec);
    // "::" is all addresses, those of IPv4 too, whatever the system's default is.
    if (!ec && endpoint_.address().is_v6()) socket.set_option(asio::ip::v6_only(!endpoint_.address().is_unspecified()), ec);
    if (!ec) socket.bind(endpoint_, ec);
    if (ec) return TransportError(what, ec);
    return {};
  }

  void Accept() KUBE_REQUIRES(mu_) {
    Loop& loop = *loops_[next_loop_++ % loops_.size()];
    acceptor_->async_accept(loop.io, [this, &loop, acceptor = acceptor_, generation = generation_](error_code ec, tcp::socket socket) {
      MutexLock lock(mu_);
      // A connection that was accepted while the server stopped to listen dies here with its socket.
      if (stopping_ || generation != generation_ || !acceptor->is_open()) return;
      if (!ec) return Admit(loop, std::make_shared<tcp::socket>(std::move(socket)));
      if (ec == asio::error::connection_aborted) return Accept();
      // Out of file descriptors, as a rule: again when some may be free.
      Later(std::chrono::milliseconds(20), [this]() KUBE_REQUIRES(mu_) { Accept(); });
    });
  }

  template <typename Function>
  void Later(std::chrono::milliseconds delay, Function function) KUBE_REQUIRES(mu_) {
    retry_ = std::make_unique<asio::steady_timer>(loops_[0]->io, delay);
    retry_->async_wait([this, generation = generation_, function = std::move(function)](error_code cancelled) {
      MutexLock lock(mu_);
      if (!cancelled && !stopping_ && generation == generation_) function();
    });
  }

  // Lets a connection in, as soon as another one is closed if there are too many; then accepts the next one.
  void Admit(Loop& loop, const std::shared_ptr<tcp::socket>& socket) KUBE_REQUIRES(mu_) {
    error_code ec;
    const tcp::endpoint remote = socket->remote_endpoint(ec);
    if (ec) return Accept();  // it has left already
    const std::string peer = PeerName(remote.address());
    Ledger::Room room = ledger_->MakeRoom(peer);
    if (room.free) {
      Adopt(loop, std::move(*socket), peer);
      return Accept();
    }
    if (room.close == nullptr)
      return Later(std::chrono::milliseconds(2), [this, &loop, socket]() KUBE_REQUIRES(mu_) { Admit(loop, socket); });
    room.close([this, &loop, socket, generation = generation_] {
      MutexLock lock(mu_);
      if (!stopping_ && generation == generation_) Admit(loop, socket);
    });
  }

  void Adopt(Loop& loop, tcp::socket socket, const std::string& peer) KUBE_REQUIRES(mu_) {
    auto connection = std::make_shared<Connection>(
        loop.io, std::move(socket), loop.buffers,
        Connection::Settings{.options = options_,
                             .handler = handler_,
                             .tls = tls_,
                             .ledger = ledger_,
                             .peer = peer,
                             .on_closed = [&loop](const std::shared_ptr<Connection>& closed) { loop.connections.erase(closed); }});
    connection->Open();
    asio::post(loop.io, [this, &loop, connection = std::move(connection), closings = closings_] {
      // CloseConnections() does not find it among the loop's connections before this point.
      const bool closed_meanwhile = [&] {
        MutexLock lock(mu_);
        return closings != closings_;
      }();
      if (loop.stopping || closed_meanwhile) return connection->Close();
      loop.connections.insert(connection);
      connection->Start();
    });
  }

  const std::shared_ptr<const HttpServerOptions> options_;
  const std::shared_ptr<const Handler> handler_;
  const std::shared_ptr<Ledger> ledger_;
  tcp::endpoint endpoint_;
  // What is left in the queue of the first loop may name sockets of the others; a vector destroys the first one first.
  std::vector<std::unique_ptr<Loop>> loops_;
  std::unique_ptr<tcp::socket> reserved_;
  Mutex mu_;
  std::shared_ptr<TlsContext> tls_ KUBE_GUARDED_BY(mu_);
  std::shared_ptr<tcp::acceptor> acceptor_ KUBE_GUARDED_BY(mu_);
  std::unique_ptr<asio::steady_timer> retry_ KUBE_GUARDED_BY(mu_);
  std::size_t next_loop_ KUBE_GUARDED_BY(mu_) = 0;
  std::uint64_t generation_ KUBE_GUARDED_BY(mu_) = 0;  // of listening
  std::uint64_t closings_ KUBE_GUARDED_BY(mu_) = 0;    // calls of CloseConnections
  bool stopping_ KUBE_GUARDED_BY(mu_) = false;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::Start(HttpServerOptions options, Handler handler) {
  std::shared_ptr<TlsContext> tls;
  if (options.tls) {
    Result<std::shared_ptr<TlsContext>> made = TlsContext::Create(*options.tls, options.tls_policy, options.limits.http2);
    if (!made) return made.error();
    tls = *std::move(made);
  }
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler), std::move(tls));
  if (Result<void> started = impl->Start(); !started) return started.error();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::uint16_t HttpServer::port() const { return impl_->port(); }
std::size_t HttpServer::connections() const { return impl_->usage().connections; }
HttpUsage HttpServer::usage() const { return impl_->usage(); }
void HttpServer::StopListening() { impl_->StopListening(); }
Result<void> HttpServer::Listen() { return impl_->Listen(); }
Result<void> HttpServer::SetTls(const HttpTlsOptions& tls) { return impl_->SetTls(tls); }
void HttpServer::CloseConnections() { impl_->CloseConnections(); }

}  // namespace kube::serve
