#include "transport/io/io_loop.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "kube/transport/transport_errors.h"
#include "transport/request/body.h"

namespace kube::internal {
namespace {

// More requests than the server allows at a time wait for a stream to become free: where most streams carry short requests, that is soon.
// Where watches hold most of them, or all hang, another connection is opened.
constexpr std::chrono::milliseconds kPatienceWithWatches{50};
constexpr std::chrono::milliseconds kPatienceWithShortRequests{5000};
// Each request looks for new certificates; a client that does nothing but watch has to look now and then.
constexpr std::chrono::minutes kTlsCheck{5};
// A caller sends its request itself if so few are under way: if there are many, the loop has much to send at once.
constexpr std::size_t kMostSentHere = 4;
// How often it is looked whether a reader that receives itself still does.
constexpr std::chrono::seconds kReceiverCheck{5};
// Rounds of libcurl without checking sockets and orders.
constexpr int kMostRounds = 32;
// More than a record of TLS holds.
constexpr std::size_t kInput = 32 * 1024;

Error ClosedError() { return Error(ErrorKind::kClosed, "the client was closed"); }

}  // namespace

Result<std::shared_ptr<IoLoop>> IoLoop::Start(std::shared_ptr<const Settings> settings) {
  std::shared_ptr<IoLoop> loop(new IoLoop(std::move(settings)));
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;  // each write is an event, and need not be read
  event.data.fd = loop->wake_.fd();
  if (loop->epoll_.get() < 0 || !loop->wake_.valid() || epoll_ctl(loop->epoll_.get(), EPOLL_CTL_ADD, loop->wake_.fd(), &event) != 0) {
    return Error::Internal("a transport needs two file descriptors, and the system gives none: look at the limit (ulimit -n)");
  }
  loop->thread_ = Thread("kube-io", [raw = loop.get()] { raw->Run(); });
  return loop;
}

IoLoop::IoLoop(std::shared_ptr<const Settings> settings) : settings_(std::move(settings)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  input_.resize(kInput);
}

IoLoop::~IoLoop() { Stop(); }

// ---- From other threads ----

void IoLoop::Post(Command command) {
  bool wake = false;
  {
    MutexLock lock(mu_);
    if (!stopping_) {
      commands_.push_back(std::move(command));
      command.call = nullptr;
      wake = !caller_sends_ && std::exchange(sleeping_, false);
    }
  }
  if (wake) wake_.Set();
  if (command.call != nullptr && command.kind == Kind::kStart) Done(*command.call, ClosedError());
}

void IoLoop::Submit(const std::shared_ptr<Call>& call) {
  requests_.fetch_add(1, std::memory_order_relaxed);
  in_flight_.fetch_add(1, std::memory_order_relaxed);
  if (!StartHere(call)) Post({Kind::kStart, call});
}

bool IoLoop::StartHere(const std::shared_ptr<Call>& call) {
  if (!io_.TryLock()) return false;
  Link* link = LinkToSendHere(*call);
  {
    MutexLock lock(mu_);
    if (!commands_.empty() || stopping_) link = nullptr;  // orders keep their order
    caller_sends_ = link != nullptr;
  }
  if (link == nullptr) {
    io_.Unlock();
    return false;
  }
  bool wake = false;
  for (std::shared_ptr<Call> next = call; next != nullptr;) {
    now_ = std::chrono::steady_clock::now();
    StartOn(*link, next);
    if (const std::string_view output = link->session.output(); !output.empty()) {
      const Wire::Outcome outcome = link->wire->Write(output);
      if (outcome.state == Wire::State::kDone) link->session.Sent(outcome.bytes);
    }
    // What is left, or went wrong, the loop sees to.
    wake = !waiting_.empty() || link->session.over() || !link->session.output().empty() || link->more;
    next = nullptr;
    MutexLock lock(mu_);
    // A call that was added meanwhile did not wake the loop.
    if (!wake && !stopping_ && !commands_.empty() && commands_.front().kind == Kind::kStart &&
        LinkToSendHere(*commands_.front().call) == link) {
      next = std::move(commands_.front().call);
      commands_.erase(commands_.begin());
      continue;
    }
    caller_sends_ = false;
    if (!commands_.empty() && std::exchange(sleeping_, false)) wake = true;
  }
  io_.Unlock();
  if (wake) wake_.Set();
  return true;
}

Link* IoLoop::LinkToSendHere(const Call& call) const {
  // Whatever needs a timer, libcurl or a decision is the loop's.
  if (call.over || current_ == nullptr || !waiting_.empty() || current_->material() != call.material || !next_check_) return nullptr;
  Link* link = current_->FreeLink();
  if (link == nullptr || !link->session.output().empty()) return nullptr;
  return link->session.active().size() - link->session.streaming() < kMostSentHere ? link : nullptr;
}

void IoLoop::StartOn(Link& link, const std::shared_ptr<Call>& call) {
  if (link.session.active().empty()) {
    WatchHealth(link);
  } else {
    link.shared_at = now_;
    if (!link.receiver.is_loop()) TakeBack(link);
  }
  link.session.Start(call);
}

void IoLoop::Cancel(const std::shared_ptr<Call>& call) { Post({Kind::kCancel, call}); }

void IoLoop::Resume(const std::shared_ptr<Call>& call) { Post({Kind::kResume, call}); }

void IoLoop::CloseConnections() { Post({Kind::kCloseConnections, nullptr}); }

void IoLoop::Stop() {
  {
    MutexLock lock(mu_);
    if (!std::exchange(stopping_, true)) wake_.Set();
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
  stats.receiving = receiving_;
  return stats;
}

// ---- The loop ----

void IoLoop::Run() {
  epoll_event events[64];
  MutexLock io(io_);
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
    io.Unlock();
    const int count = epoll_wait(epoll_.get(), events, 64, timeout);
    io.Lock();
    now_ = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i) {
      const int fd = events[i].data.fd;
      if (fd != wake_.fd()) OnEvent(fd, events[i].events);
    }
    while (TakeCommands()) {
      for (Command& command : taken_) Handle(command);
      taken_.clear();
    }
    RunTimers();
    StartWaiting();
    TendLinks();
    TakeBackForgotten();
    if (next_check_ && *next_check_ <= now_) CheckHealth();
    if (settings_->options.tls != nullptr && now_ >= next_tls_check_) CheckTls();
    DropOldPools();
  }
  EndAll();
}

