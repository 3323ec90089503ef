// +groupName=shop.example.com
#pragma once

#include <kube/kind.h>

namespace shop::gadgets::v1 {

// GadgetSpec is what it should be.
struct GadgetSpec {
  // +required
  std::int32_t wheels{};

  KUBE_TABLE(GadgetSpec);
};

// Gadget of today.
// +kubebuilder:storageversion
// +kubebuilder:resource:path=gadgetry,scope=Cluster
struct Gadget {
  kube::meta::v1::ObjectMeta metadata{};
  GadgetSpec spec{};

  KUBE_TABLE(Gadget);
};

}  // namespace shop::gadgets::v1
