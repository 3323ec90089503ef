// Pod logs: as one text, in chunks, or line by line.
//
//   Result<std::string> text = GetLogs(ctx, client, {"default", "web"}, {.tail_lines = 100});
//
//   Result<LogStream> logs = StreamLogs(ctx, client, {"default", "web"}, {.container = "app", .follow = true});
//   while (true) {
//     Result<std::optional<std::string>> line = logs->NextLine(ctx);
//     if (!line) return line.error();
//     if (!*line) break;                    // the container has ended, or all is read
//     std::cout << **line << '\n';
//   }
//
// A broken connection is an error. It is never retried silently, because lines could then be duplicated or lost. To resume, request the log
// again with `since_time` set to the time of the last line (use `timestamps`). Only a response with Retry-After is retried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_memory.h"
#include "kube/client/client.h"
#include "kube/meta/object_key.h"
#include "kube/transport/http.h"
#include "kube/value/time.h"

namespace kube {

// Options of StreamLogs and GetLogs.
struct LogOptions {
  std::string container{};  // empty: the pod's only container
  bool follow = false;      // keep streaming new output
  bool previous = false;    // the log of the previous run of the container
  bool timestamps = false;  // start each line with an RFC 3339 time
  // At most one of the two may be set.
  std::optional<std::int64_t> since_seconds{};
  std::optional<Time> since_time{};
  std::optional<std::int64_t> tail_lines{};       // only the last lines
  std::optional<std::int64_t> limit_bytes{};      // approximate maximum
  std::string stream{};                           // "Stdout" or "Stderr"; empty: both. Not with tail_lines; ignored by servers before 1.32
  bool insecure_skip_tls_verify_backend = false;  // the API server does not verify the kubelet's certificate
  // ---- Client-side limits ----
  std::size_t max_line_bytes = std::size_t{1} << 20;    // NextLine returns longer lines in pieces of this size
  std::size_t max_total_bytes = std::size_t{64} << 20;  // limit of GetLogs
};

// An open log.
//
// Thread safety: one reader at a time; Close may be called from any thread.
// Lifetime: destroying it ends the request. It may outlive the last copy of the Client; reads then fail with kClosed.
// Blocking and cancellation: reads wait for bytes. A call returns within 100 ms after its context stops, and the next call continues
//   without loss.
// Errors: kTransport if the connection broke, kTimeout, kCancelled, kClosed after Close.
// Cost: buffers at most 256 KiB if it is not read; then the server is paused.
class KUBE_EXPORT LogStream {
 public:
  // For `body` from another source; StreamLogs does this for pods.
  explicit LogStream(std::unique_ptr<BodyStream> body, std::size_t max_line_bytes = std::size_t{1} << 20);
  LogStream(LogStream&&) noexcept;
  LogStream& operator=(LogStream&&) noexcept;
  ~LogStream();

  // Waits for at least one byte; returns 0 at the end of the log. Does not repeat bytes that NextLine has returned.
  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size);
  // The next line without its terminator ("\n" or "\r\n"); nothing at the end of the log. A last line without a terminator counts.
  Result<std::optional<std::string>> NextLine(const Context& ctx);
  // Ends the request; reads then return kClosed.
  void Close();

 private:
  std::unique_ptr<BodyStream> body_;
  std::size_t max_line_ = 0;
  std::string buffer_;
  std::size_t taken_ = 0;    // of buffer_
  std::size_t scanned_ = 0;  // of buffer_: no end of a line before it
  bool ended_ = false;
};

// Opens a log. Waits until the response begins; `ctx` applies only until then.
// Errors: as ResourceClient's verbs; kApi with the server's message if the pod or container does not exist or has not started.
KUBE_EXPORT Result<LogStream> StreamLogs(const Context& ctx, const Client& client, const ObjectKey& pod, const LogOptions& options = {});
// Reads a whole log. Errors: as StreamLogs; kTransport (ResponseTooLarge) beyond max_total_bytes; kInvalid with `follow`, because such a
// log has no end.
KUBE_EXPORT Result<std::string> GetLogs(const Context& ctx, const Client& client, const ObjectKey& pod, const LogOptions& options = {});

}  // namespace kube
