#include "kube/control/leader_election.h"

#include <utility>

#include "client/client_core.h"
#include "control/election/leader_elector_impl.h"
#include "control/election/lease_lock.h"
#include "control/host_identity.h"
#include "kube/base/stop_token.h"
#include "kube/base/wait_until.h"
#include "kube/client/client.h"
#include "kube/meta/validation.h"
#include "kube/transport/write_permit.h"

namespace kube {
namespace internal {

using std::chrono::nanoseconds;
using std::chrono::seconds;

Result<void> CheckOptions(const LeaderElectionOptions& options, const LeaderCallbacks& callbacks) {
  const auto refuse = [](std::string what) { return Error::Invalid("leader election: " + std::move(what)); };
  if (options.lease_duration <= nanoseconds::zero()) return refuse("lease_duration must be greater than zero");
  if (options.renew_deadline <= nanoseconds::zero()) return refuse("renew_deadline must be greater than zero");
  if (options.retry_period <= nanoseconds::zero()) return refuse("retry_period must be greater than zero");
  if (options.lease_duration <= options.renew_deadline) return refuse("lease_duration must be greater than renew_deadline");
  if (static_cast<double>(options.renew_deadline.count()) <= 1.2 * static_cast<double>(options.retry_period.count())) {
    return refuse("renew_deadline must be greater than 1.2 times retry_period");
  }
  if (!callbacks.on_started_leading) return refuse("on_started_leading must be set");
  if (!callbacks.on_stopped_leading) return refuse("on_stopped_leading must be set");
  if (options.name.empty()) return refuse("name, of the Lease, must be set");
  if (Result<void> valid = ValidateDnsSubdomain(options.name); !valid) return refuse("name: " + valid.error().message());
  if (options.identity && options.identity->empty()) return refuse("identity must not be empty; leave it unset for a generated one");
  for (const auto& [label, value] : options.labels) {
    if (Result<void> valid = ValidateLabelKey(label); !valid) return refuse("labels: " + valid.error().message());
    if (Result<void> valid = ValidateLabelValue(value); !valid) return refuse("labels: " + label + ": " + valid.error().message());
  }
  return {};
}

Result<std::unique_ptr<LeaseLock>> MakeLeaseLock(const Client& client, const LeaderElectionOptions& options) {
  std::optional<Client> own;
  if (client.core().connection != nullptr) {
    ClientConfig config = client.config();
    config.user_agent = (config.user_agent.empty() ? DefaultUserAgent() : config.user_agent) + "/leader-election";
    config.timeout = std::max<nanoseconds>(seconds(1), options.renew_deadline / 2);
    config.qps = 0;
    config.burst = 0;
    Result<Client> made = Client::FromConfig(config, {.metrics = options.metrics});
    if (!made) return made.error().WithContext("leader election");
    own = *std::move(made);
  }
  const ObjectKey key{String(options.ns.empty() ? client.default_namespace() : options.ns), String(options.name)};
  return std::unique_ptr<LeaseLock>(std::make_unique<ResourceLeaseLock>(own ? *own : client, key, options.labels, options.events));
}

// ---- In the background ----

class CandidateImpl {
 public:
  CandidateImpl(std::unique_ptr<LeaseLock> lock, const std::shared_ptr<Clock>& clock, LeaderElectionOptions options,
                LeaderCallbacks callbacks)
      : user_(std::move(callbacks)),
        run_(Context::Background(clock).WithCancel()),
        elector_(std::move(lock), std::move(options), Callbacks()),
        thread_("kube-candidate", [this] {
          while (!run_.first.stopped()) (void)elector_.Run(run_.first);
        }) {}
  ~CandidateImpl() { run_.second.Cancel(); }  // the thread is joined first of the members
  CandidateImpl(const CandidateImpl&) = delete;
  CandidateImpl& operator=(const CandidateImpl&) = delete;

  const ElectorImpl& elector() const { return elector_; }

  Result<Context> Wait(const Context& ctx) {
    MutexLock lock(mu_);
    const Result<void> leads =
        WaitUntil(ctx, mu_, changed_, [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return lead_ && !lead_->stopped(); });
    if (!leads) return leads.error();
    // A context that stopped gets nothing to do, even while this replica leads.
    if (Result<void> go = ctx.Check(); !go) return go.error();
    return AddWritePermit(WithStopToken(ctx, StopTokenOf(*lead_)), lead_->Value<WritePermit>());
  }

 private:
  LeaderCallbacks Callbacks() {
    return {.on_started_leading = [this](const Context& lead) { Lead(lead); },
            .on_stopped_leading =
                [this] {
                  if (user_.on_stopped_leading) user_.on_stopped_leading();
                },
            .on_new_leader = user_.on_new_leader};
  }
  void Lead(const Context& lead) {
    {
      MutexLock lock(mu_);
      lead_ = lead;
      changed_.NotifyAll();
    }
    if (user_.on_started_leading) user_.on_started_leading(lead);
    lead.WaitUntilStopped();
    MutexLock lock(mu_);
    lead_.reset();
  }

