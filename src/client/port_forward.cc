#include "kube/client/port_forward.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <list>
#include <optional>
#include <utility>

#include "client/client_core.h"
#include "client/local_listener.h"
#include "client/pod_request.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/base/wait_until.h"
#include "transport/spdy/spdy_connection.h"

namespace kube {
namespace {

using internal::Descriptor;
using internal::SpdyConnection;
using internal::SpdyStream;
using internal::WebSocketDial;

constexpr std::string_view kProtocol = "SPDY/3.1+portforward.k8s.io";
constexpr std::chrono::seconds kPingPeriod{10};
constexpr std::chrono::seconds kOpenTimeout{30};
// How long the end of a connection waits for the server's last word on it.
constexpr std::chrono::seconds kLastWord{5};
constexpr std::size_t kMaxErrorText = std::size_t{64} << 10;
constexpr std::size_t kBuffer = std::size_t{32} << 10;
constexpr std::string_view kLost = "LostConnectionToPod";
constexpr std::string_view kFailed = "PortForwardFailed";

Error MakeError(std::string_view reason, std::string message) {
  return Error({.kind = ErrorKind::kTransport, .reason = std::string(reason), .message = std::move(message)});
}

std::optional<std::uint16_t> ParsePort(std::string_view text) {
  std::uint16_t port = 0;
  const std::from_chars_result parsed = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return port;
}

// What the error stream of a connection has said so far.
struct LastWord {
  Mutex mu;
  CondVar changed;
  std::string text KUBE_GUARDED_BY(mu);
  bool ended KUBE_GUARDED_BY(mu) = false;
};

class Stream final : public PortForwardStream {
 public:
  Stream(std::uint16_t port, std::shared_ptr<SpdyStream> data, std::shared_ptr<LastWord> last_word)
      : port_(port), data_(std::move(data)), last_word_(std::move(last_word)) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() override { Stream::Close(); }

  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) override {
    Result<std::size_t> got = data_->Read(ctx, buffer, size);
    if (!got || *got > 0 || size == 0) return got;
    // The end may be a failure, which the server reports in a separate stream.
    MutexLock lock(last_word_->mu);
    const auto ended = [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return last_word_->ended; };
    (void)WaitUntil(ctx.WithTimeout(kLastWord), last_word_->mu, last_word_->changed, ended);
    if (last_word_->text.empty()) return std::size_t{0};
    return MakeError(kFailed, fmt::format("port {}: {}", port_, last_word_->text));
  }
  Result<void> Write(const Context& ctx, std::string_view bytes) override {
    while (!bytes.empty()) {
      const std::string_view part = bytes.substr(0, kBuffer);
      bytes.remove_prefix(part.size());
      if (Result<void> sent = data_->Write(ctx, part); !sent) return sent;
    }
    return {};
  }
  Result<void> Finish(const Context& ctx) override { return data_->Finish(ctx); }
  // The error stream stays: what it says after this still counts. It goes with its end, or with the connection.
  void Close() override { data_->Reset(); }

 private:
  const std::uint16_t port_;
  const std::shared_ptr<SpdyStream> data_;
  const std::shared_ptr<LastWord> last_word_;
};

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace

PortForwardStream::~PortForwardStream() = default;

bool IsLostConnectionToPod(const Error& e) { return e.kind() == ErrorKind::kTransport && e.reason() == kLost; }
bool IsPortForwardFailure(const Error& e) { return e.kind() == ErrorKind::kTransport && e.reason() == kFailed; }

Result<ForwardedPort> ParseForwardedPort(std::string_view spec) {
  const std::size_t colon = spec.find(':');
  const std::string_view local = colon == std::string_view::npos ? spec : spec.substr(0, colon);
  const std::string_view remote = colon == std::string_view::npos ? spec : spec.substr(colon + 1);
  const std::optional<std::uint16_t> local_port = local.empty() && colon == 0 ? 0 : ParsePort(local);
  const std::optional<std::uint16_t> remote_port = ParsePort(remote);
  if (!local_port || !remote_port || *remote_port == 0) {
    return Error::Invalid(
        fmt::format("\"{}\" is not a port to forward: expected LOCAL:REMOTE, REMOTE, or :REMOTE for any local port", spec));
  }
  return ForwardedPort{*local_port, *remote_port};
}

class PortForwarder::Impl {
 public:
  Impl(std::unique_ptr<UpgradedConnection> connection, const Context& ctx, PortForwardOptions options, std::string what)
      : options_(std::move(options)),
        what_(std::move(what)),
        connection_(std::move(connection), SpdyConnection::Role::kClient, ctx.clock()),
        over_(connection_.alive().OnDone([this] { Finish(LostError()); })),
        stopped_(ctx.OnDone([this, ctx] { End(ctx.Err()->WithContext(what_)); })),
        pinger_("kube-pf-ping", [this] { Ping(); }) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    Stop();
    acceptor_.Stop();
    pinger_.Join();
    for (const std::shared_ptr<Local>& local : TakeLocals(true)) local->thread.Join();
  }

