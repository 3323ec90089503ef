#include "testing/http.h"

#include <curl/curl.h>
#include <poll.h>

#include <algorithm>
#include <cctype>

#include "transport/curl/libcurl.h"

namespace kube::testing::internal {
namespace {

using kube::internal::Curl;
using kube::internal::LoadCurl;
using TimePoint = std::chrono::steady_clock::time_point;

struct HeaderList {
  curl_slist* list = nullptr;
  void Add(const std::string& line) { list = Curl().slist_append(list, line.c_str()); }
  HeaderList() = default;
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  ~HeaderList() {
    if (list != nullptr) Curl().slist_free_all(list);
  }
};

std::size_t AppendTo(char* data, std::size_t size, std::size_t count, void* out) {
  static_cast<std::string*>(out)->append(data, size * count);
  return size * count;
}

std::size_t AddHeader(char* data, std::size_t size, std::size_t count, void* out) {
  auto* answer = static_cast<HttpAnswer*>(out);
  std::string_view line(data, size * count);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  if (line.compare(0, 5, "HTTP/") == 0) {
    answer->headers.clear();  // the one after a 100 Continue counts
    answer->status = 0;
    if (std::size_t space = line.find(' '); space != std::string_view::npos)
      answer->status = std::atoi(std::string(line.substr(space + 1, 3)).c_str());
    answer->http_major = line.size() > 5 && line[5] == '2' ? 2 : 1;
    return size * count;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size * count;
  std::string name(line.substr(0, colon));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
  answer->headers.emplace_back(std::move(name), std::string(value));
  return size * count;
}

void SetBlob(CURL* handle, CURLoption option, const std::string& pem) {
  if (pem.empty()) return;
  curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_NOCOPY};
  Curl().easy_setopt(handle, option, &blob);
}

// Everything except the destination of the answer.
void Prepare(CURL* handle, const HttpIdentity& identity, const HttpCall& call, HeaderList& headers) {
  Curl().easy_setopt(handle, CURLOPT_URL, call.url.c_str());
  Curl().easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
  Curl().easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  Curl().easy_setopt(handle, CURLOPT_PROXY, "");
  Curl().easy_setopt(handle, CURLOPT_HTTP_VERSION, call.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1);
  Curl().easy_setopt(handle, CURLOPT_CUSTOMREQUEST, call.method.c_str());
  if (call.method == "HEAD") Curl().easy_setopt(handle, CURLOPT_NOBODY, 1L);
  const bool has_body = !call.body.empty() || call.method == "POST" || call.method == "PUT" || call.method == "PATCH";
  if (has_body) {
    Curl().easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body.size()));
    Curl().easy_setopt(handle, CURLOPT_POSTFIELDS, call.body.data());
  }
  SetBlob(handle, CURLOPT_CAINFO_BLOB, identity.ca_pem);
  SetBlob(handle, CURLOPT_SSLCERT_BLOB, identity.certificate_pem);
  SetBlob(handle, CURLOPT_SSLKEY_BLOB, identity.key_pem);
  Curl().easy_setopt(handle, CURLOPT_SSLCERTTYPE, "PEM");
  Curl().easy_setopt(handle, CURLOPT_SSLKEYTYPE, "PEM");
  bool content_type = false;
  for (const auto& [name, value] : call.headers) {
    headers.Add(value.empty() ? name + ":" : name + ": " + value);
    content_type = content_type || name == "Content-Type";
  }
  if (!content_type) headers.Add("Content-Type:");
  headers.Add("Expect:");
  if (!identity.token.empty()) headers.Add("Authorization: Bearer " + identity.token);
  Curl().easy_setopt(handle, CURLOPT_HTTPHEADER, headers.list);
}

Error TransportError(CURLcode code, const HttpCall& call, const char* detail) {
  if (code == CURLE_FAILED_INIT) return Error::Internal("libcurl cannot be loaded");
  std::string message = call.method + " " + call.url + ": " + (detail != nullptr && *detail != '\0' ? detail : Curl().easy_strerror(code));
  return Error(code == CURLE_OPERATION_TIMEDOUT ? ErrorKind::kTimeout : ErrorKind::kTransport, std::move(message));
}

long MillisecondsUntil(TimePoint until) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
  return static_cast<long>(std::max<std::chrono::milliseconds::rep>(left, 0));
}

}  // namespace

