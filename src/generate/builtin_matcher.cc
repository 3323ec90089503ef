#include "generate/builtin_matcher.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace kube::generate {
namespace {

constexpr std::string_view kOwnMeta = "kube::meta::v1::ObjectMeta";
// What a field may say beside the schema of its type, whatever that is.
constexpr std::string_view kOfField[] = {
    "description", "default", "nullable", "example", "title", "externalDocs", "x-kubernetes-validations", "maxProperties", "minProperties"};

bool IsStable(std::string_view scope) {
  const std::string_view version = scope.substr(scope.rfind(':') + 1);
  return version.size() > 1 && version[0] == 'v' &&
         std::all_of(version.begin() + 1, version.end(), [](char c) { return c >= '0' && c <= '9'; });
}

int RankOf(const Struct& s) {
  if (s.scope == "kube::meta::v1") return 0;
  return s.scope == "kube::core::v1" ? 1 : 2;
}

// Names of the fields in JSON, with those of inlined structs.
void CollectFields(BuiltinTypes& builtins, const Struct& s, int depth, std::set<std::string>& out) {
  for (const Field& field : s.fields) {
    if (!field.inlined) {
      out.insert(field.json);
    } else if (const Struct* inner = depth > 8 ? nullptr : builtins.Find(field.type.name)) {
      CollectFields(builtins, *inner, depth + 1, out);
    }
  }
}

bool IsCandidate(const Struct& s, const std::set<std::string>& fields) {
  if (fields.empty() || s.qualified == kOwnMeta || !IsStable(s.scope)) return false;
  if (fields.contains("apiVersion") && fields.contains("metadata")) return false;  // a kind, whose header the type gives
  if (fields.size() >= 3) return true;
  const auto special = [](const Marker& m) {
    return m.name != "required" && m.name != "optional" && m.name.find("equired") == std::string::npos;
  };
  return RankOf(s) < 2 && (std::any_of(s.markers.begin(), s.markers.end(), special) ||
                           std::any_of(s.fields.begin(), s.fields.end(),
                                       [&](const Field& f) { return std::any_of(f.markers.begin(), f.markers.end(), special); }));
}

template <typename Names>
std::string Joined(const Names& names) {
  std::string out;
  for (const std::string& name : names) out += name + ',';
  return out;
}

// "key,name,optional": names, the best one first. Made once: the structs of a release do not change.
const std::map<std::string, std::vector<std::string>>& IndexOf(BuiltinTypes& builtins) {
  static const auto kIndex = [&] {
    std::vector<std::tuple<int, std::size_t, std::string, std::string>> all;  // rank, length, name, fields
    for (const BuiltinText& text : BuiltinTexts()) {
      const Struct* s = builtins.Find(text.name);
      std::set<std::string> fields;
      if (s != nullptr) CollectFields(builtins, *s, 0, fields);
      if (s != nullptr && IsCandidate(*s, fields)) all.emplace_back(RankOf(*s), s->name.size(), s->qualified, Joined(fields));
    }
    std::sort(all.begin(), all.end());
    std::map<std::string, std::vector<std::string>> out;
    for (auto& [rank, length, name, fields] : all) out[fields].push_back(std::move(name));
    return out;
  }();
  return kIndex;
}

bool IsEqual(const Value& a, const Value& b, bool subset);

bool PropertiesFit(const Value& some, const Value& all, bool subset) {
  if (!subset && some.object().size() != all.object().size()) return false;
  return std::all_of(some.object().begin(), some.object().end(), [&](const auto& property) {
    const Value* other = all.Find(property.key);
    return other != nullptr && IsEqual(property.value, *other, subset);
  });
}

// Schemas without their descriptions.
bool IsEqual(const Value& a, const Value& b, bool subset) {
  const auto keys = [](const Value& v) {
    return v.object().size() - (v.Find("description") != nullptr ? 1U : 0U) - (v.Find("properties") != nullptr ? 1U : 0U);
  };
  if (!a.is_object() || !b.is_object() || keys(a) != keys(b)) return a == b;
  for (const auto& [key, value] : a.object()) {
    if (key == "description" || key == "properties") continue;
    const Value* other = b.Find(key);
    if (other == nullptr) return false;
    const bool schema = key == "items" || key == "additionalProperties";
    if (schema ? !IsEqual(value, *other, subset) : !(value == *other)) return false;
  }
  return PropertiesFit(a["properties"], b["properties"], subset);
}

}  // namespace

BuiltinMatcher::BuiltinMatcher(BuiltinTypes& builtins, BuiltinUse use)
    : use_(use), schemas_(none_, builtins, options_, ignored_), by_fields_(IndexOf(builtins)) {}

const Value& BuiltinMatcher::SchemaOf(const std::string& name) {
  auto [at, added] = made_.try_emplace(name);
  if (added) {
    at->second = schemas_.WholeSchema(name);
    TruncateDescriptions(at->second, 0);
  }
  return at->second;
}

bool BuiltinMatcher::Fits(const Value& schema, const Value& builtin) const {
  const bool subset = use_ == BuiltinUse::kSubset;
  if (!PropertiesFit(schema["properties"], builtin["properties"], subset)) return false;
  for (const auto& [key, value] : builtin.object()) {
    if (key == "properties") continue;
    const Value* own = schema.Find(key);
    if (own == nullptr || !(*own == value)) return false;
  }
  // What is the schema's alone has to be something that stands above a field.
  return std::all_of(schema.object().begin(), schema.object().end(), [&](const auto& entry) {
    const std::string_view key = entry.key;
    return builtin.Find(key) != nullptr || std::find(std::begin(kOfField), std::end(kOfField), key) != std::end(kOfField);
  });
}

BuiltinMatcher::Match BuiltinMatcher::Find(const Value& schema) {
  if (use_ == BuiltinUse::kNever) return {};
  std::vector<std::string> names;
  for (const auto& [name, property] : schema["properties"].object()) names.push_back(name.str());
  if (use_ == BuiltinUse::kEqual) {
    auto found = by_fields_.find(Joined(names));
    if (found == by_fields_.end()) return {};
    for (const std::string& name : found->second) {
      if (Fits(schema, SchemaOf(name))) return {name, SchemaOf(name)};
    }
    return {};
  }
  // The struct with the fewest fields beside these. Below three names much would fit by chance.
  if (names.size() < 3) return {};
  const std::string* best = nullptr;
  std::size_t size = 0;
  for (const auto& [fields, candidates] : by_fields_) {
    const bool all = std::all_of(names.begin(), names.end(),
                                 [&f = fields](const std::string& n) { return (',' + f).find(',' + n + ',') != std::string::npos; });
    if (!all || (best != nullptr && fields.size() >= size)) continue;
    for (const std::string& name : candidates) {
      if (!Fits(schema, SchemaOf(name))) continue;
      best = &name;
      size = fields.size();
      break;
    }
  }
  return best == nullptr ? Match{} : Match{*best, SchemaOf(*best)};
}

}  // namespace kube::generate
