#include "control/election/leader_elector_impl.h"

#include <algorithm>
#include <exception>
#include <functional>

#include "kube/base/log.h"
#include "kube/base/metrics.h"
#include "kube/client/retry.h"
#include "kube/transport/write_permit.h"

namespace kube::internal {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr double kJitter = 1.2;

const Logger& Log() {
  static const Logger log("control.leader_election");
  return log;
}

void Guarded(std::string_view which, const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& e) {
    Log().Error("A callback threw", {{"callback", which}, {"what", e.what()}});
  } catch (...) {
    Log().Error("A callback threw something that is not a std::exception", {{"callback", which}});
  }
}

MicroTime WallMicro(const Clock& clock) { return MicroTime(std::chrono::time_point_cast<std::chrono::microseconds>(clock.WallNow())); }

Clock::TimePoint::duration Steady(nanoseconds d) { return std::chrono::duration_cast<Clock::TimePoint::duration>(d); }

}  // namespace

// Calls on_new_leader, one after the other, so that a slow one does not hold up renewals.
class ElectorImpl::NewLeaderThread {
 public:
  explicit NewLeaderThread(const std::function<void(const std::string&)>& callback) : callback_(callback) {
    thread_ = Thread("kube-new-leader", [this] { Loop(); });
  }
  // Delivers what is queued, then ends.
  ~NewLeaderThread() {
    {
      MutexLock lock(mu_);
      stopping_ = true;
      changed_.NotifyAll();
    }
    thread_.Join();
  }
  void Tell(std::string identity) {
    MutexLock lock(mu_);
    waiting_.push_back(std::move(identity));
    changed_.NotifyAll();
  }

 private:
  void Loop() {
    for (;;) {
      std::string identity;
      {
        MutexLock lock(mu_);
        while (waiting_.empty() && !stopping_) changed_.Wait(mu_);
        if (waiting_.empty()) return;
        identity = std::move(waiting_.front());
        waiting_.pop_front();
      }
      Guarded("on_new_leader", [&] { callback_(identity); });
    }
  }

  const std::function<void(const std::string&)>& callback_;
  Mutex mu_;
  CondVar changed_;
  std::deque<std::string> waiting_ KUBE_GUARDED_BY(mu_);
  bool stopping_ KUBE_GUARDED_BY(mu_) = false;
  Thread thread_;
};

// Reads the clocks before each write: after a standstill no timer may have fired yet.
class ElectorImpl::Permit : public WritePermit {
 public:
  Permit(const ElectorImpl& elector, std::shared_ptr<const LeaseTime> time, const LeaseTime::Moment& sent)
      : time_(std::move(time)), lease_(elector.what_), limit_(elector.lead_limit_), slack_(elector.slack_), sent_(sent) {}

  void Extend(const LeaseTime::Moment& sent) {
    MutexLock lock(mu_);
    sent_ = sent;
  }
  // For good: a later term has a permit of its own.
  void Revoke() {
    MutexLock lock(mu_);
    sent_.reset();
  }
  Result<void> Check() override {
    std::optional<LeaseTime::Moment> sent;
    {
      MutexLock lock(mu_);
      sent = sent_;
    }
    if (!sent) {
      return Error(ErrorKind::kClosed, "leader election: lease " + lease_ +
                                           " is no longer held: it was not renewed in time, or taken, or " +
                                           "released; nothing is written any more");
    }
    switch (time_->Judge(*sent, limit_, slack_)) {
      case LeaseTime::Verdict::kWithin:
        return {};
      case LeaseTime::Verdict::kOver:
        return Error::Timeout("leader election: lease " + lease_ + " was not renewed in time; nothing is written any more");
      case LeaseTime::Verdict::kWallJumped:
        break;
    }
    return Error::Timeout("leader election: the time of day jumped since lease " + lease_ +
                          " was renewed; nothing is written until it is renewed again");
  }

