// pod_informer: a shared informer of pods, and the changes that it reports.
//
//   pod_informer [--kubeconfig FILE] [--context NAME] [--namespace NAME]
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "kube/api/core/v1.h"
#include "kube/base/context.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/client/config_flags.h"

using kube::Ptr;
using kube::core::v1::Pod;

int main(int argc, char** argv) {
  kube::ConfigFlags flags("pod_informer");
  return flags.Run(argc, argv, [&](const kube::Context& ctx, const kube::Client& client) {
    // [informer]
    // One watch for each kind, however many parts of a program ask for it. Every half hour a resync delivers all pods again, from the
    // cache.
    kube::InformerFactory informers(client, {.resync = std::chrono::minutes(30)});
    const kube::SharedInformer<Pod> pods = informers.For<Pod>();
    const auto registration = pods.AddEventHandler({
        .on_add = [](const Ptr<Pod>& pod, bool) { std::cout << "add pod :" << pod->metadata.name << std::endl; },
        .on_update = [](const Ptr<Pod>& before, const Ptr<Pod>&) { std::cout << "update pod :" << before->metadata.name << std::endl; },
        .on_delete = [](const kube::Deleted<Pod>& gone) { std::cout << "delete pod :" << gone.key.name << std::endl; },
    });
    // [end]

    // [start]
    informers.Start(ctx);
    informers.WaitForSync(ctx).value();
    // The handler runs on its own thread: it may still be called with the initial list.
    registration.value().WaitForSync(ctx).value();
    std::cerr << "pod_informer: the cache is complete: " + pods.status().ToString() + "\n";
    ctx.WaitUntilStopped();
    // [end]
  });
}
