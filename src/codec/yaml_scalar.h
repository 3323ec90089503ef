// What an unquoted YAML scalar is: the rules of YAML 1.1 as Go's reader has them, which is what users of kubectl know.
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
  double number = 0;          // kFloat; may be infinite or not a number
};

YamlScalar ResolveYamlScalar(std::string_view text);

// True where the text must be quoted to stay a string, here or in other readers of YAML 1.1: everything that resolves to another type,
// and dates, times and base-60 numbers.
bool IsAmbiguousYamlString(std::string_view text);

// A floating-point number as a member name, as Go's reader spells it: single precision, with an exponent from a million on.
std::string FormatYamlFloatKey(double d);

}  // namespace kube::internal
