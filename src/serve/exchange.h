// The state behind an HttpExchange: what the handler's threads hand over, and what the session of the connection takes from it.
//
//   Waker           how an exchange tells its connection, from any thread, that there is something new
//   ExchangeState   one request and its answer; shared by the handler's HttpExchange and the session
//   Dispatch        gives an exchange to the handler
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

// Thread safety: from any thread. Does nothing once the connection is gone; outlives it.
class Waker {
 public:
  virtual ~Waker() = default;
  virtual void Wake(std::shared_ptr<ExchangeState> exchange) = 0;
};

// Thread safety: the first block of functions from any thread, the second one from the I/O thread of the connection only.
class ExchangeState : public std::enable_shared_from_this<ExchangeState> {
 public:
  // `stream` is the session's own number for it. What it holds is charged to `account`, unless that is null.
  ExchangeState(HttpRequest request, std::shared_ptr<Waker> waker, std::int32_t stream, const std::shared_ptr<Account>& account);

  // Until Drop.
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
  // The handler has let go of it: the request is freed.
  void Drop();

  struct Head {
    int status = 200;
    HttpHeaders headers;
    std::optional<std::size_t> length;  // of the body, where all of it is known
  };
  struct Progress {
    bool aborted = false;
    std::unique_ptr<Head> head;     // once, when the answer has begun
    std::shared_ptr<RawPipe> pipe;  // once, with the head, where it leaves HTTP
  };
  // What is new; later changes wake the connection again.
  Progress Look();

  struct Offer {
    std::size_t size = 0;  // bytes that may go out now
    bool last = false;     // and nothing after them
    bool cut = false;      // nothing may go out any more: end it the hard way
  };
  // Everything of the answer is here.
  bool Complete() const;
  // What of the body may go out, at most `max`.
  Offer Next(std::size_t max) const;
  // Moves `size` bytes of the body, not more than were offered, to the end of `out`.
  void Take(std::size_t size, std::string& out);
  // The answer is complete, or the client is gone. Runs the callbacks of OnClose.
  void Close();

 private:
  enum class Answer { kNone, kReply, kStream, kUpgrade };

  bool Begin(Answer answer, Head head) KUBE_REQUIRES(mu_);
  void Push(std::shared_ptr<const std::string> text) KUBE_REQUIRES(mu_);
  // True where the caller has to wake the connection, after it let go of the lock.
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
  std::size_t taken_of_first_ KUBE_GUARDED_BY(mu_) = 0;  // bytes of texts_.front() that are gone
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

// Calls the handler. One that throws gives a 500, or an aborted answer where it had begun.
void Dispatch(const HttpServer::Handler& handler, const std::shared_ptr<ExchangeState>& state);

// "Not Found"; empty for a code that has no name.
std::string_view ReasonPhrase(int status);
// The time now as HTTP writes it. Cheap: made once a second.
std::string_view HttpDate();
// The same text without what would end a header.
std::string CleanHeaderValue(std::string_view value);

}  // namespace kube::serve
