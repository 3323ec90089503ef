// Step 1 of docs/tutorial.md: which Deployments are there?
#include <iostream>

#include "kube/api/apps/v1.h"
#include "kube/client/client.h"
#include "kube/client/config_flags.h"

using kube::apps::v1::Deployment;

// [main]
int main(int argc, char** argv) {
  kube::ConfigFlags flags("list");  // --kubeconfig, --context, --namespace ... as kubectl has them
  return flags.Run(argc, argv, [&](const kube::Context& ctx, const kube::Client& client) -> kube::Result<void> {
    const auto deployments = client.List<Deployment>(ctx);
    if (!deployments) return deployments.error();
    for (const Deployment& deployment : *deployments) {
      std::cout << kube::KeyOf(deployment).ToString() << ": " << deployment.spec.replicas.value_or(1) << " replicas\n";
    }
    return {};
  });
}
// [end]
