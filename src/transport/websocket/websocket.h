// WebSocket (RFC 6455) over a connection that left HTTP, for both ends; and how a client gets one.
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

// Thread safety: one reader; writers from any thread; Close from any thread.
class KUBE_EXPORT WebSocket {
 public:
  enum class Role { kClient, kServer };
  // Zero: no limit but the caller's context.
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
  // The next message; answers pings meanwhile. Nothing where the peer said goodbye: close_code() is then what it gave.
  // Errors: those of the context; kTransport (ConnectionLost after read_timeout, UnexpectedEof without a goodbye, Protocol), kClosed.
  Result<std::optional<Message>> ReadMessage(const Context& ctx);
  // 1005 where the peer gave none. For the reader.
  std::uint16_t close_code() const { return close_code_; }
  const std::string& close_reason() const { return close_reason_; }

  // One binary message: `prefix`, then `payload`.
  Result<void> WriteMessage(const Context& ctx, std::string_view prefix, std::string_view payload);
  Result<void> WritePing(const Context& ctx, std::string_view payload);
  // Says goodbye; the peer may still send.
  Result<void> WriteClose(const Context& ctx, std::uint16_t code);
  // Nothing more can be written: a write ended in the middle.
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

// What a client's handshake gave.
struct WebSocketDial {
  std::unique_ptr<WebSocket> socket;  // null where the server refused
  std::string protocol;               // the one that the server chose
  UpgradeResponse refusal;            // what it said otherwise
};

// Asks for a WebSocket with one of `protocols`, the best one first. `request` has the target and headers of its own.
// Errors: those of Transport::Upgrade; kTransport (Protocol) for an answer of 101 that is no handshake, or names another protocol.
KUBE_EXPORT Result<WebSocketDial> DialWebSocket(Transport& transport, const Context& ctx, HttpRequest request,
                                                const std::vector<std::string_view>& protocols, const WebSocket::Limits& limits);

// The bytes inside of binary messages as one stream. Its Close says goodbye first.
KUBE_EXPORT std::unique_ptr<UpgradedConnection> MakeWebSocketTunnel(std::unique_ptr<WebSocket> socket);

}  // namespace kube::internal
