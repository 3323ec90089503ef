// BuiltinTypes: the structs of kubexx (kube::core::v1::PodTemplateSpec) as the model sees them, for kinds that embed one.
//
//   const Struct* pod = BuiltinTypes::Get().Find("kube::core::v1::PodTemplateSpec");   // null if there is none
//
// The field tables of the library lack what a schema needs (which fields are required, validation), so the generator of the built-in kinds
// writes a text with it: codegen/schemas.py. Descriptions are left out: they are not ours to ship. The text has one line for each thing:
//
//   M +structType=atomic                   a marker of what stands above: here the struct itself
//   R containerPort std::int32_t           a required field: its JSON name and type; F is an optional one, I an inlined struct
//   M +k8s:minimum=1
//
// Thread safety: none. Cost: Find parses a struct when it is asked for first.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "generate/model.h"

namespace kube::generate {

// One struct in that format: its qualified name and its lines.
struct BuiltinText {
  std::string_view name, lines;
};

// A type as these lines spell it: "kube::List<kube::core::v1::Container>".
Type ParseBuiltinType(std::string_view text);

class BuiltinTypes {
 public:
  // `texts` have to outlive it, sorted by name.
  explicit BuiltinTypes(std::span<const BuiltinText> texts) : texts_(texts) {}
  // Those of this release.
  static BuiltinTypes& Get();

  // Null if there is no such struct.
  const Struct* Find(std::string_view qualified);
  bool Has(std::string_view qualified) const { return TextOf(qualified) != nullptr; }

 private:
  const BuiltinText* TextOf(std::string_view qualified) const;

  std::span<const BuiltinText> texts_;
  std::map<std::string, std::unique_ptr<const Struct>, std::less<>> parsed_;
};

// The structs of this release: builtin_types_data.cc, generated.
std::span<const BuiltinText> BuiltinTexts();

}  // namespace kube::generate
