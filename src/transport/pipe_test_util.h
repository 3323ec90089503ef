// Both ends of a connection inside of this process, and a Transport that hands one of them out as an upgraded connection.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/wait_until.h"
#include "kube/transport/http.h"
#include "kube/transport/transport.h"
#include "transport/websocket/websocket_frames.h"

namespace kube::internal {

inline constexpr std::chrono::seconds kPipePatience{60};

// One end of a pipe in both directions. Writing waits while `limit` bytes are unread at the other end.
class PipeEnd : public UpgradedConnection {
 public:
  static std::pair<std::unique_ptr<PipeEnd>, std::unique_ptr<PipeEnd>> Make(std::size_t limit = std::size_t{1} << 20) {
    auto shared = std::make_shared<Shared>();
    shared->limit = limit;
    return {std::unique_ptr<PipeEnd>(new PipeEnd(shared, 0)), std::unique_ptr<PipeEnd>(new PipeEnd(shared, 1))};
  }
  ~PipeEnd() override { PipeEnd::Close(); }

  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) override {
    Shared& s = *shared_;
    MutexLock lock(s.mu);
    const auto ready = [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS {
      return !shared_->bytes[1 - side_].empty() || shared_->closed[1 - side_] || shared_->closed[side_];
    };
    if (Result<void> waited = WaitUntil(ctx, s.mu, s.changed, ready); !waited) return waited.error();
    if (s.closed[side_]) return Error(ErrorKind::kClosed, "this end was closed");
    std::string& in = s.bytes[1 - side_];
    const std::size_t got = in.copy(buffer, size);
    in.erase(0, got);
    s.changed.NotifyAll();
    return got;
  }
  Result<void> Write(const Context& ctx, std::string_view bytes) override {
    Shared& s = *shared_;
    MutexLock lock(s.mu);
    while (!bytes.empty()) {
      const auto ready = [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS {
        return shared_->bytes[side_].size() < shared_->limit || shared_->closed[1 - side_] || shared_->closed[side_];
      };
      if (Result<void> waited = WaitUntil(ctx, s.mu, s.changed, ready); !waited) return waited.error();
      if (s.closed[side_]) return Error(ErrorKind::kClosed, "this end was closed");
      if (s.closed[1 - side_]) return Error(ErrorKind::kTransport, "the other end was closed");
      const std::size_t part = std::min(bytes.size(), s.limit - s.bytes[side_].size());
      s.bytes[side_].append(bytes.substr(0, part));
      bytes.remove_prefix(part);
      s.changed.NotifyAll();
    }
    return {};
  }
  void Close() override {
    MutexLock lock(shared_->mu);
    shared_->closed[side_] = true;
    shared_->changed.NotifyAll();
  }

 private:
  struct Shared {
    Mutex mu;
    CondVar changed;
    std::size_t limit = 0;
    std::string bytes[2] KUBE_GUARDED_BY(mu);  // written by that side
    bool closed[2] KUBE_GUARDED_BY(mu) = {false, false};
  };
  PipeEnd(std::shared_ptr<Shared> shared, int side) : shared_(std::move(shared)), side_(side) {}

  const std::shared_ptr<Shared> shared_;
  const int side_;
};

// The server's end of a WebSocket, frame by frame, as a test wants it.
class RawWebSocket {
 public:
  explicit RawWebSocket(std::unique_ptr<UpgradedConnection> end) : end_(std::move(end)), parser_(std::size_t{16} << 20, true) {}

  // The next message or control frame; a close frame with "gone" if the client has left.
  WebSocketParser::Item Next() {
    while (true) {
      Result<std::optional<WebSocketParser::Item>> item = parser_.Next();
      if (!item.ok()) return {WebSocketOpcode::kClose, "bad frame: " + item.error().message()};
      if (*item) return **std::move(item);
      std::string buffer(4096, '\0');
      const Result<std::size_t> got = end_->Read(Context::Background().WithTimeout(kPipePatience), buffer.data(), buffer.size());
      if (!got || *got == 0) return {WebSocketOpcode::kClose, "gone"};
      parser_.Feed({buffer.data(), *got});
    }
  }
  // The next message that is no control frame.
  std::string NextMessage() {
    while (true) {
      WebSocketParser::Item item = Next();
      if (item.opcode == WebSocketOpcode::kBinary) return std::move(item.payload);
      if (item.opcode == WebSocketOpcode::kClose) return "[closed]";
    }
  }
  void Send(WebSocketOpcode opcode, std::string_view payload) {
    (void)end_->Write(Context::Background().WithTimeout(kPipePatience), WebSocketFrame(opcode, payload));
  }
  void SendChannel(int channel, std::string_view payload) {
    Send(WebSocketOpcode::kBinary, std::string(1, static_cast<char>(channel)).append(payload));
  }
  void SendClose(std::uint16_t code = 1000, std::string_view reason = {}) {
    Send(WebSocketOpcode::kClose, WebSocketClosePayload(code, reason));
  }
  UpgradedConnection& end() { return *end_; }
  std::unique_ptr<UpgradedConnection> Take() { return std::move(end_); }

 private:
  std::unique_ptr<UpgradedConnection> end_;
  WebSocketParser parser_;
};

// Accepts every handshake, and keeps the server's ends for the test.
//
// Thread safety: all functions from any thread.
class UpgradeTransport : public Transport {
 public:
  struct Options {
    std::string protocol{};  // empty: the first one that is offered
    std::string accept{};    // empty: the right one
    std::size_t limit = std::size_t{1} << 20;
    std::optional<int> refusal{};  // a code in the place of 101
    std::string refusal_body{};
    std::string refusal_type = "application/json";
  };
  UpgradeTransport() : UpgradeTransport(Options()) {}
  explicit UpgradeTransport(Options options) : options_(std::move(options)) {}

  Result<HttpResponse> RoundTrip(const Context&, HttpRequest) override { return Error::Invalid("upgrades only"); }
  Result<UpgradeResponse> Upgrade(const Context& ctx, HttpRequest request) override {
    if (Result<void> go = ctx.Check(); !go) return go.error();
    UpgradeResponse response;
    if (options_.refusal) {
      response.code = *options_.refusal;
      response.headers = {{"Content-Type", options_.refusal_type}};
      response.body = options_.refusal_body;
    } else {
      const std::string offered(request.headers.Get("Sec-WebSocket-Protocol"));
      response.code = 101;
      response.headers = {{"upgrade", "WebSocket"},
                          {"sec-websocket-accept",
                           options_.accept.empty() ? WebSocketAcceptKey(request.headers.Get("Sec-WebSocket-Key")) : options_.accept},
                          {"sec-websocket-protocol", options_.protocol.empty() ? offered.substr(0, offered.find(',')) : options_.protocol}};
      auto [client, server] = PipeEnd::Make(options_.limit);
      response.connection = std::move(client);
      MutexLock lock(mu_);
      servers_.push_back(std::move(server));
      changed_.NotifyAll();
    }
    MutexLock lock(mu_);
    requests_.push_back(std::move(request));
    return response;
  }

  // The server's end of the next session; null after kPipePatience.
  std::unique_ptr<UpgradedConnection> Accept() {
    MutexLock lock(mu_);
    const auto until = std::chrono::steady_clock::now() + kPipePatience;
    while (servers_.empty()) {
      if (!changed_.WaitUntil(mu_, until)) return nullptr;
    }
    std::unique_ptr<UpgradedConnection> server = std::move(servers_.front());
    servers_.pop_front();
    return server;
  }
  std::vector<HttpRequest> requests() const {
    MutexLock lock(mu_);
    return requests_;
  }

 private:
  const Options options_;
  mutable Mutex mu_;
  CondVar changed_;
  std::deque<std::unique_ptr<UpgradedConnection>> servers_ KUBE_GUARDED_BY(mu_);
  std::vector<HttpRequest> requests_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::internal
