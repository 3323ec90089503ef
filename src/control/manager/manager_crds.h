// ManagerCrds: the CustomResourceDefinitions that a manager installs. See ManagedCrds.
#pragma once

#include <functional>
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
  // Completes a definition before it is used. Its errors end what calls it.
  using Change = std::function<Result<void>(DynamicObject& crd)>;

  explicit ManagerCrds(const Client& client) : client_(client) {}

  // Errors: kInvalid for something that is no definition, and for one that was added before.
  Result<void> Add(ManagedCrds crds);
  bool empty() const { return sets_.empty(); }
  // Changes what was added. Before all that follows.
  Result<void> ForEach(const Change& change);
  // Null if it installs none of that name.
  const DynamicObject* Find(std::string_view name) const;
  std::vector<AccessNeed> needs() const;

  // The leader's part: what was added, completed by `change`. Errors: those of InstallCrds and `change`; without permission only if
  // definitions or their conversions are missing.
  Result<void> Install(const Context& ctx, const Change& change) const;
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
