#include "apiserver/json_schema.h"

#include <algorithm>
#include <utility>

namespace kube::apiserver {
namespace {

std::string Text(const Value& v) { return v.string_value().str(); }

std::vector<std::string> Texts(const Value& v) {
  std::vector<std::string> out;
  for (const Value& item : v.list()) {
    if (item.is_string()) out.push_back(Text(item));
  }
  return out;
}

std::optional<double> Number(const Value& v) {
  if (!v.is_number()) return {};
  return v.double_value();
}

std::optional<std::int64_t> Integer(const Value& v) {
  if (!v.is_number()) return {};
  return v.int_value();
}

std::optional<std::string> OptionalText(const Value& v) {
  if (!v.is_string()) return {};
  return Text(v);
}

std::unique_ptr<JsonSchema> Child(const Value& v) { return v.is_object() ? std::make_unique<JsonSchema>(ParseJsonSchema(v)) : nullptr; }

std::vector<JsonSchema> Children(const Value& v) {
  std::vector<JsonSchema> out;
  for (const Value& item : v.list()) out.push_back(ParseJsonSchema(item));
  return out;
}

}  // namespace

JsonSchema::JsonSchema() = default;
JsonSchema::JsonSchema(JsonSchema&& other) noexcept = default;
JsonSchema& JsonSchema::operator=(JsonSchema&& other) noexcept = default;
JsonSchema::~JsonSchema() = default;

JsonSchema ParseJsonSchema(const Value& json) {
  JsonSchema out;
  out.type = Text(json["type"]);
  out.format = Text(json["format"]);
  out.title = Text(json["title"]);
  out.description = Text(json["description"]);
  out.pattern = Text(json["pattern"]);
  if (!out.pattern.empty()) out.compiled = std::make_shared<const Pattern>(out.pattern);
  if (const Value* v = json.Find("default"); v != nullptr && !v->is_null()) out.default_value = *v;
  out.nullable = json["nullable"].bool_value();
  out.maximum = Number(json["maximum"]);
  out.minimum = Number(json["minimum"]);
  out.multiple_of = Number(json["multipleOf"]);
  out.exclusive_maximum = json["exclusiveMaximum"].bool_value();
  out.exclusive_minimum = json["exclusiveMinimum"].bool_value();
  out.max_length = Integer(json["maxLength"]);
  out.min_length = Integer(json["minLength"]);
  out.max_items = Integer(json["maxItems"]);
  out.min_items = Integer(json["minItems"]);
  out.max_properties = Integer(json["maxProperties"]);
  out.min_properties = Integer(json["minProperties"]);
  out.unique_items = json["uniqueItems"].bool_value();
  for (const Value& v : json["enum"].list()) out.enum_values.push_back(v);
  out.required = Texts(json["required"]);
  out.all_of = Children(json["allOf"]);
  out.any_of = Children(json["anyOf"]);
  out.one_of = Children(json["oneOf"]);
  out.not_schema = Child(json["not"]);
  out.items = Child(json["items"]);
  out.items_is_array = json["items"].is_list() && !json["items"].list().empty();
  for (const auto& [name, property] : json["properties"].object()) out.properties.emplace_back(name.str(), ParseJsonSchema(property));
  if (const Value* v = json.Find("additionalProperties"); v != nullptr && !v->is_null()) {
    out.has_additional = true;
    out.additional = Child(*v);
    out.additional_allowed = out.additional != nullptr || v->bool_value();
  }
  if (const Value* v = json.Find("x-kubernetes-preserve-unknown-fields"); v != nullptr && v->is_bool()) {
    out.preserve_unknown_fields = v->bool_value();
  }
  out.embedded_resource = json["x-kubernetes-embedded-resource"].bool_value();
  out.int_or_string = json["x-kubernetes-int-or-string"].bool_value();
  out.list_map_keys = Texts(json["x-kubernetes-list-map-keys"]);
  out.list_type = OptionalText(json["x-kubernetes-list-type"]);
  out.map_type = OptionalText(json["x-kubernetes-map-type"]);
  out.validations = json["x-kubernetes-validations"];
  out.has_id = !json["id"].string_value().empty();
  out.has_schema = !json["$schema"].string_value().empty();
  out.has_ref = json["$ref"].is_string();
  out.has_pattern_properties = !json["patternProperties"].object().empty();
  out.has_dependencies = json["dependencies"].is_object();
  out.has_additional_items = !json["additionalItems"].is_null();
  out.has_definitions = !json["definitions"].object().empty();
  out.external_docs = json["externalDocs"];
  out.example = json["example"];
  return out;
}

const JsonSchema* JsonSchema::Property(std::string_view name) const {
  auto it = std::lower_bound(properties.begin(), properties.end(), name,
                             [](const std::pair<std::string, JsonSchema>& p, std::string_view n) { return p.first < n; });
  return it != properties.end() && it->first == name ? &it->second : nullptr;
}

}  // namespace kube::apiserver
