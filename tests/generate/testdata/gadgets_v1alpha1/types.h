// +groupName=shop.example.com
#pragma once

#include <kube/kind.h>

namespace shop::gadgets::v1alpha1 {

// Gadget of yesterday.
// +kubebuilder:resource:path=gadgetry,scope=Cluster
// +kubebuilder:deprecatedversion:warning="use v1"
// +kubebuilder:unservedversion
// +kubebuilder:printcolumn:name=Wheels,type=string,JSONPath=.wheels
struct Gadget {
  kube::meta::v1::ObjectMeta metadata{};
  kube::String wheels{};

  KUBE_TABLE(Gadget);
};

}  // namespace shop::gadgets::v1alpha1
