// JsonSchema: the OpenAPI v3 schema of a CustomResourceDefinition as a tree, and the validation of values against it.
//
//   JsonSchema schema = ParseJsonSchema(crd["spec"]["versions"].list()[0]["schema"]["openAPIV3Schema"]);
//   std::vector<FieldError> errors = ValidateJson(schema, "", object, &old_object);
//
// Patterns are those of RE2, which is the language of Go's regexp package, and like that one never takes more than linear time.
// Thread safety: a JsonSchema does not change once it is parsed; functions are pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/errors.h"
#include "kube/base/export.h"
#include "kube/value/value.h"

namespace kube::apiserver {

// A compiled regular expression.
class KUBE_EXPORT Pattern {
 public:
  explicit Pattern(std::string_view text);
  ~Pattern();
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  // Empty if it is valid; else what Go says: "error parsing regexp: missing closing ): `(`".
  const std::string& error() const { return error_; }
  // Anywhere in the text. False if the pattern is not valid.
  bool Matches(std::string_view text) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::string error_;
};

struct JsonSchema {
  // Out of line: schemas hold schemas.
  JsonSchema();
  JsonSchema(JsonSchema&& other) noexcept;
  JsonSchema& operator=(JsonSchema&& other) noexcept;
  ~JsonSchema();

  std::string type, format, title, description, pattern;
  std::shared_ptr<const Pattern> compiled;  // if there is a pattern
  std::optional<Value> default_value;
  bool nullable = false;
  std::optional<double> maximum, minimum, multiple_of;
  bool exclusive_maximum = false, exclusive_minimum = false;
  std::optional<std::int64_t> max_length, min_length, max_items, min_items, max_properties, min_properties;
  bool unique_items = false;
  std::vector<Value> enum_values;
  std::vector<std::string> required;
  std::vector<JsonSchema> all_of, any_of, one_of;
  std::unique_ptr<JsonSchema> not_schema;
  std::unique_ptr<JsonSchema> items;
  std::vector<std::pair<std::string, JsonSchema>> properties;  // sorted
  bool has_additional = false;                                 // additionalProperties is there
  bool additional_allowed = false;                             // it is `true` or a schema
  std::unique_ptr<JsonSchema> additional;                      // it is a schema

  std::optional<bool> preserve_unknown_fields;
  bool embedded_resource = false;
  bool int_or_string = false;
  std::vector<std::string> list_map_keys;
  std::optional<std::string> list_type, map_type;
  Value validations;  // CEL rules, as they stand

  // What a structural schema may not have.
  bool items_is_array = false;
  bool has_id = false, has_schema = false, has_ref = false, has_pattern_properties = false, has_dependencies = false,
       has_additional_items = false, has_definitions = false;
  Value external_docs, example;

  const JsonSchema* Property(std::string_view name) const;
  bool preserves_unknown() const { return preserve_unknown_fields.value_or(false); }
};

// Never fails: members of a wrong type count as absent (the CRD's own table has checked them). Nesting is that of the JSON, so at most
// kMaxDecodeDepth.
JsonSchema ParseJsonSchema(const Value& json);

// Objects are checked against the schema as served. Defaults in the schema are checked against it as it stands, which is stricter with
// formats and laxer with x-kubernetes-int-or-string.
enum class SchemaUse : std::uint8_t { kObjects, kDefaults };

// The errors of a real server, in its words. `root` is the path of the value ("" for an object, "status" for its status alone).
// `old`: the value that is stored now; what was wrong in it already and did not change is let through. Null on creation.
std::vector<FieldError> ValidateJson(const JsonSchema& schema, std::string_view root, const Value& value, const Value* old,
                                     SchemaUse use = SchemaUse::kObjects);

// True if the text is of a string format that servers know; unknown formats take everything. `format` as in the schema.
bool MatchesFormat(std::string_view format, std::string_view text);
bool IsKnownFormat(std::string_view format);

// A number as Go's %v prints a float64.
std::string PrintGoFloat(double d);

}  // namespace kube::apiserver
