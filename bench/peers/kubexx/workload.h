// Workload: the custom resource with a pod's payload (../workloads.yaml), as a struct. Written by hand: it shows what a table takes.
#pragma once

#include "kube/api/core/v1.h"
#include "kube/meta/v1.h"
#include "kube/value/type_info.h"

namespace kube::bench {

struct Workload {
  meta::v1::ObjectMeta metadata{};
  core::v1::PodSpec spec{};
  core::v1::PodStatus status{};
  UnknownFields unknown_fields{};

  static const TypeInfo kType;
};

}  // namespace kube::bench
