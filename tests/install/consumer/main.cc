#include <kube/api/core/v1.h>
#include <kube/kube.h>

#include <iostream>

using kube::core::v1::ConfigMap, kube::core::v1::Namespace;

kube::Result<void> AddGreeter(kube::Manager& manager) {
  auto greet = [cached = manager.cached()](const kube::Context& ctx, const Namespace& ns) {
    ConfigMap welcome;
    welcome.metadata = {.name = "welcome", .namespace_ = ns.metadata.name};
    welcome.data["text"] = "Hello " + ns.metadata.name.str();
    const auto changes = kube::DesiredState(cached, ns, "greeter").Want(welcome).Apply(ctx).value();  // an error is retried with backoff
    std::cout << ns.metadata.name.str() + ": " + changes.Summary() + "\n" << std::flush;
    return kube::Action::Done();
  };
  return manager.Add(kube::ControllerFor<Namespace>("greeter").Owns<ConfigMap>().Reconcile(greet));
}

int main(int argc, char** argv) { return kube::Main(argc, argv, "greeter", AddGreeter); }
