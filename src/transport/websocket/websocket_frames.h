// The frames of WebSocket (RFC 6455), for both ends. No I/O.
//
// Boost.Beast is not used, because its stream owns an Asio socket or a similar wrapper, while the bytes here come from a connection of
// another owner; and the framing takes only a page of code.
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

// Assembles messages from a peer's frames. No I/O.
class KUBE_EXPORT WebSocketParser {
 public:
  // `masked`: true on a server, because clients mask their frames and servers do not.
  WebSocketParser(std::size_t max_message, bool masked) : max_message_(max_message), masked_(masked) {}

  struct Item {
    WebSocketOpcode opcode = WebSocketOpcode::kBinary;  // kText or kBinary for a whole message, else a control frame
    std::string payload;
  };
  void Feed(std::string_view bytes) { input_.append(bytes); }
  // Nothing if more bytes are needed. Errors: kDecode; the parser is then unusable.
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

// Encodes one whole frame. `mask`: required for clients.
KUBE_EXPORT std::string WebSocketFrame(WebSocketOpcode opcode, std::string_view payload, std::optional<std::uint32_t> mask = std::nullopt);
// The payload of a close frame.
KUBE_EXPORT std::string WebSocketClosePayload(std::uint16_t code, std::string_view reason);
// The server's response to a client's Sec-WebSocket-Key.
KUBE_EXPORT std::string WebSocketAcceptKey(std::string_view key);

}  // namespace kube::internal
