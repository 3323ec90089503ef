// "did you mean ...?"
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/export.h"

namespace kube::internal {

// How many characters have to be added, removed or replaced to get from one text to the other.
KUBE_EXPORT std::size_t EditDistance(std::string_view a, std::string_view b);

// The candidate that `word` was probably meant to be; empty if none is close.
KUBE_EXPORT std::string_view Suggest(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace kube::internal
