// A small HTTP client over libcurl: what the test servers are started and tested with until kube::Client takes over.
//
//   HttpCaller caller({.ca_pem = ca, .token = token});
//   Result<HttpAnswer> answer = caller.Do({.method = "GET", .url = url + "/readyz"});
//
//   HttpStream stream({.ca_pem = ca, .token = token}, {.url = url + "/api/v1/pods?watch=1"});
//   Result<std::optional<std::string>> line = stream.NextLine(Clock::Real()->Now() + 5s);   // nothing at the end of the answer
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/result.h"

namespace kube::testing::internal {

struct HttpIdentity {
  std::string ca_pem;
  std::string certificate_pem;
  std::string key_pem;
  std::string token;
};

using HttpFields = std::vector<std::pair<std::string, std::string>>;

struct HttpCall {
  std::string method = "GET";
  std::string url;     // sent as it is: dots in its path are not folded
  HttpFields headers;  // a name with an empty value is not sent at all, where libcurl would send one
  std::string body;
  bool http2 = true;
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
};

struct HttpAnswer {
  int status = 0;
  int http_major = 0;
  HttpFields headers;  // names in lower case
  std::string body;

  // The first one of that name (lower case); empty where there is none.
  std::string Header(std::string_view name) const;
  std::vector<std::string> Headers(std::string_view name) const;
};

// One call at a time; the connection is kept for the next.
//
// Thread safety: one thread at a time.
class HttpCaller {
 public:
  explicit HttpCaller(HttpIdentity identity);
  ~HttpCaller();
  HttpCaller(const HttpCaller&) = delete;
  HttpCaller& operator=(const HttpCaller&) = delete;

  // Errors: kTransport, kTimeout.
  Result<HttpAnswer> Do(const HttpCall& call);
  // Bytes as they are over a connection (TLS where the URL has https), and what comes back until the server closes it, `timeout`
  // has passed since it was connected or `most` bytes are there. For requests that are no HTTP.
  Result<std::string> Raw(const HttpCall& where, std::string_view bytes, std::size_t most = 1 << 20);

 private:
  HttpIdentity identity_;
  void* handle_;  // CURL*
};

// An answer that comes in pieces: a watch, a log.
//
// Thread safety: one thread at a time. Nothing runs between calls: what the server sends meanwhile waits in the socket.
class HttpStream {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  HttpStream(HttpIdentity identity, HttpCall call);
  ~HttpStream();
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;

  // Status and headers. Errors: kTimeout, kTransport.
  Result<HttpAnswer> Head(TimePoint until);
  // The next line without its end; nothing where the answer is complete. Errors: kTimeout where none came, kTransport where the
  // connection broke.
  Result<std::optional<std::string>> NextLine(TimePoint until);
  // At least `count` bytes, or nothing where the answer ends before.
  Result<std::optional<std::string>> NextBytes(std::size_t count, TimePoint until);

 private:
  struct State;
  Result<void> Pump(TimePoint until);
  std::unique_ptr<State> state_;
};

}  // namespace kube::testing::internal
