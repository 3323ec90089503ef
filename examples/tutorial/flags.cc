// A controller with a flag of its own: docs/controllers.md shows these lines.
#include <iostream>
#include <string>

#include "kube/api/core/v1.h"
#include "kube/control/controller.h"
#include "kube/control/manager.h"
#include "kube/control/manager_flags.h"

using kube::Action;
using kube::Context;
using kube::Request;
using kube::Result;
using kube::core::v1::Namespace;

// [flags]
int main(int argc, char** argv) {
  std::string text = "Hello";
  int workers = 2;
  kube::ManagerFlags flags("greeter");
  flags.Add("text", &text, "what the ConfigMap says");
  flags.Add("workers", &workers, "namespaces to reconcile at once").Range(1, 100);
  return flags.Run(argc, argv, [&](kube::Manager& manager) -> Result<void> {
    const auto greet = [&text](const Context&, const Request& request) -> Result<Action> {
      std::cout << text + " " + request.key.name.str() + "\n" << std::flush;
      return Action::Done();
    };
    return manager.Add(kube::ControllerFor<Namespace>("greeter").Workers(workers).Reconcile(greet));
  });
}
// [end]
