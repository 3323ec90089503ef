// greeter: a whole controller program. Every namespace has a ConfigMap `welcome`.
//
//   greeter [--leader-elect] [--metrics-bind-address=:8443] [--print-rbac] [--kubeconfig FILE] ...: see --help
#include <iostream>
#include <string>

#include "kube/api/core/v1.h"
#include "kube/control/controller.h"
#include "kube/control/desired_state.h"
#include "kube/control/main.h"
#include "kube/control/manager.h"

using kube::Action;
using kube::Context;
using kube::Result;
using kube::core::v1::ConfigMap;
using kube::core::v1::Namespace;

// [main]
int main(int argc, char** argv) {
  return kube::Main(argc, argv, "greeter", [](kube::Manager& manager) -> Result<void> {
    const auto greet = [cached = manager.cached()](const Context& ctx, const Namespace& ns) -> Result<Action> {
      ConfigMap welcome;
      welcome.metadata.name = "welcome";
      welcome.metadata.namespace_ = ns.metadata.name;
      welcome.data["text"] = "Hello " + ns.metadata.name.str();
      const Result<kube::Changes> changes = kube::DesiredState(cached, ns, "greeter").Want(welcome).Apply(ctx);
      if (!changes) return changes.error();
      std::cout << ns.metadata.name.str() + ": " + changes->Summary() + "\n" << std::flush;
      return Action::Done();
    };
    // Owns: watched, cached, and in the role of --print-rbac.
    return manager.Add(kube::ControllerFor<Namespace>("greeter").Owns<ConfigMap>().Reconcile(greet));
  });  // until SIGTERM
}
// [end]
