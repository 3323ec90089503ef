#include "kube/serve/remote_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "serve/websocket.h"
#include "transport/byte_queue.h"
#include "transport/spdy/spdy_connection.h"

namespace kube::serve {

namespace {

using internal::ByteQueue;
using internal::SpdyConnection;
using internal::SpdyStream;

constexpr std::string_view kV5 = "v5.channel.k8s.io";
constexpr std::string_view kV4 = "v4.channel.k8s.io";
constexpr std::string_view kPortForward = "portforward.k8s.io";
constexpr std::string_view kTunneledPortForward = "SPDY/3.1+portforward.k8s.io";
constexpr std::string_view kSpdy = "SPDY/3.1";
// As long as the real server waits for a client to open its streams.
constexpr std::chrono::seconds kStreamCreation{30};
constexpr std::size_t kMaxInput = std::size_t{1} << 20;
constexpr std::size_t kMaxHalfPairs = 1000;

enum Channel : char { kStdin = 0, kStdout = 1, kStderr = 2, kError = 3, kResize = 4 };
constexpr char kCloseChannel = static_cast<char>(255);

std::string JsonString(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      json += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      json += c;
    }
  }
  return json += '"';
}

std::string ExitStatus(int code) {
  if (code == 0) return R"({"metadata":{},"status":"Success"})";
  return fmt::format(R"({{"metadata":{{}},"status":"Failure","message":"command terminated with non-zero exit code: {0}",)"
                     R"("reason":"NonZeroExitCode","details":{{"causes":[{{"reason":"ExitCode","message":"{0}"}}]}}}})",
                     code);
}

std::uint16_t NumberAfter(std::string_view json, std::string_view name) {
  std::size_t at = json.find(name);
  if (at == std::string_view::npos) return 0;
  at += name.size();
  while (at < json.size() && (json[at] == ' ' || json[at] == ':')) ++at;
  std::uint16_t value = 0;
  std::from_chars(json.data() + at, json.data() + json.size(), value);
  return value;
}

// Sizes of a terminal from {"Width":80,"Height":24} {"Width"... as the bytes come.
class SizeReader {
 public:
  void Feed(std::string_view bytes) {
    if (text_.size() < 4096) text_.append(bytes);
  }
  std::optional<TerminalSize> Next() {
    const std::size_t end = text_.find('}');
    if (end == std::string::npos) return std::nullopt;
    const std::string_view object = std::string_view(text_).substr(0, end);
    const TerminalSize size{NumberAfter(object, "\"Width\""), NumberAfter(object, "\"Height\"")};
    text_.erase(0, end + 1);
    return size;
  }

 private:
  std::string text_;
};

// stdin, stdout ... as channels of WebSocket messages.
class WebSocketRemoteSession final : public RemoteSession {
 public:
  WebSocketRemoteSession(std::unique_ptr<WebSocket> socket, std::string protocol, RemoteCommandOptions options)
      : socket_(std::move(socket)),
        protocol_(std::move(protocol)),
        options_(options),
        stdin_(kMaxInput),
        sizes_(4096),
        stop_(Context::Background().WithCancel()),
        reader_("kube-remote", [this] { Run(); }) {
    if (!options_.stdin_stream) stdin_.End();
    if (!options_.tty) sizes_.End();
  }
  WebSocketRemoteSession(const WebSocketRemoteSession&) = delete;
  WebSocketRemoteSession& operator=(const WebSocketRemoteSession&) = delete;
  ~WebSocketRemoteSession() override {
    Close();
    reader_.Join();
  }

