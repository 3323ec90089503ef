// Clients for the tests of this room: libcurl for what a real client does, bare sockets for what none should do.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/wait_test_util.h"
#include "kube/base/mutex.h"
#include "kube/serve/certificate.h"
#include "kube/serve/http_server.h"

namespace kube::serve {

using kube::internal::Eventually;
using kube::internal::Handover;

constexpr std::chrono::seconds kPatience{60};

// A TCP connection to a port of this machine. Functions that wait give up after kPatience.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port);
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient();

  bool connected() const { return connected_; }
  bool Send(std::string_view bytes) const;
  // Sends no more.
  void End() const;
  // Everything up to and including `end`; shorter where the server closed before.
  std::string ReadUntil(std::string_view end);
  std::string ReadExactly(std::size_t size);
  // Everything until the server closes. "[timeout]" at the end where it does not.
  std::string ReadAll();
  int fd() const { return fd_; }

 private:
  // 0 at the end, -1 after kPatience.
  int Fill();
  int fd_ = -1;
  bool connected_ = false;
  std::string buffer_;
};

struct CurlRequest {
  std::string url;
  std::string method = "GET";
  std::string body;
  std::vector<std::string> headers;
  bool http2 = false;
  std::string ca_pem;                             // for https
  KeyPair certificate;                            // of the client
  std::function<bool(std::string_view)> on_data;  // false: leave in the middle
};

struct CurlAnswer {
  int curl_code = 0;  // CURLcode
  std::string curl_error;
  long status = 0;
  long http_version = 0;  // 1 or 2
  std::map<std::string, std::string> headers;
  std::string body;
  long connects = 0;  // connections that had to be made for it
};

// One curl handle: requests one after the other over one connection, as long as that lives.
class CurlClient {
 public:
  CurlClient();
  CurlClient(const CurlClient&) = delete;
  CurlClient& operator=(const CurlClient&) = delete;
  ~CurlClient();
  CurlAnswer Fetch(const CurlRequest& request);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

CurlAnswer Fetch(const CurlRequest& request);

// Many streams over one connection of HTTP/2 with TLS (curl multi); `url` is fetched `count` times at once.
class CurlSwarm {
 public:
  CurlSwarm(const std::string& url, int count);
  // The URL, the headers and the CA of `request`, which is fetched `count` times.
  CurlSwarm(const CurlRequest& request, int count);
  CurlSwarm(const CurlSwarm&) = delete;
  CurlSwarm& operator=(const CurlSwarm&) = delete;
  ~CurlSwarm();
  // Runs until `done` says so; false after kPatience.
  bool RunUntil(const std::function<bool()>& done);
  const std::string& body(int index) const;
  int finished() const;
  long connections() const;  // that were made

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// HttpLimits::ForApi() with a change.
HttpLimits Generous(const std::function<void(HttpLimits&)>& change);

// A server that has to start; the test ends where it does not. Limits that nobody set are those of ForApi().
std::unique_ptr<HttpServer> StartServer(HttpServerOptions options, HttpServer::Handler handler);

// A CA with a certificate for 127.0.0.1; made once.
struct TestPki {
  std::string ca_pem;
  KeyPair server;
  KeyPair client;        // admin in system:masters
  KeyPair wrong_client;  // of another CA
};
const TestPki& Pki();
HttpTlsOptions TestTls(bool with_client_ca);

std::string UrlOf(const HttpServer& server, std::string_view path, bool tls = false);

}  // namespace kube::serve
