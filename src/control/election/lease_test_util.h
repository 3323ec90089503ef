// Shared by tests of leader election: an in-memory lease with faults, and replicas on a clock that advances only while all of them sleep.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/wait_test_util.h"
#include "control/election/leader_elector_impl.h"
#include "control/election/lease_lock.h"
#include "control/election/skewed_clock_test_util.h"
#include "kube/base/fake_clock.h"
#include "kube/base/metrics.h"
#include "kube/base/thread.h"
#include "kube/transport/write_permit.h"

namespace kube::internal {

inline Error ApiError(int code, std::string reason, std::string message = "scripted") {
  Error::Payload payload;
  payload.kind = ErrorKind::kApi;
  payload.http_code = code;
  payload.reason = std::move(reason);
  payload.message = std::move(message);
  return Error(std::move(payload));
}
inline Error Conflict() { return ApiError(409, "Conflict"); }

// The lease as the server has it. Thread safety: all functions may be called from any thread.
class FakeLease {
 public:
  enum class Fault : std::uint8_t {
    kFail,      // an error, nothing happens
    kHang,      // no response until the caller stops waiting
    kNoAnswer,  // takes effect, but there is no response until the caller stops waiting
  };

  void Put(LeaderRecord record) {
    MutexLock lock(mu_);
    record_ = std::move(record);
    ++version_;
  }
  void Delete() {
    MutexLock lock(mu_);
    record_.reset();
    ++version_;
  }
  std::optional<LeaderRecord> record() const {
    MutexLock lock(mu_);
    return record_;
  }
  // "get", "create", "update" in order, of one replica or of all.
  std::vector<std::string> ops(const std::string& who = {}) const {
    MutexLock lock(mu_);
    std::vector<std::string> found;
    for (const auto& [replica, op] : ops_) {
      if (who.empty() || replica == who) found.push_back(op);
    }
    return found;
  }
  // The next call of this kind; the error counts for kFail.
  void AddFault(std::string op, Fault fault, Error error = Conflict()) {
    MutexLock lock(mu_);
    faults_.push_back({std::move(op), fault, std::move(error)});
  }
  // All calls of this replica hang.
  void Partition(const std::string& who, bool cut) {
    MutexLock lock(mu_);
    if (cut) {
      partitioned_.insert(who);
    } else {
      partitioned_.erase(who);
    }
  }
  // Called at the start of each call, with its name.
  void OnCall(std::function<void(const std::string&)> hook) {
    MutexLock lock(mu_);
    on_call_ = std::move(hook);
  }
  std::vector<std::string> notes() const {
    MutexLock lock(mu_);
    return notes_;
  }

 private:
  friend class FakeLock;
  struct ScriptedFault {
    std::string op;
    Fault fault;
    Error error;
  };
  mutable Mutex mu_;
  std::optional<LeaderRecord> record_ KUBE_GUARDED_BY(mu_);
  int version_ KUBE_GUARDED_BY(mu_) = 0;
  std::vector<std::pair<std::string, std::string>> ops_ KUBE_GUARDED_BY(mu_);
  std::deque<ScriptedFault> faults_ KUBE_GUARDED_BY(mu_);
  std::set<std::string> partitioned_ KUBE_GUARDED_BY(mu_);
  std::function<void(const std::string&)> on_call_ KUBE_GUARDED_BY(mu_);
  std::vector<std::string> notes_ KUBE_GUARDED_BY(mu_);
};

class FakeLock final : public LeaseLock {
 public:
  FakeLock(std::shared_ptr<FakeLease> lease, std::string who) : lease_(std::move(lease)), who_(std::move(who)) {}
  // Called with the time at which a hanging call is abandoned.
  std::function<void(Clock::TimePoint)> on_hang;

  Result<LeaderRecord> Get(const Context& ctx) override {
    LeaderRecord found;
    Result<void> done = Call(ctx, "get", [&](FakeLease& lease) KUBE_NO_THREAD_SAFETY_ANALYSIS -> Result<void> {
      if (!lease.record_) return ApiError(404, "NotFound");
      found = *lease.record_;
      seen_ = lease.version_;
      return {};
    });
    if (!done) return done.error();
    return found;
  }
  Result<void> Create(const Context& ctx, const LeaderRecord& record) override {
    return Call(ctx, "create", [&](FakeLease& lease) KUBE_NO_THREAD_SAFETY_ANALYSIS -> Result<void> {
      if (lease.record_) return ApiError(409, "AlreadyExists");
      lease.record_ = record;
      seen_ = ++lease.version_;
      return {};
    });
  }
  Result<void> Update(const Context& ctx, const LeaderRecord& record) override {
    return Call(ctx, "update", [&](FakeLease& lease) KUBE_NO_THREAD_SAFETY_ANALYSIS -> Result<void> {
      if (!lease.record_) return ApiError(404, "NotFound");
      if (seen_ != lease.version_) return Conflict();
      lease.record_ = record;
      const int version = ++lease.version_;
      // If the response is lost, the caller does not learn the new version.
      if (!losing_) seen_ = version;
      return {};
    });
  }
  void RecordEvent(std::string_view action, const std::string& note) override {
    MutexLock lock(lease_->mu_);
    lease_->notes_.push_back(std::string(action) + ": " + note);
  }
  std::string Describe() const override { return "default/test"; }

