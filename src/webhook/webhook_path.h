// Which paths API servers accept for webhooks.
#pragma once

#include <cstddef>
#include <string_view>

namespace kube::internal {

// Segments that are DNS names.
inline bool IsWebhookPath(std::string_view path) {
  if (path.size() < 2 || path[0] != '/' || path.back() == '/') return false;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const char c = path[i];
    const bool word = ('a' <= c && c <= 'z') || ('0' <= c && c <= '9');
    if (!word && c != '-' && c != '.' && c != '/') return false;
    if (c == '/' && (path[i + 1] == '/' || path[i + 1] == '.' || path[i + 1] == '-')) return false;
  }
  return true;
}

}  // namespace kube::internal
