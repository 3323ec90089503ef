#include "apiserver/builtin/catalogue.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "kube/api/admissionregistration/v1.h"
#include "kube/api/admissionregistration/v1alpha1.h"
#include "kube/api/admissionregistration/v1beta1.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/api/apiregistration/v1.h"
#include "kube/api/apiserverinternal/v1alpha1.h"
#include "kube/api/apps/v1.h"
#include "kube/api/authentication/v1.h"
#include "kube/api/authorization/v1.h"
#include "kube/api/autoscaling/v1.h"
#include "kube/api/autoscaling/v2.h"
#include "kube/api/batch/v1.h"
#include "kube/api/certificates/v1.h"
#include "kube/api/certificates/v1alpha1.h"
#include "kube/api/certificates/v1beta1.h"
#include "kube/api/coordination/v1.h"
#include "kube/api/coordination/v1alpha2.h"
#include "kube/api/coordination/v1beta1.h"
#include "kube/api/core/v1.h"
#include "kube/api/discovery/v1.h"
#include "kube/api/events/v1.h"
#include "kube/api/flowcontrol/v1.h"
#include "kube/api/networking/v1.h"
#include "kube/api/networking/v1beta1.h"
#include "kube/api/node/v1.h"
#include "kube/api/policy/v1.h"
#include "kube/api/rbac/v1.h"
#include "kube/api/resource/v1.h"
#include "kube/api/resource/v1alpha3.h"
#include "kube/api/resource/v1beta1.h"
#include "kube/api/resource/v1beta2.h"
#include "kube/api/scheduling/v1.h"
#include "kube/api/storage/v1.h"
#include "kube/api/storage/v1beta1.h"
#include "kube/api/storagemigration/v1beta1.h"

