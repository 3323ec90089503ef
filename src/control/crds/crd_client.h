// What the functions about CustomResourceDefinitions share.
#pragma once

#include "kube/client/client.h"
#include "kube/meta/dynamic_object.h"

namespace kube::internal {

inline ResourceClient<DynamicObject> CrdClient(const Client& client) {
  return client.ResourceAt({.gvr = {"apiextensions.k8s.io", "v1", "customresourcedefinitions"},
                            .gvk = {"apiextensions.k8s.io", "v1", "CustomResourceDefinition"},
                            .namespaced = false});
}

inline bool ConvertsByWebhook(const DynamicObject& crd) { return crd["spec"]["conversion"]["strategy"].string_value() == "Webhook"; }

}  // namespace kube::internal
