// Between the versions of a resource that is served in more than one shape.
//
//   events.k8s.io/v1 Event               is stored as v1 Event
//   autoscaling/v1 HorizontalPodAutoscaler   is stored as autoscaling/v2; what v1 cannot say stands in annotations
//
// All other resources look the same in all their versions, and only apiVersion changes.
#pragma once

#include "apiserver/builtin/catalogue.h"
#include "kube/value/value.h"

namespace kube::core::v1 {
struct Event;
}
namespace kube::events::v1 {
struct Event;
}
namespace kube::autoscaling::v1 {
struct HorizontalPodAutoscaler;
}
namespace kube::autoscaling::v2 {
struct HorizontalPodAutoscaler;
}

namespace kube::apiserver {

// `object` is of `resource.type`; the result is of `resource.stored_type`. Objects that do not decode are returned as they are.
Value ConvertForStorage(const BuiltinResource& resource, Value object);
// The other way round.
Value ConvertFromStorage(const BuiltinResource& resource, Value stored);

// The same for structs.
core::v1::Event ToCoreEvent(const events::v1::Event& event);
autoscaling::v2::HorizontalPodAutoscaler ToV2Autoscaler(const autoscaling::v1::HorizontalPodAutoscaler& autoscaler);

}  // namespace kube::apiserver
