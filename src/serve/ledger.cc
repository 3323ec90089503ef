#include "serve/ledger.h"

#include <algorithm>
#include <utility>

namespace kube::serve {

HttpLimits HttpLimits::ForWebhooks() {
  HttpLimits limits;
  // An object of 7 MiB and its old version.
  limits.max_body_bytes = std::size_t{16} << 20;
  limits.receive_buffer_bytes = 0;
  // The default makes an answer of 10 MB wait for its client hundreds of times.
  limits.send_buffer_bytes = std::size_t{256} << 10;
  // kube-apiserver closes an idle connection after 90 s. If this side is first, a call that is just being sent on it fails.
  limits.idle_timeout = std::chrono::seconds(120);
  // An API server has one connection for each call that is under way, and all API servers may be one peer behind a proxy.
  limits.max_connections = 512;
  limits.max_connections_per_peer = 384;
  limits.max_bytes = std::size_t{128} << 20;
  limits.max_bytes_per_peer = std::size_t{96} << 20;
  return limits;
}

HttpLimits HttpLimits::ForApi() {
  HttpLimits limits;
  limits.http2 = true;
  limits.max_header_bytes = std::size_t{1} << 20;
  limits.max_body_bytes = std::size_t{3} << 20;
  limits.max_streams = 2500;
  limits.max_control_frames = 20000;
  limits.send_buffer_bytes = 0;
  limits.receive_buffer_bytes = 0;
  limits.header_timeout = std::chrono::seconds(32);
  limits.body_timeout = std::chrono::seconds(60);
  limits.answer_timeout = std::chrono::minutes(5);
  limits.max_connections = 20000;
  limits.max_connections_per_peer = 20000;
  limits.max_bytes = std::size_t{4} << 30;
  limits.max_bytes_per_peer = std::size_t{4} << 30;
  return limits;
}

Account::Account(std::shared_ptr<Ledger> ledger, std::string name, std::shared_ptr<Peer> peer)
    : ledger_(std::move(ledger)), name_(std::move(name)), peer_(std::move(peer)), last_answer_(ledger_->events_.fetch_add(1)) {}

Account::~Account() {
  MutexLock lock(ledger_->mu_);
  if (--peer_->accounts == 0) ledger_->peers_.erase(name_);
}

void Account::Add(std::size_t bytes) {
  bytes_ += bytes;
  peer_->bytes += bytes;
  Ledger::Raise(ledger_->most_bytes_, ledger_->bytes_ += bytes);
}

void Account::Subtract(std::size_t bytes) {
  bytes_ -= bytes;
  peer_->bytes -= bytes;
  ledger_->bytes_ -= bytes;
}

void Account::Answered() { last_answer_ = ledger_->events_.fetch_add(1); }

void Account::Count(ClosedFor reason) { ++ledger_->closed_[static_cast<std::size_t>(reason)]; }

std::shared_ptr<Account> Ledger::Open(const std::string& peer, Account::CloseFunction close) {
  std::shared_ptr<Account> account;
  {
    MutexLock lock(mu_);
    std::shared_ptr<Account::Peer>& entry = peers_[peer];
    if (entry == nullptr) entry = std::make_shared<Account::Peer>();
    account = std::shared_ptr<Account>(new Account(shared_from_this(), peer, entry));
    account->close_ = std::move(close);
    ++entry->accounts;
    entry->open.push_back(account);
  }
  Raise(most_connections_, ++connections_);
  return account;
}

void Ledger::Close(const std::shared_ptr<Account>& account) {
  Account::CloseFunction close;
  MutexLock lock(mu_);
  std::vector<std::shared_ptr<Account>>& open = account->peer_->open;
  const auto found = std::find(open.begin(), open.end(), account);
  if (found == open.end()) return;
  open.erase(found);
  close.swap(account->close_);
  --connections_;
}

void Ledger::Raise(std::atomic<std::size_t>& most, std::size_t value) {
  std::size_t before = most.load();
  while (before < value && !most.compare_exchange_weak(before, value)) {
  }
}

std::shared_ptr<Account> Ledger::Oldest(const Account::Peer& peer) {
  std::shared_ptr<Account> oldest;
  for (const std::shared_ptr<Account>& account : peer.open) {
    if (account->doomed_) continue;
    if (oldest == nullptr || account->last_answer_ < oldest->last_answer_) oldest = account;
  }
  return oldest;
}

std::shared_ptr<Account> Ledger::Largest(const Account::Peer& peer) {
  std::shared_ptr<Account> largest;
  for (const std::shared_ptr<Account>& account : peer.open) {
    if (account->doomed_) continue;
    if (largest == nullptr || account->bytes_ > largest->bytes_ ||
        (account->bytes_ == largest->bytes_ && account->last_answer_ < largest->last_answer_)) {
      largest = account;
    }
  }
  return largest;
}

std::size_t Ledger::Remaining(const Account::Peer& peer) {
  std::size_t leaving = 0;
  for (const std::shared_ptr<Account>& account : peer.open) {
    if (account->doomed_) leaving += account->bytes_;
  }
  const std::size_t held = peer.bytes;
  return held > leaving ? held - leaving : 0;
}

std::size_t Ledger::RemainingOfAll() const {
  std::size_t sum = 0;
  for (const auto& [name, peer] : peers_) sum += Remaining(*peer);
  return sum;
}

void Ledger::Doom(const std::shared_ptr<Account>& account, std::vector<Account::CloseFunction>& closes) {
  account->doomed_ = true;
  closes.push_back(account->close_);
  account->Count(ClosedFor::kBytes);
}

Ledger::Room Ledger::MakeRoom(const std::string& peer) {
  MutexLock lock(mu_);
  const auto found = peers_.find(peer);
  std::shared_ptr<Account> victim;
  if (found != peers_.end() && found->second->open.size() >= std::max<std::size_t>(1, limits_.max_connections_per_peer)) {
    victim = Oldest(*found->second);
  } else if (connections_ >= std::max<std::size_t>(1, limits_.max_connections)) {
    // Ties go to the peer with the connection that has been without an answer for the longest time.
    std::size_t most = 0;
    for (const auto& [name, candidate] : peers_) {
      std::shared_ptr<Account> oldest = Oldest(*candidate);
      if (oldest == nullptr || candidate->open.size() < most) continue;
      if (candidate->open.size() == most && victim != nullptr && victim->last_answer_ < oldest->last_answer_) continue;
      most = candidate->open.size();
      victim = std::move(oldest);
    }
  } else {
    return {.free = true};
  }
  if (victim == nullptr) return {};
  victim->doomed_ = true;
  victim->Count(ClosedFor::kConnections);
  return {.free = false, .close = victim->close_};
}

void Ledger::Shed(const Account& account) {
  if (account.peer_->bytes <= limits_.max_bytes_per_peer && bytes_ <= limits_.max_bytes) return;
  std::vector<Account::CloseFunction> closes;
  {
    MutexLock lock(mu_);
    while (Remaining(*account.peer_) > limits_.max_bytes_per_peer) {
      const std::shared_ptr<Account> largest = Largest(*account.peer_);
      if (largest == nullptr) break;
      Doom(largest, closes);
    }
    while (RemainingOfAll() > limits_.max_bytes) {
      std::shared_ptr<Account> largest;
      std::size_t most = 0;
      for (const auto& [name, peer] : peers_) {
        const std::size_t held = Remaining(*peer);
        if (held < most) continue;
        std::shared_ptr<Account> candidate = Largest(*peer);
        if (candidate == nullptr) continue;
        most = held;
        largest = std::move(candidate);
      }
      if (largest == nullptr) break;
      Doom(largest, closes);
    }
  }
  for (const Account::CloseFunction& close : closes) close({});
}

HttpUsage Ledger::usage() const {
  HttpUsage usage;
  usage.connections = connections_;
  usage.bytes_held = bytes_;
  usage.most_connections = most_connections_;
  usage.most_bytes_held = most_bytes_;
  usage.closed_for_connections = closed_[static_cast<std::size_t>(ClosedFor::kConnections)];
  usage.closed_for_bytes = closed_[static_cast<std::size_t>(ClosedFor::kBytes)];
  usage.closed_for_deadline = closed_[static_cast<std::size_t>(ClosedFor::kDeadline)];
  usage.closed_for_flood = closed_[static_cast<std::size_t>(ClosedFor::kFlood)];
  return usage;
}

}  // namespace kube::serve
