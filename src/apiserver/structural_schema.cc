#include "apiserver/structural_schema.h"

#include <algorithm>
#include <utility>

#include "apiserver/field_set.h"
#include "apiserver/names.h"
#include "apiserver/typed_value.h"
#include "kube/codec/json.h"
#include "kube/meta/v1.h"

namespace kube::apiserver {
namespace {

bool IsMetaField(std::string_view name) { return name == "apiVersion" || name == "kind" || name == "metadata"; }

std::string ChildPath(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}
std::string IndexPath(const std::string& path, std::size_t i) { return path + "[" + std::to_string(i) + "]"; }
std::string KeyPath(const std::string& path, std::string_view key) { return path + "[" + std::string(key) + "]"; }

// The schema of a member of an object: of the property, or of additional properties. `known` says whether there may be such a member.
const JsonSchema* MemberOf(const JsonSchema& s, std::string_view name, bool* known) {
  if (const JsonSchema* property = s.Property(name)) {
    *known = true;
    return property;
  }
  *known = s.has_additional;
  return s.additional.get();
}

// ---- For server-side apply ----

class ApplySchemaBuilder {
 public:
  explicit ApplySchemaBuilder(SchemaArena& arena) : arena_(arena) {}

  // `preserve`: unknown fields are kept here, because the schema or one around it says so.
  const Schema* Build(const JsonSchema& s, bool preserve, bool root) {
    preserve = preserve || s.preserves_unknown();
    Schema* node = arena_.New();
    if (s.type == "object") {
      node->map = Object(s, preserve, root);
    } else if (s.type == "array") {
      node->list = Array(s, preserve);
    } else if (s.type == "integer" || s.type == "number") {
      node->scalar = ScalarType::kNumeric;
    } else if (s.type == "boolean") {
      node->scalar = ScalarType::kBoolean;
    } else if (s.type == "string") {
      node->scalar = s.format.empty() || s.format == "byte" ? ScalarType::kString : ScalarType::kUntyped;
    } else {
      node->scalar = ScalarType::kUntyped;
      node->list = Array(s, preserve);
      node->map = Object(s, preserve, root);
    }
    return node;
  }

 private:
  SchemaArena& arena_;

  MapSchema Object(const JsonSchema& s, bool preserve, bool root) {
    MapSchema map;
    map.atomic = s.map_type.value_or("") == "atomic";
    for (const auto& [name, property] : s.properties) {
      SchemaField field{.name = name, .type = Build(property, preserve, false)};
      if (property.default_value) field.default_value = *property.default_value;
      map.fields.push_back(std::move(field));
    }
    if (root || s.embedded_resource) {
      map.fields.push_back({.name = "apiVersion", .type = &StringSchema()});
      map.fields.push_back({.name = "kind", .type = &StringSchema()});
      map.fields.push_back({.name = "metadata", .type = SchemaOf(meta::v1::ObjectMeta::kType).get()});
    }
    SortFields(map.fields);
    if (s.additional != nullptr) {
      map.element = Build(*s.additional, preserve, false);
    } else if (s.has_additional ? s.additional_allowed : preserve || map.fields.empty()) {
      map.element = &DeducedSchema();
    }
    map.untyped_elements = map.fields.empty() && map.element != nullptr && map.element->scalar == ScalarType::kUntyped;
    return map;
  }

  ListSchema Array(const JsonSchema& s, bool preserve) {
    ListSchema list;
    list.element = s.items != nullptr ? Build(*s.items, preserve, false) : &UntypedAtomicSchema();
    std::string type = s.list_type.value_or("atomic");
    list.associative = type == "set" || type == "map";
    if (type == "map") list.keys = s.list_map_keys;
    return list;
  }
};

// ---- Pruning ----

class Pruner {
 public:
  explicit Pruner(std::vector<std::string>* dropped) : dropped_(dropped) {}

