// IoLoop: the I/O thread of a transport. It owns all connections, waits with epoll, and processes commands from calling threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/descriptor.h"
#include "base/event_fd.h"
#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"
#include "kube/base/thread.h"
#include "kube/transport/http_transport.h"
#include "transport/io/pool.h"
#include "transport/request/call.h"
#include "transport/request/settings.h"

namespace kube::internal {

// Thread safety: the first group of functions may be called from any thread; the others are for the pools, on the loop's thread.
// Lifetime: shared with response streams. Does nothing after Stop, which the transport calls.
class IoLoop : public CallOwner {
 public:
  // Errors: kInternal if the system has no descriptors left.
  static Result<std::shared_ptr<IoLoop>> Start(std::shared_ptr<const Settings> settings);
  IoLoop(const IoLoop&) = delete;
  IoLoop& operator=(const IoLoop&) = delete;
  ~IoLoop() override;

  // The call fails with kClosed if the loop has stopped.
  void Submit(const std::shared_ptr<Call>& call);
  // Cancels a call that has no waiter any more.
  void Cancel(const std::shared_ptr<Call>& call);
  // The reader of the call has room again.
  void Resume(const std::shared_ptr<Call>& call);
  // For the reader of a stream without buffered data: waits at the socket on the caller's thread and receives the data itself, as long as
  // its stream is the only one of its connection. That saves waking two threads per watch event. Returns how many of the received bytes are
  // in `buffer`. There may be more in the call's buffer, and there may be none, because the stream has ended or `at_socket` was set, which
  // must be prepared. Returns nothing if the loop must do it. `did_before`: the last call for this stream returned something.
  std::optional<std::size_t> Receive(const std::shared_ptr<Call>& call, bool did_before, char* buffer, std::size_t size);
  void CloseConnections();
  // Ends all calls with kClosed and joins the thread. Must not be called on the loop's thread.
  void Stop();
  TransportStats stats() const;

  // ---- For pools ----
  void Watch(Pool& pool, int fd, int what);
  void WatchDial(Pool& pool, int fd);
  // Call this before closing the descriptor.
  void Forget(int fd);
  void Opened(Connection& connection);
  void Used();
  void Closed(Connection& connection);
  void Remember(Transfer& transfer, const Error& cause) { causes_.insert_or_assign(&transfer, cause); }

  // ---- For calls ----
  void HeadCame(Call& call) override;
  void Done(Call& call, std::optional<Error> error) override;
  void SendAgain(std::shared_ptr<Call> call) override;
  void PausedChanged(int change) override { paused_ += change; }

 private:
  enum class Kind { kStart, kCancel, kResume, kCloseConnections };
  struct Command {
    Kind kind;
    std::shared_ptr<Call> call;
  };
  struct Waiting {
    std::shared_ptr<Call> call;
    TimePoint since;
  };
  struct Watched {
    Pool* pool = nullptr;
    Connection* connection = nullptr;
    Link* link = nullptr;          // null unless it is HTTP/2
    bool dial = false;             // it belongs to the pool's Dial
    std::uint32_t wanted = 0;      // events that libcurl wants
    std::uint32_t registered = 0;  // events registered with epoll
  };

  explicit IoLoop(std::shared_ptr<const Settings> settings);
  void Post(Command command);
  // Sends the request from the caller's thread if possible, which saves waking the loop. False: the request must be posted to the loop.
  bool StartHere(const std::shared_ptr<Call>& call);
  // Null if the loop must send it.
  Link* LinkToSendHere(const Call& call) const;
  void StartOn(Link& link, const std::shared_ptr<Call>& call);
  void Run();
  int WaitTime();
  bool TakeCommands();
  void Handle(Command& command);
  void Register(int fd, Watched& watched, std::uint32_t events);
  void OnEvent(int fd, std::uint32_t events);
  void RunTimers();
  void CollectDone(Pool& pool);
  void StepDial(Pool& pool);
  void OpeningDone(Pool& pool);
  void OpeningFailed(Pool& pool, TimePoint since, const Error& error);

  // ---- HTTP/2 ----
  void Read(Link& link);
  void Flush(Link& link);
  // Sends pending output and removes links that have ended.
  void TendLinks();
  void EndLink(Link& link, const std::optional<Error>& cause);
  Link* LinkOf(const Call& call) const;
  bool MayReceive(const Link& link, const Call& call) const;
  // Takes links back from readers that are busy with other work for a long time.
  void TakeBackForgotten();
  // Makes the loop receive again.
  void TakeBack(Link& link);

  // The time when a request waiting since `since` gets another connection, because the existing ones have no free stream.
  TimePoint MoreConnections(TimePoint since) const;
  void StartWaiting();
  // Returns false if the call must wait.
  bool StartCall(const std::shared_ptr<Call>& call, TimePoint since);
  void FailWaiting(TimePoint since, const Error& error);
  Pool& PoolFor(const std::shared_ptr<const TlsMaterial>& material);
  void ClosePool(Pool& pool, const Error& cause);
  void DropOldPools();
  void CancelCall(Call& call);
  void ResumeCall(Call& call);
  void Finish(Transfer& transfer, CURLcode code);
  std::optional<Error> Outcome(Transfer& transfer, CURLcode code);
  void Forget(Transfer& transfer);

  void CheckTls();
  void CheckHealth();
  void WatchHealth(Link& link);
  void EndAll();

  const std::shared_ptr<const Settings> settings_;
  const Descriptor epoll_;
  EventFd wake_;

  // Held by the thread that does I/O: the loop while it works, and callers that send a request themselves while it sleeps.
  Mutex io_;

  Mutex mu_;  // after io_
  std::vector<Command> commands_ KUBE_GUARDED_BY(mu_);
  bool sleeping_ KUBE_GUARDED_BY(mu_) = false;
  bool caller_sends_ KUBE_GUARDED_BY(mu_) = false;  // StartHere is active, and will check commands_
  bool stopping_ KUBE_GUARDED_BY(mu_) = false;

  // Everything below, and all connections, belong to the holder of io_.
  std::vector<Command> taken_;
  std::deque<Waiting> waiting_;
  bool again_ = false;  // some were returned, and are yet to be checked for starting
  std::vector<std::unique_ptr<Pool>> pools_;
  Pool* current_ = nullptr;
  std::vector<Watched> watched_;  // indexed by descriptor
  std::unordered_map<Transfer*, Error> causes_;
  TimePoint now_{};
  std::optional<TimePoint> next_check_;
  TimePoint next_tls_check_{};
  TimePoint last_opened_{};  // when a connection was last opened for lack of free streams
  std::vector<char> input_;

  std::atomic<std::uint64_t> requests_ = 0;
  std::atomic<std::uint64_t> in_flight_ = 0;
  std::atomic<std::uint64_t> opened_ = 0;
  std::atomic<std::uint64_t> open_ = 0;
  std::atomic<std::int64_t> paused_ = 0;
  std::atomic<std::uint64_t> receiving_ = 0;

  Thread thread_;
};

}  // namespace kube::internal
