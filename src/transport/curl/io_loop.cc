#include "transport/curl/io_loop.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "kube/transport/transport_errors.h"

namespace kube::internal {
namespace {

// Kubernetes servers allow 100 streams a connection. A few are left free, for health probes. More requests than that wait for a stream to
// become free: where most streams carry short requests, that is soon. Where watches hold most of them, or all hang, one request is sent
// all the same, which makes libcurl open another connection; the others go on when that one is there.
constexpr std::size_t kStreamsPerConnection = 96;
constexpr std::chrono::milliseconds kPatienceWithWatches{50};
constexpr std::chrono::milliseconds kPatienceWithShortRequests{5000};
// Each request looks for new certificates; a client that does nothing but watch has to look now and then.
constexpr std::chrono::minutes kTlsCheck{5};
// How long the end of a cancelled request may wait for other traffic on its connection before that is closed.
constexpr std::chrono::milliseconds kFlushTime{500};
// Rounds of libcurl without a look at sockets and orders.
constexpr int kMostRounds = 32;

void SetCork(int fd, int on) { (void)setsockopt(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on); }

Error ClosedError() { return Error(ErrorKind::kClosed, "the client was closed"); }

}  // namespace

Result<std::shared_ptr<IoLoop>> IoLoop::Start(std::shared_ptr<const Settings> settings) {
  InitCurl();
  std::shared_ptr<IoLoop> loop(new IoLoop(std::move(settings)));
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;  // each write is an event, and nobody has to read it
  event.data.fd = loop->wake_;
  if (loop->epoll_ < 0 || loop->wake_ < 0 || epoll_ctl(loop->epoll_, EPOLL_CTL_ADD, loop->wake_, &event) != 0) {
    return Error::Internal("a transport needs two file descriptors, and the system gives none: look at the limit (ulimit -n)");
  }
  loop->thread_ = Thread("kube-io", [raw = loop.get()] { raw->Run(); });
  return loop;
}

IoLoop::IoLoop(std::shared_ptr<const Settings> settings)
    : settings_(std::move(settings)), epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  http1_ = !settings_->endpoint.tls || settings_->options.disable_http2;
}

IoLoop::~IoLoop() {
  Stop();
  if (epoll_ >= 0) close(epoll_);
  if (wake_ >= 0) close(wake_);
}

// ---- From other threads ----

void IoLoop::Post(Command command) {
  bool wake = false;
  {
    MutexLock lock(mu_);
    if (!stopping_) {
      commands_.push_back(std::move(command));
      command.call = nullptr;
      wake = std::exchange(sleeping_, false);
    }
  }
  if (wake) {
    const std::uint64_t one = 1;
    (void)!write(wake_, &one, sizeof one);
  }
  if (command.call != nullptr && command.kind == Kind::kStart) Publish(*command.call, ClosedError());
}

void IoLoop::Submit(const std::shared_ptr<Call>& call) {
  requests_.fetch_add(1, std::memory_order_relaxed);
  in_flight_.fetch_add(1, std::memory_order_relaxed);
  Post({Kind::kStart, call});
}

void IoLoop::Cancel(const std::shared_ptr<Call>& call) { Post({Kind::kCancel, call}); }

void IoLoop::Resume(const std::shared_ptr<Call>& call) { Post({Kind::kResume, call}); }

void IoLoop::CloseConnections() { Post({Kind::kCloseConnections, nullptr}); }

void IoLoop::Stop() {
  {
    MutexLock lock(mu_);
    if (!std::exchange(stopping_, true)) {
      const std::uint64_t one = 1;
      (void)!write(wake_, &one, sizeof one);
    }
  }
  thread_.Join();
}

TransportStats IoLoop::stats() const {
  TransportStats stats;
  stats.requests = requests_;
  stats.connections_opened = opened_;
  stats.connections_open = open_;
  stats.in_flight = in_flight_;
  stats.paused = static_cast<std::uint64_t>(std::max<std::int64_t>(paused_, 0));
  return stats;
}

