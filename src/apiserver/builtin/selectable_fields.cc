#include "apiserver/builtin/selectable_fields.h"

#include <string>

#include "apiserver/builtin/convert.h"
#include "apiserver/errors.h"
#include "kube/api/batch/v1.h"
#include "kube/api/certificates/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/events/v1.h"
#include "kube/api/resource/v1.h"
#include "kube/meta/resource.h"

namespace kube::apiserver {
namespace {

using Fields = Map<String>;

String Flag(bool b) { return b ? "true" : "false"; }

void AddFields(const core::v1::Pod& pod, Fields& out) {
  out["spec.nodeName"] = pod.spec.node_name;
  out["spec.host"] = pod.spec.node_name;  // as very old clients say it
  out["spec.restartPolicy"] = pod.spec.restart_policy;
  out["spec.schedulerName"] = pod.spec.scheduler_name;
  out["spec.serviceAccountName"] = pod.spec.service_account_name;
  out["spec.hostNetwork"] = Flag(pod.spec.host_network);
  out["status.phase"] = pod.status.phase;
  out["status.podIP"] = pod.status.pod_ips.empty() ? String() : pod.status.pod_ips[0].ip;
  out["status.podIPs"] = String();  // may be asked for, and is never set
  out["status.nominatedNodeName"] = pod.status.nominated_node_name;
}

void AddFields(const core::v1::Node& node, Fields& out) { out["spec.unschedulable"] = Flag(node.spec.unschedulable); }
void AddFields(const core::v1::Namespace& ns, Fields& out) { out["status.phase"] = ns.status.phase; }
void AddFields(const core::v1::Secret& secret, Fields& out) { out["type"] = secret.type; }
void AddFields(const core::v1::ReplicationController& rc, Fields& out) { out["status.replicas"] = std::to_string(rc.status.replicas); }
void AddFields(const batch::v1::Job& job, Fields& out) { out["status.successful"] = std::to_string(job.status.succeeded); }

void AddFields(const core::v1::Service& service, Fields& out) {
  out["spec.clusterIP"] = service.spec.cluster_ip;
  out["spec.type"] = service.spec.type;
}

void AddFields(const certificates::v1::CertificateSigningRequest& csr, Fields& out) { out["spec.signerName"] = csr.spec.signer_name; }

void AddFields(const resource::v1::ResourceSlice& slice, Fields& out) {
  out["spec.nodeName"] = slice.spec.node_name.value_or(String());
  out["spec.driver"] = slice.spec.driver;
}

void AddReference(const std::string& prefix, const core::v1::ObjectReference& r, Fields& out) {
  out[prefix + ".kind"] = r.kind;
  out[prefix + ".namespace"] = r.namespace_;
  out[prefix + ".name"] = r.name;
  out[prefix + ".uid"] = r.uid;
  out[prefix + ".apiVersion"] = r.api_version;
  out[prefix + ".resourceVersion"] = r.resource_version;
  out[prefix + ".fieldPath"] = r.field_path;
}

void AddFields(const core::v1::Event& event, Fields& out) {
  AddReference("involvedObject", event.involved_object, out);
  out["reason"] = event.reason;
  out["reportingComponent"] = event.reporting_component;
  out["source"] = event.source.component.empty() ? event.reporting_component : event.source.component;
  out["type"] = event.type;
}

void AddFields(const events::v1::Event& event, Fields& out) {
  AddReference("regarding", event.regarding, out);
  out["reason"] = event.reason;
  out["reportingController"] = event.reporting_controller;
  out["type"] = event.type;
}

template <typename T>
bool TryAdd(const TypeInfo& type, const void* object, Fields& out) {
  if (&type != &T::kType) return false;
  AddFields(*static_cast<const T*>(object), out);
  return true;
}

// False for kinds that have no fields of their own.
bool AddOwnFields(const TypeInfo& type, const void* object, Fields& out) {
  return TryAdd<core::v1::Pod>(type, object, out) || TryAdd<core::v1::Node>(type, object, out) ||
         TryAdd<core::v1::Namespace>(type, object, out) || TryAdd<core::v1::Secret>(type, object, out) ||
         TryAdd<core::v1::Service>(type, object, out) || TryAdd<core::v1::Event>(type, object, out) ||
         TryAdd<core::v1::ReplicationController>(type, object, out) || TryAdd<batch::v1::Job>(type, object, out) ||
         TryAdd<certificates::v1::CertificateSigningRequest>(type, object, out) || TryAdd<resource::v1::ResourceSlice>(type, object, out) ||
         TryAdd<events::v1::Event>(type, object, out);
}

}  // namespace

Map<String> SelectableFields(const TypeInfo& type, const void* object) {
  Fields out;
  AddOwnFields(type, object, out);
  // An event is one object in two groups, and the fields have other names there.
  if (&type == &core::v1::Event::kType) {
    const core::v1::Event& event = *static_cast<const core::v1::Event*>(object);
    AddReference("regarding", event.involved_object, out);
    out["reportingController"] = event.reporting_component;
  } else if (&type == &events::v1::Event::kType) {
    AddFields(ToCoreEvent(*static_cast<const events::v1::Event*>(object)), out);
  }
  if (const meta::v1::ObjectMeta* metadata = MetadataOf(type, object)) {
    out["metadata.name"] = metadata->name;
    out["metadata.namespace"] = metadata->namespace_;
  }
  return out;
}

Result<void> CheckSelectableField(const TypeInfo& type, std::string_view label) {
  const std::string text(label);
  AnyObject empty(type);
  Fields own;
  bool has_own = AddOwnFields(type, empty.data(), own);
  // A kind that lists its labels lists metadata.namespace only if it has one; the others do not look.
  if (label == "metadata.name" || own.contains(label)) return {};
  if (label == "metadata.namespace" && (!has_own || KindOf(type).namespaced)) return {};
  if (!has_own) return BadRequest("\"" + text + R"(" is not a known field selector: only "metadata.name", "metadata.namespace")");
  if (&type == &batch::v1::Job::kType) return BadRequest("field label \"" + text + "\" not supported for Job");
  if (&type == &resource::v1::ResourceSlice::kType) {
    return BadRequest("field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: " + text);
  }
  return BadRequest("field label not supported: " + text);
}

}  // namespace kube::apiserver
