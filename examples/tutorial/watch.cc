// Step 2 of docs/tutorial.md: a cache of all Deployments, and who is told of changes.
#include <iostream>

#include "kube/api/apps/v1.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/config/load.h"

using kube::Deleted;
using kube::Ptr;
using kube::apps::v1::Deployment;

int main(int argc, char** argv) {
  kube::ConfigFlags flags;
  if (auto rest = flags.Parse(argc, argv); !rest) return std::cerr << rest.error().ToString() << "\n", 1;
  const auto config = flags.Load();
  if (!config) return std::cerr << config.error().ToString() << "\n", 1;
  const auto client = kube::Client::FromConfig(*config);
  if (!client) return std::cerr << client.error().ToString() << "\n", 1;
  const kube::Context ctx = kube::SignalContext();

  // [informer]
  kube::InformerFactory informers(*client);
  const kube::SharedInformer<Deployment> deployments = informers.For<Deployment>();
  const auto registration = deployments.AddEventHandler({
      .on_add = [](const Ptr<Deployment>& d, bool) { std::cout << "added " << kube::KeyOf(*d).ToString() << std::endl; },
      .on_update = [](const Ptr<Deployment>&,
                      const Ptr<Deployment>& d) { std::cout << "changed " << kube::KeyOf(*d).ToString() << std::endl; },
      .on_delete = [](const Deleted<Deployment>& gone) { std::cout << "deleted " << gone.key.ToString() << std::endl; },
  });
  if (!registration) return std::cerr << registration.error().ToString() << "\n", 1;
  informers.Start(ctx);
  if (auto told = registration->WaitForSync(ctx); !told) return std::cerr << told.error().ToString() << "\n", 1;
  std::cout << "that is all: " << deployments.lister().List().size() << std::endl;
  ctx.WaitUntilStopped();  // Ctrl-C
  // [end]
  return 0;
}
