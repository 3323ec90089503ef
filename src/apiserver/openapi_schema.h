// Types as OpenAPI schemas: from the tables of built-in kinds, and from the schemas of CRDs. For openapi.cc.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/resources.h"
#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube::apiserver {

enum class OpenApiForm { kV2, kV3 };

// "io.k8s.api.core.v1.Pod": the name under which a real server describes this type.
std::string DefinitionName(const TypeInfo& type);
// "com.example.stable.v1.CronTab"
std::string DefinitionName(const ServedResource& custom, std::string_view kind);

// The schemas that a document needs: what is referred to comes in, with all that it refers to.
//
// Thread safety: one thread at a time.
class Definitions {
 public:
  explicit Definitions(OpenApiForm form) : form_(form) {}

  OpenApiForm form() const { return form_; }
  // {"$ref": ...}
  Value RefTo(const TypeInfo& type);
  Value RefToCustom(const ServedResource& resource);
  Value RefToCustomList(const ServedResource& resource);
  // A schema that is made by hand: Patch, WatchEvent, ...
  Value RefTo(std::string_view name, Value schema);

  // All of them, by name; empties this.
  Value Take();

 private:
  struct Element;
  Value Ref(std::string_view name) const;
  // A reference as the schema of a member, which may carry more than the reference.
  Value MemberRef(Value ref, Value default_value) const;
  Value StructSchema(const TypeInfo& type);
  void AddFields(const TypeInfo& type, Value& properties, Value& required);
  Value FieldSchema(const FieldInfo& field, const TypeInfo& owner);
  Element ElementOf(const FieldInfo& field, const TypeInfo& owner);
  // The schema of a CRD as this form writes it: a plain copy in version 3, without what version 2 does not know in version 2.
  Value CustomSchema(const Value& schema, bool root);
  void AddObjectMembers(Value& properties);

  OpenApiForm form_;
  std::map<std::string, Value, std::less<>> schemas_;
  std::vector<std::pair<std::string, const TypeInfo*>> pending_;
  std::vector<std::string> atomic_;  // structs that are replaced as a whole, wherever they stand
};

}  // namespace kube::apiserver
