// ElectorImpl: the algorithm of LeaderElector.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "control/lease_lock.h"
#include "control/lease_time.h"
#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/control/leader_election.h"

namespace kube::internal {

class ElectorImpl {
 public:
  // Requires: the options were checked, and the identity is set.
  ElectorImpl(std::unique_ptr<LeaseLock> lock, LeaderElectionOptions options, LeaderCallbacks callbacks);
  ElectorImpl(const ElectorImpl&) = delete;
  ElectorImpl& operator=(const ElectorImpl&) = delete;
  ~ElectorImpl();

  Result<void> Run(const Context& ctx);
  bool is_leader() const;
  std::string leader() const;
  const std::string& identity() const { return *options_.identity; }
  Result<void> Check(std::chrono::nanoseconds tolerance) const;

  // ---- For tests: one step of the algorithm ----
  enum class Attempt : std::uint8_t {
    kHeld,     // the lease is ours, and its end was moved
    kRefused,  // not now
    kLost,     // it was ours, and is somebody else's
  };
  // `renewing`: while leading, where nothing is ever taken over.
  Attempt TryAcquireOrRenew(const Context& ctx, bool renewing);
  bool Release();
  void SetObservedForTest(const LeaderRecord& record, Clock::TimePoint when, std::shared_ptr<Clock> clock);
  LeaderRecord observed() const;
  // The time since boot, suspend included. Before Run.
  void SetUptimeForTest(LeaseTime::Uptime uptime) { uptime_ = std::move(uptime); }
  // Called before each pause with its end. Not while Run runs.
  void SetBeforeSleepForTest(std::function<void(Clock::TimePoint)> hook) { before_sleep_ = std::move(hook); }

 private:
  enum class End : std::uint8_t { kStopped, kLost };

  // What on_started_leading runs in.
  struct Work {
    explicit Work(std::pair<Context, CancelSource> lead) : ctx(std::move(lead.first)), cancel(std::move(lead.second)) {}
    const Context ctx;
    const CancelSource cancel;
    Mutex mu;
    bool done KUBE_GUARDED_BY(mu) = false;
    std::function<void()> on_done KUBE_GUARDED_BY(mu);
    Timer limit;  // stops ctx when the lease may be somebody else's
    Thread thread;
  };
  class NewLeaderThread;
  class Permit;  // of what is done as the leader

  // When a renewal was sent, by all clocks.
  struct Sent {
    Clock::TimePoint at;
    LeaseTime::Moment moment;
  };
  Sent SentNow() const;
  // Whether this replica surely leads as far as time is concerned: kWithin.
  LeaseTime::Verdict Judge() const KUBE_REQUIRES(mu_);

  Result<void> RunOnce(const Context& ctx, std::unique_ptr<Work>& work);
  bool Acquire(const Context& ctx);
  // Renews until `ctx` stops or the lease is lost; at once, or after a period.
  End Renew(const Context& ctx, Work& work, bool at_once);
  // One round: until one attempt succeeds, for renew_deadline at most.
  Attempt RenewRound(const Context& ctx);
  End Drain(Work& work);
  void ExtendLimit(Work& work);
  bool Sleep(const Context& ctx, Clock::TimePoint until) const;
  Result<void> LostError() const;
  void ReportLeader();
  void Lead(bool leads);

  LeaderRecord NewRecord() const;
  // There is no lease yet.
  Attempt CreateLease(const Context& ctx, const LeaderRecord& record);
  bool HeldByUs() const;
  bool IsValid(Clock::TimePoint now) const;
  void Observe(const LeaderRecord& record, Clock::TimePoint when);
  void Held(const LeaderRecord& record, const Sent& sent);
  void Failed(const Error& error, bool write);
  Context CallContext(const Context& ctx) const { return ctx.WithTimeout(call_timeout_); }

  const std::unique_ptr<LeaseLock> lock_;
  const LeaderElectionOptions options_;
  const LeaderCallbacks callbacks_;
  const std::string what_;  // of the lock, for logs
  const std::chrono::nanoseconds call_timeout_;
  const std::chrono::nanoseconds lead_limit_;  // how long after a renewal was sent this replica may lead
  const std::chrono::nanoseconds slack_;       // how far the time of day may be set back meanwhile
  std::function<void(Clock::TimePoint)> before_sleep_;
  LeaseTime::Uptime uptime_;
  std::atomic<bool> running_{false};

  // Of Run's thread.
  std::string reported_leader_;
  std::unique_ptr<NewLeaderThread> new_leader_;
  std::string last_error_;
  bool write_in_doubt_ = false;  // the last write got no answer: the server may have taken it

  mutable Mutex mu_;
  std::shared_ptr<Clock> clock_ KUBE_GUARDED_BY(mu_);
  std::shared_ptr<const LeaseTime> time_ KUBE_GUARDED_BY(mu_);
  LeaderRecord observed_ KUBE_GUARDED_BY(mu_);
  Clock::TimePoint observed_at_ KUBE_GUARDED_BY(mu_){};
  bool leads_ KUBE_GUARDED_BY(mu_) = false;
  Clock::TimePoint lead_until_ KUBE_GUARDED_BY(mu_){};   // by a clock that does not count suspend; for timers
  LeaseTime::Moment sent_ KUBE_GUARDED_BY(mu_){};        // the last renewal
  std::shared_ptr<Permit> permit_ KUBE_GUARDED_BY(mu_);  // of the time as leader, where there is one
};

// Errors: kInvalid, naming the field.
Result<void> CheckOptions(const LeaderElectionOptions& options, const LeaderCallbacks& callbacks);
// The lock in a Lease, by a client of its own where the options say so.
Result<std::unique_ptr<LeaseLock>> MakeLeaseLock(const Client& client, const LeaderElectionOptions& options);

}  // namespace kube::internal
