#include "transport/websocket/websocket_frames.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <utility>

namespace kube::internal {

namespace {

constexpr std::size_t kMaxControl = 125;

bool IsControl(WebSocketOpcode opcode) { return static_cast<std::uint8_t>(opcode) >= 8; }

}  // namespace

Error WebSocketParser::Fail(std::uint16_t code, std::string message) {
  close_code_ = code;
  return Error::Decode("WebSocket: " + std::move(message));
}

Result<std::optional<WebSocketParser::Item>> WebSocketParser::Next() {
  while (true) {
    const std::string_view input = std::string_view(input_).substr(used_);
    const auto byte = [input](std::size_t at) { return static_cast<std::uint8_t>(input[at]); };
    const auto more = [this]() -> Result<std::optional<Item>> {
      input_.erase(0, used_);
      used_ = 0;
      return std::optional<Item>();
    };
    if (input.size() < 2) return more();
    const bool final = (byte(0) & 0x80) != 0;
    const auto opcode = static_cast<WebSocketOpcode>(byte(0) & 0x0f);
    if ((byte(0) & 0x70) != 0) return Fail(1002, "reserved bits are set");
    if (((byte(1) & 0x80) != 0) != masked_)
      return Fail(1002, masked_ ? "a frame of a client is not masked" : "a frame of a server is masked");
    switch (opcode) {
      case WebSocketOpcode::kContinuation:
        if (!partial_) return Fail(1002, "a continuation of nothing");
        break;
      case WebSocketOpcode::kText:
      case WebSocketOpcode::kBinary:
        if (partial_) return Fail(1002, "a message within a message");
        break;
      case WebSocketOpcode::kClose:
      case WebSocketOpcode::kPing:
      case WebSocketOpcode::kPong:
        if (!final) return Fail(1002, "a control frame in pieces");
        break;
      default:
        return Fail(1002, "an unknown kind of frame");
    }
    std::uint64_t size = byte(1) & 0x7f;
    std::size_t head = 2;
    if (size >= 126) {
      if (IsControl(opcode)) return Fail(1002, "a control frame that is too long");
      const std::size_t bytes = size == 126 ? 2 : 8;
      if (input.size() < head + bytes) return more();
      size = 0;
      for (std::size_t i = 0; i < bytes; ++i) size = size << 8 | byte(head + i);
      head += bytes;
    }
    const std::size_t before = partial_ && !IsControl(opcode) ? partial_->payload.size() : 0;
    if (size > max_message_ - std::min(before, max_message_)) return Fail(1009, "a message is too long");
    std::array<std::uint8_t, 4> mask{};
    if (masked_) {
      if (input.size() < head + 4) return more();
      for (std::size_t i = 0; i < 4; ++i) mask[i] = byte(head + i);
      head += 4;
    }
    if (input.size() < head + size) return more();
    std::string payload(input.substr(head, static_cast<std::size_t>(size)));
    if (masked_) {
      for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(static_cast<std::uint8_t>(payload[i]) ^ mask[i & 3]);
    }
    used_ += head + static_cast<std::size_t>(size);
    if (IsControl(opcode)) {
      if (opcode == WebSocketOpcode::kClose && payload.size() == 1) return Fail(1002, "half of a close code");
      return std::optional<Item>(Item{opcode, std::move(payload)});
    }
    if (opcode == WebSocketOpcode::kContinuation) {
      partial_->payload += payload;
    } else {
      partial_ = Item{opcode, std::move(payload)};
    }
    if (final) return std::exchange(partial_, std::nullopt);
  }
}

std::string WebSocketFrame(WebSocketOpcode opcode, std::string_view payload, std::optional<std::uint32_t> mask) {
  std::string frame;
  frame.reserve(payload.size() + 14);
  const char mask_bit = mask ? static_cast<char>(0x80) : '\0';
  frame += static_cast<char>(0x80 | static_cast<std::uint8_t>(opcode));
  if (payload.size() <= kMaxControl) {
    frame += static_cast<char>(mask_bit | static_cast<char>(payload.size()));
  } else {
    const int bytes = payload.size() <= 0xffff ? 2 : 8;
    frame += static_cast<char>(mask_bit | (bytes == 2 ? 126 : 127));
    for (int i = bytes - 1; i >= 0; --i) frame += static_cast<char>(payload.size() >> (8 * i) & 0xff);
  }
  if (!mask) return frame.append(payload);
  std::array<char, 4> key{};
  for (std::size_t i = 0; i < 4; ++i) key[i] = static_cast<char>(*mask >> (24 - 8 * i) & 0xff);
  frame.append(key.data(), key.size());
  const std::size_t start = frame.size();
  frame.append(payload);
  for (std::size_t i = 0; i < payload.size(); ++i) frame[start + i] = static_cast<char>(frame[start + i] ^ key[i & 3]);
  return frame;
}

std::string WebSocketClosePayload(std::uint16_t code, std::string_view reason) {
  std::string payload;
  payload += static_cast<char>(code >> 8);
  payload += static_cast<char>(code & 0xff);
  return payload.append(reason.substr(0, kMaxControl - 2));
}

std::string WebSocketAcceptKey(std::string_view key) {
  const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  std::array<unsigned char, 64> base64{};
  const int length = EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(size));
  return {reinterpret_cast<const char*>(base64.data()), static_cast<std::size_t>(length)};
}

}  // namespace kube::internal
