// Searches C++ of any kind for the markers of a program: +kubebuilder:rbac, +kubebuilder:webhook and +kubebuilder:webhookconfiguration.
//
// Programs have these markers where the code is that needs them, above a reconciler for example. Such files are not read as headers of
// types are: only their comments and their #include lines count. Preprocessor conditions do not.
#pragma once

#include <string>
#include <string_view>

#include "generate/markers.h"
#include "generate/model.h"
#include "generate/problems.h"

namespace kube::generate {

// Appends a File with its markers and includes to `model`. Misspelt kubebuilder: markers are reported; those of types are passed over.
void ReadSource(const std::string& path, std::string_view text, const MarkerOptions& options, Model& model, Problems& problems);

}  // namespace kube::generate
