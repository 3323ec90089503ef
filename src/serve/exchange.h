// The state behind an HttpExchange: shared between the handler's threads and the session of the connection.
//
//   Waker           notifies a connection, from any thread, that an exchange has changed
//   ExchangeState   one request and its answer; shared by the handler's HttpExchange and the session
//   Dispatch        passes an exchange to the handler
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/mutex.h"
#include "kube/serve/http_server.h"
#include "serve/ledger.h"

namespace kube::serve {

class ExchangeState;
class RawPipe;

// Thread safety: any thread. Outlives its connection, and does nothing after that has closed.
class Waker {
 public:
  virtual ~Waker() = default;
  virtual void Wake(std::shared_ptr<ExchangeState> exchange) = 0;
};

// Thread safety: the first block of functions from any thread, the second one only from the connection's I/O thread.
class ExchangeState : public std::enable_shared_from_this<ExchangeState> {
 public:
  // `stream` is the session's number for the exchange. Memory is charged to `account`, unless that is null.
  ExchangeState(HttpRequest request, std::shared_ptr<Waker> waker, std::int32_t stream, const std::shared_ptr<Account>& account);

  // Valid until Drop.
  const HttpRequest& request() const { return request_; }
  bool head_request() const { return head_request_; }
  std::int32_t stream() const { return stream_; }

  void Reply(HttpResponse response);
  void Start(int status, HttpHeaders headers);
  bool Write(std::shared_ptr<const std::string> text);
  void Finish();
  std::size_t buffered_bytes() const;
  void OnClose(std::function<void()> callback);
  void Abort();
  void CutAfter(std::size_t body_bytes);
  void Stall(bool stalled);
  Result<std::unique_ptr<UpgradedStream>> Upgrade(HttpHeaders headers);
  // The handler has released the exchange: frees the request.
  void Drop();

  struct Head {
    int status = 200;
    HttpHeaders headers;
    std::optional<std::size_t> length;  // of the body, if all of it is known
  };
  struct Progress {
    bool aborted = false;
    std::unique_ptr<Head> head;     // once, when the answer begins
    std::shared_ptr<RawPipe> pipe;  // once, with the head, if the connection leaves HTTP
  };
  // Returns what is new. Later changes wake the connection again.
  Progress Look();

  struct Offer {
    std::size_t size = 0;  // bytes that may go out now
    bool last = false;     // nothing follows
    bool cut = false;      // nothing more may be sent: abort
  };
  // Whether all of the answer is available.
  bool Complete() const;
  // What may be sent of the body, at most `max` bytes.
  Offer Next(std::size_t max) const;
  // Moves `size` bytes of the body, at most what was offered, to the end of `out`.
  void Take(std::size_t size, std::string& out);
  // The answer is complete, or the client has disconnected. Runs the OnClose callbacks.
  void Close();

 private:
  enum class Answer { kNone, kReply, kStream, kUpgrade };

  bool Begin(Answer answer, Head head) KUBE_REQUIRES(mu_);
  void Push(std::shared_ptr<const std::string> text) KUBE_REQUIRES(mu_);
  // Returns true if the caller must wake the connection after releasing the lock.
  bool Signal() KUBE_REQUIRES(mu_);
  void WakeIf(bool wake);

  HttpRequest request_;
  Charge request_charge_;
  const bool head_request_;
  const int http_major_;
  const std::shared_ptr<Waker> waker_;
  const std::int32_t stream_;

  mutable Mutex mu_;
  Answer answer_ KUBE_GUARDED_BY(mu_) = Answer::kNone;
  std::unique_ptr<Head> head_ KUBE_GUARDED_BY(mu_);
  std::shared_ptr<RawPipe> pipe_ KUBE_GUARDED_BY(mu_);
  std::deque<std::shared_ptr<const std::string>> texts_ KUBE_GUARDED_BY(mu_);
  std::size_t taken_of_first_ KUBE_GUARDED_BY(mu_) = 0;  // bytes of texts_.front() already taken
  std::size_t buffered_ KUBE_GUARDED_BY(mu_) = 0;
  Charge buffered_charge_ KUBE_GUARDED_BY(mu_);
  std::size_t sent_ KUBE_GUARDED_BY(mu_) = 0;
  std::optional<std::size_t> cut_at_ KUBE_GUARDED_BY(mu_);
  bool finished_ KUBE_GUARDED_BY(mu_) = false;
  bool aborted_ KUBE_GUARDED_BY(mu_) = false;
  bool stalled_ KUBE_GUARDED_BY(mu_) = false;
  bool closed_ KUBE_GUARDED_BY(mu_) = false;
  bool signalled_ KUBE_GUARDED_BY(mu_) = false;
  std::vector<std::function<void()>> on_close_ KUBE_GUARDED_BY(mu_);
};

// Calls the handler. If it throws, answers 500, or aborts an answer that has begun.
void Dispatch(const HttpServer::Handler& handler, const std::shared_ptr<ExchangeState>& state);

// "Not Found"; empty for an unknown code.
std::string_view ReasonPhrase(int status);
// The current time in HTTP format. Cheap: formatted once a second.
std::string_view HttpDate();
// The text without characters that would end a header.
std::string CleanHeaderValue(std::string_view value);

}  // namespace kube::serve
