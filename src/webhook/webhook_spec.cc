#include "kube/webhook/webhook_spec.h"

#include <algorithm>

namespace kube {
namespace {

std::string PathOf(std::string_view verb, const Gvk& kind) {
  std::string group = kind.group.str();
  std::replace(group.begin(), group.end(), '.', '-');
  std::string name = kind.kind.str();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return "/" + std::string(verb) + "-" + group + "-" + kind.version.str() + "-" + name;
}

}  // namespace

std::string MutatePath(const Gvk& kind) { return PathOf("mutate", kind); }
std::string ValidatePath(const Gvk& kind) { return PathOf("validate", kind); }

}  // namespace kube
