// Step 2 of docs/tutorial.md: a cache of all Deployments, and who is told of changes.
#include <iostream>

#include "kube/api/apps/v1.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/client/config_flags.h"

using kube::Deleted;
using kube::Ptr;
using kube::apps::v1::Deployment;

int main(int argc, char** argv) {
  kube::ConfigFlags flags("watch");
  return flags.Run(argc, argv, [&](const kube::Context& ctx, const kube::Client& client) -> kube::Result<void> {
    // [informer]
    kube::InformerFactory informers(client);
    const kube::SharedInformer<Deployment> deployments = informers.For<Deployment>();
    const auto registration = deployments.AddEventHandler({
        .on_add = [](const Ptr<Deployment>& d, bool) { std::cout << "added " << kube::KeyOf(*d).ToString() << std::endl; },
        .on_update = [](const Ptr<Deployment>&,
                        const Ptr<Deployment>& d) { std::cout << "changed " << kube::KeyOf(*d).ToString() << std::endl; },
        .on_delete = [](const Deleted<Deployment>& gone) { std::cout << "deleted " << gone.key.ToString() << std::endl; },
    });
    if (!registration) return registration.error();
    informers.Start(ctx);
    if (auto told = registration->WaitForSync(ctx); !told) return told.error();
    std::cout << "that is all: " << deployments.lister().List().size() << std::endl;
    ctx.WaitUntilStopped();  // Ctrl-C
    // [end]
    return {};
  });
}