 private:
  Result<void> Call(const Context& ctx, const std::string& op, const std::function<Result<void>(FakeLease&)>& body) {
    std::function<void(const std::string&)> hook;
    {
      MutexLock lock(lease_->mu_);
      hook = lease_->on_call_;
    }
    if (hook) hook(op);
    if (Result<void> go = ctx.Check(); !go) return go;
    bool hang = false;
    {
      MutexLock lock(lease_->mu_);
      lease_->ops_.emplace_back(who_, op);
      hang = lease_->partitioned_.contains(who_);
      losing_ = false;
      for (auto at = lease_->faults_.begin(); !hang && at != lease_->faults_.end(); ++at) {
        if (at->op != op) continue;
        const FakeLease::ScriptedFault fault = *at;
        lease_->faults_.erase(at);
        if (fault.fault == FakeLease::Fault::kFail) return fault.error;
        losing_ = fault.fault == FakeLease::Fault::kNoAnswer;
        hang = true;
        break;
      }
      if (!hang || losing_) {
        Result<void> done = body(*lease_);
        if (!hang) return done;
      }
    }
    if (on_hang) on_hang(ctx.deadline().value_or(Clock::TimePoint::max()));
    ctx.WaitUntilStopped();
    return *ctx.Err();
  }

  const std::shared_ptr<FakeLease> lease_;
  const std::string who_;
  int seen_ = -1;
  bool losing_ = false;
};

// Replicas and their clock.
class Election {
 public:
  class Replica {
   public:
    Replica(Election& election, const std::string& who, LeaderElectionOptions options)
        : election_(election), who_(who), run_(Context::Background(election.ClockOf(who)).WithCancel()) {
      auto lock = std::make_unique<FakeLock>(election.lease, who);
      lock->on_hang = [this](Clock::TimePoint until) { BlockedUntil(until); };
      if (!options.identity) options.identity = who;
      if (options.name.empty()) options.name = "test";
      if (!options.random) options.random = [] { return 0.0; };
      elector_ = std::make_unique<ElectorImpl>(
          std::move(lock), std::move(options),
          LeaderCallbacks{.on_started_leading = [this](const Context& lead) { Work(lead); },
                          .on_stopped_leading = [this] { Say("stopped"); },
                          .on_new_leader = [this](const std::string& leader) { Say("new leader " + leader); }});
      elector_->SetUptimeForTest([&election] { return election.clock->Now().time_since_epoch() + election.slept.load(); });
      elector_->SetBeforeSleepForTest([this](Clock::TimePoint until) { BlockedUntil(until); });
      thread_ = Thread("replica", [this] {
        Result<void> ran = elector_->Run(run_.first);
        MutexLock lock_state(election_.mu);
        result_ = std::move(ran);
        election_.changed.NotifyAll();
      });
    }
    ~Replica() {
      Cancel();
      (void)election_.WaitForEnd(*this, true);
    }
    Replica(const Replica&) = delete;
    Replica& operator=(const Replica&) = delete;

    ElectorImpl& elector() { return *elector_; }
    void Cancel() {
      BlockedUntil(std::nullopt);
      run_.second.Cancel();
    }
    std::optional<Result<void>> result() const {
      MutexLock lock(election_.mu);
      return result_;
    }
    std::vector<std::string> said() const {
      MutexLock lock(election_.mu);
      return said_;
    }
    // What on_started_leading does between the stop of its context and its return.
    void OnWorkEnd(std::function<void()> hook) {
      MutexLock lock(election_.mu);
      on_work_end_ = std::move(hook);
    }
    // When the context of the work stopped, by the fake clock.
    std::optional<Clock::TimePoint> work_stopped_at() const {
      MutexLock lock(election_.mu);
      return work_stopped_at_;
    }
    std::shared_ptr<WritePermit> permit() const {
      MutexLock lock(election_.mu);
      return permit_;
    }
    bool working() const {
      MutexLock lock(election_.mu);
      return working_;
    }
    void Say(const std::string& what) {
      MutexLock lock(election_.mu);
      said_.push_back(what);
      election_.changed.NotifyAll();
    }

