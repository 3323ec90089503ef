// Context: cancellation and deadlines. The first parameter of every function that may block, as in Go.
//
//   Context::Background()        never stops
//   ctx.WithTimeout(5s)          a child that stops after 5 s, or when its parent stops
//   ctx.WithCancel()             a child and the CancelSource that stops it
//   ctx.WithValue(observer)      a child that carries a value to everything called with it
//   SignalContext()              stops at SIGINT or SIGTERM; for main()
//
// To wait for a condition or until a context stops, see wait_until.h.
#pragma once

#include <optional>
#include <typeinfo>
#include <utility>

#include "kube/base/clock.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"

namespace kube {

class CancelSource;

namespace internal {
struct ContextState;
struct ContextTokens;  // of stop_token.h
}  // namespace internal

// A stop signal, an optional deadline and a clock. Contexts form a tree: when one stops, all its descendants stop for the same reason.
//
// Example:
//   Result<void> Poll(Context ctx) {
//     Context soon = ctx.WithTimeout(std::chrono::seconds(10));
//     while (!Ready()) {
//       if (Result<void> slept = soon.SleepFor(std::chrono::milliseconds(200)); !slept) return slept;
//     }
//     return {};
//   }
//
// Thread safety: a context and its copies may be used from many threads at once.
// Lifetime: a child's timer and its link to the parent are freed with the last copy of the child.
// Cost: a copy is one reference count; a child is one allocation, plus a timer if it has its own deadline.
class KUBE_EXPORT Context {
 public:
  // As those of Clock.
  using Duration = Clock::Duration;
  using TimePoint = Clock::TimePoint;

  // Returned by OnDone. Its destructor ensures that the callback is not running and will not run: it waits for a callback that is running
  // on another thread. Do not destroy it while holding a lock that the callback takes.
  class KUBE_EXPORT Registration {
   public:
    Registration();
    Registration(Registration&&) noexcept;
    Registration& operator=(Registration&&) noexcept;
    ~Registration();

   private:
    friend class Context;
    struct Callback;
    explicit Registration(std::unique_ptr<Callback> callback);
    std::unique_ptr<Callback> callback_;
  };

  // The root of a tree. It never stops by itself. All descendants use `clock`.
  static Context Background();
  static Context Background(std::shared_ptr<Clock> clock);

  // Returns a child that stops at the deadline with Error::Timeout. The earlier deadline of child and parent applies. If the deadline is in
  // the past, the child is already stopped.
  [[nodiscard]] Context WithDeadline(TimePoint deadline) const;
  [[nodiscard]] Context WithTimeout(Duration timeout) const;  // a deadline from now

  // Returns a child and a source. The child stops when Cancel() of the source is called or the source is destroyed.
  [[nodiscard]] std::pair<Context, CancelSource> WithCancel() const;

  // Returns a child that carries `value`, as do its descendants. Use it for data that belongs to a request rather than to a function, such
  // as a WriteObserver. There is one value per type; an inner value hides the outer one.
  template <typename T>
  [[nodiscard]] Context WithValue(std::shared_ptr<T> value) const {
    return WithErased(typeid(T), std::move(value));
  }
  // The value of type T, or null. Cost: negligible if no context of the chain carries a value.
  template <typename T>
  std::shared_ptr<T> Value() const {
    return std::static_pointer_cast<T>(Erased(typeid(T)));
  }

  // Whether the context has stopped.
  bool stopped() const;

  // Nothing while the context is running; afterwards the reason why it stopped, always the same: kCancelled, kTimeout, or the argument of
  // Cancel().
  std::optional<Error> Err() const;

  // Err() as a Result, for `if (auto r = ctx.Check(); !r) return r.error();`.
  Result<void> Check() const;

  // The earliest deadline of this context and its ancestors; nothing if there is none.
  std::optional<TimePoint> deadline() const;

  // Time left until the deadline, at least zero; nothing if there is no deadline.
  std::optional<Duration> remaining() const;

  // The clock of the tree.
  const std::shared_ptr<Clock>& clock() const;

  // Blocks for `duration` by the context's clock. Returns ok after that, or the context's error if it stops first or has already stopped.
  Result<void> SleepFor(Duration duration) const;
  Result<void> SleepUntil(TimePoint when) const;  // the same, until a time

  // Blocks until the context stops.
  void WaitUntilStopped() const;

  // Calls `callback` once when the context stops, on the thread that stops it (for a deadline: the clock's thread), or immediately on this
  // thread if it has already stopped. The callback must be non-blocking and must not throw.
  [[nodiscard]] Registration OnDone(std::function<void()> callback) const;

 private:
  friend class CancelSource;
  friend struct internal::ContextTokens;
  explicit Context(std::shared_ptr<internal::ContextState> state) : state_(std::move(state)) {}
  Context Child(std::optional<TimePoint> deadline) const;
  Context WithErased(const std::type_info& type, std::shared_ptr<void> value) const;
  std::shared_ptr<void> Erased(const std::type_info& type) const;

  std::shared_ptr<internal::ContextState> state_;  // never null
};

// Stops the context that it was created with, at the latest when it is destroyed. Move-only.
//
// Thread safety: Cancel may be called from any thread, any number of times; the first call decides the error.
class KUBE_EXPORT CancelSource {
 public:
  CancelSource(CancelSource&&) noexcept = default;
  CancelSource& operator=(CancelSource&& other) noexcept;  // cancels the context that this object held
  ~CancelSource();

  // Stops the context and runs the OnDone callbacks of it and its descendants before it returns.
  void Cancel() const;
  // The same, with the error that Err() returns from then on.
  void Cancel(Error cause) const;

  // Releases the context: it then outlives this object.
  void Detach() { state_ = nullptr; }

 private:
  friend class Context;
  explicit CancelSource(std::shared_ptr<internal::ContextState> state) : state_(std::move(state)) {}
  std::shared_ptr<internal::ContextState> state_;
};

// The context of main(). It stops at the first SIGINT or SIGTERM. The second signal ends the process with exit code 1, so a program that
// hangs during shutdown can still be stopped from the keyboard.
//
// The first call installs the signal handlers and starts a thread; every call returns the same context. Threads that are already running
// keep their signal masks. Programs that handle signals themselves must not call this.
KUBE_EXPORT Context SignalContext();

}  // namespace kube
