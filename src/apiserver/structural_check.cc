// Whether the schema of a CRD is one that the server takes: the rules for structural schemas, for defaults and for the extensions, with
// the errors of a real server.
#include <algorithm>
#include <utility>

#include "apiserver/structural_schema.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

using Errors = std::vector<FieldError>;

// The next token of a rule's fieldPath: a quoted string, one of . [ ], or what is between them.
std::string_view TakeToken(std::string_view& rest) {
  std::size_t end = rest.find_first_of(".[]");
  if (rest.starts_with('\'')) {
    end = 1;
    while (end < rest.size() && (rest[end] != '\'' || rest[end - 1] == '\\')) ++end;
    end = std::min(end + 1, rest.size());
  } else if (end == 0) {
    end = 1;
  }
  const std::string_view out = rest.substr(0, end);
  rest.remove_prefix(out.size());
  return out;
}

// The text of 'it\'s'. False for an escape that Go does not know.
bool Unquote(std::string_view quoted, std::string& out) {
  if (quoted.size() < 2 || quoted.front() != '\'' || quoted.back() != '\'') return false;
  static constexpr std::string_view kEscapes = "abfnrtv'\\", kMeant = "\a\b\f\n\r\t\v'\\";
  out.clear();
  for (std::size_t i = 1; i + 1 < quoted.size(); ++i) {
    if (quoted[i] != '\\' || i + 2 >= quoted.size()) {
      out += quoted[i];
      continue;
    }
    const std::size_t escape = kEscapes.find(quoted[++i]);
    if (escape == std::string_view::npos) return false;
    out += kMeant[escape];
  }
  return true;
}

// Whether a rule's fieldPath names a field below the schema: .spec['a.b'].c, where keys of maps are fields, too.
bool LeadsToField(std::string_view path, const JsonSchema& schema) {
  const JsonSchema* at = &schema;
  while (!path.empty()) {
    const std::string_view symbol = TakeToken(path);
    std::string name(TakeToken(path));
    if (symbol == "[") {
      if (!Unquote(std::string(name), name) || TakeToken(path) != "]") return false;
    } else if (symbol != "." || name.empty()) {
      return false;
    }
    at = !at->properties.empty() ? at->Property(name) : at->additional.get();
    if (at == nullptr) return false;
  }
  return true;
}

std::string Child(const std::string& path, std::string_view name) { return path + "." + std::string(name); }
std::string Property(const std::string& path, std::string_view name) { return path + ".properties[" + std::string(name) + "]"; }
std::string At(const std::string& path, std::string_view list, std::size_t i) {
  return path + "." + std::string(list) + "[" + std::to_string(i) + "]";
}

// Nothing is said but perhaps the type (and what is to be ignored).
bool IsBare(const JsonSchema& s, bool ignore_default, bool ignore_properties) {
  return s.format.empty() && s.title.empty() && s.description.empty() && s.pattern.empty() && (ignore_default || !s.default_value) &&
         !s.nullable && !s.maximum && !s.minimum && !s.multiple_of && !s.exclusive_maximum && !s.exclusive_minimum && !s.max_length &&
         !s.min_length && !s.max_items && !s.min_items && !s.max_properties && !s.min_properties && !s.unique_items &&
         s.enum_values.empty() && s.required.empty() && s.all_of.empty() && s.any_of.empty() && s.one_of.empty() &&
         s.not_schema == nullptr && s.items == nullptr && (ignore_properties || s.properties.empty()) && !s.has_additional &&
         !s.preserves_unknown() && !s.embedded_resource && !s.int_or_string && s.list_map_keys.empty() && !s.list_type && !s.map_type &&
         s.validations.list().empty() && s.external_docs.is_null() && s.example.is_null();
}

// `anyOf: [{type: integer}, {type: string}]`, which is what x-kubernetes-int-or-string means.
bool IsIntOrStringPattern(const std::vector<JsonSchema>& any_of) {
  return any_of.size() == 2 && any_of[0].type == "integer" && IsBare(any_of[0], false, false) && any_of[1].type == "string" &&
         IsBare(any_of[1], false, false);
}

// ---- Structural ----

