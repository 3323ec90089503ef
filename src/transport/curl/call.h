// Call: one request on its way, shared by the thread that waits for it and the I/O thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "kube/base/error.h"
#include "kube/base/mutex.h"
#include "kube/config/credentials.h"
#include "kube/transport/http.h"

namespace kube::internal {

struct Transfer;

struct Call {
  Call(HttpRequest the_request, std::shared_ptr<const TlsMaterial> tls) : request(std::move(the_request)), material(std::move(tls)) {}

  // Fixed once submitted.
  const HttpRequest request;
  const std::shared_ptr<const TlsMaterial> material;  // null: without TLS, or with the system's roots

  // The I/O thread's, until `ready`: then the caller's, who is woken with it.
  HttpResponse response;

  // The I/O thread's alone.
  Transfer* transfer = nullptr;
  bool over = false;  // finished or given up: nothing more is done for it

  Mutex mu;
  CondVar changed;
  bool ready KUBE_GUARDED_BY(mu) = false;    // the answer is there (its head, for a streaming one), or `error`
  bool stopped KUBE_GUARDED_BY(mu) = false;  // the caller's context
  bool head KUBE_GUARDED_BY(mu) = false;     // of a streaming one: `response` is the caller's
  bool ended KUBE_GUARDED_BY(mu) = false;    // nothing more will come
  std::optional<Error> error KUBE_GUARDED_BY(mu);

  // Of streaming ones: what came and was not read.
  std::string buffer KUBE_GUARDED_BY(mu);
  std::size_t used KUBE_GUARDED_BY(mu) = 0;   // bytes at the beginning of `buffer` that were read
  bool paused KUBE_GUARDED_BY(mu) = false;    // the sender is held back
  bool resuming KUBE_GUARDED_BY(mu) = false;  // and was asked to go on
  bool closed KUBE_GUARDED_BY(mu) = false;    // by the reader
  bool reader_waits KUBE_GUARDED_BY(mu) = false;
};

}  // namespace kube::internal
