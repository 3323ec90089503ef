// From structs to the OpenAPI schema of a CRD, with controller-gen's results.
//
//   SchemaMaker maker(model, builtins, {}, problems);
//   Value schema = maker.KindSchema(network);     // versions[].schema.openAPIV3Schema
//
// The schema of a field combines that of its type with the field's markers. What both set and cannot be merged goes into allOf, as in
// controller-gen.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "generate/builtin_types.h"
#include "generate/model.h"
#include "generate/problems.h"
#include "kube/value/value.h"

namespace kube::generate {

struct SchemaOptions {
  bool allow_dangerous_types = false;  // double
  bool embedded_object_meta = false;   // ObjectMeta inside of a spec keeps name, namespace, labels, annotations and finalizers
  std::optional<int> max_description;  // bytes of a description; 0 omits all
};

// Where a schema under construction stores +kube:schema.
inline constexpr std::string_view kRawKeys = "$kube";

class SchemaMaker {
 public:
  SchemaMaker(const Model& model, BuiltinTypes& builtins, const SchemaOptions& options, Problems& problems)
      : model_(model), builtins_(builtins), options_(options), problems_(problems) {}

  // The whole schema of a kind, without references.
  Value KindSchema(const Struct& kind);
  // The whole schema of a struct of the model or of kubexx, by its qualified name.
  Value WholeSchema(const std::string& qualified);

 private:
  // A schema that may refer to others by "$ref".
  Value TypeSchema(const Type& type, const Field& field);
  Value FieldSchema(const Field& field);
  Value StructSchema(const Struct& s);
  Value AliasSchema(const Alias& alias);
  Value NamedSchema(const std::string& name);
  bool IsRequired(const Struct& s, const Field& field);
  void AddOneOfChecks(const Struct& s);

  // Without references: the type's schema and the field's, combined by allOf.
  const Value& Expanded(const std::string& name);
  // `owner`: the struct whose schema it is, for the places of its fields.
  void Expand(Value& schema, const Struct* owner = nullptr);

  // A key of the schema, or of its allOf: the field's own part comes last, and takes precedence over the type's.
  static const Value* FindInParts(const Value& schema, std::string_view key);
  // What a marker may be applied to: the final type of a schema.
  std::string EffectiveType(const Value& schema);
  bool IsTextual(const Value& schema);
  void Apply(const std::vector<Marker>& markers, Value& schema, const Alias* alias);
  void ApplyOne(const Marker& marker, Value& schema, const Alias* alias);
  void ApplyNumber(const Marker& marker, std::string_view key, Value& schema);
  void ApplyKeys(const Marker& marker, Value& schema);
  void ApplyRule(const Marker& marker, Value& schema);
  void ApplyEnum(const Alias* alias, const Marker& marker, Value& schema);

  const Model& model_;
  BuiltinTypes& builtins_;
  const SchemaOptions& options_;
  Problems& problems_;
  struct Named {
    Value schema;
    std::size_t nodes = 0;  // schemas in it, counting each time that they stand there
  };
  std::map<std::string, Named, std::less<>> expanded_;
  std::size_t nodes_ = 0;          // of the schema being expanded
  std::vector<std::string> open_;  // types being expanded, outermost first
  Position at_;                    // of the field whose type is expanded
};

// The order of values of +k8s:enum: that of their JSON as written by Go, where "a b" comes before "a".
bool StandsBeforeInEnum(const std::string& a, const std::string& b);

// Merges each schema's allOf into it, and sets the keys of +kube:schema, recursively.
void FlattenAllOf(Value& schema, const Position& at, Problems& problems);

// Cuts descriptions at a sentence or word, as controller-gen does.
void TruncateDescriptions(Value& schema, int max_bytes);

}  // namespace kube::generate
