// HandlerThread: one event handler of an informer, with its queue and thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/parker.h"
#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/cache/informer.h"

namespace kube::internal {

struct Notification {
  enum class Kind : std::uint8_t {
    kAdd,
    kUpdate,
    kDelete,
    kSynced,  // the initial list was delivered
  };
  Kind kind = Kind::kAdd;
  // kAdd: from the initial list. kUpdate: a resync. kDelete: the final state is unknown.
  bool flag = false;
  ObjectRef before{};  // kUpdate; kDelete: its last state
  ObjectRef after{};   // kAdd, kUpdate; kDelete: the cached version, if different
};

// Delivers notifications in the order of Push, one call at a time: on its own thread or, if the handler is non-blocking and nothing is
// queued, on the thread of the pushing caller.
//
// Thread safety: all functions may be called from any thread; those for resyncs under the informer's lock.
// Lifetime: shared by the informer, the registration and its own thread.
class HandlerThread {
 public:
  // Starts the thread. `form` is that of the objects; `what` names the informer.
  static std::shared_ptr<HandlerThread> Start(Handler handler, std::string name, bool quick, const ObjectForm& form,
                                              const std::string& what);
  ~HandlerThread();
  HandlerThread(const HandlerThread&) = delete;
  HandlerThread& operator=(const HandlerThread&) = delete;

  // Appends copies to the queue, or drops them if the handler was removed. Returns true if the caller must deliver them with Assist, which
  // happens only if it offers to and the handler is non-blocking.
  [[nodiscard]] bool Push(std::span<const Notification> notifications, bool offers_to_tell);
  // Delivers what is queued on the caller's thread. The caller must not hold locks that the handler may take.
  void Assist();
  // Starts no further calls and drops what is queued. Does not wait.
  void Remove();
  // Remove, and waits for the thread. Called by the handler itself, it only removes.
  void RemoveAndWait();
  bool removed() const { return removed_; }
  // Whether the caller is the handler itself.
  bool OnThread() const { return thread_id_.load() == std::this_thread::get_id() || assistant_.load() == std::this_thread::get_id(); }

  bool HasSynced() const;
  // Errors: the context's if it has stopped, else kClosed if the handler was removed.
  Result<void> WaitForSync(const Context& ctx);
  HandlerStatus status() const;

  // ---- Resyncs: for the informer ----
  std::chrono::nanoseconds resync_period{};  // 0: none
  Clock::TimePoint next_resync{};

 private:
  HandlerThread(Handler handler, std::string name, bool quick, const ObjectForm& form, const std::string& what);
  void Run();
  // Delivers all of the batch. Returns false if the handler was removed meanwhile.
  bool TellAll(std::vector<Notification>& batch);
  void Tell(const Notification& notification);
  void Call(const Notification& notification);
  void Failed(std::string_view what);

  const Handler handler_;
  const std::string name_;
  const bool quick_;
  const ObjectForm& form_;
  const Logger log_;

  mutable Mutex mu_;
  Parker bell_;  // the thread sleeps here: each event of a watch wakes it
  CondVar synced_changed_;
  std::vector<Notification> waiting_ KUBE_GUARDED_BY(mu_);
  bool sleeping_ KUBE_GUARDED_BY(mu_) = false;
  bool assisted_ KUBE_GUARDED_BY(mu_) = false;  // another thread will deliver or is delivering: this thread must not
  bool assists_ KUBE_GUARDED_BY(mu_) = false;   // that thread is delivering now
  CondVar assist_over_;
  bool synced_ KUBE_GUARDED_BY(mu_) = false;
  std::size_t warn_at_ KUBE_GUARDED_BY(mu_) = 100'000;  // log a warning at this queue length
  std::atomic<bool> removed_ = false;
  std::atomic<std::uint64_t> handled_ = 0;
  std::atomic<std::uint64_t> failures_ = 0;
  std::atomic<std::size_t> in_hand_ = 0;                                   // taken from `waiting_`, not delivered yet
  std::optional<std::chrono::steady_clock::time_point> last_failure_log_;  // used by the thread only

  Mutex join_mu_;
  Thread thread_ KUBE_GUARDED_BY(join_mu_);
  std::atomic<std::thread::id> thread_id_{};
  std::atomic<std::thread::id> assistant_{};
  std::vector<Notification> assist_batch_;  // used by the assisting thread only
};

// Keeps a thread that its owner cannot join because it is the owner's own thread. It is joined at the next call, or at exit.
void Bury(Thread thread);

}  // namespace kube::internal
