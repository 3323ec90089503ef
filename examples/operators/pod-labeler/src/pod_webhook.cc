#include "src/pod_webhook.h"

#include <kube/api/core/v1.h>
#include <kube/webhook/webhook.h>

using kube::core::v1::Pod;

namespace {

// [defaults]
// Fills in what the user left out, before the object is checked and stored.
void SetDefaults(Pod& pod) {
  if (!pod.metadata.labels.contains("my.domain/team")) pod.metadata.labels["my.domain/team"] = "unassigned";
}
// [end]

}  // namespace

// [spec]
kube::WebhookSpec PodWebhook() {
  // A pod without the label is better than no pod: while no replica of this program answers, pods are created as they are.
  return kube::WebhookFor<Pod>("pods.core.my.domain").Default(SetDefaults).FailurePolicy(kube::WebhookFailurePolicy::kIgnore);
}
// [end]

kube::Result<void> SetupPodWebhook(kube::Manager& manager) {
  return manager.Add(PodWebhook());
}
