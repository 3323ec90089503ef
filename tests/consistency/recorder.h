// Recorder: an event handler that keeps its notifications, and checks that they are consistent.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kube/api/core/v1.h"
#include "kube/base/mutex.h"
#include "kube/cache/informer.h"

namespace kube::consistency {

using core::v1::ConfigMap;
using View = std::map<ObjectKey, Ptr<ConfigMap>>;

std::uint64_t VersionOf(const ConfigMap& object);
ObjectKey KeyOf(const ConfigMap& object);
// How the two differ, for a person; empty if they do not.
std::string Difference(const View& a, const View& b);

struct RecorderOptions {
  std::string name{};
  int throw_every = 0;     // throws at each such call, after it took note
  bool only_blue = false;  // has a filter: only objects with color=blue
  bool quick = false;      // told on the informer's thread, so it must not be blocked
};

// Thread safety: all functions from any thread.
class Recorder : public std::enable_shared_from_this<Recorder> {
 public:
  explicit Recorder(RecorderOptions options) : options_(std::move(options)) {}

  EventHandler<ConfigMap> Handler();
  const RecorderOptions& options() const { return options_; }

  // Calls wait while it is blocked: a handler that is slow.
  void Block();
  void Unblock();
  // Calls that come from now on are wrong.
  void Retire();

  // What replaying all calls gives.
  View view() const;
  // Until the view is `wanted`. False if it is not within `limit` of real time.
  bool WaitFor(const View& wanted, std::chrono::steady_clock::duration limit) const;
  std::vector<std::string> mistakes() const;
  // The last calls, for a person.
  std::string History() const;

 private:
  void OnAdd(const Ptr<ConfigMap>& object, bool initial);
  void OnUpdate(const Ptr<ConfigMap>& before, const Ptr<ConfigMap>& after);
  void OnDelete(const Deleted<ConfigMap>& gone);
  void Begin(std::string what) KUBE_REQUIRES(mu_);
  void End() KUBE_REQUIRES(mu_);  // may throw
  void Mistake(const std::string& what) KUBE_REQUIRES(mu_);
  void CheckVersion(const ConfigMap& object) KUBE_REQUIRES(mu_);

  const RecorderOptions options_;
  mutable Mutex mu_;
  mutable CondVar changed_;
  bool blocked_ KUBE_GUARDED_BY(mu_) = false;
  bool retired_ KUBE_GUARDED_BY(mu_) = false;
  bool running_ KUBE_GUARDED_BY(mu_) = false;
  int calls_ KUBE_GUARDED_BY(mu_) = 0;
  View view_ KUBE_GUARDED_BY(mu_);
  std::map<ObjectKey, std::uint64_t> versions_ KUBE_GUARDED_BY(mu_);  // the newest reported; also of deleted objects
  std::vector<std::string> history_ KUBE_GUARDED_BY(mu_);
  std::vector<std::string> mistakes_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::consistency
