// The interface between a controller and its reconciler.
//
//   Request      the key to reconcile, the causes, and the attempt
//   Action       what to do with the key next
//   Reconciler   the function that a controller calls
//
//   Result<Action> Reconcile(const Context& ctx, const Deployment& deployment) {   // from the cache; not called after its deletion
//     if (!Valid(deployment)) return Action::GiveUp(Error::Invalid("..."));       // no retry until it changes
//     if (Result<void> r = MakeService(ctx, deployment); !r) return r.error();    // retried with backoff
//     return Action::RequeueAfter(std::chrono::minutes(10));
//   }
//
//   Result<Action> Reconcile(const Context& ctx, const Request& request) {         // the key and the causes; also after the deletion
//     Result<Ptr<Deployment>> deployment = cached.Get<Deployment>(ctx, request.key);
//     if (!deployment && IsNotFound(deployment.error())) return Action::Done();
//     if (!deployment) return deployment.error();                                 // exists but cannot be read: not the same as deleted
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

// How an object changed, or why a key was queued without a change.
enum class ChangeKind : std::uint8_t {
  kAdded,
  kUpdated,
  kDeleted,
  kResync,    // unchanged: a periodic notification
  kExternal,  // Controller::Enqueue
  kRetry,     // the previous run failed
  kRequeue,   // the previous run requested it
};
KUBE_EXPORT std::string_view ToString(ChangeKind kind);

// Why a key was queued.
struct KUBE_EXPORT Cause {
  String source{};     // the watch: "services", "deployments.apps"; empty for retries and requeues
  ObjectKey object{};  // the changed object: the key itself or one of its children
  ChangeKind change = ChangeKind::kExternal;

  // "services default/web updated"
  std::string ToString() const;
  friend bool operator==(const Cause&, const Cause&) = default;
};

// One run for one key. A queued key is not queued again; the causes are collected instead.
struct KUBE_EXPORT Request {
  // Maximum size of `causes`.
  static constexpr std::size_t kMostCauses = 8;

  ObjectKey key{};
  int attempt = 1;  // 1 after a success; incremented by each failure
  // The first kMostCauses causes, without duplicates. Empty if a change came so late that the previous run already saw it.
  std::vector<Cause> causes{};
  std::size_t more_causes = 0;  // causes beyond kMostCauses
  std::uint64_t id = 0;         // of this run, for logs
  // Whether any of the causes is of this kind.
  bool Has(ChangeKind change) const;
};

// What a run returns on success. Small and cheap to copy.
class KUBE_EXPORT Action {
 public:
  // Nothing more to do until something changes.
  static Action Done() { return {}; }
  // Runs again after `delay`, or earlier if something changes. Resets the failure count. Zero or less means at once.
  static Action RequeueAfter(std::chrono::nanoseconds delay) {
    Action action;
    action.after_ = delay;
    return action;
  }
  // Retries with backoff, as after an error, but without reporting one.
  static Action Requeue() {
    Action action;
    action.requeue_ = true;
    return action;
  }
  // A permanent failure: logged and counted, and not retried until something changes.
  static Action GiveUp(Error error) {
    Action action;
    action.error_ = std::move(error);
    return action;
  }

  // Priority of the next run; by default that of this one.
  [[nodiscard]] Action WithPriority(int priority) const {
    Action action = *this;
    action.priority_ = priority;
    return action;
  }

  // What was requested, for the controller.
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

// Called concurrently by several workers, never concurrently for one key. A key whose run returns an error is retried with backoff. An
// ErrorException, which Result::value() throws, is treated like the error it carries; any other exception like an error of kind kUserCode.
// `ctx` stops with the controller, when leadership is lost, and after ControllerOptions::reconcile_timeout.
using Reconciler = std::function<Result<Action>(const Context& ctx, const Request& request)>;

}  // namespace kube
