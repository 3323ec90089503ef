#include "transport/websocket/websocket.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "kube/transport/transport_errors.h"

namespace kube::internal {

namespace {

constexpr std::uint16_t kNoCode = 1005;

Error Broken(std::string_view reason, std::string message) {
  return Error({.kind = ErrorKind::kTransport, .reason = std::string(reason), .message = std::move(message)});
}

char LowerChar(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return LowerChar(x) == LowerChar(y); });
}

std::uint32_t RandomMask() {
  std::array<unsigned char, 4> bytes{};
  RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
  std::uint32_t mask = 0;
  std::memcpy(&mask, bytes.data(), sizeof(mask));
  return mask;
}

std::string RandomKey() {
  std::array<unsigned char, 16> bytes{};
  RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
  std::array<unsigned char, 32> base64{};
  const int length = EVP_EncodeBlock(base64.data(), bytes.data(), static_cast<int>(bytes.size()));
  return {reinterpret_cast<const char*>(base64.data()), static_cast<std::size_t>(length)};
}

class Tunnel final : public UpgradedConnection {
 public:
  explicit Tunnel(std::unique_ptr<WebSocket> socket) : socket_(std::move(socket)) {}

  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) override {
    while (taken_ == message_.size()) {
      Result<std::optional<WebSocket::Message>> next = socket_->ReadMessage(ctx);
      if (!next) return next.error();
      if (!*next) return std::size_t{0};
      if ((*next)->text) return Broken(transport_reason::kProtocol, "received a text message, expected binary ones");
      message_ = std::move((*next)->payload);
      taken_ = 0;
    }
    const std::size_t got = std::min(size, message_.size() - taken_);
    std::copy_n(message_.data() + taken_, got, buffer);
    taken_ += got;
    return got;
  }
  Result<void> Write(const Context& ctx, std::string_view bytes) override { return socket_->WriteMessage(ctx, {}, bytes); }
  void Close() override {
    // A peer that receives no close frame takes the end for a failure. The peer may not be reading: do not wait long.
    if (!closed_.exchange(true)) (void)socket_->WriteClose(Context::Background().WithTimeout(std::chrono::seconds(1)), 1000);
    socket_->Close();
  }

 private:
  const std::unique_ptr<WebSocket> socket_;
  std::atomic<bool> closed_ = false;
  std::string message_;
  std::size_t taken_ = 0;
};

}  // namespace

WebSocket::WebSocket(std::unique_ptr<UpgradedConnection> connection, Role role, const Limits& limits)
    : connection_(std::move(connection)),
      role_(role),
      limits_(limits),
      writer_(*connection_),
      parser_(limits.max_message, role == Role::kServer),
      buffer_(std::size_t{32} << 10, '\0') {}

Result<std::optional<WebSocket::Message>> WebSocket::ReadMessage(const Context& ctx) {
  if (close_code_ != 0) return std::optional<Message>();
  while (true) {
    Result<std::optional<WebSocketParser::Item>> item = parser_.Next();
    if (!item) {
      (void)WriteClose(ctx.WithTimeout(std::chrono::seconds(1)), parser_.close_code());
      return Broken(transport_reason::kProtocol, item.error().message());
    }
    if (!*item) {
      const bool limited = limits_.read_timeout.count() > 0;
      Result<std::size_t> got = connection_->Read(limited ? ctx.WithTimeout(limits_.read_timeout) : ctx, buffer_.data(), buffer_.size());
      if (!got) {
        if (!limited || got.error().kind() != ErrorKind::kTimeout || ctx.stopped()) return got.error();
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limits_.read_timeout).count();
        return Broken(transport_reason::kConnectionLost,
                      fmt::format("nothing came from the peer for {} s, not even an answer to pings", seconds));
      }
      if (*got == 0) return Broken(transport_reason::kUnexpectedEof, "the peer left without closing the WebSocket");
      parser_.Feed({buffer_.data(), *got});
      continue;
    }
    WebSocketParser::Item& message = **item;
    switch (message.opcode) {
      case WebSocketOpcode::kPing:
        if (Result<void> pong = Write(ctx, WebSocketOpcode::kPong, message.payload); !pong) return pong.error();
        break;
      case WebSocketOpcode::kPong:
        break;
      case WebSocketOpcode::kClose:
        close_code_ = kNoCode;
        if (message.payload.size() >= 2) {
          close_code_ = static_cast<std::uint16_t>(static_cast<std::uint8_t>(message.payload[0]) << 8 |
                                                   static_cast<std::uint8_t>(message.payload[1]));
          close_reason_ = message.payload.substr(2);
        }
        (void)Write(ctx, WebSocketOpcode::kClose, std::string_view(message.payload).substr(0, 2));
        return std::optional<Message>();
      default:
        return std::optional<Message>(Message{std::move(message.payload), message.opcode == WebSocketOpcode::kText});
    }
  }
}

