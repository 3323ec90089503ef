// For tests of what an Interner shares.
#pragma once

#include <utility>

namespace kube {

// Whether one of the next few objects of `make` shares a part with the one before it. An Interner keeps a part for a while, and from its
// second sighting on for good; another part may take its place in between, and which one does depends on the secret of the process. So two
// given objects need not share a part, but a few in a row do.
template <typename Make, typename Shares>
bool SharedBySome(Make make, Shares shares) {
  auto earlier = make();
  for (int i = 0; i < 16; ++i) {
    auto next = make();
    if (shares(std::as_const(earlier), std::as_const(next))) return true;
    earlier = std::move(next);
  }
  return false;
}

}  // namespace kube