namespace kube::apiserver {
namespace {

using Words = std::vector<std::string_view>;

// What a row says besides the table of its kind.
struct RowOptions {
  bool enabled = true;
  bool persisted = true;
  bool generation = false;
  Words short_names = {};
  Words categories = {};
  Words verbs = {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"};
  std::vector<BuiltinSubresource> subresources = {};
};

template <typename T>
BuiltinSubresource Sub(std::string_view name, bool of_other_group, Words verbs) {
  const KindInfo& kind = *T::kType.kind;
  return {name, of_other_group ? kind.group : "", of_other_group ? kind.version : "", kind.kind, &T::kType, std::move(verbs)};
}
template <typename T>
BuiltinSubresource Status() {
  return Sub<T>("status", false, {"get", "patch", "update"});
}
BuiltinSubresource Scale() { return Sub<autoscaling::v1::Scale>("scale", true, {"get", "patch", "update"}); }

template <typename T>
BuiltinResource Row(RowOptions o) {
  const KindInfo& kind = *T::kType.kind;
  BuiltinResource r;
  r.group = kind.group;
  r.version = kind.version;
  r.resource = kind.resource;
  r.kind = kind.kind;
  r.singular = std::string(kind.kind);
  for (char& c : r.singular) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  r.type = &T::kType;
  r.namespaced = kind.namespaced;
  r.enabled_by_default = o.enabled;
  r.persisted = o.persisted;
  r.has_generation = o.generation;
  r.short_names = std::move(o.short_names);
  r.categories = std::move(o.categories);
  r.verbs = std::move(o.verbs);
  r.subresources = std::move(o.subresources);
  r.stored_type = &T::kType;
  if (o.persisted) {
    r.storage_group = kind.group;
    r.storage_version = kind.version;
  }
  return r;
}

using Rows = std::vector<BuiltinResource>;

void AddCore(Rows& rows) {
  auto add = [&rows](BuiltinResource r) { rows.push_back(std::move(r)); };
  add(Row<core::v1::Binding>({.persisted = false, .verbs = {"create"}}));
  add(Row<core::v1::ComponentStatus>({.persisted = false, .short_names = {"cs"}, .verbs = {"get", "list"}}));
  add(Row<core::v1::ConfigMap>({.short_names = {"cm"}}));
  add(Row<core::v1::Endpoints>({.short_names = {"ep"}}));
  add(Row<core::v1::Event>({.short_names = {"ev"}}));
  add(Row<core::v1::LimitRange>({.short_names = {"limits"}}));
  add(Row<core::v1::Namespace>({.short_names = {"ns"},
                                .verbs = {"create", "delete", "get", "list", "patch", "update", "watch"},
                                .subresources = {Sub<core::v1::Namespace>("finalize", false, {"update"}), Status<core::v1::Namespace>()}}));
  add(Row<core::v1::Node>({.short_names = {"no"},
                           .subresources = {Sub<core::v1::NodeProxyOptions>("proxy", false, {"create", "delete", "get", "patch", "update"}),
                                            Status<core::v1::Node>()}}));
  add(Row<core::v1::PersistentVolumeClaim>({.short_names = {"pvc"}, .subresources = {Status<core::v1::PersistentVolumeClaim>()}}));
  add(Row<core::v1::PersistentVolume>({.short_names = {"pv"}, .subresources = {Status<core::v1::PersistentVolume>()}}));
  add(Row<core::v1::Pod>(
      {.generation = true,
       .short_names = {"po"},
       .categories = {"all"},
       .subresources = {
           Sub<core::v1::PodAttachOptions>("attach", false, {"create", "get"}), Sub<core::v1::Binding>("binding", false, {"create"}),
           Sub<core::v1::Pod>("ephemeralcontainers", false, {"get", "patch", "update"}),
           Sub<policy::v1::Eviction>("eviction", true, {"create"}), Sub<core::v1::PodExecOptions>("exec", false, {"create", "get"}),
           Sub<core::v1::Pod>("log", false, {"get"}), Sub<core::v1::PodPortForwardOptions>("portforward", false, {"create", "get"}),
           Sub<core::v1::PodProxyOptions>("proxy", false, {"create", "delete", "get", "patch", "update"}),
           Sub<core::v1::Pod>("resize", false, {"get", "patch", "update"}), Status<core::v1::Pod>()}}));
  add(Row<core::v1::PodTemplate>({.generation = true}));
  add(Row<core::v1::ReplicationController>({.generation = true,
                                            .short_names = {"rc"},
                                            .categories = {"all"},
                                            .subresources = {Scale(), Status<core::v1::ReplicationController>()}}));
  add(Row<core::v1::ResourceQuota>({.short_names = {"quota"}, .subresources = {Status<core::v1::ResourceQuota>()}}));
  add(Row<core::v1::Secret>({}));
  add(Row<core::v1::ServiceAccount>(
      {.short_names = {"sa"}, .subresources = {Sub<authentication::v1::TokenRequest>("token", true, {"create"})}}));
  add(Row<core::v1::Service>(
      {.short_names = {"svc"},
       .categories = {"all"},
       .subresources = {Sub<core::v1::ServiceProxyOptions>("proxy", false, {"create", "delete", "get", "patch", "update"}),
                        Status<core::v1::Service>()}}));
}

void AddFirstGroups(Rows& rows) {
  auto add = [&rows](BuiltinResource r) { rows.push_back(std::move(r)); };
  add(Row<apiregistration::v1::APIService>(
      {.categories = {"api-extensions"}, .subresources = {Status<apiregistration::v1::APIService>()}}));
  add(Row<apps::v1::ControllerRevision>({}));
  add(Row<apps::v1::DaemonSet>(
      {.generation = true, .short_names = {"ds"}, .categories = {"all"}, .subresources = {Status<apps::v1::DaemonSet>()}}));
  add(Row<apps::v1::Deployment>(
      {.generation = true, .short_names = {"deploy"}, .categories = {"all"}, .subresources = {Scale(), Status<apps::v1::Deployment>()}}));
  add(Row<apps::v1::ReplicaSet>(
      {.generation = true, .short_names = {"rs"}, .categories = {"all"}, .subresources = {Scale(), Status<apps::v1::ReplicaSet>()}}));
  add(Row<apps::v1::StatefulSet>(
      {.generation = true, .short_names = {"sts"}, .categories = {"all"}, .subresources = {Scale(), Status<apps::v1::StatefulSet>()}}));
  add(Row<events::v1::Event>({.short_names = {"ev"}}));
  add(Row<authentication::v1::SelfSubjectReview>({.persisted = false, .verbs = {"create"}}));
  add(Row<authentication::v1::TokenReview>({.persisted = false, .verbs = {"create"}}));
  add(Row<authorization::v1::LocalSubjectAccessReview>({.persisted = false, .verbs = {"create"}}));
  add(Row<authorization::v1::SelfSubjectAccessReview>({.persisted = false, .verbs = {"create"}}));
  add(Row<authorization::v1::SelfSubjectRulesReview>({.persisted = false, .verbs = {"create"}}));
  add(Row<authorization::v1::SubjectAccessReview>({.persisted = false, .verbs = {"create"}}));
  add(Row<autoscaling::v2::HorizontalPodAutoscaler>(
      {.short_names = {"hpa"}, .categories = {"all"}, .subresources = {Status<autoscaling::v2::HorizontalPodAutoscaler>()}}));
  add(Row<autoscaling::v1::HorizontalPodAutoscaler>(
      {.short_names = {"hpa"}, .categories = {"all"}, .subresources = {Status<autoscaling::v1::HorizontalPodAutoscaler>()}}));
  add(Row<batch::v1::CronJob>(
      {.generation = true, .short_names = {"cj"}, .categories = {"all"}, .subresources = {Status<batch::v1::CronJob>()}}));
  add(Row<batch::v1::Job>({.generation = true, .categories = {"all"}, .subresources = {Status<batch::v1::Job>()}}));
  add(Row<certificates::v1::CertificateSigningRequest>(
      {.short_names = {"csr"},
       .subresources = {Sub<certificates::v1::CertificateSigningRequest>("approval", false, {"get", "patch", "update"}),
                        Status<certificates::v1::CertificateSigningRequest>()}}));
  add(Row<certificates::v1beta1::ClusterTrustBundle>({.enabled = false}));
  add(Row<certificates::v1beta1::PodCertificateRequest>(
      {.enabled = false, .subresources = {Status<certificates::v1beta1::PodCertificateRequest>()}}));
  add(Row<certificates::v1alpha1::ClusterTrustBundle>({.enabled = false}));
}

void AddOtherGroups(Rows& rows) {
  auto add = [&rows](BuiltinResource r) { rows.push_back(std::move(r)); };
  add(Row<networking::v1::IngressClass>({.generation = true}));
  add(Row<networking::v1::Ingress>({.generation = true, .short_names = {"ing"}, .subresources = {Status<networking::v1::Ingress>()}}));
  add(Row<networking::v1::IPAddress>({.short_names = {"ip"}}));
  add(Row<networking::v1::NetworkPolicy>({.generation = true, .short_names = {"netpol"}}));
  add(Row<networking::v1::ServiceCIDR>({.subresources = {Status<networking::v1::ServiceCIDR>()}}));
  add(Row<networking::v1beta1::IPAddress>({.enabled = false, .short_names = {"ip"}}));
  add(Row<networking::v1beta1::ServiceCIDR>({.enabled = false, .subresources = {Status<networking::v1beta1::ServiceCIDR>()}}));
  add(Row<policy::v1::PodDisruptionBudget>(
      {.generation = true, .short_names = {"pdb"}, .subresources = {Status<policy::v1::PodDisruptionBudget>()}}));
  add(Row<rbac::v1::ClusterRoleBinding>({}));
  add(Row<rbac::v1::ClusterRole>({}));
  add(Row<rbac::v1::RoleBinding>({}));
  add(Row<rbac::v1::Role>({}));
  add(Row<storage::v1::CSIDriver>({.generation = true}));
  add(Row<storage::v1::CSINode>({}));
  add(Row<storage::v1::CSIStorageCapacity>({}));
  add(Row<storage::v1::StorageClass>({.short_names = {"sc"}}));
  add(Row<storage::v1::VolumeAttachment>({.subresources = {Status<storage::v1::VolumeAttachment>()}}));
  add(Row<storage::v1::VolumeAttributesClass>({.short_names = {"vac"}}));
  add(Row<storage::v1beta1::VolumeAttributesClass>({.enabled = false, .short_names = {"vac"}}));
  add(Row<admissionregistration::v1::MutatingAdmissionPolicy>({.generation = true, .categories = {"api-extensions"}}));
  add(Row<admissionregistration::v1::MutatingAdmissionPolicyBinding>({.generation = true, .categories = {"api-extensions"}}));
  add(Row<admissionregistration::v1::MutatingWebhookConfiguration>({.generation = true, .categories = {"api-extensions"}}));
  add(Row<admissionregistration::v1::ValidatingAdmissionPolicy>(
      {.generation = true,
       .categories = {"api-extensions"},
       .subresources = {Status<admissionregistration::v1::ValidatingAdmissionPolicy>()}}));
  add(Row<admissionregistration::v1::ValidatingAdmissionPolicyBinding>({.generation = true, .categories = {"api-extensions"}}));
  add(Row<admissionregistration::v1::ValidatingWebhookConfiguration>({.generation = true, .categories = {"api-extensions"}}));
  add(Row<admissionregistration::v1beta1::MutatingAdmissionPolicy>(
      {.enabled = false, .generation = true, .categories = {"api-extensions"}}));
  add(Row<admissionregistration::v1beta1::MutatingAdmissionPolicyBinding>(
      {.enabled = false, .generation = true, .categories = {"api-extensions"}}));
  add(Row<admissionregistration::v1alpha1::MutatingAdmissionPolicy>(
      {.enabled = false, .generation = true, .categories = {"api-extensions"}}));
  add(Row<admissionregistration::v1alpha1::MutatingAdmissionPolicyBinding>(
      {.enabled = false, .generation = true, .categories = {"api-extensions"}}));
  add(Row<apiextensions::v1::CustomResourceDefinition>({.generation = true,
                                                        .short_names = {"crd", "crds"},
                                                        .categories = {"api-extensions"},
                                                        .subresources = {Status<apiextensions::v1::CustomResourceDefinition>()}}));
  add(Row<scheduling::v1::PriorityClass>({.generation = true, .short_names = {"pc"}}));
  add(Row<coordination::v1::Lease>({}));
  add(Row<coordination::v1beta1::LeaseCandidate>({.enabled = false}));
  add(Row<coordination::v1alpha2::LeaseCandidate>({.enabled = false}));
  add(Row<node::v1::RuntimeClass>({}));
  add(Row<discovery::v1::EndpointSlice>({.generation = true}));
  add(Row<resource::v1::DeviceClass>({.generation = true}));
  add(Row<resource::v1::ResourceClaim>({.subresources = {Status<resource::v1::ResourceClaim>()}}));
  add(Row<resource::v1::ResourceClaimTemplate>({}));
  add(Row<resource::v1::ResourceSlice>({.generation = true}));
  add(Row<resource::v1beta2::DeviceClass>({.enabled = false, .generation = true}));
  add(Row<resource::v1beta2::DeviceTaintRule>(
      {.enabled = false, .generation = true, .subresources = {Status<resource::v1beta2::DeviceTaintRule>()}}));
  add(Row<resource::v1beta2::ResourceClaim>({.enabled = false, .subresources = {Status<resource::v1beta2::ResourceClaim>()}}));
  add(Row<resource::v1beta2::ResourceClaimTemplate>({.enabled = false}));
  add(Row<resource::v1beta2::ResourceSlice>({.enabled = false, .generation = true}));
  add(Row<resource::v1beta1::DeviceClass>({.enabled = false, .generation = true}));
  add(Row<resource::v1beta1::ResourceClaim>({.enabled = false, .subresources = {Status<resource::v1beta1::ResourceClaim>()}}));
  add(Row<resource::v1beta1::ResourceClaimTemplate>({.enabled = false}));
  add(Row<resource::v1beta1::ResourceSlice>({.enabled = false, .generation = true}));
  add(Row<resource::v1alpha3::DeviceTaintRule>(
      {.enabled = false, .generation = true, .subresources = {Status<resource::v1alpha3::DeviceTaintRule>()}}));
  add(Row<resource::v1alpha3::ResourcePoolStatusRequest>(
      {.enabled = false, .subresources = {Status<resource::v1alpha3::ResourcePoolStatusRequest>()}}));
  add(Row<flowcontrol::v1::FlowSchema>({.generation = true, .subresources = {Status<flowcontrol::v1::FlowSchema>()}}));
  add(Row<flowcontrol::v1::PriorityLevelConfiguration>(
      {.generation = true, .subresources = {Status<flowcontrol::v1::PriorityLevelConfiguration>()}}));
  add(Row<apiserverinternal::v1alpha1::StorageVersion>(
      {.enabled = false, .subresources = {Status<apiserverinternal::v1alpha1::StorageVersion>()}}));
  add(Row<storagemigration::v1beta1::StorageVersionMigration>(
      {.enabled = false, .subresources = {Status<storagemigration::v1beta1::StorageVersionMigration>()}}));
}

// Resources that a PUT may create.
constexpr std::string_view kCreateOnUpdate[] = {"clusterrolebindings", "clusterroles", "endpoints", "events",       "leases",
                                                "leasecandidates",     "limitranges",  "roles",     "rolebindings", "services",
                                                "runtimeclasses"};
// Resources whose PUT must name the resourceVersion that it replaces.
constexpr std::string_view kVersionRequired[] = {"apiservices",
                                                 "clustertrustbundles",
                                                 "csidrivers",
                                                 "csinodes",
                                                 "csistoragecapacities",
                                                 "customresourcedefinitions",
                                                 "leasecandidates",
                                                 "leases",
                                                 "mutatingadmissionpolicies",
                                                 "mutatingadmissionpolicybindings",
                                                 "mutatingwebhookconfigurations",
                                                 "podcertificaterequests",
                                                 "poddisruptionbudgets",
                                                 "resourcepoolstatusrequests",
                                                 "runtimeclasses",
                                                 "storageversionmigrations",
                                                 "storageversions",
                                                 "validatingadmissionpolicies",
                                                 "validatingadmissionpolicybindings",
                                                 "validatingwebhookconfigurations",
                                                 "volumeattachments"};

template <std::size_t N>
bool Contains(const std::string_view (&words)[N], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

Rows MakeCatalogue() {
  Rows rows;
  AddCore(rows);
  AddFirstGroups(rows);
  AddOtherGroups(rows);
  for (BuiltinResource& r : rows) {
    r.create_on_update = Contains(kCreateOnUpdate, r.resource);
    r.unconditional_update = !Contains(kVersionRequired, r.resource);
    // One resource in several shapes: the one that is stored.
    if (r.group == "events.k8s.io") {
      r.stored_type = &core::v1::Event::kType;
      r.storage_group = "";
      r.storage_version = "v1";
    } else if (r.group == "autoscaling") {
      r.stored_type = &autoscaling::v2::HorizontalPodAutoscaler::kType;
      r.storage_version = "v2";
    } else if (r.resource == "customresourcedefinitions" || r.resource == "mutatingadmissionpolicies" ||
               r.resource == "mutatingadmissionpolicybindings") {
      // What a real server of this release still writes; the objects look the same in both versions.
      r.storage_version = "v1beta1";
    }
  }
  return rows;
}

std::vector<BuiltinGroup> MakeGroups() {
  return {
      {"", 18000, {{"v1", 1, true}}},
      {"apiregistration.k8s.io", 20000, {{"v1", 18, true}}},
      {"apps", 17800, {{"v1", 15, true}}},
      {"events.k8s.io", 17750, {{"v1", 15, true}}},
      {"authentication.k8s.io", 17700, {{"v1", 15, true}}},
      {"authorization.k8s.io", 17600, {{"v1", 15, true}}},
      {"autoscaling", 17500, {{"v2", 30, true}, {"v1", 15, true}}},
      {"batch", 17400, {{"v1", 15, true}}},
      {"certificates.k8s.io", 17300, {{"v1", 15, true}, {"v1beta1", 9, false}, {"v1alpha1", 1, false}}},
      {"networking.k8s.io", 17200, {{"v1", 15, true}, {"v1beta1", 9, false}}},
      {"policy", 17100, {{"v1", 15, true}}},
      {"rbac.authorization.k8s.io", 17000, {{"v1", 15, true}}},
      {"storage.k8s.io", 16800, {{"v1", 15, true}, {"v1beta1", 9, false}}},
      {"admissionregistration.k8s.io", 16700, {{"v1", 15, true}, {"v1beta1", 12, false}, {"v1alpha1", 9, false}}},
      {"apiextensions.k8s.io", 16700, {{"v1", 15, true}}},
      {"scheduling.k8s.io", 16600, {{"v1", 15, true}}},
      {"coordination.k8s.io", 16500, {{"v1", 15, true}, {"v1beta1", 13, false}, {"v1alpha2", 12, false}}},
      {"node.k8s.io", 16300, {{"v1", 15, true}}},
      {"discovery.k8s.io", 16200, {{"v1", 15, true}}},
      {"resource.k8s.io", 16200, {{"v1", 21, true}, {"v1beta2", 15, false}, {"v1beta1", 9, false}, {"v1alpha3", 1, false}}},
      {"flowcontrol.apiserver.k8s.io", 16100, {{"v1", 21, true}}},
      {"internal.apiserver.k8s.io", 16000, {{"v1alpha1", 9, false}}},
      {"storagemigration.k8s.io", 15800, {{"v1beta1", 9, false}}},
  };
}

}  // namespace

const BuiltinSubresource* BuiltinResource::Subresource(std::string_view name) const {
  auto found = std::find_if(subresources.begin(), subresources.end(), [&](const BuiltinSubresource& s) { return s.name == name; });
  return found == subresources.end() ? nullptr : &*found;
}

bool BuiltinResource::HasVerb(std::string_view verb) const { return std::find(verbs.begin(), verbs.end(), verb) != verbs.end(); }

std::string BuiltinResource::api_version() const {
  return group.empty() ? std::string(version) : std::string(group) + "/" + std::string(version);
}

std::span<const BuiltinResource> Catalogue() {
  static const Rows* const rows = new Rows(MakeCatalogue());  // lives as long as the process
  return *rows;
}

namespace {

using Key = std::tuple<std::string_view, std::string_view, std::string_view>;

struct Index {
  std::map<Key, const BuiltinResource*> by_resource;
  std::map<Key, const BuiltinResource*> by_kind;
};

const Index& TheIndex() {
  static const Index* const index = [] {
    auto* made = new Index;
    for (const BuiltinResource& r : Catalogue()) {
      made->by_resource[{r.group, r.version, r.resource}] = &r;
      made->by_kind[{r.group, r.version, r.kind}] = &r;
    }
    return made;
  }();
  return *index;
}

const BuiltinResource* Lookup(const std::map<Key, const BuiltinResource*>& index, const Key& key) {
  auto found = index.find(key);
  return found == index.end() ? nullptr : found->second;
}

}  // namespace

const BuiltinResource* FindBuiltin(std::string_view group, std::string_view version, std::string_view resource) {
  return Lookup(TheIndex().by_resource, {group, version, resource});
}

const BuiltinResource* FindBuiltinKind(std::string_view group, std::string_view version, std::string_view kind) {
  return Lookup(TheIndex().by_kind, {group, version, kind});
}

const BuiltinResource* FindBuiltin(const TypeInfo& type) {
  if (type.kind == nullptr) return nullptr;
  return FindBuiltinKind(type.kind->group, type.kind->version, type.kind->kind);
}

std::span<const BuiltinGroup> BuiltinGroups() {
  static const auto* const groups = new std::vector<BuiltinGroup>(MakeGroups());
  return *groups;
}

}  // namespace kube::apiserver
