// CustomResourceDefinitions (apiextensions.k8s.io/v1) of the kinds of a model.
//
//   std::vector<Crd> crds = MakeCrds(model, builtins, {}, problems);
//   for (const Crd& crd : crds) Write("crd/" + crd.file_name, crd.ToYaml());
//
// The same kind in several versions becomes one CRD. Everything is checked before it is returned: names, versions, paths, defaults, and
// the schema as the embedded API server would. If there were errors the result is not complete and must not be written.
#pragma once

#include <string>
#include <vector>

#include "generate/builtin_types.h"
#include "generate/model.h"
#include "generate/problems.h"
#include "generate/schema.h"
#include "kube/value/value.h"

namespace kube::generate {

struct CrdOptions {
  SchemaOptions schema;
  int min_kubernetes = 0;  // 31 for 1.31: what older servers lack is an error; 0: any server
  std::string header;      // text at the top of the file, as YAML comments
};

struct Crd {
  std::string file_name;  // "<group>_<plural>.yaml"
  Value object;
  std::vector<const Struct*> kinds;  // one per version, sorted by version

  std::string ToYaml(const std::string& header = "") const;
};

// Sorted by file name.
std::vector<Crd> MakeCrds(const Model& model, BuiltinTypes& builtins, const CrdOptions& options, Problems& problems);

// "networks": what +kubebuilder:resource:path says, or the plural of the kind.
std::string ResourceOf(const Struct& kind);
bool IsNamespaced(const Struct& kind);

}  // namespace kube::generate
