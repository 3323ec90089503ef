// Objects and log lines for the tests of stores.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/api/core/v1.h"
#include "kube/cache/indexer.h"

namespace kube::cache_test {

using core::v1::Pod;

struct PodShape {
  std::string ns = "default";
  std::string name{};
  std::string version{};
  Map<String> labels{};
  std::string node{};
};

inline std::shared_ptr<Pod> MakePod(const PodShape& shape) {
  auto pod = std::make_shared<Pod>();
  pod->metadata.namespace_ = shape.ns;
  pod->metadata.name = shape.name;
  pod->metadata.resource_version = shape.version;
  pod->metadata.labels = shape.labels;
  pod->spec.node_name = shape.node;
  return pod;
}

// "ns/name" of each, sorted.
inline std::vector<std::string> NamesOf(const std::vector<Ptr<Pod>>& pods) {
  std::vector<std::string> names;
  for (const Ptr<Pod>& pod : pods) names.push_back(ObjectKey{pod->metadata.namespace_, pod->metadata.name}.ToString());
  std::sort(names.begin(), names.end());
  return names;
}

inline std::vector<std::string> Texts(const std::vector<String>& strings) {
  std::vector<std::string> out;
  for (const String& s : strings) out.push_back(s.str());
  return out;
}

inline std::vector<String> NodeOf(const Pod& pod) {
  if (pod.spec.node_name.empty()) return {};
  return {pod.spec.node_name};
}

inline Selector Labels(std::string_view text) { return Selector::Parse(text).value(); }

}  // namespace kube::cache_test
