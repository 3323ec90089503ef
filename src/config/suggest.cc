#include "config/suggest.h"

#include <algorithm>

namespace kube::internal {

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row.back();
}

std::string_view Suggest(std::string_view word, const std::vector<std::string_view>& candidates) {
  constexpr std::size_t kLongest = 100;  // longer names get no suggestion
  if (word.size() > kLongest) return {};
  std::string_view best;
  std::size_t best_distance = std::min(std::max<std::size_t>(2, word.size() / 3) + 1, word.size());
  for (const std::string_view candidate : candidates) {
    std::size_t distance = EditDistance(word, candidate);
    if (word.size() >= 2 && candidate.starts_with(word)) distance = 1;
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace kube::internal
