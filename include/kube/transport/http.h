// One HTTP exchange on the client side: plain data without I/O.
//
//   HttpHeaders     names and values, in order; names are case-insensitive
//   HttpRequest     a request
//   HttpResponse    a response, with its whole body or a stream to read it from
//   BodyStream      a body that is read in pieces
//
//   HttpRequest request{.target = "/api/v1/pods?watch=true", .streaming = true, .verb = "watch"};
//   request.headers.Set("Accept", "application/json");
//   Result<HttpResponse> answer = transport->RoundTrip(ctx, std::move(request));
//   char buffer[4096];
//   Result<std::size_t> got = answer->stream->Read(ctx, buffer, sizeof buffer);
//
// Thread safety: headers, requests and responses are plain structs.
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

// Header names and values in wire order. Names are case-insensitive and may repeat.
class KUBE_EXPORT HttpHeaders {
 public:
  // A name and a value.
  using Field = std::pair<std::string, std::string>;
  HttpHeaders() = default;
  HttpHeaders(std::initializer_list<Field> fields) : fields_(fields) {}

  // Appends a field, even if there is one of that name.
  void Add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  // Replaces all fields of that name.
  void Set(std::string_view name, std::string value);
  // Removes all fields of that name.
  void Remove(std::string_view name);
  // The first value of that name, or null.
  const std::string* Find(std::string_view name) const;
  bool Has(std::string_view name) const { return Find(name) != nullptr; }  // whether there is a field of that name
  // The first value of that name; empty if there is none.
  std::string_view Get(std::string_view name) const;
  // All values of that name.
  std::vector<std::string> All(std::string_view name) const;

  std::size_t size() const { return fields_.size(); }
  bool empty() const { return fields_.empty(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

 private:
  std::vector<Field> fields_;
};

// A request.
struct HttpRequest {
  std::string method = "GET";
  // Escaped path and query, appended to the base URL of the transport: "/api/v1/pods?limit=500".
  std::string target{};
  HttpHeaders headers{};
  std::string body{};
  // If true, the response is returned when its headers have arrived, with a BodyStream. If false, with its whole body.
  bool streaming = false;
  // The Kubernetes verb: "get", "list", "watch", "create"... Used for metrics, logs and retry rules.
  std::string verb{};
  // The path with masked names: "/api/v1/namespaces/{namespace}/pods/{name}". For metrics; never sent.
  std::string url_template{};
  // Limit for the whole exchange including retries, starting when the rate limiter admits the request. 0: only the context limits it.
  // Enforced by WithRetry (decorators.h); streaming requests have no such limit.
  std::chrono::nanoseconds timeout{};
  // Replaces the transport's rate limiter for this request; null: uses that one. Discovery has its own burst.
  std::shared_ptr<RateLimiter> limiter{};
};

// A body that is read in pieces.
//
// Thread safety: one reader at a time; Close may be called from any thread.
// Lifetime: destroying it ends the transfer. It may outlive the transport; reads then fail with kClosed.
// Blocking and cancellation: a Read whose context stops fails, and the next Read continues at the same position.
class KUBE_EXPORT BodyStream {
 public:
  virtual ~BodyStream();
  // Waits for at least one byte; returns 0 at the end of the body. An idle reader slows down only its own sender.
  // Errors: kTransport if the connection broke within the body, kTimeout, kCancelled, kClosed after Close.
  virtual Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) = 0;
  // Whether the next Read returns bytes without waiting; false if unknown. Only the reader may call it.
  virtual bool Ready() const { return false; }
  // Ends the transfer. A waiting reader gets kClosed.
  virtual void Close() = 0;
};

// Reads the rest of the body, or its first `limit` bytes.
KUBE_EXPORT Result<std::string> ReadAll(const Context& ctx, BodyStream& stream, std::size_t limit = static_cast<std::size_t>(-1));
// Returns a stream that yields `text`; for tests and fakes.
KUBE_EXPORT std::unique_ptr<BodyStream> MakeBodyStream(std::string text);

// A response, with any HTTP code.
struct HttpResponse {
  int code = 0;
  int http_major = 0;  // 1 or 2
  HttpHeaders headers{};
  std::string body{};                    // set if the request was not streaming
  std::unique_ptr<BodyStream> stream{};  // set if the request was streaming
};

// An upgraded connection, no longer HTTP, for exec, attach and port-forward.
//
// Thread safety: one reader and one writer at a time; Close may be called from any thread.
// Lifetime: destroying it closes the connection. It may outlive its transport.
// Blocking and cancellation: a cancelled Read loses nothing; a cancelled Write may have sent a part.
// Errors: kTransport if the connection broke, kTimeout, kCancelled, kClosed after Close.
class KUBE_EXPORT UpgradedConnection {
 public:
  virtual ~UpgradedConnection();
  // Waits for at least one byte; returns 0 if the server has closed the connection.
  virtual Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) = 0;
  // Blocks until the system has accepted all bytes.
  virtual Result<void> Write(const Context& ctx, std::string_view bytes) = 0;
  // Closes the connection. Waiting readers and writers get kClosed.
  virtual void Close() = 0;
};

// The result of an upgrade: the connection, or the response of a server that refused it (code is not 101).
struct UpgradeResponse {
  int code = 0;
  HttpHeaders headers{};
  std::string body{};                                // of a refusal; at most 64 KiB
  std::unique_ptr<UpgradedConnection> connection{};  // null if refused
};

}  // namespace kube
