#include "serve/websocket.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <utility>

namespace kube::serve {

namespace {

// A message of a client. kubectl sends 32 KiB at a time, but one that copies a file may send all of it at once.
constexpr std::size_t kMaxMessage = std::size_t{16} << 20;
constexpr std::size_t kMaxControl = 125;

bool IsControl(WebSocketOpcode opcode) { return static_cast<std::uint8_t>(opcode) >= 8; }

char LowerChar(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return LowerChar(x) == LowerChar(y); });
}

class Tunnel final : public UpgradedStream {
 public:
  explicit Tunnel(std::unique_ptr<WebSocket> socket) : socket_(std::move(socket)) {}

  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) override {
    while (taken_ == message_.size()) {
      Result<std::optional<std::string>> next = socket_->ReadMessage(ctx);
      if (!next) return next.error();
      if (!*next) return std::size_t{0};
      message_ = **std::move(next);
      taken_ = 0;
    }
    const std::size_t got = std::min(size, message_.size() - taken_);
    std::copy_n(message_.data() + taken_, got, buffer);
    taken_ += got;
    return got;
  }
  Result<void> Write(const Context& ctx, std::string_view bytes) override { return socket_->WriteMessage(ctx, {}, bytes); }
  void Close() override {
    // A client that hears nothing takes the end for an accident. It may be that nobody reads there: not for long.
    (void)socket_->WriteClose(Context::Background().WithTimeout(std::chrono::seconds(1)), 1000);
    socket_->Close();
  }

 private:
  const std::unique_ptr<WebSocket> socket_;
  std::string message_;
  std::size_t taken_ = 0;
};

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
  for (std::size_t i = 0; i < payload.size(); ++i) frame += static_cast<char>(payload[i] ^ key[i & 3]);
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

WebSocket::WebSocket(std::unique_ptr<UpgradedStream> stream)
    : stream_(std::move(stream)), writer_(*stream_), parser_(kMaxMessage, true), buffer_(std::size_t{32} << 10, '\0') {}

Result<std::optional<std::string>> WebSocket::ReadMessage(const Context& ctx) {
  while (true) {
    Result<std::optional<WebSocketParser::Item>> item = parser_.Next();
    if (!item) {
      (void)writer_.Write(ctx, WebSocketFrame(WebSocketOpcode::kClose, WebSocketClosePayload(parser_.close_code(), "")));
      return Error(ErrorKind::kTransport, item.error().message());
    }
    if (!*item) {
      Result<std::size_t> got = stream_->Read(ctx, buffer_.data(), buffer_.size());
      if (!got) return got.error();
      if (*got == 0) return Error(ErrorKind::kTransport, "the client left without closing the WebSocket");
      parser_.Feed({buffer_.data(), *got});
      continue;
    }
    WebSocketParser::Item& message = **item;
    switch (message.opcode) {
      case WebSocketOpcode::kPing:
        if (Result<void> pong = writer_.Write(ctx, WebSocketFrame(WebSocketOpcode::kPong, message.payload)); !pong) return pong.error();
        break;
      case WebSocketOpcode::kPong:
        break;
      case WebSocketOpcode::kClose:
        (void)writer_.Write(ctx, WebSocketFrame(WebSocketOpcode::kClose, std::string_view(message.payload).substr(0, 2)));
        return std::optional<std::string>();
      default:
        return std::optional<std::string>(std::move(message.payload));
    }
  }
}

Result<void> WebSocket::WriteMessage(const Context& ctx, std::string_view prefix, std::string_view payload) {
  if (prefix.empty()) return writer_.Write(ctx, WebSocketFrame(WebSocketOpcode::kBinary, payload));
  return writer_.Write(ctx, WebSocketFrame(WebSocketOpcode::kBinary, std::string(prefix).append(payload)));
}

Result<void> WebSocket::WriteClose(const Context& ctx, std::uint16_t code) {
  return writer_.Write(ctx, WebSocketFrame(WebSocketOpcode::kClose, WebSocketClosePayload(code, "")));
}

std::vector<std::string> CommaSeparated(const HttpRequest& request, std::string_view header) {
  std::vector<std::string> values;
  const std::string all = request.headers.GetAll(header);
  std::string_view rest = all;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view value = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    if (!value.empty()) values.emplace_back(value);
  }
  return values;
}

bool HeaderHasToken(const HttpRequest& request, std::string_view header, std::string_view token) {
  const std::vector<std::string> values = CommaSeparated(request, header);
  return std::any_of(values.begin(), values.end(), [token](const std::string& value) { return EqualsIgnoreCase(value, token); });
}

bool IsWebSocketRequest(const HttpRequest& request) {
  return HeaderHasToken(request, "connection", "upgrade") && HeaderHasToken(request, "upgrade", "websocket");
}

Result<std::unique_ptr<WebSocket>> AcceptWebSocket(HttpExchange& exchange, const std::string& protocol) {
  const HttpRequest& request = exchange.request();
  const std::string_view key = request.headers.Get("sec-websocket-key");
  if (request.method != "GET") return Error::Invalid("a WebSocket is opened by GET");
  if (request.headers.Get("sec-websocket-version") != "13") return Error::Invalid("the version of WebSocket is not 13");
  if (key.empty()) return Error::Invalid("the WebSocket's key is missing");
  HttpHeaders headers{{"upgrade", "websocket"}, {"sec-websocket-accept", WebSocketAcceptKey(key)}};
  if (!protocol.empty()) headers.Add("sec-websocket-protocol", protocol);
  Result<std::unique_ptr<UpgradedStream>> stream = exchange.Upgrade(std::move(headers));
  if (!stream) return stream.error();
  return std::make_unique<WebSocket>(*std::move(stream));
}

std::unique_ptr<UpgradedStream> MakeWebSocketTunnel(std::unique_ptr<WebSocket> socket) {
  return std::make_unique<Tunnel>(std::move(socket));
}

}  // namespace kube::serve
