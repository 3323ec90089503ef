#include "transport/curl/pool.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "transport/curl/io_loop.h"

namespace kube::internal {
namespace {

// More than libcurl takes from a connection at once (32 KiB), so that a stream that reads for itself never has to stop in the middle.
constexpr long kReceiveBuffer = 64 * 1024;
constexpr std::size_t kBulk = 32 * 1024;
constexpr std::size_t kIdleHandles = 256;
constexpr std::size_t kMostReserved = std::size_t{1} << 30;

bool SameName(std::string_view a, std::string_view b) { return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0; }

void SetKeepAlive(int fd, const HttpTransportOptions& options) {
  const auto set = [&](int level, int name, int value) { (void)setsockopt(fd, level, name, &value, sizeof value); };
  const auto seconds = [](std::chrono::milliseconds time) {
    return static_cast<int>(std::max<std::int64_t>((time.count() + 999) / 1000, 1));
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, seconds(options.read_idle_timeout));
  set(IPPROTO_TCP, TCP_KEEPINTVL, std::max(seconds(options.ping_timeout) / 3, 1));
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, (seconds(options.read_idle_timeout) + seconds(options.ping_timeout)) * 1000);
}

// Headers that libcurl writes by itself, and nobody else.
bool OwnHeader(std::string_view name) { return SameName(name, "Content-Length") || SameName(name, "Transfer-Encoding"); }

// Versions where this was tried.
bool TargetIsCopied() {
  static const bool known = curl_version_info(CURLVERSION_NOW)->version_num == 0x075801;
  return known;
}

// Requests that can be sent twice without doing anything twice.
bool Repeatable(const std::string& method) { return method == "GET" || method == "HEAD" || method == "OPTIONS"; }

}  // namespace

Pool::Pool(IoLoop& loop, std::shared_ptr<const Settings> settings, std::shared_ptr<const TlsMaterial> material)
    : loop_(loop), settings_(std::move(settings)), material_(std::move(material)), multi_(curl_multi_init()) {
  curl_multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  // The server's own limit counts. libcurl would start another connection at 100.
  curl_multi_setopt(multi_, CURLMOPT_MAX_CONCURRENT_STREAMS, 10'000L);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 256L);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Pool::OnSocketChange);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Pool::OnTimerChange);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

Pool::~Pool() {
  idle_.clear();
  curl_multi_cleanup(multi_);
}

std::unique_ptr<Transfer> Pool::NewTransfer() {
  auto transfer = std::make_unique<Transfer>();
  transfer->pool = this;
  transfer->easy.reset(curl_easy_init());
  if (transfer->easy == nullptr) return nullptr;
  CURL* easy = transfer->easy.get();
  SetConnectionOptions(easy, *settings_, material_.get(), transfer->connect_to);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, transfer.get());
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->detail);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kReceiveBuffer);
  curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Pool::OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer.get());
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Pool::OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer.get());
  curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, &Pool::OnReady);
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer.get());
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &Pool::OnOpen);
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, this);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, &Pool::OnClose);
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, this);
  return transfer;
}

std::unique_ptr<Transfer> Pool::TakeTransfer() {
  if (idle_.empty()) return NewTransfer();
  std::unique_ptr<Transfer> transfer = std::move(idle_.back());
  idle_.pop_back();
  return transfer;
}

void Pool::SetMethod(Transfer& transfer, const HttpRequest& request) {
  CURL* easy = transfer.easy.get();
  const std::string& method = request.method;
  const bool with_body = !request.body.empty() || method == "POST" || method == "PUT" || method == "PATCH";
  if (method != transfer.method || with_body != transfer.body_set) {
    if (with_body) {
      curl_easy_setopt(easy, CURLOPT_POST, 1L);
    } else if (method == "HEAD") {
      curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    } else {
      curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    }
    const bool usual = with_body ? method == "POST" : method == "GET" || method == "HEAD";
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, usual ? nullptr : method.c_str());
    transfer.method = method;
    transfer.body_set = with_body;
  }
  if (with_body) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
}

