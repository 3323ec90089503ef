// WebSocket (RFC 6455) over an upgraded connection, for both ends, and the client's handshake.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/transport/http.h"
#include "kube/transport/transport.h"
#include "transport/byte_queue.h"
#include "transport/websocket/websocket_frames.h"

namespace kube::internal {

// Thread safety: one reader; writers and Close from any thread.
class KUBE_EXPORT WebSocket {
 public:
  enum class Role { kClient, kServer };
  // Zero: limited only by the caller's context.
  struct Limits {
    std::size_t max_message = std::size_t{16} << 20;
    Context::Duration read_timeout{};   // without a single byte
    Context::Duration write_timeout{};  // of one message
  };
  WebSocket(std::unique_ptr<UpgradedConnection> connection, Role role) : WebSocket(std::move(connection), role, Limits()) {}
  WebSocket(std::unique_ptr<UpgradedConnection> connection, Role role, const Limits& limits);

  struct Message {
    std::string payload;
    bool text = false;
  };
  // The next message; answers pings meanwhile. Nothing if the peer sent a close frame: close_code() then returns its code.
  // Errors: those of the context; kTransport (ConnectionLost after read_timeout, UnexpectedEof without a close frame, Protocol), kClosed.
  Result<std::optional<Message>> ReadMessage(const Context& ctx);
  // 1005 if the peer sent none. Only for the reader.
  std::uint16_t close_code() const { return close_code_; }
  const std::string& close_reason() const { return close_reason_; }

  // One binary message: `prefix`, then `payload`.
  Result<void> WriteMessage(const Context& ctx, std::string_view prefix, std::string_view payload);
  Result<void> WritePing(const Context& ctx, std::string_view payload);
  // Sends a close frame; the peer may still send.
  Result<void> WriteClose(const Context& ctx, std::uint16_t code);
  // Whether writing is impossible because a write ended in the middle.
  bool broken() const { return writer_.broken(); }
  void Close() { connection_->Close(); }

 private:
  Result<void> Write(const Context& ctx, WebSocketOpcode opcode, std::string_view payload);

  const std::unique_ptr<UpgradedConnection> connection_;
  const Role role_;
  const Limits limits_;
  SharedWriter writer_;
  WebSocketParser parser_;
  std::string buffer_;
  std::uint16_t close_code_ = 0;
  std::string close_reason_;
};

// The result of a client's handshake.
struct WebSocketDial {
  std::unique_ptr<WebSocket> socket;  // null if the server refused
  std::string protocol;               // chosen by the server
  UpgradeResponse refusal;            // the server's response if it refused
};

// Requests a WebSocket with one of `protocols`, in order of preference. `request` has the target and its own headers.
// Errors: those of Transport::Upgrade; kTransport (Protocol) for a 101 response that is not a valid handshake or names another protocol.
KUBE_EXPORT Result<WebSocketDial> DialWebSocket(Transport& transport, const Context& ctx, HttpRequest request,
                                                const std::vector<std::string_view>& protocols, const WebSocket::Limits& limits);

// The payload of binary messages as one stream. Its Close sends a close frame first.
KUBE_EXPORT std::unique_ptr<UpgradedConnection> MakeWebSocketTunnel(std::unique_ptr<WebSocket> socket);

}  // namespace kube::internal
