// The manifests of a program, beside its CRDs: what markers say and what the program registers, in one.
//
//   ProgramManifests made = MakeProgramManifests(model, printed, "manager-role", problems);
//
// Each kind of object that `--print-manifests` prints has a file, and a function that merges it with the markers for it: roles.h,
// webhooks.h. Of a CustomResourceDefinition its conversion is merged into the one that headers make.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "generate/model.h"
#include "generate/problems.h"
#include "kube/value/value.h"

namespace kube::generate {

// Documents in YAML; empty without any.
struct ProgramManifests {
  std::string roles;                                      // rbac/role.yaml
  std::string webhooks;                                   // webhook/manifests.yaml
  std::map<std::string, Value, std::less<>> conversions;  // spec.conversion, by the name of the CustomResourceDefinition
};

// `printed`: the output of the program; unset without one.
ProgramManifests MakeProgramManifests(const Model& model, const std::optional<std::string>& printed, const std::string& role_name,
                                      Problems& problems);

}  // namespace kube::generate
