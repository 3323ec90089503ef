// The process_* metrics, from /proc.
#pragma once

#include "kube/base/metrics.h"

namespace kube::internal {

// Reports what can be read; nothing if there is no /proc.
void CollectProcessMetrics(MetricsSink& sink);

}  // namespace kube::internal
