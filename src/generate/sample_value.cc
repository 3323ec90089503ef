#include "generate/sample_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "apiserver/json_schema.h"
#include "generate/pattern_example.h"

namespace kube::generate {
namespace {

constexpr std::size_t kMostItems = 100;     // of a list or map; a schema that asks for more gets a sample that does not fit
constexpr std::size_t kMostLength = 10000;  // of a string
constexpr std::size_t kMostRepeats = 64;    // tries for the length of a pattern
constexpr std::size_t kMostChoices = 10;    // fields of a OneOf rule

struct FormatExample {
  std::string_view format, text;
};

// Without hyphens, as servers compare them. Addresses and names are those reserved for documentation.
constexpr FormatExample kFormatExamples[] = {
    {"bsonobjectid", "507f1f77bcf86cd799439011"},
    {"byte", "ZXhhbXBsZQ=="},
    {"cidr", "192.0.2.0/24"},
    {"creditcard", "4111111111111111"},
    {"date", "2026-01-01"},
    {"datetime", "2026-01-01T00:00:00Z"},
    {"duration", "1m0s"},
    {"email", "someone@example.com"},
    {"hexcolor", "#1e90ff"},
    {"hostname", "example.com"},
    {"ipv4", "192.0.2.1"},
    {"ipv6", "2001:db8::1"},
    {"isbn", "9780306406157"},
    {"isbn10", "0306406152"},
    {"isbn13", "9780306406157"},
    {"mac", "00:00:5e:00:53:01"},
    {"rgbcolor", "rgb(30,144,255)"},
    {"ssn", "123-45-6789"},
    {"uri", "https://example.com"},
    {"uuid", "3f2504e0-4f89-41d3-9a0c-0305e82c3301"},
    {"uuid3", "3f2504e0-4f89-31d3-9a0c-0305e82c3301"},
    {"uuid4", "3f2504e0-4f89-41d3-9a0c-0305e82c3301"},
    {"uuid5", "3f2504e0-4f89-51d3-9a0c-0305e82c3301"},
};

bool Accepts(const Value& schema, const Value& value) {
  return apiserver::ValidateJson(apiserver::ParseJsonSchema(schema), "", value, nullptr).empty();
}

bool IsRequired(const Value& schema, std::string_view name) {
  const List<Value>& required = schema["required"].list();
  return std::any_of(required.begin(), required.end(), [&](const Value& r) { return r.string_value() == name; });
}

std::size_t Count(const Value& schema, const char* key, std::size_t otherwise) {
  const Value* found = schema.Find(key);
  return found == nullptr ? otherwise : static_cast<std::size_t>(std::max<std::int64_t>(found->int_value(), 0));
}

// ---- Scalars ----

// "example", "example-2", ... with a length in these bounds if that is possible.
std::string Word(std::size_t variant, std::size_t least, std::size_t most) {
  std::string suffix = variant == 0 ? "" : "-" + std::to_string(variant + 1);
  if (suffix.size() >= most && variant != 0) suffix = std::to_string(variant + 1).substr(0, most);
  std::string out = "example";
  while (out.size() + suffix.size() < std::min(least, kMostLength)) out += "example";
  if (least > std::string_view("example").size()) out.resize(std::max(std::min(least, kMostLength), suffix.size()) - suffix.size());
  if (out.size() + suffix.size() > most) out.resize(most - suffix.size());
  return out + suffix;
}

void AddTexts(const Value& schema, std::size_t variant, std::vector<Value>& out) {
  const std::size_t least = Count(schema, "minLength", 0), most = Count(schema, "maxLength", kMostLength);
  if (const Value* format = schema.Find("format")) {
    std::string name = format->string_value().str();
    std::erase(name, '-');
    for (const FormatExample& example : kFormatExamples) {
      if (example.format == name) out.emplace_back(example.text);
    }
  }
  out.emplace_back(Word(variant, least, most));
  const Value* pattern = schema.Find("pattern");
  if (pattern == nullptr) return;
  for (std::size_t repeat = 0; repeat <= kMostRepeats; ++repeat) {
    // The variant counts through the choices, the first one fastest.
    std::size_t rest = variant;
    const auto pick = [&](std::size_t count) { return std::exchange(rest, rest / count) % count; };
    std::optional<std::string> text = PatternExample(pattern->string_value(), {.pick = pick, .repeat = repeat});
    if (!text) break;
    if (!text->empty()) out.emplace_back(*text);
    // A pattern that is open at the end takes more.
    if (text->size() < least && least <= kMostLength) out.emplace_back(*text + std::string(least - text->size(), 'a'));
  }
  out.emplace_back("");
}

void AddNumbers(const Value& schema, std::size_t variant, std::vector<Value>& out) {
  const bool whole = schema["type"].string_value() != "number";
  const double step = schema.Find("multipleOf") != nullptr ? std::fabs(schema["multipleOf"].double_value()) : 1;
  auto add = [&](double number) {
    number += static_cast<double>(variant) * (step > 0 ? step : 1);
    if (std::fabs(number) < 9e15 && number == std::trunc(number)) {
      out.emplace_back(static_cast<std::int64_t>(number));
    } else if (!whole) {
      out.emplace_back(number);
    }
  };
  add(1);
  if (const Value* least = schema.Find("minimum")) {
    const double at = least->double_value();
    for (double number : {at, at + step, std::ceil(at / step) * step, (std::floor(at / step) + 1) * step}) add(number);
  }
  if (const Value* most = schema.Find("maximum")) {
    const double at = most->double_value();
    const double back = 2 * static_cast<double>(variant) * step;  // add() counts up
    for (double number : {at, at - step, std::floor(at / step) * step, (std::ceil(at / step) - 1) * step}) add(number - back);
    if (const Value* least = schema.Find("minimum")) add((least->double_value() + at) / 2);
  }
  add(step);
  add(0);
}

// What a scalar might be, the best first.
void AddCandidates(const Value& schema, std::size_t variant, std::vector<Value>& out) {
  if (const List<Value>& values = schema["enum"].list(); !values.empty()) {
    for (std::size_t i = 0; i < values.size(); ++i) out.push_back(values[(i + variant) % values.size()]);
  }
  const std::string_view type = schema["type"].string_value();
  const bool either = schema["x-kubernetes-int-or-string"].bool_value();
  if (either || type == "integer" || type == "number") AddNumbers(schema, variant, out);
  if (either || type == "string") AddTexts(schema, variant, out);
  if (type == "boolean") {
    out.emplace_back(variant % 2 == 1);
    out.emplace_back(variant % 2 == 0);
  }
  for (const Value& part : schema["allOf"].list()) {
    Value with_type = part;
    for (const char* key : {"type", "x-kubernetes-int-or-string"}) {
      if (const Value* found = schema.Find(key)) with_type[key] = *found;
    }
    AddCandidates(with_type, variant, out);
  }
}

// ---- Rules ----

// A rule that +kubebuilder:validation:ExactlyOneOf and its like make.
struct OneOfRule {
  std::vector<std::string> fields;
  std::size_t least = 0, most = 0;
};

std::optional<OneOfRule> ReadOneOf(std::string_view rule) {
  OneOfRule out;
  constexpr std::string_view kHas = "has(self.";
  for (std::size_t at = 0; (at = rule.find(kHas, at)) != std::string_view::npos;) {
    at += kHas.size();
    out.fields.emplace_back(rule.substr(at, rule.find(')', at) - at));
  }
  std::string count, any;
  for (const std::string& field : out.fields) {
    count += fmt::format("{}(has(self.{})?1:0)", count.empty() ? "" : "+", field);
    any += fmt::format("{}has(self.{})", any.empty() ? "" : "||", field);
  }
  out.most = out.fields.size();
  if (out.fields.empty()) return {};
  if (rule == any) {
    out.least = 1;
  } else if (rule == count + " == 1") {
    out.least = out.most = 1;
  } else if (rule == count + " <= 1") {
    out.most = 1;
  } else {
    return {};
  }
  return out;
}

std::vector<OneOfRule> OneOfRules(const Value& schema) {
  std::vector<OneOfRule> out;
  for (const Value& rule : schema["x-kubernetes-validations"].list()) {
    if (std::optional<OneOfRule> read = ReadOneOf(rule["rule"].string_value())) out.push_back(*std::move(read));
  }
  return out;
}

// Adds and removes fields, as few as possible, until the rules hold. Fields that stay whatever is chosen are in `fixed`.
void SatisfyOneOf(const Value& schema, const std::set<std::string>& fixed, std::set<std::string>& fields) {
  const std::vector<OneOfRule> rules = OneOfRules(schema);
  std::vector<std::string> named;
  for (const OneOfRule& rule : rules) {
    for (const std::string& field : rule.fields) {
      if (std::find(named.begin(), named.end(), field) == named.end()) named.push_back(field);
    }
  }
  if (named.empty() || named.size() > kMostChoices) return;
  std::optional<std::set<std::string>> best;
  std::size_t best_changes = 0;
  for (std::size_t mask = 0; mask < (std::size_t{1} << named.size()); ++mask) {
    std::set<std::string> next = fields;
    std::size_t changes = 0;
    for (std::size_t i = 0; i < named.size(); ++i) {
      const bool wanted = (mask >> i & 1) != 0;
      if (wanted == next.contains(named[i])) continue;
      changes += wanted ? 1 : 3;  // rather add one than drop an example
      wanted ? static_cast<void>(next.insert(named[i])) : static_cast<void>(next.erase(named[i]));
    }
    const bool keeps = std::all_of(fixed.begin(), fixed.end(), [&](const std::string& field) { return next.contains(field); });
    const bool holds = std::all_of(rules.begin(), rules.end(), [&](const OneOfRule& rule) {
      const auto set =
          static_cast<std::size_t>(std::count_if(rule.fields.begin(), rule.fields.end(), [&](const auto& f) { return next.contains(f); }));
      return set >= rule.least && set <= rule.most;
    });
    if (!keeps || !holds || (best && best_changes <= changes)) continue;
    best = std::move(next);
    best_changes = changes;
  }
  if (best) fields = *std::move(best);
}

}  // namespace

void SampleValues::NoteRules(const Value& schema, const std::string& path) {
  for (const Value& rule : schema["x-kubernetes-validations"].list()) {
    std::string_view text = rule["rule"].string_value();
    // Rules about changes do not run when an object is created.
    if (text.find("oldSelf") != std::string_view::npos && !rule["optionalOldSelf"].bool_value()) continue;
    if (ReadOneOf(text)) continue;
    std::string_view message = rule["message"].string_value();
    rules_.push_back(fmt::format("{}: {}", path.empty() ? "the object" : path, message.empty() ? text : message));
  }
}

Value SampleValues::MakeScalar(const Value& schema, std::size_t variant) {
  std::vector<Value> candidates;
  AddCandidates(schema, variant, candidates);
  const apiserver::JsonSchema parsed = apiserver::ParseJsonSchema(schema);
  for (const Value& candidate : candidates) {
    if (apiserver::ValidateJson(parsed, "", candidate, nullptr).empty()) return candidate;
  }
  return candidates.empty() ? Value::Object() : candidates[0];
}

Value SampleValues::MakeList(const Value& schema, const std::string& path, std::size_t variant) {
  const std::size_t count = std::min({std::max<std::size_t>(Count(schema, "minItems", 0), 1), Count(schema, "maxItems", 1000), kMostItems});
  const std::string_view list_type = schema["x-kubernetes-list-type"].string_value();
  const bool distinct = list_type == "set" || list_type == "map" || schema["uniqueItems"].bool_value();
  Value out = Value::Array();
  for (std::size_t i = 0; i < count; ++i) {
    out.MutableList().push_back(Make(schema["items"], fmt::format("{}[{}]", path, i), distinct ? variant + i : variant));
  }
  return out;
}

Value SampleValues::MakeObject(const Value& schema, const std::string& path, std::size_t variant) {
  Value out = Value::Object();
  if (schema["x-kubernetes-embedded-resource"].bool_value()) {
    out = Value::Object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
    out["metadata"]["name"] = "example";
  }
  auto below = [&](std::string_view name) { return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name); };
  const std::size_t least = std::min(Count(schema, "minProperties", 0), kMostItems);
  if (const Value* values = schema.Find("additionalProperties"); values != nullptr && values->is_object()) {
    const std::size_t count = std::min(std::max<std::size_t>(least, 1), Count(schema, "maxProperties", kMostItems));
    for (std::size_t i = 0; i < count; ++i) {
      const std::string key = Word(i, 0, kMostLength);
      out[key] = Make(*values, below(key), variant + i);
    }
    return out;
  }
  std::set<std::string> fixed, fields;
  for (const auto& [name, property] : schema["properties"].object()) {
    const bool has_default = property.Find("default") != nullptr;
    if (IsRequired(schema, name) || has_default) fixed.insert(name.str());
    if (IsRequired(schema, name) || has_default || property.Find("example") != nullptr) fields.insert(name.str());
  }
  SatisfyOneOf(schema, fixed, fields);
  for (const auto& [name, property] : schema["properties"].object()) {
    if (fields.size() < least) fields.insert(name.str());
  }
  for (const std::string& name : fields) {
    if (const Value* property = schema["properties"].Find(name)) out[name] = Make(*property, below(name), variant);
  }
  return out;
}

Value SampleValues::Make(const Value& schema, const std::string& path, std::size_t variant) {
  NoteRules(schema, path);
  if (variant == 0) {
    for (const char* key : {"example", "default"}) {
      if (const Value* given = schema.Find(key); given != nullptr && Accepts(schema, *given)) return *given;
    }
  }
  const std::string_view type = schema["type"].string_value();
  if (type == "array") return MakeList(schema, path, variant);
  if (type == "object") return MakeObject(schema, path, variant);
  return MakeScalar(schema, variant);
}

Value SampleValues::Root(const Value& schema) {
  NoteRules(schema, "");
  Value reduced = schema;
  for (const char* name : {"apiVersion", "kind", "metadata", "status"}) reduced["properties"].MutableObject().Erase(name);
  Value out = MakeObject(reduced, "", 0);
  // It is what people write, also if none of it is required.
  if (const Value* spec = std::as_const(reduced)["properties"].Find("spec"); spec != nullptr && out.Find("spec") == nullptr) {
    out["spec"] = Make(*spec, "spec", 0);
  }
  return out;
}

}  // namespace kube::generate
