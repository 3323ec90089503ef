// The operator's settings for the whole cluster. Annotations hold the settings of a single workload (plan.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/meta/selector.h"
#include "kube/value/map.h"
#include "kube/value/string.h"

namespace auto_expose {

// How a Service becomes reachable from outside of the cluster.
enum class Exposure : std::uint8_t { kNone, kIngress, kGateway };

// What annotations of workloads may request beyond what follows from the settings. Empty lists allow nothing more. Host patterns are those
// of HostPattern (policy.h); in the other lists '*' matches any text.
struct Allowed {
  std::vector<std::string> hosts{};
  bool hosts_of_namespaces = true;  // Namespace annotations may add host patterns for their namespace
  std::vector<std::string> ingress_classes{};
  std::vector<std::string> service_types{};  // ClusterIP is always allowed
  std::vector<std::string> issuers{};
  std::vector<std::string> cluster_issuers{};
  std::vector<std::string> tls_secrets{};  // may have {name} and {namespace}
  std::vector<std::string> ingress_annotations{};
};

struct Settings {
  // Which workloads to expose.
  bool deployments = true;
  bool stateful_sets = false;
  bool daemon_sets = false;
  bool opt_in = false;                                          // only those with expose: "true"
  std::vector<std::string> namespaces{};                        // empty for all
  std::vector<std::string> excluded_namespaces{"kube-system"};  // always ignored
  kube::Selector selector{};                                    // of the workloads' labels; empty for all

  std::string service_type = "ClusterIP";

  // Templates may have {name}, {namespace} and {domain}.
  Exposure exposure = Exposure::kIngress;
  std::string ingress_class{};  // empty for the cluster's default
  std::string domain{};
  std::string host = "{name}.{namespace}.{domain}";  // not used without a domain
  // Empty: "/", or "/{namespace}/{name}" if all workloads share one host or have none.
  std::string path{};
  std::string path_type = "Prefix";
  std::string tls_secret{};      // in each workload's namespace
  std::string cluster_issuer{};  // of cert-manager, which then creates the secret
  std::string issuer{};
  kube::Map<kube::String> ingress_annotations{};
  std::string gateway_namespace{};  // namespace of the routes' Gateway; empty for the workload's
  std::string gateway{};

  Allowed allowed{};
};

// Returns false for namespaces that either list excludes.
bool CoversNamespace(const Settings& settings, std::string_view ns);

}  // namespace auto_expose