  // `s` null: nothing is known, and so nothing stays.
  void Prune(Value& value, const JsonSchema* s, bool embedded, const std::string& path) {
    bool keep_unknown = s != nullptr && s->preserves_unknown();
    if (value.is_list()) {
      const Value before = value;
      for (std::size_t i = 0; i < before.list().size(); ++i) {
        if (!IsContainer(before.list()[i])) continue;
        const JsonSchema* items = s != nullptr ? s->items.get() : nullptr;
        if (keep_unknown && items == nullptr) continue;
        Value& item = value.MutableList()[i];
        // Below a list of anything, only what has a schema of its own is looked into.
        if (keep_unknown) {
          PruneKnown(item, *items, items->embedded_resource, IndexPath(path, i));
        } else {
          Prune(item, items, items != nullptr && items->embedded_resource, IndexPath(path, i));
        }
      }
      return;
    }
    if (!value.is_object()) return;
    if (keep_unknown) {
      PruneKnown(value, *s, embedded, path);
      return;
    }
    const Value before = value;
    for (const auto& [key, member] : before.object()) {
      if (embedded && IsMetaField(key)) continue;
      bool known = false;
      const JsonSchema* below = s != nullptr ? MemberOf(*s, key, &known) : nullptr;
      if (!known) {
        if (dropped_ != nullptr) dropped_->push_back(ChildPath(path, key));
        value.MutableObject().Erase(key);
      } else if (IsContainer(member)) {
        Prune(value[key.view()], below, below != nullptr && below->embedded_resource, ChildPath(path, key));
      }
    }
  }

 private:
  std::vector<std::string>* dropped_;

  static bool IsContainer(const Value& v) { return v.is_object() || v.is_list(); }