class StructuralChecker {
 public:
  Errors Check(const JsonSchema& root, const std::string& path) {
    Invariants(root, Level::kRoot, path);
    Complete(root, &root, path, path);
    std::sort(errors_.begin(), errors_.end(), [](const FieldError& a, const FieldError& b) { return a.ToString() < b.ToString(); });
    return std::move(errors_);
  }

 private:
  enum class Level { kRoot, kItem, kField };
  Errors errors_;

  void Invariants(const JsonSchema& s, Level level, const std::string& path) {
    if (s.type == "array" && s.items == nullptr) errors_.push_back(Required(Child(path, "items"), "must be specified"));
    if (s.items != nullptr) Invariants(*s.items, Level::kItem, Child(path, "items"));
    for (const auto& [name, property] : s.properties) Invariants(property, Level::kField, Property(path, name));
    if (s.has_additional) {
      if (level == Level::kRoot) errors_.push_back(ForbiddenField(Child(path, "additionalProperties"), "must not be used at the root"));
      if (s.additional != nullptr) Invariants(*s.additional, Level::kField, Child(path, "additionalProperties"));
    }
    if (s.int_or_string && s.preserves_unknown()) {
      errors_.push_back(
          InvalidValue(Child(path, "x-kubernetes-preserve-unknown-fields"), true, "must be false if x-kubernetes-int-or-string is true"));
    }
    if (s.int_or_string && s.embedded_resource) {
      errors_.push_back(
          InvalidValue(Child(path, "x-kubernetes-embedded-resource"), true, "must be false if x-kubernetes-int-or-string is true"));
    }
    bool skip_first_all_of = !s.all_of.empty() && IsIntOrStringPattern(s.all_of[0].any_of);
    Junctors(s, IsIntOrStringPattern(s.any_of), skip_first_all_of, path);
    Type(s, level, path);

    bool has_meta = level == Level::kRoot || s.embedded_resource;
    for (const char* name : {"kind", "apiVersion"}) {
      const JsonSchema* property = s.Property(name);
      if (has_meta && property != nullptr && property->type != "string") {
        errors_.push_back(InvalidValue(Child(Property(path, name), "type"), Value(property->type), "must be string"));
      }
    }
    if (const JsonSchema* metadata = s.Property("metadata")) Metadata(*metadata, has_meta, level, Property(path, "metadata"));
    if (s.embedded_resource && !s.preserves_unknown() && s.properties.empty()) {
      errors_.push_back(
          Required(Child(path, "properties"),
                   "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"));
    }
  }

  void Type(const JsonSchema& s, Level level, const std::string& path) {
    std::string at = Child(path, "type");
    if (s.embedded_resource && s.type != "object") {
      static constexpr const char* kWhy = "must be object if x-kubernetes-embedded-resource is true";
      errors_.push_back(s.type.empty() ? Required(at, kWhy) : InvalidValue(at, Value(s.type), kWhy));
    } else if (s.type.empty() && !s.int_or_string && !s.preserves_unknown()) {
      errors_.push_back(Required(at, level == Level::kRoot   ? "must not be empty at the root"
                                     : level == Level::kItem ? "must not be empty for specified array items"
                                                             : "must not be empty for specified object fields"));
    }
    if (s.embedded_resource && s.has_additional) {
      errors_.push_back(ForbiddenField(Child(path, "additionalProperties"), "must not be used if x-kubernetes-embedded-resource is set"));
    }
    if (level == Level::kRoot && !s.type.empty() && s.type != "object") {
      errors_.push_back(InvalidValue(at, Value(s.type), "must be object at the root"));
    }
  }

  void Metadata(const JsonSchema& s, bool has_meta, Level level, const std::string& path) {
    if (has_meta && s.type != "object") errors_.push_back(InvalidValue(Child(path, "type"), Value(s.type), "must be object"));
    if (level != Level::kRoot) return;
    bool only_names =
        std::all_of(s.properties.begin(), s.properties.end(), [](const auto& p) { return p.first == "name" || p.first == "generateName"; });
    // Restrictions of names are fine; nothing else is.
    if (!only_names || !IsBare(s, true, true)) {
      errors_.push_back(
          ForbiddenField(path, "must not specify anything other than name and generateName, but metadata is implicitly specified"));
    }
  }

