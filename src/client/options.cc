#include "kube/client/options.h"

namespace kube {

std::string_view Patch::content_type() const {
  switch (type) {
    case Type::kJson:
      return "application/json-patch+json";
    case Type::kMerge:
      return "application/merge-patch+json";
    case Type::kStrategic:
      return "application/strategic-merge-patch+json";
  }
  return {};
}

}  // namespace kube
