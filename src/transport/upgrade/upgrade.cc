#include "transport/upgrade/upgrade.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <poll.h>
#include <strings.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/event_fd.h"
#include "kube/base/mutex.h"
#include "kube/transport/transport_errors.h"
#include "transport/curl/options.h"
#include "transport/request/http_head.h"
#include "transport/tls/tls_socket.h"

namespace kube::internal {
namespace {

constexpr std::size_t kMostHead = 64 * 1024;
constexpr std::size_t kMostBody = 64 * 1024;

class CurlConnection : public UpgradedConnection {
 public:
  CurlConnection(std::shared_ptr<const Settings> settings, std::shared_ptr<const TlsMaterial> material)
      : settings_(std::move(settings)), material_(std::move(material)), multi_(Curl().multi_init()), easy_(Curl().easy_init()) {}
  ~CurlConnection() override {
    if (multi_ != nullptr && added_) Curl().multi_remove_handle(multi_, easy_.get());
    easy_.reset();
    if (multi_ != nullptr) Curl().multi_cleanup(multi_);
  }

  // Opens the connection. By one thread, before anything else.
  Result<void> Connect(const Context& ctx);

  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) override {
    if (used_ < early_.size()) {
      if (closed()) return ClosedError();
      const std::size_t count = early_.copy(buffer, size, used_);
      used_ += count;
      return count;
    }
    if (size == 0) return std::size_t{0};
    for (;;) {
      CURLcode code = CURLE_OK;
      std::size_t count = 0;
      std::optional<Error> error;
      {
        MutexLock lock(mu_);
        if (closed_) return ClosedError();
        code = Curl().easy_recv(easy_.get(), buffer, size, &count);
        if (code != CURLE_OK && code != CURLE_AGAIN) error = FailureOf(code);
      }
      if (error) return *std::move(error);
      if (code == CURLE_OK) return count;
      if (Result<void> waited = Wait(ctx, POLLIN, read_event_); !waited) return waited.error();
    }
  }

  Result<void> Write(const Context& ctx, std::string_view bytes) override {
    while (!bytes.empty()) {
      CURLcode code = CURLE_OK;
      std::size_t count = 0;
      std::optional<Error> error;
      {
        MutexLock lock(mu_);
        if (closed_) return ClosedError();
        code = Curl().easy_send(easy_.get(), bytes.data(), bytes.size(), &count);
        if (code != CURLE_OK && code != CURLE_AGAIN) error = FailureOf(code);
      }
      if (error) return *std::move(error);
      bytes.remove_prefix(count);
      if (code == CURLE_AGAIN) {
        if (Result<void> waited = Wait(ctx, POLLOUT, write_event_); !waited) return waited.error();
      }
    }
    return {};
  }

  void Close() override {
    {
      MutexLock lock(mu_);
      if (std::exchange(closed_, true)) return;
      if (socket_ >= 0) shutdown(socket_, SHUT_RDWR);
    }
    read_event_.Set();
    write_event_.Set();
  }

  // Bytes that came behind the head belong to the reader.
  void SetEarly(std::string bytes) { early_ = std::move(bytes); }

 private:
  static Error ClosedError() { return Error(ErrorKind::kClosed, "the connection was closed"); }

  bool closed() {
    MutexLock lock(mu_);
    return closed_;
  }

  Error FailureOf(CURLcode code) KUBE_REQUIRES(mu_) {
    Failure failure = ReadFailure(easy_.get(), code, detail_);
    failure.answered = true;
    failure.connect_code = 0;
    return ToError(*settings_, failure);
  }

  // Until the socket is ready; an error if the context stops first. The caller looks at `closed_` again.
  Result<void> Wait(const Context& ctx, short events, const EventFd& event) {
    {
      const Context::Registration wake = ctx.OnDone([&event] { event.Set(); });
      pollfd sockets[2] = {{socket_, events, 0}, {event.fd(), POLLIN, 0}};
      (void)poll(sockets, 2, -1);
    }
    if (closed()) return {};
    event.Clear();
    if (closed()) event.Set();  // it was closed just now
    return ctx.Check();
  }

