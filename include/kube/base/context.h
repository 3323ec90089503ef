// Context: when to stop. The first parameter of everything that may block.
//
//   Context::Background()        never stops
//   ctx.WithTimeout(5s)          a child that stops after 5 s, or when its parent stops
//   ctx.WithCancel()             a child and the CancelSource that stops it
//   ctx.WithValue(observer)      a child that carries something for those who work in its name
//   SignalContext()              stops at SIGINT or SIGTERM; for main()
//
// wait_until.h waits for a condition, or until a context stops.
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

// A stop signal, an optional deadline and a clock. Contexts form a tree: when one stops, all its descendants stop, for the same reason.
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
// Thread safety: copies and one object alike may be used from many threads at once.
// Lifetime: a child's timer and its link to the parent are freed with the last copy of the child.
// Cost: a copy is one reference count; a child is one allocation, plus a timer if it has a deadline of its own.
class KUBE_EXPORT Context {
 public:
  using Duration = Clock::Duration;
  using TimePoint = Clock::TimePoint;

  // What OnDone returns. Its destructor makes sure that the callback is not running and will not run: it waits for one that is running
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

  // The root of a tree. Never stops by itself. All descendants use `clock`.
  static Context Background();
  static Context Background(std::shared_ptr<Clock> clock);

  // A child that stops at the deadline with Error::Timeout. The earlier of this deadline and the parent's counts. A deadline in the
  // past gives a child that is stopped already.
  [[nodiscard]] Context WithDeadline(TimePoint deadline) const;
  [[nodiscard]] Context WithTimeout(Duration timeout) const;

  // A child that stops when the source's Cancel() is called or the source is destroyed.
  [[nodiscard]] std::pair<Context, CancelSource> WithCancel() const;

  // A child that carries `value`, and gives it to all that are made from it: for what belongs to a piece of work rather than to a
  // function, such as who is told of its writes. One value of each type; an inner one hides that of the outer context.
  template <typename T>
  [[nodiscard]] Context WithValue(std::shared_ptr<T> value) const {
    return WithErased(typeid(T), std::move(value));
  }
  // Null where there is none. Cost: nothing to speak of where no context of the chain has a value.
  template <typename T>
  std::shared_ptr<T> Value() const {
    return std::static_pointer_cast<T>(Erased(typeid(T)));
  }

  bool stopped() const;

  // Nothing while the context goes on; afterwards why it stopped, the same each time: kCancelled, kTimeout, or what Cancel() was given.
  std::optional<Error> Err() const;

  // The same as a Result, for `if (auto r = ctx.Check(); !r) return r.error();`.
  Result<void> Check() const;

  std::optional<TimePoint> deadline() const;

  // Time left until the deadline, at least zero; nothing without a deadline.
  std::optional<Duration> remaining() const;

  const std::shared_ptr<Clock>& clock() const;

  // Blocks for `duration` of the context's clock. Ok when it has passed; the reason of the stop when the context stops first, or has
  // stopped before.
  Result<void> SleepFor(Duration duration) const;
  Result<void> SleepUntil(TimePoint when) const;

  // Blocks until the context stops.
  void WaitUntilStopped() const;

  // Calls `callback` once, when the context stops: on the thread that stops it (for a deadline: the clock's), or here and now if it has
  // stopped already. The callback must be quick and must not throw.
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

// Stops the context that it came with; at the latest when it is destroyed. Move-only.
//
// Thread safety: Cancel may be called from any thread, any number of times; the first call counts.
class KUBE_EXPORT CancelSource {
 public:
  CancelSource(CancelSource&&) noexcept = default;
  CancelSource& operator=(CancelSource&& other) noexcept;  // cancels what this object held
  ~CancelSource();

  // Stops the context and runs the OnDone callbacks of it and its descendants before returning.
  void Cancel() const;
  // The same, with the error that Err() shall give from then on.
  void Cancel(Error cause) const;

  // Lets the context go on after this object is gone.
  void Detach() { state_ = nullptr; }

 private:
  friend class Context;
  explicit CancelSource(std::shared_ptr<internal::ContextState> state) : state_(std::move(state)) {}
  std::shared_ptr<internal::ContextState> state_;
};

// The context of main(): stops at the first SIGINT or SIGTERM; the second one ends the process with exit code 1, so a program that
// hangs in its shutdown can still be ended from the keyboard.
//
// The first call installs the signal handlers and starts a thread; every call returns the same context. Threads that run at that time
// keep their signal masks. Programs that handle signals themselves do not call this.
KUBE_EXPORT Context SignalContext();

}  // namespace kube