  // Where unknown fields stay: looks only at what the schema names.
  void PruneKnown(Value& value, const JsonSchema& s, bool embedded, const std::string& path) {
    const Value before = value;
    if (before.is_list()) {
      if (s.items == nullptr) return;
      for (std::size_t i = 0; i < before.list().size(); ++i) {
        if (IsContainer(before.list()[i])) {
          PruneKnown(value.MutableList()[i], *s.items, s.items->embedded_resource, IndexPath(path, i));
        }
      }
      return;
    }
    for (const auto& [key, member] : before.object()) {
      if ((embedded && IsMetaField(key)) || !IsContainer(member)) continue;
      bool known = false;
      const JsonSchema* below = MemberOf(s, key, &known);
      if (known) Prune(value[key.view()], below, below != nullptr && below->embedded_resource, ChildPath(path, key));
    }
  }
};

// ---- Metadata ----

std::string_view JsonKind(const Value& v) {
  switch (v.kind()) {
    case Value::Kind::kBool:
      return "bool";
    case Value::Kind::kInt:
    case Value::Kind::kDouble:
      return "number";
    case Value::Kind::kString:
      return "string";
    case Value::Kind::kList:
      return "array";
    default:
      return "object";
  }
}

// What Go says of metadata that is no ObjectMeta; empty if it is one.
std::string MetadataProblem(const Value& metadata) {
  auto wrong = [](const Value& v, std::string_view where, std::string_view type) {
    return "json: cannot unmarshal " + std::string(JsonKind(v)) + " into Go " +
           (where.empty() ? "value" : "struct field ObjectMeta." + std::string(where)) + " of type " + std::string(type);
  };
  if (metadata.is_null()) return {};
  if (!metadata.is_object()) return wrong(metadata, "", "v1.ObjectMeta");
  for (const auto& [key, value] : metadata.object()) {
    if (value.is_null()) continue;
    if (key == "labels" || key == "annotations") {
      if (!value.is_object()) return wrong(value, key, "map[string]string");
      for (const auto& [name, text] : value.object()) {
        if (!text.is_string() && !text.is_null()) return wrong(text, key, "string");
      }
    } else if (key == "finalizers") {
      if (!value.is_list()) return wrong(value, key, "[]string");
      for (const Value& item : value.list()) {
        if (!item.is_string() && !item.is_null()) return wrong(item, key, "string");
      }
    } else if (key == "ownerReferences" || key == "managedFields") {
      std::string type = key == "ownerReferences" ? "v1.OwnerReference" : "v1.ManagedFieldsEntry";
      if (!value.is_list()) return wrong(value, key, "[]" + type);
      for (const Value& item : value.list()) {
        if (!item.is_object() && !item.is_null()) return wrong(item, key, type);
      }
    } else if (key == "generation" || key == "deletionGracePeriodSeconds") {
      if (!value.is_int()) return wrong(value, key, "int64");
    } else if (key == "name" || key == "generateName" || key == "namespace" || key == "selfLink" || key == "uid" ||
               key == "resourceVersion") {
      if (!value.is_string()) return wrong(value, key, key == "uid" ? "types.UID" : "string");
    }
  }
  return {};
}

// Drops members that the tables do not know, and says where they were.
void DropUnknownMembers(Value& value, const Schema& schema, const std::string& path, std::vector<std::string>* unknown) {
  const Value before = value;
  if (before.is_list() && schema.list && schema.list->element != nullptr) {
    for (std::size_t i = 0; i < before.list().size(); ++i) {
      if (before.list()[i].is_object()) DropUnknownMembers(value.MutableList()[i], *schema.list->element, IndexPath(path, i), unknown);
    }
  }
  if (!before.is_object() || !schema.map || schema.map->fields.empty()) return;
  for (const auto& [key, member] : before.object()) {
    const SchemaField* field = schema.map->Find(key);
    if (field == nullptr) {
      if (unknown != nullptr) unknown->push_back(path + "." + key.str());
      value.MutableObject().Erase(key);
    } else if (member.is_object() || member.is_list()) {
      DropUnknownMembers(value[key.view()], *field->type, path + "." + key.str(), unknown);
    }
  }
}

// Brings metadata into the form that the server stores. The text says what is wrong; empty: all is well.
std::string CoerceObjectMeta(Value& object, const std::string& path, std::vector<std::string>* unknown) {
  const Value* found = std::as_const(object).Find("metadata");
  if (found == nullptr) return {};
  if (std::string problem = MetadataProblem(*found); !problem.empty()) return problem;
  Value metadata = *found;
  DropUnknownMembers(metadata, *SchemaOf(meta::v1::ObjectMeta::kType), ChildPath(path, "metadata"), unknown);
  if (metadata.is_null()) metadata = Value::Object();
  Result<meta::v1::ObjectMeta> typed = FromValue<meta::v1::ObjectMeta>(metadata);
  if (!typed) return typed.error().message();
  Result<Value> canonical = ToValue(*typed);
  if (!canonical) return canonical.error().message();
  object["metadata"] = *std::move(canonical);
  return {};
}

// ---- Unique items ----

std::vector<std::size_t> Repeated(const std::vector<Value>& items) {
  std::vector<std::size_t> out;
  std::vector<std::pair<const Value*, int>> seen;
  auto less = [](const std::pair<const Value*, int>& a, const Value* b) { return CompareValues(*a.first, *b) < 0; };
  for (std::size_t i = 0; i < items.size(); ++i) {
    auto it = std::lower_bound(seen.begin(), seen.end(), &items[i], less);
    if (it == seen.end() || CompareValues(*it->first, items[i]) != 0) {
      seen.insert(it, {&items[i], 1});
    } else if (it->second++ == 1) {
      out.push_back(i);  // each value is reported once
    }
  }
  return out;
}

void CheckListItems(const Value& value, const JsonSchema& s, const std::string& path, std::vector<FieldError>& errors) {
  const List<Value>& list = value.list();
  std::string type = s.list_type.value_or("");
  if (type == "set") {
    for (std::size_t i : Repeated(std::vector<Value>(list.begin(), list.end())))
      errors.push_back(DuplicateValue(IndexPath(path, i), list[i]));
  } else if (type == "map") {
    std::vector<Value> keys;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].is_object() && !list[i].is_null()) {
        errors.push_back(InvalidValue(IndexPath(path, i), list[i], "must be an object for an array of list-type map"));
        return;
      }
      Value key = Value::Object();
      for (const std::string& name : s.list_map_keys) {
        if (const Value* v = list[i].Find(name)) key[name] = *v;
      }
      keys.push_back(std::move(key));
    }
    for (std::size_t i : Repeated(keys)) errors.push_back(DuplicateValue(IndexPath(path, i), keys[i]));
  }
}

}  // namespace

