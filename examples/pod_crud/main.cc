// pod_crud: creates a pod, reads it, changes its labels with optimistic locking, reads it again and deletes it.
//
//   pod_crud [--kubeconfig FILE] [--context NAME] [--namespace NAME]
#include <iostream>
#include <string>
#include <vector>

#include "kube/api/core/v1.h"
#include "kube/base/context.h"
#include "kube/client/client.h"
#include "kube/client/config_flags.h"
#include "kube/client/retry.h"

using kube::Result;
using kube::core::v1::Pod;

namespace {

void PrintLabels(const Pod& pod) {
  std::string text;
  for (const auto& [key, value] : pod.metadata.labels) {
    if (!text.empty()) text += " ";
    text += key.str() + ":" + value.str();
  }
  std::cout << "map[" << text << "]\n";
}

}  // namespace

int main(int argc, char** argv) {
  kube::ConfigFlags flags("pod_crud");
  return flags.Run(argc, argv, [&](const kube::Context& ctx, const kube::Client& client) {
    const kube::ObjectKey key{kube::String(client.default_namespace()), "client-test"};

    // [create]
    Pod pod;
    pod.metadata.namespace_ = key.ns;
    pod.metadata.name = key.name;
    pod.metadata.labels = {{"k", "v"}};
    pod.spec.containers.push_back({.name = "busybox", .image = "busybox:latest", .command = {"sleep", "1000"}});
    // A server without a controller manager has no service account for the pod to use.
    pod.spec.automount_service_account_token = false;
    const Pod created = client.Create(ctx, pod).value();
    std::cerr << "created pod " << created.metadata.name << "\n";
    PrintLabels(client.Get<Pod>(ctx, key).value());
    // [end]

    // [update]
    // The server rejects an update of any version but the newest: read and try again.
    const auto relabel = [&]() -> Result<void> {
      return client.Get<Pod>(ctx, key).and_then([&](Pod current) {
        current.metadata.labels = {{"patch", "v1"}};
        return client.Update(ctx, current).transform([](const Pod&) {});
      });
    };
    kube::RetryOnConflict(ctx, relabel).value();
    // [end]
    PrintLabels(client.Get<Pod>(ctx, key).value());

    client.Delete<Pod>(ctx, key, {.grace_period_seconds = 0}).value();
    std::cerr << "deleted pod " << key.name << "\n";
  });
}
