// Call: one request on its way, shared by the thread that waits for it and the I/O thread.
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

// A request on an HTTP/2 connection, as its session sees it.
struct Http2Stream {
  Http2Session* session = nullptr;
  std::int32_t id = 0;
  std::size_t slot = 0;  // in the session's list
  bool first = false;    // of its connection
  std::size_t sent = 0;  // bytes of the body
  bool deferred = false;
  std::size_t header_bytes = 0;
  bool head_done = false;
  bool answered = false;       // to the end
  bool reset = false;          // by the server
  bool wide = false;           // its window was made larger
  std::size_t uncredited = 0;  // bytes that came and were not given back to the sender's window
  bool paused = false;         // most of its window is used up
  std::optional<Error> cause;  // why it was reset by this side
};

// One request, from its caller to the end of its answer.
struct Call {
  Call(HttpRequest the_request, std::shared_ptr<const TlsMaterial> tls) : request(std::move(the_request)), material(std::move(tls)) {}

  // Fixed once submitted.
  const HttpRequest request;
  const std::shared_ptr<const TlsMaterial> material;  // null: without TLS, or with the system's roots

  // The I/O thread's, until `ready`: then the caller's, who is woken with it.
  HttpResponse response;
  bool gzip = false;  // its body is compressed, and has to be handed on as if it were not

  // The I/O thread's alone.
  bool over = false;  // finished or given up: nothing more is done for it
  int attempts = 0;
  Transfer* transfer = nullptr;  // while it is on an HTTP/1.1 connection
  Http2Stream stream;            // while it is on an HTTP/2 one

  // Where a reader that receives itself wants the bytes, while it does: they need no stop in `buffer`. Whose turn it is at the connection.
  char* direct = nullptr;
  std::size_t direct_room = 0;

  Parker answered;                            // for the caller: `ready` is set, or the caller's context has stopped
  Parker changed;                             // for the reader of a stream: something came, or ended, or its context has stopped
  EventFd at_socket{EventFd::Later::kLater};  // for a reader that waits at the socket itself

  Mutex mu;
  bool ready KUBE_GUARDED_BY(mu) = false;  // the answer is there (its head, for a streaming one), or `error`
  bool head KUBE_GUARDED_BY(mu) = false;   // of a streaming one: `response` is the caller's
  bool ended KUBE_GUARDED_BY(mu) = false;  // nothing more will come
  std::optional<Error> error KUBE_GUARDED_BY(mu);

  // Of streaming ones: what came and was not read.
  std::string buffer KUBE_GUARDED_BY(mu);
  std::size_t used KUBE_GUARDED_BY(mu) = 0;   // bytes at the beginning of `buffer` that were read
  std::size_t taken KUBE_GUARDED_BY(mu) = 0;  // bytes that were read and not given back to the window of HTTP/2
  bool paused KUBE_GUARDED_BY(mu) = false;    // HTTP/1.1: the sender is held back
  bool resuming KUBE_GUARDED_BY(mu) = false;  // the I/O thread was told that there is room
  bool closed KUBE_GUARDED_BY(mu) = false;    // by the reader
  bool reader_waits KUBE_GUARDED_BY(mu) = false;

  // Adds what came of a streaming answer. Nothing where the reader has closed it.
  void Deliver(std::string_view bytes) KUBE_EXCLUDES(mu);
  // By a reader that is going to wait: a watch that had a long list at first needs no room for one any more.
  void ForgetRoom() KUBE_REQUIRES(mu);
};

}  // namespace kube::internal
