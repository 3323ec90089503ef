// From names to types: what the names in a model mean, and which structs are kinds.
#pragma once

#include "generate/builtin_types.h"
#include "generate/model.h"
#include "generate/problems.h"

namespace kube::generate {

// Looks every type name up as C++ does, from the innermost namespace outwards, in the model and in kubexx. Unknown names and types that a
// field cannot have are errors that say what to write. After it, no type of an accepted model is kUnresolved.
void ResolveTypes(Model& model, BuiltinTypes& builtins, Problems& problems);

// Behind aliases: the type that `type` is in the end. Null if aliases go round in a circle.
const Type* Underlying(const Model& model, const Type& type);

}  // namespace kube::generate
