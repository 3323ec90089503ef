#include "transport/io/pool.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "transport/curl/curl_wire.h"
#include "transport/io/io_loop.h"
#include "transport/request/body.h"

namespace kube::internal {
namespace {

constexpr long kReceiveBuffer = 64 * 1024;
constexpr std::size_t kIdleHandles = 256;

bool SameName(std::string_view a, std::string_view b) { return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0; }

// Headers that only libcurl writes.
bool OwnHeader(std::string_view name) { return SameName(name, "Content-Length") || SameName(name, "Transfer-Encoding"); }

Error NoHandle() { return Error::Internal("libcurl takes no request: memory may be short"); }

}  // namespace

Pool::Pool(IoLoop& loop, std::shared_ptr<const Settings> settings, std::shared_ptr<const TlsMaterial> material)
    : loop_(loop),
      settings_(std::move(settings)),
      material_(std::move(material)),
      http1_only_(!settings_->endpoint.tls || settings_->options.disable_http2) {}

Pool::~Pool() {
  AbandonOpening();
  idle_.clear();
  if (multi_ != nullptr) Curl().multi_cleanup(multi_);
}

Result<void> Pool::NeedCurl() {
  if (multi_ != nullptr) return {};
  if (Result<void> loaded = LoadCurl(); !loaded) return loaded;
  multi_ = Curl().multi_init();
  if (multi_ == nullptr) return NoHandle();
  Curl().multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 256L);
  Curl().multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &Pool::OnSocketChange);
  Curl().multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  Curl().multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &Pool::OnTimerChange);
  Curl().multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  return {};
}

Result<void> Pool::NeedContext() {
  if (context_ != nullptr || !settings_->uses_tls()) return {};
  Failure failure;
  context_ = MakeSslContext(material_.get(), failure);
  if (context_ == nullptr) return ToError(*settings_, failure);
  return {};
}

void Pool::ChoseHttp1() {
  http1_ = true;
  offer_http2_at_ = std::chrono::steady_clock::now() + settings_->options.http2_retry;
}

Result<std::unique_ptr<Transfer>> Pool::NewTransfer() {
  auto transfer = std::make_unique<Transfer>();
  transfer->pool = this;
  transfer->easy.reset(Curl().easy_init());
  if (transfer->easy == nullptr) return NoHandle();
  CURL* easy = transfer->easy.get();
  if (Result<void> set = SetConnectionOptions(easy, *settings_, material_.get(), context_.get(), transfer->connect_to); !set) {
    return set.error();
  }
  Curl().easy_setopt(easy, CURLOPT_PRIVATE, transfer.get());
  Curl().easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->detail);
  Curl().easy_setopt(easy, CURLOPT_BUFFERSIZE, kReceiveBuffer);
  Curl().easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Pool::OnHeader);
  Curl().easy_setopt(easy, CURLOPT_HEADERDATA, transfer.get());
  Curl().easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Pool::OnBody);
  Curl().easy_setopt(easy, CURLOPT_WRITEDATA, transfer.get());
  Curl().easy_setopt(easy, CURLOPT_PREREQFUNCTION, &Pool::OnReady);
  Curl().easy_setopt(easy, CURLOPT_PREREQDATA, transfer.get());
  SetSocketOptions(easy);
  return transfer;
}

void Pool::SetSocketOptions(CURL* easy) {
  Curl().easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, &Pool::OnOpen);
  Curl().easy_setopt(easy, CURLOPT_OPENSOCKETDATA, this);
  Curl().easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, &Pool::OnClose);
  Curl().easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, this);
}

Result<std::unique_ptr<Transfer>> Pool::TakeTransfer() {
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
      Curl().easy_setopt(easy, CURLOPT_POST, 1L);
    } else if (method == "HEAD") {
      Curl().easy_setopt(easy, CURLOPT_NOBODY, 1L);
    } else {
      Curl().easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    }
    const bool usual = with_body ? method == "POST" : method == "GET" || method == "HEAD";
    Curl().easy_setopt(easy, CURLOPT_CUSTOMREQUEST, usual ? nullptr : method.c_str());
    transfer.method = method;
    transfer.body_set = with_body;
  }
  if (with_body) {
    Curl().easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
    Curl().easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
}

