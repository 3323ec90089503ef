// The part of CompareCrds that is about the schemas of one version.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kube/control/crd_compat.h"
#include "kube/value/value.h"

namespace kube::internal {

// Where findings about one version go.
class FindingSink {
 public:
  // `stored_only`: drops what does not break stored objects.
  FindingSink(std::string version, std::vector<CrdFinding>& out, bool stored_only)
      : version_(std::move(version)), out_(out), stored_only_(stored_only) {}
  void Add(CrdSeverity severity, const std::string& path, const std::string& text) {
    if (stored_only_ && severity != CrdSeverity::kBreaksStored) return;
    out_.push_back({severity, version_, path, prefix + text});
  }

  std::string prefix{};  // of every text

 private:
  const std::string version_;
  std::vector<CrdFinding>& out_;
  const bool stored_only_;
};

// `old` and `next` are schema.openAPIV3Schema.
void CompareSchemas(const Value& old, const Value& next, FindingSink& sink);

}  // namespace kube::internal
