// Bootstrap: the RBAC roles and bindings that every cluster has, and the APIServices of what is served.
//
// They are made when one of their resources is first asked for: most servers of tests never are, and start without the cost. From then on
// APIServices follow the CustomResourceDefinitions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/core.h"
#include "kube/base/mutex.h"

namespace kube::apiserver {

// The roles and bindings as objects, aggregated roles with their rules. Parsed again in each call.
std::vector<Value> BootstrapPolicy();

// Thread safety: all functions may be called from any thread.
class Bootstrap {
 public:
  // Follows the CRDs of the core's store: construct it after the CrdController, which serves them.
  explicit Bootstrap(ApiCore& core);

  // As a server does at its start: what is missing is created again, and roles get back the rules that they lack, with the next use.
  void Reconcile();

 private:
  void BeforeUse(const ServedResource& resource);
  void MakePolicy() KUBE_REQUIRES(mu_);
  // Those of built-in groups are made at the start alone: one that is deleted stays so until then.
  void SyncApiServices(bool start) KUBE_REQUIRES(mu_);
  void Put(const std::string& storage, Value object, const ObjectPtr& current);

  ApiCore& core_;
  Mutex mu_;  // also held while objects are made: a second request waits until they are complete
  bool policy_made_ KUBE_GUARDED_BY(mu_) = false;
  bool services_made_ KUBE_GUARDED_BY(mu_) = false;
};

}  // namespace kube::apiserver