 private:
  const std::shared_ptr<const LeaseTime> time_;
  const std::string lease_;
  const nanoseconds limit_;
  const nanoseconds slack_;
  Mutex mu_;
  std::optional<LeaseTime::Moment> sent_ KUBE_GUARDED_BY(mu_);  // none: revoked
};

ElectorImpl::ElectorImpl(std::unique_ptr<LeaseLock> lock, LeaderElectionOptions options, LeaderCallbacks callbacks)
    : lock_(std::move(lock)),
      options_(std::move(options)),
      callbacks_(std::move(callbacks)),
      what_(lock_->Describe()),
      call_timeout_(std::max<nanoseconds>(seconds(1), options_.renew_deadline / 2)),
      lead_limit_(options_.renew_deadline + (options_.lease_duration - options_.renew_deadline) / 2),
      slack_(std::max<nanoseconds>(seconds(1), options_.lease_duration - lead_limit_)),
      clock_(Clock::Real()),
      time_(std::make_shared<const LeaseTime>(clock_)) {
  Lead(false);
}

ElectorImpl::~ElectorImpl() = default;

// ---- What was seen ----

bool ElectorImpl::HeldByUs() const {
  MutexLock lock(mu_);
  return observed_.holder == identity();
}

bool ElectorImpl::IsValid(Clock::TimePoint now) const {
  MutexLock lock(mu_);
  // No time of the record counts, only its duration, from when we saw it change.
  return observed_at_ + seconds(observed_.lease_duration_seconds) > now;
}

void ElectorImpl::Observe(const LeaderRecord& record, Clock::TimePoint when) {
  MutexLock lock(mu_);
  observed_ = record;
  observed_at_ = when;
}

// The server took our record. Others may see it from the moment it was sent, so that is when its time begins.
void ElectorImpl::Held(const LeaderRecord& record, const Sent& sent) {
  MutexLock lock(mu_);
  observed_ = record;
  observed_at_ = sent.at;
  lead_until_ = sent.at + Steady(lead_limit_);
  sent_ = sent.moment;
  if (permit_ != nullptr) permit_->Extend(sent_);
  write_in_doubt_ = false;
}

ElectorImpl::Sent ElectorImpl::SentNow() const {
  MutexLock lock(mu_);
  return {.at = clock_->Now(), .moment = time_->Now()};
}

LeaseTime::Verdict ElectorImpl::Judge() const { return time_->Judge(sent_, lead_limit_, slack_); }

void ElectorImpl::Failed(const Error& error, bool write) {
  last_error_ = error.ToString();
  if (write) write_in_doubt_ = error.kind() != ErrorKind::kApi && error.kind() != ErrorKind::kInvalid;
}

LeaderRecord ElectorImpl::observed() const {
  MutexLock lock(mu_);
  return observed_;
}

void ElectorImpl::SetObservedForTest(const LeaderRecord& record, Clock::TimePoint when, std::shared_ptr<Clock> clock) {
  Observe(record, when);
  MutexLock lock(mu_);
  clock_ = std::move(clock);
  time_ = std::make_shared<const LeaseTime>(clock_, uptime_);
}

void ElectorImpl::Lead(bool leads) {
  {
    MutexLock lock(mu_);
    leads_ = leads;
    if (!leads && permit_ != nullptr) {
      permit_->Revoke();
      permit_.reset();
    }
  }
  if (options_.metrics != nullptr) options_.metrics->Set("leader_election_master_status", {{"name", options_.name}}, leads ? 1 : 0);
}

bool ElectorImpl::is_leader() const {
  MutexLock lock(mu_);
  return leads_ && Judge() == LeaseTime::Verdict::kWithin;
}

std::string ElectorImpl::leader() const {
  MutexLock lock(mu_);
  return observed_.holder;
}

Result<void> ElectorImpl::Check(nanoseconds tolerance) const {
  MutexLock lock(mu_);
  if (!leads_ || clock_->Now() - observed_at_ <= options_.lease_duration + tolerance) return {};
  return Error::Timeout("leader election: lease " + what_ + " was not renewed in time, and the program still acts as its leader");
}

