// What the markers of a field, struct or alias say in its schema.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "generate/schema.h"
#include "kube/codec/json.h"

namespace kube::generate {
namespace {

// In this order, so that a marker finds what it depends on: types first, generated rules last.
int PriorityOf(std::string_view name) {
  if (name.ends_with(":Type") || name.ends_with(":XIntOrString") || name.ends_with("listType") || name == "default") return 9;
  if (name.ends_with(":AtMostOneOf")) return 11;
  if (name.ends_with(":ExactlyOneOf")) return 12;
  if (name.ends_with(":AtLeastOneOf")) return 13;
  return 10;
}

std::string_view ShortName(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

bool OneOf(std::string_view text, std::initializer_list<std::string_view> choices) {
  return std::find(choices.begin(), choices.end(), text) != choices.end();
}

std::string CountOf(const Value& fields) {
  std::string out;
  for (const Value& field : fields.list()) out += fmt::format("{}(has(self.{})?1:0)", out.empty() ? "" : "+", field.string_value().view());
  return out;
}
std::string AnyOf(const Value& fields) {
  std::string out;
  for (const Value& field : fields.list()) out += fmt::format("{}has(self.{})", out.empty() ? "" : "||", field.string_value().view());
  return out;
}
std::string Names(const Value& fields) {
  std::string out;
  for (const Value& field : fields.list()) out += fmt::format("{}{}", out.empty() ? "" : " ", field.string_value().view());
  return out;
}

}  // namespace

const Value* SchemaMaker::FindInParts(const Value& schema, std::string_view key) {
  if (const Value* value = schema.Find(key)) return value;
  const List<Value>& parts = schema["allOf"].list();
  for (std::size_t i = parts.size(); i-- > 0;) {
    if (const Value* value = FindInParts(parts[i], key)) return value;
  }
  return nullptr;
}

std::string SchemaMaker::EffectiveType(const Value& schema) {
  if (const Value* type = schema.Find("type")) return type->string_value().str();
  const Value* ref = schema.Find("$ref");
  if (ref == nullptr) return "";
  const Value* type = FindInParts(Expanded(ref->string_value().str()), "type");
  return type == nullptr ? "" : type->string_value().str();
}

bool SchemaMaker::IsTextual(const Value& schema) {
  if (EffectiveType(schema) == "string" || schema["x-kubernetes-int-or-string"].bool_value()) return true;
  const Value* ref = schema.Find("$ref");
  return ref != nullptr && Expanded(ref->string_value().str())["x-kubernetes-int-or-string"].bool_value();
}

void SchemaMaker::Apply(const std::vector<Marker>& markers, Value& schema, const Alias* alias) {
  std::vector<const Marker*> own, of_items;
  for (const Marker& marker : markers) (marker.items ? of_items : own).push_back(&marker);
  auto sort = [](std::vector<const Marker*>& list) {
    std::stable_sort(list.begin(), list.end(), [](const Marker* a, const Marker* b) { return PriorityOf(a->name) < PriorityOf(b->name); });
  };
  sort(own);
  sort(of_items);
  for (const Marker* marker : own) ApplyOne(*marker, schema, alias);
  for (const Marker* marker : of_items) {
    if (std::as_const(schema)["type"].string_value() != "array" || schema.Find("items") == nullptr) {
      problems_.Error(marker->at,
                      fmt::format("marker +kubebuilder:validation:items:{} needs a list; the field is none", ShortName(marker->name)));
      continue;
    }
    Value items = std::as_const(schema)["items"];
    ApplyOne(*marker, items, nullptr);
    schema["items"] = std::move(items);
  }
}

void SchemaMaker::ApplyNumber(const Marker& marker, std::string_view key, Value& schema) {
  const std::string type = EffectiveType(schema);
  if (type != "integer" && type != "number") {
    problems_.Error(marker.at, fmt::format("marker +{} needs a number; the type is {}", marker.name, type.empty() ? "another" : type));
  } else if (type == "integer" && marker.value.is_double()) {
    problems_.Error(marker.at, fmt::format("marker +{}: {} is no integer, but the type is", marker.name, ToJson(marker.value)));
  } else {
    schema[key] = marker.value;
  }
}

void SchemaMaker::ApplyRule(const Marker& marker, Value& schema) {
  static constexpr auto kReasons =
      std::to_array<std::string_view>({"FieldValueRequired", "FieldValueInvalid", "FieldValueForbidden", "FieldValueDuplicate"});
  Value rule = Value::Object();
  for (const auto& [name, value] : marker.arguments.object()) {
    // An empty text is none.
    if (!value.is_string() || !value.string_value().empty()) rule[name] = value;
  }
  if (const Value* reason = rule.Find("reason");
      reason != nullptr && std::find(kReasons.begin(), kReasons.end(), reason->string_value().view()) == kReasons.end()) {
    problems_.Error(marker.at, fmt::format("marker +{}: reason {}; write one of {}", marker.name, reason->string_value().view(),
                                           fmt::join(kReasons, ", ")));
    return;
  }
  schema["x-kubernetes-validations"].MutableList().push_back(std::move(rule));
}

bool StandsBeforeInEnum(const std::string& a, const std::string& b) {
  const auto json = [](const std::string& text) {
    std::string out;
    for (const char c : ToJson(Value(text))) {
      if (c == '<' || c == '>' || c == '&') {
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      } else {
        out += c;
      }
    }
    return out;
  };
  return json(a) < json(b);
}

void SchemaMaker::ApplyEnum(const Alias* alias, const Marker& marker, Value& schema) {
  if (alias == nullptr) return;
  if (EffectiveType(schema) != "string") {
    problems_.Error(marker.at, "marker +k8s:enum needs an alias of kube::String");
    return;
  }
  std::vector<std::string> values(alias->constants.begin(), alias->constants.end());
  std::sort(values.begin(), values.end(), &StandsBeforeInEnum);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  if (values.empty()) {
    problems_.Error(
        marker.at,
        fmt::format("marker +k8s:enum: no constants of {0}; write `inline constexpr std::string_view k{0}... = \"...\";` in its namespace",
                    alias->name));
    return;
  }
  Value list = Value::Array();
  for (const std::string& value : values) list.MutableList().push_back(Value(value));
  schema["enum"] = std::move(list);
}

// Kept aside until all parts of the schema are joined, since what they mean depends on nothing else.
void SchemaMaker::ApplyKeys(const Marker& marker, Value& schema) {
  if (!marker.value.is_object()) {
    problems_.Error(marker.at, "marker +kube:schema: expected a JSON object, such as {\"minLength\": 1}");
    return;
  }
  for (const auto& [key, value] : marker.value.object()) schema[kRawKeys][key] = value;
}

void SchemaMaker::ApplyOne(const Marker& marker, Value& schema, const Alias* alias) {
  const std::string_view name = ShortName(marker.name);
  auto wrong = [&](std::string text) { problems_.Error(marker.at, fmt::format("marker +{}{}", marker.name, text)); };
  auto needs = [&](bool fits, std::string_view what) {
    if (!fits) {
      const std::string type = EffectiveType(schema);
      wrong(fmt::format(" needs {}; the type is {}", what, type.empty() ? "another" : type));
    }
    return fits;
  };
  const bool object = EffectiveType(schema) == "object", array = EffectiveType(schema) == "array";
  const std::string text = marker.value.string_value().str();

  if (marker.name == "kube:schema") return ApplyKeys(marker, schema);
  if (name == "Maximum" || name == "maximum") return ApplyNumber(marker, "maximum", schema);
  if (name == "Minimum" || name == "minimum") return ApplyNumber(marker, "minimum", schema);
  if (name == "MultipleOf") return ApplyNumber(marker, "multipleOf", schema);
  if (name == "ExclusiveMaximum" || name == "ExclusiveMinimum") {
    const std::string type = EffectiveType(schema);
    if (!needs(type == "integer" || type == "number", "a number")) return;
    if (marker.value.bool_value()) schema[name == "ExclusiveMaximum" ? "exclusiveMaximum" : "exclusiveMinimum"] = true;
  } else if (name == "MaxLength" || name == "MinLength") {
    if (needs(IsTextual(schema), "a string")) schema[name == "MaxLength" ? "maxLength" : "minLength"] = marker.value;
  } else if (name == "Pattern") {
    if (needs(IsTextual(schema), "a string")) schema["pattern"] = marker.value;
  } else if (name == "MaxItems" || name == "maxItems" || name == "MinItems") {
    if (needs(array, "a list")) schema[name == "MinItems" ? "minItems" : "maxItems"] = marker.value;
  } else if (name == "UniqueItems") {
    if (needs(array, "a list") && marker.value.bool_value()) schema["uniqueItems"] = true;
  } else if (name == "MaxProperties" || name == "MinProperties") {
    if (needs(object, "a struct or map")) schema[name == "MaxProperties" ? "maxProperties" : "minProperties"] = marker.value;
  } else if (name == "Enum") {
    schema["enum"] = marker.value;
  } else if (name == "Format") {
    if (text.empty()) {
      schema.MutableObject().Erase("format");
    } else {
      schema["format"] = marker.value;
    }
  } else if (name == "Type") {
    if (!OneOf(text, {"string", "integer", "number", "boolean", "object", "array", ""})) {
      wrong(fmt::format(": no type {}; write string, integer, number, boolean, object or array", text));
    } else if (text.empty()) {
      schema.MutableObject().Erase("type");
    } else {
      schema["type"] = marker.value;
    }
  } else if (name == "XPreserveUnknownFields" || name == "PreserveUnknownFields") {
    schema["x-kubernetes-preserve-unknown-fields"] = true;
  } else if (name == "XEmbeddedResource" || name == "EmbeddedResource") {
    schema["x-kubernetes-embedded-resource"] = true;
  } else if (name == "XIntOrString") {
    schema["x-kubernetes-int-or-string"] = true;
  } else if (name == "XValidation") {
    ApplyRule(marker, schema);
  } else if (name == "AtMostOneOf") {
    ApplyRule({.name = marker.name,
               .arguments = Value::Object({{"rule", CountOf(marker.value) + " <= 1"},
                                           {"message", fmt::format("at most one of the fields in [{}] may be set", Names(marker.value))}}),
               .at = marker.at},
              schema);
  } else if (name == "ExactlyOneOf") {
    ApplyRule({.name = marker.name,
               .arguments = Value::Object({{"rule", CountOf(marker.value) + " == 1"},
                                           {"message", fmt::format("exactly one of the fields in [{}] must be set", Names(marker.value))}}),
               .at = marker.at},
              schema);
  } else if (name == "AtLeastOneOf") {
    ApplyRule(
        {.name = marker.name,
         .arguments = Value::Object({{"rule", AnyOf(marker.value)},
                                     {"message", fmt::format("at least one of the fields in [{}] must be set", Names(marker.value))}}),
         .at = marker.at},
        schema);
  } else if (marker.name == "k8s:enum") {
    ApplyEnum(alias, marker, schema);
  } else if (marker.name == "k8s:required") {
    const std::string type = EffectiveType(schema);
    const char* key = type == "string" ? "minLength" : type == "array" ? "minItems" : type == "object" ? "minProperties" : nullptr;
    if (key != nullptr && schema.Find(key) == nullptr &&
        (schema.Find("$ref") == nullptr || type == "object" || schema.Find("type") != nullptr)) {
      schema[key] = 1;
    }
  } else if (marker.name == "k8s:immutable") {
    schema["x-kubernetes-validations"].MutableList().push_back(
        Value::Object({{"rule", "self == oldSelf"}, {"message", "field is immutable"}}));
  } else if (name == "nullable") {
    schema["nullable"] = true;
  } else if (name == "default") {
    const bool empty = marker.value.is_object() && marker.value.object().empty();
    schema["default"] = array && empty ? Value::Array() : marker.value;
  } else if (name == "example") {
    schema["example"] = marker.value;
  } else if (name == "title") {
    if (!text.empty()) schema["title"] = marker.value;
  } else if (name == "externalDocs") {
    schema["externalDocs"] = marker.arguments;
  } else if (name == "listType") {
    if (!needs(array, "a list")) return;
    if (!OneOf(text, {"map", "set", "atomic"})) return wrong(fmt::format(": no list type {}; write map, set or atomic", text));
    schema["x-kubernetes-list-type"] = marker.value;
  } else if (name == "listMapKey") {
    if (!needs(array, "a list")) return;
    if (std::as_const(schema)["x-kubernetes-list-type"].string_value() != "map") return wrong(" needs +listType=map");
    const auto& keys = std::as_const(schema)["x-kubernetes-list-map-keys"].list();
    if (std::find(keys.begin(), keys.end(), marker.value) == keys.end())
      schema["x-kubernetes-list-map-keys"].MutableList().push_back(marker.value);
  } else if (name == "mapType" || name == "structType") {
    if (!needs(object, name == "mapType" ? "a map" : "a struct")) return;
    if (!OneOf(text, {"granular", "atomic"}))
      return wrong(fmt::format(": no {} {}; write granular or atomic", name == "mapType" ? "map type" : "struct type", text));
    schema["x-kubernetes-map-type"] = marker.value;
  }
}

}  // namespace kube::generate
