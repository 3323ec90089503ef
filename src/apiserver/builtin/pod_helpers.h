// What the server computes from a pod; part of strategy.h.
#pragma once

#include "kube/api/core/v1.h"

namespace kube::apiserver::builtin {

// "Guaranteed", "Burstable" or "BestEffort", by requests and limits for CPU and memory.
String QosClassOf(const core::v1::Pod& pod);
// Spread constraints and affinities may name keys of the pod's own labels; their values go into the selectors.
void ApplyLabelKeys(core::v1::Pod& pod);
// Leaves only what /resize may change: resources and resize policies. Where containers were added, removed or renamed, nothing is
// changed, so that validation says so.
void KeepAllButResources(core::v1::Pod& pod, const core::v1::Pod& old);

}  // namespace kube::apiserver::builtin
