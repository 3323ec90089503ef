// ProtobufRefusals: the resources that a server does not serve as protobuf, so that they are requested as JSON at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>

#include "kube/base/mutex.h"
#include "kube/meta/gvk.h"

namespace kube::internal {

// Thread safety: all functions may be called from any thread.
// Cost: one atomic load if no server has refused anything.
class ProtobufRefusals {
 public:
  // Beyond this number the oldest entry is dropped, which costs one more refusal.
  static constexpr std::size_t kMost = 256;

  bool Has(const Gvr& gvr) const {
    if (!any_.load(std::memory_order_relaxed)) return false;
    MutexLock lock(mu_);
    return std::find(gvrs_.begin(), gvrs_.end(), gvr) != gvrs_.end();
  }
  // Returns whether the entry is new.
  bool Add(const Gvr& gvr) {
    MutexLock lock(mu_);
    if (std::find(gvrs_.begin(), gvrs_.end(), gvr) != gvrs_.end()) return false;
    if (gvrs_.size() >= kMost) gvrs_.pop_front();
    gvrs_.push_back(gvr);
    any_.store(true, std::memory_order_relaxed);
    return true;
  }

 private:
  std::atomic<bool> any_{false};
  mutable Mutex mu_;
  std::deque<Gvr> gvrs_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::internal