void ElectorImpl::ReportLeader() {
  const std::string now = leader();
  if (now.empty() || now == reported_leader_) return;
  reported_leader_ = now;
  Log().Info("New leader", {{"lease", what_}, {"leader", now}, {"this_replica", now == identity()}});
  if (new_leader_ != nullptr) new_leader_->Tell(now);
}

// ---- One attempt ----

LeaderRecord ElectorImpl::NewRecord() const {
  MutexLock lock(mu_);
  const MicroTime now = WallMicro(*clock_);
  // Rounded up: other replicas must not wait less than we count on.
  const seconds whole = std::chrono::ceil<seconds>(options_.lease_duration);
  return {.holder = identity(), .lease_duration_seconds = static_cast<std::int32_t>(whole.count()), .acquire_time = now, .renew_time = now};
}

ElectorImpl::Attempt ElectorImpl::CreateLease(const Context& ctx, const LeaderRecord& record) {
  const Sent sent = SentNow();
  if (const Result<void> created = lock_->Create(CallContext(ctx), record); !created) {
    Failed(created.error(), true);
    if (!ctx.stopped()) Log().Error(created.error(), "Could not create the lease", {{"lease", what_}});
    return Attempt::kRefused;
  }
  Held(record, sent);
  return Attempt::kHeld;
}

ElectorImpl::Attempt ElectorImpl::TryAcquireOrRenew(const Context& ctx, bool renewing) {
  const std::shared_ptr<Clock> clock = ctx.clock();
  LeaderRecord record = NewRecord();
  // The holder of a valid lease writes without reading: the resourceVersion shows whether another client wrote.
  if (HeldByUs() && IsValid(clock->Now())) {
    const LeaderRecord before = observed();
    record.acquire_time = before.acquire_time;
    record.transitions = before.transitions;
    const Sent sent = SentNow();
    const Result<void> updated = lock_->Update(CallContext(ctx), record);
    if (updated) {
      Held(record, sent);
      return Attempt::kHeld;
    }
    Failed(updated.error(), true);
    if (ctx.stopped()) return Attempt::kRefused;
    Log().V(2).Info("Could not renew the lease as it was last seen; reading it", {{"lease", what_}, {"err", updated.error()}});
  }

  const Result<LeaderRecord> found = lock_->Get(CallContext(ctx));
  if (!found) {
    Failed(found.error(), false);
    if (!IsNotFound(found.error())) {
      if (!ctx.stopped()) Log().Error(found.error(), "Could not read the lease", {{"lease", what_}});
      return Attempt::kRefused;
    }
    return CreateLease(ctx, record);
  }

  if (!(*found == observed())) Observe(*found, clock->Now());
  const bool ours = found->holder == identity();
  if (!ours && renewing) {
    // Another replica leads, or has led in between: what this one did since its last renewal may be out of date.
    last_error_ = found->holder.empty() ? "another client removed the holder from the lease" : "it is held by " + found->holder;
    return Attempt::kLost;
  }
  if (!ours && !found->holder.empty() && IsValid(clock->Now())) {
    Log().V(4).Info("The lease is held and has not expired", {{"lease", what_}, {"holder", found->holder}});
    last_error_ = "it is held by " + found->holder;
    return Attempt::kRefused;
  }
  if (ours) {
    record.acquire_time = found->acquire_time;
    record.transitions = found->transitions;
    if (options_.metrics != nullptr) options_.metrics->Add("leader_election_slowpath_total", {{"name", options_.name}});
  } else {
    record.transitions = found->transitions + 1;
  }
  const Sent sent = SentNow();
  if (const Result<void> updated = lock_->Update(CallContext(ctx), record); !updated) {
    Failed(updated.error(), true);
    if (!ctx.stopped()) Log().Error(updated.error(), "Could not update the lease", {{"lease", what_}});
    return Attempt::kRefused;
  }
  Held(record, sent);
  return Attempt::kHeld;
}

