// The RBAC roles and bindings that a server of Kubernetes 1.36 makes at its start, as text.
//
//   ClusterRole NAME [>ROLE]...     ">view": a part of the aggregated role `view`;  "<view": aggregates the parts of it
//     VERBS GROUPS RESOURCES [NAMES]      a rule; the core group is "-"
//     VERBS / URLS
//   ClusterRoleBinding NAME KIND-OF-ROLE ROLE [SUBJECTS]
//
// Roles and RoleBindings have NAMESPACE/NAME. What all have in common, one label and one annotation, is not here (bootstrap.cc).
#pragma once

#include <string_view>

namespace kube::apiserver::builtin {

extern const std::string_view kBootstrapPolicy;

}  // namespace kube::apiserver::builtin
