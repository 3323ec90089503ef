// Computes the Service and the Ingress (or HTTPRoute) of a workload. This needs no cluster: everything follows from the workload, the
// settings and the annotations of its namespace.
//
//   Plan plan = PlanFor(WorkloadOf(deployment), settings, NamespacePolicy::Of(ns.metadata.annotations));
//   if (plan.verdict == Plan::Verdict::kExpose) ... *plan.service, plan.url
//
// An invalid annotation leaves the children as they are (kKeep). One that requests something that the policy refuses (policy.h) removes
// what it requests: a refused service type becomes ClusterIP, and any other refusal omits the Ingress or route. A refused value is never
// replaced: an Ingress without the annotation that requires a password would be open to every client.
//
// Annotations of a workload, all with the prefix "auto-expose.kubexx.dev/":
//
//   expose              "true", "false"
//   port                the Service's ports, "PORT" or "PORT:TARGET", comma-separated, with "/UDP" for a protocol other than TCP. TARGET
//                       is a number or the name of a container's port; PORT may be such a name if there is no TARGET.
//   service-type        ClusterIP, NodePort, LoadBalancer
//   session-affinity    None, ClientIP
//   ingress             "none": a Service only
//   ingress-class, host, path, path-type (Prefix, Exact, ImplementationSpecific), tls-secret, cluster-issuer, issuer
//   ingress-annotations a YAML map of further annotations of the Ingress
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/networking/v1.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/gvk.h"
#include "kube/meta/v1.h"
#include "policy.h"
#include "settings.h"

namespace auto_expose {

inline constexpr std::string_view kAnnotationPrefix = "auto-expose.kubexx.dev/";
inline const kube::Gvk kHttpRoute{"gateway.networking.k8s.io", "v1", "HTTPRoute"};
inline const kube::Gvr kHttpRoutes{"gateway.networking.k8s.io", "v1", "httproutes"};

// The common part of Deployments, StatefulSets and DaemonSets. A copy costs a few reference counts.
struct Workload {
  kube::Gvk gvk{};
  kube::meta::v1::ObjectMeta metadata{};
  kube::Box<kube::meta::v1::LabelSelector> selector{};
  kube::core::v1::PodTemplateSpec pods{};
};
Workload WorkloadOf(const kube::apps::v1::Deployment& deployment);
Workload WorkloadOf(const kube::apps::v1::StatefulSet& set);
Workload WorkloadOf(const kube::apps::v1::DaemonSet& set);

// A problem for the workload's owner to fix; reported as a Warning event.
struct Problem {
  std::string reason{};   // NoPort, InvalidAnnotation, HostNotAllowed
  std::string message{};  // says what to do
  bool refused = false;   // by policy or by a claim
  friend bool operator==(const Problem&, const Problem&) = default;
};

// A host, and a path on it.
struct Claim {
  std::string host{};  // normalized (see NormalHost); empty for any
  std::string path{};
  // The operator gave it to the claimant's namespace: only a claim of exactly this host and path blocks it, not a wildcard.
  bool in_zone = false;
  // Decides which hand-made Ingresses and routes in other namespaces do not block it.
  Given given = Given::kNo;
  friend bool operator==(const Claim& a, const Claim& b) { return a.host == b.host && a.path == b.path; }
};

struct Plan {
  enum class Verdict : std::uint8_t {
    kIgnore,  // in a namespace that this program does not cover: children are neither made nor removed
    kLeave,   // not exposed: existing children are deleted
    kKeep,    // invalid annotations: existing children stay as they are
    kExpose,
  };
  Verdict verdict = Verdict::kLeave;
  std::string why{};  // for kIgnore and kLeave, for logs: "annotation expose is false"
  std::vector<Problem> problems{};

  // For kExpose. At most one of `ingress` and `route` is set.
  std::optional<kube::core::v1::Service> service{};
  std::optional<kube::networking::v1::Ingress> ingress{};
  std::optional<kube::DynamicObject> route{};
  // What the workload requests, before the policy applies; and the part that remains afterwards, which only one workload can have
  // (claims.h).
  std::optional<Claim> wish{};
  std::optional<Claim> claim{};
  // "https://web.shop.example.com/"; only a path if the host is unknown; empty without Ingress and route.
  std::string url{};
};

Plan PlanFor(const Workload& workload, const Settings& settings, const NamespacePolicy& of_namespace = {});

// Whether the policy or a claim refused something for this reason.
bool IsRefused(const Plan& plan, std::string_view reason);
bool IsHostRefusal(const Problem& problem);
// Whether the workload would have its Ingress or route with another host.
bool IsRefusedForHostOnly(const Plan& plan);
// Report something unknown that decides about Ingress and route, which then stay as they are: the annotations of Namespaces, which may
// allow the host; or the Ingresses or HTTPRoutes of the cluster, and with them the hosts in use.
void LeaveHostUndecided(Plan& plan);
void LeaveHostsUnknown(Plan& plan);

// What the settings alone give a workload: its host (empty without a domain), its path on a host, and its TLS secret (may be empty).
std::string TemplateHost(const Workload& workload, const Settings& settings);
std::string TemplatePath(const Workload& workload, const Settings& settings, std::string_view host);
std::string TemplateSecret(const Workload& workload, const Settings& settings);

// The name of the children: the workload's, or one derived from it if a Service cannot have that name ("api.v2").
std::string ChildName(std::string_view workload_name);

}  // namespace auto_expose
