#include "apiserver/builtin/strategy.h"

#include <charconv>
#include <cstring>
#include <string>

#include "apiserver/builtin/catalogue.h"
#include "apiserver/builtin/pod_helpers.h"
#include "apiserver/builtin/strategy_service.h"
#include "kube/api/admissionregistration/v1.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/api/apiregistration/v1.h"
#include "kube/api/apps/v1.h"
#include "kube/api/batch/v1.h"
#include "kube/api/certificates/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/discovery/v1.h"
#include "kube/api/flowcontrol/v1.h"
#include "kube/api/scheduling/v1.h"
#include "kube/meta/resource.h"
#include "kube/value/shared.h"

namespace kube::apiserver {
namespace {

using meta::v1::ObjectMeta;

// ---- Fields by name ----

// A struct field of the type, plain or optional; null if it has none of that name.
const FieldInfo* FindStruct(const TypeInfo& type, std::string_view name) {
  for (const FieldInfo& field : type) {
    bool is_struct = field.shape == FieldShape::kPlain || field.shape == FieldShape::kOptional;
    if (field.json_name == name && field.kind == FieldKind::kMessage && is_struct) return &field;
  }
  return nullptr;
}

const char* At(const void* object, const FieldInfo& field) { return static_cast<const char*>(object) + field.offset; }
char* At(void* object, const FieldInfo& field) { return static_cast<char*>(object) + field.offset; }

// An optional struct is a Box: one pointer to a shared block.
kube::internal::BoxRep* BoxAt(const void* object, const FieldInfo& field) {
  kube::internal::BoxRep* rep = nullptr;
  std::memcpy(&rep, At(object, field), sizeof rep);
  return rep;
}

void ClearField(const TypeInfo& type, std::string_view name, void* object) {
  const FieldInfo* field = FindStruct(type, name);
  if (field == nullptr) return;
  if (field->shape == FieldShape::kPlain) {
    kube::internal::DestroyObject(*field->type, At(object, *field));
    std::memset(At(object, *field), 0, field->type->size);
  } else if (kube::internal::BoxRep* rep = BoxAt(object, *field)) {
    std::memset(At(object, *field), 0, sizeof rep);
    kube::internal::ReleaseBox(rep, *field->type);
  }
}

void CopyField(const TypeInfo& type, std::string_view name, void* to, const void* from) {
  const FieldInfo* field = FindStruct(type, name);
  if (field == nullptr || to == from) return;
  ClearField(type, name, to);
  if (field->shape == FieldShape::kPlain) {
    kube::internal::CopyObject(*field->type, At(to, *field), At(from, *field));
  } else if (kube::internal::BoxRep* rep = BoxAt(from, *field)) {
    rep = kube::internal::ShareBox(rep, *field->type);
    std::memcpy(At(to, *field), &rep, sizeof rep);
  }
}

bool SameField(const TypeInfo& type, std::string_view name, const void* a, const void* b) {
  const FieldInfo* field = FindStruct(type, name);
  if (field == nullptr) return true;
  if (field->shape == FieldShape::kPlain) return EqualObjects(*field->type, At(a, *field), At(b, *field));
  kube::internal::BoxRep* left = BoxAt(a, *field);
  kube::internal::BoxRep* right = BoxAt(b, *field);
  return left == right || (left != nullptr && right != nullptr && EqualObjects(*field->type, left->data(), right->data()));
}

template <typename T>
T* As(const TypeInfo& type, void* object) {
  return &type == &T::kType ? static_cast<T*>(object) : nullptr;
}
template <typename T>
const T* As(const TypeInfo& type, const void* object) {
  return &type == &T::kType ? static_cast<const T*>(object) : nullptr;
}

bool HasStatusSubresource(const TypeInfo& type) {
  const BuiltinResource* r = FindBuiltin(type);
  return r != nullptr && r->HasSubresource("status");
}

// ---- Generation ----

constexpr const char* kTemplateGeneration = "deprecated.daemonset.template.generation";

// True if the client changed what the generation counts.
bool CountsAsChange(const TypeInfo& type, const void* object, const void* old) {
  if (auto* a = As<apps::v1::Deployment>(type, object)) {
    auto* b = static_cast<const apps::v1::Deployment*>(old);
    return !(a->spec == b->spec) || !(a->metadata.annotations == b->metadata.annotations);
  }
  if (auto* a = As<discovery::v1::EndpointSlice>(type, object)) {
    auto* b = static_cast<const discovery::v1::EndpointSlice*>(old);
    return !(a->endpoints == b->endpoints) || !(a->ports == b->ports) || !(a->address_type == b->address_type) ||
           !(a->metadata.labels == b->metadata.labels);
  }
  if (auto* a = As<admissionregistration::v1::MutatingWebhookConfiguration>(type, object)) {
    return !(a->webhooks == static_cast<const admissionregistration::v1::MutatingWebhookConfiguration*>(old)->webhooks);
  }
  if (auto* a = As<admissionregistration::v1::ValidatingWebhookConfiguration>(type, object)) {
    return !(a->webhooks == static_cast<const admissionregistration::v1::ValidatingWebhookConfiguration*>(old)->webhooks);
  }
  if (auto* a = As<core::v1::PodTemplate>(type, object))
    return !(a->template_ == static_cast<const core::v1::PodTemplate*>(old)->template_);
  return !SameField(type, "spec", object, old);
}

void CountChange(const TypeInfo& type, void* object, const void* old) {
  const BuiltinResource* r = FindBuiltin(type);
  ObjectMeta* metadata = MutableMetadataOf(type, object);
  const ObjectMeta* old_metadata = MetadataOf(type, old);
  if (metadata == nullptr || old_metadata == nullptr) return;
  metadata->generation = old_metadata->generation;
  if (r != nullptr && r->has_generation && CountsAsChange(type, object, old)) ++metadata->generation;
}

// ---- Kinds with something of their own ----

void PreparePod(core::v1::Pod& pod, Time now) {
  pod.status = {};
  pod.status.phase = "Pending";
  pod.status.qos_class = builtin::QosClassOf(pod);
  if (!pod.spec.scheduling_gates.empty()) {
    core::v1::PodCondition blocked;
    blocked.type = "PodScheduled";
    blocked.status = "False";
    blocked.reason = "SchedulingGated";
    blocked.message = "Scheduling is blocked due to non-empty scheduling gates";
    blocked.last_transition_time = now;
    pod.status.conditions.push_back(blocked);
  }
  builtin::ApplyLabelKeys(pod);
}

void PrepareNamespace(core::v1::Namespace& ns) {
  ns.status = {};
  ns.status.phase = "Active";
  for (const String& f : std::as_const(ns.spec.finalizers)) {
    if (f == "kubernetes") return;
  }
  ns.spec.finalizers.push_back("kubernetes");
}

void PrepareJob(batch::v1::Job& job) {
  if (job.spec.manual_selector.value_or(false)) return;
  auto& labels = job.spec.template_.metadata.labels;
  // A job without labels has those of its template (defaults.h), whatever they become.
  bool follows = job.metadata.labels.empty() || job.metadata.labels.SharesWith(labels);
  auto set = [&labels](const char* key, const String& value) {
    if (!labels.contains(key)) labels.Set(key, value);
  };
  set("job-name", job.metadata.name);
  set("batch.kubernetes.io/job-name", job.metadata.name);
  set("controller-uid", job.metadata.uid);
  set("batch.kubernetes.io/controller-uid", job.metadata.uid);
  if (follows) job.metadata.labels = labels;
  auto& selected = job.spec.selector.Mutable().match_labels;
  if (!selected.contains("batch.kubernetes.io/controller-uid")) selected.Set("batch.kubernetes.io/controller-uid", job.metadata.uid);
}

void PrepareSigningRequest(certificates::v1::CertificateSigningRequest& csr, const StrategyUser* user) {
  csr.spec.username.clear();
  csr.spec.uid.clear();
  csr.spec.groups.clear();
  csr.spec.extra.clear();
  if (user == nullptr) return;
  csr.spec.username = user->name;
  csr.spec.uid = user->uid;
  csr.spec.groups = user->groups;
  csr.spec.extra = user->extra;
}

void PrepareApiService(apiregistration::v1::APIService& s, Time now) {
  if (s.spec.service.has_value()) return;
  apiregistration::v1::APIServiceCondition available;
  available.type = "Available";
  available.status = "True";
  available.reason = "Local";
  available.message = "Local APIServices are always available";
  available.last_transition_time = now;
  s.status.conditions.push_back(available);
}

void RecordStoredVersion(apiextensions::v1::CustomResourceDefinition& crd) {
  for (const auto& version : std::as_const(crd.spec.versions)) {
    if (!version.storage) continue;
    for (const String& stored : std::as_const(crd.status.stored_versions)) {
      if (stored == version.name) return;
    }
    crd.status.stored_versions.push_back(version.name);
    return;
  }
}

// A claim's data source has an old and a new field that say the same.
void FollowDataSource(core::v1::PersistentVolumeClaimSpec& spec) {
  if (spec.data_source.has_value() && !spec.data_source_ref.has_value()) {
    auto& ref = spec.data_source_ref.Mutable();
    ref.kind = spec.data_source->kind;
    ref.name = spec.data_source->name;
    ref.api_group = spec.data_source->api_group;
  } else if (spec.data_source_ref.has_value() && !spec.data_source.has_value() &&
             spec.data_source_ref->namespace_.value_or(String()).empty()) {
    auto& source = spec.data_source.Mutable();
    source.kind = spec.data_source_ref->kind;
    source.name = spec.data_source_ref->name;
    source.api_group = spec.data_source_ref->api_group;
  }
}

// References from a service account are names; other fields are dropped.
void CleanSecretReferences(core::v1::ServiceAccount& account) {
  for (core::v1::ObjectReference& ref : account.secrets) ref = core::v1::ObjectReference{.name = ref.name};
}

// What the status of a pod may not lose to a client that does not know of observedGeneration.
void KeepObservedGenerations(core::v1::PodStatus& status, const core::v1::PodStatus& old) {
  if (status.observed_generation == 0) status.observed_generation = old.observed_generation;
  std::vector<bool> used(old.conditions.size(), false);
  for (core::v1::PodCondition& c : status.conditions) {
    for (std::size_t i = 0; i < old.conditions.size(); ++i) {
      if (used[i] || !(old.conditions[i].type == c.type)) continue;
      used[i] = true;
      if (c.observed_generation == 0) c.observed_generation = old.conditions[i].observed_generation;
      break;
    }
  }
}

// Metadata that a request for a subresource may not change. Managed fields may: they record the request.
void KeepMetadata(ObjectMeta& metadata, const ObjectMeta& old) {
  metadata.deletion_timestamp = old.deletion_timestamp;
  metadata.generation = old.generation;
  metadata.self_link = old.self_link;
  metadata.labels = old.labels;
  metadata.annotations = old.annotations;
  metadata.finalizers = old.finalizers;
  metadata.owner_references = old.owner_references;
}

using certificates::v1::CertificateSigningRequest;
using certificates::v1::CertificateSigningRequestCondition;

void StampConditions(CertificateSigningRequest& csr, const CertificateSigningRequest& old, Time now) {
  for (CertificateSigningRequestCondition& c : csr.status.conditions) {
    if (c.last_update_time.IsZero()) c.last_update_time = now;
    if (!c.last_transition_time.IsZero()) continue;
    const CertificateSigningRequestCondition* before = nullptr;
    for (const auto& o : old.status.conditions) {
      if (before == nullptr && o.type == c.type) before = &o;
    }
    bool unchanged = before != nullptr && before->status == c.status && !before->last_transition_time.IsZero();
    c.last_transition_time = unchanged ? before->last_transition_time : now;
  }
}

// Approval and denial are written by /approval only; they stay in front, as they were.
void KeepDecisions(CertificateSigningRequest& csr, const CertificateSigningRequest& old) {
  for (const char* type : {"Approved", "Denied"}) {
    List<CertificateSigningRequestCondition> kept, others;
    for (const auto& c : old.status.conditions) {
      if (c.type == type) kept.push_back(c);
    }
    std::size_t now_there = 0;
    for (const auto& c : std::as_const(csr.status.conditions)) now_there += c.type == type ? 1 : 0;
    if (now_there == kept.size()) {  // replaced in their places
      std::size_t next = 0;
      for (auto& c : csr.status.conditions) {
        if (c.type == type) c = std::as_const(kept)[next++];
      }
      continue;
    }
    for (const auto& c : std::as_const(csr.status.conditions)) {
      if (c.type != type) others.push_back(c);
    }
    csr.status.conditions = kept;
    for (const auto& c : std::as_const(others)) csr.status.conditions.push_back(c);
  }
}

}  // namespace

Result<void> PrepareForCreate(const TypeInfo& type, void* object, const StrategyContext& context) {
  const BuiltinResource* r = FindBuiltin(type);
  ObjectMeta* metadata = MutableMetadataOf(type, object);
  // A node registers itself with its status.
  if (HasStatusSubresource(type) && &type != &core::v1::Node::kType) ClearField(type, "status", object);
  if (r != nullptr && r->has_generation && metadata != nullptr && r->resource != "csidrivers") metadata->generation = 1;

  if (auto* pod = As<core::v1::Pod>(type, object)) {
    PreparePod(*pod, context.now);
  } else if (auto* ns = As<core::v1::Namespace>(type, object)) {
    PrepareNamespace(*ns);
  } else if (auto* service = As<core::v1::Service>(type, object)) {
    return builtin::PrepareServiceCreate(*service, context.services);
  } else if (auto* volume = As<core::v1::PersistentVolume>(type, object)) {
    volume->status.phase = "Pending";
    volume->status.last_phase_transition_time = context.now;
  } else if (auto* claim = As<core::v1::PersistentVolumeClaim>(type, object)) {
    claim->status.phase = "Pending";
    FollowDataSource(claim->spec);
  } else if (auto* job = As<batch::v1::Job>(type, object)) {
    PrepareJob(*job);
  } else if (auto* daemons = As<apps::v1::DaemonSet>(type, object)) {
    std::int64_t given = 0;
    std::string_view text = daemons->metadata.annotations.Get(kTemplateGeneration);
    std::from_chars(text.data(), text.data() + text.size(), given);
    if (given < 1) daemons->metadata.annotations.Set(kTemplateGeneration, "1");
  } else if (auto* csr = As<CertificateSigningRequest>(type, object)) {
    PrepareSigningRequest(*csr, context.user);
  } else if (auto* api_service = As<apiregistration::v1::APIService>(type, object)) {
    PrepareApiService(*api_service, context.now);
  } else if (auto* crd = As<apiextensions::v1::CustomResourceDefinition>(type, object)) {
    RecordStoredVersion(*crd);
  } else if (auto* account = As<core::v1::ServiceAccount>(type, object)) {
    CleanSecretReferences(*account);
  }
  return {};
}

Result<void> PrepareForUpdate(const TypeInfo& type, void* object, const void* old, const StrategyContext& context) {
  if (HasStatusSubresource(type)) CopyField(type, "status", object, old);

  if (auto* ns = As<core::v1::Namespace>(type, object)) {
    ns->spec.finalizers = static_cast<const core::v1::Namespace*>(old)->spec.finalizers;
  } else if (auto* service = As<core::v1::Service>(type, object)) {
    CountChange(type, object, old);
    return builtin::PrepareServiceUpdate(*service, *static_cast<const core::v1::Service*>(old), context.services);
  } else if (auto* claim = As<core::v1::PersistentVolumeClaim>(type, object)) {
    FollowDataSource(claim->spec);
  } else if (auto* secret = As<core::v1::Secret>(type, object)) {
    if (secret->type.empty()) secret->type = static_cast<const core::v1::Secret*>(old)->type;
  } else if (auto* daemons = As<apps::v1::DaemonSet>(type, object)) {
    const auto* before = static_cast<const apps::v1::DaemonSet*>(old);
    std::int64_t count = 0;
    std::string_view text = before->metadata.annotations.Get(kTemplateGeneration);
    std::from_chars(text.data(), text.data() + text.size(), count);
    if (!(daemons->spec.template_ == before->spec.template_)) ++count;
    daemons->metadata.annotations.Set(kTemplateGeneration, std::to_string(count));
  } else if (As<CertificateSigningRequest>(type, object) != nullptr) {
    CopyField(type, "spec", object, old);
  } else if (auto* crd = As<apiextensions::v1::CustomResourceDefinition>(type, object)) {
    RecordStoredVersion(*crd);
  } else if (auto* account = As<core::v1::ServiceAccount>(type, object)) {
    CleanSecretReferences(*account);
  }
  CountChange(type, object, old);
  return {};
}

namespace {

// Also handles other subresources that are part of the object.
void PrepareStatusUpdate(const TypeInfo& type, void* object, const void* old, ObjectMeta& metadata, const ObjectMeta& old_metadata,
                         const StrategyContext& context) {
  CopyField(type, "spec", object, old);
  if (auto* pod = As<core::v1::Pod>(type, object)) {
    const auto* old_pod = As<core::v1::Pod>(type, old);
    // An alpha field, whose feature is off.
    if (old_pod->status.node_allocatable_resource_claim_statuses.empty()) pod->status.node_allocatable_resource_claim_statuses = {};
    metadata.deletion_timestamp = {};
    if (!old_metadata.deletion_timestamp.IsZero()) metadata.deletion_timestamp = old_metadata.deletion_timestamp;
    metadata.owner_references = old_metadata.owner_references;
    if (pod->status.qos_class.empty()) pod->status.qos_class = old_pod->status.qos_class;
    KeepObservedGenerations(pod->status, old_pod->status);
  } else if (As<apps::v1::Deployment>(type, object) != nullptr) {
    metadata.labels = old_metadata.labels;
  } else if (auto* daemons = As<apps::v1::DaemonSet>(type, object)) {
    daemons->metadata.annotations.Set(kTemplateGeneration, old_metadata.annotations.Get(kTemplateGeneration));
  } else if (auto* volume = As<core::v1::PersistentVolume>(type, object)) {
    const auto* before = static_cast<const core::v1::PersistentVolume*>(old);
    Time& changed = volume->status.last_phase_transition_time;
    const Time changed_before = before->status.last_phase_transition_time;
    if (before->status.phase == volume->status.phase) {
      if (changed.IsZero()) changed = changed_before;
    } else if (changed.IsZero() || changed == changed_before) {
      changed = context.now;
    }
  } else if (auto* csr = As<CertificateSigningRequest>(type, object)) {
    const auto* old_csr = As<CertificateSigningRequest>(type, old);
    KeepDecisions(*csr, *old_csr);
    StampConditions(*csr, *old_csr, context.now);
  } else if (type.kind != nullptr) {
    std::string_view group = type.kind->group, kind = type.kind->kind;
    if (group == "flowcontrol.apiserver.k8s.io") {
      auto managed = metadata.managed_fields;
      metadata = old_metadata;
      metadata.managed_fields = managed;
    } else if (group == "apiregistration.k8s.io") {
      metadata.labels = old_metadata.labels;
      metadata.annotations = old_metadata.annotations;
      metadata.finalizers = old_metadata.finalizers;
      metadata.owner_references = old_metadata.owner_references;
    } else if (kind == "ServiceCIDR" || kind == "VolumeAttachment" || kind == "ResourceClaim" || kind == "ValidatingAdmissionPolicy" ||
               kind == "PodCertificateRequest" || kind == "StorageVersionMigration" || kind == "DeviceTaintRule") {
      KeepMetadata(metadata, old_metadata);
    }
  }
}

}  // namespace

void PrepareSubresourceUpdate(const TypeInfo& type, std::string_view subresource, void* object, const void* old,
                              const StrategyContext& context) {
  ObjectMeta* metadata = MutableMetadataOf(type, object);
  const ObjectMeta* old_metadata = MetadataOf(type, old);
  if (metadata == nullptr || old_metadata == nullptr) return;
  metadata->generation = old_metadata->generation;

  auto* pod = As<core::v1::Pod>(type, object);
  const auto* old_pod = As<core::v1::Pod>(type, old);
  if (pod != nullptr && subresource == "ephemeralcontainers") {
    auto wanted = pod->spec.ephemeral_containers;
    pod->spec = old_pod->spec;
    pod->status = old_pod->status;
    KeepMetadata(*metadata, *old_metadata);
    pod->spec.ephemeral_containers = wanted;
    CountChange(type, object, old);
    return;
  }
  if (pod != nullptr && subresource == "resize") {
    builtin::KeepAllButResources(*pod, *old_pod);
    KeepMetadata(*metadata, *old_metadata);
    CountChange(type, object, old);
    return;
  }
  if (subresource == "finalize") {
    CopyField(type, "status", object, old);
    return;
  }
  auto* csr = As<CertificateSigningRequest>(type, object);
  const auto* old_csr = As<CertificateSigningRequest>(type, old);
  if (csr != nullptr && subresource == "approval") {
    StampConditions(*csr, *old_csr, context.now);
    auto wanted = csr->status.conditions;
    csr->spec = old_csr->spec;
    csr->status = old_csr->status;
    csr->status.conditions = wanted;
    return;
  }

  PrepareStatusUpdate(type, object, old, *metadata, *old_metadata, context);
}

void ReleaseAllocations(const TypeInfo& type, const void* object, ServiceAllocator& services) {
  const auto* service = As<core::v1::Service>(type, object);
  if (service == nullptr) return;
  for (const std::string& address : builtin::AddressesOf(*service)) services.ReleaseAddress(address);
  for (int port : builtin::NodePortsOf(*service)) services.ReleasePort(port);
}

void ClaimAllocations(const TypeInfo& type, const void* object, ServiceAllocator& services) {
  const auto* service = As<core::v1::Service>(type, object);
  if (service == nullptr) return;
  for (const std::string& address : builtin::AddressesOf(*service)) (void)services.ClaimAddress(address);
  for (int port : builtin::NodePortsOf(*service)) (void)services.ClaimPort(port);
}

}  // namespace kube::apiserver
