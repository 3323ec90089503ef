#include "transport/tls/dial.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/event_fd.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"

namespace kube::internal {
namespace {

// How long an address may take before the next one is tried beside it.
constexpr std::chrono::milliseconds kNextAddress{250};

std::string Text(int error) { return std::system_category().message(error); }

// AI_NUMERICHOST does not query any server: the host has to be an address.
std::vector<Address> LookUp(const std::string& host, std::uint16_t port, int flags) {
  std::vector<Address> addresses;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_addrlen > sizeof(sockaddr_storage)) continue;
    Address& address = addresses.emplace_back();
    address.family = one->ai_family;
    address.size = one->ai_addrlen;
    std::memcpy(&address.bytes, one->ai_addr, one->ai_addrlen);
  }
  freeaddrinfo(found);
  return addresses;
}

}  // namespace

void SetKeepAlive(int fd, const HttpTransportOptions& options) {
  const auto set = [&](int level, int name, int value) { (void)setsockopt(fd, level, name, &value, sizeof value); };
  const auto seconds = [](std::chrono::milliseconds time) {
    return static_cast<int>(std::max<std::int64_t>((time.count() + 999) / 1000, 1));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, seconds(options.read_idle_timeout));
  set(IPPROTO_TCP, TCP_KEEPINTVL, std::max(seconds(options.ping_timeout) / 3, 1));
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, (seconds(options.read_idle_timeout) + seconds(options.ping_timeout)) * 1000);
}

std::vector<Address> InTurn(std::vector<Address> addresses) {
  if (addresses.empty()) return addresses;
  const int first = addresses.front().family;
  const auto other = std::stable_partition(addresses.begin(), addresses.end(), [&](const Address& one) { return one.family == first; });
  std::vector<Address> mixed;
  auto a = addresses.begin();
  auto b = other;
  while (a != other || b != addresses.end()) {
    if (a != other) mixed.push_back(*a++);
    if (b != addresses.end()) mixed.push_back(*b++);
  }
  return mixed;
}

// Shared with the thread that resolves the name, which cannot be stopped and may take longer than any caller waits.
struct Dial::Lookup {
  Mutex mu;
  bool finished KUBE_GUARDED_BY(mu) = false;
  std::vector<Address> addresses KUBE_GUARDED_BY(mu);
  const EventFd done;
};

Dial::Dial(std::shared_ptr<const Settings> settings, const TlsMaterial* material, SSL_CTX* context, TimePoint now,
           std::vector<Address> addresses)
    : settings_(std::move(settings)),
      context_(context),
      name_(material != nullptr && !material->server_name.empty() ? material->server_name : settings_->endpoint.host),
      verify_(material == nullptr || !material->insecure),
      since_(now),
      deadline_(now + std::max(settings_->options.connect_timeout, std::chrono::milliseconds(1))),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      addresses_(std::move(addresses)) {
  if (!addresses_.empty()) return;
  // Most servers in a cluster's config are addresses.
  addresses_ = LookUp(settings_->endpoint.host, settings_->endpoint.port, AI_NUMERICHOST);
  if (addresses_.empty()) StartLookup();
}

Dial::~Dial() = default;

void Dial::StartLookup() {
  auto lookup = std::make_shared<Lookup>();
  if (!Watch(lookup->done.fd(), EPOLLIN, false)) {
    failure_.os_error = EMFILE;
    return;
  }
  try {
    Thread("kube-lookup", [lookup, host = settings_->endpoint.host, port = settings_->endpoint.port] {
      std::vector<Address> addresses = LookUp(host, port, 0);
      MutexLock lock(lookup->mu);
      lookup->finished = true;
      lookup->addresses = std::move(addresses);
      lookup->done.Set();
    }).Detach();
  } catch (const std::system_error& e) {  // the system gives no thread
    failure_.os_error = e.code().value();
    return;
  }
  lookup_ = std::move(lookup);
}

bool Dial::FinishLookup() {
  if (lookup_ == nullptr) return true;
  MutexLock lock(lookup_->mu);
  if (!lookup_->finished) return false;
  addresses_ = InTurn(std::move(lookup_->addresses));
  (void)epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, lookup_->done.fd(), nullptr);  // it would stay readable
  return true;
}

