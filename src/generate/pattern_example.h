// A text that matches a regular expression, made from the expression itself.
//
//   PatternExample("^[a-z]+(-[a-z]+)?$", {})     // "a"
//
// Understands what the patterns of CRDs consist of: literals, classes, groups, alternatives, repetitions, anchors. Returns nothing for the
// rest (Unicode classes, quoted spans) and for texts beyond kMostPatternBytes. Anchors in the middle and word boundaries are taken as
// satisfied, so the caller has to match the result with the pattern.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace kube::generate {

inline constexpr std::size_t kMostPatternBytes = 4096;

struct PatternChoices {
  // Which of `count` alternatives or characters to take: a number below `count`. Null takes the first.
  std::function<std::size_t(std::size_t count)> pick = nullptr;
  // How often to repeat beyond the least that the pattern allows, up to the most that it allows.
  std::size_t repeat = 0;
};

std::optional<std::string> PatternExample(std::string_view pattern, const PatternChoices& choices);

}  // namespace kube::generate
