// Who may have a host and a path, when several workloads want it: the oldest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/meta/object_key.h"
#include "plan.h"

namespace auto_expose {

struct Claimant {
  kube::Time created{};
  kube::String kind{};
  kube::ObjectKey key{};
  kube::String uid{};

  static Claimant Of(const Workload& workload);
  // "Deployment shop/web"
  std::string ToString() const;
  // By age; among equals by name, so that everybody finds the same winner.
  friend bool operator<(const Claimant& a, const Claimant& b);
};

// The one that has it instead of `self`; none where `self` has it.
std::optional<Claimant> WinnerOver(const Claimant& self, const std::vector<Claimant>& claimants);
// Takes Ingress and route out of the plan, and says why.
void Yield(Plan& plan, const Claimant& winner);

}  // namespace auto_expose
