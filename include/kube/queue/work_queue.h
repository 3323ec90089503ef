// WorkQueue: which keys have work to do. Event handlers add keys, workers take them.
//
//   WorkQueue<> queue({.name = "pods"});                    // of ObjectKey; WorkQueue<std::string> and others work as well
//
//   queue.Add(key);                                         // soon
//   queue.AddAfter(key, 30s);                               // then
//   queue.AddRateLimited(key);                              // after a failure: 5 ms, 10 ms, 20 ms ...
//   queue.Add(key, {.priority = -100});                     // when there is nothing better to do, but not never
//
//   while (Result<ObjectKey> key = queue.Get(ctx)) {        // a worker; any number of threads may do this
//     if (Result<void> done = Sync(*key)) {
//       queue.Forget(*key);                                 // of its failures
//     } else {
//       queue.AddRateLimited(*key);
//     }
//     queue.Done(*key);                                     // always
//   }
//
// One class has what client-go spreads over three queues and controller-runtime over a fourth: it de-duplicates, delays, limits retries
// and knows priorities. docs/queues.md is the long form.
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

// For logs; nothing for keys that have no text.
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

// How keys are hashed. Texts and ObjectKeys are hashed with a secret of the process, which std::hash does without: their names may be
// crafted to make a table slow. Use it for other tables of such keys, and to make the hash of a key type of your own:
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

// One key in a Snapshot.
template <typename T>
struct WorkQueueEntry {
  T key;
  KeyState state = KeyState::kQueued;
  bool again = false;                       // processing, and added again meanwhile: it will be queued once more
  int priority = 0;                         // with which it is queued, waits, or was taken
  int requeues = 0;                         // NumRequeues
  Clock::Duration age{};                    // queued or processing: for how long; waiting: zero
  std::optional<Clock::Duration> due_in{};  // it waits (too), and for how much longer
};

// What is in a queue; for people.
template <typename T>
struct WorkQueueSnapshot {
  std::size_t queued = 0;
  std::size_t processing = 0;
  std::size_t waiting = 0;
  std::size_t idle_workers = 0;  // who are blocked in Get, Take or ProcessNext
  Clock::Duration oldest{};      // how long the key that is queued the longest has been
  bool shutting_down = false;
  // Processing, the longest first; then queued, by priority and age; then those that only wait, the soonest first.
  std::vector<WorkQueueEntry<T>> entries;
};

// The promises:
//  - A key is never with two workers at a time.
//  - A key that is queued already is not queued again. However often a key is added while a worker has it, it is queued once more, when
//    the worker says Done.
//  - A key that waits and is added with a delay again keeps the earlier time. Add beside that does not end the waiting: the key is taken
//    now, and once more when its time has come.
//  - The one with the highest priority is taken first, and the oldest among equals. Waiting makes up for priority
//    (WorkQueueOptions::ageing): a key is taken before every key that comes more than ageing * (difference of priorities) after it.
//    Adding a queued key again with a higher priority moves it to the end of that priority, unless it is better off where it is.
//  - After ShutDown nothing gets in and what waits for its time is dropped; what is queued can still be taken.
//
// Thread safety: all functions from many threads at once.
// Lifetime: the destructor shuts down, drops what is left, and waits for callers that are blocked in Get, Take, ProcessNext and
// ShutDownWithDrain. Nobody may begin a call after that, so event handlers are removed and workers joined first; an Item must not outlive
// its queue.
// Blocking and cancellation: Get, Take, ProcessNext and ShutDownWithDrain block until their context stops; nothing else blocks.
// Errors: those of the context, also where keys are there; kClosed after ShutDown when no key is left.
// Cost: a lock and a hash lookup for each call, about 100 bytes and the key itself for each key that is queued, waits, is being processed
// or was not forgotten since it failed. No thread: delays are timers of the clock, one for each queue. Adding a key wakes a worker only if
// one sleeps and none is being woken.
template <typename T = ObjectKey, typename Hash = WorkHash<T>>
class WorkQueue {
 public:
  using Key = T;
  using Duration = Clock::Duration;

  // A key that a worker has taken. Its destructor says Done.
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

    // Requires: neither Done nor moved from; the reference lives as long.
    const T& key() const { return static_cast<const internal::KeyNode<T>*>(node_)->key; }
    const T& operator*() const { return key(); }
    const T* operator->() const { return &key(); }
    // With which it was taken.
    int priority() const { return node_->priority; }

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

  void Add(const T& key, const AddOptions& options = {}) { base_.Add(&key, Hash()(key), options); }
  // Not before `delay` has passed; at once if that is zero or less.
  void AddAfter(const T& key, Duration delay) { Add(key, {.after = delay}); }
  // Counts a failure of the key, and adds it after the delay that the limiter has for that.
  void AddRateLimited(const T& key) { Add(key, {.rate_limited = true}); }
  // The key's next failure is its first again. Changes nothing else: Done is still due.
  void Forget(const T& key) { base_.Forget(&key, Hash()(key)); }
  // How often the key was added rate-limited since Forget.
  int NumRequeues(const T& key) const { return base_.NumRequeues(&key, Hash()(key)); }

  // The next key, which this worker then has to call Done for. Waits for one.
  Result<T> Get(const Context& ctx) {
    Result<internal::WorkNode*> node = base_.Get(ctx);
    if (!node) return node.error();
    return static_cast<const internal::KeyNode<T>*>(*node)->key;
  }
  // The same, with a Done that nobody can forget; a little faster too.
  Result<Item> Take(const Context& ctx) {
    Result<internal::WorkNode*> node = base_.Get(ctx);
    if (!node) return node.error();
    return Item(&base_, *node);
  }
  // Of a key that nobody has taken: nothing happens.
  void Done(const T& key) { base_.Done(&key, Hash()(key)); }

  // Takes the next key, calls `work` for it and says Done. A `work` that throws is logged, and its key added rate-limited: whether it is
  // retried otherwise, and Forget, is up to `work`. Errors: those of Get.
  //
  //   while (queue.ProcessNext(ctx, [&](const ObjectKey& key) { ... })) {}
  Result<void> ProcessNext(const Context& ctx, const std::function<void(const T& key)>& work) {
    Result<Item> item = Take(ctx);
    if (!item) return item.error();
    const T& key = item->key();
    if (!base_.Call([&] { work(key); }, internal::KeyText(key))) AddRateLimited(key);
    return {};
  }

  // How many keys a worker could take at this moment; for people, too late for decisions.
  std::size_t Len() const { return base_.Len(); }

  // Workers can still take what is queued, then get kClosed. Returns at once. May be called again.
  void ShutDown() { base_.ShutDown(); }
  // The same, and waits until all that is queued has been taken and is done; for that, workers have to go on. Errors: the context's;
  // kClosed where ShutDown is called meanwhile, which ends the waiting.
  Result<void> ShutDownWithDrain(const Context& ctx) { return base_.ShutDownWithDrain(ctx); }
  bool shutting_down() const { return base_.shutting_down(); }

  // What is in the queue now; up to `max` keys of it. Cost: holds the lock for the time of copying that many keys.
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
