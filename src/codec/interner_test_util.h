// For tests of sharing by an Interner.
#pragma once

#include <utility>

namespace kube {

// Whether one of the next few objects of `make` shares a part with the previous one. An Interner keeps a part temporarily, and permanently
// from its second sighting. Another part may take its place in between; which one depends on the secret of the process. So two given
// objects need not share a part, but a few in a row do.
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
