// Step 4 of docs/tutorial.md: the same with a controller, and the first thing that it does: each Deployment has a Service.
#include <iostream>

#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/control/controller.h"
#include "kube/control/desired_state.h"
#include "kube/control/main.h"
#include "kube/control/manager.h"

using kube::Action;
using kube::Context;
using kube::Result;
using kube::apps::v1::Deployment;
using kube::core::v1::Service;

namespace {

// [service]
Service ServiceFor(const Deployment& deployment) {
  Service service;
  service.metadata.name = deployment.metadata.name;
  service.spec.selector = deployment.spec.selector->match_labels;
  for (const auto& container : deployment.spec.template_.spec.containers) {
    for (const auto& port : container.ports) service.spec.ports.push_back({.name = port.name, .port = port.container_port});
  }
  return service;
}
// [end]

}  // namespace

int main(int argc, char** argv) {
  // [program]
  return kube::Main(argc, argv, "service", [](kube::Manager& manager) -> Result<void> {
    const kube::CachedClient cached = manager.cached();
    // [end]

    // [controller]
    const auto reconcile = [=](const Context& ctx, const Deployment& deployment) -> Result<Action> {
      kube::DesiredState desired(cached, deployment, "tutorial");
      const Service service = ServiceFor(deployment);
      desired.Manage<Service>();  // if none is wanted, none is left
      if (!service.spec.ports.empty()) desired.Want(service);
      const auto changes = desired.Apply(ctx);
      if (!changes) return changes.error();  // tried again later
      std::cout << kube::KeyOf(deployment).ToString() + ": " + changes->Summary() + "\n" << std::flush;
      return Action::Done();
    };
    // Owns: changes to a Service enqueue the Deployment that owns it.
    return manager.Add(kube::ControllerFor<Deployment>("service").Owns<Service>().Reconcile(reconcile));
    // [end]
  });
}
