#include "codec/json_size.h"

#include <algorithm>

namespace kube::internal {

std::size_t JsonSize(const Value& value, std::size_t limit) {
  std::size_t size = 2;  // brackets, quotes
  switch (value.kind()) {
    case Value::Kind::kNull:
    case Value::Kind::kBool:
      return 4;
    case Value::Kind::kInt:
    case Value::Kind::kDouble:
      return 8;
    case Value::Kind::kString:
      return size + value.string_value().size();
    case Value::Kind::kList:
      for (const Value& item : value.list()) {
        if (size >= limit) break;
        size += 1 + JsonSize(item, limit - size);
      }
      return size;
    case Value::Kind::kObject:
      for (const auto& [key, member] : value.object()) {
        if (size >= limit) break;
        size += 4 + key.size();
        if (size < limit) size += JsonSize(member, limit - size);
      }
      return size;
  }
  return size;
}

std::size_t Depth(const Value& value, std::size_t limit) {
  if (limit == 0 || (!value.is_list() && !value.is_object())) return 0;
  std::size_t below = 0;
  for (const Value& item : value.list()) below = std::max(below, Depth(item, limit - 1));
  for (const auto& [key, member] : value.object()) below = std::max(below, Depth(member, limit - 1));
  return below + 1;
}

}  // namespace kube::internal
