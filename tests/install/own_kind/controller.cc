// A controller of Networks, for what it registers.
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
#include <kube/control/main.h>
#include <kube/control/manager.h>

#include "api/v1/network_types.h"

int main(int argc, char** argv) {
  return kube::Main(argc, argv, "controller", [](kube::Manager& manager) {
    return manager.Add(
        kube::ControllerFor<own::v1::Network>("networks")
            .Reconcile([](const kube::Context&, const own::v1::Network&) -> kube::Result<kube::Action> { return kube::Action::Done(); }));
  });
}
