#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "apiserver/json_schema.h"
#include "kube/codec/json.h"
#include "random_resource.h"
#include "random_values.h"

namespace kube::generate {
namespace {

constexpr std::string_view kUnknownName = "notInTheSchema";

bool IsMeta(std::string_view name) { return name == "apiVersion" || name == "kind" || name == "metadata"; }

class Breaker {
 public:
  Breaker(const Value& object, Random& random) : object_(object), random_(random) {}

  void Walk(const Value& schema, const Value& value, const std::string& path, bool root) {
    if (value.is_null()) return;
    const std::vector<const Value*> parts = PartsOf(schema);
    if (!root) BreakType(schema, path);
    BreakEnum(parts, value, path);
    if (value.is_number()) BreakNumber(schema, parts, path);
    if (value.is_string()) BreakText(parts, path);
    if (value.is_list()) BreakList(schema, value, path);
    if (value.is_object()) BreakObject(schema, value, path, root);
  }

  void BreakMetadata() {
    at_ = {"metadata"};
    auto with = [&](const char* field, Value value, const char* path) {
      Value metadata = object_["metadata"];
      metadata[field] = std::move(value);
      Add(Rule::kMetadata, std::string("metadata.") + path, std::move(metadata));
    };
    const char* const bad_keys[] = {"a b", "", "/a", "a/b/c", "-a", "UPPER.com/x_", "\xc3\xa9"};
    const char* const bad_values[] = {"a b", "-", "a\n", "\xc3\xa9"};
    with("labels", Value::Object({{Any(bad_keys), "x"}}), "labels");
    with("labels", Value::Object({{"a", Any(bad_values)}}), "labels");
    with("labels", Value::Object({{"a", std::string(64, 'a')}}), "labels");
    with("annotations", Value::Object({{Any(bad_keys), "x"}}), "annotations");
    const char* const bad_finalizers[] = {"a b", "", "/"};
    with("finalizers", Value::Array({Any(bad_finalizers)}), "finalizers");
    const char* const bad_names[] = {"Upper", "a_b", "a..b", "-a", "a b"};
    with("name", Any(bad_names), "name");
    Value owner = Value::Object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"name", "a"}, {"uid", "b"}});
    const char* const members[] = {"apiVersion", "kind", "name", "uid"};
    const char* const member = Any(members);
    owner[member] = "";
    with("ownerReferences", Value::Array({owner}), (std::string("ownerReferences.") + member).c_str());
  }

  std::vector<BrokenResource> Take() { return std::move(out_); }

 private:
  const Value& object_;
  Random& random_;
  std::vector<Value> at_{};  // keys and indices
  std::vector<BrokenResource> out_{};

  template <std::size_t n>
  const char* Any(const char* const (&texts)[n]) {
    return texts[Pick(random_, n)];
  }

  // `value` empty: removes the present value.
  static void Put(Value& in, const std::vector<Value>& at, std::size_t depth, const std::optional<Value>& value) {
    const Value& step = at[depth];
    const bool last = depth + 1 == at.size();
    if (last && !value) {
      in.MutableObject().Erase(step.string_value());
      return;
    }
    Value& below = step.is_string() ? in[step.string_value().view()] : in.MutableList()[static_cast<std::size_t>(step.int_value())];
    if (last) {
      below = *value;
    } else {
      Put(below, at, depth + 1, value);
    }
  }

  void Add(Rule rule, const std::string& path, std::optional<Value> value) {
    BrokenResource broken{rule, path, object_};
    Put(broken.object, at_, 0, value);
    out_.push_back(std::move(broken));
  }
  // The same for a member of the value that at_ points to.
  void AddMember(Rule rule, const std::string& path, const Value& name, std::optional<Value> value) {
    at_.push_back(name);
    Add(rule, path, std::move(value));
    at_.pop_back();
  }

  void BreakType(const Value& schema, const std::string& path) {
    const std::string_view type = schema["type"].string_value();
    std::vector<Value> wrong;
    const Value object = Value::Object({{"a", 1}}), list = Value::Array({"a"});
    if (schema["x-kubernetes-int-or-string"].bool_value()) {
      wrong = {true, 1.5, object, list};
    } else if (type == "integer") {
      wrong = {"1", true, 1.5, object, list};
    } else if (type == "number") {
      wrong = {"1", true, object, list};
    } else if (type == "string") {
      wrong = {1, 1.5, false, object};
      // Servers take a list of anything for a text with a format.
      if (schema.Find("format") == nullptr) wrong.push_back(list);
    } else if (type == "boolean") {
      wrong = {"true", 1, 0.5, object, list};
    } else if (type == "array") {
      wrong = {"a", 1, 1.5, true, object};
    } else if (type == "object") {
      wrong = {"a", 1, 1.5, true, list};
    } else {
      return;
    }
    Add(Rule::kType, path, wrong[Pick(random_, wrong.size())]);
  }

  void BreakEnum(const std::vector<const Value*>& parts, const Value& value, const std::string& path) {
    if (AllowedValues(parts).empty()) return;
    if (value.is_string()) {
      static constexpr const char* kOthers[] = {"not one of them", "", "\xe2\x82\xac\n", " "};
      Add(Rule::kEnum, path, Any(kOthers));
    } else if (value.is_number()) {
      Add(Rule::kEnum, path, 98765);
    }
  }

  void BreakNumber(const Value& schema, const std::vector<const Value*>& parts, const std::string& path) {
    const bool whole = schema["type"].string_value() == "integer";
    if (schema["x-kubernetes-int-or-string"].bool_value() || !AllowedValues(parts).empty()) return;
    auto number = [&](double n) { return whole ? Value(static_cast<std::int64_t>(n)) : Value(n); };
    for (const Value* part : parts) {
      if (const Value* bound = part->Find("maximum"); bound != nullptr && std::fabs(bound->double_value()) < 1e15) {
        const double edge = (*part)["exclusiveMaximum"].bool_value() ? 0 : Chance(random_, 0.7) ? 1 : 1000;
        Add(Rule::kMaximum, path, number(std::ceil(bound->double_value()) + edge));
      }
      if (const Value* bound = part->Find("minimum"); bound != nullptr && std::fabs(bound->double_value()) < 1e15) {
        const double edge = (*part)["exclusiveMinimum"].bool_value() ? 0 : Chance(random_, 0.7) ? 1 : 1000;
        Add(Rule::kMinimum, path, number(std::floor(bound->double_value()) - edge));
      }
      if (const Value* step = part->Find("multipleOf"); step != nullptr && step->double_value() > 1) {
        Add(Rule::kMultipleOf, path, number(step->double_value() * static_cast<double>(Between(random_, 0, 5)) + 1));
      }
    }
    if (!whole) return;
    const bool narrow = schema["format"].string_value() == "int32";
    Add(Rule::kRange, path,
        narrow ? Value(Chance(random_, 0.5) ? 2147483648.0 : -2147483649.0) : Value(Chance(random_, 0.5) ? 1e19 : -1e19));
  }

  void BreakText(const std::vector<const Value*>& parts, const std::string& path) {
    if (!AllowedValues(parts).empty()) return;
    const double least = Largest(parts, "minLength").value_or(0), most = Smallest(parts, "maxLength").value_or(1e6);
    for (const Value* part : parts) {
      if (const Value* bound = part->Find("maxLength")) {
        const std::string rune = Chance(random_, 0.5) ? "\xe2\x82\xac" : "x";
        std::string text;
        for (std::int64_t n = bound->int_value() + 1; n > 0; --n) text += rune;
        Add(Rule::kMaxLength, path, text);
      }
      if (const Value* bound = part->Find("minLength"); bound != nullptr && bound->int_value() > 0) {
        Add(Rule::kMinLength, path, std::string(static_cast<std::size_t>(bound->int_value() - 1), 'x'));
      }
      if (const Value* pattern = part->Find("pattern")) {
        const apiserver::Pattern compiled(pattern->string_value());
        static constexpr const char* kTexts[] = {"",      "A",     "!",          "\xc3\xa9",       "a b", "0\n", "-",
                                                 "%%%%%", "x\x01", "\"quoted\"", "<&>\xe2\x80\xa8"};
        std::vector<std::string> wrong;
        for (const char* text : kTexts) {
          const auto length = static_cast<double>(Runes(text));
          if (!compiled.Matches(text) && length >= least && length <= most) wrong.emplace_back(text);
        }
        if (!wrong.empty()) Add(Rule::kPattern, path, wrong[Pick(random_, wrong.size())]);
      }
      if (const Value* format = part->Find("format")) {
        const auto bad = BadTexts(format->string_value());
        if (!bad.empty()) Add(Rule::kFormat, path, bad[Pick(random_, bad.size())]);
      }
    }
  }

  void BreakList(const Value& schema, const Value& value, const std::string& path) {
    const List<Value>& list = value.list();
    const Value& items = schema["items"];
    const std::string_view type = schema["x-kubernetes-list-type"].string_value();
    const bool full = schema.Find("maxItems") != nullptr && schema["maxItems"].int_value() <= static_cast<std::int64_t>(list.size());
    if (const Value* bound = schema.Find("maxItems"); bound != nullptr && bound->int_value() < 100) {
      Value more = value;
      for (int tries = 0; tries < 1000 && static_cast<std::int64_t>(std::as_const(more).list().size()) <= bound->int_value(); ++tries) {
        // A list of one property is made like the object that holds it.
        const Value holder =
            Value::Object({{"type", "object"}, {"properties", Value::Object({{"a", items}})}, {"required", Value::Array({"a"})}});
        Value item = RandomResource(holder, nullptr, random_)["a"];
        if (!IsRepeated(schema, std::as_const(more).list(), item)) more.MutableList().push_back(std::move(item));
      }
      if (static_cast<std::int64_t>(std::as_const(more).list().size()) > bound->int_value()) Add(Rule::kMaxItems, path, std::move(more));
    }
    if (const std::int64_t bound = schema["minItems"].int_value(); bound > 0) {
      Value fewer = value;
      while (static_cast<std::int64_t>(std::as_const(fewer).list().size()) >= bound) fewer.MutableList().erase(0);
      Add(Rule::kMinItems, path, std::move(fewer));
    }
    if ((type == "set" || type == "map") && !list.empty() && !full) {
      const std::size_t which = Pick(random_, list.size());
      Value more = value;
      more.MutableList().push_back(list[which]);
      Add(type == "set" ? Rule::kSetItem : Rule::kMapKey, path + "[" + std::to_string(list.size()) + "]", std::move(more));
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string below = path + "[" + std::to_string(i) + "]";
      at_.emplace_back(static_cast<std::int64_t>(i));
      if (!items["nullable"].bool_value() && items.Find("default") == nullptr && !items["type"].string_value().empty()) {
        Add(Rule::kNull, below, Value());
      }
      Walk(items, list[i], below, false);
      at_.pop_back();
    }
  }

  void BreakObject(const Value& schema, const Value& value, const std::string& path, bool root) {
    const Map<Value>& members = value.object();
    const Value& properties = schema["properties"];
    auto child = [&](std::string_view name) { return path.empty() ? std::string(name) : path + "." + std::string(name); };
    const bool embedded = schema["x-kubernetes-embedded-resource"].bool_value();
    if (embedded) BreakEmbedded(value, path);
    const Value* values = schema.Find("additionalProperties");
    if (values != nullptr && values->is_object()) {
      if (const Value* bound = schema.Find("maxProperties"); bound != nullptr && bound->int_value() < 100 && !members.empty()) {
        Value more = value;
        for (int i = 0; static_cast<std::int64_t>(std::as_const(more).object().size()) <= bound->int_value(); ++i) {
          more["more" + std::to_string(i)] = members.begin()->value;
        }
        Add(Rule::kMaxProperties, path, std::move(more));
      }
      if (const std::int64_t bound = schema["minProperties"].int_value(); bound > 0) {
        Value fewer = value;
        while (static_cast<std::int64_t>(std::as_const(fewer).object().size()) >= bound) {
          const String last = std::as_const(fewer).object().begin()->key;
          fewer.MutableObject().Erase(last);
        }
        Add(Rule::kMinProperties, path, std::move(fewer));
      }
    } else if (schema["type"].string_value() == "object" && !schema["x-kubernetes-preserve-unknown-fields"].bool_value()) {
      AddMember(Rule::kUnknown, child(kUnknownName), kUnknownName, RandomJson(random_, 3));
    }
    for (const Value& name : schema["required"].list()) {
      const std::string_view text = name.string_value();
      const Value& property = properties[text];
      if (property.Find("default") != nullptr || (embedded && IsMeta(text))) continue;
      AddMember(Rule::kRequired, child(text), name, std::nullopt);
      if (property["nullable"].bool_value() || property["type"].string_value().empty()) continue;
      AddMember(Rule::kNull, child(text), name, Value());
    }
    for (const auto& [key, member] : members) {
      if ((root || embedded) && IsMeta(key)) continue;
      const Value* property = properties.Find(key);
      if (property == nullptr) property = values;
      if (property == nullptr || !property->is_object()) continue;
      at_.emplace_back(key);
      Walk(*property, member, child(key), false);
      at_.pop_back();
    }
  }

  void BreakEmbedded(const Value& value, const std::string& path) {
    AddMember(Rule::kEmbedded, path + ".apiVersion", "apiVersion", std::nullopt);
    AddMember(Rule::kEmbedded, path + ".kind", "kind", std::nullopt);
    AddMember(Rule::kEmbedded, path + ".kind", "kind", Chance(random_, 0.5) ? Value("") : Value("No Kind"));
    AddMember(Rule::kEmbedded, path + ".apiVersion", "apiVersion", Chance(random_, 0.5) ? Value("") : Value("a/b/c"));
    AddMember(Rule::kEmbedded, path + ".metadata", "metadata",
              Chance(random_, 0.5) ? Value("x") : Value::Object({{"labels", Value::Array()}}));
    Value metadata = value["metadata"];
    metadata["labels"] = Value::Object({{"a b", "c"}});
    AddMember(Rule::kEmbedded, path + ".metadata.labels", "metadata", metadata);
    metadata = value["metadata"];
    metadata["name"] = "a/b";
    AddMember(Rule::kEmbedded, path + ".metadata.name", "metadata", std::move(metadata));
  }
};

}  // namespace

