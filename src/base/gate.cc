#include "kube/base/gate.h"

#include "kube/base/wait_until.h"

namespace kube {

std::optional<Gate::Holder> Gate::Enter() {
  MutexLock lock(mu_);
  if (closed_) return std::nullopt;
  ++count_;
  return Holder(this);
}

void Gate::Leave() {
  MutexLock lock(mu_);
  --count_;
  // Under the lock: once it is released, Close() may return and the gate may be gone.
  if (count_ == 0) empty_.NotifyAll();
}

void Gate::Close() {
  MutexLock lock(mu_);
  closed_ = true;
  while (count_ > 0) empty_.Wait(mu_);
}

Result<void> Gate::Close(const Context& ctx) {
  MutexLock lock(mu_);
  closed_ = true;
  return WaitUntil(ctx, mu_, empty_, [this] {
    mu_.AssertHeld();
    return count_ == 0;
  });
}

bool Gate::closed() const {
  MutexLock lock(mu_);
  return closed_;
}

std::size_t Gate::count() const {
  MutexLock lock(mu_);
  return count_;
}

}  // namespace kube
