// webhook: a policy for Deployments, which API servers enforce by calling this program.
//
//   webhook --webhook-install [--webhook-url https://HOST:PORT] [--kubeconfig FILE] ...
#include "kube/control/main.h"
#include "deployment_policy.h"
#include "kube/control/manager.h"

int main(int argc, char** argv) {
  return kube::Main(argc, argv, "webhook", [](kube::Manager& manager) { return manager.Add(DeploymentPolicy()); });
}
