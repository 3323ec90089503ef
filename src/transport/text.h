// Text helpers of several decorators.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kube::internal {

// Parses a decimal number with an optional sign and nothing around it.
inline std::optional<std::int64_t> ParseWhole(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const std::from_chars_result parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

// Valid UTF-8 without control characters, except those in `allowed`.
bool IsCleanText(std::string_view text, std::string_view allowed = {});

// Removes leading and trailing spaces and tabs.
inline std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace kube::internal
