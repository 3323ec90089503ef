#include "serve/websocket.h"

#include <algorithm>
#include <utility>

namespace kube::serve {

namespace {

char LowerChar(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return LowerChar(x) == LowerChar(y); });
}

class StreamConnection final : public UpgradedConnection {
 public:
  explicit StreamConnection(std::unique_ptr<UpgradedStream> stream) : stream_(std::move(stream)) {}
  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) override { return stream_->Read(ctx, buffer, size); }
  Result<void> Write(const Context& ctx, std::string_view bytes) override { return stream_->Write(ctx, bytes); }
  void Close() override { stream_->Close(); }

 private:
  const std::unique_ptr<UpgradedStream> stream_;
};

}  // namespace

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
  HttpHeaders headers{{"upgrade", "websocket"}, {"sec-websocket-accept", internal::WebSocketAcceptKey(key)}};
  if (!protocol.empty()) headers.Add("sec-websocket-protocol", protocol);
  Result<std::unique_ptr<UpgradedStream>> stream = exchange.Upgrade(std::move(headers));
  if (!stream) return stream.error();
  return std::make_unique<WebSocket>(AsConnection(*std::move(stream)), WebSocket::Role::kServer);
}

std::unique_ptr<UpgradedConnection> AsConnection(std::unique_ptr<UpgradedStream> stream) {
  return std::make_unique<StreamConnection>(std::move(stream));
}

}  // namespace kube::serve
