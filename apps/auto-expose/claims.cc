#include "claims.h"

#include <tuple>

namespace auto_expose {

Claimant Claimant::Of(const Workload& workload) {
  return {workload.metadata.creation_timestamp,
          workload.gvk.kind,
          {workload.metadata.namespace_, workload.metadata.name},
          workload.metadata.uid};
}

std::string Claimant::ToString() const { return kind.str() + " " + key.ToString(); }

bool operator<(const Claimant& a, const Claimant& b) {
  const auto order = [](const Claimant& c) {
    return std::tuple(c.created.unix_seconds(), c.kind.view(), c.key.ns.view(), c.key.name.view(), c.uid.view());
  };
  return order(a) < order(b);
}

std::optional<Claimant> WinnerOver(const Claimant& self, const std::vector<Claimant>& claimants) {
  const Claimant* winner = &self;
  for (const Claimant& other : claimants) {
    // A cache may have another version of `self`, even one before it was deleted and made anew.
    const bool is_self = other.kind == self.kind && other.key == self.key;
    if (!is_self && other < *winner) winner = &other;
  }
  if (winner == &self) return std::nullopt;
  return *winner;
}

void Yield(Plan& plan, const Claimant& winner) {
  plan.problems.push_back({"HostConflict", plan.url + " belongs to " + winner.ToString() + ", which is older: set annotation " +
                                               std::string(kAnnotationPrefix) + "host or " + std::string(kAnnotationPrefix) + "path"});
  plan.ingress.reset();
  plan.route.reset();
  plan.url.clear();
}

}  // namespace auto_expose
