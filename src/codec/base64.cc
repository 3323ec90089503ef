#include "codec/base64.h"

#include <array>
#include <cstdint>

namespace kube::internal {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kBad = 0xff;

constexpr std::array<std::uint8_t, 256> kDigits = [] {
  std::array<std::uint8_t, 256> digits{};
  for (std::uint8_t& d : digits) d = kBad;
  for (std::uint8_t i = 0; i < 64; ++i) digits[static_cast<unsigned char>(kAlphabet[i])] = i;
  return digits;
}();

}  // namespace

void AppendBase64(std::string_view bytes, std::string& out) {
  auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])); };
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    std::uint32_t v = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    const char quad[] = {kAlphabet[v >> 18], kAlphabet[v >> 12 & 63], kAlphabet[v >> 6 & 63], kAlphabet[v & 63]};
    out.append(quad, 4);
  }
  if (bytes.size() - i == 1) {
    std::uint32_t v = byte(i) << 16;
    const char quad[] = {kAlphabet[v >> 18], kAlphabet[v >> 12 & 63], '=', '='};
    out.append(quad, 4);
  } else if (bytes.size() - i == 2) {
    std::uint32_t v = byte(i) << 16 | byte(i + 1) << 8;
    const char quad[] = {kAlphabet[v >> 18], kAlphabet[v >> 12 & 63], kAlphabet[v >> 6 & 63], '='};
    out.append(quad, 4);
  }
}

bool DecodeBase64(std::string_view text, std::string& out) {
  std::uint32_t group = 0;
  int digits = 0;
  int padding = 0;
  for (char c : text) {
    if (c == '\r' || c == '\n') continue;
    if (c == '=') {
      if (++padding > 2 || digits < 2) return false;
      continue;
    }
    std::uint8_t d = kDigits[static_cast<unsigned char>(c)];
    if (d == kBad || padding != 0) return false;
    group = group << 6 | d;
    if (++digits == 4) {
      const char bytes[] = {static_cast<char>(group >> 16), static_cast<char>(group >> 8), static_cast<char>(group)};
      out.append(bytes, 3);
      group = 0;
      digits = 0;
    }
  }
  if (digits == 0) return padding == 0;
  if (digits + padding != 4) return false;
  if (digits == 2) {
    out += static_cast<char>(group >> 4);
  } else {
    out += static_cast<char>(group >> 10);
    out += static_cast<char>(group >> 2);
  }
  return true;
}

}  // namespace kube::internal