  void Junctors(const JsonSchema& s, bool skip_any_of, bool skip_first_all_of, const std::string& path) {
    if (!skip_any_of) {
      for (std::size_t i = 0; i < s.any_of.size(); ++i) Nested(s.any_of[i], false, At(path, "anyOf", i));
    }
    for (std::size_t i = 0; i < s.all_of.size(); ++i) Nested(s.all_of[i], skip_first_all_of && i == 0, At(path, "allOf", i));
    for (std::size_t i = 0; i < s.one_of.size(); ++i) Nested(s.one_of[i], false, At(path, "oneOf", i));
    if (s.not_schema != nullptr) Nested(*s.not_schema, false, Child(path, "not"));
    if (s.compiled != nullptr && !s.compiled->error().empty()) {
      errors_.push_back(
          InvalidValue(Child(path, "pattern"), Value(s.pattern), "must be a valid regular expression, but isn't: " + s.compiled->error()));
    }
  }

  // A schema inside of allOf, anyOf, oneOf or not may only restrict.
  void Nested(const JsonSchema& s, bool skip_any_of, const std::string& path) {
    Junctors(s, skip_any_of, false, path);
    if (s.items != nullptr) Nested(*s.items, false, Child(path, "items"));
    for (const auto& [name, property] : s.properties) Nested(property, false, Property(path, name));
    auto forbid = [&](bool present, const char* name, const char* why) {
      if (present) errors_.push_back(ForbiddenField(Child(path, name), why));
    };
    forbid(!s.type.empty(), "type", "must be empty to be structural");
    forbid(s.additional_allowed, "additionalProperties", "must be undefined to be structural");
    forbid(s.default_value.has_value(), "default", "must be undefined to be structural");
    forbid(!s.title.empty(), "title", "must be empty to be structural");
    forbid(!s.description.empty(), "description", "must be empty to be structural");
    forbid(s.nullable, "nullable", "must be false to be structural");
    forbid(s.preserves_unknown(), "x-kubernetes-preserve-unknown-fields", "must be false to be structural");
    forbid(s.embedded_resource, "x-kubernetes-embedded-resource", "must be false to be structural");
    forbid(s.int_or_string, "x-kubernetes-int-or-string", "must be false to be structural");
    forbid(!s.list_map_keys.empty(), "x-kubernetes-list-map-keys", "must be empty to be structural");
    forbid(s.list_type.has_value(), "x-kubernetes-list-type", "must be undefined to be structural");
    forbid(s.map_type.has_value(), "x-kubernetes-map-type", "must be undefined to be structural");
    forbid(!s.validations.list().empty(), "x-kubernetes-validations", "must be empty to be structural");
    if (s.Property("metadata") != nullptr) {
      errors_.push_back(ForbiddenField(Property(path, "metadata"), "must not be specified in a nested context"));
    }
  }

  // What is restricted has to be specified, too.
  void Complete(const JsonSchema& restriction, const JsonSchema* s, const std::string& path, const std::string& from) {
    auto nested = [&](const JsonSchema& r, const std::string& where) { CompleteNested(r, s, path, where); };
    if (restriction.not_schema != nullptr) nested(*restriction.not_schema, Child(from, "not"));
    for (std::size_t i = 0; i < restriction.all_of.size(); ++i) nested(restriction.all_of[i], At(from, "allOf", i));
    for (std::size_t i = 0; i < restriction.any_of.size(); ++i) nested(restriction.any_of[i], At(from, "anyOf", i));
    for (std::size_t i = 0; i < restriction.one_of.size(); ++i) nested(restriction.one_of[i], At(from, "oneOf", i));
  }

  void CompleteNested(const JsonSchema& restriction, const JsonSchema* s, const std::string& path, const std::string& from) {
    if (s == nullptr) {
      errors_.push_back(Required(path, "because it is defined in " + from));
      return;
    }
    Complete(restriction, s, path, from);
    if (restriction.items != nullptr) CompleteNested(*restriction.items, s->items.get(), Child(path, "items"), Child(from, "items"));
    for (const auto& [name, property] : restriction.properties) {
      CompleteNested(property, s->Property(name), Property(path, name), Property(from, name));
    }
  }
};