void Pool::SetHeaders(Transfer& transfer, const HttpRequest& request) {
  const HttpHeaders& wanted = request.headers;
  const bool with_body = transfer.body_set;
  if (transfer.headers != nullptr && transfer.headers_with_body == with_body && wanted.size() == transfer.headers_of.size() &&
      std::equal(wanted.begin(), wanted.end(), transfer.headers_of.begin())) {
    return;
  }
  Slist list;
  bool accept = false;
  bool content_type = false;
  bool host = false;
  for (const auto& [name, value] : wanted) {
    if (OwnHeader(name)) continue;
    accept = accept || SameName(name, "Accept");
    content_type = content_type || SameName(name, "Content-Type");
    host = host || SameName(name, "Host");
    (void)Append(list, value.empty() ? name + ";" : fmt::format("{}: {}", name, value));
  }
  // What libcurl would add by itself.
  if (!accept) (void)Append(list, "Accept:");
  if (with_body && !content_type) (void)Append(list, "Content-Type:");
  if (with_body) (void)Append(list, "Expect:");
  if (!host && transfer.connect_to != nullptr) (void)Append(list, "Host: " + settings_->authority);
  Curl().easy_setopt(transfer.easy.get(), CURLOPT_HTTPHEADER, list.get());
  transfer.headers = std::move(list);
  transfer.headers_of = wanted;
  transfer.headers_with_body = with_body;
}

void Pool::SetTarget(Transfer& transfer, const HttpRequest& request) {
  std::string& target = transfer.target;
  target.clear();
  if (settings_->absolute_target()) target.append("http://").append(settings_->authority);
  target.append(settings_->endpoint.path).append(request.target);
  Curl().easy_setopt(transfer.easy.get(), CURLOPT_REQUEST_TARGET, target.c_str());
}

void Pool::Prepare(Transfer& transfer, const HttpRequest& request) {
  CURL* easy = transfer.easy.get();
  SetMethod(transfer, request);
  SetHeaders(transfer, request);
  SetTarget(transfer, request);
  // A caller that sets an encoding gets the body as it is, as in Go.
  const std::string encoding = AsksForGzip(*settings_, request) ? "gzip" : "";
  if (transfer.encoding != encoding) {
    Curl().easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, encoding.empty() ? nullptr : encoding.c_str());
    transfer.encoding = encoding;
  }
  transfer.detail[0] = '\0';
  transfer.attempts = 0;
  transfer.header_bytes = 0;
  transfer.head_done = transfer.paused = transfer.flushing = transfer.header_too_large = transfer.body_too_large = false;
  transfer.not_repeatable = false;
}

Result<void> Pool::Start(std::shared_ptr<Call> call) {
  if (Result<void> ready = NeedCurl(); !ready) return ready;
  if (Result<void> ready = NeedContext(); !ready) return ready;
  Result<std::unique_ptr<Transfer>> taken = TakeTransfer();
  if (!taken) return taken.error();
  std::unique_ptr<Transfer> transfer = *std::move(taken);
  Prepare(*transfer, call->request);
  if (Curl().multi_add_handle(multi_, transfer->easy.get()) != CURLM_OK) return NoHandle();
  transfer->call = std::move(call);
  transfer->call->transfer = transfer.get();
  transfer->slot = active_.size();
  active_.push_back(transfer.release());
  return {};
}

void Pool::Remove(Transfer& transfer) {
  Curl().multi_remove_handle(multi_, transfer.easy.get());
  Attach(transfer, nullptr);
  transfer.call->transfer = nullptr;
  transfer.call = nullptr;
  std::unique_ptr<Transfer> owned(active_[transfer.slot]);
  active_[transfer.slot] = active_.back();
  active_[transfer.slot]->slot = transfer.slot;
  active_.pop_back();
  if (idle_.size() < kIdleHandles) idle_.push_back(std::move(owned));
}

// ---- HTTP/2 ----

Result<void> Pool::Open(TimePoint now) {
  offer_http2_at_ = now + settings_->options.http2_retry;
  if (Result<void> ready = NeedContext(); !ready) return ready;
  if (settings_->proxy) return OpenByProxy(now);
  dial_ = std::make_unique<Dial>(settings_, material_.get(), context_.get(), now);
  loop_.WatchDial(*this, dial_->fd());
  return {};
}

Link* Pool::FinishDial(CallOwner& owner) {
  Descriptor socket = dial_->TakeSocket();
  Ssl ssl = dial_->TakeSsl();
  DropDial();
  const unsigned char* protocol = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(ssl.get(), &protocol, &size);
  if (std::string_view(reinterpret_cast<const char*>(protocol), size) != "h2") {
    ChoseHttp1();
    return nullptr;
  }
  http1_ = false;
  auto connection = std::make_unique<Connection>();
  connection->pool = this;
  connection->fd = socket.release();
  loop_.Opened(*connection);
  connections_.push_back(std::move(connection));
  auto wire = std::make_unique<TlsWire>(*settings_, std::move(ssl));
  links_.push_back(std::make_unique<Link>(*this, *settings_, owner, connections_.back()->fd, std::move(wire), nullptr));
  return links_.back().get();
}