namespace structural {

void PruneValue(Value& value, const JsonSchema* schema, bool resource_root, std::vector<std::string>* dropped) {
  Pruner(dropped).Prune(value, schema, resource_root || (schema != nullptr && schema->embedded_resource), "");
}

void SetDefaults(Value& value, const JsonSchema* s) {
  if (s == nullptr) return;
  auto forbidden_null = [](const Value& v, const JsonSchema* schema) { return v.is_null() && schema != nullptr && !schema->nullable; };
  if (value.is_object()) {
    for (const auto& [name, property] : s->properties) {
      if (!property.default_value) continue;
      const Value* member = std::as_const(value).Find(name);
      if (member == nullptr || forbidden_null(*member, &property)) value[name] = *property.default_value;
    }
    const Value before = value;
    for (const auto& [key, member] : before.object()) {
      bool known = false;
      const JsonSchema* below = MemberOf(*s, key, &known);
      if (below == nullptr) continue;
      if (s->Property(key) == nullptr && forbidden_null(member, below) && below->default_value) value[key.view()] = *below->default_value;
      const Value& now = std::as_const(value)[key];
      if (now.is_object() || now.is_list()) {
        Value changed = now;
        SetDefaults(changed, below);
        value[key.view()] = std::move(changed);
      }
    }
    return;
  }
  if (!value.is_list() || s->items == nullptr) return;
  const Value before = value;
  for (std::size_t i = 0; i < before.list().size(); ++i) {
    Value item = before.list()[i];
    if (forbidden_null(item, s->items.get()) && s->items->default_value) item = *s->items->default_value;
    SetDefaults(item, s->items.get());
    value.MutableList()[i] = std::move(item);
  }
}

void PruneNullMembers(Value& value, const JsonSchema* s) {
  const Value before = value;
  if (before.is_object()) {
    for (const auto& [key, member] : before.object()) {
      bool known = false;
      const JsonSchema* below = s != nullptr ? MemberOf(*s, key, &known) : nullptr;
      if (member.is_null()) {
        if (below != nullptr && !below->nullable && !below->default_value) value.MutableObject().Erase(key);
      } else if (below != nullptr && (member.is_object() || member.is_list())) {
        PruneNullMembers(value[key.view()], below);
      }
    }
  } else if (before.is_list() && s != nullptr && s->items != nullptr) {
    for (std::size_t i = 0; i < before.list().size(); ++i) {
      const Value& item = before.list()[i];
      if (item.is_object() || item.is_list()) PruneNullMembers(value.MutableList()[i], s->items.get());
    }
  }
}

CoerceResult CoerceEmbedded(Value& value, const JsonSchema& s, bool resource_root, const std::string& path,
                            std::vector<std::string>* unknown) {
  const Value before = value;
  if (before.is_list()) {
    if (s.items == nullptr) return {};
    for (std::size_t i = 0; i < before.list().size(); ++i) {
      const Value& item = before.list()[i];
      if (!item.is_object() && !item.is_list()) continue;
      CoerceResult r = CoerceEmbedded(value.MutableList()[i], *s.items, false, IndexPath(path, i), unknown);
      if (!r.ok) return r;
    }
    return {};
  }
  if (!before.is_object()) return {};
  bool embedded = resource_root || s.embedded_resource;
  for (const auto& [key, member] : before.object()) {
    if (embedded && (key == "apiVersion" || key == "kind") && !member.is_string()) {
      return {false, InvalidValue(ChildPath(path, key), member, "must be a string")};
    }
    if (embedded && key == "metadata") {
      if (std::string problem = CoerceObjectMeta(value, path, unknown); !problem.empty()) {
        return {false, InvalidValue(ChildPath(path, key), member, problem)};
      }
      continue;
    }
    if (!member.is_object() && !member.is_list()) continue;
    bool known = false;
    const JsonSchema* below = MemberOf(s, key, &known);
    if (below == nullptr) continue;
    std::string below_path = s.Property(key) != nullptr ? ChildPath(path, key) : KeyPath(path, key);
    CoerceResult r = CoerceEmbedded(value[key.view()], *below, false, below_path, unknown);
    if (!r.ok) return r;
  }
  return {};
}

std::vector<FieldError> ValidateEmbedded(const Value& value, const JsonSchema& s, bool resource_root, const std::string& path) {
  std::vector<FieldError> errors;
  auto add = [&](std::vector<FieldError> more) { errors.insert(errors.end(), more.begin(), more.end()); };
  if (value.is_list()) {
    if (s.items == nullptr) return errors;
    for (std::size_t i = 0; i < value.list().size(); ++i) add(ValidateEmbedded(value.list()[i], *s.items, false, IndexPath(path, i)));
    return errors;
  }
  if (!value.is_object()) return errors;
  if (resource_root || s.embedded_resource) {
    for (const char* name : {"apiVersion", "kind"}) {
      std::string at = ChildPath(path, name);
      const Value* member = value.Find(name);
      if (member == nullptr) {
        errors.push_back(Required(at));
      } else if (!member->is_string()) {
        errors.push_back(InvalidValue(at, *member, "must be a string"));
      } else if (member->string_value().empty()) {
        errors.push_back(InvalidValue(at, *member, "must not be empty"));
      } else if (std::string_view(name) == "apiVersion") {
        std::string_view text = member->string_value();
        if (std::count(text.begin(), text.end(), '/') > 1) {
          errors.push_back(InvalidValue(at, *member, "unexpected GroupVersion string: " + std::string(text)));
        }
      } else {
        std::string lower = member->string_value().str();
        for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        std::string all;
        for (const std::string& problem : Dns1035LabelProblems(lower)) all += (all.empty() ? "" : ",") + problem;
        if (!all.empty()) errors.push_back(InvalidValue(at, *member, "may have mixed case, but should otherwise match: " + all));
      }
    }
    if (const Value* metadata = value.Find("metadata")) {
      std::string at = ChildPath(path, "metadata");
      if (std::string problem = MetadataProblem(*metadata); !problem.empty()) {
        errors.push_back(InvalidValue(at, *metadata, problem));
      } else {
        auto check = [&](const std::string& field, const Value& v, const Problems& problems) {
          for (const std::string& p : problems) errors.push_back(InvalidValue(field, v, p));
        };
        for (const char* name : {"generateName", "name"}) {
          const Value& text = (*metadata)[name];
          if (!text.string_value().empty()) check(ChildPath(at, name), text, PathSegmentProblems(text.string_value()));
        }
        for (const auto& [key, text] : (*metadata)["labels"].object()) {
          check(at + ".labels", Value(key), QualifiedNameProblems(key));
          check(at + ".labels", text, LabelValueProblems(text.string_value()));
        }
        for (const Value& owner : (*metadata)["ownerReferences"].list()) {
          for (const char* name : {"apiVersion", "kind", "name", "uid"}) {
            const char* why = std::string_view(name) == "apiVersion" ? "version must not be empty" : "must not be empty";
            if (owner[name].string_value().empty()) errors.push_back(InvalidValue(at + ".ownerReferences." + name, Value(""), why));
          }
        }
        for (const auto& [key, text] : (*metadata)["annotations"].object()) {
          std::string lower = key.str();
          for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
          check(at + ".annotations", Value(key), QualifiedNameProblems(lower));
        }
      }
    }
  }
  for (const auto& [key, member] : value.object()) {
    bool known = false;
    const JsonSchema* below = MemberOf(s, key, &known);
    if (below == nullptr) continue;
    add(ValidateEmbedded(member, *below, false, s.Property(key) != nullptr ? ChildPath(path, key) : KeyPath(path, key)));
  }
  return errors;
}

std::vector<FieldError> ValidateUniqueItems(const Value& value, const JsonSchema& s, const std::string& path) {
  std::vector<FieldError> errors;
  auto add = [&](std::vector<FieldError> more) { errors.insert(errors.end(), more.begin(), more.end()); };
  if (value.is_list()) {
    CheckListItems(value, s, path, errors);
    if (s.items == nullptr) return errors;
    for (std::size_t i = 0; i < value.list().size(); ++i) add(ValidateUniqueItems(value.list()[i], *s.items, IndexPath(path, i)));
  } else if (value.is_object()) {
    for (const auto& [key, member] : value.object()) {
      if (s.additional != nullptr) add(ValidateUniqueItems(member, *s.additional, KeyPath(path, key)));
      if (const JsonSchema* property = s.Property(key)) add(ValidateUniqueItems(member, *property, ChildPath(path, key)));
    }
  }
  return errors;
}

}  // namespace structural

