#include "src/at_controller.h"

#include <kube/api/core/v1.h>
#include <kube/base/log.h>
#include <kube/control/controller.h>
#include <kube/control/event_recorder.h>
#include <kube/control/status.h>
#include <kube/meta/conditions.h>
#include <kube/meta/owner_reference.h>
#include <kube/value/chrono.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "api/v1alpha1/at_types.h"

using cnat::v1alpha1::At;
using cnat::v1alpha1::kAtPhaseDone;
using cnat::v1alpha1::kAtPhasePending;
using cnat::v1alpha1::kAtPhaseRunning;
using kube::core::v1::Container;
using kube::core::v1::Pod;

namespace {

const kube::Logger kLog("at");

// The pods of Ats have this label, and no others are cached.
constexpr std::string_view kManagedBy = "app.kubernetes.io/managed-by", kAt = "at";
// Requeues count seconds, schedules are times of day: if the machine's clock is set or the machine sleeps, a schedule is late by this at
// most.
constexpr std::chrono::hours kLongestWait(1);
// No watch sees pods without our label.
constexpr std::chrono::minutes kRecheck(1);

kube::ObjectKey PodKey(const At& at) {
  return {at.metadata.namespace_, at.metadata.name.str() + "-pod"};
}

// What the restricted Pod Security Standard allows; without a token, as the command has nothing to do with the API server.
Pod PodFor(const At& at) {
  Pod pod;
  pod.metadata = {.name = PodKey(at).name, .namespace_ = at.metadata.namespace_};
  pod.metadata.labels[kManagedBy] = kAt;
  pod.spec.restart_policy = kube::core::v1::kRestartPolicyNever;  // the command runs once
  pod.spec.automount_service_account_token = false;
  Container container{.name = "command", .image = "busybox:latest"};
  container.command = {"/bin/sh", "-c", at.spec.command.empty() ? kube::String("echo It is time") : at.spec.command};
  auto& security = container.security_context.Mutable();
  security.run_as_non_root = true;
  security.run_as_user = 65532;
  security.allow_privilege_escalation = false;
  security.capabilities.Mutable().drop.push_back("ALL");
  security.seccomp_profile.Mutable().type = kube::core::v1::kSeccompProfileTypeRuntimeDefault;
  pod.spec.containers.push_back(container);
  return pod;
}

std::string WhyFailed(const Pod& pod) {
  for (const auto& container : pod.status.container_statuses) {
    if (container.state.terminated) return "exit code " + std::to_string(container.state.terminated->exit_code);
  }
  return pod.status.reason.empty() ? "no reason is known" : pod.status.reason.str();
}

// One pass over an At: collects what its status has to say.
class Pass {
 public:
  Pass(const kube::CachedClient& cached, const At& at) : cached_(cached), at_(at), status_(cached, at) {}

  // [run]
  kube::Result<kube::Action> Run(const kube::Context& ctx) {
    const kube::Result<kube::Ptr<Pod>> pod = cached_.Get<Pod>(ctx, PodKey(at_));
    if (pod) return kube::IsControlledBy(**pod, at_) ? Follow(**pod) : LeaveAlone();
    if (!kube::IsNotFound(pod.error())) return pod.error();
    if (at_.status.phase == kAtPhaseRunning) return Start(ctx);  // the pod was deleted before the command ended

    SetPhase(kAtPhasePending);
    const kube::Result<kube::Time> due = kube::Time::Parse(at_.spec.schedule);
    if (!due) {
      Say("False", "InvalidSchedule",
          "spec.schedule: expected a time such as 2019-07-03T02:00:00Z, got \"" + at_.spec.schedule.str() + "\"");
      return kube::Action::Done();  // until it changes
    }
    const std::chrono::nanoseconds wait = kube::ToChrono(*due) - ctx.clock()->WallNow();
    if (wait <= std::chrono::nanoseconds(0)) return Start(ctx);
    Say("True", "Scheduled", "waits until " + due->ToString());
    return kube::Action::RequeueAfter(std::min<std::chrono::nanoseconds>(wait, kLongestWait));
  }
  // [end]

  kube::StatusWriter<At>& status() { return status_; }

