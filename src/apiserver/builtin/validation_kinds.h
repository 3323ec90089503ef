// One function per kind; validation.h calls them. `old` is null on create. Private to builtin/validation*.cc.
#pragma once

#include "apiserver/builtin/validation_util.h"

namespace kube::admissionregistration::v1 {
struct MutatingWebhookConfiguration;
struct ValidatingWebhookConfiguration;
}  // namespace kube::admissionregistration::v1
namespace kube::core::v1 {
struct ConfigMap;
struct Event;
struct Namespace;
struct Node;
struct PersistentVolume;
struct PersistentVolumeClaim;
struct Pod;
struct PodTemplate;
struct ReplicationController;
struct Secret;
struct Service;
}  // namespace kube::core::v1
namespace kube::apiextensions::v1 {
struct CustomResourceDefinition;
}  // namespace kube::apiextensions::v1
namespace kube::apps::v1 {
struct ControllerRevision;
struct DaemonSet;
struct Deployment;
struct ReplicaSet;
struct StatefulSet;
}  // namespace kube::apps::v1
namespace kube::autoscaling::v1 {
struct HorizontalPodAutoscaler;
}  // namespace kube::autoscaling::v1
namespace kube::autoscaling::v2 {
struct HorizontalPodAutoscaler;
}  // namespace kube::autoscaling::v2
namespace kube::batch::v1 {
struct CronJob;
struct Job;
}  // namespace kube::batch::v1
namespace kube::coordination::v1 {
struct Lease;
}  // namespace kube::coordination::v1
namespace kube::discovery::v1 {
struct EndpointSlice;
}  // namespace kube::discovery::v1
namespace kube::events::v1 {
struct Event;
}  // namespace kube::events::v1
namespace kube::networking::v1 {
struct Ingress;
struct IngressClass;
struct NetworkPolicy;
}  // namespace kube::networking::v1
namespace kube::policy::v1 {
struct PodDisruptionBudget;
}  // namespace kube::policy::v1
namespace kube::rbac::v1 {
struct ClusterRole;
struct ClusterRoleBinding;
struct Role;
struct RoleBinding;
}  // namespace kube::rbac::v1
namespace kube::scheduling::v1 {
struct PriorityClass;
}  // namespace kube::scheduling::v1
namespace kube::storage::v1 {
struct StorageClass;
}  // namespace kube::storage::v1

namespace kube::apiserver::builtin {

void ValidateKind(const admissionregistration::v1::MutatingWebhookConfiguration& object,
                  const admissionregistration::v1::MutatingWebhookConfiguration* old, Errors& errors);
void ValidateKind(const admissionregistration::v1::ValidatingWebhookConfiguration& object,
                  const admissionregistration::v1::ValidatingWebhookConfiguration* old, Errors& errors);
void ValidateKind(const core::v1::ConfigMap& object, const core::v1::ConfigMap* old, Errors& errors);
void ValidateKind(const core::v1::Event& object, const core::v1::Event* old, Errors& errors);
void ValidateKind(const core::v1::Namespace& object, const core::v1::Namespace* old, Errors& errors);
void ValidateKind(const core::v1::Node& object, const core::v1::Node* old, Errors& errors);
void ValidateKind(const core::v1::PersistentVolume& object, const core::v1::PersistentVolume* old, Errors& errors);
void ValidateKind(const core::v1::PersistentVolumeClaim& object, const core::v1::PersistentVolumeClaim* old, Errors& errors);
void ValidateKind(const core::v1::Pod& object, const core::v1::Pod* old, Errors& errors);
void ValidateKind(const core::v1::PodTemplate& object, const core::v1::PodTemplate* old, Errors& errors);
void ValidateKind(const core::v1::ReplicationController& object, const core::v1::ReplicationController* old, Errors& errors);
void ValidateKind(const core::v1::Secret& object, const core::v1::Secret* old, Errors& errors);
void ValidateKind(const core::v1::Service& object, const core::v1::Service* old, Errors& errors);
void ValidateKind(const apiextensions::v1::CustomResourceDefinition& object, const apiextensions::v1::CustomResourceDefinition* old,
                  Errors& errors);
void ValidateKind(const apps::v1::ControllerRevision& object, const apps::v1::ControllerRevision* old, Errors& errors);
void ValidateKind(const apps::v1::DaemonSet& object, const apps::v1::DaemonSet* old, Errors& errors);
void ValidateKind(const apps::v1::Deployment& object, const apps::v1::Deployment* old, Errors& errors);
void ValidateKind(const apps::v1::ReplicaSet& object, const apps::v1::ReplicaSet* old, Errors& errors);
void ValidateKind(const apps::v1::StatefulSet& object, const apps::v1::StatefulSet* old, Errors& errors);
void ValidateKind(const autoscaling::v1::HorizontalPodAutoscaler& object, const autoscaling::v1::HorizontalPodAutoscaler* old,
                  Errors& errors);
void ValidateKind(const autoscaling::v2::HorizontalPodAutoscaler& object, const autoscaling::v2::HorizontalPodAutoscaler* old,
                  Errors& errors);
void ValidateKind(const batch::v1::CronJob& object, const batch::v1::CronJob* old, Errors& errors);
void ValidateKind(const batch::v1::Job& object, const batch::v1::Job* old, Errors& errors);
void ValidateKind(const coordination::v1::Lease& object, const coordination::v1::Lease* old, Errors& errors);
void ValidateKind(const discovery::v1::EndpointSlice& object, const discovery::v1::EndpointSlice* old, Errors& errors);
void ValidateKind(const events::v1::Event& object, const events::v1::Event* old, Errors& errors);
void ValidateKind(const networking::v1::Ingress& object, const networking::v1::Ingress* old, Errors& errors);
void ValidateKind(const networking::v1::IngressClass& object, const networking::v1::IngressClass* old, Errors& errors);
void ValidateKind(const networking::v1::NetworkPolicy& object, const networking::v1::NetworkPolicy* old, Errors& errors);
void ValidateKind(const policy::v1::PodDisruptionBudget& object, const policy::v1::PodDisruptionBudget* old, Errors& errors);
void ValidateKind(const rbac::v1::ClusterRole& object, const rbac::v1::ClusterRole* old, Errors& errors);
void ValidateKind(const rbac::v1::ClusterRoleBinding& object, const rbac::v1::ClusterRoleBinding* old, Errors& errors);
void ValidateKind(const rbac::v1::Role& object, const rbac::v1::Role* old, Errors& errors);
void ValidateKind(const rbac::v1::RoleBinding& object, const rbac::v1::RoleBinding* old, Errors& errors);
void ValidateKind(const scheduling::v1::PriorityClass& object, const scheduling::v1::PriorityClass* old, Errors& errors);
void ValidateKind(const storage::v1::StorageClass& object, const storage::v1::StorageClass* old, Errors& errors);

// Subresources of pods.
void ValidatePodStatus(const core::v1::Pod& pod, const core::v1::Pod& old, Errors& errors);
void ValidateEphemeralContainers(const core::v1::Pod& pod, const core::v1::Pod& old, Errors& errors);

}  // namespace kube::apiserver::builtin
