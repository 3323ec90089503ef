// +groupName=own.example.com
// +versionName=v1
#pragma once

#include <kube/kind.h>

namespace own::v1 {

struct RouteSpec {
  kube::String gateway{};

  KUBE_TABLE(RouteSpec);
};

struct Route {
  kube::meta::v1::ObjectMeta metadata{};
  RouteSpec spec{};

  KUBE_TABLE(Route);
};

}  // namespace own::v1
