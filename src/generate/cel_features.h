// What the CEL expressions of rules need of a server.
//
//   FeaturesOf("sets.contains(self.all, self.some)")    // sets.contains(...), since Kubernetes 1.30
//
// The expressions are not parsed: names of functions are looked for outside of strings and comments. Server releases lag behind the
// versions that k8s.io/apiserver names in pkg/cel/environment by one: a server refuses in new rules what the release before it did not
// have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kube::generate {

struct CelFeature {
  std::string what;  // "cidr(...)"
  int since = 0;     // 31 for Kubernetes 1.31
};

// In the order of the expression, each once.
std::vector<CelFeature> FeaturesOf(std::string_view expression);

}  // namespace kube::generate
