#include <kube/api/core/v1.h>
#include <kube/control/controller.h>
#include <kube/control/desired_state.h>
#include <kube/control/manager.h>
#include <kube/control/manager_flags.h>

#include <iostream>

using kube::core::v1::ConfigMap, kube::core::v1::Namespace;

int main(int argc, char** argv) {
  kube::ManagerFlags flags("greeter");  // --kubeconfig, --leader-elect, --metrics-bind-address ...: see --help
  if (auto parsed = flags.Parse(argc, argv); !parsed) return flags.Fail(parsed.error());
  auto client = flags.NewClient();
  if (!client) return flags.Fail(client.error());
  kube::Manager manager(*client, flags.options);

  auto greet = [cached = manager.cached()](const kube::Context& ctx, const Namespace& ns) -> kube::Result<kube::Action> {
    ConfigMap welcome;
    welcome.metadata.name = "welcome";
    welcome.metadata.namespace_ = ns.metadata.name;
    welcome.data["text"] = "Hello " + ns.metadata.name.str();
    auto changes = kube::DesiredState(cached, ns, "greeter").Want(welcome).Apply(ctx);
    if (!changes) return changes.error();  // tried again, later and later
    std::cout << ns.metadata.name.str() + ": " + changes->Summary() + "\n" << std::flush;
    return kube::Action::Done();
  };
  auto added = manager.Add(kube::ControllerFor<Namespace>("greeter").Owns<ConfigMap>().Reconcile(greet));
  return added ? flags.Run(manager) : flags.Fail(added.error());  // until SIGTERM
}