 private:
  kube::Result<kube::Action> Start(const kube::Context& ctx) {
    Pod pod = PodFor(at_);
    // Without blockOwnerDeletion, which takes a permission for Ats on some clusters.
    if (kube::Result<void> owned = kube::SetControllerReference(at_, pod, {.block_owner_deletion = false}); !owned) return owned.error();
    const kube::Result<Pod> created = cached_.Create(ctx, pod);
    if (created) {
      const bool again = at_.status.phase == kAtPhaseRunning;
      SetPhase(kAtPhaseRunning);
      Say("True", again ? "PodRecreated" : "PodCreated",
          "the command runs in Pod " + pod.metadata.name.str() + (again ? ", as the one before was deleted" : ""));
      return kube::Action::Done();
    }
    if (!kube::IsAlreadyExists(created.error())) {
      if (!kube::IsInvalid(created.error()) && !kube::IsForbidden(created.error())) return created.error();
      Say("False", "PodRefused", created.error().message());
      // A quota or a policy may change; the At of an invalid pod has to.
      if (kube::IsForbidden(created.error())) return created.error();
      return kube::Action::GiveUp(created.error());
    }
    // It lacks our label.
    const kube::Result<Pod> found = cached_.Live().Get<Pod>(ctx, PodKey(at_));
    if (!found) return found.error();
    if (!kube::IsControlledBy(*found, at_)) return LeaveAlone();
    (void)Follow(*found);
    return status_->phase == kAtPhaseDone ? kube::Action::Done() : kube::Action::RequeueAfter(kRecheck);
  }

  kube::Action Follow(const Pod& pod) {
    const std::string name = "Pod " + pod.metadata.name.str();
    if (pod.status.phase == kube::core::v1::kPodSucceeded) {
      SetPhase(kAtPhaseDone);
      Say("True", "PodSucceeded", name + " has succeeded");
    } else if (pod.status.phase == kube::core::v1::kPodFailed) {
      SetPhase(kAtPhaseDone);
      Say("False", "PodFailed", name + " has failed: " + WhyFailed(pod));
    } else if (at_.status.phase != kAtPhaseRunning || !kube::IsStatusConditionTrue(at_.status.conditions, "Ready")) {
      SetPhase(kAtPhaseRunning);
      Say("True", "PodCreated", "the command runs in " + name);
    }
    return kube::Action::Done();
  }

  kube::Action LeaveAlone() {
    if (at_.status.phase.empty()) SetPhase(kAtPhasePending);
    Say("False", "PodExists", "Pod " + PodKey(at_).name.str() + " does not belong to this At and is left alone");
    return kube::Action::RequeueAfter(kRecheck);
  }

  void SetPhase(std::string_view phase) { status_->phase = phase; }
  void Say(std::string_view status, std::string_view reason, const std::string& message) {
    status_.SetCondition({.type = "Ready", .status = status, .reason = reason, .message = message});
  }

  const kube::CachedClient& cached_;
  const At& at_;
  kube::StatusWriter<At> status_;
};

// Called with each At that is created or changes, or whose pod changes. An error is logged, and the call repeated with backoff.
kube::Result<kube::Action> Reconcile(const kube::Context& ctx, const kube::CachedClient& cached, const kube::EventRecorder& events,
                                     const At& at) {
  if (at.status.phase == kAtPhaseDone || !at.metadata.deletion_timestamp.IsZero()) return kube::Action::Done();
  Pass pass(cached, at);
  const kube::Result<kube::Action> action = pass.Run(ctx);
  if (kube::Result<bool> written = pass.status().Write(ctx); !written) return written.error();

  const std::string_view phase = pass.status()->phase;
  if (phase != at.status.phase) kLog.Info("The phase has changed", {{"object", kube::KeyOf(at).ToString()}, {"phase", phase}});
  // Each news in the status is also an event.
  const auto* before = kube::FindStatusCondition(at.status.conditions, "Ready");
  const auto* ready = kube::FindStatusCondition(pass.status()->conditions, "Ready");
  if (ready != nullptr && (before == nullptr || before->reason != ready->reason || before->message != ready->message)) {
    const kube::EventType type = ready->status == "True" ? kube::EventType::kNormal : kube::EventType::kWarning;
    events.Event(at, type, ready->reason, "Reconcile", ready->message);
  }
  return action;
}

}  // namespace

// [setup]
kube::Result<void> SetupAtController(kube::Manager& manager) {
  kube::InformerOptions pods = manager.informers().defaults();
  pods.label_selector = std::string(kManagedBy) + "=" + std::string(kAt);
  pods.strip_managed_fields = true;
  const auto reconcile = [cached = manager.cached(), events = manager.events("at")](const kube::Context& ctx, const At& at) {
    return Reconcile(ctx, cached, events, at);
  };
  return manager.Add(kube::ControllerFor<At>("at")
                         .WatchesOwned<Pod>({.informer = pods})
                         .MayWrite<Pod>({"get", "create"})
                         .MayWriteStatus()
                         .Reconcile(reconcile));
}
// [end]
