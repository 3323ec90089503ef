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
  std::string path{};                                // empty: "/", and "/{namespace}/{name}" where there is no host
  std::string path_type = "Prefix";
  std::string tls_secret{};      // of each workload's namespace
  std::string cluster_issuer{};  // of cert-manager, which then makes the secret
  std::string issuer{};
  kube::Map<kube::String> ingress_annotations{};
  std::string gateway_namespace{};  // of the Gateway that routes belong to; empty: the workload's
  std::string gateway{};
};

// False for namespaces that are left out, by either list.
bool CoversNamespace(const Settings& settings, std::string_view ns);

}  // namespace auto_expose
