// WorkQueue: the keys to reconcile. Event handlers add keys, workers take them.
//
//   WorkQueue<> queue({.name = "pods"});                    // of ObjectKey; WorkQueue<std::string> and other keys work too
//
//   queue.Add(key);                                         // now
//   queue.AddAfter(key, 30s);                               // later
//   queue.AddRateLimited(key);                              // after a failure: 5 ms, 10 ms, 20 ms ...
//   queue.Add(key, {.priority = -100});                     // low priority; ageing prevents starvation
//
//   while (Result<ObjectKey> key = queue.Get(ctx)) {        // a worker; any number of threads may do this
//     if (Result<void> done = Sync(*key)) {
//       queue.Forget(*key);                                 // resets its failure count
//     } else {
//       queue.AddRateLimited(*key);
//     }
//     queue.Done(*key);                                     // always
//   }
//
// One class combines client-go's three queues and controller-runtime's priority queue: it deduplicates, delays, limits retries and supports
// priorities. docs/queues.md describes it in full.
#pragma once

#include <cstddef>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/meta/object_key.h"
#include "kube/queue/work_queue_base.h"

namespace kube {

namespace internal {

template <typename T>
struct KeyNode : WorkNode {
  explicit KeyNode(const T& k) : key(k) {}
  const T key;
};

// The key for logs; empty if it has no text form.
template <typename T>
std::string KeyText(const T& key) {
  if constexpr (requires { std::string(key.ToString()); }) {
    return std::string(key.ToString());
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return std::string(std::string_view(key));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(key);
  } else {
    return {};
  }
}

}  // namespace internal

// The hash of keys. Texts and ObjectKeys are hashed with a secret of the process, unlike with std::hash: a tenant may craft names that
// collide. Use it for other tables of such keys, and to hash your own key types:
//   std::unordered_map<ObjectKey, State, WorkHash<ObjectKey>>
template <typename T>
struct WorkHash : std::hash<T> {};
template <>
struct WorkHash<ObjectKey> {
  std::size_t operator()(const ObjectKey& key) const { return internal::HashTexts(key.ns, key.name); }
};
template <typename T>
requires std::is_same_v<T, std::string> || std::is_same_v<T, String> || std::is_same_v<T, std::string_view>
struct WorkHash<T> {
  std::size_t operator()(std::string_view text) const { return internal::HashTexts({}, text); }
};

// One key in a WorkQueueSnapshot.
template <typename T>
struct WorkQueueEntry {
  T key;
  KeyState state = KeyState::kQueued;
  bool again = false;                       // processing, and added again: it will be queued once more
  int priority = 0;                         // at which it is queued, waits, or was taken
  int requeues = 0;                         // see NumRequeues
  Clock::Duration age{};                    // time in the queue or in processing; zero if waiting
  std::optional<Clock::Duration> due_in{};  // time left if it waits, possibly in addition to its state
};

// The content of a queue, for debugging.
template <typename T>
struct WorkQueueSnapshot {
  std::size_t queued = 0;        // keys that a worker may take
  std::size_t processing = 0;    // keys that a worker has
  std::size_t waiting = 0;       // keys that are not due yet
  std::size_t idle_workers = 0;  // blocked in Get, Take or ProcessNext
  Clock::Duration oldest{};      // time that the oldest queued key has waited
  bool shutting_down = false;
  // Processing keys, longest first; then queued ones by priority and age; then those that only wait, earliest due first.
  std::vector<WorkQueueEntry<T>> entries;
};

// A queue of keys with deduplication, delays, rate limits and priorities.
//
// Guarantees:
//  - Two workers never have the same key at the same time.
//  - A queued key is not queued again. A key that is added while a worker has it, any number of times, is queued once when the worker calls
//    Done.
//  - A waiting key that is added with another delay keeps the earlier time. A plain Add does not cancel the wait: the key is taken now, and
//    again when it is due.
//  - The key with the highest priority is taken first, and among equals the oldest. Ageing prevents starvation (WorkQueueOptions::ageing):
//    a key is taken before every key that arrives more than ageing * (difference of priorities) after it. Adding a queued key with a higher
//    priority moves it to the end of that priority, unless its current place is better.
//  - After ShutDown, adds are ignored and waiting keys are dropped; queued keys can still be taken.
//
// Thread safety: all functions may be called from many threads at once.
// Lifetime: the destructor shuts down, drops what is left, and waits for callers that are blocked in Get, Take, ProcessNext and
//   ShutDownWithDrain. No call may start after that: remove event handlers and join workers first. An Item must not outlive its queue.
// Blocking and cancellation: Get, Take, ProcessNext and ShutDownWithDrain block until their context stops; nothing else blocks.
// Errors: the context's, even if keys are queued; kClosed after ShutDown once no key is left.
// Cost: one lock and one hash lookup per call; about 100 bytes plus the key for each key that is queued, waiting, processing, or failed and
//   not forgotten. No thread: delays use timers of the clock, one per queue. Adding a key wakes a worker only if one sleeps and none is
//   being woken.
template <typename T = ObjectKey, typename Hash = WorkHash<T>>
class WorkQueue {
 public:
  using Key = T;  // what the queue holds
  using Duration = Clock::Duration;

