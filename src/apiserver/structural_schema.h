// StructuralSchema: what the schema of a CustomResourceDefinition's version says about its objects.
//
//   std::vector<FieldError> errors = CheckCrdSchema(json, "spec.versions[0].schema.openAPIV3Schema", has_status);   // the CRD itself
//   std::shared_ptr<const StructuralSchema> schema = StructuralSchema::Make(json);
//   Result<std::vector<std::string>> unknown = schema->Normalize(object);   // each request: pruned, defaulted; paths of unknown fields
//   errors = schema->Validate(object, old);
//   SchemaRef for_apply = schema->ToApplySchema();
//
// A CRD whose check gave errors must not be used: Make() takes any schema, but promises sense only for structural ones.
// CEL rules (x-kubernetes-validations) are remembered, not evaluated: see has_cel_rules().
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

  // All that happens to an object before the verb sees it: unknown fields go, nulls that are not allowed go, metadata is brought into
  // form, defaults are set. Returns the paths of what was dropped, in a real server's order: "metadata.bar", "spec.foo".
  // Errors: 400, where apiVersion, kind or metadata are not what they have to be. The message is Go's for the field; a real server puts
  // `Widget in version "v1" cannot be handled as a Widget: ` before it.
  Result<std::vector<std::string>> Normalize(Value& object) const;

  // The steps of Normalize.
  std::vector<std::string> Prune(Value& object) const;  // apiVersion, kind and metadata stay, also in embedded objects
  void PruneNulls(Value& object) const;                 // null where the schema is neither nullable nor has a default
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

// What is wrong with a CRD's schema, in the words and with the paths of a real server. `path` is that of the schema. (A real server says
// "spec.validation.openAPIV3Schema" where all versions have the same schema, so also where there is one version only.)
std::vector<FieldError> CheckCrdSchema(const Value& openapi_v3_schema, const std::string& path, bool status_enabled);

// The part of CheckCrdSchema that asks whether a schema is structural; sorted.
std::vector<FieldError> CheckStructural(const JsonSchema& schema, const std::string& path);
// And the part that checks its defaults.
std::vector<FieldError> CheckDefaults(const JsonSchema& schema, const std::string& path);

// ---- For the implementation ----
namespace structural {
void PruneValue(Value& value, const JsonSchema* schema, bool resource_root, std::vector<std::string>* dropped);
void SetDefaults(Value& value, const JsonSchema* schema);
void PruneNullMembers(Value& value, const JsonSchema* schema);
// Null where all is well. Paths of unknown fields of metadata go to `unknown` where that is not null.
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