namespace {

bool HasCelRules(const JsonSchema& s) {
  auto any = [](const std::vector<JsonSchema>& list) { return std::any_of(list.begin(), list.end(), HasCelRules); };
  if (s.validations.is_list() && !s.validations.list().empty()) return true;
  if ((s.items != nullptr && HasCelRules(*s.items)) || (s.additional != nullptr && HasCelRules(*s.additional))) return true;
  if (any(s.all_of)) return true;
  return std::any_of(s.properties.begin(), s.properties.end(), [](const auto& p) { return HasCelRules(p.second); });
}

// Defaults are pruned when the schema is read, not each time that they are set.
void PruneDefaults(JsonSchema& s) {
  if (s.default_value) {
    structural::PruneValue(*s.default_value, &s, s.embedded_resource, nullptr);
    structural::CoerceEmbedded(*s.default_value, s, s.embedded_resource, "", nullptr);
  }
  if (s.items != nullptr) PruneDefaults(*s.items);
  if (s.additional != nullptr) PruneDefaults(*s.additional);
  for (auto& [name, property] : s.properties) PruneDefaults(property);
}

}  // namespace

std::shared_ptr<const StructuralSchema> StructuralSchema::Make(const Value& openapi_v3_schema, bool preserve_unknown_fields) {
  std::shared_ptr<StructuralSchema> out(new StructuralSchema);
  out->preserve_unknown_fields_ = preserve_unknown_fields;
  auto arena = std::make_shared<SchemaArena>();
  if (openapi_v3_schema.is_object()) {
    auto root = std::make_unique<JsonSchema>(ParseJsonSchema(openapi_v3_schema));
    const Schema* apply = ApplySchemaBuilder(*arena).Build(*root, preserve_unknown_fields, true);
    out->apply_schema_ = SchemaArena::Share(std::move(arena), apply);
    PruneDefaults(*root);
    out->has_cel_rules_ = HasCelRules(*root);
    out->root_ = std::move(root);
  } else {
    Schema* any = arena->New();
    any->map = MapSchema{.element = &DeducedSchema(), .untyped_elements = true};
    out->apply_schema_ = SchemaArena::Share(std::move(arena), any);
  }
  return out;
}

