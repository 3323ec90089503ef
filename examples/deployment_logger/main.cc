// deployment_logger: the beginning of every controller. It is told of Deployments that come and go, in all namespaces, and says so.
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
using kube::Result;
using kube::apps::v1::Deployment;

int main(int argc, char** argv) {
  kube::ConfigFlags flags("deployment_logger");
  return flags.Run(argc, argv, [&](const kube::Context& ctx, const kube::Client& client) -> Result<void> {
    kube::InformerFactory informers(client);
    const Result<kube::HandlerRegistration> registration = informers.For<Deployment>().AddEventHandler({
        .on_add = [](const Ptr<Deployment>&, bool) { std::cout << "add was called" << std::endl; },
        .on_delete = [](const kube::Deleted<Deployment>&) { std::cout << "del was called" << std::endl; },
    });
    if (!registration) return registration.error();

    std::cout << "starting controller" << std::endl;
    informers.Start(ctx);
    // The cache is complete, and the handler was told of everything that was there.
    if (Result<void> told = registration->WaitForSync(ctx); !told) return told;
    ctx.WaitUntilStopped();
    return {};
  });
}
