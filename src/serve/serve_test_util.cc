#include "serve/serve_test_util.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace kube::serve {

RawClient::RawClient(std::uint16_t port) {
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int yes = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
}

RawClient::~RawClient() { ::close(fd_); }

bool RawClient::Send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void RawClient::End() const { ::shutdown(fd_, SHUT_WR); }

int RawClient::Fill() {
  pollfd wait{fd_, POLLIN, 0};
  const int ready = ::poll(&wait, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count()));
  if (ready <= 0) return -1;
  std::string chunk(65536, '\0');
  const ssize_t got = ::recv(fd_, chunk.data(), chunk.size(), 0);
  if (got <= 0) return 0;
  buffer_.append(chunk, 0, static_cast<std::size_t>(got));
  return static_cast<int>(got);
}

std::string RawClient::ReadUntil(std::string_view end) {
  while (true) {
    if (const std::size_t found = buffer_.find(end); found != std::string::npos) {
      std::string text = buffer_.substr(0, found + end.size());
      buffer_.erase(0, found + end.size());
      return text;
    }
    if (Fill() <= 0) return std::exchange(buffer_, {});
  }
}

std::string RawClient::ReadExactly(std::size_t size) {
  while (buffer_.size() < size) {
    if (Fill() <= 0) return std::exchange(buffer_, {});
  }
  std::string text = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return text;
}

std::string RawClient::ReadAll() {
  while (true) {
    const int got = Fill();
    if (got == 0) return std::exchange(buffer_, {});
    if (got < 0) return std::exchange(buffer_, {}) + "[timeout]";
  }
}

namespace {

void GlobalInit() {
  static const CURLcode done = curl_global_init(CURL_GLOBAL_DEFAULT);
  (void)done;
}

curl_blob Blob(const std::string& text) {
  return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_COPY};  // curl's type is not const; it copies
}

struct Sink {
  CurlAnswer* answer = nullptr;
  const std::function<bool(std::string_view)>* on_data = nullptr;
};

std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* user) {
  const Sink& sink = *static_cast<Sink*>(user);
  const std::string_view text(data, size * count);
  sink.answer->body.append(text);
  if (*sink.on_data && !(*sink.on_data)(text)) return 0;
  return size * count;
}

std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* user) {
  const Sink& sink = *static_cast<Sink*>(user);
  std::string_view line(data, size * count);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  if (const std::size_t colon = line.find(": "); colon != std::string_view::npos) {
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    sink.answer->headers[name] = std::string(line.substr(colon + 2));
  }
  return size * count;
}

}  // namespace

struct CurlClient::Impl {
  CURL* curl = nullptr;
};

CurlClient::CurlClient() : impl_(std::make_unique<Impl>()) {
  GlobalInit();
  impl_->curl = curl_easy_init();
}

CurlClient::~CurlClient() { curl_easy_cleanup(impl_->curl); }

CurlAnswer CurlClient::Fetch(const CurlRequest& request) {
  CURL* curl = impl_->curl;
  curl_easy_reset(curl);
  CurlAnswer answer;
  Sink sink{&answer, &request.on_data};
  std::string error(CURL_ERROR_SIZE, '\0');
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(std::chrono::milliseconds(kPatience).count()));
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error.data());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &sink);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &sink);
  const bool tls = request.url.starts_with("https:");
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION,
                   !request.http2 ? CURL_HTTP_VERSION_1_1
                   : tls          ? CURL_HTTP_VERSION_2TLS
                                  : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
  // libcurl 7.88 cannot use a connection of HTTP/2 without TLS a second time: it says "framing layer" before it sends anything.
  if (request.http2 && !tls) curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
  if (request.method == "HEAD") {
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  } else if (request.method == "GET") {
    curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
  } else {
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.data());
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
  curl_slist* headers = nullptr;
  for (const std::string& header : request.headers) headers = curl_slist_append(headers, header.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  if (tls) {
    curl_blob ca = Blob(request.ca_pem);
    curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &ca);
    if (!request.certificate.certificate_pem.empty()) {
      curl_blob certificate = Blob(request.certificate.certificate_pem);
      curl_blob key = Blob(request.certificate.key_pem);
      curl_easy_setopt(curl, CURLOPT_SSLCERT_BLOB, &certificate);
      curl_easy_setopt(curl, CURLOPT_SSLKEY_BLOB, &key);
    }
  }
  answer.curl_code = static_cast<int>(curl_easy_perform(curl));
  answer.curl_error = error.c_str();
  long version = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer.status);
  curl_easy_getinfo(curl, CURLINFO_HTTP_VERSION, &version);
  curl_easy_getinfo(curl, CURLINFO_NUM_CONNECTS, &answer.connects);
  answer.http_version = version == CURL_HTTP_VERSION_2_0 ? 2 : 1;
  curl_slist_free_all(headers);
  return answer;
}

CurlAnswer Fetch(const CurlRequest& request) {
  CurlClient client;
  return client.Fetch(request);
}