// ---- Defaults ----

void CheckDefaultsBelow(const JsonSchema& s, bool resource_root, bool inside_meta, const std::string& path, Errors& errors) {
  if (s.embedded_resource) inside_meta = false;
  if (s.default_value && !inside_meta) {
    std::string at = Child(path, "default");
    Value value = *s.default_value;
    structural::PruneValue(value, &s, s.embedded_resource, nullptr);
    if (!(value == *s.default_value)) errors.push_back(InvalidValue(at, *s.default_value, "must not have unknown fields"));
    value = *s.default_value;
    structural::CoerceResult coerced = structural::CoerceEmbedded(value, s, s.embedded_resource, at, nullptr);
    if (!coerced.ok) {
      errors.push_back(coerced.error);
    } else {
      Errors more = structural::ValidateEmbedded(value, s, s.embedded_resource, at);
      if (more.empty()) more = ValidateJson(s, at, value, nullptr, SchemaUse::kDefaults);
      errors.insert(errors.end(), more.begin(), more.end());
    }
  }
  if (s.items != nullptr) CheckDefaultsBelow(*s.items, false, inside_meta, Child(path, "items"), errors);
  for (const auto& [name, property] : s.properties) {
    bool meta = inside_meta || ((resource_root || s.embedded_resource) && (name == "metadata" || name == "apiVersion" || name == "kind"));
    CheckDefaultsBelow(property, false, meta, Property(path, name), errors);
  }
}

// ---- What else the server asks of each node ----

class OpenApiChecker {
 public:
  Errors Check(const JsonSchema& root, const std::string& path) {
    Walk(root, path, {.root = true});
    return std::move(errors_);
  }

 private:
  struct Context {
    bool root = false;
    bool inside_meta = false;
    bool allow_defaults = true;
    std::string why_no_defaults = {};
  };
  Errors errors_;

  void Forbid(bool present, const std::string& path, const char* name, const std::string& why) {
    if (present) errors_.push_back(ForbiddenField(Child(path, name), why));
  }

  void Walk(const JsonSchema& s, const std::string& path, const Context& context) {
    Node(s, path, context);
    Context below = context;
    below.root = false;
    Forbid(s.unique_items, path, "uniqueItems", "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    if (s.has_additional) {
      Forbid(!s.properties.empty() && (!s.additional_allowed || s.additional != nullptr), path, "additionalProperties",
             "additionalProperties and properties are mutual exclusive");
      if (s.additional != nullptr) {
        Context additional = below;
        if (context.inside_meta) {
          additional.allow_defaults = false;
          additional.why_no_defaults = "inside additionalProperties applying to object metadata";
        }
        Walk(*s.additional, Child(path, "additionalProperties"), additional);
      }
    }
    for (const auto& [name, property] : s.properties) {
      Context inner = below;
      if ((context.root || s.embedded_resource) && (name == "metadata" || name == "kind" || name == "apiVersion")) {
        inner.inside_meta = true;
        if (context.root) {
          inner.allow_defaults = false;
          inner.why_no_defaults = "in top-level " + name;
        }
      }
      Walk(property, Property(path, name), inner);
    }
    if (s.not_schema != nullptr) Walk(*s.not_schema, Child(path, "not"), below);
    for (std::size_t i = 0; i < s.all_of.size(); ++i) Walk(s.all_of[i], At(path, "allOf", i), below);
    for (std::size_t i = 0; i < s.one_of.size(); ++i) Walk(s.one_of[i], At(path, "oneOf", i), below);
    for (std::size_t i = 0; i < s.any_of.size(); ++i) Walk(s.any_of[i], At(path, "anyOf", i), below);
    if (s.items != nullptr) Walk(*s.items, Child(path, "items"), below);
    if (s.preserve_unknown_fields && !*s.preserve_unknown_fields) {
      errors_.push_back(InvalidValue(Child(path, "x-kubernetes-preserve-unknown-fields"), false, "must be true or undefined"));
    }
    MapType(s, path);
    ListTypeOf(s, path);
    MapKeys(s, path);
    CelRules(s, path);
  }

