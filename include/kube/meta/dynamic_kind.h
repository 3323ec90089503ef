// DynamicKind: a kind that has no C++ type, for ControllerFor and WebhookFor.
#pragma once

#include "kube/meta/gvk.h"
#include "kube/value/string.h"

namespace kube {

struct DynamicKind {
  Gvr gvr{};
  String kind{};  // as owner references name it
  bool namespaced = true;
};

}  // namespace kube
