// The active faults, waiting for a matching request or event. See kube/apiserver/fault.h.
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
  // Returns false if it does not exist, or is used up and nothing waits for its end.
  bool Remove(int id);
  void Clear();
  std::vector<std::pair<int, Fault>> All() const;

  // Returns the fault for a request, if there is one, and uses it once. Excludes event faults and kGone. `id` is set to the fault's id;
  // after a kStall, call OnRemove with it.
  std::optional<Fault> Take(std::string_view verb, std::string_view resource, std::string_view ns, std::string_view name,
                            int* id = nullptr);
  // Calls `then` when the fault is removed or all are cleared, even if it is used up by then.
  void OnRemove(int id, std::function<void()> then);
  // Whether a watch (or list) of the resource must get 410.
  bool TakeGone(std::string_view verb, std::string_view resource, std::string_view ns, std::string_view name);
  bool any_watch_faults() const { return watch_faults_.load(std::memory_order_relaxed); }
  // What a watcher gets instead of `event`: nothing, the event, or several. `held` belongs to the stream: an event that is delayed until
  // after the next.
  std::vector<StoreEvent> FilterEvent(std::string_view resource, std::optional<StoreEvent>& held, const StoreEvent& event);

 private:
  struct Entry {
    int id = 0;
    Fault fault;
  };
  static bool Fits(const Fault& fault, std::string_view verb, std::string_view resource, std::string_view ns, std::string_view name);
  // Uses the entry once.
  void Use(std::size_t index) KUBE_REQUIRES(mu_);
  void Recount() KUBE_REQUIRES(mu_);

  mutable Mutex mu_;
  std::vector<Entry> entries_ KUBE_GUARDED_BY(mu_);
  int next_id_ KUBE_GUARDED_BY(mu_) = 1;
  int cleared_ KUBE_GUARDED_BY(mu_) = 0;        // every id up to here is removed
  std::set<int> removed_ KUBE_GUARDED_BY(mu_);  // and these
  // Stalls in use: a request waits for their end and will call OnRemove.
  std::multiset<int> stalling_ KUBE_GUARDED_BY(mu_);
  std::vector<std::pair<int, std::function<void()>>> on_remove_ KUBE_GUARDED_BY(mu_);
  std::atomic<bool> watch_faults_{false};
};

}  // namespace kube::apiserver
