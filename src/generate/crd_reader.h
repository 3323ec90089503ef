// A front end of the model: CustomResourceDefinitions as annotated structs, the way back of crd.h.
//
//   ReadCrds({{crd, "crds.yaml"}}, {}, BuiltinTypes::Get(), model, problems);
//   std::string text = WriteHeader(model, 0, problems);               // header_writer.h
//
// Each version of each kind becomes a file, "v1/network_types.h", with the structs that its schema needs; those that several kinds need are
// in "v1/common_types.h". With several groups the group comes first: "apps/v1/...". The choices:
//   - A schema that is that of a struct of kubexx (Condition, ResourceRequirements) uses it.
//   - Equal schemas of one group and version share a struct. Its name is that with which its documentation begins, or the end of the
//     shortest path to it: GatewayListener.
//   - Enums of strings are aliases with constants; a schema of its own inside of a list or map is an alias, too.
//   - What may be absent is kube::Box for structs and std::optional for scalars, unless the schema does not allow their zero anyway.
//   - Validation becomes markers; what no marker of kubebuilder says is in +kube:schema. What has no C++ type is kube::RawJson.
//
// Errors name the definition and the path in its schema. Nothing of a definition with errors is in the model.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "generate/builtin_types.h"
#include "generate/model.h"
#include "generate/problems.h"
#include "kube/value/value.h"

namespace kube::generate {

struct CrdInput {
  Value crd;
  std::string where;  // "crds.yaml: document 2", for messages; may be empty
};

// When a schema is taken for a struct of kubexx. Descriptions do not count.
enum class BuiltinUse : std::uint8_t {
  kEqual,
  kSubset,  // also with some of its fields only; the CRD that is made of the header has all of them
  kNever,
};

struct CrdReaderOptions {
  std::string name_space;  // of C++, without the version; empty: made from the group
  BuiltinUse builtins = BuiltinUse::kEqual;
};

// What the model does not say.
struct CrdReading {
  std::set<std::string> builtins;  // where structs of kubexx stand: "networks.example.com/v1: spec.conditions[*]"
  bool has_doubles = false;        // kubexx generate needs --allow-dangerous-types
};

CrdReading ReadCrds(const std::vector<CrdInput>& crds, const CrdReaderOptions& options, BuiltinTypes& builtins, Model& model,
                    Problems& problems);

}  // namespace kube::generate
