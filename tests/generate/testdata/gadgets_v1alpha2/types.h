// +groupName=shop.example.com
#pragma once

#include <kube/kind.h>

namespace shop::gadgets::v1alpha2 {

// Gadget that was never released.
// +kubebuilder:resource:path=gadgetry,scope=Cluster
// +kubebuilder:skipversion
struct Gadget {
  kube::meta::v1::ObjectMeta metadata{};
  kube::String wheels{};

  KUBE_TABLE(Gadget);
};

}  // namespace shop::gadgets::v1alpha2
