// The frames of WebSocket (RFC 6455), for both ends. No I/O.
//
// Written here and not taken from Boost.Beast: Beast's stream wants to own an Asio socket, or a wrapper that looks like one, while the
// bytes here come from a connection that somebody else keeps; and the framing is a page of code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/export.h"
#include "kube/base/result.h"

namespace kube::internal {

enum class WebSocketOpcode : std::uint8_t { kContinuation = 0, kText = 1, kBinary = 2, kClose = 8, kPing = 9, kPong = 10 };

// Puts frames of a peer together to messages. No I/O.
class KUBE_EXPORT WebSocketParser {
 public:
  // A server's peer masks its frames, a client's does not.
  WebSocketParser(std::size_t max_message, bool masked) : max_message_(max_message), masked_(masked) {}

  struct Item {
    WebSocketOpcode opcode = WebSocketOpcode::kBinary;  // kText or kBinary for a whole message, else a control frame
    std::string payload;
  };
  void Feed(std::string_view bytes) { input_.append(bytes); }
  // Nothing where more bytes are needed. Errors: kDecode; the parser is of no use after one.
  Result<std::optional<Item>> Next();
  // The code to close with after an error.
  std::uint16_t close_code() const { return close_code_; }

 private:
  Error Fail(std::uint16_t code, std::string message);

  const std::size_t max_message_;
  const bool masked_;
  std::string input_;
  std::size_t used_ = 0;  // of input_
  std::optional<Item> partial_;
  std::uint16_t close_code_ = 1002;
};

// One whole frame. `mask`: as clients have to send.
KUBE_EXPORT std::string WebSocketFrame(WebSocketOpcode opcode, std::string_view payload, std::optional<std::uint32_t> mask = std::nullopt);
// The payload of a close frame.
KUBE_EXPORT std::string WebSocketClosePayload(std::uint16_t code, std::string_view reason);
// What a server answers to a client's Sec-WebSocket-Key.
KUBE_EXPORT std::string WebSocketAcceptKey(std::string_view key);

}  // namespace kube::internal
