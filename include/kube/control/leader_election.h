// Leader election: one replica of a program is active, the others stand by. The replicas coordinate through a Lease in the API server.
//
//   LeaderElector       runs for the lease and calls callbacks; controllers are built on it
//   LeaderCandidate     the same in the background, for programs that only ask "am I the leader?"
//
//   Result<LeaderCandidate> candidate = LeaderCandidate::Start(client, {.name = "backup"});
//   if (!candidate) return candidate.error();
//   while (Result<Context> lead = candidate->WaitForLeadership(ctx)) {
//     MakeBackups(*lead);                                     // must return when *lead stops: another replica may lead from then on
//   }                                                         // the destructor releases the lease, and another replica starts at once
//
// The protocol is client-go's, so programs that use either can take part in the same election. The holder renews the lease every
// `retry_period`. A candidate that sees no renewal for the duration stated in the lease acquires it. Candidates measure the time since they
// last observed a change, so clock offsets between machines are harmless. Differences in clock speed are not: keep `lease_duration` well
// above `renew_deadline`.
//
// At most one leader: a leader's context is stopped, and is_leader() turns false, before another replica may acquire the lease, whether the
// API server responds or not. The latest moment is halfway between renew_deadline and lease_duration after the last renewal was SENT.
// (client-go counts from the response, and can continue past the lease if responses are slow.)
//
// A suspended process cannot stop its context in time. After a frozen container or a suspend, the context stops when the next renewal finds
// another holder or fails for renew_deadline. is_leader() and every write with the leader's context (WritePermit) therefore also check two
// clocks: one that counts suspend, and the wall clock. If either says that the time is over, or the wall clock has jumped, both refuse
// until a renewal proves that no other replica acquired the lease.
//
// Not detected: the pause of a virtual machine that stops all its clocks, until its wall clock is corrected; and a write that had passed
// the check before the process was suspended. If such a write would do harm, make it conditional (resourceVersion, a fencing token).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "kube/base/backoff.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/control/event_recorder.h"

namespace kube {

class Client;
class MetricsSink;

// Options of a leader election.
struct LeaderElectionOptions {
  std::string name{};  // name of the Lease; required
  std::string ns{};    // namespace of the Lease; empty for the client's
  // Unique name of this replica. Unset for the host name and a UUID.
  std::optional<std::string> identity{};
  std::map<std::string, std::string> labels{};  // labels of the Lease; other labels on it are kept

  // How long other replicas wait after the last change they saw. Written to the Lease in whole seconds, rounded up.
  std::chrono::nanoseconds lease_duration = std::chrono::seconds(15);
  // A leader that cannot renew the lease for this long stops leading. Must be less than lease_duration.
  std::chrono::nanoseconds renew_deadline = std::chrono::seconds(10);
  // Time between renewals. Candidates wait up to 2.2 times as long. Must be less than renew_deadline / 1.2.
  std::chrono::nanoseconds retry_period = std::chrono::seconds(2);

  // Releases the lease when Run's context stops, so that the next leader need not wait for it to expire. on_started_leading gets
  // `drain_timeout` to return, during which the lease is still renewed. If it does not return in time, the lease is not released and
  // expires.
  bool release_on_cancel = true;
  std::chrono::nanoseconds drain_timeout = std::chrono::seconds(30);