std::string_view ToString(Rule rule) {
  switch (rule) {
    case Rule::kType:
      return "type";
    case Rule::kNull:
      return "null";
    case Rule::kRequired:
      return "required";
    case Rule::kEnum:
      return "enum";
    case Rule::kMaximum:
      return "maximum";
    case Rule::kMinimum:
      return "minimum";
    case Rule::kMultipleOf:
      return "multipleOf";
    case Rule::kRange:
      return "range";
    case Rule::kMaxLength:
      return "maxLength";
    case Rule::kMinLength:
      return "minLength";
    case Rule::kPattern:
      return "pattern";
    case Rule::kFormat:
      return "format";
    case Rule::kMaxItems:
      return "maxItems";
    case Rule::kMinItems:
      return "minItems";
    case Rule::kSetItem:
      return "item of a set";
    case Rule::kMapKey:
      return "key of a map";
    case Rule::kMaxProperties:
      return "maxProperties";
    case Rule::kMinProperties:
      return "minProperties";
    case Rule::kEmbedded:
      return "embedded resource";
    case Rule::kMetadata:
      return "metadata";
    case Rule::kUnknown:
      return "unknown field";
  }
  return "";
}

std::vector<BrokenResource> BreakResource(const Value& schema, const Value& object, Random& random) {
  Breaker breaker(object, random);
  breaker.Walk(schema, object, "", true);
  breaker.BreakMetadata();
  return breaker.Take();
}

}  // namespace kube::generate