bool ElectorImpl::Release() {
  std::shared_ptr<Clock> clock;
  {
    MutexLock lock(mu_);
    clock = clock_;
  }
  // Not Run's context: that has stopped.
  const Context ctx = Context::Background(clock).WithTimeout(options_.renew_deadline);
  const Result<void> released = RetryOnConflict(ctx, [&]() -> Result<void> {
    const Result<LeaderRecord> found = lock_->Get(CallContext(ctx));
    if (!found) return found.error();
    if (found->holder != identity()) {
      Observe(*found, clock->Now());
      return {};  // nothing to release
    }
    LeaderRecord record;
    record.lease_duration_seconds = 1;
    record.transitions = found->transitions;
    record.acquire_time = record.renew_time = WallMicro(*clock);
    if (Result<void> updated = lock_->Update(CallContext(ctx), record); !updated) return updated;
    Observe(record, clock->Now());
    return {};
  });
  if (released) {
    Log().Info("Released the lease", {{"lease", what_}});
    return true;
  }
  if (IsNotFound(released.error())) {
    Log().Info("The lease to release does not exist", {{"lease", what_}});
  } else {
    Log().Error(released.error(), "Could not release the lease; it will expire", {{"lease", what_}});
  }
  return false;
}

// ---- The run ----

bool ElectorImpl::Sleep(const Context& ctx, Clock::TimePoint until) const {
  if (before_sleep_) before_sleep_(std::min(until, ctx.deadline().value_or(until)));
  return ctx.SleepUntil(until).ok();
}

bool ElectorImpl::Acquire(const Context& ctx) {
  Log().Info("Trying to acquire the lease", {{"lease", what_}, {"identity", identity()}});
  while (!ctx.stopped()) {
    const Attempt attempt = TryAcquireOrRenew(ctx, false);
    ReportLeader();
    if (attempt == Attempt::kHeld) return true;
    if (!Sleep(ctx, ctx.clock()->Later(Jitter(options_.retry_period, kJitter, options_.random)))) break;
  }
  return false;
}

void ElectorImpl::ExtendLimit(Work& work) {
  Clock::TimePoint until;
  {
    MutexLock lock(mu_);
    until = lead_until_;
  }
  work.limit = work.ctx.clock()->AddTimer(
      until, [this, &work] { work.cancel.Cancel(Error::Timeout("leader election: lease " + what_ + " was not renewed in time")); });
}

ElectorImpl::Attempt ElectorImpl::RenewRound(const Context& ctx) {
  Clock::TimePoint until;
  bool standstill = false;
  {
    MutexLock lock(mu_);
    until = lead_until_;
    standstill = Judge() != LeaseTime::Verdict::kWithin;
  }
  if (standstill) {
    Log().Warn("The lease was not renewed in time, as after a suspend, or the time of day was set; nothing is written until it is renewed",
               {{"lease", what_}});
  }
  const Clock::TimePoint begin = ctx.clock()->Now();
  const Context round = ctx.WithDeadline(std::min(begin + Steady(options_.renew_deadline), until));
  Clock::TimePoint next = begin;
  while (!round.stopped()) {
    const Attempt attempt = TryAcquireOrRenew(round, true);
    if (attempt != Attempt::kRefused) return attempt;
    next += Steady(options_.retry_period);
    next = std::max(next, ctx.clock()->Now());
    if (!Sleep(round, next)) break;
  }
  return Attempt::kRefused;
}

ElectorImpl::End ElectorImpl::Renew(const Context& ctx, Work& work, bool at_once) {
  if (!at_once && !Sleep(ctx, ctx.clock()->Later(options_.retry_period))) return is_leader() ? End::kStopped : End::kLost;
  for (;;) {
    const Attempt attempt = RenewRound(ctx);
    ReportLeader();
    if (attempt == Attempt::kHeld) {
      ExtendLimit(work);
      // An answer can come too late to be of use.
      if (!is_leader()) return End::kLost;
      if (!Sleep(ctx, ctx.clock()->Later(options_.retry_period))) return is_leader() ? End::kStopped : End::kLost;
      continue;
    }
    if (attempt == Attempt::kRefused && ctx.stopped() && is_leader()) return End::kStopped;
    return End::kLost;
  }
}