struct CurlSwarm::Impl {
  struct One {
    CURL* curl = nullptr;
    std::string body;
    bool finished = false;
    long connects = 0;
  };
  CURLM* multi = nullptr;
  curl_slist* headers = nullptr;
  std::vector<std::unique_ptr<One>> all;
  int finished = 0;
};

CurlSwarm::CurlSwarm(const std::string& url, int count) : CurlSwarm(CurlRequest{.url = url, .ca_pem = Pki().ca_pem}, count) {}

CurlSwarm::CurlSwarm(const CurlRequest& request, int count) : impl_(std::make_unique<Impl>()) {
  GlobalInit();
  for (const std::string& header : request.headers) impl_->headers = curl_slist_append(impl_->headers, header.c_str());
  impl_->multi = curl_multi_init();
  curl_multi_setopt(impl_->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
  curl_multi_setopt(impl_->multi, CURLMOPT_MAX_HOST_CONNECTIONS, 1L);
  curl_multi_setopt(impl_->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, static_cast<long>(count + 10));
  for (int i = 0; i < count; ++i) {
    auto one = std::make_unique<Impl::One>();
    one->curl = curl_easy_init();
    curl_easy_setopt(one->curl, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(one->curl, CURLOPT_HTTPHEADER, impl_->headers);
    curl_easy_setopt(one->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(one->curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(one->curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(one->curl, CURLOPT_PIPEWAIT, 1L);
    curl_blob ca = Blob(request.ca_pem);
    curl_easy_setopt(one->curl, CURLOPT_CAINFO_BLOB, &ca);
    curl_easy_setopt(one->curl, CURLOPT_PRIVATE, one.get());
    curl_easy_setopt(one->curl, CURLOPT_WRITEDATA, &one->body);
    curl_easy_setopt(
        one->curl, CURLOPT_WRITEFUNCTION, +[](char* data, std::size_t size, std::size_t n, void* user) -> std::size_t {
          static_cast<std::string*>(user)->append(data, size * n);
          return size * n;
        });
    curl_multi_add_handle(impl_->multi, one->curl);
    impl_->all.push_back(std::move(one));
  }
}

CurlSwarm::~CurlSwarm() {
  for (const auto& one : impl_->all) {
    curl_multi_remove_handle(impl_->multi, one->curl);
    curl_easy_cleanup(one->curl);
  }
  curl_multi_cleanup(impl_->multi);
  curl_slist_free_all(impl_->headers);
}

bool CurlSwarm::RunUntil(const std::function<bool()>& done) {
  const auto until = std::chrono::steady_clock::now() + 3 * kPatience;
  while (!done()) {
    if (std::chrono::steady_clock::now() > until) return false;
    int running = 0;
    curl_multi_perform(impl_->multi, &running);
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(impl_->multi, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      Impl::One* one = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &one);
      one->finished = true;
      curl_easy_getinfo(message->easy_handle, CURLINFO_NUM_CONNECTS, &one->connects);
      ++impl_->finished;
    }
    curl_multi_poll(impl_->multi, nullptr, 0, 20, nullptr);
  }
  return true;
}

const std::string& CurlSwarm::body(int index) const { return impl_->all[static_cast<std::size_t>(index)]->body; }
int CurlSwarm::finished() const { return impl_->finished; }
long CurlSwarm::connections() const {
  long sum = 0;
  for (const auto& one : impl_->all) sum += one->connects;
  return sum;
}

HttpLimits Generous(const std::function<void(HttpLimits&)>& change) {
  HttpLimits limits = HttpLimits::ForApi();
  change(limits);
  return limits;
}

std::unique_ptr<HttpServer> StartServer(HttpServerOptions options, HttpServer::Handler handler) {
  if (options.limits == HttpLimits{}) options.limits = HttpLimits::ForApi();
  Result<std::unique_ptr<HttpServer>> server = HttpServer::Start(std::move(options), std::move(handler));
  return std::move(server).value();  // throws, and gtest reports it
}

const TestPki& Pki() {
  static const TestPki pki = [] {
    const CertificateAuthority ca = CertificateAuthority::Create("test CA").value();
    const CertificateAuthority other = CertificateAuthority::Create("another CA").value();
    TestPki made;
    made.ca_pem = ca.certificate_pem();
    made.server = ca.Issue({.common_name = "server", .dns_names = {"localhost"}, .addresses = {"127.0.0.1"}, .server = true}).value();
    made.client = ca.Issue({.common_name = "admin", .organizations = {"system:masters", "dev"}, .client = true}).value();
    made.wrong_client = other.Issue({.common_name = "admin", .organizations = {"system:masters"}, .client = true}).value();
    return made;
  }();
  return pki;
}

HttpTlsOptions TestTls(bool with_client_ca) {
  return {.certificate_pem = Pki().server.certificate_pem,
          .key_pem = Pki().server.key_pem,
          .client_ca_pem = with_client_ca ? Pki().ca_pem : ""};
}

std::string UrlOf(const HttpServer& server, std::string_view path, bool tls) {
  return fmt::format("{}://127.0.0.1:{}{}", tls ? "https" : "http", server.port(), path);
}

}  // namespace kube::serve
