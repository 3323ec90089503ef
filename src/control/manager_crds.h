// ManagerCrds: the CustomResourceDefinitions that a manager installs. See ManagedCrds.
#pragma once

#include <string>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/client/client.h"
#include "kube/control/access.h"
#include "kube/control/crds.h"

namespace kube::internal {

// Thread safety: Add before all others; these from any thread.
class ManagerCrds {
 public:
  explicit ManagerCrds(const Client& client) : client_(client) {}

  // Errors: kInvalid for something that is no definition, and for one that was added before.
  Result<void> Add(ManagedCrds crds);
  bool empty() const { return sets_.empty(); }
  std::vector<AccessNeed> needs() const;

  // The leader's part. Errors: those of InstallCrds; without permission only if definitions are missing.
  Result<void> Install(const Context& ctx) const;
  // Every replica's part: until all are served.
  Result<void> Await(const Context& ctx) const;
  // Logs what cannot be migrated.
  void Migrate(const Context& ctx) const;
  bool migrates() const;

 private:
  const Client& client_;
  std::vector<ManagedCrds> sets_;
};

}  // namespace kube::internal