void Pool::SetHeaders(Transfer& transfer, const HttpRequest& request, bool in_target) {
  const HttpHeaders& wanted = request.headers;
  const bool with_body = transfer.body_set;
  const bool fits = transfer.headers != nullptr && transfer.headers_with_body == with_body && transfer.headers_in_target == in_target;
  if (fits && (in_target ||
               (wanted.size() == transfer.headers_of.size() && std::equal(wanted.begin(), wanted.end(), transfer.headers_of.begin())))) {
    return;
  }
  Slist list;
  bool accept = false;
  bool content_type = false;
  bool host = false;
  if (!in_target) {
    for (const auto& [name, value] : wanted) {
      if (OwnHeader(name)) continue;
      accept = accept || SameName(name, "Accept");
      content_type = content_type || SameName(name, "Content-Type");
      host = host || SameName(name, "Host");
      (void)Append(list, value.empty() ? name + ";" : fmt::format("{}: {}", name, value));
    }
  }
  // What libcurl would add by itself.
  if (!accept) (void)Append(list, "Accept:");
  if (with_body && !content_type) (void)Append(list, "Content-Type:");
  if (with_body) (void)Append(list, "Expect:");
  if (!host && transfer.connect_to != nullptr) (void)Append(list, "Host: " + settings_->endpoint.Authority());
  curl_easy_setopt(transfer.easy.get(), CURLOPT_HTTPHEADER, list.get());
  transfer.headers = std::move(list);
  transfer.headers_of = in_target ? HttpHeaders() : wanted;
  transfer.headers_with_body = with_body;
  transfer.headers_in_target = in_target;
}

void Pool::SetTarget(Transfer& transfer, const HttpRequest& request, bool with_headers) {
  std::string& target = transfer.target;
  target.clear();
  if (settings_->absolute_target()) target.append("http://").append(settings_->endpoint.Authority());
  target.append(settings_->endpoint.path).append(request.target);
  if (with_headers) {
    target.append(" HTTP/1.1\r\n");
    for (const auto& [name, value] : request.headers) {
      if (!OwnHeader(name)) target.append(name).append(": ").append(value).append("\r\n");
    }
    // libcurl's " HTTP/2" becomes the value of this one, which HTTP/2 does not have: it is not sent.
    target.append("Keep-Alive:");
  }
  curl_easy_setopt(transfer.easy.get(), CURLOPT_REQUEST_TARGET, target.c_str());
}

void Pool::Prepare(Transfer& transfer, const HttpRequest& request) {
  CURL* easy = transfer.easy.get();
  SetMethod(transfer, request);
  // libcurl 7.88 prints headers byte by byte, three calls for each: a token of a service account costs more than all the rest of a request.
  // The target it copies. Only on HTTP/2, where libcurl takes the text apart again.
  const bool in_target = http2_connections_ > 0 && TargetIsCopied() && !settings_->absolute_target() && !request.headers.Has("Host");
  SetHeaders(transfer, request, in_target);
  SetTarget(transfer, request, in_target);
  // Who asks for an encoding gets it as it is, as in Go.
  const bool asked = request.headers.Has("Accept-Encoding");
  const std::string encoding = asked || settings_->options.disable_compression ? "" : "gzip";
  if (transfer.encoding != encoding) {
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, encoding.empty() ? nullptr : encoding.c_str());
    transfer.encoding = encoding;
  }
  transfer.detail[0] = '\0';
  transfer.attempts = 0;
  transfer.header_bytes = 0;
  transfer.round_bytes = 0;
  transfer.head_done = transfer.paused = transfer.flushing = transfer.header_too_large = transfer.body_too_large = false;
  transfer.refusable = transfer.not_repeatable = false;
  transfer.suspect = nullptr;
}