ElectorImpl::End ElectorImpl::Drain(Work& work) {
  auto [ctx, cancel] = Context::Background(work.ctx.clock()).WithTimeout(options_.drain_timeout).WithCancel();
  {
    MutexLock lock(work.mu);
    if (work.done) return End::kStopped;
    work.on_done = [&source = cancel] { source.Cancel(); };
  }
  const End end = Renew(ctx, work, false);
  MutexLock lock(work.mu);
  work.on_done = nullptr;
  return end;
}

Result<void> ElectorImpl::LostError() const {
  Error::Payload payload;
  payload.kind = ErrorKind::kClosed;
  payload.reason = "LeadershipLost";
  payload.message = "lost the lease " + what_ + (last_error_.empty() ? "" : ": " + last_error_);
  return Error(std::move(payload)).WithContext("leader election");
}

Result<void> ElectorImpl::RunOnce(const Context& ctx, std::unique_ptr<Work>& work) {
  if (!Acquire(ctx)) {
    // A write that was cut off by the stop may have made us the leader: release the lease, so that no replica waits for it to expire.
    if (write_in_doubt_ && options_.release_on_cancel) (void)Release();
    return {};
  }
  Lead(true);
  lock_->RecordEvent("Acquire", identity() + " became leader");
  Log().Info("Leading", {{"lease", what_}, {"identity", identity()}});

  std::shared_ptr<WritePermit> permit;
  {
    MutexLock lock(mu_);
    permit = permit_ = std::make_shared<Permit>(*this, time_, sent_);
  }
  work = std::make_unique<Work>(AddWritePermit(ctx, std::move(permit)).WithCancel());
  Work& w = *work;
  ExtendLimit(w);
  w.thread = Thread("kube-leading", [this, &w] {
    Guarded("on_started_leading", [&] { callbacks_.on_started_leading(w.ctx); });
    MutexLock lock(w.mu);
    w.done = true;
    if (w.on_done) w.on_done();
  });
  End end = Renew(ctx, w, true);
  const bool cancelled = end == End::kStopped;
  if (cancelled) {
    end = Drain(w);
  } else {
    Lead(false);  // first: is_leader() is false by the time the context stops
    w.cancel.Cancel(LostError().error());
  }
  bool done = false;
  {
    MutexLock lock(w.mu);
    done = w.done;
  }
  w.limit.Cancel();
  Lead(false);
  if (end == End::kStopped && options_.release_on_cancel) {
    if (done) {
      (void)Release();
    } else {
      Log().Warn("on_started_leading has not returned; the lease is not released and will expire",
                 {{"lease", what_}, {"waited", options_.drain_timeout}});
    }
  }
  lock_->RecordEvent("StopLeading", identity() + " stopped leading");
  if (cancelled) {
    Log().Info("Stopped leading", {{"lease", what_}});
    return {};
  }
  Result<void> lost = LostError();
  Log().Error(lost.error(), "Leadership is lost", {{"lease", what_}});
  return lost;
}

Result<void> ElectorImpl::Run(const Context& ctx) {
  if (running_.exchange(true)) return Error::Invalid("leader election: Run is already running, for lease " + what_);
  {
    MutexLock lock(mu_);
    clock_ = ctx.clock();
    time_ = std::make_shared<const LeaseTime>(clock_, uptime_);
  }
  write_in_doubt_ = false;
  last_error_.clear();
  if (callbacks_.on_new_leader) new_leader_ = std::make_unique<NewLeaderThread>(callbacks_.on_new_leader);
  std::unique_ptr<Work> work;
  Result<void> result = RunOnce(ctx, work);
  Guarded("on_stopped_leading", callbacks_.on_stopped_leading);
  work.reset();  // waits for on_started_leading
  new_leader_.reset();
  running_ = false;
  return result;
}

}  // namespace kube::internal