  void Node(const JsonSchema& s, const std::string& path, const Context& context) {
    static const std::vector<std::string> kTypes = {"array", "boolean", "integer", "number", "object", "string"};
    if (!s.type.empty() && std::find(kTypes.begin(), kTypes.end(), s.type) == kTypes.end()) {
      errors_.push_back(NotSupported(Child(path, "type"), Value(s.type), kTypes));
    }
    Forbid(s.default_value && !context.allow_defaults, path, "default",
           "must not be set" + (context.why_no_defaults.empty() ? "" : " " + context.why_no_defaults));
    Forbid(s.has_id, path, "id", "id is not supported");
    Forbid(s.has_additional_items, path, "additionalItems", "additionalItems is not supported");
    Forbid(s.has_pattern_properties, path, "patternProperties", "patternProperties is not supported");
    Forbid(s.has_definitions, path, "definitions", "definitions is not supported");
    Forbid(s.has_dependencies, path, "dependencies", "dependencies is not supported");
    Forbid(s.has_ref, path, "$ref", "$ref is not supported");
    Forbid(s.type == "null", path, "type", "type cannot be set to null, use nullable as an alternative");
    Forbid(s.items_is_array, path, "items", "items must be a schema object and not an array");
    Forbid(context.inside_meta && s.embedded_resource, path, "x-kubernetes-embedded-resource", "must not be used inside of resource meta");
  }

  void NeedType(const JsonSchema& s, const char* type, const std::string& path, const std::string& why) {
    if (s.type == type) return;
    std::string at = Child(path, "type");
    errors_.push_back(s.type.empty() ? Required(at, why) : InvalidValue(at, Value(s.type), why));
  }

  void MapType(const JsonSchema& s, const std::string& path) {
    if (!s.map_type) return;
    NeedType(s, "object", path, "must be object if x-kubernetes-map-type is specified");
    if (*s.map_type != "atomic" && *s.map_type != "granular") {
      errors_.push_back(NotSupported(Child(path, "x-kubernetes-map-type"), Value(*s.map_type), {"atomic", "granular"}));
    }
  }

  void ListTypeOf(const JsonSchema& s, const std::string& path) {
    std::string type = s.list_type.value_or("");
    if (s.list_type) {
      if (s.type != "array") {
        NeedType(s, "array", path, "must be array if x-kubernetes-list-type is specified");
      } else if (type == "set" && s.items != nullptr) {
        static constexpr const char* kWhy = "must be atomic as item of a list with x-kubernetes-list-type=set";
        const JsonSchema& item = *s.items;
        Value printed = item.list_type ? Value(*item.list_type) : Value();
        if (item.type == "array" && item.list_type.value_or("atomic") != "atomic") {
          errors_.push_back(InvalidValue(Child(path, "items.x-kubernetes-list-type"), printed, kWhy));
        } else if (item.type == "object" && item.map_type.value_or("") != "atomic") {
          errors_.push_back(InvalidValue(Child(path, "items.x-kubernetes-map-type"), printed, kWhy));
        }
      }
      if (type != "atomic" && type != "set" && type != "map") {
        errors_.push_back(NotSupported(Child(path, "x-kubernetes-list-type"), Value(type), {"atomic", "set", "map"}));
      }
    }
    if (!s.list_map_keys.empty() && type != "map") {
      static constexpr const char* kWhy = "must be map if x-kubernetes-list-map-keys is non-empty";
      std::string at = Child(path, "x-kubernetes-list-type");
      errors_.push_back(s.list_type ? InvalidValue(at, Value(type), kWhy) : Required(at, kWhy));
    }
  }

