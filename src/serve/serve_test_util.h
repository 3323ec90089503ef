// Clients for the tests of this room: libcurl for normal requests, raw sockets for malformed ones.
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

// A TCP connection to a local port. Functions that wait time out after kPatience.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port);
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient();

  bool connected() const { return connected_; }
  bool Send(std::string_view bytes) const;
  // Shuts down the sending direction.
  void End() const;
  // Reads up to and including `end`; less if the server closes before.
  std::string ReadUntil(std::string_view end);
  std::string ReadExactly(std::size_t size);
  // Reads until the server closes. Ends with "[timeout]" if it does not.
  std::string ReadAll();
  int fd() const { return fd_; }

 private:
  // Returns 0 at the end, -1 after kPatience.
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
  std::function<bool(std::string_view)> on_data;  // return false to disconnect in the middle
};

struct CurlAnswer {
  int curl_code = 0;  // CURLcode
  std::string curl_error;
  long status = 0;
  long http_version = 0;  // 1 or 2
  std::map<std::string, std::string> headers;
  std::string body;
  long connects = 0;  // connections opened for it
};

// One curl handle: sequential requests over one connection while that lives.
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

// Fetches one URL `count` times at once: many streams over one HTTP/2 connection with TLS (curl multi).
class CurlSwarm {
 public:
  CurlSwarm(const std::string& url, int count);
  // Fetches the URL of `request`, with its headers and CA, `count` times at once.
  CurlSwarm(const CurlRequest& request, int count);
  CurlSwarm(const CurlSwarm&) = delete;
  CurlSwarm& operator=(const CurlSwarm&) = delete;
  ~CurlSwarm();
  // Runs until `done` returns true; returns false after kPatience.
  bool RunUntil(const std::function<bool()>& done);
  const std::string& body(int index) const;
  int finished() const;
  long connections() const;  // opened so far

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// HttpLimits::ForApi() with a change.
HttpLimits Generous(const std::function<void(HttpLimits&)>& change);

// Starts a server, and ends the test if it cannot. Limits that were not set are those of ForApi().
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
