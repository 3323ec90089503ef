#include "control/crds/schema_compat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

#include "kube/codec/json.h"

namespace kube::internal {
namespace {

constexpr CrdSeverity kHarmless = CrdSeverity::kHarmless;
constexpr CrdSeverity kClients = CrdSeverity::kBreaksClients;
constexpr CrdSeverity kStored = CrdSeverity::kBreaksStored;

std::string Text(const Value& value) { return value.is_null() ? "none" : ToJson(value); }

bool Has(const List<Value>& list, const Value& value) { return std::find(list.begin(), list.end(), value) != list.end(); }

// A schema that takes any value, or no schema at all.
bool Preserves(const Value& schema) { return schema["x-kubernetes-preserve-unknown-fields"].bool_value(); }
bool IsIntOrString(const Value& schema) { return schema["x-kubernetes-int-or-string"].bool_value(); }

class Comparison {
 public:
  explicit Comparison(FindingSink& sink) : sink_(sink) {}

  void Compare(const Value& old, const Value& next, const std::string& path) {
    if (old == next) return;
    if (!CompareTypes(old, next, path)) return;  // the rest would be about another type
    CompareLimits(old, next, path);
    CompareTexts(old, next, path);
    CompareEnums(old, next, path);
    CompareRules(old, next, path);
    CompareLists(old, next, path);
    CompareNullsAndDefaults(old, next, path);
    CompareRequired(old, next, path);
    CompareUnknown(old, next, path);
    CompareMembers(old, next, path);
    if (old["items"].is_object() && next["items"].is_object()) Compare(old["items"], next["items"], Below(path, "[*]"));
  }

 private:
  FindingSink& sink_;

  static std::string Shown(const std::string& path) { return path.empty() ? "." : path; }
  static std::string Below(const std::string& path, std::string_view step) { return path + std::string(step); }
  static std::string Member(const std::string& path, std::string_view name) { return path + "." + std::string(name); }
  void Add(CrdSeverity severity, const std::string& path, const std::string& text) { sink_.Add(severity, Shown(path), text); }

  // False if the two have nothing in common.
  bool CompareTypes(const Value& old, const Value& next, const std::string& path) {
    const std::string from = TypeOf(old), to = TypeOf(next);
    if (from == to) return true;
    const std::string text = fmt::format("type changed from {} to {}", from, to);
    if (from == "integer" && to == "number") {
      Add(kHarmless, path, text);
      return true;
    }
    if (to == "any" || (to == "integer or string" && (from == "integer" || from == "string"))) {
      Add(kClients, path, text + ": clients that expect the old type cannot read other values");
      return false;
    }
    Add(kStored, path, text);
    return false;
  }
  static std::string TypeOf(const Value& schema) {
    if (IsIntOrString(schema)) return "integer or string";
    std::string_view type = schema["type"].string_value();
    return type.empty() ? "any" : std::string(type);
  }

  void CompareLimits(const Value& old, const Value& next, const std::string& path) {
    // The sign is that of a change that takes fewer values.
    struct Limit {
      const char* name;
      int tighter;
    };
    static constexpr Limit kLimits[] = {{"maximum", -1},  {"minimum", 1},  {"maxLength", -1},     {"minLength", 1},
                                        {"maxItems", -1}, {"minItems", 1}, {"maxProperties", -1}, {"minProperties", 1}};
    for (const Limit& limit : kLimits) {
      const Value &a = old[limit.name], &b = next[limit.name];
      if (a == b) continue;
      if (b.is_null()) {
        Add(kHarmless, path, fmt::format("{} of {} removed", limit.name, Text(a)));
        continue;
      }
      // A minimum of 0 for a length says nothing.
      if (a.is_null()) {
        const bool empty = limit.tighter > 0 && std::string_view(limit.name) != "minimum" && b.double_value() <= 0;
        Add(empty ? kHarmless : kStored, path, fmt::format("{} of {} added", limit.name, Text(b)));
        continue;
      }
      const bool up = b.double_value() > a.double_value();
      const bool tighter = up == (limit.tighter > 0);
      Add(tighter ? kStored : kHarmless, path, fmt::format("{} {} from {} to {}", limit.name, up ? "raised" : "lowered", Text(a), Text(b)));
    }
    for (const char* name : {"exclusiveMaximum", "exclusiveMinimum", "uniqueItems"}) {
      const bool a = old[name].bool_value(), b = next[name].bool_value();
      if (a != b) Add(b ? kStored : kHarmless, path, fmt::format("{} {}", name, b ? "added" : "removed"));
    }
    const Value &a = old["multipleOf"], &b = next["multipleOf"];
    if (a == b) return;
    if (b.is_null()) {
      Add(kHarmless, path, fmt::format("multipleOf {} removed", Text(a)));
    } else if (a.is_null()) {
      Add(kStored, path, fmt::format("multipleOf {} added", Text(b)));
    } else {
      const bool wider = b.double_value() > 0 && std::fmod(a.double_value(), b.double_value()) == 0;
      Add(wider ? kHarmless : kStored, path, fmt::format("multipleOf changed from {} to {}", Text(a), Text(b)));
    }
  }

