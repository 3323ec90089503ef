// A kind of one's own, as users write it: plain structs with markers in their comments.
// +groupName=samplecrd.k8s.io
// +versionName=v1
#pragma once

// Users include kube/kind.h, which has both.
#include "kube/meta/v1.h"
#include "kube/value/table.h"

namespace samplecrd::v1 {

// +k8s:enum
using Phase = kube::String;
inline constexpr std::string_view kPhasePending = "PENDING", kPhaseReady = "READY";

// Inlined into NetworkSpec.
struct Placement {
  kube::String zone{};

  KUBE_TABLE(Placement);
};

struct Route {
  // +required
  kube::String destination{};
  kube::IntOrString port{};

  KUBE_TABLE(Route);
};

// [spec]
struct NetworkSpec {
  // The range of addresses, such as 192.168.0.0/16.
  // +required
  kube::String cidr{};
  // +kube:json=podCIDR
  kube::String pod_cidr{};
  // +kubebuilder:default=1500
  std::optional<std::int32_t> mtu{};
  std::optional<kube::String> description{};
  kube::Bytes ca_bundle{};
  // By zone.
  kube::Map<kube::List<Route>> routes{};
  kube::List<kube::List<std::int32_t>> vlan_ranges{};
  kube::Map<kube::Map<kube::Quantity>> limits{};
  // Absent: those of the cluster. Empty: none.
  kube::Box<kube::List<kube::String>> dns_servers{};
  // +kube:inline
  Placement placement{};

  KUBE_TABLE(NetworkSpec);
};
// [end]

struct NetworkStatus {
  Phase phase{};
  // +listType=map
  // +listMapKey=type
  kube::List<kube::meta::v1::Condition> conditions{};

  KUBE_TABLE(NetworkStatus);
};

// +kubebuilder:resource:shortName=net
// +kubebuilder:subresource:status
struct Network {
  kube::meta::v1::ObjectMeta metadata{};
  NetworkSpec spec{};
  NetworkStatus status{};

  KUBE_TABLE(Network);
};

}  // namespace samplecrd::v1
