// The types of At. `make manifests` writes the CRD from them: comments become descriptions, +markers are kubebuilder's.
// +groupName=cnat.programming-kubernetes.info
// +versionName=v1alpha1
#pragma once

#include <kube/kind.h>

// [kind]
namespace cnat::v1alpha1 {

// The state of the schedule: PENDING until the command is started, then RUNNING until it has ended, then DONE.
// +k8s:enum
using AtPhase = kube::String;
inline constexpr std::string_view kAtPhasePending = "PENDING", kAtPhaseRunning = "RUNNING", kAtPhaseDone = "DONE";

// The desired state of At.
struct AtSpec {
  // Schedule is the time at which the command is executed: UTC, such as 2019-07-03T02:00:00Z. Another offset than Z is understood.
  // It may change while the phase is PENDING.
  // +kubebuilder:validation:MaxLength=64
  kube::String schedule{};
  // Command is executed by a shell in a busybox container. Without one, the pod prints a line.
  // +kubebuilder:validation:MaxLength=4096
  kube::String command{};

  KUBE_TABLE(AtSpec);
};

// The observed state of At.
struct AtStatus {
  AtPhase phase{};
  // Ready is False if the schedule cannot be read, the pod cannot be created, or the command has failed.
  // +listType=map
  // +listMapKey=type
  kube::List<kube::meta::v1::Condition> conditions{};

  KUBE_TABLE(AtStatus);
};

// At runs a command at a given schedule.
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name=Schedule,type=string,JSONPath=.spec.schedule
// +kubebuilder:printcolumn:name=Phase,type=string,JSONPath=.status.phase
// +kubebuilder:printcolumn:name=Ready,type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
struct At {
  kube::meta::v1::ObjectMeta metadata{};
  AtSpec spec{};
  AtStatus status{};

  KUBE_TABLE(At);
};

}  // namespace cnat::v1alpha1
// [end]