  EventRecorder events{};                  // reason LeaderElection, about the Lease
  std::shared_ptr<MetricsSink> metrics{};  // leader_election_master_status, leader_election_slowpath_total {name}
  RandomSource random{};                   // source of the jitter
};

// Callbacks of a LeaderElector.
struct LeaderCallbacks {
  // Called on its own thread, with a context that stops when leadership ends. Returning early does not release the lease.
  std::function<void(const Context& ctx)> on_started_leading{};
  // Called once per Run, even if this replica never led, on Run's thread and after the lease was released. The other two callbacks may
  // still be running (on_started_leading only if the lease was lost); Run waits for them before it returns.
  std::function<void()> on_stopped_leading{};
  // Called once per observed change of the leader, including to this replica, in order, on its own thread. May be null.
  std::function<void(const std::string& identity)> on_new_leader{};
};

// Whether the error means that the lease was not renewed in time, or is held by another replica.
KUBE_EXPORT bool IsLeadershipLost(const Error& e);

namespace internal {
struct ElectionAccess;
class LeaseLock;
class ElectorImpl;
class CandidateImpl;
}  // namespace internal

// Takes part in an election while Run runs.
//
// Example:
//   Result<LeaderElector> elector = LeaderElector::Create(client, {.name = "auto-expose"},
//       {.on_started_leading = [&](const Context& lead) { RunControllers(lead); }, .on_stopped_leading = [] {}});
//   if (!elector) return elector.error();
//   Result<void> ran = elector->Run(SignalContext());
//
// Thread safety: Run on one thread at a time; everything else from any thread.
// Lifetime: must not be moved or destroyed during Run.
// Blocking and cancellation: Run blocks until its context stops (then it drains, releases the lease and returns ok) or leadership is lost.
//   Each request takes at most max(1 s, renew_deadline / 2).
// Errors: Create returns kInvalid, naming the field. Run returns IsLeadershipLost, or kInvalid if it is already running. An exception from
//   a callback is logged and counts as a return.
// Cost: its own connection with its own rate limits, so that a busy program does not lose the lease while a renewal is queued (a client
//   with an injected transport is used as it is); one request per retry_period; the threads `kube-leading` and `kube-new-leader` during
//   Run.
class KUBE_EXPORT LeaderElector {
 public:
  static Result<LeaderElector> Create(const Client& client, LeaderElectionOptions options, LeaderCallbacks callbacks);  // starts no thread

  LeaderElector(LeaderElector&&) noexcept;
  LeaderElector& operator=(LeaderElector&&) noexcept;
  ~LeaderElector();

  // Takes part in the election. May be called again after it returned, to stand by after a loss.
  Result<void> Run(const Context& ctx);

  // Whether this replica leads now. False as soon as another replica may lead.
  bool is_leader() const;
  // The last observed leader; empty if there is none or it is not known yet. For display only.
  std::string leader() const;
  const std::string& identity() const;
  // For /healthz: fails if this replica considers itself the leader, but the last renewal is older than lease_duration + `tolerance`.
  // Something hangs then, and the process should be restarted.
  Result<void> Check(std::chrono::nanoseconds tolerance = {}) const;

 private:
  friend struct internal::ElectionAccess;
  static Result<LeaderElector> Create(std::unique_ptr<internal::LeaseLock> lock, LeaderElectionOptions options, LeaderCallbacks callbacks);
  explicit LeaderElector(std::unique_ptr<internal::ElectorImpl> impl);
  std::unique_ptr<internal::ElectorImpl> impl_;
};

// Takes part in an election from Start until its destructor. After losing leadership it runs again.
//
// Thread safety: all functions may be called from any thread.
// Lifetime: the destructor stops, releases the lease and joins its threads. Let it outlive the leader's work, so that no other replica
//   starts before that has ended.
// Blocking: Start does not wait for the API server; the destructor waits for it for at most renew_deadline.
// Errors: Start returns those of LeaderElector::Create.
class KUBE_EXPORT LeaderCandidate {
 public:
  // Starts in the background. All callbacks are optional.
  static Result<LeaderCandidate> Start(const Client& client, LeaderElectionOptions options, LeaderCallbacks callbacks = {});

  LeaderCandidate(LeaderCandidate&&) noexcept;
  LeaderCandidate& operator=(LeaderCandidate&&) noexcept;
  ~LeaderCandidate();

  bool is_leader() const;
  std::string leader() const;
  const std::string& identity() const;
  Result<void> Check(std::chrono::nanoseconds tolerance = {}) const;  // for /healthz; see LeaderElector::Check

  // Waits until this replica leads. Returns a child of `ctx` that also stops when leadership ends and that carries its WritePermit. Errors:
  // the context's.
  Result<Context> WaitForLeadership(const Context& ctx) const;

 private:
  friend struct internal::ElectionAccess;
  static Result<LeaderCandidate> Start(std::unique_ptr<internal::LeaseLock> lock, std::shared_ptr<Clock> clock,
                                       LeaderElectionOptions options, LeaderCallbacks callbacks);
  explicit LeaderCandidate(std::unique_ptr<internal::CandidateImpl> impl);
  std::unique_ptr<internal::CandidateImpl> impl_;
};

}  // namespace kube