  const RemoteCommandOptions& options() const override { return options_; }
  const std::string& protocol() const override { return protocol_; }
  Result<std::size_t> ReadStdin(const Context& ctx, char* buffer, std::size_t size) override { return stdin_.Read(ctx, buffer, size); }
  Result<void> WriteStdout(const Context& ctx, std::string_view bytes) override {
    return Write(ctx, kStdout, options_.stdout_stream, bytes);
  }
  Result<void> WriteStderr(const Context& ctx, std::string_view bytes) override {
    if (options_.tty) return WriteStdout(ctx, bytes);
    return Write(ctx, kStderr, options_.stderr_stream, bytes);
  }
  Result<std::optional<TerminalSize>> NextSize(const Context& ctx) override {
    while (true) {
      if (const std::optional<TerminalSize> size = size_reader_.Next()) return size;
      std::string buffer(256, '\0');
      const Result<std::size_t> got = sizes_.Read(ctx, buffer.data(), buffer.size());
      if (!got) return got.error();
      if (*got == 0) return std::optional<TerminalSize>();
      size_reader_.Feed({buffer.data(), *got});
    }
  }
  Result<void> Exit(const Context& ctx, int code) override { return ExitWithStatus(ctx, ExitStatus(code)); }
  Result<void> ExitWithStatus(const Context& ctx, std::string_view status_json) override {
    {
      MutexLock lock(mu_);
      if (exited_) return {};
      exited_ = true;
    }
    Result<void> written = socket_->WriteMessage(ctx, std::string_view("\x03", 1), status_json);
    if (written) written = socket_->WriteClose(ctx, 1000);
    Close();
    return written;
  }
  const Context& alive() const override { return stop_.first; }
  void Close() override {
    stop_.second.Cancel();
    socket_->Close();
    stdin_.Close();
    sizes_.Close();
  }

 private:
  Result<void> Write(const Context& ctx, char channel, bool wanted, std::string_view bytes) {
    {
      MutexLock lock(mu_);
      if (exited_) return Error(ErrorKind::kClosed, "the command has ended");
    }
    if (!wanted || bytes.empty()) return {};
    return socket_->WriteMessage(ctx, {&channel, 1}, bytes);
  }

  void Run() {
    while (true) {
      const Result<std::optional<WebSocket::Message>> message = socket_->ReadMessage(stop_.first);
      if (!message || !*message) break;
      const std::string_view bytes = (*message)->payload;
      if (bytes.empty()) continue;
      if (bytes[0] == kStdin) stdin_.Put(bytes.substr(1));
      if (bytes[0] == kResize) sizes_.Put(bytes.substr(1));
      if (bytes[0] == kCloseChannel && protocol_ == kV5 && bytes.size() == 2) {
        if (bytes[1] == kStdin) stdin_.End();
        if (bytes[1] == kResize) sizes_.End();
      }
    }
    stdin_.End();
    sizes_.End();
    stop_.second.Cancel(Error(ErrorKind::kTransport, "the client has disconnected"));
  }

  const std::unique_ptr<WebSocket> socket_;
  const std::string protocol_;
  const RemoteCommandOptions options_;
  ByteQueue stdin_;
  ByteQueue sizes_;
  SizeReader size_reader_;
  Mutex mu_;
  bool exited_ KUBE_GUARDED_BY(mu_) = false;
  std::pair<Context, CancelSource> stop_;
  Thread reader_;
};

// The same as streams of SPDY.
class SpdyRemoteSession final : public RemoteSession {
 public:
  SpdyRemoteSession(std::unique_ptr<SpdyConnection> connection, std::map<std::string, std::shared_ptr<SpdyStream>> streams,
                    RemoteCommandOptions options)
      : connection_(std::move(connection)), streams_(std::move(streams)), options_(options) {}

  const RemoteCommandOptions& options() const override { return options_; }
  const std::string& protocol() const override { return protocol_; }
  Result<std::size_t> ReadStdin(const Context& ctx, char* buffer, std::size_t size) override {
    SpdyStream* stream = Find("stdin");
    if (stream == nullptr) return std::size_t{0};
    return stream->Read(ctx, buffer, size);
  }
  Result<void> WriteStdout(const Context& ctx, std::string_view bytes) override { return Write(ctx, "stdout", bytes); }
  Result<void> WriteStderr(const Context& ctx, std::string_view bytes) override {
    return Write(ctx, options_.tty ? "stdout" : "stderr", bytes);
  }
  Result<std::optional<TerminalSize>> NextSize(const Context& ctx) override {
    SpdyStream* stream = Find("resize");
    while (stream != nullptr) {
      if (const std::optional<TerminalSize> size = size_reader_.Next()) return size;
      std::string buffer(256, '\0');
      const Result<std::size_t> got = stream->Read(ctx, buffer.data(), buffer.size());
      if (!got) return got.error();
      if (*got == 0) break;
      size_reader_.Feed({buffer.data(), *got});
    }
    return std::optional<TerminalSize>();
  }
  Result<void> Exit(const Context& ctx, int code) override { return ExitWithStatus(ctx, ExitStatus(code)); }
  Result<void> ExitWithStatus(const Context& ctx, std::string_view status_json) override {
    Result<void> done;
    for (const char* name : {"stdout", "stderr"}) {
      if (SpdyStream* stream = Find(name); stream != nullptr && done) done = stream->Finish(ctx);
    }
    SpdyStream* error = Find("error");
    if (done) done = error->Write(ctx, status_json);
    if (done) done = error->Finish(ctx);
    connection_->Close();
    return done;
  }
  const Context& alive() const override { return connection_->alive(); }
  void Close() override { connection_->Close(); }

