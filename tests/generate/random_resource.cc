#include "random_resource.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "apiserver/json_schema.h"
#include "generate/pattern_example.h"
#include "kube/codec/json.h"
#include "kube/value/quantity.h"
#include "kube/value/time.h"
#include "random_values.h"

namespace kube::generate {
namespace {

// What the table of the struct says of a value; nothing if there is no table.
struct Typed {
  const TypeInfo* type = nullptr;   // a struct
  const FieldInfo* many = nullptr;  // a list or map
  std::optional<FieldKind> kind{};  // a scalar
  bool written = false;             // also if it is empty
};

Typed WholeOf(const FieldInfo& field);

Typed ElementOf(const FieldInfo& field) {
  if (field.kind != FieldKind::kMessage) return {.kind = field.kind};
  if (field.type->form == TypeForm::kOnlyField) return WholeOf(field.type->fields[0]);
  return {.type = field.type};
}

Typed WholeOf(const FieldInfo& field) {
  if (field.shape == FieldShape::kList || field.shape == FieldShape::kMap) return {.many = &field};
  return ElementOf(field);
}

Typed MemberOf(const TypeInfo* type, std::string_view name) {
  if (type == nullptr) return {};
  for (const FieldInfo& field : *type) {
    if (field.kind == FieldKind::kInline) {
      const Typed found = MemberOf(field.type, name);
      if (found.type != nullptr || found.many != nullptr || found.kind) return found;
    } else if (field.json_name == name) {
      Typed out = WholeOf(field);
      out.written = field.required;
      return out;
    }
  }
  return {};
}

class Maker {
 public:
  explicit Maker(Random& random) : random_(random) {}

  Value Make(const Value& schema, const Typed& typed, int depth) {
    const std::vector<const Value*> parts = PartsOf(schema);
    const std::vector<Value> allowed = AllowedValues(parts);
    if (schema["nullable"].bool_value() && allowed.empty() && Chance(random_, 0.1)) return {};
    if (!allowed.empty()) return allowed[Pick(random_, allowed.size())];
    const std::string_view type = schema["type"].string_value();
    if (schema["x-kubernetes-int-or-string"].bool_value()) return MakeIntOrString(parts, typed);
    if (type == "array") return MakeList(schema, typed, depth);
    if (type == "object") return MakeObject(schema, typed, depth);
    if (type == "string") return MakeText(parts, typed);
    if (type == "integer") return MakeInteger(parts, typed);
    if (type == "number") return MakeNumber(parts);
    if (type == "boolean") return Chance(random_, 0.5);
    if (typed.type != nullptr) return MakeOfTable(*typed.type);
    return RandomJson(random_, depth);
  }

 private:
  Random& random_;

  // ---- Scalars ----

