// The manifests of a program, besides its CRDs: markers and registrations combined.
//
//   ProgramManifests made = MakeProgramManifests(model, printed, "manager-role", problems);
//
// Each kind of object that `--print-manifests` prints has a file, and a function that merges it with its markers: roles.h, webhooks.h. For
// a CustomResourceDefinition only the conversion is used, and merged into the generated one.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "generate/model.h"
#include "generate/problems.h"
#include "kube/value/value.h"

namespace kube::generate {

// YAML documents; empty if there are none.
struct ProgramManifests {
  std::string roles;                                      // rbac/role.yaml
  std::string webhooks;                                   // webhook/manifests.yaml
  std::map<std::string, Value, std::less<>> conversions;  // spec.conversion, by the name of the CustomResourceDefinition
};

// `printed`: the output of the program; unset without one.
ProgramManifests MakeProgramManifests(const Model& model, const std::optional<std::string>& printed, const std::string& role_name,
                                      Problems& problems);

}  // namespace kube::generate