  Result<void> Listen() {
    std::vector<internal::Acceptor::Listener> listeners;
    for (const std::string& spec : options_.ports) {
      Result<ForwardedPort> port = ParseForwardedPort(spec);
      if (!port) return port.error();
      std::vector<Descriptor> fds;
      Result<std::uint16_t> local = internal::ListenOn(options_.addresses, port->local, fds);
      if (!local) return local.error().WithContext(what_);
      port->local = *local;
      ports_.push_back(*port);
      for (Descriptor& fd : fds) listeners.push_back({std::move(fd), port->remote});
    }
    if (listeners.empty()) return {};
    return acceptor_.Start(
        std::move(listeners), [this](Descriptor fd, std::uint16_t port) { Serve(std::move(fd), port); }, [this] { Reap(); });
  }

  const std::vector<ForwardedPort>& ports() const { return ports_; }

  Result<std::unique_ptr<PortForwardStream>> Dial(const Context& ctx, std::uint16_t port) {
    if (port == 0) return Error::Invalid("port 0 cannot be dialled").WithContext(what_);
    const Context soon = ctx.WithTimeout(kOpenTimeout);
    std::uint64_t request = 0;
    {
      MutexLock lock(mu_);
      if (outcome_) return outcome_->ok() ? Error(ErrorKind::kClosed, "forwarding was stopped").WithContext(what_) : outcome_->error();
      request = next_request_++;
    }
    HttpHeaders headers{{"streamtype", "error"}, {"port", std::to_string(port)}, {"requestid", std::to_string(request)}};
    auto last_word = std::make_shared<LastWord>();
    Result<std::shared_ptr<SpdyStream>> error = connection_.Open(
        soon, headers, true, [this, port, last_word](std::string_view text, bool fin) { Hear(port, *last_word, text, fin); });
    if (!error) return DialError(error.error(), port);
    headers.Set("streamtype", "data");
    Result<std::shared_ptr<SpdyStream>> data = connection_.Open(soon, std::move(headers));
    if (!data) {
      (*error)->Reset();
      return DialError(data.error(), port);
    }
    return std::unique_ptr<PortForwardStream>(std::make_unique<Stream>(port, *std::move(data), std::move(last_word)));
  }

  Result<void> Wait(const Context& ctx) {
    MutexLock lock(mu_);
    const auto ready = [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return outcome_.has_value(); };
    if (Result<void> waited = WaitUntil(ctx, mu_, changed_, ready); !waited) return waited;
    return *outcome_;
  }

  void Stop() {
    Finish({});
    connection_.Close(Error(ErrorKind::kClosed, "forwarding was stopped"));
  }

 private:
  // A connection to a local port.
  struct Local {
    Descriptor fd;
    std::uint16_t port = 0;
    bool done = false;  // with the lock of the forwarder
    Thread thread;
  };

  // The first one counts.
  void Finish(Result<void> outcome) {
    MutexLock lock(mu_);
    if (!outcome_) outcome_ = std::move(outcome);
    changed_.NotifyAll();
    for (const std::shared_ptr<Local>& local : locals_) shutdown(local->fd.get(), SHUT_RDWR);
    acceptor_.RequestStop();  // new connections would lead nowhere
  }
  void End(const Error& why) {
    Finish(why);
    connection_.Close(why);
  }

  Error LostError() const {
    const std::optional<Error> why = connection_.alive().Err();
    return MakeError(kLost, "lost connection to pod" + (why ? ": " + why->message() : "")).WithContext(what_);
  }

  Error DialError(const Error& error, std::uint16_t port) const { return error.WithContext(fmt::format("{} port {}", what_, port)); }

  // On the thread that reads the connection.
  void Hear(std::uint16_t port, LastWord& last_word, std::string_view text, bool fin) {
    std::string said;
    {
      MutexLock lock(last_word.mu);
      if (last_word.ended) return;
      last_word.text.append(text.substr(0, kMaxErrorText - std::min(kMaxErrorText, last_word.text.size())));
      last_word.ended = fin;
      last_word.changed.NotifyAll();
      said = last_word.text;
    }
    if (fin && !said.empty()) End(MakeError(kFailed, fmt::format("port {}: {}", port, said)).WithContext(what_));
  }

  void Ping() {
    const Context& alive = connection_.alive();
    while (alive.SleepFor(kPingPeriod)) (void)connection_.Ping(alive);  // one that fails ends the connection
  }

