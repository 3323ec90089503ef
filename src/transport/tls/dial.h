// Dial: opens a TLS connection to the server without blocking. The name becomes addresses, one of them answers, both sides agree on TLS.
//
//   Dial dial(settings, material, context, now);
//   while (dial.Step(now) == Dial::State::kUnderWay) wait until dial.fd() can be read, or until dial.next()
//
// Addresses are tried one after the other, of IPv6 and IPv4 in turn; where one does not answer at once, the next is tried beside it (RFC
// 8305). The socket of the first one that answers is taken.
//
// Everything here belongs to who does the I/O of the transport: one thread at a time.
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

// What keeps a connection through firewalls, and finds out that the other side is gone.
void SetKeepAlive(int fd, const HttpTransportOptions& options);

// The addresses of a host, in the order in which they are tried.
struct Address {
  int family = 0;
  sockaddr_storage bytes{};
  socklen_t size = 0;
};
// IPv6 and IPv4 in turn, beginning with the family of the first.
std::vector<Address> InTurn(std::vector<Address> addresses);

class Dial {
 public:
  // `context` was made of `material`, which may be null; it has to outlive this. Without `addresses` the name is looked up.
  Dial(std::shared_ptr<const Settings> settings, const TlsMaterial* material, SSL_CTX* context, TimePoint now,
       std::vector<Address> addresses = {});
  Dial(const Dial&) = delete;
  Dial& operator=(const Dial&) = delete;
  // Gives up what is under way.
  ~Dial();

  enum class State { kUnderWay, kDone, kFailed };
  // Goes on as far as it can without waiting.
  State Step(TimePoint now);
  // Can be read when there is something to do.
  int fd() const { return epoll_.get(); }
  // When there is something to do though nothing came.
  TimePoint next() const;
  TimePoint since() const { return since_; }

  // After kDone, once.
  Descriptor TakeSocket() { return std::move(socket_); }
  Ssl TakeSsl() { return std::move(ssl_); }
  // After kFailed.
  const Failure& failure() const { return failure_; }

 private:
  struct Lookup;

  void StartLookup();
  bool FinishLookup();
  State Connect(TimePoint now);
  // Begins to connect to the next address; false where it failed at once.
  bool Attempt(TimePoint now);
  bool Watch(int fd, std::uint32_t events, bool known);
  State Handshake();
  State Fail(FailureKind kind, std::string detail);

  const std::shared_ptr<const Settings> settings_;
  SSL_CTX* const context_;
  const std::string name_;  // that the certificate has to have
  const bool verify_;
  const TimePoint since_;
  const TimePoint deadline_;
  Descriptor epoll_;
  std::shared_ptr<Lookup> lookup_;
  std::vector<Address> addresses_;
  std::size_t tried_ = 0;
  TimePoint last_attempt_{};
  std::vector<Descriptor> attempts_;  // that have not answered
  Descriptor socket_;
  Ssl ssl_;
  Failure failure_;
};

}  // namespace kube::internal