  void MapKeys(const JsonSchema& s, const std::string& path) {
    std::string type = s.list_type.value_or("");
    if (type == "map") {
      if (s.list_map_keys.empty()) {
        errors_.push_back(Required(Child(path, "x-kubernetes-list-map-keys"), "must not be empty if x-kubernetes-list-type is map"));
      }
      if (s.items == nullptr && !s.items_is_array) {
        errors_.push_back(Required(Child(path, "items"), "must have a schema if x-kubernetes-list-type is map"));
      }
      if (s.items != nullptr && s.items->type != "object") {
        errors_.push_back(InvalidValue(Child(path, "items.type"), Value(s.items->type),
                                       "must be object if parent array's x-kubernetes-list-type is map"));
      }
      if (s.items != nullptr && s.items->type == "object") Keys(s, path);
    }
    if (s.items == nullptr || (type != "set" && type != "map")) return;
    Forbid(s.items->nullable, path, "items.nullable", "cannot be nullable when x-kubernetes-list-type is " + type);
    if (type != "map") return;
    for (const std::string& key : s.list_map_keys) {
      const JsonSchema* property = s.items->Property(key);
      if (property == nullptr) continue;
      std::string at = Property(Child(path, "items"), key);
      bool required = std::find(s.items->required.begin(), s.items->required.end(), key) != s.items->required.end();
      if (!required && !property->default_value) {
        errors_.push_back(Required(Child(at, "default"),
                                   "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"));
      }
      Forbid(property->nullable, at, "nullable", "this property is in x-kubernetes-list-map-keys, so it cannot be nullable");
    }
  }

  void Keys(const JsonSchema& s, const std::string& path) {
    Value all = Value::Array();
    for (const std::string& key : s.list_map_keys) all.MutableList().push_back(Value(key));
    for (std::size_t i = 0; i < s.list_map_keys.size(); ++i) {
      const std::string& key = s.list_map_keys[i];
      const JsonSchema* property = s.items->Property(key);
      if (property == nullptr) {
        errors_.push_back(InvalidValue(Child(path, "x-kubernetes-list-map-keys"), all, "entries must all be names of item properties"));
      } else if (property->type == "array" || property->type == "object") {
        errors_.push_back(InvalidValue(Child(Property(Child(path, "items"), key), "type"), Value(s.items->type),
                                       "must be a scalar type if parent array's x-kubernetes-list-type is map"));
      }
      auto before = s.list_map_keys.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(s.list_map_keys.begin(), before, key) != before) {
        errors_.push_back(InvalidValue(Child(path, "x-kubernetes-list-map-keys"), all, "must not contain duplicate entries"));
      }
    }
  }

  // The form only; the rules are not compiled.
  void CelRules(const JsonSchema& s, const std::string& path) {
    auto trimmed = [](const Value& v) {
      std::string_view t = v.string_value();
      while (!t.empty() && std::string_view(" \t\r\n\v\f").find(t.front()) != std::string_view::npos) t.remove_prefix(1);
      while (!t.empty() && std::string_view(" \t\r\n\v\f").find(t.back()) != std::string_view::npos) t.remove_suffix(1);
      return t;
    };
    auto has_newline = [](std::string_view t) { return t.find('\n') != std::string_view::npos || t.find('\r') != std::string_view::npos; };
    for (std::size_t i = 0; i < s.validations.list().size(); ++i) {
      const Value& rule = s.validations.list()[i];
      std::string at = At(path, "x-kubernetes-validations", i);
      std::string_view text = trimmed(rule["rule"]), message = trimmed(rule["message"]);
      if (text.empty()) {
        errors_.push_back(Required(Child(at, "rule"), "rule is not specified"));
      } else if (!rule["message"].string_value().empty() && message.empty()) {
        errors_.push_back(InvalidValue(Child(at, "message"), rule["message"], "must be non-empty if specified"));
      } else if (has_newline(message)) {
        errors_.push_back(InvalidValue(Child(at, "message"), rule["message"], "must not contain line breaks"));
      } else if (has_newline(text) && message.empty()) {
        errors_.push_back(Required(Child(at, "message"), "message must be specified if rule contains line breaks"));
      }
      if (!rule["messageExpression"].string_value().empty() && trimmed(rule["messageExpression"]).empty()) {
        errors_.push_back(Required(Child(at, "messageExpression"), "messageExpression must be non-empty if specified"));
      }
      static const std::vector<std::string> kReasons = {"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid",
                                                        "FieldValueRequired"};
      if (const Value* reason = rule.Find("reason");
          reason != nullptr && std::find(kReasons.begin(), kReasons.end(), reason->string_value().str()) == kReasons.end()) {
        errors_.push_back(NotSupported(Child(at, "reason"), *reason, kReasons));
      }
      const std::string_view field = rule["fieldPath"].string_value();
      if (field.empty()) continue;
      if (trimmed(rule["fieldPath"]).empty()) {
        errors_.push_back(InvalidValue(Child(at, "fieldPath"), rule["fieldPath"], "must be non-empty if specified"));
      }
      if (has_newline(field)) errors_.push_back(InvalidValue(Child(at, "fieldPath"), rule["fieldPath"], "must not contain line breaks"));
      if (!LeadsToField(field, s)) errors_.push_back(InvalidValue(Child(at, "fieldPath"), rule["fieldPath"], "must be a valid path"));
    }
  }
};

