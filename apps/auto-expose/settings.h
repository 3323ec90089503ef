// What an operator decides for a whole cluster. What a workload's owner decides for one of them stands in its annotations (plan.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/meta/selector.h"
#include "kube/value/map.h"
#include "kube/value/string.h"

namespace auto_expose {

// What makes a Service reachable from outside.
enum class Exposure : std::uint8_t { kNone, kIngress, kGateway };

// What annotations of workloads may ask for beyond what follows from the settings. Empty lists allow nothing more. Host patterns are those
// of HostPattern (policy.h); the other lists hold names in which '*' stands for any text.
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
  // Which workloads.
  bool deployments = true;
  bool stateful_sets = false;
  bool daemon_sets = false;
  bool opt_in = false;                                          // only those that say expose: "true"
  std::vector<std::string> namespaces{};                        // empty: all
  std::vector<std::string> excluded_namespaces{"kube-system"};  // not looked at, whatever else is said
  kube::Selector selector{};                                    // of the workloads' labels; empty: all

  std::string service_type = "ClusterIP";

  // Templates may have {name}, {namespace} and {domain}.
  Exposure exposure = Exposure::kIngress;
  std::string ingress_class{};  // empty: the cluster's default
  std::string domain{};
  std::string host = "{name}.{namespace}.{domain}";  // not used without a domain
  // Empty: "/", or "/{namespace}/{name}" if all workloads share one host or have none.
  std::string path{};
  std::string path_type = "Prefix";
  std::string tls_secret{};      // of each workload's namespace
  std::string cluster_issuer{};  // of cert-manager, which then makes the secret
  std::string issuer{};
  kube::Map<kube::String> ingress_annotations{};
  std::string gateway_namespace{};  // of the Gateway that routes belong to; empty: the workload's
  std::string gateway{};

  Allowed allowed{};
};

// False for namespaces that are left out, by either list.
bool CoversNamespace(const Settings& settings, std::string_view ns);

}  // namespace auto_expose
