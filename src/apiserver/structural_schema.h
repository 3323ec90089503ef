// StructuralSchema: validates, prunes and defaults the objects of a CustomResourceDefinition's version.
//
//   std::vector<FieldError> errors = CheckCrdSchema(json, "spec.versions[0].schema.openAPIV3Schema", has_status);   // the CRD itself
//   std::shared_ptr<const StructuralSchema> schema = StructuralSchema::Make(json);
//   Result<std::vector<std::string>> unknown = schema->Normalize(object);   // each request: pruned, defaulted; paths of unknown fields
//   errors = schema->Validate(object, old);
//   SchemaRef for_apply = schema->ToApplySchema();
//
// Do not use a CRD whose check reported errors: Make() takes any schema, but results are defined only for structural ones. CEL rules
// (x-kubernetes-validations) are stored, not evaluated: see has_cel_rules().
//
// Thread safety: immutable. Cost: linear in the object; validation also in the branches of anyOf, oneOf and allOf.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/errors.h"
#include "apiserver/json_schema.h"
#include "apiserver/schema.h"
#include "kube/base/result.h"
#include "kube/value/value.h"

namespace kube::apiserver {

class StructuralSchema {
 public:
  // `openapi_v3_schema`: the JSON of schema.openAPIV3Schema; null for a version without one, which takes every object.
  static std::shared_ptr<const StructuralSchema> Make(const Value& openapi_v3_schema, bool preserve_unknown_fields = false);

  // Everything that happens to an object before the verb sees it: removes unknown fields and invalid nulls, normalizes metadata, and sets
  // defaults. Returns the paths of the dropped fields, in a real server's order: "metadata.bar", "spec.foo". Errors: 400, if apiVersion,
  // kind or metadata are invalid. The message is Go's for the field; a real server prefixes it with `Widget in version "v1" cannot be
  // handled as a Widget: `.
  Result<std::vector<std::string>> Normalize(Value& object) const;

  // The steps of Normalize.
  std::vector<std::string> Prune(Value& object) const;  // keeps apiVersion, kind and metadata, also in embedded objects
  void PruneNulls(Value& object) const;                 // null is removed if the schema is not nullable or has a default
  Result<std::vector<std::string>> CoerceMetadata(Value& object) const;
  void ApplyDefaults(Value& object) const;

  // Against the schema, the rules for embedded objects, and unique items of sets and maps. Not metadata of the object itself.
  // `old` is null on creation; what was wrong in it already and did not change is let through.
  std::vector<FieldError> Validate(const Value& object, const Value* old) const;
  // The same for a write of the status alone.
  std::vector<FieldError> ValidateStatus(const Value& object, const Value* old) const;

  // For managed_fields.h.
  const SchemaRef& ToApplySchema() const { return apply_schema_; }

  bool has_cel_rules() const { return has_cel_rules_; }
  // Null for a version without a schema.
  const JsonSchema* root() const { return root_.get(); }

 private:
  StructuralSchema() = default;
  Result<std::vector<std::string>> CoerceRoot(Value& object) const;   // apiVersion, kind and metadata of the object itself
  Result<std::vector<std::string>> CoerceBelow(Value& object) const;  // of embedded objects

  std::unique_ptr<const JsonSchema> root_;
  SchemaRef apply_schema_;
  bool preserve_unknown_fields_ = false;
  bool has_cel_rules_ = false;
};

// The errors of a CRD's schema, in the words and with the paths of a real server. `path` is that of the schema. (A real server reports
// "spec.validation.openAPIV3Schema" if all versions have the same schema, so also if there is only one version.)
std::vector<FieldError> CheckCrdSchema(const Value& openapi_v3_schema, const std::string& path, bool status_enabled);

// The part of CheckCrdSchema that checks whether a schema is structural; sorted.
std::vector<FieldError> CheckStructural(const JsonSchema& schema, const std::string& path);
// The part that checks its defaults.
std::vector<FieldError> CheckDefaults(const JsonSchema& schema, const std::string& path);

// ---- For the implementation ----
namespace structural {
void PruneValue(Value& value, const JsonSchema* schema, bool resource_root, std::vector<std::string>* dropped);
void SetDefaults(Value& value, const JsonSchema* schema);
void PruneNullMembers(Value& value, const JsonSchema* schema);
// Returns null if there is no error. Appends paths of unknown fields of metadata to `unknown`, unless that is null.
struct CoerceResult {
  bool ok = true;
  FieldError error;
};
CoerceResult CoerceEmbedded(Value& value, const JsonSchema& schema, bool resource_root, const std::string& path,
                            std::vector<std::string>* unknown);
std::vector<FieldError> ValidateEmbedded(const Value& value, const JsonSchema& schema, bool resource_root, const std::string& path);
std::vector<FieldError> ValidateUniqueItems(const Value& value, const JsonSchema& schema, const std::string& path);
}  // namespace structural

}  // namespace kube::apiserver
