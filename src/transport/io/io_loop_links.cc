// IoLoop, its HTTP/2 connections: reading and writing them, readers that receive themselves, and whether the server is still there.
#include <fmt/format.h>
#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <utility>

#include "kube/transport/transport_errors.h"
#include "transport/io/io_loop.h"

namespace kube::internal {
namespace {

// A connection that carried other requests this lately will do so again: its only reader does not receive itself.
constexpr std::chrono::seconds kSharedLately{1};
// When a reader that receives itself counts as gone. Meanwhile the server's pings wait.
constexpr std::chrono::seconds kReceiverAway{1};
// What one connection may read before the others get their turn.
constexpr std::size_t kMostRead = std::size_t{1} << 20;

}  // namespace

// ---- HTTP/2 ----

void IoLoop::Read(Link& link) {
  link.more = false;
  for (std::size_t total = 0;;) {
    const Wire::Outcome outcome = link.wire->Read(input_.data(), input_.size());
    if (outcome.state == Wire::State::kWait) return;
    if (outcome.state == Wire::State::kEnd) return EndLink(link, link.wire->failure());
    link.last_read = now_;
    if (!link.session.Receive({input_.data(), outcome.bytes})) {
      (void)link.wire->Write(link.session.output());  // it says what was wrong
      return EndLink(link, std::nullopt);
    }
    if (!link.wire->pending()) return;
    total += outcome.bytes;
    if (total >= kMostRead) {
      link.more = true;
      return;
    }
  }
}

void IoLoop::Flush(Link& link) {
  Watched& watched = watched_[static_cast<std::size_t>(link.fd)];
  while (!link.session.output().empty()) {
    const Wire::Outcome outcome = link.wire->Write(link.session.output());
    if (outcome.state == Wire::State::kWait) {
      if (!link.receiver.is_loop()) TakeBack(link);
      return Register(link.fd, watched, static_cast<std::uint32_t>(EPOLLIN) | EPOLLOUT);
    }
    if (outcome.state == Wire::State::kEnd) return EndLink(link, link.wire->failure());
    link.session.Sent(outcome.bytes);
  }
  if (link.receiver.is_loop()) Register(link.fd, watched, EPOLLIN);
}

void IoLoop::TendLinks() {
  for (const std::unique_ptr<Pool>& pool : pools_) {
    const std::vector<std::unique_ptr<Link>>& links = pool->links();
    for (std::size_t i = links.size(); i-- > 0;) {
      Link& link = *links[i];
      const std::size_t before = links.size();
      if (!link.receiver.is_loop() && !MayReceive(link, *link.receiver.call())) TakeBack(link);
      if (link.more && link.receiver.is_loop()) Read(link);
      if (links.size() == before && !link.session.output().empty()) Flush(link);
      if (links.size() == before && (link.session.over() || (link.session.retired() && link.session.active().empty()))) {
        EndLink(link, std::nullopt);
      }
    }
  }
}

void IoLoop::EndLink(Link& link, const std::optional<Error>& cause) {
  if (!link.receiver.is_loop()) TakeBack(link);
  link.session.End(cause);
  link.pool->CloseLink(link);
}

// ---- Readers that receive themselves ----

std::optional<std::size_t> IoLoop::Receive(const std::shared_ptr<Call>& call, bool did_before, char* buffer, std::size_t size) {
  // A reader that received before may still have the connection: the loop does not read from it, so the reader has to wait for the lock.
  if (did_before) {
    io_.Lock();
  } else if (!io_.TryLock()) {
    return std::nullopt;
  }
  now_ = std::chrono::steady_clock::now();
  Link* link = LinkOf(*call);
  bool wake = false;
  bool came = false;
  {
    // Since the reader's check, the loop may have delivered all that will arrive: the socket would not signal it again.
    MutexLock lock(call->mu);
    came = call->closed || call->buffer.size() > call->used;
  }
  if (link == nullptr || came || !MayReceive(*link, *call) || now_ - link->shared_at < kSharedLately) {
    const bool mine = link != nullptr && link->receiver.is(call);
    if (mine) TakeBack(*link);
    io_.Unlock();
    if (mine) wake_.Set();
    return std::nullopt;
  }
  if (link->receiver.is_loop()) {
    link->receiver.Lend(call);
    ++receiving_;
    Register(link->fd, watched_[static_cast<std::size_t>(link->fd)], 0);
    wake = true;  // it has a timer more
  }
  link->session.Credit(*call);
  if (!link->session.output().empty()) TendLinks();
  bool readable = false;
  int fd = -1;
  if (link = LinkOf(*call); link != nullptr && link->receiver.is(call)) {
    readable = link->more;
    if (!readable) {
      link->receiver.Wait();
      fd = link->fd;
    }
  }
  io_.Unlock();
  if (wake) wake_.Set();

  if (fd >= 0) {
    pollfd waits[2] = {{fd, POLLIN, 0}, {call->at_socket.fd(), POLLIN, 0}};
    (void)poll(waits, 2, -1);
    readable = waits[0].revents != 0;
    if (waits[1].revents != 0) call->at_socket.Clear();
  }

  std::size_t got = 0;
  io_.Lock();
  now_ = std::chrono::steady_clock::now();
  // The connection may be the loop's again, or gone; then the descriptor may belong to another one already.
  if (link = LinkOf(*call); link != nullptr && link->receiver.is(call)) {
    link->receiver.Return();
    call->direct = buffer;
    call->direct_room = size;
    if (readable) Read(*link);
    TendLinks();
    got = static_cast<std::size_t>(std::exchange(call->direct, nullptr) - buffer);
    call->direct_room = 0;
  }
  link = LinkOf(*call);
  // Bytes that are not at the socket wake no thread by themselves.
  wake = again_ || !waiting_.empty() || link == nullptr || !link->receiver.is(call);
  io_.Unlock();
  if (wake) wake_.Set();
  return got;
}

Link* IoLoop::LinkOf(const Call& call) const {
  if (call.stream.session == nullptr) return nullptr;
  for (const std::unique_ptr<Pool>& pool : pools_) {
    for (const std::unique_ptr<Link>& link : pool->links()) {
      if (&link->session == call.stream.session) return link.get();
    }
  }
  return nullptr;
}

bool IoLoop::MayReceive(const Link& link, const Call& call) const {
  return link.session.active().size() == 1 && link.session.active()[0].get() == &call && !call.over && !link.session.over() &&
         !link.session.retired();
}

void IoLoop::TakeBackForgotten() {
  for (const std::unique_ptr<Pool>& pool : pools_) {
    for (const std::unique_ptr<Link>& link : pool->links()) {
      if (link->receiver.state() == LinkReceiver::State::kReaderAway && now_ - link->last_read > kReceiverAway) TakeBack(*link);
    }
  }
}

void IoLoop::TakeBack(Link& link) {
  --receiving_;
  Register(link.fd, watched_[static_cast<std::size_t>(link.fd)], EPOLLIN);
  link.receiver.TakeBack();
}

// ---- Health ----

void IoLoop::WatchHealth(Link& link) {
  link.last_read = now_;  // while nothing was asked, nothing had to come
  link.pinged_at.reset();
  const TimePoint due = now_ + settings_->options.read_idle_timeout;
  if (!next_check_ || due < *next_check_) next_check_ = due;
}

void IoLoop::CheckHealth() {
  const HttpTransportOptions& options = settings_->options;
  next_check_.reset();
  std::vector<Link*> lost;
  for (const std::unique_ptr<Pool>& pool : pools_) {
    for (const std::unique_ptr<Link>& link : pool->links()) {
      if (link->session.active().empty()) continue;
      if (link->pinged_at && link->last_read > *link->pinged_at) link->pinged_at.reset();
      if (!link->pinged_at && link->last_read + options.read_idle_timeout <= now_) {
        link->session.Ping();
        link->pinged_at = now_;
      }
      const TimePoint due = link->pinged_at ? *link->pinged_at + options.ping_timeout : link->last_read + options.read_idle_timeout;
      if (due <= now_) {
        lost.push_back(link.get());
        continue;
      }
      // The answer to a ping may come soon, and another silence begin.
      const TimePoint look = std::min(due, now_ + options.read_idle_timeout);
      if (!next_check_ || look < *next_check_) next_check_ = look;
    }
  }
  for (Link* link : lost) {
    EndLink(*link, TransportError(transport_reason::kConnectionLost,
                                  fmt::format("the connection to {} was lost: nothing came for {} ms, not even an answer to a ping",
                                              settings_->endpoint.HostPort(), (options.read_idle_timeout + options.ping_timeout).count())));
  }
  TendLinks();
}

}  // namespace kube::internal
