// What is wrong with a CRD beyond what its markers say one by one.
#pragma once

#include "generate/crd.h"

namespace kube::generate {

// Warns of values of enums that their field or alias never holds.
void CheckEnums(const Model& model, Problems& problems);

// Fields of the kind's structs: defaults that do not fit, and that a plain number or bool could not tell from its zero.
void CheckDefaults(const Model& model, const Struct& s, Problems& problems);

// JSONPaths of printer columns, scale and selectable fields name fields of the schema.
void CheckPaths(const Struct& kind, const Value& schema, Problems& problems);

// What Kubernetes 1.<min_kubernetes> does not know. Errors stand at the marker, if one is found.
void CheckFeatures(const Model& model, const Struct& kind, const Value& version, int min_kubernetes, Problems& problems);

// The checks of the embedded API server, and the size of the file. Errors stand at the field or marker that they are about.
void CheckAsServer(const Model& model, const Crd& crd, Problems& problems);

// What is wrong with a path into objects of this schema; empty if nothing is.
std::string PathProblem(std::string_view path, const Value& schema);

}  // namespace kube::generate
