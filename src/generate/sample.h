// Sample objects: what a user of a kind would write first.
//
//   for (const Sample& sample : MakeSamples(crds, model)) Write("samples/" + sample.file_name, sample.ToYaml());
//
// A sample has the required fields, and optional ones with an example or a default. Values come from examples, defaults and the schema, and
// are checked as `kubexx crd validate` does. What a sample does not satisfy, and CEL rules, which are not evaluated, are comments at the
// top.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generate/crd.h"
#include "generate/model.h"
#include "kube/value/value.h"

namespace kube::generate {

struct Sample {
  std::string file_name;  // as kubebuilder names it: "<group without its domain>_<version>_<kind>.yaml"
  Value object;
  const Crd* crd = nullptr;
  const Struct* kind = nullptr;
  std::vector<std::string> wrong;      // why a server would refuse it: "spec.code: Invalid value: ..."
  std::vector<std::string> unchecked;  // CEL rules that apply to it: "spec: size, or a color"
  std::vector<std::string> optional;   // fields of a spec that has optional fields only

  std::string ToYaml() const;
};

// One for each served version, sorted by file name. `crds` have to be without errors.
std::vector<Sample> MakeSamples(const std::vector<Crd>& crds, const Model& model);

// What a server would refuse in the objects of this kind that the YAML holds: "spec.code: Required value". Other objects are not read.
std::vector<std::string> CheckSample(const Crd& crd, std::string_view yaml);

}  // namespace kube::generate
