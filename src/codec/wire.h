// The protobuf wire format: varints, tags, lengths.
#pragma once

#include <cstdint>
#include <string_view>

namespace kube::internal {

enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kStartGroup = 3, kEndGroup = 4, kFixed32 = 5 };

inline constexpr std::string_view kProtobufMagic{"k8s\0", 4};
inline constexpr std::uint32_t kMaxFieldNumber = (1U << 29) - 1;

// Reads from [at, end). Every function returns false if the input is too short or malformed; `at` is then unusable.
struct WireReader {
  const char* at;
  const char* end;

  explicit WireReader(std::string_view bytes) : at(bytes.data()), end(bytes.data() + bytes.size()) {}

  bool AtEnd() const { return at == end; }
  std::size_t left() const { return static_cast<std::size_t>(end - at); }

  bool Varint(std::uint64_t& out) {
    if (at != end && static_cast<signed char>(*at) >= 0) {
      out = static_cast<unsigned char>(*at++);
      return true;
    }
    return LongVarint(out);
  }
  bool Tag(std::uint32_t& number, Wire& wire) {
    std::uint64_t tag = 0;
    if (!Varint(tag) || tag > 0xffffffff) return false;
    number = static_cast<std::uint32_t>(tag >> 3);
    wire = static_cast<Wire>(tag & 7);
    return number != 0;
  }
  bool Bytes(std::string_view& out) {
    std::uint64_t size = 0;
    if (!Varint(size) || size > left()) return false;
    out = {at, static_cast<std::size_t>(size)};
    at += size;
    return true;
  }
  // Skips the payload of a field. Groups are not part of Kubernetes' format, but may nest; `depth` limits that.
  bool Skip(std::uint32_t number, Wire wire, int depth);

 private:
  bool LongVarint(std::uint64_t& out);
};

}  // namespace kube::internal
