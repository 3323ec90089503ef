// Kinds of an OpenAPI document, version 2 or 3, as CustomResourceDefinitions: the front end of crd_reader.h for what clusters and other
// projects publish.
//
//   ReadOpenApi({{document, "openapi.json"}}, {"Network"}, BuiltinTypes::Get(), crds, problems);
//
// References are followed. Kubernetes' own types (io.k8s.api.core.v1.PodSpec) become the schemas of kubexx's structs. A type that contains
// itself, and what structural schemas cannot say (oneOf with other types, patternProperties), become any JSON, with a warning that names
// the path. The plural, the scope and the status subresource are those of the document's paths; without paths the kind is namespaced.
#pragma once

#include <string>
#include <vector>

#include "generate/builtin_types.h"
#include "generate/crd_reader.h"
#include "generate/problems.h"
#include "kube/value/value.h"

namespace kube::generate {

struct OpenApiInput {
  Value document;
  std::string where;
};

// `kinds`: "Network", which has to be in one group, or "samplecrd.k8s.io/v1/Network", which may also name a schema that does not say what
// kind it is. Versions of one kind become one definition.
void ReadOpenApi(const std::vector<OpenApiInput>& documents, const std::vector<std::string>& kinds, BuiltinTypes& builtins,
                 std::vector<CrdInput>& out, Problems& problems);

}  // namespace kube::generate
