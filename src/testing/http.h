// A small HTTP client over libcurl, used to start and test the test servers where kube::Client is not available.
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
  std::string url;     // sent as it is: dot segments are not removed
  HttpFields headers;  // an empty value suppresses a header that libcurl would send
  std::string body;
  bool http2 = true;
  std::chrono::milliseconds timeout = std::chrono::seconds(30);
};

struct HttpAnswer {
  int status = 0;
  int http_major = 0;
  HttpFields headers;  // names in lower case
  std::string body;

  // The first value of that name (in lower case), or empty.
  std::string Header(std::string_view name) const;
  std::vector<std::string> Headers(std::string_view name) const;
};

// Makes one call at a time and keeps the connection for the next.
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
  // Sends raw bytes over a connection (TLS if the URL has https) and returns the response, until the server closes the connection,
  // `timeout` has passed since connecting, or `most` bytes have arrived. For requests that are not HTTP.
  Result<std::string> Raw(const HttpCall& where, std::string_view bytes, std::size_t most = 1 << 20);

 private:
  HttpIdentity identity_;
  void* handle_;  // CURL*
};

// A streamed answer: a watch, a log.
//
// Thread safety: one thread at a time. Nothing runs between calls: data from the server waits in the socket.
class HttpStream {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  HttpStream(HttpIdentity identity, HttpCall call);
  ~HttpStream();
  HttpStream(const HttpStream&) = delete;
  HttpStream& operator=(const HttpStream&) = delete;

  // Status and headers. Errors: kTimeout, kTransport.
  Result<HttpAnswer> Head(TimePoint until);
  // Returns the next line without its end, or nullopt if the answer is complete. Errors: kTimeout if no line came, kTransport if the
  // connection broke.
  Result<std::optional<std::string>> NextLine(TimePoint until);
  // Returns at least `count` bytes, or nullopt if the answer ends before.
  Result<std::optional<std::string>> NextBytes(std::size_t count, TimePoint until);

 private:
  struct State;
  Result<void> Pump(TimePoint until);
  std::unique_ptr<State> state_;
};

}  // namespace kube::testing::internal