  void CompareTexts(const Value& old, const Value& next, const std::string& path) {
    for (const char* name : {"pattern", "format"}) {
      const Value &a = old[name], &b = next[name];
      if (a == b) continue;
      if (b.is_null()) {
        Add(kHarmless, path, fmt::format("{} {} removed", name, Text(a)));
      } else if (a.is_null()) {
        Add(kStored, path, fmt::format("{} {} added", name, Text(b)));
      } else {
        // Every int32 is an int64, every float a double.
        const bool wider = (a == Value("int32") && b == Value("int64")) || (a == Value("float") && b == Value("double"));
        Add(wider ? kHarmless : kStored, path, fmt::format("{} changed from {} to {}", name, Text(a), Text(b)));
      }
    }
  }

  void CompareEnums(const Value& old, const Value& next, const std::string& path) {
    const Value &a = old["enum"], &b = next["enum"];
    if (a == b) return;
    if (!a.is_list()) {
      Add(kStored, path, fmt::format("enum {} added", Text(b)));
    } else if (!b.is_list()) {
      Add(kHarmless, path, "enum removed");
    } else {
      for (const Value& value : a.list()) {
        if (!Has(b.list(), value)) Add(kStored, path, fmt::format("enum value {} removed", Text(value)));
      }
      for (const Value& value : b.list()) {
        if (!Has(a.list(), value)) Add(kHarmless, path, fmt::format("enum value {} added", Text(value)));
      }
    }
  }

  // CEL rules, and the branches that a structural schema may have.
  void CompareRules(const Value& old, const Value& next, const std::string& path) {
    auto rule_of = [](const Value& validation) { return validation["rule"].string_value().str(); };
    auto has = [&](const Value& rules, const std::string& rule) {
      const List<Value>& list = rules.list();
      return std::any_of(list.begin(), list.end(), [&](const Value& v) { return rule_of(v) == rule; });
    };
    const Value &a = old["x-kubernetes-validations"], &b = next["x-kubernetes-validations"];
    for (const Value& validation : b.list()) {
      const std::string rule = rule_of(validation);
      if (has(a, rule)) continue;
      if (rule.find("oldSelf") != std::string::npos) {
        Add(kClients, path, fmt::format("rule added: {}: it limits updates", rule));
      } else {
        Add(kStored, path,
            fmt::format("rule added: {}: servers before 1.30 refuse updates of objects that break it, newer ones let unchanged values stay",
                        rule));
      }
    }
    for (const Value& validation : a.list()) {
      if (!has(b, rule_of(validation))) Add(kHarmless, path, fmt::format("rule removed: {}", rule_of(validation)));
    }
    for (const char* name : {"anyOf", "oneOf", "allOf", "not"}) {
      if (old[name] == next[name]) continue;
      const bool gone = next[name].is_null();
      Add(gone ? kHarmless : kStored, path, fmt::format("{} {}", name, gone ? "removed" : old[name].is_null() ? "added" : "changed"));
    }
    const bool was = old["x-kubernetes-embedded-resource"].bool_value(), is = next["x-kubernetes-embedded-resource"].bool_value();
    if (was != is) {
      Add(kStored, path,
          is ? "is an embedded resource from now on: values need an apiVersion and a kind"
             : "no longer an embedded resource: apiVersion, kind and metadata are pruned unless the schema has them");
    }
  }

