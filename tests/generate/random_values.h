// What random_resource.cc and break_resource.cc are built from: choices, texts, numbers, and how a schema is read.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "random_resource.h"

namespace kube::generate {

// ---- Choices ----
bool Chance(Random& random, double p);
std::int64_t Between(Random& random, std::int64_t low, std::int64_t high);
std::size_t Pick(Random& random, std::size_t count);  // below `count`, which is not 0
// A number of the range; its ends and the numbers around 0 are likely.
std::int64_t Edge(Random& random, std::int64_t low, std::int64_t high);

// ---- Values ----
std::size_t Runes(std::string_view text);
// `least` to `most` characters of any script, with those that are awkward in JSON, YAML and paths.
std::string RandomText(Random& random, std::size_t least, std::size_t most);
std::string RandomQuantity(Random& random);
Value RandomJson(Random& random, int depth);
// Texts of a format of JSON schema, and texts that are not; empty for a format that servers do not know.
std::span<const char* const> GoodTexts(std::string_view format);
std::span<const char* const> BadTexts(std::string_view format);
// Null, false, 0, "", [] and objects of such.
bool IsEmptyValue(const Value& value);

// ---- Schemas ----
// The schema itself and what its allOf adds.
std::vector<const Value*> PartsOf(const Value& schema);
std::optional<double> Largest(const std::vector<const Value*>& parts, const char* key);
std::optional<double> Smallest(const std::vector<const Value*>& parts, const char* key);
// What all enums of the parts have; empty if there are none.
std::vector<Value> AllowedValues(const std::vector<const Value*>& parts);
// Whether the item would be a duplicate in a list of type set or map.
bool IsRepeated(const Value& schema, const List<Value>& list, const Value& item);

// A CEL rule that +kubebuilder:validation:ExactlyOneOf and its like make.
struct OneOfGroup {
  std::vector<std::string> fields;
  std::size_t least = 0, most = 0;
};
std::vector<OneOfGroup> OneOfGroups(const Value& schema);
bool Hold(const std::vector<OneOfGroup>& groups, const std::set<std::string>& fields);

}  // namespace kube::generate
