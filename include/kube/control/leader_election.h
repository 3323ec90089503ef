// Leader election: of several replicas of a program, one works and the others stand by. They agree by a Lease of the API server.
//
//   LeaderElector       runs for the lease and calls back; what controllers are built on
//   LeaderCandidate     the same in the background, for programs that only ask "am I the leader?"
//
//   Result<LeaderCandidate> candidate = LeaderCandidate::Start(client, {.name = "backup"});
//   if (!candidate) return candidate.error();
//   while (Result<Context> lead = candidate->WaitForLeadership(ctx)) {
//     MakeBackups(*lead);                                     // returns when *lead stops: somebody else may lead from then on
//   }                                                         // the destructor gives the lease back, and another replica goes on at once
//
// The rules are those of client-go, and programs that use either take part in the same election: the holder writes the lease every
// `retry_period`; who sees no change of it for as long as the lease says takes it over. Only the time since one's own last look counts, so
// clocks that differ between machines do no harm (clocks that run at different speed do; keep the distance between `lease_duration` and
// `renew_deadline`).
//
// Never two at once: the context of a leader is stopped before anybody else may take the lease, and is_leader() is false from that moment,
// whether the server answers or not: at the latest halfway between renew_deadline and lease_duration after the last renewal was SENT.
// (client-go counts from its answer, and can go on past the lease when answers are slow.) A process that the machine did not let run
// cannot stop its context in time: after a frozen container or a suspend it is stopped when the next renewal finds another holder, or fails
// for renew_deadline. is_leader() and each write with the leader's context (WritePermit) therefore check the clocks themselves: one that
// counts suspend, and the time of day. If either says that the time is over, or the time of day has jumped, both refuse until the lease is
// renewed, which proves that no other replica took it. Not noticed: the pause of a virtual machine whose clocks all stand still, until its
// time of day is set right; and a write that had passed the check when the process was stopped. If such a write would do harm, make it
// conditional (resourceVersion, a fencing number).
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

struct LeaderElectionOptions {
  std::string name{};                           // of the Lease; required
  std::string ns{};                             // empty: the client's
  std::optional<std::string> identity{};        // of this replica, different for each; unset: host name and a UUID
  std::map<std::string, std::string> labels{};  // of the Lease; other labels that it has stay

  // Others wait so long after the last change that they saw; written to the Lease in whole seconds, rounded up.
  std::chrono::nanoseconds lease_duration = std::chrono::seconds(15);
  // A leader that could not renew for so long gives up. Less than lease_duration.
  std::chrono::nanoseconds renew_deadline = std::chrono::seconds(10);
  // Between tries; those of others are up to 2.2 times as long. Less than renew_deadline / 1.2.
  std::chrono::nanoseconds retry_period = std::chrono::seconds(2);

  // When Run's context stops: on_started_leading is given time to return, during which the lease is still renewed, and then the lease is
  // given back, so that the next leader need not wait for its end. What did not return within `drain_timeout` keeps the lease from being
  // given back: it then ends by itself.
  bool release_on_cancel = true;
  std::chrono::nanoseconds drain_timeout = std::chrono::seconds(30);

  EventRecorder events{};                  // reason LeaderElection, about the Lease
  std::shared_ptr<MetricsSink> metrics{};  // leader_election_master_status, leader_election_slowpath_total {name}
  RandomSource random{};
};

struct LeaderCallbacks {
  // On a thread of its own, with a context that stops when leadership ends. Returning early does not give the lease up.
  std::function<void(const Context& ctx)> on_started_leading{};
  // Once for each Run, also where this replica never led; after the lease was given back. On Run's thread. The other two may still be
  // running (on_started_leading where the lease was lost); Run waits for them before it returns.
  std::function<void()> on_stopped_leading{};
  // Once for each change of the leader that was seen, this replica included, in order; on a thread of its own. May be empty.
  std::function<void(const std::string& identity)> on_new_leader{};
};

// The lease could not be renewed in time, or another replica has it.
KUBE_EXPORT bool IsLeadershipLost(const Error& e);

