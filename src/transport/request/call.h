// Call: one request in progress, shared by the waiting thread and the I/O thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/event_fd.h"
#include "base/parker.h"
#include "kube/base/error.h"
#include "kube/base/mutex.h"
#include "kube/config/credentials.h"
#include "kube/transport/http.h"

namespace kube::internal {

struct Transfer;
class Http2Session;

// The state of a request in its HTTP/2 session.
struct Http2Stream {
  Http2Session* session = nullptr;
  std::int32_t id = 0;
  std::size_t slot = 0;  // in the session's list
  bool first = false;    // the first stream of its connection
  std::size_t sent = 0;  // bytes of the body
  bool deferred = false;
  std::size_t header_bytes = 0;
  bool head_done = false;
  bool answered = false;       // the whole response has arrived
  bool reset = false;          // by the server
  bool wide = false;           // its window was enlarged
  std::size_t uncredited = 0;  // bytes received but not yet returned to the sender's window
  bool paused = false;         // most of its window is used up
  std::optional<Error> cause;  // why it was reset by this side
};

// One request, from its caller to the end of its response.
struct Call {
  Call(HttpRequest the_request, std::shared_ptr<const TlsMaterial> tls) : request(std::move(the_request)), material(std::move(tls)) {}

  // Fixed once submitted.
  const HttpRequest request;
  const std::shared_ptr<const TlsMaterial> material;  // null: without TLS, or with the system's roots

  // Owned by the I/O thread until `ready`, then by the caller, which `ready` wakes.
  HttpResponse response;
  bool gzip = false;  // the body is compressed and must be passed on decompressed

  // Owned by the I/O thread.
  bool over = false;  // finished or cancelled
  int attempts = 0;
  Transfer* transfer = nullptr;  // while it is on an HTTP/1.1 connection
  Http2Stream stream;            // while it is on an HTTP/2 one

  // The target buffer of a reader that receives directly, so that the bytes bypass `buffer`. Owned by the thread that holds the connection.
  char* direct = nullptr;
  std::size_t direct_room = 0;

  Parker answered;                            // for the caller: `ready` is set, or the caller's context has stopped
  Parker changed;                             // for the reader of a stream: data or the end has arrived, or its context has stopped
  EventFd at_socket{EventFd::Later::kLater};  // for a reader that waits at the socket itself

  Mutex mu;
  bool ready KUBE_GUARDED_BY(mu) = false;  // the response (for streaming, its head) or `error` is set
  bool head KUBE_GUARDED_BY(mu) = false;   // for streaming: `response` belongs to the caller
  bool ended KUBE_GUARDED_BY(mu) = false;  // no more data will arrive
  std::optional<Error> error KUBE_GUARDED_BY(mu);

  // For streaming: received data that was not read.
  std::string buffer KUBE_GUARDED_BY(mu);
  std::size_t used KUBE_GUARDED_BY(mu) = 0;   // bytes at the beginning of `buffer` that were read
  std::size_t taken KUBE_GUARDED_BY(mu) = 0;  // bytes that were read but not returned to the HTTP/2 window
  bool paused KUBE_GUARDED_BY(mu) = false;    // HTTP/1.1: the sender is paused
  bool resuming KUBE_GUARDED_BY(mu) = false;  // the I/O thread was notified of the room
  bool closed KUBE_GUARDED_BY(mu) = false;    // by the reader
  bool reader_waits KUBE_GUARDED_BY(mu) = false;

  // Adds data of a streaming response. Does nothing if the reader has closed it.
  void Deliver(std::string_view bytes) KUBE_EXCLUDES(mu);
  // Called by a reader before it waits, to free memory: a watch that began with a long list needs less afterwards.
  void ForgetRoom() KUBE_REQUIRES(mu);
};

}  // namespace kube::internal
