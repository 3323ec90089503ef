// config/webhook/manifests.yaml: the configurations that +kubebuilder:webhook and +kubebuilder:webhookconfiguration markers describe, and
// those that the program registers.
//
// Markers mean what they mean to controller-gen, but what a server would refuse is an error here: unknown policies and operations, names
// without three parts, a webhook that stands twice.
#pragma once

#include <vector>

#include "generate/model.h"
#include "generate/problems.h"
#include "kube/value/value.h"

namespace kube::generate {

// MutatingWebhookConfigurations, then ValidatingWebhookConfigurations, by name; their webhooks by name. `program`: the configurations that
// the program printed. One that is called as a marker's takes the marker's webhooks.
std::vector<Value> MakeWebhookConfigurations(const std::vector<Marker>& markers, const std::vector<Value>& program, Problems& problems);

}  // namespace kube::generate
