// Lifecycle: namespace deletion and garbage collection, like the controllers of a real cluster. One background thread.
//
//   namespaces         deletes the content of a terminating namespace, then its finalizer, then the namespace
//   owner references   deletes objects whose owners are all deleted; foreground and orphan deletion
//
// All of it is level-triggered: each change of an object queues the objects that it may affect, and processing one again is harmless.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "apiserver/core.h"
#include "base/keyed_hash.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"

namespace kube::apiserver {

class Lifecycle {
 public:
  // Starts to process the changes of the core's store.
  explicit Lifecycle(ApiCore& core);
  ~Lifecycle();

  void Start();
  void Stop();
  // Discards all state.
  void Forget();
  // Waits until nothing is left to do; returns false after the limit. For tests.
  bool WaitIdle(std::chrono::milliseconds limit);

 private:
  // The location of an object; the UID distinguishes it from another one with the same name.
  struct Place {
    std::string resource, ns, name, uid;
    auto operator<=>(const Place&) const = default;
  };

  void OnChange(const std::string& resource, const StoreEvent& event);
  void Enqueue(Place place) KUBE_REQUIRES(mu_);
  void Run();
  void Process(const Place& place);
  void ProcessNamespace(const std::string& name);
  void ProcessCrd(const Value& crd);
  void ProcessDeleting(const ServedResource& resource, const Place& place, const Value& object);
  void ProcessOwners(const ServedResource& resource, const Place& place, const Value& object);
  std::vector<Place> DependentsOf(const std::string& uid) const;
  bool Exists(const std::string& uid) const;

  ApiCore& core_;
  mutable Mutex mu_;
  CondVar changed_;
  bool stop_ KUBE_GUARDED_BY(mu_) = false;
  bool busy_ KUBE_GUARDED_BY(mu_) = false;
  std::deque<Place> queue_ KUBE_GUARDED_BY(mu_);
  std::set<Place> queued_ KUBE_GUARDED_BY(mu_);
  std::unordered_map<std::string, Place, kube::internal::KeyedHash> by_uid_ KUBE_GUARDED_BY(mu_);
  std::map<std::string, std::set<Place>> dependents_ KUBE_GUARDED_BY(mu_);  // owner's UID -> its dependents
  std::optional<Thread> thread_;
};

}  // namespace kube::apiserver
