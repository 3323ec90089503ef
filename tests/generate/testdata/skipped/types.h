// +groupName=skipped.example.com
// +versionName=v1
// +kubebuilder:skip
#pragma once

#include <kube/kind.h>

namespace skipped::v1 {

// Nothing is made of it.
struct Skipped {
  kube::meta::v1::ObjectMeta metadata{};

  KUBE_TABLE(Skipped);
};

}  // namespace skipped::v1