  void CompareLists(const Value& old, const Value& next, const std::string& path) {
    auto type_of = [](const Value& schema, const char* name, const char* fallback) {
      std::string_view type = schema[name].string_value();
      return std::string(type.empty() ? fallback : type);
    };
    const std::string a = type_of(old, "x-kubernetes-list-type", "atomic"), b = type_of(next, "x-kubernetes-list-type", "atomic");
    if (a != b) {
      // An atomic list may hold the same item twice.
      Add(b == "atomic" ? kClients : kStored, path,
          fmt::format("list type changed from {} to {}{}", a, b,
                      b == "atomic" ? ": server-side apply replaces the whole list" : ": lists with duplicates are refused"));
    } else if (a == "map" && !SameNames(old["x-kubernetes-list-map-keys"], next["x-kubernetes-list-map-keys"])) {
      Add(kStored, path,
          fmt::format("list map keys changed from {} to {}", Text(old["x-kubernetes-list-map-keys"]),
                      Text(next["x-kubernetes-list-map-keys"])));
    }
    const std::string from = type_of(old, "x-kubernetes-map-type", "granular"), to = type_of(next, "x-kubernetes-map-type", "granular");
    if (from != to) {
      Add(kClients, path, fmt::format("map type changed from {} to {}: server-side apply assigns ownership otherwise", from, to));
    }
  }
  static bool SameNames(const Value& a, const Value& b) {
    auto names = [](const Value& list) {
      std::set<std::string> out;
      for (const Value& name : list.list()) out.insert(name.string_value().str());
      return out;
    };
    return names(a) == names(b);
  }

  void CompareNullsAndDefaults(const Value& old, const Value& next, const std::string& path) {
    const bool a = old["nullable"].bool_value(), b = next["nullable"].bool_value();
    if (a != b) Add(b ? kHarmless : kStored, path, b ? "may be null from now on" : "may no longer be null");
    const Value *from = old.Find("default"), *to = next.Find("default");
    if (from == nullptr && to != nullptr) {
      Add(kHarmless, path, fmt::format("default {} added", Text(*to)));
    } else if (from != nullptr && to == nullptr) {
      Add(kClients, path, fmt::format("default {} removed", Text(*from)));
    } else if (from != nullptr && !(*from == *to)) {
      Add(kClients, path, fmt::format("default changed from {} to {}", Text(*from), Text(*to)));
    }
  }

  void CompareRequired(const Value& old, const Value& next, const std::string& path) {
    const List<Value>&a = old["required"].list(), &b = next["required"].list();
    for (const Value& name : b) {
      if (Has(a, name)) continue;
      const bool defaulted = next["properties"][name.string_value()].Find("default") != nullptr;
      Add(defaulted ? kHarmless : kStored, Member(path, name.string_value()),
          defaulted ? "required from now on, and has a default" : "required from now on, and has no default");
    }
    for (const Value& name : a) {
      const bool there = next["properties"].Find(name.string_value()) != nullptr || next["additionalProperties"].is_object();
      if (there && !Has(b, name)) Add(kHarmless, Member(path, name.string_value()), "no longer required");
    }
  }

  void CompareUnknown(const Value& old, const Value& next, const std::string& path) {
    const bool a = Preserves(old), b = Preserves(next);
    if (a == b) return;
    Add(b ? kHarmless : kStored, path,
        b ? "keeps unknown fields from now on" : "no longer keeps unknown fields: fields that the schema does not have are pruned");
  }

  void CompareMembers(const Value& old, const Value& next, const std::string& path) {
    const Value &before = old["properties"], &after = next["properties"];
    const Value &others = next["additionalProperties"], &others_before = old["additionalProperties"];
    const bool takes_others = others.is_object() || others.bool_value();
    for (const auto& [name, schema] : before.object()) {
      const std::string where = Member(path, name);
      if (const Value* now = after.Find(name)) {
        Compare(schema, *now, where);
      } else if (others.is_object()) {
        Compare(schema, others, where);
      } else if (takes_others || Preserves(next)) {
        Add(kHarmless, where, "removed from the schema; values are kept unchecked");
      } else {
        Add(kStored, where, "removed: its values are pruned");
      }
    }
    for (const auto& [name, schema] : after.object()) {
      if (before.Find(name) != nullptr) continue;
      if (others_before.is_object()) {
        Compare(others_before, schema, Member(path, name));
      } else if (Preserves(old) || others_before.bool_value()) {
        Add(kStored, Member(path, name), "has a schema from now on: values that were kept unchecked may not fit");
      } else {
        Add(kHarmless, Member(path, name), "added");
      }
    }
    const bool took_others = others_before.is_object() || others_before.bool_value();
    if (took_others && !takes_others && !Preserves(next)) {
      Add(kStored, path, "additionalProperties removed: members that the schema does not name are pruned");
    } else if (others_before.is_object() && others.is_object()) {
      Compare(others_before, others, Below(path, "[*]"));
    } else if (others_before.bool_value() && others.is_object()) {
      Add(kStored, path, "additionalProperties have a schema from now on");
    }
  }
};

}  // namespace

void CompareSchemas(const Value& old, const Value& next, FindingSink& sink) { Comparison(sink).Compare(old, next, ""); }

}  // namespace kube::internal
