// +groupName=cron.example.com
// +versionName=v1
#pragma once

#include <kube/api/batch/v1.h>
#include <kube/api/core/v1.h>
#include <kube/kind.h>

namespace cron::v1 {

// CronThingSpec says when and what.
struct CronThingSpec {
  // When it runs.
  // +required
  // +kubebuilder:validation:MinLength=0
  kube::String schedule{};
  std::optional<std::int64_t> starting_deadline_seconds{};
  // What runs.
  // +required
  kube::batch::v1::JobTemplateSpec job_template{};
  kube::Box<kube::core::v1::PodTemplateSpec> pod{};
  kube::List<kube::core::v1::PersistentVolumeClaim> claims{};
  kube::Box<kube::meta::v1::LabelSelector> selector{};
  kube::core::v1::ResourceRequirements resources{};

  KUBE_TABLE(CronThingSpec);
};

// CronThingStatus is what it did.
struct CronThingStatus {
  kube::List<kube::core::v1::ObjectReference> active{};
  kube::Time last_schedule_time{};

  KUBE_TABLE(CronThingStatus);
};

// CronThing runs things.
// +kubebuilder:subresource:status
struct CronThing {
  kube::meta::v1::ObjectMeta metadata{};
  CronThingSpec spec{};
  CronThingStatus status{};

  KUBE_TABLE(CronThing);
};

}  // namespace cron::v1