std::vector<std::string> StructuralSchema::Prune(Value& object) const {
  std::vector<std::string> dropped;
  if (preserve_unknown_fields_) return dropped;
  structural::PruneValue(object, root_.get(), true, &dropped);
  std::sort(dropped.begin(), dropped.end());
  return dropped;
}

void StructuralSchema::PruneNulls(Value& object) const {
  if (!preserve_unknown_fields_) structural::PruneNullMembers(object, root_.get());
}

Result<std::vector<std::string>> StructuralSchema::CoerceRoot(Value& object) const {
  std::vector<std::string> unknown;
  for (const char* name : {"kind", "apiVersion"}) {
    const Value* member = std::as_const(object).Find(name);
    if (member != nullptr && !member->is_string()) {
      return BadRequest("." + std::string(name) + " accessor error: " + PrintGo(*member) + " is of the type " +
                        std::string(member->kind_name()) + ", expected string");
    }
  }
  if (std::string problem = CoerceObjectMeta(object, "", &unknown); !problem.empty()) return BadRequest(problem);
  std::sort(unknown.begin(), unknown.end());
  return unknown;
}

Result<std::vector<std::string>> StructuralSchema::CoerceBelow(Value& object) const {
  std::vector<std::string> unknown;
  if (root_ == nullptr) return unknown;
  structural::CoerceResult r = structural::CoerceEmbedded(object, *root_, false, "", &unknown);
  if (!r.ok) return BadRequest(r.error.ToString());
  std::sort(unknown.begin(), unknown.end());
  return unknown;
}

