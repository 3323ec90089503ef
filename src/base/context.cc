#include "kube/base/context.h"

#include <algorithm>

#include "kube/base/mutex.h"
#include "kube/base/stop_token.h"

namespace kube {
namespace internal {

// What a context carries, and what those before it do.
struct ContextValue {
  const std::type_info* type;
  std::shared_ptr<void> value;
  std::shared_ptr<const ContextValue> outer;
};

struct ContextState {
  using Link = std::stop_callback<std::function<void()>>;

  ContextState(std::shared_ptr<Clock> clock_in, std::shared_ptr<ContextState> parent_in)
      : clock(std::move(clock_in)), parent(std::move(parent_in)) {}

  // Stops this context, once. The reason is set before the stop is visible.
  void Stop(Error why) {
    {
      MutexLock lock(mu);
      if (!reason) reason = std::move(why);
    }
    // Every caller does this, not only the one that set the reason, which may not be here yet: the context has stopped when Stop returns.
    source.request_stop();
  }

  Error Reason() const {
    MutexLock lock(mu);
    return reason ? *reason : Error::Cancelled("context cancelled");
  }

  const std::shared_ptr<Clock> clock;
  // Keeps the chain to the root alive, so that a stop passes through contexts that have no other owner. Parents hold children weakly.
  const std::shared_ptr<ContextState> parent;
  std::optional<Clock::TimePoint> deadline;    // set once, before the state is shared
  std::shared_ptr<const ContextValue> values;  // set once, before the state is shared; mostly null
  std::stop_source source;

  mutable Mutex mu;
  std::optional<Error> reason KUBE_GUARDED_BY(mu);

