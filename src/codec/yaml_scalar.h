// Resolves an unquoted YAML scalar by the rules of YAML 1.1 in Go's reader, which kubectl uses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kube::internal {

struct YamlScalar {
  enum class Type : std::uint8_t { kString, kNull, kBool, kInt, kUnsigned, kFloat };
  Type type = Type::kString;
  bool boolean = false;
  std::int64_t integer = 0;   // kInt
  std::uint64_t natural = 0;  // kUnsigned: beyond the largest int64
  double number = 0;          // kFloat; may be infinite or NaN
};

YamlScalar ResolveYamlScalar(std::string_view text);

// Whether the text must be quoted to stay a string, here or in other YAML 1.1 readers: everything that resolves to another type, and dates,
// times and base-60 numbers.
bool IsAmbiguousYamlString(std::string_view text);

// Formats a floating-point number as a member name as Go's reader does: single precision, with an exponent from a million on.
std::string FormatYamlFloatKey(double d);

}  // namespace kube::internal
