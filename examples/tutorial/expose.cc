// Step 5 of docs/tutorial.md: an Ingress as well, a way to opt out, events, and reads that cost no requests. A small auto-expose.
#include <chrono>
#include <string>

#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/networking/v1.h"
#include "kube/control/controller.h"
#include "kube/control/desired_state.h"
#include "kube/control/event_recorder.h"
#include "kube/control/main.h"
#include "kube/control/manager.h"

using kube::Action;
using kube::Context;
using kube::Result;
using kube::apps::v1::Deployment;
using kube::core::v1::Service;
using kube::networking::v1::Ingress;

namespace {

Service ServiceFor(const Deployment& deployment) {
  Service service;
  service.metadata.name = deployment.metadata.name;
  service.spec.selector = deployment.spec.selector->match_labels;
  for (const auto& container : deployment.spec.template_.spec.containers) {
    for (const auto& port : container.ports) service.spec.ports.push_back({.name = port.name, .port = port.container_port});
  }
  return service;
}

// [ingress]
Ingress IngressFor(const Deployment& deployment, const Service& service) {
  kube::networking::v1::IngressServiceBackend target;
  target.name = service.metadata.name;
  target.port.number = service.spec.ports[0].port;
  kube::networking::v1::IngressBackend backend;
  backend.service = target;
  kube::networking::v1::HTTPIngressRuleValue http;
  http.paths.push_back({.path = "/", .path_type = "Prefix", .backend = backend});
  Ingress ingress;
  ingress.metadata.name = deployment.metadata.name;
  ingress.spec.rules.push_back(
      {.host = deployment.metadata.name.str() + "." + deployment.metadata.namespace_.str() + ".example.com", .http = http});
  return ingress;
}
// [end]

}  // namespace

int main(int argc, char** argv) {
  return kube::Main(argc, argv, "expose", [](kube::Manager& manager) -> Result<void> {
    const kube::CachedClient cached = manager.cached();

    // [events]
    const kube::EventRecorder events = manager.events("expose");
    // [end]
    // [reconcile]
    const auto reconcile = [=](const Context& ctx, const Deployment& deployment) -> Result<Action> {
      const Service service = ServiceFor(deployment);
      kube::DesiredState desired(cached, deployment, "tutorial");
      desired.Manage<Service, Ingress>();
      if (deployment.metadata.annotations.Get("example.com/expose") != "false" && !service.spec.ports.empty()) {
        desired.Want(service).Want(IngressFor(deployment, service));
      }
      const auto changes = desired.Apply(ctx);
      if (!changes) return changes.error();
      if (changes->Count(kube::ChildChange::Outcome::kConflict) > 0) {
        events.Event(deployment, kube::EventType::kWarning, "NameConflict", "Expose", changes->ToResult().error().message());
        return Action::RequeueAfter(std::chrono::minutes(1));  // the other object may be deleted; no watch reports that
      }
      if (changes->changed()) events.Event(deployment, kube::EventType::kNormal, "Exposed", "Expose", changes->Summary());
      return Action::Done();
    };
    // [end]
    return manager.Add(kube::ControllerFor<Deployment>("expose").Owns<Service>().Owns<Ingress>().Reconcile(reconcile));
  });
}