Result<std::vector<std::string>> StructuralSchema::CoerceMetadata(Value& object) const {
  Result<std::vector<std::string>> unknown = CoerceRoot(object);
  if (!unknown) return unknown;
  Result<std::vector<std::string>> below = CoerceBelow(object);
  if (!below) return below;
  unknown->insert(unknown->end(), below->begin(), below->end());
  return unknown;
}

void StructuralSchema::ApplyDefaults(Value& object) const { structural::SetDefaults(object, root_.get()); }

Result<std::vector<std::string>> StructuralSchema::Normalize(Value& object) const {
  Result<std::vector<std::string>> unknown = CoerceRoot(object);
  if (!unknown) return unknown;
  std::vector<std::string> dropped = Prune(object);
  PruneNulls(object);
  Result<std::vector<std::string>> below = CoerceBelow(object);
  if (!below) return below;
  unknown->insert(unknown->end(), dropped.begin(), dropped.end());
  unknown->insert(unknown->end(), below->begin(), below->end());
  ApplyDefaults(object);
  return unknown;
}

std::vector<FieldError> StructuralSchema::Validate(const Value& object, const Value* old) const {
  if (root_ == nullptr) return {};
  std::vector<FieldError> errors = ValidateJson(*root_, "", object, old);
  auto add = [&](std::vector<FieldError> more) { errors.insert(errors.end(), more.begin(), more.end()); };
  add(structural::ValidateEmbedded(object, *root_, false, ""));
  // Lists that had repeated items before may go on to have them.
  if (old == nullptr || structural::ValidateUniqueItems(*old, *root_, "").empty()) add(structural::ValidateUniqueItems(object, *root_, ""));
  return errors;
}

std::vector<FieldError> StructuralSchema::ValidateStatus(const Value& object, const Value* old) const {
  if (root_ == nullptr) return {};
  std::vector<FieldError> errors;
  const Value* status = object.Find("status");
  const JsonSchema* schema = root_->Property("status");
  if (status != nullptr && schema != nullptr) {
    errors = ValidateJson(*schema, "status", *status, old != nullptr ? old->Find("status") : nullptr);
  }
  if (old == nullptr || structural::ValidateUniqueItems(*old, *root_, "").empty()) {
    std::vector<FieldError> more = structural::ValidateUniqueItems(object, *root_, "");
    errors.insert(errors.end(), more.begin(), more.end());
  }
  return errors;
}

}  // namespace kube::apiserver
