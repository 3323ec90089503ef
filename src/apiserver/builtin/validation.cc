#include "apiserver/builtin/validation.h"

#include <unordered_map>

#include "apiserver/builtin/validation_kinds.h"
#include "kube/api/admissionregistration/v1.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/api/apps/v1.h"
#include "kube/api/autoscaling/v1.h"
#include "kube/api/autoscaling/v2.h"
#include "kube/api/batch/v1.h"
#include "kube/api/coordination/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/discovery/v1.h"
#include "kube/api/events/v1.h"
#include "kube/api/networking/v1.h"
#include "kube/api/policy/v1.h"
#include "kube/api/rbac/v1.h"
#include "kube/api/scheduling/v1.h"
#include "kube/api/storage/v1.h"

namespace kube::apiserver {
namespace {

using builtin::Errors;
using ValidateFn = void (*)(const void* object, const void* old, Errors& errors);
using Table = std::unordered_map<const TypeInfo*, ValidateFn>;

template <typename... T>
void AddKinds(Table& table) {
  ((table[&T::kType] = [](const void* object, const void* old,
                          Errors& errors) { builtin::ValidateKind(*static_cast<const T*>(object), static_cast<const T*>(old), errors); }),
   ...);
}

const Table& TheTable() {
  static const Table* const table = [] {
    auto* t = new Table;
    AddKinds<admissionregistration::v1::MutatingWebhookConfiguration, admissionregistration::v1::ValidatingWebhookConfiguration>(*t);
    AddKinds<core::v1::ConfigMap, core::v1::Event, core::v1::Namespace, core::v1::Node, core::v1::PersistentVolume,
             core::v1::PersistentVolumeClaim, core::v1::Pod, core::v1::PodTemplate, core::v1::ReplicationController, core::v1::Secret,
             core::v1::Service>(*t);
    AddKinds<apiextensions::v1::CustomResourceDefinition>(*t);
    AddKinds<apps::v1::ControllerRevision, apps::v1::DaemonSet, apps::v1::Deployment, apps::v1::ReplicaSet, apps::v1::StatefulSet>(*t);
    AddKinds<autoscaling::v1::HorizontalPodAutoscaler>(*t);
    AddKinds<autoscaling::v2::HorizontalPodAutoscaler>(*t);
    AddKinds<batch::v1::CronJob, batch::v1::Job>(*t);
    AddKinds<coordination::v1::Lease>(*t);
    AddKinds<discovery::v1::EndpointSlice>(*t);
    AddKinds<events::v1::Event>(*t);
    AddKinds<networking::v1::Ingress, networking::v1::IngressClass, networking::v1::NetworkPolicy>(*t);
    AddKinds<policy::v1::PodDisruptionBudget>(*t);
    AddKinds<rbac::v1::ClusterRole, rbac::v1::ClusterRoleBinding, rbac::v1::Role, rbac::v1::RoleBinding>(*t);
    AddKinds<scheduling::v1::PriorityClass>(*t);
    AddKinds<storage::v1::StorageClass>(*t);
    return t;
  }();
  return *table;
}

}  // namespace

std::vector<FieldError> Validate(const TypeInfo& type, const void* object, const void* old) {
  Errors errors;
  auto found = TheTable().find(&type);
  if (found != TheTable().end()) found->second(object, old, errors);
  return errors;
}

namespace {

void ValidateDeploymentStatus(const apps::v1::DeploymentStatus& status, Errors& errors) {
  const std::pair<const char*, std::int64_t> counts[] = {
      {"observedGeneration", status.observed_generation}, {"replicas", status.replicas},
      {"updatedReplicas", status.updated_replicas},       {"readyReplicas", status.ready_replicas},
      {"availableReplicas", status.available_replicas},   {"unavailableReplicas", status.unavailable_replicas}};
  for (const auto& [name, count] : counts) {
    if (count < 0) errors.push_back(InvalidValue(std::string("status.") + name, count, "must be greater than or equal to 0"));
  }
  for (const auto& [name, count] : {counts[2], counts[3], counts[4]}) {
    if (count > status.replicas)
      errors.push_back(InvalidValue(std::string("status.") + name, count, "cannot be greater than status.replicas"));
  }
  if (status.available_replicas > status.ready_replicas) {
    errors.push_back(
        InvalidValue("status.availableReplicas", std::int64_t{status.available_replicas}, "cannot be greater than readyReplicas"));
  }
}

}  // namespace

std::vector<FieldError> ValidateSubresource(const TypeInfo& type, std::string_view subresource, const void* object, const void* old) {
  Errors errors;
  if (&type == &core::v1::Namespace::kType && subresource == "finalize") {
    builtin::ValidateKind(*static_cast<const core::v1::Namespace*>(object), nullptr, errors);
  } else if (&type == &core::v1::Namespace::kType && subresource == "status") {
    const auto& ns = *static_cast<const core::v1::Namespace*>(object);
    bool deleted = !ns.metadata.deletion_timestamp.IsZero();
    if (ns.status.phase != (deleted ? "Terminating" : "Active")) {
      errors.push_back(InvalidValue("status.Phase", ns.status.phase,
                                    deleted ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
                                            : "may only be 'Active' if `deletionTimestamp` is empty"));
    }
  } else if (&type == &core::v1::Pod::kType) {
    const auto& pod = *static_cast<const core::v1::Pod*>(object);
    const auto& before = *static_cast<const core::v1::Pod*>(old);
    if (subresource == "status") builtin::ValidatePodStatus(pod, before, errors);
    if (subresource == "ephemeralcontainers") builtin::ValidateEphemeralContainers(pod, before, errors);
  } else if (&type == &apps::v1::Deployment::kType && subresource == "status") {
    ValidateDeploymentStatus(static_cast<const apps::v1::Deployment*>(object)->status, errors);
  }
  return errors;
}

}  // namespace kube::apiserver