void Pool::DropDial() {
  loop_.Forget(dial_->fd());
  dial_.reset();
}

Result<void> Pool::OpenByProxy(TimePoint now) {
  if (Result<void> ready = NeedCurl(); !ready) return ready;
  auto opening = std::make_unique<Opening>();
  opening->pool = this;
  opening->since = now;
  opening->easy.reset(Curl().easy_init());
  CURL* easy = opening->easy.get();
  if (easy == nullptr) return NoHandle();
  if (Result<void> set = SetConnectionOptions(easy, *settings_, material_.get(), context_.get(), opening->connect_to); !set) return set;
  SetSocketOptions(easy);
  Curl().easy_setopt(easy, CURLOPT_ERRORBUFFER, opening->detail);
  Curl().easy_setopt(easy, CURLOPT_CONNECT_ONLY, 1L);
  Curl().easy_setopt(easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
  // What is offered to the server is said here: libcurl would speak HTTP/2 itself.
  Curl().easy_setopt(easy, CURLOPT_SSL_ENABLE_ALPN, 0L);
  Curl().easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, &Pool::OnTlsContext);
  Curl().easy_setopt(easy, CURLOPT_SSL_CTX_DATA, opening.get());
  Curl().easy_setopt(easy, CURLOPT_PREREQFUNCTION, &Pool::OnConnected);
  Curl().easy_setopt(easy, CURLOPT_PREREQDATA, opening.get());
  if (Curl().multi_add_handle(multi_, easy) != CURLM_OK) return NoHandle();
  opening_ = std::move(opening);
  return {};
}