int IoLoop::WaitTime() {
  if (again_) return 0;
  std::optional<TimePoint> until = next_check_;
  const auto sooner = [&](TimePoint when) {
    if (!until || when < *until) until = when;
  };
  for (const std::unique_ptr<Pool>& pool : pools_) {
    if (pool->timer()) sooner(*pool->timer());
    if (pool->dial() != nullptr) sooner(pool->dial()->next());
    for (const std::unique_ptr<Link>& link : pool->links()) {
      if (link->more && link->receiver.is_loop()) return 0;
      if (!link->receiver.is_loop()) sooner(now_ + kReceiverCheck);
    }
  }
  if (settings_->options.tls != nullptr && open_ > 0) sooner(next_tls_check_);
  if (!waiting_.empty() && current_ != nullptr && !current_->opens()) sooner(MoreConnections(waiting_.front().since));
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
      if (!waiting_.empty() || !StartCall(command.call, now_)) waiting_.push_back({std::move(command.call), now_});
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
  for (std::size_t p = 0; p < pools_.size(); ++p) {
    Pool& pool = *pools_[p];
    if (pool.dial() != nullptr && pool.dial()->next() <= now_) StepDial(pool);
    for (int i = 0; i < kMostRounds && pool.timer(); ++i) {
      const bool more = pool.RunTimer();
      CollectDone(pool);
      if (!more) break;
    }
  }
}

