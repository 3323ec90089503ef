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
  return flags.Run(argc, argv, [&](const kube::Context& ctx, const kube::Client& client) -> Result<void> {
    const kube::ObjectKey key{kube::String(client.default_namespace()), "client-test"};

    Pod pod;
    pod.metadata.namespace_ = key.ns;
    pod.metadata.name = key.name;
    pod.metadata.labels = {{"k", "v"}};
    pod.spec.containers.push_back({.name = "busybox", .image = "busybox:latest", .command = {"sleep", "1000"}});
    // A server without a controller manager has no service account for the pod to use.
    pod.spec.automount_service_account_token = false;
    const Result<Pod> created = client.Create(ctx, pod);
    if (!created) return created.error();
    std::cerr << "created pod " << created->metadata.name << "\n";

    Result<Pod> read = client.Get<Pod>(ctx, key);
    if (!read) return read.error();
    PrintLabels(*read);

    // The server takes an update only for the version that was read: the loser of the race reads again.
    const Result<void> updated = kube::RetryOnConflict(ctx, [&]() -> Result<void> {
      Result<Pod> current = client.Get<Pod>(ctx, key);
      if (!current) return current.error();
      current->metadata.labels = {{"patch", "v1"}};
      const Result<Pod> written = client.Update(ctx, *current);
      if (!written) return written.error();
      return {};
    });
    if (!updated) return updated.error();

    read = client.Get<Pod>(ctx, key);
    if (!read) return read.error();
    PrintLabels(*read);

    if (const Result<void> deleted = client.Delete<Pod>(ctx, key, {.grace_period_seconds = 0}); !deleted) return deleted.error();
    std::cerr << "deleted pod " << key.name << "\n";
    return {};
  });
}
