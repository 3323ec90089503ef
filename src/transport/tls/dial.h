// Dial: opens a TLS connection to the server without blocking: resolves the name, connects to an address, performs the handshake.
//
//   Dial dial(settings, material, context, now);
//   while (dial.Step(now) == Dial::State::kUnderWay) wait until dial.fd() can be read, or until dial.next()
//
// Addresses are tried one after the other, alternating IPv6 and IPv4. If one does not answer immediately, the next is tried in parallel
// (RFC 8305). The first socket that connects is used.
//
// Everything here belongs to the thread that does the I/O of the transport: one thread at a time.
#pragma once

#include <netdb.h>
#include <openssl/ssl.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "transport/request/failure.h"
#include "transport/request/settings.h"
#include "transport/tls/tls_socket.h"

namespace kube::internal {

using TimePoint = std::chrono::steady_clock::time_point;

// Keeps a connection alive through firewalls and detects a dead peer.
void SetKeepAlive(int fd, const HttpTransportOptions& options);

// One address of a host.
struct Address {
  int family = 0;
  sockaddr_storage bytes{};
  socklen_t size = 0;
};
// Alternates IPv6 and IPv4, beginning with the family of the first address.
std::vector<Address> InTurn(std::vector<Address> addresses);

class Dial {
 public:
  // `context` was made from `material`, which may be null; it must outlive this object. Without `addresses` the name is resolved.
  Dial(std::shared_ptr<const Settings> settings, const TlsMaterial* material, SSL_CTX* context, TimePoint now,
       std::vector<Address> addresses = {});
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;
  // Cancels what is in progress.
  ~Dial();

  enum class State { kUnderWay, kDone, kFailed };
  // Proceeds as far as possible without waiting.
  State Step(TimePoint now);
  // Readable when there is something to do.
  int fd() const { return epoll_.get(); }
  // When Step must be called even without an event.
  TimePoint next() const;
  TimePoint since() const { return since_; }

  // After kDone; may be called once.
  Descriptor TakeSocket() { return std::move(socket_); }
  Ssl TakeSsl() { return std::move(ssl_); }
  // After kFailed.
  const Failure& failure() const { return failure_; }

 private:
  struct Lookup;

  void StartLookup();
  bool FinishLookup();
  State Connect(TimePoint now);
  // Starts to connect to the next address; returns false if that failed immediately.
  bool Attempt(TimePoint now);
  bool Watch(int fd, std::uint32_t events, bool known);
  State Handshake();
  State Fail(FailureKind kind, std::string detail);

  const std::shared_ptr<const Settings> settings_;
  SSL_CTX* const context_;
  const std::string name_;  // the name that the certificate must have
  const bool verify_;
  const TimePoint since_;
  const TimePoint deadline_;
  Descriptor epoll_;
  std::shared_ptr<Lookup> lookup_;
  std::vector<Address> addresses_;
  std::size_t tried_ = 0;
  TimePoint last_attempt_{};
  std::vector<Descriptor> attempts_;  // connection attempts without a result
  Descriptor socket_;
  Ssl ssl_;
  Failure failure_;
};

}  // namespace kube::internal
