#include "codec/wire.h"

namespace kube::internal {

bool WireReader::LongVarint(std::uint64_t& out) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    if (at == end) return false;
    auto byte = static_cast<unsigned char>(*at++);
    if (shift == 63 && byte > 1) return false;  // more than 64 bits
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      out = value;
      return true;
    }
  }
  return false;
}

bool WireReader::Skip(std::uint32_t number, Wire wire, int depth) {
  std::uint64_t ignored = 0;
  std::string_view bytes;
  switch (wire) {
    case Wire::kVarint:
      return Varint(ignored);
    case Wire::kFixed64:
      if (left() < 8) return false;
      at += 8;
      return true;
    case Wire::kFixed32:
      if (left() < 4) return false;
      at += 4;
      return true;
    case Wire::kBytes:
      return Bytes(bytes);
    case Wire::kStartGroup:
      while (depth > 0) {
        std::uint32_t inner = 0;
        Wire inner_wire{};
        if (!Tag(inner, inner_wire)) return false;
        if (inner_wire == Wire::kEndGroup) return inner == number;
        if (!Skip(inner, inner_wire, depth - 1)) return false;
      }
      return false;
    default:
      return false;
  }
}

}  // namespace kube::internal
