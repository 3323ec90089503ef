// The custom resource of the reconcile round (../widgets.yaml), as a code generator would write it.
#pragma once

#include <cstdint>

#include "kube/meta/v1.h"
#include "kube/value/string.h"
#include "kube/value/type_info.h"

namespace kube::bench {

struct WidgetSpec {
  String message{};
  std::int32_t size = 0;
  UnknownFields unknown_fields{};

  static const TypeInfo kType;
  friend bool operator==(const WidgetSpec& a, const WidgetSpec& b) { return EqualObjects(kType, &a, &b); }
};

struct WidgetStatus {
  std::int64_t observed_generation = 0;
  bool ready = false;
  UnknownFields unknown_fields{};

  static const TypeInfo kType;
  friend bool operator==(const WidgetStatus& a, const WidgetStatus& b) { return EqualObjects(kType, &a, &b); }
};

struct Widget {
  meta::v1::ObjectMeta metadata{};
  WidgetSpec spec{};
  WidgetStatus status{};
  UnknownFields unknown_fields{};

  static const TypeInfo kType;
};

}  // namespace kube::bench
