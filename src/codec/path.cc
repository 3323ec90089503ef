#include "codec/path.h"

#include <vector>

namespace kube::internal {
namespace {
constexpr std::size_t kMostSegments = 64;
constexpr std::size_t kMostKeyBytes = 80;
}  // namespace

std::string ToString(const Path* path) {
  std::vector<const Path*> chain;
  for (; path != nullptr; path = path->parent) chain.push_back(path);
  std::string out;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (chain.size() > kMostSegments && i == kMostSegments / 2) {
      out += "...";
      i = chain.size() - kMostSegments / 2;
    }
    const Path& p = *chain[chain.size() - 1 - i];
    if (p.index >= 0) {
      out += '[' + std::to_string(p.index) + ']';
    } else if (p.is_key) {
      out += '[';
      out += p.name.substr(0, kMostKeyBytes);
      out += ']';
    } else {
      if (!out.empty()) out += '.';
      out += p.name.substr(0, kMostKeyBytes);
    }
  }
  return out;
}

std::string At(const Path* path, std::string_view message) {
  std::string where = ToString(path);
  return where.empty() ? std::string(message) : where + ": " + std::string(message);
}

}  // namespace kube::internal