  // ---- Local connections ----

  void Serve(Descriptor fd, std::uint16_t port) {
    auto local = std::make_shared<Local>();
    local->fd = std::move(fd);
    local->port = port;
    MutexLock lock(mu_);
    if (outcome_) return;
    locals_.push_back(local);
    // The thread must not own what joins it.
    local->thread = Thread("kube-pf-up", [this, raw = local.get()] {
      Forward(*raw);
      MutexLock done(mu_);
      shutdown(raw->fd.get(), SHUT_RDWR);
      raw->done = true;
      acceptor_.Wake();
    });
  }

  void Forward(const Local& local) {
    const Context& alive = connection_.alive();
    Result<std::unique_ptr<PortForwardStream>> stream = Dial(alive, local.port);
    if (!stream) return Report(stream.error());
    const int fd = local.fd.get();
    Thread down("kube-pf-down", [this, fd, &alive, &stream, port = local.port] {
      std::string buffer(kBuffer, '\0');
      while (true) {
        const Result<std::size_t> got = (*stream)->Read(alive, buffer.data(), buffer.size());
        if (!got && !alive.stopped() && got.error().kind() != ErrorKind::kClosed) Report(DialError(got.error(), port));
        if (!got || *got == 0 || !SendAll(fd, {buffer.data(), *got})) break;
      }
      shutdown(fd, SHUT_RDWR);  // ends the other direction
    });
    std::string buffer(kBuffer, '\0');
    while (true) {
      const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        (*stream)->Close();
        break;
      }
      if (got == 0) {
        (void)(*stream)->Finish(alive);
        break;
      }
      if (!(*stream)->Write(alive, {buffer.data(), static_cast<std::size_t>(got)})) break;
    }
    down.Join();
  }

  void Report(const Error& error) const {
    if (options_.on_error) options_.on_error(error);
  }

  std::list<std::shared_ptr<Local>> TakeLocals(bool all) {
    std::list<std::shared_ptr<Local>> taken;
    MutexLock lock(mu_);
    for (auto it = locals_.begin(); it != locals_.end();) {
      const auto next = std::next(it);
      if (all || (*it)->done) taken.splice(taken.end(), locals_, it);
      it = next;
    }
    return taken;
  }
  void Reap() {
    for (const std::shared_ptr<Local>& local : TakeLocals(false)) local->thread.Join();
  }

  const PortForwardOptions options_;
  const std::string what_;
  std::vector<ForwardedPort> ports_;
  Mutex mu_;
  CondVar changed_;
  std::optional<Result<void>> outcome_ KUBE_GUARDED_BY(mu_);
  std::uint64_t next_request_ KUBE_GUARDED_BY(mu_) = 0;
  std::list<std::shared_ptr<Local>> locals_ KUBE_GUARDED_BY(mu_);
  internal::Acceptor acceptor_;
  SpdyConnection connection_;
  const Context::Registration over_;
  const Context::Registration stopped_;
  Thread pinger_;
};

PortForwarder::PortForwarder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PortForwarder::PortForwarder(PortForwarder&&) noexcept = default;
PortForwarder& PortForwarder::operator=(PortForwarder&&) noexcept = default;
PortForwarder::~PortForwarder() = default;

const std::vector<ForwardedPort>& PortForwarder::ports() const { return impl_->ports(); }
Result<std::unique_ptr<PortForwardStream>> PortForwarder::Dial(const Context& ctx, std::uint16_t port) { return impl_->Dial(ctx, port); }
Result<void> PortForwarder::Wait(const Context& ctx) { return impl_->Wait(ctx); }
void PortForwarder::Stop() { impl_->Stop(); }

Result<PortForwarder> ForwardPorts(const Context& ctx, const Client& client, const ObjectKey& pod, const PortForwardOptions& options) {
  std::string what = "port-forward " + pod.ToString();
  for (const std::string& spec : options.ports) {
    if (Result<ForwardedPort> port = ParseForwardedPort(spec); !port) return port.error().WithContext(std::move(what));
  }
  Result<HttpRequest> request = internal::PodRequest(pod, "portforward", {});
  if (!request) return request.error();
  Result<WebSocketDial> dial = internal::DialPod(*client.transport(), ctx, *std::move(request), {kProtocol});
  if (!dial) return dial.error().WithContext(std::move(what));
  auto impl = std::make_unique<PortForwarder::Impl>(internal::MakeWebSocketTunnel(std::move(dial->socket)), ctx, options, std::move(what));
  if (Result<void> listening = impl->Listen(); !listening) return listening.error();
  return PortForwarder(std::move(impl));
}

}  // namespace kube