bool Pool::Add(std::unique_ptr<Transfer> transfer) {
  if (curl_multi_add_handle(multi_, transfer->easy.get()) != CURLM_OK) return false;
  transfer->slot = active_.size();
  active_.push_back(transfer.release());
  return true;
}

Transfer* Pool::Start(std::shared_ptr<Call> call) {
  std::unique_ptr<Transfer> transfer = TakeTransfer();
  if (transfer == nullptr) return nullptr;
  Transfer* raw = transfer.get();
  Prepare(*raw, call->request);
  raw->call = std::move(call);
  raw->call->transfer = raw;
  if (!Add(std::move(transfer))) return nullptr;
  return raw;
}

Transfer* Pool::StartProbe(Connection& suspect) {
  std::unique_ptr<Transfer> transfer = TakeTransfer();
  if (transfer == nullptr) return nullptr;
  static const HttpRequest request = [] {
    HttpRequest probe;
    probe.target = "/livez/ping";
    probe.headers.Add("Accept", "*/*");
    return probe;
  }();
  Transfer* raw = transfer.get();
  Prepare(*raw, request);
  raw->suspect = &suspect;
  if (!Add(std::move(transfer))) return nullptr;
  return raw;
}

void Pool::Remove(Transfer& transfer) {
  curl_multi_remove_handle(multi_, transfer.easy.get());
  Attach(transfer, nullptr);
  if (transfer.suspect != nullptr && transfer.suspect->probe == &transfer) transfer.suspect->probe = nullptr;
  if (transfer.call != nullptr) transfer.call->transfer = nullptr;
  transfer.call = nullptr;
  std::unique_ptr<Transfer> owned(active_[transfer.slot]);
  active_[transfer.slot] = active_.back();
  active_[transfer.slot]->slot = transfer.slot;
  active_.pop_back();
  if (idle_.size() < kIdleHandles) idle_.push_back(std::move(owned));
}

void Pool::Poke(Transfer& transfer) {
  // A request that is not being sent does not care whether sending is paused; changing it makes libcurl flush its HTTP/2 session and run
  // this one handle as if its socket were readable.
  curl_easy_pause(transfer.easy.get(), CURLPAUSE_SEND);
  curl_easy_pause(transfer.easy.get(), CURLPAUSE_CONT);
}

bool Pool::RunTimer() {
  if (!timer_ || *timer_ > std::chrono::steady_clock::now()) return false;
  timer_.reset();
  int running = 0;
  curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
  return timer_ && *timer_ <= std::chrono::steady_clock::now();
}

void Pool::OnSocket(int fd, int bits) {
  int running = 0;
  curl_multi_socket_action(multi_, fd, bits, &running);
}

void Pool::Attach(Transfer& transfer, Connection* connection) {
  if (transfer.connection == connection) return;
  if (Connection* old = transfer.connection) {
    std::erase(old->active, &transfer);
    if (old->reader == &transfer) old->reader = nullptr;
    if (old->bulk == &transfer) old->bulk = nullptr;
  }
  transfer.connection = connection;
  if (connection != nullptr) connection->active.push_back(&transfer);
}

Connection* Pool::FindConnection(int local_port) {
  for (const std::unique_ptr<Connection>& connection : connections_) {
    if (connection->local_port == 0) {
      sockaddr_storage address{};
      socklen_t size = sizeof address;
      if (getsockname(connection->fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) continue;
      if (address.ss_family == AF_INET) connection->local_port = ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
      if (address.ss_family == AF_INET6) connection->local_port = ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
    }
    if (connection->local_port == local_port) return connection.get();
  }
  return nullptr;
}

int Pool::OnSocketChange(CURL* /*easy*/, curl_socket_t fd, int what, void* pool, void* /*unused*/) {
  auto* self = static_cast<Pool*>(pool);
  self->loop_.Watch(*self, fd, what);
  return 0;
}

int Pool::OnTimerChange(CURLM* /*multi*/, long milliseconds, void* pool) {
  auto* self = static_cast<Pool*>(pool);
  if (milliseconds < 0) {
    self->timer_.reset();
  } else {
    self->timer_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
  }
  return 0;
}

curl_socket_t Pool::OnOpen(void* pool, curlsocktype /*purpose*/, curl_sockaddr* address) {
  auto* self = static_cast<Pool*>(pool);
  const int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd < 0) return CURL_SOCKET_BAD;
  SetKeepAlive(fd, self->settings_->options);
  auto connection = std::make_unique<Connection>();
  connection->pool = self;
  connection->fd = fd;
  connection->last_read = std::chrono::steady_clock::now();
  self->loop_.Opened(*connection);
  self->connections_.push_back(std::move(connection));
  return fd;
}

