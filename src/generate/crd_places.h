// Where in the headers something comes from that a server refuses about a CRD.
//
//   CrdPlace place = PlaceOf(model, crd, "spec.validation.openAPIV3Schema.properties[spec].properties[size].default");
//   place.at      // the line of +kubebuilder:default above `size`
//   place.what    // "field size: marker +kubebuilder:default"
#pragma once

#include <string>
#include <string_view>

#include "generate/crd.h"
#include "generate/model.h"

namespace kube::generate {

struct CrdPlace {
  Position at;
  std::string what;    // the declaration or marker, for a message
  std::string remedy;  // what to change
};

// `path` as servers write it in the errors about a CustomResourceDefinition. What is not found is the kind's place.
CrdPlace PlaceOf(const Model& model, const Crd& crd, std::string_view path);

}  // namespace kube::generate
