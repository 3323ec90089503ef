#include "control/election/lease_lock.h"

#include <utility>

namespace kube::internal {

using coordination::v1::Lease;

LeaderRecord FromLeaseSpec(const coordination::v1::LeaseSpec& spec) {
  LeaderRecord record;
  if (spec.holder_identity) record.holder = spec.holder_identity->str();
  record.lease_duration_seconds = spec.lease_duration_seconds.value_or(0);
  record.acquire_time = spec.acquire_time;
  record.renew_time = spec.renew_time;
  record.transitions = spec.lease_transitions.value_or(0);
  return record;
}

void ToLeaseSpec(const LeaderRecord& record, coordination::v1::LeaseSpec& spec) {
  spec.holder_identity = String(record.holder);
  spec.lease_duration_seconds = record.lease_duration_seconds;
  spec.acquire_time = record.acquire_time;
  spec.renew_time = record.renew_time;
  spec.lease_transitions = record.transitions;
}

void ResourceLeaseLock::SetLabels(meta::v1::ObjectMeta& metadata) const {
  for (const auto& [label, value] : labels_) metadata.labels[label] = String(value);
}

Result<LeaderRecord> ResourceLeaseLock::Get(const Context& ctx) {
  Result<Lease> lease = client_.Get<Lease>(ctx, key_);
  if (!lease) return lease.error();
  lease_ = *std::move(lease);
  return FromLeaseSpec(lease_->spec);
}

Result<void> ResourceLeaseLock::Create(const Context& ctx, const LeaderRecord& record) {
  Lease lease;
  lease.metadata.name = key_.name;
  lease.metadata.namespace_ = key_.ns;
  SetLabels(lease.metadata);
  ToLeaseSpec(record, lease.spec);
  Result<Lease> created = client_.Create(ctx, lease);
  if (!created) return created.error();
  lease_ = *std::move(created);
  return {};
}

Result<void> ResourceLeaseLock::Update(const Context& ctx, const LeaderRecord& record) {
  if (!lease_) return Error::Invalid("lease " + Describe() + " was not read yet: Get or Create come before Update");
  Lease lease = *lease_;
  SetLabels(lease.metadata);
  ToLeaseSpec(record, lease.spec);
  Result<Lease> updated = client_.Update(ctx, lease);
  if (!updated) return updated.error();
  lease_ = *std::move(updated);
  return {};
}

void ResourceLeaseLock::RecordEvent(std::string_view action, const std::string& note) {
  EventObject object{.api_version = "coordination.k8s.io/v1", .kind = "Lease", .ns = key_.ns, .name = key_.name};
  if (lease_) {
    object.uid = lease_->metadata.uid;
    object.resource_version = lease_->metadata.resource_version;
  }
  events_.Event(object, EventType::kNormal, "LeaderElection", action, note);
}

}  // namespace kube::internal
