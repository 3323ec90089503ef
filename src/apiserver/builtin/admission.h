// The admission steps that every server has on by default and that clients can see.
//
//   Admit(type, object, old, context)    before the strategies; `old` is null on create
//
//   Priority                      a pod's priority and preemptionPolicy from its priority class
//   DefaultTolerationSeconds      two tolerations of 300 seconds on each pod
//   ServiceAccount                (only with AdmissionContext::service_accounts) the account "default", and its token as a volume
//   DefaultStorageClass           storageClassName of claims;  DefaultIngressClass   ingressClassName of ingresses
//   StorageObjectInUseProtection  finalizers on volumes, claims and volume attributes classes
//   TaintNodesByCondition         the taint not-ready on new nodes
//
// NamespaceLifecycle is the router's. LimitRanger, ResourceQuota, RuntimeClass and PodSecurity are left out: they do nothing in a
// namespace without limits, quotas and labels, and tests that need them need a real cluster.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"
#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube::apiserver {

struct AdmissionContext {
  // What is stored: the objects of a cluster-wide resource, or of one namespace. Unset: no objects.
  std::function<std::vector<Value>(std::string_view group, std::string_view resource, std::string_view namespace_name)> list;
  // Pods get a service account, which must exist.
  bool service_accounts = false;
  // Five characters for the name of a token's volume. Unset: "xxxxx".
  std::function<std::string()> name_suffix;
};

// `object` is a struct of `type` with its defaults and its namespace set. Errors: kApi, Forbidden.
Result<void> Admit(const TypeInfo& type, void* object, const void* old, const AdmissionContext& context);

}  // namespace kube::apiserver