  // A key that a worker has taken. Its destructor calls Done.
  class [[nodiscard]] Item {
   public:
    Item(Item&& other) noexcept : queue_(other.queue_), node_(std::exchange(other.node_, nullptr)) {}
    Item& operator=(Item&& other) noexcept {
      if (this != &other) {
        Done();
        queue_ = other.queue_;
        node_ = std::exchange(other.node_, nullptr);
      }
      return *this;
    }
    ~Item() { Done(); }

    // Requires: neither Done nor moved from. The reference is valid as long as that holds.
    const T& key() const { return static_cast<const internal::KeyNode<T>*>(node_)->key; }
    const T& operator*() const { return key(); }
    const T* operator->() const { return &key(); }
    // The priority at which it was taken.
    int priority() const { return node_->priority; }

    // Marks the key as processed. Later calls do nothing.
    void Done() {
      if (node_ != nullptr) queue_->Done(std::exchange(node_, nullptr));
    }

   private:
    friend class WorkQueue;
    Item(internal::WorkQueueBase* queue, internal::WorkNode* node) : queue_(queue), node_(node) {}
    internal::WorkQueueBase* queue_;
    internal::WorkNode* node_;
  };

  explicit WorkQueue(WorkQueueOptions options = {}) : base_(kOps, std::move(options)) {}

  // Queues the key now, or as the options say.
  void Add(const T& key, const AddOptions& options = {}) { base_.Add(&key, Hash()(key), options); }
  // Queues the key after `delay`; at once if that is zero or less.
  void AddAfter(const T& key, Duration delay) { Add(key, {.after = delay}); }
  // Counts a failure of the key and queues it after the rate limiter's delay.
  void AddRateLimited(const T& key) { Add(key, {.rate_limited = true}); }
  // Resets the key's failure count. The worker must still call Done.
  void Forget(const T& key) { base_.Forget(&key, Hash()(key)); }
  // The number of rate-limited adds of the key since Forget.
  int NumRequeues(const T& key) const { return base_.NumRequeues(&key, Hash()(key)); }

  // Waits for the next key and returns it. The worker must call Done for it.
  Result<T> Get(const Context& ctx) {
    Result<internal::WorkNode*> node = base_.Get(ctx);
    if (!node) return node.error();
    return static_cast<const internal::KeyNode<T>*>(*node)->key;
  }
  // The same, but the returned Item calls Done. Slightly faster.
  Result<Item> Take(const Context& ctx) {
    Result<internal::WorkNode*> node = base_.Get(ctx);
    if (!node) return node.error();
    return Item(&base_, *node);
  }
  // Marks the key as processed. Does nothing if no worker has it.
  void Done(const T& key) { base_.Done(&key, Hash()(key)); }

  // Takes the next key, calls `work` for it and then Done. If `work` throws, that is logged and the key is added rate-limited. All other
  // retries, and Forget, are up to `work`. Errors: those of Get.
  //
  //   while (queue.ProcessNext(ctx, [&](const ObjectKey& key) { ... })) {}
  Result<void> ProcessNext(const Context& ctx, const std::function<void(const T& key)>& work) {
    Result<Item> item = Take(ctx);
    if (!item) return item.error();
    const T& key = item->key();
    if (!base_.Call([&] { work(key); }, internal::KeyText(key))) AddRateLimited(key);
    return {};
  }

  // The number of keys that workers could take now. For debugging only: it may change at once.
  std::size_t Len() const { return base_.Len(); }

  // Stops accepting keys. Workers can still take queued ones and then get kClosed. Does not block; may be called again.
  void ShutDown() { base_.ShutDown(); }
  // The same, but waits until all queued keys have been taken and are done, for which workers must keep running. Errors: the context's;
  // kClosed if ShutDown is called meanwhile, which ends the wait.
  Result<void> ShutDownWithDrain(const Context& ctx) { return base_.ShutDownWithDrain(ctx); }
  bool shutting_down() const { return base_.shutting_down(); }

  // Returns the current state and up to `max` keys. Cost: holds the lock while copying those keys.
  WorkQueueSnapshot<T> Snapshot(std::size_t max = 100) const {
    WorkQueueSnapshot<T> out;
    const internal::QueueCounts counts = base_.Visit(max, [&out](const internal::WorkNode& node, const internal::KeyInfo& info) {
      out.entries.push_back({static_cast<const internal::KeyNode<T>&>(node).key, info.state, info.again, info.priority, info.requeues,
                             info.age, info.due_in});
    });
    out.queued = counts.queued;
    out.processing = counts.processing;
    out.waiting = counts.waiting;
    out.idle_workers = counts.idle_workers;
    out.oldest = counts.oldest;
    out.shutting_down = counts.shutting_down;
    return out;
  }

 private:
  static bool Equal(const internal::WorkNode& node, const void* key) {
    return static_cast<const internal::KeyNode<T>&>(node).key == *static_cast<const T*>(key);
  }
  static internal::WorkNode* Construct(void* memory, const void* key) {
    return ::new (memory) internal::KeyNode<T>(*static_cast<const T*>(key));
  }
  static void Destroy(internal::WorkNode* node) { std::destroy_at(static_cast<internal::KeyNode<T>*>(node)); }
  static constexpr internal::KeyOps kOps{sizeof(internal::KeyNode<T>), alignof(internal::KeyNode<T>), &Equal, &Construct, &Destroy};

  internal::WorkQueueBase base_;
};

}  // namespace kube
