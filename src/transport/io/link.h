// Link: an HTTP/2 connection, and the thread that receives its data.
#pragma once

#include <curl/curl.h>
#include <openssl/ssl.h>

#include <cassert>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "transport/curl/options.h"
#include "transport/http2/session.h"
#include "transport/request/call.h"
#include "transport/request/settings.h"
#include "transport/tls/wire.h"

namespace kube::internal {

using TimePoint = std::chrono::steady_clock::time_point;

class Pool;

// A connection that libcurl opens through a proxy, to find out the server's protocol.
struct Opening {
  Pool* pool = nullptr;
  Easy easy;
  Slist connect_to;
  char detail[CURL_ERROR_SIZE] = {};
  SSL* ssl = nullptr;       // owned by libcurl
  bool proxy_done = false;  // for an https proxy: its TLS handshake, which comes first, is done
  TimePoint since{};
};

// The receiver of a link: the I/O thread, or the reader of its only stream (IoLoop::Receive). A reader that has the link uses the socket
// only while it waits there; meanwhile no other thread does.
//
//   kLoop --Lend--> kReaderAway --Wait--> kReaderWaits --Return--> kReaderAway
//     ^---------------- TakeBack, from either of these ---------------'
class LinkReceiver {
 public:
  enum class State { kLoop, kReaderAway, kReaderWaits };

  State state() const { return state_; }
  bool is_loop() const { return state_ == State::kLoop; }
  bool is(const std::shared_ptr<Call>& call) const { return call_ == call; }
  const Call* call() const { return call_.get(); }

  void Lend(std::shared_ptr<Call> call) {
    assert(state_ == State::kLoop);
    call_ = std::move(call);
    state_ = State::kReaderAway;
  }
  void Wait() {
    assert(state_ == State::kReaderAway);
    state_ = State::kReaderWaits;
  }
  void Return() {
    assert(state_ != State::kLoop);
    state_ = State::kReaderAway;
  }
  // Wakes the reader if it waits at the socket.
  void TakeBack() {
    assert(state_ != State::kLoop);
    if (std::exchange(state_, State::kLoop) == State::kReaderWaits) call_->at_socket.Set();
    call_ = nullptr;
  }

 private:
  State state_ = State::kLoop;
  std::shared_ptr<Call> call_;  // null in state kLoop
};

struct Link {
  // `opened`: libcurl's handle, which closes the connection. Null: the pool closes it.
  Link(Pool& owned_by, const Settings& settings, CallOwner& owner, int socket, std::unique_ptr<Wire> open_wire,
       std::unique_ptr<Opening> opened)
      : pool(&owned_by), fd(socket), opening(std::move(opened)), wire(std::move(open_wire)), session(settings, owner) {}

  Pool* const pool;
  const int fd;
  const std::unique_ptr<Opening> opening;
  const std::unique_ptr<Wire> wire;
  Http2Session session;
  LinkReceiver receiver;
  TimePoint shared_at{};  // when a request started while others were active
  TimePoint last_read{};
  std::optional<TimePoint> pinged_at;
  bool more = false;  // there are bytes that the socket does not report
};

}  // namespace kube::internal