CURLcode Pool::OnTlsContext(CURL* /*easy*/, void* context, void* opening) {
  auto& self = *static_cast<Opening*>(opening);
  if (!ApplyTlsRules(self.pool->context_.get(), static_cast<SSL_CTX*>(context))) return CURLE_OUT_OF_MEMORY;
  const std::optional<Proxy>& proxy = self.pool->settings_->proxy;
  if (proxy && proxy->kind == Proxy::Kind::kHttps && !std::exchange(self.proxy_done, true)) return CURLE_OK;
  // What waits to be written moves as it grows; libcurl before version 8 does not allow that by itself.
  SSL_CTX_set_mode(static_cast<SSL_CTX*>(context), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  constexpr std::string_view kOffer = "\x02h2\x08http/1.1";
  const int failed = SSL_CTX_set_alpn_protos(static_cast<SSL_CTX*>(context), reinterpret_cast<const unsigned char*>(kOffer.data()),
                                             static_cast<unsigned>(kOffer.size()));
  return failed == 0 ? CURLE_OK : CURLE_OUT_OF_MEMORY;
}

int Pool::OnConnected(void* opening, char* /*ip*/, char* /*local_ip*/, int /*port*/, int /*local_port*/) {
  auto& self = *static_cast<Opening*>(opening);
  const curl_tlssessioninfo* tls = nullptr;
  Curl().easy_getinfo(self.easy.get(), CURLINFO_TLS_SSL_PTR, &tls);
  if (tls != nullptr && tls->backend == CURLSSLBACKEND_OPENSSL) self.ssl = static_cast<SSL*>(tls->internals);
  return CURL_PREREQFUNC_OK;
}

Link* Pool::FinishOpening(CallOwner& owner) {
  if (dial_ != nullptr) return FinishDial(owner);
  const unsigned char* protocol = nullptr;
  unsigned size = 0;
  if (opening_->ssl != nullptr) SSL_get0_alpn_selected(opening_->ssl, &protocol, &size);
  curl_socket_t fd = CURL_SOCKET_BAD;
  Curl().easy_getinfo(opening_->easy.get(), CURLINFO_ACTIVESOCKET, &fd);
  const std::string_view chosen(reinterpret_cast<const char*>(protocol), size);
  if (chosen != "h2" || fd == CURL_SOCKET_BAD) {
    ChoseHttp1();
    AbandonOpening();
    return nullptr;
  }
  http1_ = false;
  auto wire = std::make_unique<CurlWire>(*settings_, opening_->easy.get());
  links_.push_back(std::make_unique<Link>(*this, *settings_, owner, fd, std::move(wire), std::move(opening_)));
  return links_.back().get();
}

void Pool::AbandonOpening() {
  if (dial_ != nullptr) DropDial();
  if (opening_ == nullptr) return;
  Curl().multi_remove_handle(multi_, opening_->easy.get());
  opening_.reset();
}

void Pool::CloseLink(Link& link) {
  const bool mine = link.opening == nullptr;
  const int fd = link.fd;
  if (!mine) Curl().multi_remove_handle(multi_, link.opening->easy.get());
  std::erase_if(links_, [&](const std::unique_ptr<Link>& one) { return one.get() == &link; });
  if (mine) (void)OnClose(this, fd);
}

Link* Pool::FreeLink() const {
  for (const std::unique_ptr<Link>& link : links_) {
    if (link->session.free_streams() > 0) return link.get();
  }
  return nullptr;
}

bool Pool::HasUsableLink() const {
  return std::any_of(links_.begin(), links_.end(), [](const std::unique_ptr<Link>& link) { return !link->session.retired(); });
}

bool Pool::busy() const {
  return !active_.empty() ||
         std::any_of(links_.begin(), links_.end(), [](const std::unique_ptr<Link>& link) { return !link->session.active().empty(); });
}

// ---- libcurl's callbacks ----

bool Pool::RunTimer() {
  if (!timer_ || *timer_ > std::chrono::steady_clock::now()) return false;
  timer_.reset();
  int running = 0;
  Curl().multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
  return timer_ && *timer_ <= std::chrono::steady_clock::now();
}

void Pool::OnSocket(int fd, int bits) {
  int running = 0;
  Curl().multi_socket_action(multi_, fd, bits, &running);
}

void Pool::Attach(Transfer& transfer, Connection* connection) {
  if (transfer.connection == connection) return;
  if (Connection* old = transfer.connection) {
    std::erase(old->active, &transfer);
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
    for (Transfer* transfer : std::vector<Transfer*>(connection->active)) {
      // libcurl closes before it reports how the request ended: keep the reason.
      if (connection->cause) self->loop_.Remember(*transfer, *connection->cause);
      self->Attach(*transfer, nullptr);
    }
    self->loop_.Closed(*connection);
  }
  return close(fd);
}

int Pool::OnReady(void* transfer, char* /*ip*/, char* /*local_ip*/, int /*port*/, int local_port) {
  auto& self = *static_cast<Transfer*>(transfer);
  Pool& pool = *self.pool;
  Connection* connection = pool.FindConnection(local_port);
  // libcurl repeats what got no answer on a connection that was used before. What may have been done must not be done again.
  if (++self.attempts > 1 && !Repeatable(self.call->request.method)) {
    self.not_repeatable = true;
    return CURL_PREREQFUNC_ABORT;
  }
  pool.Attach(self, connection);
  if (connection != nullptr && !connection->used) {
    connection->used = true;
    pool.loop_.Used();
  }
  return CURL_PREREQFUNC_OK;
}

void Pool::OnStatusLine(Transfer& transfer, std::string_view line) {
  HttpResponse& response = transfer.call->response;
  response.headers = HttpHeaders();
  response.http_major = line.size() > 5 && line[5] == '2' ? 2 : 1;
  response.code = 0;
  if (const std::size_t blank = line.find(' '); blank != std::string_view::npos) {
    const std::string_view code = line.substr(blank + 1, 3);
    (void)std::from_chars(code.data(), code.data() + code.size(), response.code);
  }
}

void Pool::OnHeadEnd(Transfer& transfer) {
  Call& call = *transfer.call;
  if (call.response.code / 100 == 1 && call.response.code != 101) return;  // the real answer follows
  transfer.head_done = true;
  if (!transfer.encoding->empty() && call.response.headers.Has("Content-Encoding") &&
      call.response.headers.Get("Content-Encoding") != "identity") {
    // As it is handed on, it is neither compressed nor that long.
    call.response.headers.Remove("Content-Encoding");
    call.response.headers.Remove("Content-Length");
  }
  if (call.request.streaming) transfer.pool->loop_.HeadCame(call);
}

std::size_t Pool::OnHeader(char* data, std::size_t size, std::size_t count, void* transfer) {
  auto& self = *static_cast<Transfer*>(transfer);
  const std::size_t length = size * count;
  if (self.head_done) return length;  // a trailer
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
  Call& call = *self.call;
  if (call.request.streaming) return OnStreamBody(self, data, length);
  if (call.response.body.empty()) ReserveBody(*self.pool->settings_, call);
  if (AppendBody(*self.pool->settings_, call, {data, length})) return length;
  self.body_too_large = true;
  return 0;
}

std::size_t Pool::OnStreamBody(Transfer& transfer, const char* data, std::size_t size) {
  Call& call = *transfer.call;
  {
    MutexLock lock(call.mu);
    const std::size_t waiting = call.buffer.size() - call.used;
    if (!call.closed && waiting > 0 && waiting + size > transfer.pool->settings_->options.stream_buffer && !transfer.flushing) {
      call.paused = true;
      transfer.paused = true;
      transfer.pool->loop_.PausedChanged(1);
      return CURL_WRITEFUNC_PAUSE;
    }
  }
  call.Deliver({data, size});
  return size;
}

}  // namespace kube::internal