  // Set before the state is shared, destroyed first. Their callbacks hold this state weakly, so the destructors, which wait for a
  // callback that is running, never wait for user code unless they run inside it.
  Timer timer;
  std::optional<Link> parent_link;
  std::optional<Link> token_link;
};

namespace {

// These are never destroyed: at exit, threads that are still running may need them.

const Error& TimeoutError() {
  static const Error& error = *new Error(Error::Timeout("context deadline exceeded"));
  return error;
}

const Error& CancelledError() {
  static const Error& error = *new Error(Error::Cancelled("context cancelled"));
  return error;
}

}  // namespace
}  // namespace internal

using internal::CancelledError;
using internal::ContextState;
using internal::TimeoutError;

struct Context::Registration::Callback {
  Callback(std::stop_token token, std::function<void()> callback) : link(std::move(token), std::move(callback)) {}
  ContextState::Link link;
};

Context::Registration::Registration() = default;
Context::Registration::Registration(Registration&&) noexcept = default;
Context::Registration& Context::Registration::operator=(Registration&&) noexcept = default;
Context::Registration::~Registration() = default;
Context::Registration::Registration(std::unique_ptr<Callback> callback) : callback_(std::move(callback)) {}

Context Context::Background() {
  static const Context background = Background(Clock::Real());
  return background;
}

Context Context::Background(std::shared_ptr<Clock> clock) { return Context(std::make_shared<ContextState>(std::move(clock), nullptr)); }

Context Context::Child(std::optional<TimePoint> deadline) const {
  auto child = std::make_shared<ContextState>(state_->clock, state_);
  child->deadline = state_->deadline;
  child->values = state_->values;
  const bool own_deadline = deadline && (!child->deadline || *deadline < *child->deadline);
  if (own_deadline) child->deadline = deadline;

  const std::weak_ptr<ContextState> weak = child;
  // Runs at once if the parent has stopped.
  child->parent_link.emplace(state_->source.get_token(), [weak] {
    if (const std::shared_ptr<ContextState> self = weak.lock()) self->Stop(self->parent->Reason());
  });
  if (own_deadline && !child->source.stop_requested()) {
    if (*deadline <= child->clock->Now()) {
      child->Stop(TimeoutError());
    } else {
      child->timer = child->clock->AddTimer(*deadline, [weak] {
        if (const std::shared_ptr<ContextState> self = weak.lock()) self->Stop(TimeoutError());
      });
      // A test may have moved its clock past the deadline in between: such a timer would wait for the next move.
      if (*deadline <= child->clock->Now()) child->Stop(TimeoutError());
    }
  }
  return Context(std::move(child));
}

Context Context::WithDeadline(TimePoint deadline) const { return Child(deadline); }

Context Context::WithTimeout(Duration timeout) const { return Child(state_->clock->Later(timeout)); }

std::pair<Context, CancelSource> Context::WithCancel() const {
  Context child = Child(std::nullopt);
  CancelSource source(child.state_);
  return {std::move(child), std::move(source)};
}

struct internal::ContextTokens {
  static Context With(const Context& parent, std::stop_token token) {
    Context child = parent.Child(std::nullopt);
    child.state_->token_link.emplace(std::move(token), [weak = std::weak_ptr<ContextState>(child.state_)] {
      if (const std::shared_ptr<ContextState> self = weak.lock()) self->Stop(CancelledError());
    });
    return child;
  }
  static std::stop_token Of(const Context& context) { return context.state_->source.get_token(); }
};

Context WithStopToken(const Context& parent, std::stop_token token) { return internal::ContextTokens::With(parent, std::move(token)); }

std::stop_token StopTokenOf(const Context& context) { return internal::ContextTokens::Of(context); }

Context Context::WithErased(const std::type_info& type, std::shared_ptr<void> value) const {
  Context child = Child(std::nullopt);
  child.state_->values = std::make_shared<internal::ContextValue>(internal::ContextValue{&type, std::move(value), state_->values});
  return child;
}

std::shared_ptr<void> Context::Erased(const std::type_info& type) const {
  for (const internal::ContextValue* at = state_->values.get(); at != nullptr; at = at->outer.get()) {
    if (*at->type == type) return at->value;
  }
  return nullptr;
}

bool Context::stopped() const { return state_->source.stop_requested(); }

std::optional<Error> Context::Err() const {
  if (!stopped()) return std::nullopt;
  return state_->Reason();
}

Result<void> Context::Check() const {
  if (std::optional<Error> error = Err()) return *std::move(error);
  return {};
}

std::optional<Context::TimePoint> Context::deadline() const { return state_->deadline; }

std::optional<Context::Duration> Context::remaining() const {
  if (!state_->deadline) return std::nullopt;
  return std::max(Duration::zero(), std::chrono::duration_cast<Duration>(*state_->deadline - state_->clock->Now()));
}

const std::shared_ptr<Clock>& Context::clock() const { return state_->clock; }

Result<void> Context::SleepFor(Duration duration) const { return SleepUntil(state_->clock->Later(duration)); }

Result<void> Context::SleepUntil(TimePoint when) const {
  if (std::optional<Error> error = Err()) return *std::move(error);
  if (when <= state_->clock->Now()) return {};
  Mutex mu;
  CondVar changed;
  bool due = false;
  const Timer timer = state_->clock->AddTimer(when, [&] {
    MutexLock lock(mu);
    due = true;
    changed.NotifyAll();
  });
  const Registration wake = OnDone([&] {
    MutexLock lock(mu);
    changed.NotifyAll();
  });
  // As above: if a clock moves past the moment before this thread sleeps, it finds no waiter to wake up.
  if (when <= state_->clock->Now()) return Check();
  MutexLock lock(mu);
  while (!due && !stopped()) changed.Wait(mu);
  lock.Unlock();
  return Check();
}

void Context::WaitUntilStopped() const {
  Mutex mu;
  CondVar changed;
  const Registration wake = OnDone([&] {
    MutexLock lock(mu);
    changed.NotifyAll();
  });
  MutexLock lock(mu);
  while (!stopped()) changed.Wait(mu);
}

Context::Registration Context::OnDone(std::function<void()> callback) const {
  return Registration(std::make_unique<Registration::Callback>(state_->source.get_token(), std::move(callback)));
}

CancelSource& CancelSource::operator=(CancelSource&& other) noexcept {
  if (this != &other) {
    Cancel();
    state_ = std::move(other.state_);
  }
  return *this;
}

CancelSource::~CancelSource() { Cancel(); }

void CancelSource::Cancel() const { Cancel(CancelledError()); }

void CancelSource::Cancel(Error cause) const {
  if (state_ != nullptr) state_->Stop(std::move(cause));
}

}  // namespace kube