int Pool::OnClose(void* pool, curl_socket_t fd) {
  auto* self = static_cast<Pool*>(pool);
  const auto found = std::find_if(self->connections_.begin(), self->connections_.end(),
                                  [&](const std::unique_ptr<Connection>& connection) { return connection->fd == fd; });
  if (found != self->connections_.end()) {
    const std::unique_ptr<Connection> connection = std::move(*found);
    self->connections_.erase(found);
    if (connection->http2) --self->http2_connections_;
    for (Transfer* transfer : std::vector<Transfer*>(connection->active)) {
      // libcurl closes before it tells how the request ended: keep the reason.
      if (connection->cause && transfer->call != nullptr) self->loop_.Remember(*transfer, *connection->cause);
      self->Attach(*transfer, nullptr);
    }
    for (Transfer* transfer : self->active_) {
      if (transfer->suspect == connection.get()) transfer->suspect = nullptr;
    }
    self->loop_.Closed(*connection);
  }
  return close(fd);
}

int Pool::OnReady(void* transfer, char* /*ip*/, char* /*local_ip*/, int /*port*/, int local_port) {
  auto& self = *static_cast<Transfer*>(transfer);
  Pool& pool = *self.pool;
  Connection* connection = pool.FindConnection(local_port);
  ++self.attempts;
  if (self.call == nullptr) {
    if (self.suspect == nullptr || connection != self.suspect || self.attempts > 1) return CURL_PREREQFUNC_ABORT;
  } else if (self.attempts > 1 && !Repeatable(self.call->request.method)) {
    // libcurl repeats what got no answer on a connection that was used before. What may have been done must not be done again; only a
    // server that refused the stream (HTTP/2, and no error was noted) has said that it did nothing.
    if (self.detail[0] != '\0' || !self.refusable) {
      self.not_repeatable = true;
      return CURL_PREREQFUNC_ABORT;
    }
  }
  pool.Attach(self, connection);
  if (connection == nullptr) return CURL_PREREQFUNC_OK;
  self.refusable = connection->http2 || !connection->used;
  if (connection->active.size() == 1) {
    connection->last_read = std::chrono::steady_clock::now();
    pool.loop_.WatchHealth(*connection);
  }
  connection->unflushed_since.reset();
  if (!connection->used) {
    connection->used = true;
    pool.loop_.Used(*connection);
  }
  return CURL_PREREQFUNC_OK;
}

void Pool::OnStatusLine(Transfer& transfer, std::string_view line) {
  Pool& pool = *transfer.pool;
  HttpResponse& response = transfer.call->response;
  response.headers = HttpHeaders();
  response.http_major = line.size() > 5 && line[5] == '2' ? 2 : 1;
  response.code = 0;
  if (const std::size_t blank = line.find(' '); blank != std::string_view::npos) {
    const std::string_view code = line.substr(blank + 1, 3);
    (void)std::from_chars(code.data(), code.data() + code.size(), response.code);
  }
  pool.loop_.SawVersion(response.http_major);
  if (transfer.connection != nullptr && response.http_major == 2 && !transfer.connection->http2) {
    transfer.connection->http2 = true;
    ++pool.http2_connections_;
    pool.loop_.WatchHealth(*transfer.connection);
  }
}