  Value MakeIntOrString(const std::vector<const Value*>& parts, const Typed& typed) {
    if (typed.kind == FieldKind::kQuantity || Chance(random_, 0.5)) return MakeText(parts, typed);
    return Edge(random_, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
  }

  Value MakeText(const std::vector<const Value*>& parts, const Typed& typed) {
    const FieldKind kind = typed.kind.value_or(FieldKind::kString);
    if (kind == FieldKind::kDuration) return Duration::FromNanoseconds(Between(random_, -5'000'000'000'000, 5'000'000'000'000)).ToString();
    if (kind == FieldKind::kQuantity) {
      for (;;) {
        const std::string text = Quantity::Parse(RandomQuantity(random_)).value().ToString();
        if (text != "0") return text;  // that one is absent
      }
    }
    if (kind == FieldKind::kTime) return Time::FromUnix(Between(random_, -2'000'000'000, 5'000'000'000)).ToString();
    if (kind == FieldKind::kMicroTime) return MicroTime::FromUnixMicros(Between(random_, -2'000'000'000, 5'000'000'000)).ToString();
    const auto least = static_cast<std::size_t>(Largest(parts, "minLength").value_or(0));
    const auto most = static_cast<std::size_t>(std::min(Smallest(parts, "maxLength").value_or(1e6), 1e6));
    std::vector<std::unique_ptr<const apiserver::Pattern>> patterns;
    std::string_view first;
    std::optional<std::string_view> format;
    for (const Value* part : parts) {
      if (const Value* pattern = part->Find("pattern")) {
        if (patterns.empty()) first = pattern->string_value();
        patterns.push_back(std::make_unique<const apiserver::Pattern>(pattern->string_value()));
      }
      if (const Value* found = part->Find("format")) format = found->string_value();
    }
    auto fits = [&](const std::string& text) {
      const std::size_t length = Runes(text);
      return length >= least && length <= most &&
             std::all_of(patterns.begin(), patterns.end(), [&](const auto& pattern) { return pattern->Matches(text); });
    };
    std::string text;
    for (int tries = 0; tries < 500; ++tries) {
      if (format && !GoodTexts(*format).empty()) {
        const auto good = GoodTexts(*format);
        text = good[kind == FieldKind::kBytes ? 0 : Pick(random_, good.size())];
      } else if (!patterns.empty()) {
        const auto pick = [&](std::size_t count) { return Pick(random_, count); };
        text = PatternExample(first, {.pick = pick, .repeat = Pick(random_, most < 16 ? most + 1 : 16)}).value_or("");
      } else {
        text = RandomText(random_, least, most);
      }
      if (fits(text)) return text;
    }
    return text;  // the validator will say what is wrong with it
  }

  Value MakeInteger(const std::vector<const Value*>& parts, const Typed& typed) {
    bool narrow = typed.kind == FieldKind::kInt32;
    double low = -9223372036854775808.0, high = 9223372036854774784.0, step = 1;
    for (const Value* part : parts) {
      narrow = narrow || (*part)["format"].string_value() == "int32";
      const double open_low = (*part)["exclusiveMinimum"].bool_value() ? 1 : 0,
                   open_high = (*part)["exclusiveMaximum"].bool_value() ? 1 : 0;
      if (const Value* v = part->Find("minimum")) low = std::max(low, std::ceil(v->double_value()) + open_low);
      if (const Value* v = part->Find("maximum")) high = std::min(high, std::floor(v->double_value()) - open_high);
      if (const Value* v = part->Find("multipleOf")) step = std::max(step, v->double_value());
    }
    if (narrow) low = std::max(low, -2147483648.0), high = std::min(high, 2147483647.0);
    const auto multiple = static_cast<std::int64_t>(step);
    std::int64_t out = Edge(random_, static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
    if (multiple <= 1) return out;
    out -= out % multiple;
    return static_cast<double>(out) < low ? out + multiple : static_cast<double>(out) > high ? out - multiple : out;
  }

  Value MakeNumber(const std::vector<const Value*>& parts) {
    double low = -1e300, high = 1e300;
    bool open_low = false, open_high = false;
    for (const Value* part : parts) {
      if (const Value* v = part->Find("minimum"); v != nullptr && v->double_value() >= low) {
        low = v->double_value();
        open_low = (*part)["exclusiveMinimum"].bool_value();
      }
      if (const Value* v = part->Find("maximum"); v != nullptr && v->double_value() <= high) {
        high = v->double_value();
        open_high = (*part)["exclusiveMaximum"].bool_value();
      }
    }
    for (;;) {
      static constexpr double kEdges[] = {0, 1, -1, 0.5, 1e-7, 1e21, 123456789.125, -2.5e-300};
      double out = Chance(random_, 0.3) ? low : Chance(random_, 0.4) ? high : kEdges[Pick(random_, std::size(kEdges))];
      if (Chance(random_, 0.3)) out = low / 2 + high / 2 + static_cast<double>(Between(random_, -1000, 1000)) / 1024;
      if (out < low || out > high || (open_low && out == low) || (open_high && out == high)) continue;
      return out;
    }
  }

  // ---- Composites ----

  std::size_t Size(const Value& schema, const char* fewest, const char* most) {
    const std::int64_t least = schema[fewest].int_value();
    const std::int64_t limit = schema.Find(most) != nullptr ? schema[most].int_value() : least + 3;
    if (Chance(random_, 0.2)) return static_cast<std::size_t>(least);
    if (Chance(random_, 0.2) && limit <= 20) return static_cast<std::size_t>(limit);
    return static_cast<std::size_t>(Between(random_, least, std::min(limit, least + 3)));
  }

  Value MakeList(const Value& schema, const Typed& typed, int depth) {
    const Typed element = typed.many != nullptr ? ElementOf(*typed.many) : Typed{};
    const std::size_t size = Size(schema, "minItems", "maxItems");
    Value out = Value::Array();
    for (std::size_t tries = 0; out.list().size() < size && tries < 100 + size; ++tries) {
      Value item = Make(schema["items"], element, depth + 1);
      if (!IsRepeated(schema, std::as_const(out).list(), item)) out.MutableList().push_back(std::move(item));
    }
    return out;
  }

  Value MakeObject(const Value& schema, const Typed& typed, int depth) {
    Value out = Value::Object();
    const Value& properties = schema["properties"];
    if (schema["x-kubernetes-embedded-resource"].bool_value()) {
      out = Value::Object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
      if (Chance(random_, 0.7)) out["metadata"] = Value::Object({{"name", "a"}, {"labels", Value::Object({{"a", "b"}})}});
    }
    if (const Value* values = schema.Find("additionalProperties"); values != nullptr && values->is_object()) {
      const Typed element = typed.many != nullptr ? ElementOf(*typed.many) : Typed{};
      const std::size_t size = Size(schema, "minProperties", "maxProperties");
      while (out.object().size() < size) out[RandomText(random_, 0, 12)] = Make(*values, element, depth + 1);
      return out;
    }
    if (schema["x-kubernetes-preserve-unknown-fields"].bool_value() && typed.type == nullptr) {
      for (std::size_t n = Pick(random_, 3); n > 0; --n) {
        const std::string key = "x" + RandomText(random_, 0, 5);
        if (properties.Find(key) == nullptr) out[key] = RandomJson(random_, depth + 1);
      }
    }
    const double p = depth <= 1 ? 0.7 : std::min(0.6, 3.0 / static_cast<double>(std::max<std::size_t>(properties.object().size(), 1)));
    std::set<std::string> fields;
    for (const auto& [name, property] : properties.object()) {
      if (Chance(random_, p)) fields.insert(name.str());
    }
    for (const Value& name : schema["required"].list()) fields.insert(name.string_value().str());
    const std::vector<OneOfGroup> groups = OneOfGroups(schema);
    for (int tries = 0; tries < 500 && !Hold(groups, fields); ++tries) {
      for (const OneOfGroup& group : groups) {
        for (const std::string& field : group.fields) Chance(random_, 0.5) ? fields.erase(field) : fields.insert(field).second;
      }
    }
    // A plain field that is empty is not written. Then its OneOf rule would not see it, and required fields of built-in structs would be
    // missing.
    auto must_be_filled = [&](const std::string& name, const Typed& member) {
      const List<Value>& required = schema["required"].list();
      if (typed.type != nullptr && !member.written && properties[name].Find("default") != nullptr) return true;
      if (typed.type != nullptr && !member.written && std::find(required.begin(), required.end(), Value(name)) != required.end())
        return true;
      return std::any_of(groups.begin(), groups.end(),
                         [&](const OneOfGroup& g) { return std::find(g.fields.begin(), g.fields.end(), name) != g.fields.end(); });
    };
    for (const std::string& name : fields) {
      if (depth == 0 && (name == "apiVersion" || name == "kind" || name == "metadata")) continue;
      const Value* property = properties.Find(name);
      if (property == nullptr || out.Find(name) != nullptr) continue;
      const Typed member = MemberOf(typed.type, name);
      Value value;
      for (int tries = 0; tries < (must_be_filled(name, member) ? 100 : 1); ++tries) {
        value = Make(*property, member, depth + 1);
        if (!IsEmptyValue(value)) break;
      }
      out[name] = std::move(value);
    }
    return out;
  }

  // A struct whose field has no schema.
  Value MakeOfTable(const TypeInfo& type) {
    Value out = Value::Object();
    for (const FieldInfo& field : type) {
      if (field.shape == FieldShape::kList || field.shape == FieldShape::kMap) continue;
      if (field.kind == FieldKind::kString) out[field.json_name] = RandomText(random_, 1, 8);
      if (field.kind == FieldKind::kInt64 || field.kind == FieldKind::kInt32) out[field.json_name] = Between(random_, 1, 9);
    }
    return out;
  }
};

}  // namespace

Value RandomResource(const Value& schema, const TypeInfo* type, Random& random) { return Maker(random).Make(schema, {.type = type}, 0); }

std::string DifferenceBeyondDefaults(const Value& schema, const Value& sent, const Value& read) {
  auto at = [](const std::string& where, const std::string& below) { return below.empty() ? "" : where + below; };
  if (sent.is_list() && read.is_list()) {
    if (sent.list().size() != read.list().size()) return ": has another length";
    for (std::size_t i = 0; i < sent.list().size(); ++i) {
      if (std::string d = DifferenceBeyondDefaults(schema["items"], sent.list()[i], read.list()[i]); !d.empty()) {
        return "[" + std::to_string(i) + "]" + d;
      }
    }
    return "";
  }
  if (!sent.is_object() || !read.is_object()) return sent == read ? "" : ": " + ToJson(sent) + " became " + ToJson(read);
  const Value& properties = schema["properties"];
  auto below = [&](std::string_view key) -> const Value& {
    const Value* property = properties.Find(key);
    return property != nullptr ? *property : schema["additionalProperties"];
  };
  auto absent = [&](std::string_view key) {
    const Value* member = sent.Find(key);
    return member == nullptr || (member->is_null() && properties.Find(key) != nullptr && !below(key)["nullable"].bool_value());
  };
  for (const auto& [key, member] : sent.object()) {
    if (absent(key)) continue;
    const Value* now = read.Find(key);
    const bool known = properties.Find(key) != nullptr || schema["additionalProperties"].is_object();
    if (now == nullptr && member.is_null() && known && !below(key)["nullable"].bool_value()) continue;
    if (now == nullptr) return "." + key.str() + ": is gone";
    if (std::string d = at("." + key.str(), DifferenceBeyondDefaults(below(key), member, *now)); !d.empty()) return d;
  }
  for (const auto& [key, property] : properties.object()) {
    const Value* given = property.Find("default");
    if (given != nullptr && !IsEmptyValue(*given) && absent(key) && read.Find(key) == nullptr)
      return "." + key.str() + ": lacks its default";
  }
  for (const auto& [key, member] : read.object()) {
    if (!absent(key)) continue;
    const Value* given = below(key).Find("default");
    if (given == nullptr) return "." + key.str() + ": was not sent";
    if (std::string d = at("." + key.str(), DifferenceBeyondDefaults(below(key), *given, member)); !d.empty()) return d;
  }
  return "";
}

std::string LostBy(const Value& given, const Value& decoded) {
  if (given.is_list() && decoded.is_list() && given.list().size() == decoded.list().size()) {
    for (std::size_t i = 0; i < given.list().size(); ++i) {
      if (std::string lost = LostBy(given.list()[i], decoded.list()[i]); !lost.empty()) return "[" + std::to_string(i) + "]" + lost;
    }
    return "";
  }
  if (!given.is_object() || !decoded.is_object()) return given == decoded ? "" : ": " + ToJson(given) + " became " + ToJson(decoded);
  for (const auto& [key, member] : given.object()) {
    const Value* found = decoded.Find(key);
    if (found == nullptr && IsEmptyValue(member)) continue;
    if (found == nullptr) return "." + key.str() + ": is gone";
    if (std::string lost = LostBy(member, *found); !lost.empty()) return "." + key.str() + lost;
  }
  return "";
}

}  // namespace kube::generate
