// deployment_logger: the start of every controller. Prints a line for each Deployment that is created or deleted, in all namespaces.
//
//   deployment_logger [--kubeconfig FILE] [--context NAME]
#include <iostream>
#include <string>
#include <vector>

#include "kube/api/apps/v1.h"
#include "kube/base/context.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/client/config_flags.h"

using kube::Ptr;
using kube::apps::v1::Deployment;

// [connect]
int main(int argc, char** argv) {
  kube::ConfigFlags flags("deployment_logger");
  return flags.Run(argc, argv, [&](const kube::Context& ctx, const kube::Client& client) {
    // [end]
    // [informer]
    kube::InformerFactory informers(client);
    const auto registration = informers.For<Deployment>().AddEventHandler({
        .on_add = [](const Ptr<Deployment>&, bool) { std::cout << "add was called" << std::endl; },
        .on_delete = [](const kube::Deleted<Deployment>&) { std::cout << "del was called" << std::endl; },
    });
    // [end]

    // [run]
    std::cout << "starting controller" << std::endl;
    informers.Start(ctx);
    registration.value().WaitForSync(ctx).value();  // the cache is complete, and the handler was called with the initial list
    ctx.WaitUntilStopped();
    // [end]
  });
}