void Pool::OnHeadEnd(Transfer& transfer) {
  Call& call = *transfer.call;
  if (call.response.code / 100 == 1 && call.response.code != 101) return;  // the real answer follows
  transfer.head_done = true;
  if (transfer.body_set) transfer.pool->loop_.AnsweredEarly(transfer);
  if (!transfer.encoding->empty() && call.response.headers.Has("Content-Encoding") &&
      call.response.headers.Get("Content-Encoding") != "identity") {
    // As it is handed on, it is neither compressed nor that long.
    call.response.headers.Remove("Content-Encoding");
    call.response.headers.Remove("Content-Length");
  }
  if (call.request.streaming) IoLoop::PublishHead(call);
}

std::size_t Pool::OnHeader(char* data, std::size_t size, std::size_t count, void* transfer) {
  auto& self = *static_cast<Transfer*>(transfer);
  const std::size_t length = size * count;
  if (self.connection != nullptr) {
    ++self.connection->delivered;
    self.connection->reader = &self;
  }
  if (self.call == nullptr || self.head_done) return length;  // a probe, or a trailer
  self.header_bytes += length;
  if (self.header_bytes > self.pool->settings_->options.max_header_bytes) {
    self.header_too_large = true;
    return 0;
  }
  std::string_view line(data, length);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  if (line.empty()) {
    OnHeadEnd(self);
    return length;
  }
  if (line.size() > 5 && line.compare(0, 5, "HTTP/") == 0) {
    OnStatusLine(self, line);
    return length;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return length;
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  self.call->response.headers.Add(std::string(line.substr(0, colon)), std::string(value));
  return length;
}

std::size_t Pool::OnBody(char* data, std::size_t size, std::size_t count, void* transfer) {
  auto& self = *static_cast<Transfer*>(transfer);
  const std::size_t length = size * count;
  if (Connection* connection = self.connection) {
    ++connection->delivered;
    connection->reader = &self;
    const std::uint64_t round = self.pool->loop_.round();
    if (self.round != round) {
      self.round = round;
      self.round_bytes = 0;
    }
    self.round_bytes += length;
    if (self.round_bytes >= kBulk) connection->bulk = &self;
  }
  if (self.call == nullptr) return length;
  Call& call = *self.call;
  if (call.request.streaming) return OnStreamBody(self, data, length);
  std::string& body = call.response.body;
  if (length > self.pool->settings_->options.max_response - body.size()) {
    self.body_too_large = true;
    return 0;
  }
  if (body.empty()) {
    const std::string_view announced = call.response.headers.Get("Content-Length");
    std::size_t bytes = 0;
    const auto [end, error] = std::from_chars(announced.data(), announced.data() + announced.size(), bytes);
    (void)end;
    if (error == std::errc() && bytes > length) body.reserve(std::min({bytes, self.pool->settings_->options.max_response, kMostReserved}));
  }
  body.append(data, length);
  return length;
}

std::size_t Pool::OnStreamBody(Transfer& transfer, const char* data, std::size_t size) {
  Call& call = *transfer.call;
  bool wake = false;
  {
    MutexLock lock(call.mu);
    if (call.closed) return size;  // nobody wants it; it is about to be removed
    const std::size_t waiting = call.buffer.size() - call.used;
    if (waiting > 0 && waiting + size > transfer.pool->settings_->options.stream_buffer && !transfer.flushing) {
      call.paused = true;
      transfer.paused = true;
      transfer.pool->loop_.Paused(1);
      return CURL_WRITEFUNC_PAUSE;
    }
    if (call.used > 0 && call.used >= waiting) {
      call.buffer.erase(0, call.used);
      call.used = 0;
    }
    call.buffer.append(data, size);
    wake = call.reader_waits;
  }
  if (wake) call.changed.NotifyAll();
  return size;
}

}  // namespace kube::internal
