// What a reconciler is given and what it answers.
//
//   Request      the key to look at, why, and for which time in a row
//   Action       what to do with the key next
//   Reconciler   the function that a controller calls
//
//   Result<Action> Reconcile(const Context& ctx, const Deployment& deployment) {   // as the cache has it; not called after its deletion
//     if (!Valid(deployment)) return Action::GiveUp(Error::Invalid("..."));       // until it changes, there is no use in trying again
//     if (Result<void> r = MakeService(ctx, deployment); !r) return r.error();    // again soon, then later and later
//     return Action::RequeueAfter(std::chrono::minutes(10));
//   }
//
//   Result<Action> Reconcile(const Context& ctx, const Request& request) {         // the key, and why; also after the deletion
//     Result<Ptr<Deployment>> deployment = cached.Get<Deployment>(ctx, request.key);
//     if (!deployment && IsNotFound(deployment.error())) return Action::Done();
//     if (!deployment) return deployment.error();                                 // exists and cannot be read: not the same as deleted
//     ...
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/meta/object_key.h"
#include "kube/value/string.h"

namespace kube {

enum class ChangeKind : std::uint8_t {
  kAdded,
  kUpdated,
  kDeleted,
  kResync,    // nothing changed: it is told again now and then
  kExternal,  // Controller::Enqueue
  kRetry,     // the run before failed
  kRequeue,   // the run before asked for it
};
KUBE_EXPORT std::string_view ToString(ChangeKind kind);

// Why a key was queued.
struct KUBE_EXPORT Cause {
  String source{};     // the watch: "services", "deployments.apps"; of retries and requeues empty
  ObjectKey object{};  // whose change it was; the key itself, or one of its children
  ChangeKind change = ChangeKind::kExternal;

  // "services default/web updated"
  std::string ToString() const;
  friend bool operator==(const Cause&, const Cause&) = default;
};

// Keys that are queued already are not queued again; their causes are collected, so that a run knows all that it is for.
struct KUBE_EXPORT Request {
  static constexpr std::size_t kMostCauses = 8;

  ObjectKey key{};
  int attempt = 1;              // 1 after a success; failures make it grow
  std::vector<Cause> causes{};  // the first ones, each once. May be empty: two changes were close, and the run before saw both
  std::size_t more_causes = 0;  // that had no room
  std::uint64_t id = 0;         // of this run; in the log
  bool Has(ChangeKind change) const;
};

// Small and cheap to copy.
class KUBE_EXPORT Action {
 public:
  // Nothing more to do until something changes.
  static Action Done() { return {}; }
  // Again after so long, or when something changes. The failures before are forgiven. Zero or less: at once.
  static Action RequeueAfter(std::chrono::nanoseconds delay) {
    Action action;
    action.after_ = delay;
    return action;
  }
  // Again soon, then later and later, as after an error, without being one.
  static Action Requeue() {
    Action action;
    action.requeue_ = true;
    return action;
  }
  // It failed, and will do so until something changes: logged and counted, not tried again.
  static Action GiveUp(Error error) {
    Action action;
    action.error_ = std::move(error);
    return action;
  }

  // Of the run that follows, instead of the priority that this one had.
  [[nodiscard]] Action WithPriority(int priority) const {
    Action action = *this;
    action.priority_ = priority;
    return action;
  }

  const std::optional<std::chrono::nanoseconds>& after() const { return after_; }
  bool requeue() const { return requeue_; }
  const std::optional<Error>& error() const { return error_; }
  const std::optional<int>& priority() const { return priority_; }

 private:
  std::optional<std::chrono::nanoseconds> after_{};
  std::optional<Error> error_{};
  std::optional<int> priority_{};
  bool requeue_ = false;
};

// Called by several workers at a time, never by two for one key. A key whose run returns an error is retried with backoff. An
// ErrorException, which Result::value() throws, counts as the error that it carries; any other exception is an error of kind kUserCode.
// `ctx` stops with the controller, when leadership is lost, and after ControllerOptions::reconcile_timeout.
using Reconciler = std::function<Result<Action>(const Context& ctx, const Request& request)>;

}  // namespace kube
