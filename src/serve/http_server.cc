#include "kube/serve/http_server.h"

#include <fmt/format.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <atomic>
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
        tls_(std::move(tls)) {
    const int count = std::max(1, options_->io_threads);
    for (int i = 0; i < count; ++i) loops_.push_back(std::make_unique<Loop>());
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { Stop(); }

  Result<void> Start() {
    error_code ec;
    const asio::ip::address address = asio::ip::make_address(options_->address, ec);
    if (ec) return Error(ErrorKind::kConfig, fmt::format("'{}' is no IP address", options_->address));
    endpoint_ = tcp::endpoint(address, options_->port);
    // Holds the port while the server does not listen: nobody else gets it meanwhile.
    reserved_ = std::make_unique<tcp::socket>(loops_[0]->io);
    if (Result<void> bound = Bind(*reserved_, "listen on"); !bound) return bound;
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
  std::size_t connections() const { return connections_.load(); }

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
    acceptor->listen(asio::socket_base::max_listen_connections, ec);
    if (ec) return TransportError("listen on", ec);
    acceptor_ = std::move(acceptor);
    Accept();
    return {};
  }

  Result<void> SetTls(const HttpTlsOptions& tls) {
    Result<std::shared_ptr<TlsContext>> made = TlsContext::Create(tls);
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

  Error TransportError(std::string_view what, const error_code& ec) const {
    return Error(ErrorKind::kTransport, fmt::format("{} {}:{}: {}", what, options_->address, endpoint_.port(), ec.message()));
  }

  template <typename Socket>
  Result<void> Bind(Socket& socket, std::string_view what) {
    error_code ec;
    socket.open(endpoint_.protocol(), ec);
    if (!ec) socket.set_option(asio::socket_base::reuse_address(true), ec);
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
      if (!ec) Adopt(loop, std::move(socket));
      if (!ec || ec == asio::error::connection_aborted) return Accept();
      // Out of file descriptors, as a rule: again when some may be free.
      retry_ = std::make_unique<asio::steady_timer>(loops_[0]->io, std::chrono::milliseconds(20));
      retry_->async_wait([this, generation](error_code cancelled) {
        MutexLock retry_lock(mu_);
        if (!cancelled && !stopping_ && generation == generation_) Accept();
      });
    });
  }

  void Adopt(Loop& loop, tcp::socket socket) KUBE_REQUIRES(mu_) {
    connections_.fetch_add(1);
    auto connection = std::make_shared<Connection>(
        loop.io, std::move(socket), loop.buffers,
        Connection::Settings{
            .options = options_, .handler = handler_, .tls = tls_, .on_closed = [this, &loop](const std::shared_ptr<Connection>& closed) {
              if (loop.connections.erase(closed) > 0) connections_.fetch_sub(1);
            }});
    asio::post(loop.io, [this, &loop, connection = std::move(connection), closings = closings_] {
      // CloseConnections() does not find it among the loop's connections before this point.
      const bool closed_meanwhile = [&] {
        MutexLock lock(mu_);
        return closings != closings_;
      }();
      if (loop.stopping || closed_meanwhile) {
        connections_.fetch_sub(1);
        return;
      }
      loop.connections.insert(connection);
      connection->Start();
    });
  }

  const std::shared_ptr<const HttpServerOptions> options_;
  const std::shared_ptr<const Handler> handler_;
  tcp::endpoint endpoint_;
  std::atomic<std::size_t> connections_{0};
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
    Result<std::shared_ptr<TlsContext>> made = TlsContext::Create(*options.tls);
    if (!made) return made.error();
    tls = *std::move(made);
  }
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler), std::move(tls));
  if (Result<void> started = impl->Start(); !started) return started.error();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

std::uint16_t HttpServer::port() const { return impl_->port(); }
std::size_t HttpServer::connections() const { return impl_->connections(); }
void HttpServer::StopListening() { impl_->StopListening(); }
Result<void> HttpServer::Listen() { return impl_->Listen(); }
Result<void> HttpServer::SetTls(const HttpTlsOptions& tls) { return impl_->SetTls(tls); }
void HttpServer::CloseConnections() { impl_->CloseConnections(); }

}  // namespace kube::serve