// ---- The loop ----

void IoLoop::Run() {
  epoll_event events[64];
  for (;;) {
    int timeout = WaitTime();
    {
      MutexLock lock(mu_);
      if (stopping_) break;
      if (commands_.empty()) {
        sleeping_ = timeout != 0;
      } else {
        timeout = 0;
      }
    }
    const int count = epoll_wait(epoll_, events, 64, timeout);
    now_ = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd != wake_) OnEvent(fd, events[i].events);
    }
    while (TakeCommands()) {
      // Requests that come together go out together, and so do the head and the body of one.
      const bool several = taken_.size() > 1 || (taken_.front().call != nullptr && !taken_.front().call->request.body.empty());
      if (several) Cork();
      for (Command& command : taken_) Handle(command);
      taken_.clear();
      RunTimers();
      if (several) Uncork();
    }
    RunTimers();
    RunEarly();
    if (next_check_ && *next_check_ <= now_) CheckHealth();
    if (settings_->options.tls != nullptr && now_ >= next_tls_check_) CheckTls();
    DropOldPools();
  }
  EndAll();
}

int IoLoop::WaitTime() {
  std::optional<TimePoint> until = next_check_;
  const auto sooner = [&](TimePoint when) {
    if (!until || when < *until) until = when;
  };
  for (const std::unique_ptr<Pool>& pool : pools_) {
    if (pool->timer()) sooner(*pool->timer());
  }
  if (settings_->options.tls != nullptr && open_ > 0) sooner(next_tls_check_);
  if (!waiting_.empty()) sooner(StartAnyway(waiting_.front().since));
  if (!until) return -1;
  const auto left = *until - std::chrono::steady_clock::now();
  if (left <= left.zero()) return 0;
  return static_cast<int>(std::min<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(left).count(), 3'600'000));
}

bool IoLoop::TakeCommands() {
  MutexLock lock(mu_);
  sleeping_ = false;
  taken_.swap(commands_);
  return !taken_.empty();
}

void IoLoop::Handle(Command& command) {
  switch (command.kind) {
    case Kind::kStart:
      if (waiting_.empty() && MayStart(now_)) {
        StartCall(command.call);
      } else {
        waiting_.push_back({std::move(command.call), now_});
      }
      break;
    case Kind::kCancel:
      CancelCall(*command.call);
      break;
    case Kind::kResume:
      ResumeCall(*command.call);
      break;
    case Kind::kCloseConnections:
      current_ = nullptr;
      break;
  }
}

void IoLoop::RunTimers() {
  bool more = true;
  for (int i = 0; i < kMostRounds && more; ++i) {
    more = false;
    for (std::size_t p = 0; p < pools_.size(); ++p) more = pools_[p]->RunTimer() || more;
    CollectDone();
    StartWaiting();
  }
}

// A server may answer before it has the whole body, as with 401. The stream then ends when our side has sent its end, and libcurl does not
// see that: it looks only where something comes in. So these are made to look again.
void IoLoop::RunEarly() {
  if (early_.empty()) return;
  const std::vector<Transfer*> all = std::exchange(early_, {});
  for (Transfer* transfer : all) {
    curl_off_t sent = 0;
    curl_easy_getinfo(transfer->easy.get(), CURLINFO_SIZE_UPLOAD_T, &sent);
    if (static_cast<std::uint64_t>(sent) < transfer->call->request.body.size()) early_.push_back(transfer);
    if (!transfer->paused) Pool::Poke(*transfer);
  }
  RunTimers();
}

void IoLoop::CollectDone() {
  for (std::size_t p = 0; p < pools_.size(); ++p) CollectDone(*pools_[p]);
}

