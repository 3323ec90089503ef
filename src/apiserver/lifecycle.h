// Lifecycle: what the controllers of a real cluster do when things go away. One background thread.
//
//   namespaces      a namespace that is being deleted loses its content, then its finalizer, then goes
//   owner references   an object whose owners are all gone is deleted; foreground and orphan deletion
//
// All of it is level-triggered: each change of an object puts the objects that it may concern into a queue; looking at one again is
// harmless.
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
  // Reacts to the changes of the core's store from now on.
  explicit Lifecycle(ApiCore& core);
  ~Lifecycle();

  void Start();
  void Stop();
  // Everything it knew is gone.
  void Forget();
  // Waits until nothing is left to do; false where that takes longer. For tests.
  bool WaitIdle(std::chrono::milliseconds limit);

 private:
  // An object by where it is; its UID tells it from another one with the same name.
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
  std::map<std::string, std::set<Place>> dependents_ KUBE_GUARDED_BY(mu_);  // owner's UID -> who names it
  std::optional<Thread> thread_;
};

}  // namespace kube::apiserver