Result<void> WebSocket::Write(const Context& ctx, WebSocketOpcode opcode, std::string_view payload) {
  const std::string frame = WebSocketFrame(opcode, payload, role_ == Role::kClient ? std::optional(RandomMask()) : std::nullopt);
  if (limits_.write_timeout.count() <= 0) return writer_.Write(ctx, frame);
  return writer_.Write(ctx.WithTimeout(limits_.write_timeout), frame);
}

Result<void> WebSocket::WriteMessage(const Context& ctx, std::string_view prefix, std::string_view payload) {
  if (prefix.empty()) return Write(ctx, WebSocketOpcode::kBinary, payload);
  return Write(ctx, WebSocketOpcode::kBinary, std::string(prefix).append(payload));
}

Result<void> WebSocket::WritePing(const Context& ctx, std::string_view payload) { return Write(ctx, WebSocketOpcode::kPing, payload); }

Result<void> WebSocket::WriteClose(const Context& ctx, std::uint16_t code) {
  return Write(ctx, WebSocketOpcode::kClose, WebSocketClosePayload(code, ""));
}

Result<WebSocketDial> DialWebSocket(Transport& transport, const Context& ctx, HttpRequest request,
                                    const std::vector<std::string_view>& protocols, const WebSocket::Limits& limits) {
  const std::string key = RandomKey();
  request.method = "GET";
  request.headers.Set("Connection", "Upgrade");
  request.headers.Set("Upgrade", "websocket");
  request.headers.Set("Sec-WebSocket-Version", "13");
  request.headers.Set("Sec-WebSocket-Key", key);
  if (!protocols.empty()) request.headers.Set("Sec-WebSocket-Protocol", fmt::format("{}", fmt::join(protocols, ", ")));
  Result<UpgradeResponse> answer = transport.Upgrade(ctx, std::move(request));
  if (!answer) return answer.error();
  WebSocketDial dial;
  if (answer->connection == nullptr || answer->code != 101) {
    dial.refusal = *std::move(answer);
    return dial;
  }
  const auto bad = [](std::string what) {
    return Broken(transport_reason::kProtocol, "the server's WebSocket handshake is wrong: " + std::move(what));
  };
  const HttpHeaders& headers = answer->headers;
  if (!EqualsIgnoreCase(headers.Get("Upgrade"), "websocket")) return bad("the header Upgrade is not \"websocket\"");
  if (headers.Get("Sec-WebSocket-Accept") != WebSocketAcceptKey(key)) return bad("the header Sec-WebSocket-Accept does not fit the key");
  dial.protocol = std::string(headers.Get("Sec-WebSocket-Protocol"));
  if (std::find(protocols.begin(), protocols.end(), dial.protocol) == protocols.end()) {
    return bad(fmt::format("it chose the protocol \"{}\", but offered were {}", dial.protocol, fmt::join(protocols, ", ")));
  }
  dial.socket = std::make_unique<WebSocket>(std::move(answer->connection), WebSocket::Role::kClient, limits);
  return dial;
}

std::unique_ptr<UpgradedConnection> MakeWebSocketTunnel(std::unique_ptr<WebSocket> socket) {
  return std::make_unique<Tunnel>(std::move(socket));
}

}  // namespace kube::internal
