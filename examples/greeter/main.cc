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
using kube::Request;
using kube::Result;
using kube::core::v1::ConfigMap;
using kube::core::v1::Namespace;

// [main]
int main(int argc, char** argv) {
  return kube::Main(argc, argv, "greeter", [](kube::Manager& manager) -> Result<void> {
    const kube::Client client = manager.client();
    const kube::Lister<Namespace> namespaces = manager.informers().For<Namespace>().lister();
    return manager.Add(
        kube::ControllerFor<Namespace>("greeter")
            .Owns<ConfigMap>()
            .Applies<ConfigMap>()  // what the reconciler does to them: for --print-rbac, and for the check at start
            .Reconcile([namespaces, client](const Context& ctx, const Request& request) -> Result<Action> {
              const Result<kube::Ptr<Namespace>> found = namespaces.Get(request.key);
              if (!found) return Action::Done();
              ConfigMap welcome;
              welcome.metadata.name = "welcome";
              welcome.metadata.namespace_ = request.key.name;
              welcome.data["text"] = "Hello " + request.key.name.str();
              const Result<kube::Changes> changes =
                  kube::DesiredState(client, **found, {.field_manager = "greeter", .name = "welcome"}).Want(welcome).Apply(ctx);
              if (!changes) return changes.error();
              std::cout << request.key.name.str() + ": " + changes->Summary() + "\n" << std::flush;
              if (Result<void> good = changes->ToResult(); !good) return good.error();
              return Action::Done();
            }));
  });  // until SIGTERM
}
// [end]
