// config/rbac/role.yaml: the rules of +kubebuilder:rbac markers and those of what the program registers.
//
// Rules are merged as controller-gen merges them: equal ones are united, by verbs, then resources, groups and URLs, and sorted. There is
// one role for each namespace and name: a ClusterRole without a namespace, else a Role.
#pragma once

#include <string>
#include <vector>

#include "generate/model.h"
#include "generate/problems.h"
#include "kube/value/value.h"

namespace kube::generate {

// `program`: the ClusterRoles and Roles that the program printed. They and markers without roleName make the roles called `name`. A Role
// that the program printed without a namespace, for the one it runs in, keeps none.
std::vector<Value> MakeRoles(const std::vector<Marker>& markers, const std::vector<Value>& program, const std::string& name,
                             Problems& problems);

// Documents, each behind a line of dashes.
std::string RolesYaml(const std::vector<Value>& roles);

}  // namespace kube::generate
