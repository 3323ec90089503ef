// Ledger: the bytes and connections that each peer holds, and which connections to close beyond a limit. The part of HttpLimits that spans
// connections.
//
//   Ledger    all connections of one server, by peer
//   Account   one connection; exchanges that outlive the connection keep it
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.h"
#include "kube/base/mutex.h"
#include "kube/serve/http_limits.h"

namespace kube::serve {

class Ledger;

// Why a connection was closed by the server.
enum class ClosedFor : std::uint8_t { kConnections, kBytes, kDeadline, kFlood };

// Thread safety: from any thread.
class Account {
 public:
  ~Account();
  Account(const Account&) = delete;
  Account& operator=(const Account&) = delete;

  void Add(std::size_t bytes);
  void Subtract(std::size_t bytes);
  // An answer was sent: this decides the order of eviction.
  void Answered();
  // The connection was closed because of a limit.
  void Count(ClosedFor reason);

  // Closes the connection soon, from any thread, and then calls `then`, unless that is empty. Also if it is closed already.
  using CloseFunction = std::function<void(std::function<void()> then)>;

 private:
  friend class Ledger;
  struct Peer {
    std::atomic<std::size_t> bytes = 0;
    std::size_t accounts = 0;                    // that exist; guarded by the ledger's lock
    std::vector<std::shared_ptr<Account>> open;  // guarded by the ledger's lock
  };
  Account(std::shared_ptr<Ledger> ledger, std::string name, std::shared_ptr<Peer> peer);

  const std::shared_ptr<Ledger> ledger_;
  const std::string name_;
  const std::shared_ptr<Peer> peer_;
  std::atomic<std::size_t> bytes_ = 0;
  std::atomic<std::uint64_t> last_answer_;  // in the order of the ledger's events
  CloseFunction close_;                     // guarded by the ledger's lock
  bool doomed_ = false;                     // guarded by the ledger's lock
};

// Thread safety: from any thread.
class Ledger : public std::enable_shared_from_this<Ledger> {
 public:
  explicit Ledger(const HttpLimits& limits) : limits_(limits) {}

  // Counts a connection of `peer` (PeerName).
  std::shared_ptr<Account> Open(const std::string& peer, Account::CloseFunction close);
  // It is closed. What its exchanges hold counts until they let go of it.
  void Close(const std::shared_ptr<Account>& account);

  struct Room {
    bool free = false;               // another connection may be opened now
    Account::CloseFunction close{};  // of one that has to be closed before; none: those that have to are being closed
  };
  // For another connection of `peer`.
  Room MakeRoom(const std::string& peer);
  // Closes those that hold most while the peer of `account`, or all of them, hold too much. Cheap while they do not.
  void Shed(const Account& account);

  HttpUsage usage() const;

 private:
  friend class Account;
  static void Raise(std::atomic<std::size_t>& most, std::size_t value);
  static std::shared_ptr<Account> Oldest(const Account::Peer& peer);
  static std::shared_ptr<Account> Largest(const Account::Peer& peer);
  // What is held without those that are about to be closed.
  static std::size_t Remaining(const Account::Peer& peer);
  void Doom(const std::shared_ptr<Account>& account, std::vector<Account::CloseFunction>& closes) KUBE_REQUIRES(mu_);
  std::size_t RemainingOfAll() const KUBE_REQUIRES(mu_);

  const HttpLimits limits_;
  std::atomic<std::size_t> bytes_ = 0, most_bytes_ = 0, connections_ = 0, most_connections_ = 0;
  std::atomic<std::uint64_t> events_ = 0;
  std::atomic<std::uint64_t> closed_[4] = {};
  mutable Mutex mu_;
  // Clients choose their addresses, with IPv6 out of a large network.
  std::unordered_map<std::string, std::shared_ptr<Account::Peer>, kube::internal::KeyedHash> peers_ KUBE_GUARDED_BY(mu_);
};

// An amount that an account holds, for as long as this object lives. Null accounts are allowed: nothing is counted.
//
// Thread safety: none.
class Charge {
 public:
  Charge() = default;
  explicit Charge(std::shared_ptr<Account> account) : account_(std::move(account)) {}
  Charge(const Charge&) = delete;
  Charge& operator=(const Charge&) = delete;
  ~Charge() { Set(0); }

  void Set(std::size_t bytes) {
    if (account_ == nullptr || bytes == bytes_) return;
    if (bytes > bytes_) account_->Add(bytes - bytes_);
    if (bytes < bytes_) account_->Subtract(bytes_ - bytes);
    bytes_ = bytes;
  }

 private:
  const std::shared_ptr<Account> account_;
  std::size_t bytes_ = 0;
};

}  // namespace kube::serve