namespace internal {
struct ElectionAccess;
class LeaseLock;
class ElectorImpl;
class CandidateImpl;
}  // namespace internal

// Example:
//   Result<LeaderElector> elector = LeaderElector::Create(client, {.name = "auto-expose"},
//       {.on_started_leading = [&](const Context& lead) { RunControllers(lead); }, .on_stopped_leading = [] {}});
//   if (!elector) return elector.error();
//   Result<void> ran = elector->Run(SignalContext());
//
// Thread safety: Run on one thread at a time; everything else from any thread.
// Lifetime: not to be moved or destroyed while Run runs.
// Blocking and cancellation: Run blocks until its context stops (then ok, after drain and release) or leadership is lost. The calls to the
//   server take at most max(1 s, renew_deadline / 2) each.
// Errors: of Create kInvalid, naming the field; of Run IsLeadershipLost, or kInvalid where it runs already. A callback that throws is
//   logged, and counts as returned.
// Cost: a connection of its own, with its own limits, so that a busy program does not lose its lease in a queue (a client with an injected
//   transport is used as it is); one request each retry_period; the threads `kube-leading` and `kube-new-leader` during Run.
class KUBE_EXPORT LeaderElector {
 public:
  static Result<LeaderElector> Create(const Client& client, LeaderElectionOptions options, LeaderCallbacks callbacks);

  LeaderElector(LeaderElector&&) noexcept;
  LeaderElector& operator=(LeaderElector&&) noexcept;
  ~LeaderElector();

  // May be called again after it returned: to stand by after a loss.
  Result<void> Run(const Context& ctx);

  // Whether this replica leads at this moment. False as soon as another one might.
  bool is_leader() const;
  // Who leads, as far as was seen; empty: nobody, or not known yet. To show to people.
  std::string leader() const;
  const std::string& identity() const;
  // For /healthz: fails where this replica believes that it leads, and the last renewal is longer ago than lease_duration + `tolerance`,
  // which means that something hangs and the process had better be restarted.
  Result<void> Check(std::chrono::nanoseconds tolerance = {}) const;

 private:
  friend struct internal::ElectionAccess;
  static Result<LeaderElector> Create(std::unique_ptr<internal::LeaseLock> lock, LeaderElectionOptions options, LeaderCallbacks callbacks);
  explicit LeaderElector(std::unique_ptr<internal::ElectorImpl> impl);
  std::unique_ptr<internal::ElectorImpl> impl_;
};

// Takes part in an election from Start to its destructor; a leadership that is lost is run for again.
//
// Thread safety: all functions from any thread.
// Lifetime: the destructor stops, gives the lease back and joins. Have it outlive what is done as the leader: then nobody else starts
//   before that is over.
// Blocking: Start does not wait for the server; the destructor waits at most renew_deadline for it.
// Errors: of Start those of LeaderElector::Create.
class KUBE_EXPORT LeaderCandidate {
 public:
  // Callbacks are optional here.
  static Result<LeaderCandidate> Start(const Client& client, LeaderElectionOptions options, LeaderCallbacks callbacks = {});

  LeaderCandidate(LeaderCandidate&&) noexcept;
  LeaderCandidate& operator=(LeaderCandidate&&) noexcept;
  ~LeaderCandidate();

  bool is_leader() const;
  std::string leader() const;
  const std::string& identity() const;
  Result<void> Check(std::chrono::nanoseconds tolerance = {}) const;

  // Waits until this replica leads. Returns a child of `ctx` that also stops when leadership ends and carries its WritePermit. Errors: the
  // context's.
  Result<Context> WaitForLeadership(const Context& ctx) const;

 private:
  friend struct internal::ElectionAccess;
  static Result<LeaderCandidate> Start(std::unique_ptr<internal::LeaseLock> lock, std::shared_ptr<Clock> clock,
                                       LeaderElectionOptions options, LeaderCallbacks callbacks);
  explicit LeaderCandidate(std::unique_ptr<internal::CandidateImpl> impl);
  std::unique_ptr<internal::CandidateImpl> impl_;
};

}  // namespace kube
