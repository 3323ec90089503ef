#include "src/address_range.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

AddressRange::Address AddressRange::ParseAddress(std::string_view text) {
  const std::string terminated(text);
  Address address;
  if (inet_pton(AF_INET, terminated.c_str(), address.bytes.data()) == 1) {
    address.bits = 32;
  } else if (inet_pton(AF_INET6, terminated.c_str(), address.bytes.data()) == 1) {
    address.bits = 128;
  }
  return address;
}

bool AddressRange::SamePrefix(const Address& a, const Address& b, int length) {
  if (a.bits != b.bits) return false;
  const std::size_t whole = static_cast<std::size_t>(length) / 8;
  if (!std::equal(a.bytes.begin(), a.bytes.begin() + whole, b.bytes.begin())) return false;
  return length % 8 == 0 || ((a.bytes[whole] ^ b.bytes[whole]) >> (8 - length % 8)) == 0;
}

kube::Result<AddressRange> AddressRange::Parse(std::string_view text) {
  const auto wrong = [&] { return kube::Error::Invalid("expected a range such as 192.168.0.0/16, got \"" + std::string(text) + "\""); };
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return wrong();
  AddressRange range;
  range.first_ = ParseAddress(text.substr(0, slash));
  const std::string_view length = text.substr(slash + 1);
  const auto [end, failed] = std::from_chars(length.data(), length.data() + length.size(), range.length_);
  const bool whole = failed == std::errc() && end == length.data() + length.size();
  if (range.first_.bits == 0 || !whole || range.length_ < 0 || range.length_ > range.first_.bits) return wrong();
  return range;
}

bool AddressRange::Contains(std::string_view address) const {
  const Address parsed = ParseAddress(address);
  return parsed.bits != 0 && SamePrefix(first_, parsed, length_);
}

bool AddressRange::Overlaps(const AddressRange& other) const {
  return SamePrefix(first_, other.first_, std::min(length_, other.length_));
}

std::string FreePrefix(const std::vector<AddressRange>& taken) {
  for (int second = 0; second < 256; ++second) {
    for (int third = 0; third < 256; ++third) {
      const std::string prefix = "10." + std::to_string(second) + "." + std::to_string(third);
      const AddressRange range = AddressRange::Parse(prefix + ".0/24").value();
      if (std::none_of(taken.begin(), taken.end(), [&](const AddressRange& other) { return range.Overlaps(other); })) return prefix;
    }
  }
  return "";
}
