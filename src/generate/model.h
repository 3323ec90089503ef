// The model in the middle: front ends (C++ headers, CRDs, OpenAPI, Go) fill it, back ends (tables, headers, CRDs, samples, docs) read it.
//
//   Model model;
//   Problems problems;
//   ReadHeader("api/v1/network_types.h", text, model, problems);   // header_reader.h
//   ResolveTypes(model, builtins, problems);                       // resolve.h
//   std::vector<Crd> crds = MakeCrds(model, builtins, options, problems);
//
// Names are qualified as C++ writes them: "samplecrd::v1::NetworkSpec". Every declaration has the position where it stands, so that each
// back end can name file, line and column in its errors.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "generate/problems.h"
#include "kube/value/value.h"

namespace kube::generate {

// ---- Types ----

enum class Scalar : std::uint8_t {
  kBool,
  kInt32,
  kInt64,
  kDouble,
  kString,
  kBytes,
  kQuantity,
  kTime,
  kMicroTime,
  kDuration,
  kIntOrString,
  kRawJson,
};

enum class TypeForm : std::uint8_t {
  kUnresolved,  // a name that ResolveTypes has not looked up, or did not find
  kScalar,
  kOptional,  // std::optional<element>
  kBox,       // kube::Box<element>
  kList,      // kube::List<element>
  kMap,       // kube::Map<element>; keys are strings
  kAlias,     // `name` is an Alias of the model
  kStruct,    // `name` is a Struct of the model
  kBuiltin,   // `name` is a struct of kubexx: "kube::core::v1::PodTemplateSpec"
};

// What a member's C++ type says. Template arguments are `element`, one at most.
struct Type {
  TypeForm form = TypeForm::kUnresolved;
  Scalar scalar = Scalar::kBool;
  std::string name;                     // as written for kUnresolved, qualified for kAlias, kStruct and kBuiltin
  std::shared_ptr<const Type> element;  // kOptional, kBox, kList, kMap
  Position at;

  // As C++ writes it: "kube::List<samplecrd::v1::Port>".
  std::string Spelling() const;
};

// ---- Markers ----

// One marker with its arguments, read by markers.h.
struct Marker {
  std::string name;    // without `items:`: "kubebuilder:validation:MaxLength"
  bool items = false;  // kubebuilder:validation:items:...
  Value value;         // of a marker with one unnamed argument
  Value arguments;     // of a marker with named arguments: an object
  Position at;
};

// ---- Declarations ----

struct Field {
  std::string name;  // of the C++ member
  std::string json;  // empty for an inlined struct
  bool inlined = false;
  Type type;
  std::string description;
  std::vector<Marker> markers;
  Position at;

  const Marker* Find(std::string_view marker) const;
};

enum class StructRole : std::uint8_t { kPart, kKind, kKindList };

struct Struct {
  std::string name;       // "NetworkSpec"
  std::string scope;      // its namespace: "samplecrd::v1"
  std::string qualified;  // both
  StructRole role = StructRole::kPart;
  std::vector<Field> fields;  // in the order of declaration
  std::string description;
  std::vector<Marker> markers;
  Position at;
  std::size_t file = 0;  // in Model::files

  const Marker* Find(std::string_view marker) const;
};

// `using Phase = kube::String;` with the constants that belong to it.
struct Alias {
  std::string name;
  std::string scope;
  std::string qualified;
  Type type;
  std::vector<std::string> constants;  // values of string constants named k<Alias>..., in the order of declaration
  std::string description;
  std::vector<Marker> markers;
  Position at;
  std::size_t file = 0;

  const Marker* Find(std::string_view marker) const;
};

// One header. Its markers decide about everything that it declares.
struct File {
  std::string path;
  std::string group;
  std::string version;
  bool skip = false;              // +kubebuilder:skip: no kinds
  bool required_default = false;  // +kubebuilder:validation:Required: fields are required unless +optional
  bool given = true;              // false for a header that another one includes: it is read for its types only
  bool source = false;            // C++ of the program, of which only markers are read: source_reader.h
  std::vector<std::string> includes;
  std::vector<Marker> markers;
};

struct Model {
  std::vector<File> files;
  std::vector<Struct> structs;
  std::vector<Alias> aliases;
  std::map<std::string, std::string, std::less<>> namespace_aliases;  // qualified name -> what it stands for, as written

  const Struct* FindStruct(std::string_view qualified) const;
  const Alias* FindAlias(std::string_view qualified) const;
  const File& FileOf(const Struct& s) const { return files[s.file]; }

  // Rebuilds what FindStruct and FindAlias use; after the last declaration was added.
  void Index();

 private:
  std::map<std::string, std::size_t, std::less<>> struct_index_, alias_index_;
};

// "run_as_user" becomes "runAsUser", "namespace_" becomes "namespace": the JSON name of a member without +kube:json.
std::string LowerCamel(std::string_view member);

}  // namespace kube::generate
