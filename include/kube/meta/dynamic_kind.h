// DynamicKind: a kind without a C++ type, for ControllerFor and WebhookFor.
#pragma once

#include "kube/meta/gvk.h"
#include "kube/value/string.h"

namespace kube {

// Names a kind and its resource at run time.
struct DynamicKind {
  Gvr gvr{};
  String kind{};  // as in owner references
  bool namespaced = true;
};

}  // namespace kube
