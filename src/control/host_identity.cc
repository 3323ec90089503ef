#include "control/host_identity.h"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <random>

namespace kube::internal {

std::string HostName() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "unknown";
  return name;
}

std::string NewUuid() {
  std::random_device random;
  const auto word = [&random] { return static_cast<std::uint32_t>(random()); };
  const std::uint32_t a = word(), b = word(), c = word(), d = word();
  char text[37];
  std::snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%04x%08x", a, b >> 16, (b & 0x0fffU) | 0x4000U, (c >> 16 & 0x3fffU) | 0x8000U,
                c & 0xffffU, d);
  return text;
}

}  // namespace kube::internal