std::string HttpAnswer::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return "";
}

std::vector<std::string> HttpAnswer::Headers(std::string_view name) const {
  std::vector<std::string> found;
  for (const auto& [key, value] : headers) {
    if (key == name) found.push_back(value);
  }
  return found;
}

HttpCaller::HttpCaller(HttpIdentity identity) : identity_(std::move(identity)), handle_(LoadCurl() ? Curl().easy_init() : nullptr) {}

HttpCaller::~HttpCaller() {
  if (handle_ != nullptr) Curl().easy_cleanup(handle_);
}

Result<HttpAnswer> HttpCaller::Do(const HttpCall& call) {
  if (handle_ == nullptr) return Error::Internal("libcurl cannot be loaded, or gives no handle");
  Curl().easy_reset(handle_);
  HeaderList headers;
  Prepare(handle_, identity_, call, headers);
  HttpAnswer answer;
  char detail[CURL_ERROR_SIZE] = "";
  Curl().easy_setopt(handle_, CURLOPT_ERRORBUFFER, detail);
  Curl().easy_setopt(handle_, CURLOPT_TIMEOUT_MS, static_cast<long>(call.timeout.count()));
  Curl().easy_setopt(handle_, CURLOPT_WRITEFUNCTION, AppendTo);
  Curl().easy_setopt(handle_, CURLOPT_WRITEDATA, &answer.body);
  Curl().easy_setopt(handle_, CURLOPT_HEADERFUNCTION, AddHeader);
  Curl().easy_setopt(handle_, CURLOPT_HEADERDATA, &answer);
  const CURLcode code = Curl().easy_perform(handle_);
  // A server that refuses a large body may answer and hang up before it has read all of it: the answer counts.
  const bool answered_early = answer.status >= 400 && (code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR || code == CURLE_HTTP2_STREAM);
  if (code != CURLE_OK && !answered_early) return TransportError(code, call, detail);
  return answer;
}