   private:
    friend class Election;
    void BlockedUntil(std::optional<Clock::TimePoint> until) {
      MutexLock lock(election_.mu);
      wake_at_ = until;
      election_.changed.NotifyAll();
    }
    void Work(const Context& lead) {
      {
        MutexLock lock(election_.mu);
        working_ = !lead.stopped();
        permit_ = lead.Value<WritePermit>();
      }
      const Context::Registration watch = lead.OnDone([this] {
        MutexLock lock(election_.mu);
        working_ = false;
        work_stopped_at_ = election_.clock->Now();
        election_.changed.NotifyAll();
      });
      Say("started");  // a stop is noticed immediately from here on
      lead.WaitUntilStopped();
      // This thread may wake up before the stop was recorded; without its registration it never would be.
      EXPECT_TRUE(WaitBounded(election_.mu, election_.changed, [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return !!work_stopped_at_; }));
      std::function<void()> hook;
      {
        MutexLock lock(election_.mu);
        hook = on_work_end_;
      }
      if (hook) hook();
      Say("work done");
    }

    Election& election_;
    const std::string who_;
    const std::pair<Context, CancelSource> run_;
    std::unique_ptr<ElectorImpl> elector_;
    std::optional<Clock::TimePoint> wake_at_ KUBE_GUARDED_BY(election_.mu);
    std::optional<Result<void>> result_ KUBE_GUARDED_BY(election_.mu);
    std::vector<std::string> said_ KUBE_GUARDED_BY(election_.mu);
    std::function<void()> on_work_end_ KUBE_GUARDED_BY(election_.mu);
    std::shared_ptr<WritePermit> permit_ KUBE_GUARDED_BY(election_.mu);
    std::optional<Clock::TimePoint> work_stopped_at_ KUBE_GUARDED_BY(election_.mu);
    bool working_ KUBE_GUARDED_BY(election_.mu) = false;
    Thread thread_;
  };

  const std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  const std::shared_ptr<FakeLease> lease = std::make_shared<FakeLease>();
  // How long the machine was suspended, during which `clock` stood still.
  std::atomic<std::chrono::nanoseconds> slept{std::chrono::nanoseconds(0)};
  std::map<std::string, Clock::Duration> skews;  // offsets of the replicas' wall clocks; set before they start
  Mutex mu;
  CondVar changed;
  ~Election() {
    while (!replicas_.empty()) replicas_.pop_back();  // stops those that are still running
  }

  std::shared_ptr<Clock> ClockOf(const std::string& who) const {
    const auto found = skews.find(who);
    if (found == skews.end()) return clock;
    return std::make_shared<SkewedClock>(clock, found->second);
  }
  Replica& Start(const std::string& who, LeaderElectionOptions options = {}) {
    replicas_.push_back(std::make_unique<Replica>(*this, who, std::move(options)));
    EXPECT_TRUE(Settle());
    return *replicas_.back();
  }
  // Waits until all replicas sleep, hang or have ended.
  bool Settle() KUBE_NO_THREAD_SAFETY_ANALYSIS {
    return Pump([this]() KUBE_NO_THREAD_SAFETY_ANALYSIS {
      for (const auto& replica : replicas_) {
        if (!replica->result_ && !replica->wake_at_) return false;
      }
      return true;
    });
  }
  // Advances time from one event to the next.
  bool Advance(Clock::Duration by) KUBE_NO_THREAD_SAFETY_ANALYSIS {
    const Clock::TimePoint end = clock->Now() + std::chrono::duration_cast<Clock::TimePoint::duration>(by);
    for (;;) {
      if (!Settle()) return false;
      Clock::TimePoint next = end;
      {
        MutexLock lock(mu);
        for (const auto& replica : replicas_) {
          if (!replica->result_ && replica->wake_at_) next = std::min(next, std::max(*replica->wake_at_, clock->Now()));
        }
        for (const auto& replica : replicas_) {
          if (replica->wake_at_ && *replica->wake_at_ <= next) replica->wake_at_.reset();
        }
      }
      clock->Advance(next - clock->Now());
      if (next >= end) return Settle();
    }
  }
  // `moves`: time advances meanwhile.
  bool WaitForEnd(const Replica& replica, bool moves = false) KUBE_NO_THREAD_SAFETY_ANALYSIS {
    return Pump([&]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return replica.result_.has_value(); }, moves);
  }
  bool WaitForLine(const Replica& replica, const std::string& line, bool moves = false) KUBE_NO_THREAD_SAFETY_ANALYSIS {
    return Pump([&]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return std::count(replica.said_.begin(), replica.said_.end(), line) > 0; }, moves);
  }

 private:
  // Timers that were due when they were added run at the next Advance.
  bool Pump(const std::function<bool()>& done, bool moves = false) KUBE_NO_THREAD_SAFETY_ANALYSIS {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    for (;;) {
      {
        MutexLock lock(mu);
        if (done()) return true;
        (void)changed.WaitUntil(mu, std::chrono::steady_clock::now() + std::chrono::milliseconds(2));
        if (done()) return true;
      }
      if (std::chrono::steady_clock::now() > limit) return false;
      if (moves) {
        (void)clock->AdvanceToNextTimer();
      } else {
        clock->Advance({});
      }
    }
  }

  std::vector<std::unique_ptr<Replica>> replicas_;
};

}  // namespace kube::internal
