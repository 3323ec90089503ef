// The kinds of controllers_real_test.cc.
// +groupName=custom.example.com
// +versionName=v1
#pragma once

#include <kube/kind.h>

namespace custom::v1 {

struct BucketSpec {
  std::int32_t size = 0;

  KUBE_TABLE(BucketSpec);
};

struct BucketStatus {
  std::int32_t size = 0;
  // +listType=map
  // +listMapKey=type
  kube::List<kube::meta::v1::Condition> conditions{};

  KUBE_TABLE(BucketStatus);
};

// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.size
struct Bucket {
  kube::meta::v1::ObjectMeta metadata{};
  BucketSpec spec{};
  BucketStatus status{};

  KUBE_TABLE(Bucket);
};

struct GrantSpec {
  std::int32_t size = 0;
  kube::Map<kube::String> rules{};

  KUBE_TABLE(GrantSpec);
};

// +kubebuilder:resource:shortName=gr
struct Grant {
  kube::meta::v1::ObjectMeta metadata{};
  GrantSpec spec{};

  KUBE_TABLE(Grant);
};

}  // namespace custom::v1
