// The workload of the codec benchmarks: pods as a cluster has them. 50 pods per Deployment, two containers each, with status, and
// managedFields where asked for; what the API server fills in by default is there.
#pragma once

#include "kube/api/core/v1.h"

namespace kube::bench {

core::v1::Pod MakePod(int i, int deployments, bool managed_fields);

// `count` pods in the order in which a server lists them: by namespace and name.
core::v1::PodList MakePods(int count, bool managed_fields);

}  // namespace kube::bench
