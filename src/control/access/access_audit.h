// AccessAudit: notices writes that a program did not declare. With the role that --print-rbac prints they would be refused.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/client/client.h"
#include "kube/client/write_observer.h"
#include "kube/control/access.h"
#include "kube/meta/gvk.h"

namespace kube::internal {

// Thread safety: all functions from any thread. Lifetime: shared by the contexts that it made.
class AccessAudit : public std::enable_shared_from_this<AccessAudit> {
 public:
  explicit AccessAudit(const Client& client) : client_(client.shared_core()) {}

  // All that is allowed, from now on.
  void Declare(std::vector<AccessNeed> needs);
  // A child of `ctx` whose writes to the client's server are compared with what was declared. The first write of each verb and resource
  // that was not is logged, with the line to add. `own`: the kind of a controller; none for a runnable.
  Context Watch(const Context& ctx, std::string who, std::optional<Gvr> own);

 private:
  class Observer;
  void Check(const ObservedWrite& write, const std::string& who, const std::optional<Gvr>& own);

  const std::shared_ptr<const ClientCore> client_;
  Mutex mu_;
  std::vector<AccessNeed> needs_ KUBE_GUARDED_BY(mu_);
  std::set<std::tuple<std::string, std::string, std::string>> said_ KUBE_GUARDED_BY(mu_);  // verb, group, resource with subresource
};

}  // namespace kube::internal
