// ElectorImpl: the algorithm of LeaderElector.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "control/election/lease_lock.h"
#include "control/election/lease_time.h"
#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/control/leader_election.h"

namespace kube::internal {

class ElectorImpl {
 public:
  // Requires: checked options with an identity.
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
    kHeld,     // ours, and renewed
    kRefused,  // not now
    kLost,     // was ours, but another replica holds it
  };
  // `renewing`: while leading, when a lease of another holder is never acquired.
  Attempt TryAcquireOrRenew(const Context& ctx, bool renewing);
  bool Release();
  void SetObservedForTest(const LeaderRecord& record, Clock::TimePoint when, std::shared_ptr<Clock> clock);
  LeaderRecord observed() const;
  // The time since boot, including suspend. Call it before Run.
  void SetUptimeForTest(LeaseTime::Uptime uptime) { uptime_ = std::move(uptime); }
  // Called before each pause with its end. Do not set it during Run.
  void SetBeforeSleepForTest(std::function<void(Clock::TimePoint)> hook) { before_sleep_ = std::move(hook); }

 private:
  enum class End : std::uint8_t { kStopped, kLost };

  // The state of one on_started_leading call.
  struct Work {
    explicit Work(std::pair<Context, CancelSource> lead) : ctx(std::move(lead.first)), cancel(std::move(lead.second)) {}
    const Context ctx;
    const CancelSource cancel;
    Mutex mu;
    bool done KUBE_GUARDED_BY(mu) = false;
    std::function<void()> on_done KUBE_GUARDED_BY(mu);
    Timer limit;  // stops ctx when another replica may lead
    Thread thread;
  };
  class NewLeaderThread;
  class Permit;  // the permit of the leader's writes

  // When a renewal was sent, by all clocks.
  struct Sent {
    Clock::TimePoint at;
    LeaseTime::Moment moment;
  };
  Sent SentNow() const;
  // Whether this replica certainly leads according to the clocks: kWithin.
  LeaseTime::Verdict Judge() const KUBE_REQUIRES(mu_);

  Result<void> RunOnce(const Context& ctx, std::unique_ptr<Work>& work);
  bool Acquire(const Context& ctx);
  // Renews until `ctx` stops or the lease is lost; the first time at once, or after a period.
  End Renew(const Context& ctx, Work& work, bool at_once);
  // One round: retries until an attempt succeeds, for at most renew_deadline.
  Attempt RenewRound(const Context& ctx);
  End Drain(Work& work);
  void ExtendLimit(Work& work);
  bool Sleep(const Context& ctx, Clock::TimePoint until) const;
  Result<void> LostError() const;
  void ReportLeader();
  void Lead(bool leads);

  LeaderRecord NewRecord() const;
  // Creates the lease, which does not exist yet.
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
  const std::string what_;  // name of the lock, for logs
  const std::chrono::nanoseconds call_timeout_;
  const std::chrono::nanoseconds lead_limit_;  // how long this replica may lead after sending a renewal
  const std::chrono::nanoseconds slack_;       // how far the wall clock may be set back meanwhile
  std::function<void(Clock::TimePoint)> before_sleep_;
  LeaseTime::Uptime uptime_;
  std::atomic<bool> running_{false};

  // For Run's thread only.
  std::string reported_leader_;
  std::unique_ptr<NewLeaderThread> new_leader_;
  std::string last_error_;
  bool write_in_doubt_ = false;  // the last write got no response and may have succeeded

  mutable Mutex mu_;
  std::shared_ptr<Clock> clock_ KUBE_GUARDED_BY(mu_);
  std::shared_ptr<const LeaseTime> time_ KUBE_GUARDED_BY(mu_);
  LeaderRecord observed_ KUBE_GUARDED_BY(mu_);
  Clock::TimePoint observed_at_ KUBE_GUARDED_BY(mu_){};
  bool leads_ KUBE_GUARDED_BY(mu_) = false;
  Clock::TimePoint lead_until_ KUBE_GUARDED_BY(mu_){};   // by a clock that excludes suspend; for timers
  LeaseTime::Moment sent_ KUBE_GUARDED_BY(mu_){};        // the last renewal
  std::shared_ptr<Permit> permit_ KUBE_GUARDED_BY(mu_);  // while leading
};

// Errors: kInvalid, naming the field.
Result<void> CheckOptions(const LeaderElectionOptions& options, const LeaderCallbacks& callbacks);
// The lock on a Lease, with its own client if the options require it.
Result<std::unique_ptr<LeaseLock>> MakeLeaseLock(const Client& client, const LeaderElectionOptions& options);

}  // namespace kube::internal
