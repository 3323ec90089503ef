// CustomResourceDefinitions: from the object to the resources that it adds, and its status.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apiserver/core.h"
#include "apiserver/resources.h"
#include "kube/base/mutex.h"

namespace kube::apiserver {

inline constexpr std::string_view kCrdStorage = "apiextensions.k8s.io/customresourcedefinitions";
// What holds a CRD until its objects are gone.
inline constexpr std::string_view kCrdCleanup = "customresourcecleanup.apiextensions.k8s.io";

// The resources of a CRD, one per served version.
std::vector<ResourcePtr> ResourcesOf(const Value& crd);
// What the schemas of a CRD break.
std::vector<FieldError> CheckCrd(const Value& crd, const Value* old);

// Follows the CRDs in the store: serves what they define, and writes their status. All in the thread of the change, so that a resource
// is there when the create of its CRD is answered.
class CrdController {
 public:
  explicit CrdController(ApiCore& core);

 private:
  void OnChange(const StoreEvent& event);
  ApiCore& core_;
  Mutex mu_;  // makes reading a CRD and serving it one step
};

}  // namespace kube::apiserver
