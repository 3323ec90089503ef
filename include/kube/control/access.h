// What a program has to be allowed to do: the RBAC rules for it, and whether the server agrees.
//
//   AccessNeed         verbs on a resource, in a namespace or everywhere
//   RbacYaml           the least that has to be granted, as a ClusterRole and Roles for kubectl apply
//   ReviewAccess       asks the server for each of them, and says which rule is missing
//
//   manager.Needs(Need<Secret>({"get"}, "settings"));          // beyond what its controllers declare: see ControllerBuilder::MayApply
//   std::cout << manager.RbacYaml({.name = "auto-expose"});    // --print-rbac
//
//   Result<AccessReport> report = ReviewAccess(ctx, client, manager.needs());
//   if (report && !report->missing.empty()) log.Warn(report->ToString());
//
// A manager does all of this by itself (ManagerOptions::preflight); the functions are for programs without one.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/meta/resource.h"

namespace kube {

class Client;

// Example: {.group = "apps", .resource = "deployments/status", .verbs = {"patch"}}
struct AccessNeed {
  std::string group{};
  std::string resource{};            // with the subresource, where one is meant: "deployments/status"
  std::vector<std::string> verbs{};  // "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"
  // Empty: everywhere, or the resource has no namespaces. Unset: where the manager watches, which is everywhere unless it says otherwise.
  std::optional<std::string> ns{};
  std::string name{};  // only the object of this name. Verbs that have none (create, list, watch) cannot be limited like that.
  // list and watch ask for `name` alone (the field selector metadata.name): RBAC can limit them, too.
  bool selects_name = false;
  std::string path{};  // in the place of a resource: "/metrics"
  std::string why{};   // for people: "controller auto-expose watches it"

  friend bool operator==(const AccessNeed&, const AccessNeed&) = default;
};

// Verbs that DesiredState uses on children: it reads before it writes, applies (which creates), and prunes.
KUBE_EXPORT const std::vector<std::string>& ApplyVerbs();

template <Resource T>
AccessNeed Need(std::vector<std::string> verbs, std::string name = {}, std::string subresource = {}) {
  const Gvr gvr = GvrOf<T>();
  AccessNeed need{.group = gvr.group.str(),
                  .resource = gvr.resource.str() + (subresource.empty() ? "" : "/" + subresource),
                  .verbs = std::move(verbs),
                  .name = std::move(name)};
  if (!IsNamespaced<T>()) need.ns = "";
  return need;
}

struct RbacOptions {
  std::string name = "manager";  // of the roles
  // Who gets them: with both, a ServiceAccount and the bindings are there too. Without, a Role for kOwnNamespace has no namespace: kubectl
  // apply -n NAMESPACE puts it where the program runs.
  std::string service_account{};
  std::string service_account_namespace{};
};

// The namespace of AccessNeeds that are about the namespace that the program itself runs in, where that is not known.
inline constexpr std::string_view kOwnNamespace = "@own";

// One document for each role, in YAML; needs are merged and sorted, and what is granted everywhere is not granted again for a namespace.
KUBE_EXPORT std::string RbacYaml(const std::vector<AccessNeed>& needs, const RbacOptions& options = {});

struct AccessReport {
  std::vector<AccessNeed> missing{};  // as they were given, with the verbs that are refused
  std::size_t asked = 0;              // reviews that were answered
  // Why not all could be asked: the server does not know such reviews, or is not there. What is in `missing` was answered, though.
  std::optional<Error> unknown{};

  // All empty where nothing is missing.
  KUBE_EXPORT std::string Summary() const;  // "watch services in all namespaces (controller x watches it); ..."
  // The rules that would allow it, each on a line of its own kind: "ClusterRole: {apiGroups: [''], resources: [services], verbs: [watch]}"
  KUBE_EXPORT std::vector<std::string> Rules() const;
  // Both, with the rules as RbacYaml has them.
  KUBE_EXPORT std::string ToString(const RbacOptions& options = {}) const;
};

struct ReviewOptions {
  int parallel = 8;                                             // reviews at a time
  std::chrono::nanoseconds timeout = std::chrono::seconds(10);  // for all of them
};

// One SelfSubjectAccessReview for each verb, resource, namespace and name, each of them once.
//
// Thread safety: may be called from many threads at once.
// Blocking and cancellation: waits for the answers, `timeout` at most; ends with the context.
// Errors: the context's. What the server cannot answer is in the report.
// Cost: a request for each of them, `parallel` at a time; after one that the server cannot answer, no further ones.
KUBE_EXPORT Result<AccessReport> ReviewAccess(const Context& ctx, const Client& client, const std::vector<AccessNeed>& needs,
                                              const ReviewOptions& options = {});

}  // namespace kube
