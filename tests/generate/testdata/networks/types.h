// +groupName=samplecrd.k8s.io
// +versionName=v1
#pragma once

#include <kube/kind.h>

namespace samplecrd::v1 {

// +k8s:enum
using NetworkPhase = kube::String;
inline constexpr std::string_view kNetworkPhasePending = "Pending", kNetworkPhaseReady = "Ready";

struct NetworkSpec {
  // The range of addresses, such as 192.168.0.0/16.
  // +required
  // +kubebuilder:validation:MaxLength=43
  kube::String cidr{};
  // +kubebuilder:default=1500
  // +kubebuilder:validation:Minimum=576
  std::optional<std::int32_t> mtu{};

  KUBE_TABLE(NetworkSpec);
};

struct NetworkStatus {
  NetworkPhase phase{};

  KUBE_TABLE(NetworkStatus);
};

// +kubebuilder:resource:shortName=net
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name=CIDR,type=string,JSONPath=.spec.cidr
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, example"
struct Network {
  kube::meta::v1::ObjectMeta metadata{};
  NetworkSpec spec{};
  NetworkStatus status{};

  KUBE_TABLE(Network);
};

}  // namespace samplecrd::v1
