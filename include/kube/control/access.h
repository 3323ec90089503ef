// RBAC permissions of a program: the rules that it needs, and whether the API server grants them.
//
//   AccessNeed         verbs on a resource, in one namespace or in all of them
//   RbacYaml           the least privilege for a list of needs, as a ClusterRole and Roles for kubectl apply
//   ReviewAccess       asks the API server about each need and reports the rules that are missing
//
//   manager.Needs(Need<Secret>({"get"}, "settings"));          // beyond what its controllers declare: see ControllerBuilder::MayApply
//   std::cout << manager.RbacYaml({.name = "auto-expose"});    // --print-rbac
//
//   Result<AccessReport> report = ReviewAccess(ctx, client, manager.needs());
//   if (report && !report->missing.empty()) log.Warn(report->ToString());
//
// A Manager does all of this at startup (ManagerOptions::preflight). The functions are for programs without a Manager.
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

// A permission that the program needs. Example: {.group = "apps", .resource = "deployments/status", .verbs = {"patch"}}
struct AccessNeed {
  // The API group; empty for the core group.
  std::string group{};
  // The plural name, with the subresource if there is one: "deployments/status".
  std::string resource{};
  std::vector<std::string> verbs{};  // "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"
  // Empty for all namespaces or a cluster-scoped resource. Unset for the namespaces that the manager watches, which are all by default.
  std::optional<std::string> ns{};
  // Limits the need to the object of this name. RBAC cannot limit create, list and watch this way (but see selects_name).
  std::string name{};
  // list and watch select `name` alone (field selector metadata.name), so RBAC can limit them too.
  bool selects_name = false;
  std::string path{};  // a nonResourceURL instead of a resource: "/metrics"
  std::string why{};   // the reason, for messages: "controller auto-expose watches it"

  friend bool operator==(const AccessNeed&, const AccessNeed&) = default;
};

// The verbs that DesiredState uses on children: get and list, patch and create for server-side apply, delete to prune.
KUBE_EXPORT const std::vector<std::string>& ApplyVerbs();

// A need for `verbs` on T; on the object `name` only, if it is given.
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

// Options of RbacYaml.
struct RbacOptions {
  std::string name = "manager";  // of the ClusterRole and the Roles
  // The subject of the bindings. If both are set, the output also has the ServiceAccount and the bindings. If they are not, a Role for
  // kOwnNamespace has no namespace, so that kubectl apply -n NAMESPACE creates it in the program's namespace.
  std::string service_account{};
  std::string service_account_namespace{};
};

// Stands for the program's own namespace in AccessNeed::ns if that namespace is not known.
inline constexpr std::string_view kOwnNamespace = "@own";

// Returns the roles as YAML documents, one for each role. Needs are merged and sorted; a cluster-wide grant is not repeated for a
// namespace.
KUBE_EXPORT std::string RbacYaml(const std::vector<AccessNeed>& needs, const RbacOptions& options = {});

// The outcome of ReviewAccess.
struct AccessReport {
  std::vector<AccessNeed> missing{};  // the needs as given, with the refused verbs only
  std::size_t asked = 0;              // reviews that were answered
  // Why some reviews have no answer: the API server does not support them or is unreachable. `missing` holds answered reviews only.
  std::optional<Error> unknown{};

  // All three are empty if nothing is missing.
  KUBE_EXPORT std::string Summary() const;  // "watch services in all namespaces (controller x watches it); ..."
  // The rules to add, one per line with the kind of role first: "ClusterRole: {apiGroups: [''], resources: [services], verbs: [watch]}"
  KUBE_EXPORT std::vector<std::string> Rules() const;
  // The summary and the roles to add, in RbacYaml's format.
  KUBE_EXPORT std::string ToString(const RbacOptions& options = {}) const;
};

// Options of ReviewAccess.
struct ReviewOptions {
  int parallel = 8;                                             // reviews in flight at a time
  std::chrono::nanoseconds timeout = std::chrono::seconds(10);  // for all reviews together
};

// Sends one SelfSubjectAccessReview for each distinct combination of verb, resource, namespace and name.
//
// Thread safety: may be called from many threads at once.
// Blocking and cancellation: waits for the answers, for at most `timeout`; ends with the context.
// Errors: the context's. Reviews that the API server cannot answer are in the report.
// Cost: one request per review, `parallel` at a time. No more are sent once the API server fails to answer one.
KUBE_EXPORT Result<AccessReport> ReviewAccess(const Context& ctx, const Client& client, const std::vector<AccessNeed>& needs,
                                              const ReviewOptions& options = {});

}  // namespace kube