Dial::State Dial::Step(TimePoint now) {
  if (failure_.kind != FailureKind::kNone) return State::kFailed;
  if (epoll_.get() < 0) failure_.os_error = EMFILE;
  if (now >= deadline_) return Fail(FailureKind::kTimeout, "");
  if (!FinishLookup()) return State::kUnderWay;
  lookup_.reset();
  if (addresses_.empty() && failure_.os_error == 0) return Fail(FailureKind::kUnknownHost, "");
  if (addresses_.empty() || epoll_.get() < 0) return Fail(FailureKind::kConnect, Text(static_cast<int>(failure_.os_error)));
  if (ssl_ == nullptr) {
    if (const State connected = Connect(now); connected != State::kDone) return connected;
  }
  return Handshake();
}

TimePoint Dial::next() const {
  if (lookup_ != nullptr) return deadline_;
  if (addresses_.empty()) return since_;  // it has failed
  const bool more = ssl_ == nullptr && tried_ < addresses_.size();
  return more ? std::min(deadline_, last_attempt_ + kNextAddress) : deadline_;
}

Dial::State Dial::Connect(TimePoint now) {
  for (std::size_t i = 0; i < attempts_.size();) {
    int error = 0;
    socklen_t size = sizeof error;
    sockaddr_storage peer{};
    socklen_t peer_size = sizeof peer;
    const int fd = attempts_[i].get();
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    if (error == 0 && getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0) {
      socket_ = std::move(attempts_[i]);
      attempts_.clear();
      break;
    }
    if (error == 0) {  // it takes its time
      ++i;
      continue;
    }
    failure_.os_error = error;
    attempts_.erase(attempts_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  while (socket_.get() < 0 && tried_ < addresses_.size() && (attempts_.empty() || now >= last_attempt_ + kNextAddress)) {
    if (Attempt(now)) break;
  }
  if (socket_.get() < 0) {
    if (!attempts_.empty() || tried_ < addresses_.size()) return State::kUnderWay;
    return Fail(FailureKind::kConnect, Text(static_cast<int>(failure_.os_error)));
  }
  failure_.os_error = 0;
  ssl_ = MakeSsl(context_, socket_.get(), name_, verify_);
  if (ssl_ == nullptr) return Fail(FailureKind::kTls, TakeSslError());
  return State::kDone;
}

bool Dial::Attempt(TimePoint now) {
  const Address& address = addresses_[tried_++];
  last_attempt_ = now;
  Descriptor fd(socket(address.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) {
    failure_.os_error = errno;
    return false;
  }
  const int on = 1;
  (void)setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  SetKeepAlive(fd.get(), settings_->options);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) != 0 && errno != EINPROGRESS) {
    failure_.os_error = errno;
    return false;
  }
  if (!Watch(fd.get(), EPOLLOUT, false)) {
    failure_.os_error = errno;
    return false;
  }
  attempts_.push_back(std::move(fd));
  return true;
}

bool Dial::Watch(int fd, std::uint32_t events, bool known) {
  epoll_event event{};
  event.events = events;
  return epoll_ctl(epoll_.get(), known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) == 0;
}

Dial::State Dial::Handshake() {
  ERR_clear_error();
  errno = 0;
  const int result = SSL_do_handshake(ssl_.get());
  const int saved = errno;
  if (result == 1) return State::kDone;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      if (!Watch(socket_.get(), EPOLLIN, true)) break;
      return State::kUnderWay;
    case SSL_ERROR_WANT_WRITE:
      if (!Watch(socket_.get(), EPOLLOUT, true)) break;
      return State::kUnderWay;
    case SSL_ERROR_SYSCALL:
      failure_.os_error = saved;
      return Fail(FailureKind::kTls, saved == 0 ? "unexpected eof" : Text(saved));
    default:
      break;
  }
  failure_.verify_result = SSL_get_verify_result(ssl_.get());
  if (verify_ && failure_.verify_result != X509_V_OK) {
    ERR_clear_error();
    return Fail(FailureKind::kCertificate, X509_verify_cert_error_string(failure_.verify_result));
  }
  return Fail(FailureKind::kTls, TakeSslError());
}

Dial::State Dial::Fail(FailureKind kind, std::string detail) {
  failure_.kind = kind;
  failure_.detail = std::move(detail);
  attempts_.clear();
  ssl_.reset();
  socket_ = Descriptor();
  return State::kFailed;
}

}  // namespace kube::internal
