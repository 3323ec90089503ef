// Random custom resources, made from the schema of their definition: valid ones, and ones that break a single rule.
//
//   Value object = RandomResource(schema, &Widget::kType, random);
//   for (const BrokenResource& broken : BreakResource(schema, object, random)) ...
//
// The same random source gives the same objects.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "kube/value/type_info.h"
#include "kube/value/value.h"

namespace kube::generate {

using Random = std::mt19937_64;

// A valid object without apiVersion, kind and metadata. `schema` is the openAPIV3Schema of its version. Values at a bound are likely. It
// satisfies the CEL rules of the OneOf markers, and no others. `type`: the table of the kind's struct. Its fields then have values that
// decoding and encoding do not change, if they are not empty. Null: any value that the schema allows.
Value RandomResource(const Value& schema, const TypeInfo* type, Random& random);

// What BreakResource breaks.
enum class Rule {
  kType,
  kNull,
  kRequired,
  kEnum,
  kMaximum,
  kMinimum,
  kMultipleOf,
  kRange,  // of int32 and int64
  kMaxLength,
  kMinLength,
  kPattern,
  kFormat,
  kMaxItems,
  kMinItems,
  kSetItem,
  kMapKey,
  kMaxProperties,
  kMinProperties,
  kEmbedded,  // apiVersion, kind and metadata of an embedded resource
  kMetadata,  // of the object itself
  kUnknown,   // an unknown field: wrong only if the validation of fields is strict
};
inline constexpr Rule kLastRule = Rule::kUnknown;
std::string_view ToString(Rule rule);

struct BrokenResource {
  Rule rule = Rule::kType;
  std::string path;  // of the field that is wrong: "spec.parts[0].name"; the key of a map is written like a field
  Value object;
};

// Every way to break one rule of a valid object that has its metadata, by one change each. If a rule can be broken in several ways, one is
// picked.
std::vector<BrokenResource> BreakResource(const Value& schema, const Value& object, Random& random);

// Empty if `read` is `sent` with the defaults of the schema, otherwise what differs. Nulls that the schema does not allow count as absent;
// a default that is empty may be absent, because a plain field does not show it.
std::string DifferenceBeyondDefaults(const Value& schema, const Value& sent, const Value& read);

// Empty if `decoded` holds all that `given` has, otherwise what is missing. Empty values count as absent: a plain field does not
// distinguish them.
std::string LostBy(const Value& given, const Value& decoded);

}  // namespace kube::generate