void IoLoop::CollectDone(Pool& pool) {
  if (pool.multi() == nullptr) return;
  int left = 0;
  while (const CURLMsg* message = Curl().multi_info_read(pool.multi(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    const CURLcode code = message->data.result;
    if (pool.opening() != nullptr && message->easy_handle == pool.opening()->easy.get()) {
      const Opening& opening = *pool.opening();
      if (code == CURLE_OK) {
        OpeningDone(pool);
      } else {
        OpeningFailed(pool, opening.since, ToError(*settings_, ReadFailure(opening.easy.get(), code, opening.detail)));
      }
      continue;
    }
    char* transfer = nullptr;
    Curl().easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
    Finish(*reinterpret_cast<Transfer*>(transfer), code);
  }
}

void IoLoop::StepDial(Pool& pool) {
  const Dial& dial = *pool.dial();
  switch (pool.dial()->Step(now_)) {
    case Dial::State::kUnderWay:
      return;
    case Dial::State::kDone:
      return OpeningDone(pool);
    case Dial::State::kFailed:
      return OpeningFailed(pool, dial.since(), ToError(*settings_, dial.failure()));
  }
}

void IoLoop::OpeningFailed(Pool& pool, TimePoint since, const Error& error) {
  pool.AbandonOpening();
  if (&pool == current_ && !pool.HasUsableLink()) FailWaiting(since, error);
}

void IoLoop::OpeningDone(Pool& pool) {
  Link* link = pool.FinishOpening(*this);
  if (link == nullptr) return;
  Watched& watched = watched_[static_cast<std::size_t>(link->fd)];
  watched.link = link;
  if (watched.connection != nullptr) watched.connection->used = true;
  Used();
  link->last_read = now_;
  link->more = link->wire->pending();  // the handshake may have read more than it needed
  Register(link->fd, watched, EPOLLIN);
}

// ---- Sockets ----

void IoLoop::Register(int fd, Watched& watched, std::uint32_t events) {
  if (watched.registered == events) return;
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  const int what = watched.registered == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
  (void)epoll_ctl(epoll_.get(), what, fd, &event);
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

void IoLoop::WatchDial(Pool& pool, int fd) {
  if (fd < 0) return;  // it will say so
  const auto index = static_cast<std::size_t>(fd);
  if (index >= watched_.size()) watched_.resize(index + 16);
  watched_[index] = Watched{.pool = &pool, .dial = true};
  Register(fd, watched_[index], EPOLLIN);
}

void IoLoop::Forget(int fd) {
  if (fd >= 0) watched_[static_cast<std::size_t>(fd)] = Watched();  // the kernel forgets it by itself
}

void IoLoop::Opened(Connection& connection) {
  const auto index = static_cast<std::size_t>(connection.fd);
  if (index >= watched_.size()) watched_.resize(index + 16);
  watched_[index] = Watched{.pool = connection.pool, .connection = &connection};
}

void IoLoop::Used() {
  ++opened_;
  ++open_;
}

void IoLoop::Closed(Connection& connection) {
  watched_[static_cast<std::size_t>(connection.fd)] = Watched();  // the kernel forgets it by itself
  if (connection.used) --open_;
}

void IoLoop::OnEvent(int fd, std::uint32_t events) {
  const auto index = static_cast<std::size_t>(fd);
  if (index >= watched_.size() || watched_[index].pool == nullptr) return;
  Watched& watched = watched_[index];
  if (watched.dial) return StepDial(*watched.pool);
  if (Link* link = watched.link) {
    if (!link->receiver.is_loop()) return;  // its reader sees it too
    if (events == static_cast<std::uint32_t>(EPOLLOUT)) {
      Flush(*link);
    } else {
      Read(*link);
    }
    return;
  }
  if (watched.wanted == 0) {
    // Nothing uses it: the server closed it, or sent something that libcurl will look at before it uses it again.
    Register(fd, watched, 0);
    return;
  }
  Pool& pool = *watched.pool;
  int bits = 0;
  if ((events & (EPOLLIN | EPOLLHUP)) != 0) bits |= CURL_CSELECT_IN;
  if ((events & EPOLLOUT) != 0) bits |= CURL_CSELECT_OUT;
  if ((events & EPOLLERR) != 0) bits |= CURL_CSELECT_ERR | CURL_CSELECT_IN;
  pool.OnSocket(fd, bits);
  CollectDone(pool);
}

// ---- Calls ----

TimePoint IoLoop::MoreConnections(TimePoint since) const {
  std::size_t streams = 0;
  std::size_t streaming = 0;
  for (const std::unique_ptr<Link>& link : current_->links()) {
    if (link->session.retired()) continue;
    streams += link->session.limit();
    streaming += link->session.streaming();
  }
  const bool watches = streaming * 2 >= streams;
  return std::max(since, last_opened_) + (watches ? kPatienceWithWatches : kPatienceWithShortRequests);
}

bool IoLoop::StartCall(const std::shared_ptr<Call>& call, TimePoint since) {
  Pool& pool = PoolFor(call->material);
  if (pool.http1()) {
    // Beside the request, which does not wait for it; what comes of it is for later ones.
    if (pool.ShouldOfferHttp2(now_)) (void)pool.Open(now_);
    if (Result<void> started = pool.Start(call); !started) Done(*call, started.error());
    return true;
  }
  if (Link* link = pool.FreeLink()) {
    StartOn(*link, call);
    return true;
  }
  if (pool.opens()) return false;
  if (pool.HasUsableLink()) {
    if (now_ < MoreConnections(since)) return false;
    last_opened_ = now_;
  }
  const Result<void> opens = pool.Open(now_);
  if (opens) return false;
  Done(*call, opens.error());
  return true;
}

void IoLoop::StartWaiting() {
  again_ = false;
  while (!waiting_.empty()) {
    const Waiting front = waiting_.front();
    waiting_.pop_front();  // first: starting it may put it back
    if (front.call->over || StartCall(front.call, front.since)) continue;
    waiting_.push_front(front);
    return;
  }
}

void IoLoop::FailWaiting(TimePoint since, const Error& error) {
  // A call that was added later has not been waiting for this attempt.
  std::deque<Waiting> all;
  all.swap(waiting_);
  for (Waiting& one : all) {
    if (one.call->over) continue;
    if (one.since > since) {
      waiting_.push_back(std::move(one));
    } else {
      Done(*one.call, error);
    }
  }
}

Pool& IoLoop::PoolFor(const std::shared_ptr<const TlsMaterial>& material) {
  if (current_ != nullptr) {
    const std::shared_ptr<const TlsMaterial>& used = current_->material();
    if (used == material || material == nullptr || used == nullptr) return *current_;
    if (material->generation <= used->generation && material->ca_generation <= used->ca_generation) return *current_;
    if (material->generation > used->generation) {
      // Connections that were made with the old certificate have to go, whatever they do.
      Pool& old = *std::exchange(current_, nullptr);
      ClosePool(old, TransportError(transport_reason::kConnectionLost,
                                    fmt::format("the connection to {} was closed because the client certificate changed",
                                                settings_->endpoint.HostPort())));
    }
  }
  pools_.push_back(std::make_unique<Pool>(*this, settings_, material));
  current_ = pools_.back().get();
  return *current_;
}

void IoLoop::ClosePool(Pool& pool, const Error& cause) {
  while (!pool.links().empty()) EndLink(*pool.links().back(), cause);
  std::vector<int> sockets;
  for (const std::unique_ptr<Connection>& connection : pool.connections()) sockets.push_back(connection->fd);
  for (const int fd : sockets) {
    Connection* connection = watched_[static_cast<std::size_t>(fd)].connection;
    if (connection == nullptr || connection->pool != &pool) continue;
    connection->cause = cause;
    shutdown(fd, SHUT_RDWR);
    pool.OnSocket(fd, CURL_CSELECT_IN);
    CollectDone(pool);
  }
}

void IoLoop::CheckTls() {
  next_tls_check_ = now_ + kTlsCheck;
  if (current_ == nullptr) return;
  if (const std::shared_ptr<const TlsMaterial> material = settings_->options.tls->Current()) (void)PoolFor(material);
}

void IoLoop::DropOldPools() {
  if (pools_.size() < 2 && current_ != nullptr) return;
  std::erase_if(pools_, [&](const std::unique_ptr<Pool>& pool) {
    if (pool.get() == current_ || pool->busy()) return false;
    while (!pool->links().empty()) EndLink(*pool->links().back(), std::nullopt);
    return true;
  });
}

void IoLoop::Forget(Transfer& transfer) {
  if (transfer.paused) PausedChanged(-1);
  transfer.paused = false;
  causes_.erase(&transfer);
}

void IoLoop::CancelCall(Call& call) {
  if (call.over) return;
  call.over = true;
  in_flight_.fetch_sub(1, std::memory_order_relaxed);
  if (call.stream.session != nullptr) return call.stream.session->Cancel(call);
  Transfer* transfer = call.transfer;
  if (transfer == nullptr) return;  // it still waits, and will not be started
  Forget(*transfer);
  transfer->pool->Remove(*transfer);
}

void IoLoop::ResumeCall(Call& call) {
  if (call.stream.session != nullptr) return call.stream.session->Credit(call);
  {
    MutexLock lock(call.mu);
    call.resuming = false;
    call.paused = false;
  }
  Transfer* transfer = call.transfer;
  if (call.over || transfer == nullptr || !transfer->paused) return;
  transfer->paused = false;
  PausedChanged(-1);
  // libcurl hands over all that it kept meanwhile, and it is better here than in its buffer, which it copies with each pause.
  transfer->flushing = true;
  const CURLcode code = Curl().easy_pause(transfer->easy.get(), CURLPAUSE_CONT);
  transfer->flushing = false;
  if (code != CURLE_OK) Finish(*transfer, code);
}

void IoLoop::HeadCame(Call& call) {
  {
    MutexLock lock(call.mu);
    call.head = true;
    call.ready = true;
  }
  call.answered.Unpark();
}

void IoLoop::SendAgain(std::shared_ptr<Call> call) {
  waiting_.push_front({std::move(call), now_});
  again_ = true;
}

void IoLoop::Done(Call& call, std::optional<Error> error) {
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
  call.answered.Unpark();
  if (wake) call.changed.Unpark();
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
  if (transfer.body_too_large) return TooLargeError(*settings_);
  if (transfer.not_repeatable) {
    return TransportError(transport_reason::kConnectionReset, fmt::format("{} closed the connection before it answered", host));
  }
  Failure failure = ReadFailure(transfer.easy.get(), code, transfer.detail);
  failure.answered = transfer.header_bytes > 0;
  return ToError(*settings_, failure);
}

void IoLoop::Finish(Transfer& transfer, CURLcode code) {
  const std::shared_ptr<Call> call = transfer.call;
  std::optional<Error> error = Outcome(transfer, code);
  Forget(transfer);
  transfer.pool->Remove(transfer);
  Done(*call, std::move(error));
}

void IoLoop::EndAll() {
  for (const std::unique_ptr<Pool>& pool : pools_) {
    while (!pool->links().empty()) EndLink(*pool->links().back(), ClosedError());
    while (!pool->active().empty()) {
      Transfer& transfer = *pool->active().back();
      const std::shared_ptr<Call> call = transfer.call;
      Forget(transfer);
      pool->Remove(transfer);
      Done(*call, ClosedError());
    }
  }
  current_ = nullptr;
  pools_.clear();
  for (const Waiting& one : waiting_) {
    if (!one.call->over) Done(*one.call, ClosedError());
  }
  waiting_.clear();
  (void)TakeCommands();
  for (const Command& command : taken_) {
    if (command.kind == Kind::kStart) Done(*command.call, ClosedError());
  }
  taken_.clear();
}

}  // namespace kube::internal
