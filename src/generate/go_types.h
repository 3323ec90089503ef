// The Go front end: packages with kubebuilder markers as a part of the model.
//
//   GoPackages packages({}, problems);
//   ReadGoTypes({packages.Read("api/v1")}, packages, model, problems);
//   std::string header = WriteHeader(model, 0, problems);    // header_writer.h
//
// Each package becomes a file of the model: the kinds of the given packages with everything they use, and from imported packages what is
// used. Types, tags and markers have controller-gen's meaning:
//   int32, string, []T, map[string]T, *T      std::int32_t, kube::String, kube::List<T>, kube::Map<T>, std::optional<T> or kube::Box<T>
//   type Phase string                         an alias with its constants
//   metav1.Time, corev1.PodSpec ...           kubexx's own types: go_builtins.h
//   MarshalJSON                               the type of +kubebuilder:validation:Type; without it the fields, or raw JSON if they have
//                                             no tags
//   MarshalText                               kube::String
//   a field without omitempty, or +required   +required, as the package's default decides
// Integers without a size have no format in a schema, which becomes `+kubebuilder:validation:Format=""`. Interfaces, functions, channels,
// generic types, and structs without a name are errors that say what to write instead.
#pragma once

#include <string>
#include <vector>

#include "generate/go_package.h"
#include "generate/model.h"
#include "generate/problems.h"
#include "generate/types.h"

namespace kube::generate {

// Resolves types and indexes the model. Paths of files are "<group>/<version>/types.h".
void ReadGoTypes(const std::vector<const GoPackage*>& given, GoPackages& packages, Model& model, Problems& problems);

// The headers of the packages in these folders. No files if there were errors.
Types MakeGoTypes(const std::vector<std::string>& folders, const GoPackageOptions& options, Problems& problems);

}  // namespace kube::generate
