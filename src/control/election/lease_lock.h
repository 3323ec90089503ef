// LeaseLock: the leader election record, and where it is stored.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kube/api/coordination/v1.h"
#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/client/client.h"
#include "kube/control/event_recorder.h"
#include "kube/control/leader_election.h"
#include "kube/value/time.h"

namespace kube::internal {

struct LeaderRecord {
  std::string holder{};
  std::int32_t lease_duration_seconds = 0;
  MicroTime acquire_time{};
  MicroTime renew_time{};
  std::int32_t transitions = 0;

  friend bool operator==(const LeaderRecord&, const LeaderRecord&) = default;
};
LeaderRecord FromLeaseSpec(const coordination::v1::LeaseSpec& spec);
// Changes nothing else of the spec.
void ToLeaseSpec(const LeaderRecord& record, coordination::v1::LeaseSpec& spec);

// Thread safety: one thread at a time. Errors: as the client's; IsNotFound if there is no record yet.
class LeaseLock {
 public:
  LeaseLock() = default;
  LeaseLock(const LeaseLock&) = delete;
  LeaseLock& operator=(const LeaseLock&) = delete;
  virtual ~LeaseLock() = default;
  virtual Result<LeaderRecord> Get(const Context& ctx) = 0;
  virtual Result<void> Create(const Context& ctx, const LeaderRecord& record) = 0;
  // Fails with IsConflict if the record is not the one that the last call saw, and with kInvalid if no call has seen one.
  virtual Result<void> Update(const Context& ctx, const LeaderRecord& record) = 0;
  virtual void RecordEvent(std::string_view action, const std::string& note) = 0;
  virtual std::string Describe() const = 0;  // "default/web"
};

// Stores the record in a Lease.
class ResourceLeaseLock final : public LeaseLock {
 public:
  ResourceLeaseLock(Client client, ObjectKey key, std::map<std::string, std::string> labels, EventRecorder events)
      : client_(std::move(client)), key_(std::move(key)), labels_(std::move(labels)), events_(std::move(events)) {}
  Result<LeaderRecord> Get(const Context& ctx) override;
  Result<void> Create(const Context& ctx, const LeaderRecord& record) override;
  Result<void> Update(const Context& ctx, const LeaderRecord& record) override;
  void RecordEvent(std::string_view action, const std::string& note) override;
  std::string Describe() const override { return key_.ToString(); }

 private:
  void SetLabels(meta::v1::ObjectMeta& metadata) const;

  const Client client_;
  const ObjectKey key_;
  const std::map<std::string, std::string> labels_;
  const EventRecorder events_;
  std::optional<coordination::v1::Lease> lease_;  // as it was last seen
};

// For tests: any lock instead of a Lease.
struct ElectionAccess {
  static Result<LeaderElector> Create(std::unique_ptr<LeaseLock> lock, LeaderElectionOptions options, LeaderCallbacks callbacks) {
    return LeaderElector::Create(std::move(lock), std::move(options), std::move(callbacks));
  }
  static Result<LeaderCandidate> Start(std::unique_ptr<LeaseLock> lock, std::shared_ptr<Clock> clock, LeaderElectionOptions options,
                                       LeaderCallbacks callbacks = {}) {
    return LeaderCandidate::Start(std::move(lock), std::move(clock), std::move(options), std::move(callbacks));
  }
};

}  // namespace kube::internal
