// Checks of a CRD beyond those of single markers.
#pragma once

#include "generate/crd.h"

namespace kube::generate {

// Warns of enum values that their field or alias never holds.
void CheckEnums(const Model& model, Problems& problems);

// Checks defaults of the kind's fields: those that do not fit, and those that a plain number or bool cannot distinguish from zero.
void CheckDefaults(const Model& model, const Struct& s, Problems& problems);

// Checks that the JSONPaths of printer columns, scale and selectable fields name fields of the schema.
void CheckPaths(const Struct& kind, const Value& schema, Problems& problems);

// Reports what Kubernetes 1.<min_kubernetes> does not support. Errors are placed at the marker, if one is found.
void CheckFeatures(const Model& model, const Struct& kind, const Value& version, int min_kubernetes, Problems& problems);

// Runs the checks of the embedded API server, and checks the size of the file. Errors are placed at the field or marker that they are
// about.
void CheckAsServer(const Model& model, const Crd& crd, Problems& problems);

// The error of a path into objects of this schema; empty if there is none.
std::string PathProblem(std::string_view path, const Value& schema);

}  // namespace kube::generate