void IoLoop::CollectDone(Pool& pool) {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(pool.multi(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    char* transfer = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    Finish(*reinterpret_cast<Transfer*>(transfer), message->data.result);
  }
}

// ---- Sockets ----

void IoLoop::Register(int fd, Watched& watched, std::uint32_t events) {
  if (watched.registered == events) return;
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  const int what = watched.registered == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
  (void)epoll_ctl(epoll_, what, fd, &event);
  watched.registered = events;
}

void IoLoop::Watch(Pool& pool, int fd, int what) {
  const auto index = static_cast<std::size_t>(fd);
  if (index >= watched_.size()) watched_.resize(index + 16);
  Watched& watched = watched_[index];
  watched.pool = &pool;
  if (what == CURL_POLL_REMOVE) {
    watched.wanted = 0;
    // A connection stays registered while nothing uses it: the next request comes soon, and saves two system calls.
    Register(fd, watched, watched.connection == nullptr ? 0U : static_cast<std::uint32_t>(EPOLLIN));
    if (watched.connection == nullptr) watched = Watched();
    return;
  }
  watched.wanted = ((what & CURL_POLL_IN) != 0 ? static_cast<std::uint32_t>(EPOLLIN) : 0U) |
                   ((what & CURL_POLL_OUT) != 0 ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
  Register(fd, watched, watched.wanted);
}

void IoLoop::Opened(Connection& connection) {
  const auto index = static_cast<std::size_t>(connection.fd);
  if (index >= watched_.size()) watched_.resize(index + 16);
  watched_[index] = Watched{.pool = connection.pool, .connection = &connection};
}

void IoLoop::Used(Connection& /*connection*/) {
  ++opened_;
  ++open_;
}

void IoLoop::Closed(Connection& connection) {
  watched_[static_cast<std::size_t>(connection.fd)] = Watched();  // the kernel forgets it by itself
  if (connection.used) --open_;
}

void IoLoop::Cork() {
  if (current_ == nullptr) return;
  for (const std::unique_ptr<Connection>& connection : current_->connections()) {
    if (!connection->http2) continue;
    SetCork(connection->fd, 1);
    corked_.push_back(connection->fd);
  }
}

void IoLoop::Uncork() {
  for (const int fd : corked_) {
    // Closed ones do not matter, and neither does another socket that got the number: it was never corked.
    if (watched_[static_cast<std::size_t>(fd)].connection != nullptr) SetCork(fd, 0);
  }
  corked_.clear();
}

void IoLoop::OnEvent(int fd, std::uint32_t events) {
  const auto index = static_cast<std::size_t>(fd);
  if (index >= watched_.size() || watched_[index].pool == nullptr) return;
  Watched& watched = watched_[index];
  if (watched.wanted == 0) {
    // Nothing uses it: the server closed it, or sent something that libcurl will look at before it uses it again.
    Register(fd, watched, 0);
    return;
  }
  Pool& pool = *watched.pool;
  Connection* connection = watched.connection;
  ++round_;
  if (connection != nullptr && (events & EPOLLIN) != 0) connection->last_read = now_;
  if (connection == nullptr || !connection->http2 || events != static_cast<std::uint32_t>(EPOLLIN) || connection->active.size() < 2 ||
      connection->quiet_rounds > 1) {
    if (connection != nullptr) connection->quiet_rounds = 0;
    int bits = 0;
    if ((events & (EPOLLIN | EPOLLHUP)) != 0) bits |= CURL_CSELECT_IN;
    if ((events & EPOLLOUT) != 0) bits |= CURL_CSELECT_OUT;
    if ((events & EPOLLERR) != 0) bits |= CURL_CSELECT_ERR | CURL_CSELECT_IN;
    pool.OnSocket(fd, bits);
    CollectDone(pool);
    return;
  }
  // Many streams share it: one reads for all, best the one that gets most.
  const auto awake = [](const Transfer* transfer) { return transfer != nullptr && !transfer->paused; };
  Transfer* reader = connection->reader;
  if (!awake(reader)) {
    const auto found = std::find_if(connection->active.begin(), connection->active.end(), awake);
    reader = found == connection->active.end() ? nullptr : *found;
  }
  if (reader == nullptr) {
    pool.OnSocket(fd, CURL_CSELECT_IN);
    CollectDone(pool);
    return;
  }
  const std::uint64_t before = connection->delivered;
  for (int i = 0; i < kMostRounds && reader != nullptr; ++i) {
    connection->bulk = nullptr;
    Pool::Poke(*reader);
    for (int k = 0; k < kMostRounds && pool.RunTimer(); ++k) {
    }
    CollectDone(pool);
    if (watched_[index].connection != connection) return;  // closed
    // libcurl stops in the middle of what it took from the socket where a stream gets more than its buffer holds, and nothing tells it to
    // go on but more from the socket.
    reader = connection->bulk;
    ++round_;
  }
  connection->quiet_rounds = connection->delivered == before ? connection->quiet_rounds + 1 : 0;
}

// ---- Calls ----

std::size_t IoLoop::Streams() const {
  return kStreamsPerConnection * (current_ == nullptr ? 1 : std::max<std::size_t>(current_->http2_connections(), 1));
}

TimePoint IoLoop::StartAnyway(TimePoint since) const {
  const bool watches = streaming_in_curl_ * 2 >= Streams();
  return std::max(since, last_overflow_) + (watches ? kPatienceWithWatches : kPatienceWithShortRequests);
}

bool IoLoop::MayStart(TimePoint since) {
  if (http1_ || in_curl_ < Streams()) return true;
  if (now_ < StartAnyway(since)) return false;
  last_overflow_ = now_;
  return true;
}

void IoLoop::StartWaiting() {
  while (!waiting_.empty()) {
    if (waiting_.front().call->over) {
      waiting_.pop_front();
      continue;
    }
    if (!MayStart(waiting_.front().since)) return;
    const std::shared_ptr<Call> call = std::move(waiting_.front().call);
    waiting_.pop_front();
    StartCall(call);
  }
}

Pool& IoLoop::PoolFor(const std::shared_ptr<const TlsMaterial>& material) {
  if (current_ != nullptr) {
    const std::shared_ptr<const TlsMaterial>& used = current_->material();
    if (used == material || material == nullptr || used == nullptr) return *current_;
    if (material->generation <= used->generation && material->ca_generation <= used->ca_generation) return *current_;
    if (material->generation > used->generation) {
      // Connections that were made with the old certificate have to go, whatever they do.
      Pool* old = current_;
      current_ = nullptr;
      std::vector<int> sockets;
      for (const std::unique_ptr<Connection>& connection : old->connections()) sockets.push_back(connection->fd);
      for (const int fd : sockets) {
        Connection* connection = watched_[static_cast<std::size_t>(fd)].connection;
        if (connection != nullptr && connection->pool == old) {
          GiveUp(*connection, TransportError(transport_reason::kConnectionLost,
                                             fmt::format("the connection to {} was closed because the client certificate changed",
                                                         settings_->endpoint.HostPort())));
        }
      }
    }
  }
  pools_.push_back(std::make_unique<Pool>(*this, settings_, material));
  current_ = pools_.back().get();
  return *current_;
}

void IoLoop::CheckTls() {
  next_tls_check_ = now_ + kTlsCheck;
  if (current_ == nullptr) return;
  if (const std::shared_ptr<const TlsMaterial> material = settings_->options.tls->Current()) (void)PoolFor(material);
}

void IoLoop::DropOldPools() {
  if (pools_.size() < 2 && current_ != nullptr) return;
  std::erase_if(pools_, [&](const std::unique_ptr<Pool>& pool) { return pool.get() != current_ && pool->active().empty(); });
}

void IoLoop::StartCall(const std::shared_ptr<Call>& call) {
  if (call->over) return;
  ++in_curl_;
  streaming_in_curl_ += call->request.streaming ? 1 : 0;
  if (PoolFor(call->material).Start(call) != nullptr) return;
  --in_curl_;
  streaming_in_curl_ -= call->request.streaming ? 1 : 0;
  Publish(*call, Error::Internal("libcurl takes no request: memory may be short"));
}

void IoLoop::Forget(Transfer& transfer) {
  if (transfer.paused) Paused(-1);
  transfer.paused = false;
  if (transfer.body_set) std::erase(early_, &transfer);
  if (transfer.call != nullptr) {
    --in_curl_;
    streaming_in_curl_ -= transfer.call->request.streaming ? 1 : 0;
  }
  causes_.erase(&transfer);
}

void IoLoop::CancelCall(Call& call) {
  if (call.over) return;
  call.over = true;
  in_flight_.fetch_sub(1, std::memory_order_relaxed);
  Transfer* transfer = call.transfer;
  if (transfer == nullptr) return;  // it still waits, and will not be started
  Pool& pool = *transfer->pool;
  Connection* connection = transfer->connection;
  Forget(*transfer);
  pool.Remove(*transfer);
  // Removing may have closed the connection.
  const bool lives = std::any_of(pool.connections().begin(), pool.connections().end(),
                                 [&](const std::unique_ptr<Connection>& one) { return one.get() == connection; });
  if (!lives || !connection->http2) return;
  // libcurl has put the RST_STREAM into a buffer that goes out with the next thing that is sent.
  for (Transfer* other : connection->active) {
    if (other->paused) continue;
    Pool::Poke(*other);
    return;
  }
  if (!connection->active.empty()) return;
  connection->unflushed_since = now_;
  if (!next_check_ || now_ + kFlushTime < *next_check_) next_check_ = now_ + kFlushTime;
}

void IoLoop::ResumeCall(Call& call) {
  {
    MutexLock lock(call.mu);
    call.resuming = false;
    call.paused = false;
  }
  Transfer* transfer = call.transfer;
  if (call.over || transfer == nullptr || !transfer->paused) return;
  transfer->paused = false;
  Paused(-1);
  // libcurl hands over all that it kept meanwhile, and it is better here than in its buffer, which it copies with each pause.
  transfer->flushing = true;
  const CURLcode code = curl_easy_pause(transfer->easy.get(), CURLPAUSE_CONT);
  transfer->flushing = false;
  if (code != CURLE_OK) Finish(*transfer, code);
}

void IoLoop::Paused(int change) { paused_ += change; }

void IoLoop::PublishHead(Call& call) {
  {
    MutexLock lock(call.mu);
    call.head = true;
    call.ready = true;
  }
  call.answered.Set();
}

void IoLoop::Publish(Call& call, std::optional<Error> error) {
  call.over = true;
  in_flight_.fetch_sub(1, std::memory_order_relaxed);
  bool wake = false;
  {
    MutexLock lock(call.mu);
    call.error = std::move(error);
    call.ended = true;
    call.ready = true;
    wake = call.reader_waits;
  }
  call.answered.Set();
  if (wake) call.changed.NotifyAll();
}

std::optional<Error> IoLoop::Outcome(Transfer& transfer, CURLcode code) {
  const std::string host = settings_->endpoint.HostPort();
  if (code == CURLE_OK) {
    if (transfer.head_done) return std::nullopt;
    return TransportError(transport_reason::kUnexpectedEof, fmt::format("{} closed the connection without an answer", host));
  }
  if (const auto found = causes_.find(&transfer); found != causes_.end()) return found->second;
  if (transfer.connection != nullptr && transfer.connection->cause) return transfer.connection->cause;
  if (transfer.header_too_large) {
    return TransportError(transport_reason::kTooLarge,
                          fmt::format("the header of the answer of {} is larger than {} bytes", host, settings_->options.max_header_bytes));
  }
  if (transfer.body_too_large) {
    return TransportError(
        transport_reason::kTooLarge,
        fmt::format("the answer of {} is larger than {} bytes: ask for less at once, as by limit", host, settings_->options.max_response));
  }
  if (transfer.not_repeatable) {
    return TransportError(transport_reason::kConnectionReset, fmt::format("{} closed the connection before it answered", host));
  }
  Failure failure = ReadFailure(transfer.easy.get(), code, transfer.detail);
  failure.http2 = transfer.connection != nullptr && transfer.connection->http2;
  failure.answered = transfer.header_bytes > 0;
  return ToError(*settings_, failure);
}

void IoLoop::Finish(Transfer& transfer, CURLcode code) {
  const std::shared_ptr<Call> call = transfer.call;
  std::optional<Error> error;
  if (call != nullptr) error = Outcome(transfer, code);
  Forget(transfer);
  transfer.pool->Remove(transfer);
  if (call != nullptr) Publish(*call, std::move(error));
}

void IoLoop::EndAll() {
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    Pool& pool = *pools_[p];
    while (!pool.active().empty()) {
      Transfer& transfer = *pool.active().back();
      const std::shared_ptr<Call> call = transfer.call;
      Forget(transfer);
      pool.Remove(transfer);
      if (call != nullptr && !call->over) Publish(*call, ClosedError());
    }
  }
  current_ = nullptr;
  pools_.clear();
  for (const Waiting& one : waiting_) {
    if (!one.call->over) Publish(*one.call, ClosedError());
  }
  waiting_.clear();
  (void)TakeCommands();
  for (const Command& command : taken_) {
    if (command.kind == Kind::kStart) Publish(*command.call, ClosedError());
  }
  taken_.clear();
}

// ---- Health ----

void IoLoop::WatchHealth(Connection& connection) {
  const TimePoint due = connection.last_read + settings_->options.read_idle_timeout;
  if (!next_check_ || due < *next_check_) next_check_ = due;
}

void IoLoop::CheckConnection(Connection& connection, std::vector<Connection*>& lost) {
  const HttpTransportOptions& options = settings_->options;
  std::optional<TimePoint> due;
  if (connection.active.empty()) {
    if (!connection.unflushed_since) return;
    due = *connection.unflushed_since + kFlushTime;
    if (*due > now_) {
      if (!next_check_ || *due < *next_check_) next_check_ = due;
      return;
    }
    connection.unflushed_since.reset();
    if (connection.pool == current_ && current_->active().empty()) {
      current_ = nullptr;  // with it goes the connection
    } else {
      shutdown(connection.fd, SHUT_RDWR);
    }
    return;
  }
  if (!connection.http2 || connection.cause) return;
  if (connection.probed_at && connection.last_read > *connection.probed_at) connection.probed_at.reset();
  if (connection.probed_at) {
    due = *connection.probed_at + options.ping_timeout;
    if (*due <= now_) {
      if (connection.probe != nullptr && connection.probe->connection == &connection) {
        lost.push_back(&connection);
        return;
      }
      // The probe did not go out on this connection: its silence says nothing.
      connection.probed_at.reset();
      connection.last_read = now_;
    }
  }
  if (!connection.probed_at) {
    due = connection.last_read + options.read_idle_timeout;
    if (*due <= now_) {
      connection.probe = connection.pool->StartProbe(connection);
      connection.probed_at = now_;
      due = now_ + options.ping_timeout;
    }
  }
  if (!next_check_ || *due < *next_check_) next_check_ = due;
}

void IoLoop::CheckHealth() {
  next_check_.reset();
  std::vector<Connection*> lost;
  for (const std::unique_ptr<Pool>& pool : pools_) {
    for (const std::unique_ptr<Connection>& connection : pool->connections()) CheckConnection(*connection, lost);
  }
  for (Connection* connection : lost) {
    GiveUp(*connection, TransportError(transport_reason::kConnectionLost,
                                       fmt::format("the connection to {} was lost: nothing came for {} ms, not even an answer to a probe",
                                                   settings_->endpoint.HostPort(),
                                                   (settings_->options.read_idle_timeout + settings_->options.ping_timeout).count())));
  }
  RunTimers();
}

void IoLoop::GiveUp(Connection& connection, Error cause) {
  connection.cause = std::move(cause);
  Pool& pool = *connection.pool;
  const int fd = connection.fd;
  shutdown(fd, SHUT_RDWR);
  pool.OnSocket(fd, CURL_CSELECT_IN);
  CollectDone(pool);
}

}  // namespace kube::internal
