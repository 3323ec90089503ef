// Which struct of kubexx has a schema: {"type": "object", "properties": {"lastTransitionTime": ...}} is kube::meta::v1::Condition.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "generate/builtin_types.h"
#include "generate/crd_reader.h"
#include "generate/schema.h"
#include "kube/value/value.h"

namespace kube::generate {

// Structs of meta/v1 and core/v1, and of other groups in stable versions. Those with one or two fields only if these say more than their
// types: many a struct has a name and a value. Cost: the schema of a candidate is made when its fields' names are seen first.
class BuiltinMatcher {
 public:
  BuiltinMatcher(BuiltinTypes& builtins, BuiltinUse use);

  struct Match {
    std::string name;  // empty: there is none
    Value schema;      // of the struct, without descriptions
  };
  // `schema` may have keys beside those of the struct (a default, rules): they are the field's.
  Match Find(const Value& schema);

 private:
  bool Fits(const Value& schema, const Value& builtin) const;
  const Value& SchemaOf(const std::string& name);

  BuiltinUse use_;
  Model none_;
  Problems ignored_;
  SchemaOptions options_{.allow_dangerous_types = true, .embedded_object_meta = false, .max_description = 0};
  SchemaMaker schemas_;
  const std::map<std::string, std::vector<std::string>>& by_fields_;  // "key,name,optional": names, the best one first
  std::map<std::string, Value> made_;
};

}  // namespace kube::generate
