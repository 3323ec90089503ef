// Widget: the custom resource of the reconcile round (../widgets.yaml).
// +groupName=bench.example.com
// +versionName=v1
#pragma once

#include <kube/kind.h>

#include <cstdint>

namespace kube::bench {

struct WidgetSpec {
  kube::String message{};
  std::int32_t size = 0;

  KUBE_TABLE(WidgetSpec);
};

struct WidgetStatus {
  std::int64_t observed_generation = 0;
  bool ready = false;

  KUBE_TABLE(WidgetStatus);
};

// +kubebuilder:subresource:status
struct Widget {
  kube::meta::v1::ObjectMeta metadata{};
  WidgetSpec spec{};
  WidgetStatus status{};

  KUBE_TABLE(Widget);
};

}  // namespace kube::bench
