// Logs of pods: all at once, bit by bit, or line by line.
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
// A broken connection is an error, never a silent second request: lines would come twice, or be missing. To go on, ask again with
// `since_time` of the last line (with `timestamps`). Only a server that answers with Retry-After is asked again.
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

struct LogOptions {
  std::string container{};  // empty: the only one of the pod
  bool follow = false;      // go on with what is written from now on
  bool previous = false;    // of the container's last run before this one
  bool timestamps = false;  // RFC 3339 at the start of each line
  // At most one of the two.
  std::optional<std::int64_t> since_seconds{};
  std::optional<Time> since_time{};
  std::optional<std::int64_t> tail_lines{};   // the last ones only
  std::optional<std::int64_t> limit_bytes{};  // about as many at most
  std::string stream{};                       // "Stdout" or "Stderr"; empty: both. Not with tail_lines; servers before 1.32 ignore it
  bool insecure_skip_tls_verify_backend = false;
  // ---- Of this side ----
  std::size_t max_line_bytes = std::size_t{1} << 20;    // NextLine gives longer lines in pieces of that size
  std::size_t max_total_bytes = std::size_t{64} << 20;  // of GetLogs
};

// A log that is being read.
//
// Thread safety: one reader at a time; Close from any thread.
// Lifetime: destroying it ends the request. It may outlive the last copy of the Client: it then fails with kClosed.
// Blocking and cancellation: waits for bytes; a context that stops ends the call within 100 ms and loses nothing: the next call goes on.
// Errors: kTransport where the connection broke, kTimeout, kCancelled, kClosed after Close.
// Cost: a reader that does not read holds at most 256 KiB, then the server waits.
class KUBE_EXPORT LogStream {
 public:
  explicit LogStream(std::unique_ptr<BodyStream> body, std::size_t max_line_bytes = std::size_t{1} << 20);
  LogStream(LogStream&&) noexcept;
  LogStream& operator=(LogStream&&) noexcept;
  ~LogStream();

  // Waits for at least one byte; 0 at the end of the log. Bytes that NextLine has taken for a line do not come again.
  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size);
  // The next line without its end ("\n" or "\r\n"); nothing at the end of the log. A last line without an end counts.
  Result<std::optional<std::string>> NextLine(const Context& ctx);
  void Close();

 private:
  std::unique_ptr<BodyStream> body_;
  std::size_t max_line_ = 0;
  std::string buffer_;
  std::size_t taken_ = 0;    // of buffer_
  std::size_t scanned_ = 0;  // of buffer_: no end of a line before it
  bool ended_ = false;
};

// Waits for the beginning of the answer; `ctx` counts no longer than that.
// Errors: as ResourceClient's verbs; kApi with the server's message for a pod or container that is not there or has not started.
KUBE_EXPORT Result<LogStream> StreamLogs(const Context& ctx, const Client& client, const ObjectKey& pod, const LogOptions& options = {});
// All of it. Errors: as StreamLogs; kTransport (ResponseTooLarge) beyond max_total_bytes. Not with `follow`: that has no end (kInvalid).
KUBE_EXPORT Result<std::string> GetLogs(const Context& ctx, const Client& client, const ObjectKey& pod, const LogOptions& options = {});

}  // namespace kube
