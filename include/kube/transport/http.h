// One HTTP exchange as the client side sees it: plain data, without any I/O.
//
//   HttpHeaders     names and values, in order; names compare without case
//   HttpRequest     what is sent
//   HttpResponse    what came back: with the whole body, or with a stream to read it from
//   BodyStream      a body that is read bit by bit
//
//   HttpRequest request{.target = "/api/v1/pods?watch=true", .streaming = true, .verb = "watch"};
//   request.headers.Set("Accept", "application/json");
//   Result<HttpResponse> answer = transport->RoundTrip(ctx, std::move(request));
//   char buffer[4096];
//   Result<std::size_t> got = answer->stream->Read(ctx, buffer, sizeof buffer);
//
// Thread safety: of headers, requests and answers as of any plain struct.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_memory.h"

namespace kube {

class RateLimiter;

// Names and values in the order of the wire. Names compare without case; several of one name are fine.
class KUBE_EXPORT HttpHeaders {
 public:
  using Field = std::pair<std::string, std::string>;
  HttpHeaders() = default;
  HttpHeaders(std::initializer_list<Field> fields) : fields_(fields) {}

  void Add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  // Replaces all of that name.
  void Set(std::string_view name, std::string value);
  void Remove(std::string_view name);
  // The first one, or null.
  const std::string* Find(std::string_view name) const;
  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  // The first one; empty where there is none.
  std::string_view Get(std::string_view name) const;
  std::vector<std::string> All(std::string_view name) const;

  std::size_t size() const { return fields_.size(); }
  bool empty() const { return fields_.empty(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

 private:
  std::vector<Field> fields_;
};

struct HttpRequest {
  std::string method = "GET";
  std::string target{};  // path and query, escaped: "/api/v1/pods?limit=500". Put behind the transport's base URL.
  HttpHeaders headers{};
  std::string body{};
  // True: the answer comes as soon as its headers are there, with a BodyStream. False: with its whole body.
  bool streaming = false;
  // What the request does, in Kubernetes' words: "get", "list", "watch", "create"... For metrics, logs and the rules of retries.
  std::string verb{};
  // The path with names masked: "/api/v1/namespaces/{namespace}/pods/{name}". For metrics; never sent.
  std::string url_template{};
  // How long the answer may take, retries and all, from the moment that the rate limit lets the request go. 0: as long as the context
  // says. WithRetry (decorators.h) sees to it; streaming requests have none.
  std::chrono::nanoseconds timeout{};
  // Asked in the place of the transport's own limiter; null: that one. Discovery has a burst of its own.
  std::shared_ptr<RateLimiter> limiter{};
};

// Thread safety: one reader at a time; Close from any thread.
// Lifetime: destroying it ends the transfer. It may outlive the transport: it then fails with kClosed.
// Blocking and cancellation: a Read whose context stops fails alone; the next one goes on where it was.
class KUBE_EXPORT BodyStream {
 public:
  virtual ~BodyStream();
  // Waits for at least one byte; 0 at the end of the body. A reader that does not read holds back the sender, and nobody else.
  // Errors: kTransport where the connection broke in the middle of the body, kTimeout, kCancelled, kClosed after Close.
  virtual Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) = 0;
  // Whether the next Read gives bytes without waiting. False where that is not known. For the reader.
  virtual bool Ready() const { return false; }
  // Ends the transfer. A reader that waits gets kClosed.
  virtual void Close() = 0;
};

// All of it, or the first `limit` bytes.
KUBE_EXPORT Result<std::string> ReadAll(const Context& ctx, BodyStream& stream, std::size_t limit = static_cast<std::size_t>(-1));
// A stream over a text; for tests and fakes.
KUBE_EXPORT std::unique_ptr<BodyStream> MakeBodyStream(std::string text);

struct HttpResponse {
  int code = 0;
  int http_major = 0;  // 1 or 2
  HttpHeaders headers{};
  std::string body{};                    // of a request that is not streaming
  std::unique_ptr<BodyStream> stream{};  // of one that is
};

// A connection that left HTTP: what exec, attach and port-forward speak over.
//
// Thread safety: one reader and one writer at a time; Close from any thread.
// Lifetime: destroying it closes the connection. It may outlive the transport that made it.
// Blocking and cancellation: a Read that is stopped loses nothing; of a Write that is stopped a part may be sent.
// Errors: kTransport where the connection broke, kTimeout, kCancelled, kClosed after Close.
class KUBE_EXPORT UpgradedConnection {
 public:
  virtual ~UpgradedConnection();
  // Waits for at least one byte; 0 where the server has closed.
  virtual Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) = 0;
  // Waits until the system has all of it.
  virtual Result<void> Write(const Context& ctx, std::string_view bytes) = 0;
  // Readers and writers that wait get kClosed.
  virtual void Close() = 0;
};

// What an upgrade gave: the connection, or the answer of a server that refused (code is not 101).
struct UpgradeResponse {
  int code = 0;
  HttpHeaders headers{};
  std::string body{};                                // of a refusal, at most 64 KiB
  std::unique_ptr<UpgradedConnection> connection{};  // null where it was refused
};

}  // namespace kube
