// `kubexx generate types`: from CustomResourceDefinitions to the texts of headers, and the proof that these make the same definitions.
//
//   Types types = MakeTypes({{crd, "crds.yaml"}}, {}, problems);
//   if (!problems.has_errors()) for (const OutputFile& file : types.files) Write("api/" + file.path, file.text);
//
// The headers are read again, and the CRDs made of them compared with those that came in. What differs is a warning with the path:
// "networks.example.com version v1: spec.ports[*].name: pattern differs". Left out: what CrdReading::builtins says, since descriptions of
// structs of kubexx are not shipped, descriptions of apiVersion, kind and metadata, blanks at the ends of descriptions and of their lines,
// conversion, and annotations of tools.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generate/crd_reader.h"
#include "generate/generate.h"
#include "generate/problems.h"
#include "kube/value/value.h"

namespace kube::generate {

struct Types {
  std::vector<OutputFile> files;  // with paths relative to the folder of headers: "v1/network_types.h"
  bool has_doubles = false;       // kubexx generate needs --allow-dangerous-types for them
};

// The definitions in a text of YAML or JSON, also in lists; objects of other kinds are skipped. `where` names the text in errors.
void FindCrds(std::string_view text, const std::string& where, std::vector<CrdInput>& out, Problems& problems);

// No files if there were errors.
Types MakeTypes(const std::vector<CrdInput>& crds, const CrdReaderOptions& options, Problems& problems);

// Where two definitions differ: `theirs` came in, `ours` was made of the header. `builtins`: see CrdReading.
std::vector<std::string> CompareCrds(const Value& theirs, const Value& ours, const std::set<std::string>& builtins);

}  // namespace kube::generate