 private:
  SpdyStream* Find(const std::string& name) const {
    const auto found = streams_.find(name);
    return found == streams_.end() ? nullptr : found->second.get();
  }
  Result<void> Write(const Context& ctx, const std::string& name, std::string_view bytes) {
    SpdyStream* stream = Find(name);
    if (stream == nullptr) return {};
    return stream->Write(ctx, bytes);
  }

  const std::unique_ptr<SpdyConnection> connection_;
  const std::map<std::string, std::shared_ptr<SpdyStream>> streams_;
  const RemoteCommandOptions options_;
  const std::string protocol_{kV4};
  SizeReader size_reader_;
};

class SpdyForwardedConnection final : public ForwardedConnection {
 public:
  SpdyForwardedConnection(std::uint16_t port, std::shared_ptr<SpdyStream> data, std::shared_ptr<SpdyStream> error)
      : port_(port), data_(std::move(data)), error_(std::move(error)) {}
  SpdyForwardedConnection(const SpdyForwardedConnection&) = delete;
  SpdyForwardedConnection& operator=(const SpdyForwardedConnection&) = delete;
  ~SpdyForwardedConnection() override { SpdyForwardedConnection::Close(); }

  std::uint16_t port() const override { return port_; }
  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) override { return data_->Read(ctx, buffer, size); }
  Result<void> Write(const Context& ctx, std::string_view bytes) override { return data_->Write(ctx, bytes); }
  Result<void> Finish(const Context& ctx) override { return data_->Finish(ctx); }
  Result<void> Fail(const Context& ctx, std::string_view message) override {
    Result<void> written = error_->Write(ctx, message);
    if (written) written = error_->Finish(ctx);
    if (written) written = data_->Finish(ctx);
    return written;
  }
  void Close() override {
    data_->Close();
    error_->Close();
  }

 private:
  const std::uint16_t port_;
  const std::shared_ptr<SpdyStream> data_;
  const std::shared_ptr<SpdyStream> error_;
};

class SpdyPortForwardSession final : public PortForwardSession {
 public:
  explicit SpdyPortForwardSession(std::unique_ptr<UpgradedConnection> connection)
      : connection_(std::move(connection), SpdyConnection::Role::kServer) {}

  Result<std::unique_ptr<ForwardedConnection>> Accept(const Context& ctx) override {
    while (true) {
      Result<std::shared_ptr<SpdyStream>> stream = connection_.Accept(ctx);
      if (!stream) return stream.error();
      if (*stream == nullptr) return std::unique_ptr<ForwardedConnection>();
      if (std::unique_ptr<ForwardedConnection> connection = Pair(*std::move(stream))) return connection;
    }
  }
  const Context& alive() const override { return connection_.alive(); }
  void Close() override { connection_.Close(); }

 private:
  struct Half {
    std::shared_ptr<SpdyStream> data;
    std::shared_ptr<SpdyStream> error;
  };

