// Frames of HTTP/2, written by hand: for what no client should send.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kube::serve::http2 {

enum FrameType : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kWindowUpdate = 8,
  kContinuation = 9
};
enum FrameFlag : std::uint8_t { kNoFlags = 0, kEndStream = 1, kAck = 1, kEndHeaders = 4 };
constexpr std::uint16_t kInitialWindow = 4;  // a setting

inline std::string Number(std::uint64_t value, int bytes) {
  std::string out;
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) out += static_cast<char>((value >> shift) & 0xff);
  return out;
}

inline std::string Frame(FrameType type, int flags, std::uint32_t stream, std::string_view payload) {
  return Number(payload.size(), 3) + static_cast<char>(type) + static_cast<char>(flags) + Number(stream, 4) + std::string(payload);
}

inline std::string Settings(const std::vector<std::pair<std::uint16_t, std::uint32_t>>& settings) {
  std::string payload;
  for (const auto& [id, value] : settings) payload += Number(id, 2) + Number(value, 4);
  return Frame(kSettings, kNoFlags, 0, payload);
}

inline std::string Preface(const std::vector<std::pair<std::uint16_t, std::uint32_t>>& settings = {}) {
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Settings(settings);
}

// ---- HPACK ----

inline std::string Text(std::string_view text) {
  std::string out;
  std::size_t rest = text.size();
  if (rest < 127) {
    out += static_cast<char>(rest);
  } else {
    out += '\x7f';
    for (rest -= 127; rest >= 128; rest /= 128) out += static_cast<char>(rest % 128 + 128);
    out += static_cast<char>(rest);
  }
  return out.append(text);
}

// GET of a path.
inline std::string GetBlock(std::string_view path) { return "\x82\x86\x04" + Text(path) + "\x01" + Text("x"); }
// Puts a header into the table of the connection; kLast refers to it afterwards, with one byte.
inline std::string Remembered(std::string_view name, std::string_view value) { return "\x40" + Text(name) + Text(value); }
constexpr std::string_view kLast = "\xbe";
inline std::string NotRemembered(std::string_view name, std::string_view value) { return std::string(1, '\0') + Text(name) + Text(value); }

inline std::string Get(std::uint32_t stream, std::string_view path, std::string_view more = {}) {
  return Frame(kHeaders, kEndStream | kEndHeaders, stream, GetBlock(path).append(more));
}
inline std::string Reset(std::uint32_t stream) { return Frame(kReset, kNoFlags, stream, Number(8, 4)); }

}  // namespace kube::serve::http2
