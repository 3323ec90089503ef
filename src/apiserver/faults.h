// The faults that are waiting for their request or event. See kube/apiserver/fault.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/store.h"
#include "kube/apiserver/fault.h"
#include "kube/base/mutex.h"

namespace kube::apiserver {

// Thread safety: all functions may be called from any thread.
class Faults {
 public:
  int Add(Fault fault);
  // False where it is used up or was never there, and nothing waits for its end.
  bool Remove(int id);
  void Clear();
  std::vector<std::pair<int, Fault>> All() const;

  // The fault for a request, if there is one; takes one of its times. Event faults and kGone are not for requests as such.
  // `id` becomes the fault's; who gets a kStall with one calls OnRemove.
  std::optional<Fault> Take(std::string_view verb, std::string_view resource, std::string_view ns, std::string_view name,
                            int* id = nullptr);
  // Calls `then` when the fault is removed or all are cleared, also where it is used up by then.
  void OnRemove(int id, std::function<void()> then);
  // Whether a watch (or list) of the resource shall get 410.
  bool TakeGone(std::string_view verb, std::string_view resource, std::string_view ns, std::string_view name);
  bool any_watch_faults() const { return watch_faults_.load(std::memory_order_relaxed); }
  // What a watcher gets instead of `event`: nothing, the event, or several. `held` is the stream's own: an event that waits for the next.
  std::vector<StoreEvent> FilterEvent(std::string_view resource, std::optional<StoreEvent>& held, const StoreEvent& event);

 private:
  struct Entry {
    int id = 0;
    Fault fault;
  };
  static bool Fits(const Fault& fault, std::string_view verb, std::string_view resource, std::string_view ns, std::string_view name);
  // Uses one of the entry's times up.
  void Use(std::size_t index) KUBE_REQUIRES(mu_);
  void Recount() KUBE_REQUIRES(mu_);

  mutable Mutex mu_;
  std::vector<Entry> entries_ KUBE_GUARDED_BY(mu_);
  int next_id_ KUBE_GUARDED_BY(mu_) = 1;
  int cleared_ KUBE_GUARDED_BY(mu_) = 0;        // every ID up to here is removed
  std::set<int> removed_ KUBE_GUARDED_BY(mu_);  // these are, too
  // Stalls that a request took: it waits for their end, and is about to say so with OnRemove.
  std::multiset<int> stalling_ KUBE_GUARDED_BY(mu_);
  std::vector<std::pair<int, std::function<void()>>> on_remove_ KUBE_GUARDED_BY(mu_);
  std::atomic<bool> watch_faults_{false};
};

}  // namespace kube::apiserver
