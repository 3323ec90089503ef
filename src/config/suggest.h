// "did you mean ...?"
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/export.h"

namespace kube::internal {

// The number of characters to add, remove or replace to turn one text into the other.
KUBE_EXPORT std::size_t EditDistance(std::string_view a, std::string_view b);

// The candidate that `word` most likely stands for; empty if none is similar.
KUBE_EXPORT std::string_view Suggest(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace kube::internal
