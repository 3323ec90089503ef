// Step 3 of docs/tutorial.md: from changes to work. Keys go into a queue; a worker looks at what is there now.
#include <iostream>

#include "kube/api/apps/v1.h"
#include "kube/base/thread.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/client/config_flags.h"
#include "kube/queue/work_queue.h"

using kube::Context;
using kube::Deleted;
using kube::ObjectKey;
using kube::Ptr;
using kube::Result;
using kube::apps::v1::Deployment;

int main(int argc, char** argv) {
  kube::ConfigFlags flags("queue");
  return flags.Run(argc, argv, [&](const kube::Context& ctx, const kube::Client& client) -> Result<void> {
    kube::WorkQueue<> queue({.name = "deployments"});
    kube::InformerFactory informers(client);
    const kube::SharedInformer<Deployment> deployments = informers.For<Deployment>();
    // [handlers]
    const auto registration = deployments.AddEventHandler({
        .on_add = [&](const Ptr<Deployment>& d, bool) { queue.Add(kube::KeyOf(*d)); },
        .on_update = [&](const Ptr<Deployment>&, const Ptr<Deployment>& d) { queue.Add(kube::KeyOf(*d)); },
        .on_delete = [&](const Deleted<Deployment>& gone) { queue.Add(gone.key); },
    });
    // [end]
    if (!registration) return registration.error();
    informers.Start(ctx);
    if (auto told = registration->WaitForSync(ctx); !told) return told.error();

    // [worker]
    const auto reconcile = [&](const ObjectKey& key) -> Result<void> {
      const Result<Ptr<Deployment>> found = deployments.indexer().Read(key);
      if (!found) return found.error();  // it exists, but cannot be decoded
      if (const Ptr<Deployment>& deployment = *found; deployment == nullptr) {
        std::cout << key.ToString() + " is gone\n" << std::flush;
      } else {
        std::cout << key.ToString() + " wants " + std::to_string(deployment->spec.replicas.value_or(1)) + " replicas\n" << std::flush;
      }
      return {};
    };
    kube::Thread worker("worker", [&] {
      while (const Result<ObjectKey> key = queue.Get(ctx)) {
        if (reconcile(*key)) {
          queue.Forget(*key);  // the next failure waits a short time again
        } else {
          queue.AddRateLimited(*key);  // later, and later still the next time
        }
        queue.Done(*key);  // until here no other worker gets this key
      }
    });
    // [end]
    ctx.WaitUntilStopped();
    worker.Join();
    return {};
  });
}