  const std::shared_ptr<const Settings> settings_;
  const std::shared_ptr<const TlsMaterial> material_;
  SslContext rules_;
  Slist connect_to_;
  CURLM* const multi_;
  Mutex mu_;  // libcurl's handle, but not waiting
  Easy easy_;
  bool added_ = false;
  int socket_ = -1;
  char detail_[CURL_ERROR_SIZE] = {};
  bool closed_ KUBE_GUARDED_BY(mu_) = false;
  EventFd read_event_;
  EventFd write_event_;
  std::string early_;
  std::size_t used_ = 0;
};

Result<void> CurlConnection::Connect(const Context& ctx) {
  if (multi_ == nullptr || easy_ == nullptr) return Error::Internal("libcurl gives no handle: memory may be short");
  if (!read_event_.valid() || !write_event_.valid()) {
    return Error::Internal("a connection needs two eventfds, and the system gives none: look at the limit (ulimit -n)");
  }
  CURL* easy = easy_.get();
  if (settings_->uses_tls()) {
    Failure failure;
    rules_ = MakeSslContext(material_.get(), failure);
    if (rules_ == nullptr) return ToError(*settings_, failure);
  }
  if (Result<void> set = SetConnectionOptions(easy, *settings_, material_.get(), rules_.get(), connect_to_); !set) return set;
  Curl().easy_setopt(easy, CURLOPT_ERRORBUFFER, detail_);
  Curl().easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
  Curl().easy_setopt(easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
  Curl().easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  Curl().easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
  Curl().easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, 5L);
  if (Curl().multi_add_handle(multi_, easy) != CURLM_OK) return Error::Internal("libcurl takes no request: memory may be short");
  added_ = true;
  const Context::Registration wake = ctx.OnDone([multi = multi_] { (void)Curl().multi_wakeup(multi); });
  for (;;) {
    int running = 0;
    (void)Curl().multi_perform(multi_, &running);
    int left = 0;
    if (const CURLMsg* message = Curl().multi_info_read(multi_, &left); message != nullptr && message->msg == CURLMSG_DONE) {
      if (message->data.result != CURLE_OK) return ToError(*settings_, ReadFailure(easy, message->data.result, detail_));
      break;
    }
    if (Result<void> go = ctx.Check(); !go) return go;
    (void)Curl().multi_poll(multi_, nullptr, 0, 10'000, nullptr);
  }
  curl_socket_t socket = CURL_SOCKET_BAD;
  Curl().easy_getinfo(easy, CURLINFO_ACTIVESOCKET, &socket);
  if (socket == CURL_SOCKET_BAD) {
    return TransportError(transport_reason::kConnectionReset,
                          fmt::format("the connection to {} did not last", settings_->endpoint.HostPort()));
  }
  socket_ = socket;
  return {};
}

std::string RequestText(const Settings& settings, const HttpRequest& request) {
  std::string text = fmt::format("{} {}{} HTTP/1.1\r\n", request.method, settings.endpoint.path, request.target);
  if (!request.headers.Has("Host")) text += fmt::format("Host: {}\r\n", settings.endpoint.Authority());
  for (const auto& [name, value] : request.headers) text += fmt::format("{}: {}\r\n", name, value);
  if (!request.body.empty() && !request.headers.Has("Content-Length")) text += fmt::format("Content-Length: {}\r\n", request.body.size());
  text += "\r\n";
  text += request.body;
  return text;
}

// Reads more into `text`. False at the end of the connection.
Result<bool> ReadMore(const Context& ctx, CurlConnection& connection, std::string& text) {
  char buffer[16 * 1024];
  const Result<std::size_t> got = connection.Read(ctx, buffer, sizeof buffer);
  if (!got) return got.error();
  text.append(buffer, *got);
  return *got != 0;
}

// `text` begins with the bytes behind the head.
Result<std::string> ReadRefusal(const Context& ctx, CurlConnection& connection, const HttpHeaders& headers, std::string text) {
  const std::string_view coding = headers.Get("Transfer-Encoding");
  const bool chunked = coding.size() == 7 && strncasecmp(coding.data(), "chunked", 7) == 0;
  std::size_t length = kMostBody;
  if (const std::string_view announced = headers.Get("Content-Length"); !announced.empty() && !chunked) {
    std::size_t bytes = 0;
    if (std::from_chars(announced.data(), announced.data() + announced.size(), bytes).ec == std::errc())
      length = std::min(bytes, kMostBody);
  }
  bool complete = false;
  while (text.size() < (chunked ? 2 * kMostBody : length)) {
    if (chunked) {
      (void)DecodeChunks(text, complete);
      if (complete) break;
    }
    const Result<bool> more = ReadMore(ctx, connection, text);
    if (!more) {
      if (more.error().kind() != ErrorKind::kTransport) return more.error();
      break;  // what came of the explanation is enough
    }
    if (!*more) break;
  }
  if (chunked) text = DecodeChunks(text, complete);
  if (text.size() > length) text.resize(length);
  return text;
}

}  // namespace

Result<UpgradeResponse> UpgradeConnection(const Context& ctx, std::shared_ptr<const Settings> settings,
                                          std::shared_ptr<const TlsMaterial> material, const HttpRequest& request) {
  if (Result<void> loaded = LoadCurl(); !loaded) return loaded.error();
  const std::string host = settings->endpoint.HostPort();
  const std::string text = RequestText(*settings, request);
  auto connection = std::make_unique<CurlConnection>(std::move(settings), std::move(material));
  if (Result<void> connected = connection->Connect(ctx); !connected) return connected.error();
  if (Result<void> written = connection->Write(ctx, text); !written) return written.error();
  std::string answer;
  for (;;) {
    Result<std::optional<HttpHead>> head = ParseHttpHead(answer);
    if (!head) return head.error().WithContext(host);
    if (*head && (*head)->code / 100 == 1 && (*head)->code != 101) {
      answer.erase(0, (*head)->size);  // the real answer follows
      continue;
    }
    if (*head) {
      UpgradeResponse response;
      response.code = (*head)->code;
      response.headers = std::move((*head)->headers);
      answer.erase(0, (*head)->size);
      if (response.code == 101) {
        connection->SetEarly(std::move(answer));
        response.connection = std::move(connection);
        return response;
      }
      Result<std::string> body = ReadRefusal(ctx, *connection, response.headers, std::move(answer));
      if (!body) return body.error();
      response.body = *std::move(body);
      return response;
    }
    if (answer.size() > kMostHead) {
      return TransportError(transport_reason::kTooLarge,
                            fmt::format("the header of the answer of {} is larger than {} bytes", host, kMostHead));
    }
    const Result<bool> more = ReadMore(ctx, *connection, answer);
    if (!more) return more.error();
    if (!*more) return TransportError(transport_reason::kUnexpectedEof, fmt::format("{} closed the connection without an answer", host));
  }
}

}  // namespace kube::internal