  // Where the other half of a pair is there already.
  std::unique_ptr<ForwardedConnection> Pair(std::shared_ptr<SpdyStream> stream) {
    const std::string_view type = stream->headers().Get("streamtype");
    std::uint16_t port = 0;
    const std::string_view port_text = stream->headers().Get("port");
    const auto parsed = std::from_chars(port_text.data(), port_text.data() + port_text.size(), port);
    if ((type != "data" && type != "error") || port == 0 || parsed.ec != std::errc() || parsed.ptr != port_text.data() + port_text.size()) {
      stream->Close();
      return nullptr;
    }
    std::string request(stream->headers().Get("requestid"));
    // Very old clients send none: there the stream for data follows the one for errors.
    if (request.empty()) request = "stream " + std::to_string(type == "error" ? stream->id() : stream->id() - 2);
    Half& half = halves_[request];
    std::shared_ptr<SpdyStream>& place = type == "data" ? half.data : half.error;
    if (place != nullptr || halves_.size() > kMaxHalfPairs) {
      stream->Close();
      return nullptr;
    }
    place = std::move(stream);
    if (half.data == nullptr || half.error == nullptr) return nullptr;
    auto connection = std::make_unique<SpdyForwardedConnection>(port, std::move(half.data), std::move(half.error));
    halves_.erase(request);
    return connection;
  }

  SpdyConnection connection_;
  std::map<std::string, Half> halves_;
};

// Reports the refusal to the client and to the caller.
Error Refuse(HttpExchange& exchange, int status, std::string message, std::string_view accepted = {}) {
  HttpResponse response{.status = status, .headers = {{"content-type", "text/plain; charset=utf-8"}}, .body = message + "\n"};
  if (!accepted.empty()) response.headers.Add("x-accepted-stream-protocol-versions", std::string(accepted));
  exchange.Reply(std::move(response));
  return Error::Invalid(std::move(message));
}

// The handshake of SPDY for `protocol`.
Result<std::unique_ptr<UpgradedStream>> AcceptSpdy(HttpExchange& exchange, std::string_view protocol) {
  const HttpRequest& request = exchange.request();
  const std::vector<std::string> offered = CommaSeparated(request, "x-stream-protocol-version");
  if (offered.empty()) return Refuse(exchange, 400, "unable to upgrade: header X-Stream-Protocol-Version is missing or empty");
  if (std::find(offered.begin(), offered.end(), protocol) == offered.end()) {
    return Refuse(exchange, 403,
                  fmt::format("unable to upgrade: unable to negotiate protocol: client supports [{}], server accepts [{}]",
                              fmt::join(offered, " "), protocol),
                  protocol);
  }
  Result<std::unique_ptr<UpgradedStream>> stream =
      exchange.Upgrade({{"upgrade", std::string(kSpdy)}, {"x-stream-protocol-version", std::string(protocol)}});
  if (!stream && stream.error().kind() == ErrorKind::kInvalid)
    return Refuse(exchange, 400, "unable to upgrade: " + stream.error().message());
  return stream;
}

Result<std::unique_ptr<WebSocket>> AcceptWebSocketOf(HttpExchange& exchange, const std::vector<std::string_view>& known,
                                                     std::string& protocol) {
  const std::vector<std::string> offered = CommaSeparated(exchange.request(), "sec-websocket-protocol");
  const auto found = std::find_if(offered.begin(), offered.end(),
                                  [&known](const std::string& one) { return std::find(known.begin(), known.end(), one) != known.end(); });
  if (found == offered.end()) {
    return Refuse(exchange, 403,
                  fmt::format("unable to upgrade: requested protocol(s) are not supported: [{}]; supports [{}]", fmt::join(offered, " "),
                              fmt::join(known, " ")));
  }
  protocol = *found;
  Result<std::unique_ptr<WebSocket>> socket = AcceptWebSocket(exchange, protocol);
  if (!socket && socket.error().kind() == ErrorKind::kInvalid)
    return Refuse(exchange, 400, "unable to upgrade: " + socket.error().message());
  return socket;
}

