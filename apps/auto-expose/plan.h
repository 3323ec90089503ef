// Which Service and which Ingress (or HTTPRoute) a workload should have. No cluster is needed for that: everything follows from the
// workload, the settings and the annotations of its namespace.
//
//   Plan plan = PlanFor(WorkloadOf(deployment), settings, NamespacePolicy::Of(ns.metadata.annotations));
//   if (plan.verdict == Plan::Verdict::kExpose) ... *plan.service, plan.url
//
// An annotation that cannot be understood leaves the children as they are (kKeep). One that asks for something that the policy refuses
// (policy.h) removes what it asks for: a refused service type becomes ClusterIP, and any other refusal leaves the Ingress or route out.
// Nothing is put in the place of a refused value: an Ingress without the annotation that asks for a password would be open to everybody.
//
// Annotations of a workload, all with the prefix "auto-expose.kubexx.dev/":
//
//   expose              "true", "false"
//   port                the Service's ports, "PORT", "PORT:TARGET", several with commas between, each with "/UDP" where it is not TCP.
//                       TARGET is a number or a name of a container's port; PORT may be such a name where there is no TARGET.
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

// What Deployments, StatefulSets and DaemonSets have in common. A copy costs a few reference counts.
struct Workload {
  kube::Gvk gvk{};
  kube::meta::v1::ObjectMeta metadata{};
  kube::Box<kube::meta::v1::LabelSelector> selector{};
  kube::core::v1::PodTemplateSpec pods{};
};
Workload WorkloadOf(const kube::apps::v1::Deployment& deployment);
Workload WorkloadOf(const kube::apps::v1::StatefulSet& set);
Workload WorkloadOf(const kube::apps::v1::DaemonSet& set);

// Something that the workload's owner has to mend: becomes a Warning event.
struct Problem {
  std::string reason{};   // NoPort, InvalidAnnotation, HostNotAllowed
  std::string message{};  // says what to do
  bool refused = false;   // by policy or by a claim
  friend bool operator==(const Problem&, const Problem&) = default;
};

// A host, and a path on it.
struct Claim {
  std::string host{};  // normal (see NormalHost); empty: any
  std::string path{};
  // The operator gave it to the claimant's namespace: only a claim of exactly this host and path blocks it, no wildcard.
  bool in_zone = false;
  // Of Ingresses and routes that people make by hand in other namespaces, these are not in the way.
  Given given = Given::kNo;
  friend bool operator==(const Claim& a, const Claim& b) { return a.host == b.host && a.path == b.path; }
};

struct Plan {
  enum class Verdict : std::uint8_t {
    kIgnore,  // of a namespace that this program does not look at: neither made nor taken away
    kLeave,   // not to be exposed: what was made earlier goes
    kKeep,    // cannot be understood: what was made earlier stays as it is
    kExpose,
  };
  Verdict verdict = Verdict::kLeave;
  std::string why{};  // of kIgnore and kLeave, for logs: "annotation expose is false"
  std::vector<Problem> problems{};

  // Of kExpose. At most one of `ingress` and `route`.
  std::optional<kube::core::v1::Service> service{};
  std::optional<kube::networking::v1::Ingress> ingress{};
  std::optional<kube::DynamicObject> route{};
  // What the workload asks for, before the policy is asked; and what of it is left afterwards, which only one can have (claims.h).
  std::optional<Claim> wish{};
  std::optional<Claim> claim{};
  // "https://web.shop.example.com/"; only a path where no host is known; empty without Ingress and route.
  std::string url{};
};

Plan PlanFor(const Workload& workload, const Settings& settings, const NamespacePolicy& of_namespace = {});

// Whether policy or a claim refused something for this reason.
bool IsRefused(const Plan& plan, std::string_view reason);
bool IsHostRefusal(const Problem& problem);
// Whether the workload would have its Ingress or route with another host.
bool IsRefusedForHostOnly(const Plan& plan);
// What to report if something is unknown that decides about Ingress and route, which stay as they are then: the annotations of Namespaces,
// for a host that they may allow; or the Ingresses or HTTPRoutes of the cluster, and with them the hosts in use.
void LeaveHostUndecided(Plan& plan);
void LeaveHostsUnknown(Plan& plan);

// What the settings alone give to a workload: its host (empty without a domain), its path on a host, its TLS secret (empty: none).
std::string TemplateHost(const Workload& workload, const Settings& settings);
std::string TemplatePath(const Workload& workload, const Settings& settings, std::string_view host);
std::string TemplateSecret(const Workload& workload, const Settings& settings);

// The name of the children. It is the workload's, unless a Service cannot have that name ("api.v2"): then one that is made from it.
std::string ChildName(std::string_view workload_name);

}  // namespace auto_expose
