// Joining schemas: what allOf says becomes part of the schema itself if that is possible.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "generate/schema.h"

namespace kube::generate {
namespace {

// Keys whose values controller-gen compares by content; equal ones need no allOf. Others are pointers in its structs: both stay.
constexpr auto kComparable =
    std::to_array<std::string_view>({"type", "format", "pattern", "nullable", "uniqueItems", "exclusiveMaximum", "exclusiveMinimum",
                                     "x-kubernetes-embedded-resource", "x-kubernetes-int-or-string", "maxProperties", "minProperties"});
constexpr auto kDocumentation = std::to_array<std::string_view>({"allOf", "title", "description", "example", "externalDocs"});

template <typename Names>
bool Contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The same object or list, which two fields have from one type: controller-gen compares pointers, so none of its parts ends up in allOf.
bool IsSame(const Value& a, const Value& b) {
  return (a.is_object() && b.is_object() && a.object().SharesWith(b.object())) ||
         (a.is_list() && b.is_list() && a.list().SharesWith(b.list()));
}

class Merger {
 public:
  Merger(const Position& at, Problems& problems) : at_(at), problems_(problems) {}

  void Flatten(Value& schema) {
    if (!schema.is_object()) return;
    if (const Value* found = schema.Find("allOf")) {
      const Value all = *found;
      schema.MutableObject().Erase("allOf");
      for (const Value& part : all.list()) Merge(schema, part);
    }
    for (const char* key : {"items", "additionalProperties", "not"}) {
      if (schema.Find(key) == nullptr || !std::as_const(schema)[key].is_object()) continue;
      Value inner = std::as_const(schema)[key];
      Flatten(inner);
      schema[key] = std::move(inner);
    }
    if (schema.Find("properties") != nullptr) {
      Value properties = Value::Object();
      for (const auto& [name, property] : std::as_const(schema)["properties"].object()) {
        Value inner = property;
        Flatten(inner);
        properties[name] = std::move(inner);
      }
      schema["properties"] = std::move(properties);
    }
    if (const Value* found = schema.Find(kRawKeys)) {
      const Value keys = *found;
      schema.MutableObject().Erase(kRawKeys);
      for (const auto& [key, value] : keys.object()) {
        if (value.is_null()) {
          schema.MutableObject().Erase(key);
        } else {
          schema[key] = value;
        }
      }
    }
  }

 private:
  void Merge(Value& into, const Value& from) {
    for (const Value& part : from["allOf"].list()) Merge(into, part);
    Value rest_into = Value::Object(), rest_from = Value::Object();
    bool hoisted = false;
    for (const auto& [name, value] : from.object()) {
      const std::string_view key = name;
      if (Contains(kDocumentation, key)) continue;
      const Value* before = into.Find(key);
      if (before == nullptr) {
        into[key] = value;
      } else if (key == "enum" || IsSame(*before, value) || (Contains(kComparable, key) && *before == value)) {
        // What the type allows is not widened by a field.
      } else if (!Resolve(into, key, *before, value)) {
        rest_into[key] = *before;
        rest_from[key] = value;
        into.MutableObject().Erase(key);
        hoisted = true;
      }
    }
    if (hoisted) {
      into["allOf"].MutableList().push_back(rest_into);
      into["allOf"].MutableList().push_back(rest_from);
    }
  }

  // False: both values have to stay, side by side in allOf.
  bool Resolve(Value& into, std::string_view key, Value before, const Value& value) {
    if (key == "properties") {
      for (const auto& [name, property] : value.object()) {
        const Value* there = before.Find(name);
        if (there == nullptr) {
          before[name] = property;
        } else {
          Value merged = *there;
          Merge(merged, property);
          before[name] = std::move(merged);
        }
      }
      into[key] = std::move(before);
    } else if (key == "required") {
      std::set<std::string> names;
      for (const Value& name : before.list()) names.insert(name.string_value().str());
      for (const Value& name : value.list()) names.insert(name.string_value().str());
      Value all = Value::Array();
      for (const std::string& name : names) all.MutableList().push_back(Value(name));
      into[key] = std::move(all);
    } else if (key == "type") {
      problems_.Error(at_, fmt::format("two types for one value in the schema, {} and {}; leave one of the Type markers out",
                                       before.string_value().view(), value.string_value().view()));
    } else if (key == "additionalProperties") {
      Merge(before, value);
      into[key] = std::move(before);
    } else if (key == "x-kubernetes-preserve-unknown-fields" || key == "x-kubernetes-map-type" || key == "x-kubernetes-list-type" ||
               key == "x-kubernetes-list-map-keys") {
      into[key] = value;
    } else if (key == kRawKeys) {
      for (const auto& [name, raw] : value.object()) before[name] = raw;
      into[key] = std::move(before);
    } else if (key == "x-kubernetes-validations") {
      Value all = value;
      for (const Value& rule : before.list()) all.MutableList().push_back(rule);
      into[key] = std::move(all);
    } else {
      return false;
    }
    return true;
  }

  const Position& at_;
  Problems& problems_;
};

std::string Truncate(std::string_view text, std::size_t max) {
  if (text.size() <= max) return std::string(text);
  // Never inside of a character.
  while (max > 0 && (static_cast<unsigned char>(text[max]) & 0xc0) == 0x80) --max;
  text = text.substr(0, max);
  std::size_t sentence = 0;
  for (const std::string_view end : {".", "!", "?", "\u3002", "\uff01", "\uff1f", "\uff0e", "\uff61"}) {
    if (const std::size_t at = text.rfind(end); at != std::string_view::npos && at > 0) sentence = std::max(sentence, at + end.size());
  }
  if (sentence > 0) return std::string(text.substr(0, sentence));
  if (const std::size_t end = text.find_last_of(" \t\n\v\f\r"); end != std::string_view::npos && end > 0)
    return std::string(text.substr(0, end)) + "...";
  return std::string(text) + "...";
}

}  // namespace

void FlattenAllOf(Value& schema, const Position& at, Problems& problems) { Merger(at, problems).Flatten(schema); }

void TruncateDescriptions(Value& schema, int max_bytes) {
  if (!schema.is_object() || max_bytes < 0) return;
  if (const Value* text = schema.Find("description")) {
    if (max_bytes == 0) {
      schema.MutableObject().Erase("description");
    } else {
      schema["description"] = Truncate(text->string_value().str(), static_cast<std::size_t>(max_bytes));
    }
  }
  for (const char* key : {"items", "additionalProperties"}) {
    if (schema.Find(key) == nullptr) continue;
    Value inner = std::as_const(schema)[key];
    TruncateDescriptions(inner, max_bytes);
    schema[key] = std::move(inner);
  }
  if (schema.Find("properties") == nullptr) return;
  Value properties = Value::Object();
  for (const auto& [name, property] : std::as_const(schema)["properties"].object()) {
    Value inner = property;
    TruncateDescriptions(inner, max_bytes);
    properties[name] = std::move(inner);
  }
  schema["properties"] = std::move(properties);
}

}  // namespace kube::generate
