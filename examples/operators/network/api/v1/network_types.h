// The types of Network. `make manifests` writes the CRD from them: comments become descriptions, +markers are kubebuilder's.
//
// Servers refuse CRDs of groups that end in k8s.io or kubernetes.io without the annotation api-approved.kubernetes.io.
// +groupName=samplecrd.k8s.io
// +versionName=v1
#pragma once

#include <kube/kind.h>

// [kind]
namespace samplecrd::v1 {

// The network that the user asks for.
struct NetworkSpec {
  // The range of addresses, such as 192.168.0.0/16. It may change.
  // +required
  // +kubebuilder:validation:MaxLength=43
  kube::String cidr{};
  // The address of the gateway, which lies in the range.
  // +required
  // +kubebuilder:validation:MaxLength=39
  kube::String gateway{};

  KUBE_TABLE(NetworkSpec);
};

// The state of the network.
struct NetworkStatus {
  // Ready is True if the network exists and has the addresses of spec.
  // +listType=map
  // +listMapKey=type
  kube::List<kube::meta::v1::Condition> conditions{};

  KUBE_TABLE(NetworkStatus);
};

// A network with a range of addresses and a gateway.
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name=CIDR,type=string,JSONPath=.spec.cidr
// +kubebuilder:printcolumn:name=Gateway,type=string,JSONPath=.spec.gateway
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=unapproved, example"
struct Network {
  kube::meta::v1::ObjectMeta metadata{};
  NetworkSpec spec{};
  NetworkStatus status{};

  KUBE_TABLE(Network);
};

}  // namespace samplecrd::v1
// [end]
