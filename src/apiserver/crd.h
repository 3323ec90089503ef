// CustomResourceDefinitions: from the object to the resources that it adds, and its status.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/core.h"
#include "apiserver/resources.h"
#include "kube/base/export.h"
#include "kube/base/mutex.h"

namespace kube::apiserver {

inline constexpr std::string_view kCrdStorage = "apiextensions.k8s.io/customresourcedefinitions";
// The finalizer that keeps a CRD until its objects are deleted.
inline constexpr std::string_view kCrdCleanup = "customresourcecleanup.apiextensions.k8s.io";

// The resources of a CRD, one per served version.
std::vector<ResourcePtr> ResourcesOf(const Value& crd);
// What the schemas of a CRD break.
KUBE_EXPORT std::vector<FieldError> CheckCrd(const Value& crd, const Value* old);

// Sets a condition in its place, or at the end.
void SetCrdCondition(Value& crd, std::string_view type, bool ok, std::string_view reason, std::string_view message, Time now);

// Follows the CRDs in the store: serves what they define, ends the watches of what changed, and writes their status. All in the thread of
// the change, so that a resource is served when the create of its CRD is answered.
class CrdController {
 public:
  explicit CrdController(ApiCore& core);

  // Stops serving all of them; called when the store is cleared.
  void Forget();

 private:
  // A definition as it was seen last.
  struct Known {
    std::string uid, group, storage;  // "example.com", "example.com/carts"
    Value spec, accepted;
    bool served = false;
  };

  void Sync(const std::string& name);
  void WriteStatus(const std::string& name, const Value& status);
  // Conditions, accepted names and stored versions.
  void SetStatus(Value& crd, const std::vector<Value>& others) const;

  ApiCore& core_;
  Mutex mu_;  // makes reading a CRD and serving it one step
  std::map<std::string, Known> known_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::apiserver
