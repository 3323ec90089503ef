// The inputs of the patch fuzzers: JSON documents, one to a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kube/codec/json.h"

namespace kube::fuzz {

// The first `count` lines as Values; nothing if there are fewer, or one is no JSON.
inline std::optional<std::vector<Value>> ParseLines(const std::uint8_t* data, std::size_t size, std::size_t count) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<Value> out;
  while (out.size() < count) {
    std::size_t end = text.find('\n');
    if (end == std::string_view::npos && out.size() + 1 < count) return std::nullopt;
    Result<Value> value = ParseJson(text.substr(0, end));
    if (!value) return std::nullopt;
    out.push_back(*std::move(value));
    if (end != std::string_view::npos) text.remove_prefix(end + 1);
  }
  return out;
}

inline bool HasNullMember(const Value& value) {
  for (const auto& [key, member] : value.object()) {
    if (member.is_null() || HasNullMember(member)) return true;
  }
  for (const Value& item : value.list()) {
    if (HasNullMember(item)) return true;
  }
  return false;
}

}  // namespace kube::fuzz