Result<std::string> HttpCaller::Raw(const HttpCall& where, std::string_view bytes, std::size_t most) {
  if (handle_ == nullptr) return Error::Internal("libcurl cannot be loaded, or gives no handle");
  Curl().easy_reset(handle_);
  HeaderList headers;
  Prepare(handle_, identity_, where, headers);
  char detail[CURL_ERROR_SIZE] = "";
  Curl().easy_setopt(handle_, CURLOPT_ERRORBUFFER, detail);
  Curl().easy_setopt(handle_, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  Curl().easy_setopt(handle_, CURLOPT_SSL_ENABLE_ALPN, 0L);
  Curl().easy_setopt(handle_, CURLOPT_FRESH_CONNECT, 1L);
  Curl().easy_setopt(handle_, CURLOPT_CONNECT_ONLY, 1L);
  Curl().easy_setopt(handle_, CURLOPT_TIMEOUT_MS, 60'000L);  // a starved machine takes its time for a handshake
  if (CURLcode code = Curl().easy_perform(handle_); code != CURLE_OK) return TransportError(code, where, detail);
  const TimePoint until = std::chrono::steady_clock::now() + where.timeout;
  curl_socket_t socket = CURL_SOCKET_BAD;
  Curl().easy_getinfo(handle_, CURLINFO_ACTIVESOCKET, &socket);
  const auto wait = [&](short events) {
    pollfd one{socket, events, 0};
    return poll(&one, 1, static_cast<int>(MillisecondsUntil(until))) > 0;
  };
  while (!bytes.empty()) {
    std::size_t sent = 0;
    const CURLcode code = Curl().easy_send(handle_, bytes.data(), bytes.size(), &sent);
    bytes.remove_prefix(sent);
    if (code == CURLE_AGAIN && wait(POLLOUT)) continue;
    if (code != CURLE_OK) break;  // it may have answered all the same
  }
  std::string out;
  char buffer[16384];
  while (out.size() < most) {
    std::size_t got = 0;
    const CURLcode code = Curl().easy_recv(handle_, buffer, sizeof buffer, &got);
    if (code == CURLE_AGAIN) {
      if (wait(POLLIN)) continue;
      break;
    }
    if (code != CURLE_OK || got == 0) break;
    out.append(buffer, got);
  }
  // The connection cannot be reused.
  Curl().easy_cleanup(handle_);
  handle_ = Curl().easy_init();
  return out;
}

struct HttpStream::State {
  HttpIdentity identity;
  HttpCall call;
  HeaderList headers;
  CURL* easy = nullptr;
  CURLM* multi = nullptr;
  HttpAnswer head;
  bool head_done = false;
  bool done = false;
  CURLcode result = CURLE_OK;
  std::string buffer;

  static std::size_t Body(char* data, std::size_t size, std::size_t count, void* self) {
    auto* state = static_cast<State*>(self);
    state->head_done = true;
    state->buffer.append(data, size * count);
    return size * count;
  }
  static std::size_t Header(char* data, std::size_t size, std::size_t count, void* self) {
    auto* state = static_cast<State*>(self);
    const std::string_view line(data, size * count);
    if (line == "\r\n" || line == "\n") {
      state->head_done = state->head.status >= 200;
      return size * count;
    }
    return AddHeader(data, size, count, &state->head);
  }
};

HttpStream::HttpStream(HttpIdentity identity, HttpCall call) : state_(std::make_unique<State>()) {
  State& s = *state_;
  s.identity = std::move(identity);
  s.call = std::move(call);
  if (!LoadCurl()) {
    s.done = true;
    s.result = CURLE_FAILED_INIT;
    return;
  }
  s.easy = Curl().easy_init();
  s.multi = Curl().multi_init();
  Prepare(s.easy, s.identity, s.call, s.headers);
  Curl().easy_setopt(s.easy, CURLOPT_WRITEFUNCTION, State::Body);
  Curl().easy_setopt(s.easy, CURLOPT_WRITEDATA, &s);
  Curl().easy_setopt(s.easy, CURLOPT_HEADERFUNCTION, State::Header);
  Curl().easy_setopt(s.easy, CURLOPT_HEADERDATA, &s);
  Curl().multi_add_handle(s.multi, s.easy);
}

HttpStream::~HttpStream() {
  if (state_->easy == nullptr) return;
  Curl().multi_remove_handle(state_->multi, state_->easy);
  Curl().easy_cleanup(state_->easy);
  Curl().multi_cleanup(state_->multi);
}

Result<void> HttpStream::Pump(TimePoint until) {
  State& s = *state_;
  int running = 0;
  Curl().multi_perform(s.multi, &running);
  int left = 0;
  while (CURLMsg* message = Curl().multi_info_read(s.multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    s.done = true;
    s.result = message->data.result;
  }
  if (s.done) return {};
  if (std::chrono::steady_clock::now() >= until) return Error::Timeout("nothing more from " + s.call.url);
  Curl().multi_poll(s.multi, nullptr, 0, static_cast<int>(std::max(1L, std::min(MillisecondsUntil(until), 1000L))), nullptr);
  return {};
}

Result<HttpAnswer> HttpStream::Head(TimePoint until) {
  State& s = *state_;
  while (!s.head_done) {
    if (s.done) return TransportError(s.result, s.call, nullptr);
    if (auto r = Pump(until); !r) return r.error();
  }
  return s.head;
}

Result<std::optional<std::string>> HttpStream::NextLine(TimePoint until) {
  State& s = *state_;
  while (true) {
    if (std::size_t end = s.buffer.find('\n'); end != std::string::npos) {
      std::string line = s.buffer.substr(0, end);
      s.buffer.erase(0, end + 1);
      return std::optional<std::string>(std::move(line));
    }
    if (s.done) {
      if (s.result != CURLE_OK) return TransportError(s.result, s.call, nullptr);
      if (s.buffer.empty()) return std::optional<std::string>();
      return std::optional<std::string>(std::exchange(s.buffer, {}));
    }
    if (auto r = Pump(until); !r) return r.error();
  }
}

Result<std::optional<std::string>> HttpStream::NextBytes(std::size_t count, TimePoint until) {
  State& s = *state_;
  while (s.buffer.size() < count) {
    if (s.done) {
      if (s.result != CURLE_OK) return TransportError(s.result, s.call, nullptr);
      return std::optional<std::string>();
    }
    if (auto r = Pump(until); !r) return r.error();
  }
  std::string bytes = s.buffer.substr(0, count);
  s.buffer.erase(0, count);
  return std::optional<std::string>(std::move(bytes));
}

}  // namespace kube::testing::internal
