// Require: what a fuzz target promises to hold for every input.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace kube::fuzz {

inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

}  // namespace kube::fuzz
