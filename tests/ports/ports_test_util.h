// What the tests of attacks on ports share.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/helper_test_util.h"

namespace kube::internal {

// How often a client may have to try, each time with three more connections if the server closes one. A bound of tries, not of time, which
// a busy machine does not upset: an attack that keeps a client out for good is red.
inline constexpr int kTries = 30;

// The value of a series in the text of /metrics; -1 if it is not there.
inline double ValueOf(const std::string& text, const std::string& series) {
  const std::size_t at = text.find("\n" + series + " ");
  return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + series.size() + 2, nullptr);
}

// The first answer with code 200; "" if none of `kTries` has it.
inline std::string Answered(const std::function<std::string()>& ask) {
  for (int i = 0; i < kTries; ++i) {
    if (std::string text = ask(); text.starts_with("200 ")) return text;
  }
  return {};
}

// Returns when the attack has been carried out once.
inline Helper StartAttacker(std::vector<std::string> argv) {
  Helper attacker = StartHelper(std::move(argv));
  EXPECT_NE(attacker.process, nullptr);
  if (attacker.line.find("limit") != std::string::npos) std::printf("scaled down: %s", attacker.line.c_str());
  return attacker;
}

}  // namespace kube::internal
