// WebSocket (RFC 6455), the server's side, over a blocking UpgradedStream.
//
// The framing is written here and not taken from Boost.Beast: Beast's stream wants to own an Asio socket, or a wrapper that looks like
// one, while the bytes here come from a connection that the HTTP server keeps; and the framing is a page of code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/serve/http_server.h"
#include "serve/byte_queue.h"

namespace kube::serve {

enum class WebSocketOpcode : std::uint8_t { kContinuation = 0, kText = 1, kBinary = 2, kClose = 8, kPing = 9, kPong = 10 };

// Puts frames of a peer together to messages. No I/O.
class WebSocketParser {
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
std::string WebSocketFrame(WebSocketOpcode opcode, std::string_view payload, std::optional<std::uint32_t> mask = std::nullopt);
// The payload of a close frame.
std::string WebSocketClosePayload(std::uint16_t code, std::string_view reason);
// What a server answers to a client's Sec-WebSocket-Key.
std::string WebSocketAcceptKey(std::string_view key);

// Thread safety: one reader; writers from any thread.
class WebSocket {
 public:
  explicit WebSocket(std::unique_ptr<UpgradedStream> stream);

  // The next message; answers pings meanwhile. Nothing where the client closed in good order.
  Result<std::optional<std::string>> ReadMessage(const Context& ctx);
  // One binary message: `prefix`, then `payload`.
  Result<void> WriteMessage(const Context& ctx, std::string_view prefix, std::string_view payload);
  // Says goodbye; the client may still send.
  Result<void> WriteClose(const Context& ctx, std::uint16_t code);
  void Close() { stream_->Close(); }

 private:
  const std::unique_ptr<UpgradedStream> stream_;
  SharedWriter writer_;
  WebSocketParser parser_;
  std::string buffer_;
};

// Whether the client wants a WebSocket, and the sub-protocols that it offers.
bool IsWebSocketRequest(const HttpRequest& request);
std::vector<std::string> CommaSeparated(const HttpRequest& request, std::string_view header);
bool HeaderHasToken(const HttpRequest& request, std::string_view header, std::string_view token);

// Takes the handshake with `protocol`, one that the client offers. Errors: kInvalid for a bad handshake, not answered yet.
Result<std::unique_ptr<WebSocket>> AcceptWebSocket(HttpExchange& exchange, const std::string& protocol);

// The bytes inside of binary messages as one stream.
std::unique_ptr<UpgradedStream> MakeWebSocketTunnel(std::unique_ptr<WebSocket> socket);

}  // namespace kube::serve
