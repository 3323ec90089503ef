// Workload: the custom resource with a pod's payload (../workloads.yaml), as a kind of one's own: `kubexx generate` makes its table.
// +groupName=bench.example.com
// +versionName=v1
#pragma once

#include <kube/api/core/v1.h>
#include <kube/kind.h>

namespace kube::bench {

// +kubebuilder:subresource:status
struct Workload {
  kube::meta::v1::ObjectMeta metadata{};
  kube::core::v1::PodSpec spec{};
  kube::core::v1::PodStatus status{};

  KUBE_TABLE(Workload);
};

}  // namespace kube::bench
