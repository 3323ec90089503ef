// IoLoop: the one thread of a transport. It owns libcurl, waits with epoll, and takes orders from the threads that call.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "kube/base/mutex.h"
#include "kube/base/result.h"
#include "kube/base/thread.h"
#include "kube/transport/http_transport.h"
#include "transport/curl/call.h"
#include "transport/curl/pool.h"
#include "transport/curl/settings.h"

namespace kube::internal {

// Thread safety: the first group of functions from any thread; the rest is for the pools, on the loop's own thread.
// Lifetime: shared with the streams of answers; it does nothing any more after Stop, which the transport calls.
class IoLoop {
 public:
  // Errors: kInternal where the system gives no descriptors.
  static Result<std::shared_ptr<IoLoop>> Start(std::shared_ptr<const Settings> settings);
  IoLoop(const IoLoop&) = delete;
  IoLoop& operator=(const IoLoop&) = delete;
  ~IoLoop();

  // The call ends with kClosed where the loop has stopped.
  void Submit(const std::shared_ptr<Call>& call);
  // Nobody waits for it any more.
  void Cancel(const std::shared_ptr<Call>& call);
  // Its reader has room again.
  void Resume(const std::shared_ptr<Call>& call);
  void CloseConnections();
  // Ends all calls with kClosed and joins. Not on the loop's own thread.
  void Stop();
  TransportStats stats() const;

  // ---- For pools ----
  void Watch(Pool& pool, int fd, int what);
  void Opened(Connection& connection);
  void Used(Connection& connection);
  void Closed(Connection& connection);
  void WatchHealth(Connection& connection);
  void SawVersion(int major) { http1_ = major == 1; }
  void Remember(Transfer& transfer, const Error& cause) { causes_.insert_or_assign(&transfer, cause); }
  // Its answer has begun, and its body may not be sent yet.
  void AnsweredEarly(Transfer& transfer) { early_.push_back(&transfer); }
  void Paused(int change);
  std::uint64_t round() const { return round_; }
  static void PublishHead(Call& call);

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
    std::uint32_t wanted = 0;      // by libcurl
    std::uint32_t registered = 0;  // with epoll
  };

  explicit IoLoop(std::shared_ptr<const Settings> settings);
  void Post(Command command);
  void Run();
  int WaitTime();
  bool TakeCommands();
  void Handle(Command& command);
  void Register(int fd, Watched& watched, std::uint32_t events);
  // What libcurl sends between them goes out at once.
  void Cork();
  void Uncork();
  void OnEvent(int fd, std::uint32_t events);
  void RunTimers();
  void RunEarly();
  void CollectDone();
  void CollectDone(Pool& pool);

  // How many requests the HTTP/2 connections that are there can carry at once.
  std::size_t Streams() const;
  // When a request that waits since then is sent although there is no stream for it.
  TimePoint StartAnyway(TimePoint since) const;
  bool MayStart(TimePoint since);
  void StartWaiting();
  void StartCall(const std::shared_ptr<Call>& call);
  Pool& PoolFor(const std::shared_ptr<const TlsMaterial>& material);
  void DropOldPools();
  void CancelCall(Call& call);
  void ResumeCall(Call& call);
  void Finish(Transfer& transfer, CURLcode code);
  std::optional<Error> Outcome(Transfer& transfer, CURLcode code);
  void Publish(Call& call, std::optional<Error> error);
  void Forget(Transfer& transfer);

  void CheckTls();
  void CheckHealth();
  void CheckConnection(Connection& connection, std::vector<Connection*>& lost);
  void GiveUp(Connection& connection, Error cause);
  void EndAll();

  const std::shared_ptr<const Settings> settings_;
  int epoll_ = -1;
  int wake_ = -1;

  Mutex mu_;
  std::vector<Command> commands_ KUBE_GUARDED_BY(mu_);
  bool sleeping_ KUBE_GUARDED_BY(mu_) = false;
  bool stopping_ KUBE_GUARDED_BY(mu_) = false;

  // The loop's own.
  std::vector<Command> taken_;
  std::deque<Waiting> waiting_;
  std::vector<std::unique_ptr<Pool>> pools_;
  Pool* current_ = nullptr;
  std::vector<Watched> watched_;  // by descriptor
  std::vector<int> corked_;
  std::vector<Transfer*> early_;  // see RunEarly
  std::unordered_map<Transfer*, Error> causes_;
  TimePoint now_{};
  std::optional<TimePoint> next_check_;
  TimePoint next_tls_check_{};
  std::uint64_t round_ = 0;
  std::size_t in_curl_ = 0;
  std::size_t streaming_in_curl_ = 0;  // of them
  TimePoint last_overflow_{};          // when a request was sent although there was no stream for it
  bool http1_ = false;

  std::atomic<std::uint64_t> requests_ = 0;
  std::atomic<std::uint64_t> in_flight_ = 0;
  std::atomic<std::uint64_t> opened_ = 0;
  std::atomic<std::uint64_t> open_ = 0;
  std::atomic<std::int64_t> paused_ = 0;

  Thread thread_;
};

}  // namespace kube::internal
