// What the replicas of rotation_test serve.
#pragma once

#include <string>
#include <vector>

#include "kube/api/core/v1.h"
#include "kube/webhook/webhook.h"

namespace kube::rotation {

// Calls that an API server makes for one ConfigMap: the first webhook sets a default and checks, the others check.
inline constexpr int kCallsOfOneCreate = 9;

// For ConfigMaps in namespaces with the label hooks=`label`.
inline std::vector<WebhookSpec> Webhooks(const std::string& label) {
  using core::v1::ConfigMap;
  std::vector<WebhookSpec> specs;
  for (int i = 0; i < kCallsOfOneCreate - 1; ++i) {
    auto webhook = WebhookFor<ConfigMap>("maps-" + std::to_string(i) + "." + label + ".example.com");
    webhook.Validate([](const ConfigMap*, const ConfigMap*) { return Admission::Allow(); }).ValidateAt("/check-" + std::to_string(i));
    if (i == 0) webhook.Default([](ConfigMap& map) { map.data["defaulted"] = "yes"; });
    webhook.NamespaceSelector({.match_labels = {{"hooks", String(label)}}})
        .ExcludeOwnNamespace(false)
        .FailurePolicy(WebhookFailurePolicy::kFail);
    specs.push_back(webhook.Build());
  }
  return specs;
}

}  // namespace kube::rotation