  const LeaderCallbacks user_;
  const std::pair<Context, CancelSource> run_;
  Mutex mu_;
  CondVar changed_;
  std::optional<Context> lead_ KUBE_GUARDED_BY(mu_);
  ElectorImpl elector_;
  Thread thread_;
};

}  // namespace internal

bool IsLeadershipLost(const Error& e) { return e.kind() == ErrorKind::kClosed && e.reason() == "LeadershipLost"; }

namespace {

void FillIn(LeaderElectionOptions& options) {
  if (!options.identity) options.identity = internal::HostName() + "_" + internal::NewUuid();
}

}  // namespace

LeaderElector::LeaderElector(std::unique_ptr<internal::ElectorImpl> impl) : impl_(std::move(impl)) {}
LeaderElector::LeaderElector(LeaderElector&&) noexcept = default;
LeaderElector& LeaderElector::operator=(LeaderElector&&) noexcept = default;
LeaderElector::~LeaderElector() = default;

Result<LeaderElector> LeaderElector::Create(const Client& client, LeaderElectionOptions options, LeaderCallbacks callbacks) {
  if (Result<void> valid = internal::CheckOptions(options, callbacks); !valid) return valid.error();
  Result<std::unique_ptr<internal::LeaseLock>> lock = internal::MakeLeaseLock(client, options);
  if (!lock) return lock.error();
  return Create(*std::move(lock), std::move(options), std::move(callbacks));
}

Result<LeaderElector> LeaderElector::Create(std::unique_ptr<internal::LeaseLock> lock, LeaderElectionOptions options,
                                            LeaderCallbacks callbacks) {
  if (Result<void> valid = internal::CheckOptions(options, callbacks); !valid) return valid.error();
  if (lock == nullptr) return Error::Invalid("leader election: lock must be set");
  FillIn(options);
  return LeaderElector(std::make_unique<internal::ElectorImpl>(std::move(lock), std::move(options), std::move(callbacks)));
}

Result<void> LeaderElector::Run(const Context& ctx) { return impl_->Run(ctx); }
bool LeaderElector::is_leader() const { return impl_->is_leader(); }
std::string LeaderElector::leader() const { return impl_->leader(); }
const std::string& LeaderElector::identity() const { return impl_->identity(); }
Result<void> LeaderElector::Check(std::chrono::nanoseconds tolerance) const { return impl_->Check(tolerance); }

LeaderCandidate::LeaderCandidate(std::unique_ptr<internal::CandidateImpl> impl) : impl_(std::move(impl)) {}
LeaderCandidate::LeaderCandidate(LeaderCandidate&&) noexcept = default;
LeaderCandidate& LeaderCandidate::operator=(LeaderCandidate&&) noexcept = default;
LeaderCandidate::~LeaderCandidate() = default;

Result<LeaderCandidate> LeaderCandidate::Start(const Client& client, LeaderElectionOptions options, LeaderCallbacks callbacks) {
  // Checked before a client is made from them.
  const LeaderCallbacks any{.on_started_leading = [](const Context&) {}, .on_stopped_leading = [] {}};
  if (Result<void> valid = internal::CheckOptions(options, any); !valid) return valid.error();
  Result<std::unique_ptr<internal::LeaseLock>> lock = internal::MakeLeaseLock(client, options);
  if (!lock) return lock.error();
  return Start(*std::move(lock), Clock::Real(), std::move(options), std::move(callbacks));
}

Result<LeaderCandidate> LeaderCandidate::Start(std::unique_ptr<internal::LeaseLock> lock, std::shared_ptr<Clock> clock,
                                               LeaderElectionOptions options, LeaderCallbacks callbacks) {
  const LeaderCallbacks any{.on_started_leading = [](const Context&) {}, .on_stopped_leading = [] {}};
  if (Result<void> valid = internal::CheckOptions(options, any); !valid) return valid.error();
  FillIn(options);
  return LeaderCandidate(std::make_unique<internal::CandidateImpl>(std::move(lock), clock, std::move(options), std::move(callbacks)));
}

bool LeaderCandidate::is_leader() const { return impl_->elector().is_leader(); }
std::string LeaderCandidate::leader() const { return impl_->elector().leader(); }
const std::string& LeaderCandidate::identity() const { return impl_->elector().identity(); }
Result<void> LeaderCandidate::Check(std::chrono::nanoseconds tolerance) const { return impl_->elector().Check(tolerance); }
Result<Context> LeaderCandidate::WaitForLeadership(const Context& ctx) const { return impl_->Wait(ctx); }

}  // namespace kube
