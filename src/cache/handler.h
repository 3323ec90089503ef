// HandlerThread: one event handler of an informer, with its queue and its thread.
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
    kSynced,  // all that was there at the beginning has been told
  };
  Kind kind = Kind::kAdd;
  // kAdd: it was there at the beginning. kUpdate: nothing changed, a resync. kDelete: the last state is not known.
  bool flag = false;
  ObjectRef before{};  // kUpdate; kDelete: its last state
  ObjectRef after{};   // kAdd, kUpdate; kDelete: what the cache had, where that is something else
};

// Told in the order of Push, one call at a time: on its own thread, or by who pushes, where the handler is quick and nothing waits for it.
//
// Thread safety: all functions from any thread; those for resyncs under the informer's lock.
// Lifetime: shared by the informer, the registration and its own thread.
class HandlerThread {
 public:
  // Starts the thread. `form` is of the objects, `what` names the informer.
  static std::shared_ptr<HandlerThread> Start(Handler handler, std::string name, bool quick, const ObjectForm& form,
                                              const std::string& what);
  ~HandlerThread();
  HandlerThread(const HandlerThread&) = delete;
  HandlerThread& operator=(const HandlerThread&) = delete;

  // Copies them behind what waits. Dropped once removed. True: the caller has to tell them, by Assist, which only happens where it
  // offers that and the handler is quick.
  [[nodiscard]] bool Push(std::span<const Notification> notifications, bool offers_to_tell);
  // Tells what waits, on the caller's thread; without locks that the handler may want.
  void Assist();
  // No calls begin any more; what waits is dropped. Does not wait.
  void Remove();
  // Remove, and wait for the thread; not in the handler itself, where it only removes.
  void RemoveAndWait();
  bool removed() const { return removed_; }
  // The handler itself is calling.
  bool OnThread() const { return thread_id_.load() == std::this_thread::get_id() || assistant_.load() == std::this_thread::get_id(); }

  bool HasSynced() const;
  // Errors: the context's if it has stopped, else kClosed if the handler was removed.
  Result<void> WaitForSync(const Context& ctx);
  HandlerStatus status() const;

  // ---- Resyncs: the informer's ----
  std::chrono::nanoseconds resync_period{};  // 0: none
  Clock::TimePoint next_resync{};

 private:
  HandlerThread(Handler handler, std::string name, bool quick, const ObjectForm& form, const std::string& what);
  void Run();
  // Empties it. False: removed meanwhile.
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
  bool assisted_ KUBE_GUARDED_BY(mu_) = false;  // somebody else will tell, or does: the thread keeps out of it
  bool assists_ KUBE_GUARDED_BY(mu_) = false;   // does so at this moment
  CondVar assist_over_;
  bool synced_ KUBE_GUARDED_BY(mu_) = false;
  std::size_t warn_at_ KUBE_GUARDED_BY(mu_) = 100'000;  // how many may wait before it is worth a line
  std::atomic<bool> removed_ = false;
  std::atomic<std::uint64_t> handled_ = 0;
  std::atomic<std::uint64_t> failures_ = 0;
  std::atomic<std::size_t> in_hand_ = 0;                                   // taken from `waiting_`, and not told yet
  std::optional<std::chrono::steady_clock::time_point> last_failure_log_;  // the thread's own

  Mutex join_mu_;
  Thread thread_ KUBE_GUARDED_BY(join_mu_);
  std::atomic<std::thread::id> thread_id_{};
  std::atomic<std::thread::id> assistant_{};
  std::vector<Notification> assist_batch_;  // the assistant's
};

// A thread that cannot be joined where its owner ends, because that is the thread itself. Joined when the next one comes, or at exit.
void Bury(Thread thread);

}  // namespace kube::internal