// What stands in the way of building a structural schema at all; empty: nothing.
std::string Unsupported(const JsonSchema& s) {
  auto of = [](const char* name) { return "OpenAPIV3Schema '" + std::string(name) + "' is not supported"; };
  if (s.has_id) return of("id");
  if (s.has_schema) return of("schema");
  if (s.has_ref) return of("$ref");
  if (s.has_pattern_properties) return of("patternProperties");
  if (s.has_dependencies) return of("dependencies");
  if (s.has_additional_items) return of("additionalItems");
  if (s.has_definitions) return of("definitions");
  if (s.items_is_array) return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  if (s.preserve_unknown_fields && !*s.preserve_unknown_fields) {
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
  }
  std::string found;
  auto look = [&](const JsonSchema* below) {
    if (below != nullptr && found.empty()) found = Unsupported(*below);
  };
  look(s.not_schema.get());
  for (const std::vector<JsonSchema>* list : {&s.all_of, &s.any_of, &s.one_of}) {
    for (const JsonSchema& below : *list) look(&below);
  }
  look(s.items.get());
  for (const auto& [name, property] : s.properties) look(&property);
  look(s.additional.get());
  return found;
}

// With a status subresource, the root may only say these things.
Errors CheckRootWithStatus(const JsonSchema& s, const Value& json, const std::string& path) {
  if (!s.type.empty() && s.type != "object") {
    return {InvalidValue(Child(path, "type"), Value(s.type),
                         "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled")};
  }
  bool other = s.default_value || s.nullable || !s.enum_values.empty() || s.max_properties || s.min_properties || !s.all_of.empty() ||
               !s.any_of.empty() || !s.one_of.empty() || s.not_schema != nullptr || s.has_additional || s.embedded_resource ||
               s.int_or_string || !s.list_map_keys.empty() || s.list_type || s.map_type || s.has_id || s.has_schema || s.has_ref ||
               s.has_pattern_properties || s.has_dependencies || s.has_additional_items || s.has_definitions;
  if (!other) return {};
  return {InvalidValue(path, json,
                       "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
                       "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
                       "XValidations] fields are allowed at the root of the schema if the status subresource is enabled")};
}

}  // namespace

std::vector<FieldError> CheckStructural(const JsonSchema& schema, const std::string& path) {
  return StructuralChecker().Check(schema, path);
}

std::vector<FieldError> CheckDefaults(const JsonSchema& schema, const std::string& path) {
  Errors errors;
  CheckDefaultsBelow(schema, true, false, path, errors);
  return errors;
}

std::vector<FieldError> CheckCrdSchema(const Value& openapi_v3_schema, const std::string& path, bool status_enabled) {
  if (!openapi_v3_schema.is_object()) return {};
  JsonSchema schema = ParseJsonSchema(openapi_v3_schema);
  Errors errors;
  auto add = [&](Errors more) { errors.insert(errors.end(), more.begin(), more.end()); };
  if (status_enabled) add(CheckRootWithStatus(schema, openapi_v3_schema, path));
  if (schema.nullable) errors.push_back(ForbiddenField(Child(path, "nullable"), "nullable cannot be true at the root"));
  std::string unsupported = Unsupported(schema);
  if (unsupported.empty()) {
    Errors structural = CheckStructural(schema, path);
    add(structural.empty() ? CheckDefaults(schema, path) : structural);
  }
  add(OpenApiChecker().Check(schema, path));
  if (errors.empty() && !unsupported.empty()) errors.push_back(InvalidValue(path, Value(""), unsupported));
  return errors;
}

}  // namespace kube::apiserver
