// Step 1 of docs/tutorial.md: which Deployments are there?
#include <iostream>

#include "kube/api/apps/v1.h"
#include "kube/client/client.h"
#include "kube/config/load.h"

using kube::apps::v1::Deployment;

// [main]
int main(int argc, char** argv) {
  kube::ConfigFlags flags;  // --kubeconfig, --context, --namespace ... as kubectl has them
  if (auto rest = flags.Parse(argc, argv); !rest) return std::cerr << rest.error().ToString() << "\n", 1;
  const auto config = flags.Load();
  if (!config) return std::cerr << config.error().ToString() << "\n", 1;
  const auto client = kube::Client::FromConfig(*config);
  if (!client) return std::cerr << client.error().ToString() << "\n", 1;

  const auto deployments = client->List<Deployment>(kube::SignalContext());
  if (!deployments) return std::cerr << deployments.error().ToString() << "\n", 1;
  for (const Deployment& deployment : *deployments) {
    std::cout << kube::KeyOf(deployment).ToString() << ": " << deployment.spec.replicas.value_or(1) << " replicas\n";
  }
  return 0;
}
// [end]
