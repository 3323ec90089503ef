#pragma once

#include <kube/base/result.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// A range of IPv4 or IPv6 addresses in CIDR notation. Host bits may be set: 192.168.1.0/16 is the range of 192.168.0.0/16.
//
// Thread safety: as int.
class AddressRange {
 public:
  // Errors: kInvalid, with the text.
  static kube::Result<AddressRange> Parse(std::string_view text);

  // False if `address` is not an address.
  bool Contains(std::string_view address) const;
  bool Overlaps(const AddressRange& other) const;

 private:
  struct Address {
    int bits = 0;  // 32 or 128; 0 means none
    std::array<std::uint8_t, 16> bytes{};
  };
  static Address ParseAddress(std::string_view text);
  static bool SamePrefix(const Address& a, const Address& b, int length);

  Address first_{};
  int length_ = 0;  // of the prefix, in bits
};

// The first of the ranges 10.0.0.0/24, 10.0.1.0/24 ... that overlaps none of `taken`, as its first three numbers: "10.0.1". Empty if there
// is none.
std::string FreePrefix(const std::vector<AddressRange>& taken);
