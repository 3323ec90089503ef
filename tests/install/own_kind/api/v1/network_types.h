// +groupName=own.example.com
// +versionName=v1
#pragma once

#include <kube/kind.h>

#include "api/v1/address.h"

namespace own::v1 {

struct NetworkSpec {
  // +required
  Address cidr{};

  KUBE_TABLE(NetworkSpec);
};

struct Network {
  kube::meta::v1::ObjectMeta metadata{};
  NetworkSpec spec{};

  KUBE_TABLE(Network);
};

}  // namespace own::v1