Result<std::unique_ptr<RemoteSession>> AcceptSpdyRemoteCommand(const Context& ctx, HttpExchange& exchange,
                                                               const RemoteCommandOptions& options) {
  Result<std::unique_ptr<UpgradedStream>> stream = AcceptSpdy(exchange, kV4);
  if (!stream) return stream.error();
  auto connection = std::make_unique<SpdyConnection>(AsConnection(*std::move(stream)), SpdyConnection::Role::kServer);
  std::vector<std::string> missing = {"error"};
  if (options.stdin_stream) missing.emplace_back("stdin");
  if (options.stdout_stream) missing.emplace_back("stdout");
  if (options.stderr_stream && !options.tty) missing.emplace_back("stderr");
  if (options.tty) missing.emplace_back("resize");
  std::map<std::string, std::shared_ptr<SpdyStream>> streams;
  const Context soon = ctx.WithTimeout(kStreamCreation);
  while (!missing.empty()) {
    Result<std::shared_ptr<SpdyStream>> next = connection->Accept(soon);
    if (!next) return next.error().WithContext("wait for the client to open its streams");
    if (*next == nullptr) return Error(ErrorKind::kTransport, "the client left before it had opened its streams");
    const std::string type((*next)->headers().Get("streamtype"));
    const auto found = std::find(missing.begin(), missing.end(), type);
    if (found == missing.end()) {
      (*next)->Close();
      continue;
    }
    missing.erase(found);
    streams[type] = *std::move(next);
  }
  return std::unique_ptr<RemoteSession>(std::make_unique<SpdyRemoteSession>(std::move(connection), std::move(streams), options));
}

}  // namespace

RemoteSession::~RemoteSession() = default;
ForwardedConnection::~ForwardedConnection() = default;
PortForwardSession::~PortForwardSession() = default;

Result<void> RemoteSession::Fail(const Context& ctx, std::string_view message) {
  const std::string text = JsonString(message);
  return ExitWithStatus(ctx, fmt::format(R"({{"metadata":{{}},"status":"Failure","message":{0},"reason":"InternalError",)"
                                         R"("details":{{"causes":[{{"message":{0}}}]}},"code":500}})",
                                         text));
}

bool IsUpgradeRequest(const HttpRequest& request) { return HeaderHasToken(request, "connection", "upgrade"); }

RemoteCommandOptions ParseRemoteCommandOptions(std::string_view query) {
  RemoteCommandOptions options;
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    const std::string_view name = pair.substr(0, equals);
    const std::string_view value = pair.substr(std::min(equals + 1, pair.size()));
    const bool yes = value == "true" || value == "1";
    if (name == "stdin" || name == "input") options.stdin_stream = yes;
    if (name == "stdout" || name == "output") options.stdout_stream = yes;
    if (name == "stderr" || name == "error") options.stderr_stream = yes;
    if (name == "tty") options.tty = yes;
  }
  return options;
}

Result<std::unique_ptr<RemoteSession>> AcceptRemoteCommand(const Context& ctx, const std::shared_ptr<HttpExchange>& exchange) {
  const HttpRequest& request = exchange->request();
  const RemoteCommandOptions options = ParseRemoteCommandOptions(request.query);
  if (IsWebSocketRequest(request)) {
    std::string protocol;
    Result<std::unique_ptr<WebSocket>> socket = AcceptWebSocketOf(*exchange, {kV5, kV4}, protocol);
    if (!socket) return socket.error();
    return std::unique_ptr<RemoteSession>(std::make_unique<WebSocketRemoteSession>(*std::move(socket), std::move(protocol), options));
  }
  if (IsUpgradeRequest(request) && HeaderHasToken(request, "upgrade", kSpdy)) return AcceptSpdyRemoteCommand(ctx, *exchange, options);
  return Refuse(*exchange, 400, "Upgrade request required");
}

Result<std::unique_ptr<PortForwardSession>> AcceptPortForward(const Context& ctx, const std::shared_ptr<HttpExchange>& exchange) {
  if (Result<void> go = ctx.Check(); !go) return go.error();
  const HttpRequest& request = exchange->request();
  if (IsWebSocketRequest(request)) {
    std::string protocol;
    Result<std::unique_ptr<WebSocket>> socket = AcceptWebSocketOf(*exchange, {kTunneledPortForward}, protocol);
    if (!socket) return socket.error();
    return std::unique_ptr<PortForwardSession>(std::make_unique<SpdyPortForwardSession>(internal::MakeWebSocketTunnel(*std::move(socket))));
  }
  if (IsUpgradeRequest(request) && HeaderHasToken(request, "upgrade", kSpdy)) {
    Result<std::unique_ptr<UpgradedStream>> stream = AcceptSpdy(*exchange, kPortForward);
    if (!stream) return stream.error();
    return std::unique_ptr<PortForwardSession>(std::make_unique<SpdyPortForwardSession>(AsConnection(*std::move(stream))));
  }
  return Refuse(*exchange, 400, "Upgrade request required");
}

}  // namespace kube::serve
