// pod_controller: a controller from its parts, without a builder: an informer fills a cache and a queue, workers take keys.
//
//   pod_controller [--workers N] [--kubeconfig FILE] [--context NAME] [--namespace NAME]
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "kube/api/core/v1.h"
#include "kube/base/context.h"
#include "kube/base/periodic.h"
#include "kube/base/thread.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/client/config_flags.h"
#include "kube/queue/work_queue.h"

using kube::Context;
using kube::ObjectKey;
using kube::Ptr;
using kube::Result;
using kube::core::v1::Pod;

namespace {

// [class]
class PodController {
 public:
  PodController(kube::WorkQueue<>& queue, kube::Indexer<Pod> indexer) : queue_(queue), indexer_(std::move(indexer)) {}
  // [end]

  // [worker]
  Result<void> RunWorker(const Context& ctx) {
    while (ProcessNextItem(ctx)) {
    }
    return {};
  }

 private:
  // Returns false when the context has stopped.
  bool ProcessNextItem(const Context& ctx) {
    const auto item = queue_.Take(ctx);  // until it is destroyed no other worker gets this key
    if (!item) return false;
    HandleError(SyncToStdout(item->key()), item->key());
    return true;
  }
  // [end]

  // [sync]
  // Does the work. It sees the object's current state, however many changes led here.
  Result<void> SyncToStdout(const ObjectKey& key) {
    return indexer_.Read(key).and_then([&](const Ptr<Pod>& pod) -> Result<void> {  // an error: it exists, but cannot be decoded
      if (pod == nullptr) {
        std::cout << "Pod " + key.ToString() + " does not exist anymore\n" << std::flush;
        return {};
      }
      if (pod->metadata.annotations.Get("example.kubexx.dev/fail") == "true") return kube::Error::Internal("the pod asks for it");
      std::cout << "Sync/Add/Update for Pod " + pod->metadata.name.str() + "\n" << std::flush;
      return {};
    });
  }
  // [end]

  // [errors]
  void HandleError(const Result<void>& result, const ObjectKey& key) {
    if (result) return queue_.Forget(key);
    if (queue_.NumRequeues(key) < 5) {
      std::cerr << "Error syncing pod " + key.ToString() + ": " + result.error().ToString() + "\n";
      return queue_.AddRateLimited(key);
    }
    queue_.Forget(key);
    std::cerr << "Dropping pod \"" + key.ToString() + "\" out of the queue: " + result.error().ToString() + "\n";
  }
  // [end]

  // [fields]
  kube::WorkQueue<>& queue_;
  const kube::Indexer<Pod> indexer_;
  // [end]
};

}  // namespace

// [flags]
int main(int argc, char** argv) {
  kube::ConfigFlags flags("pod_controller");
  int workers = 1;
  flags.Add("workers", &workers, "pods reconciled concurrently").Range(1, 1000);
  return flags.Run(argc, argv, [&](const kube::Context& ctx, const kube::Client& client) {
    // [end]
    // [parts]
    // The queue holds keys, not objects: a worker reads the newest state, and many changes of a pod become one run.
    kube::WorkQueue<> queue({.name = "pods"});
    kube::InformerFactory informers(client, {.ns = client.default_namespace()});
    const kube::SharedInformer<Pod> pods = informers.For<Pod>();
    // [end]

    // [known]
    // A pod that an earlier run knew. If the first list lacks it, the handler is called with its deletion.
    Pod known;
    known.metadata.name = "mypod";
    known.metadata.namespace_ = client.default_namespace();
    pods.indexer().Add(std::make_shared<const Pod>(known));
    // [end]

    // [handlers]
    const auto registration = pods.AddEventHandler({
        .on_add = [&](const Ptr<Pod>& pod, bool) { queue.Add(kube::KeyOf(*pod)); },
        .on_update = [&](const Ptr<Pod>&, const Ptr<Pod>& after) { queue.Add(kube::KeyOf(*after)); },
        .on_delete = [&](const kube::Deleted<Pod>& gone) { queue.Add(gone.key); },
    });
    // [end]

    // [run]
    std::cerr << "Starting Pod controller\n";
    informers.Start(ctx);
    registration.value().WaitForSync(ctx).value();

    std::cerr << "Starting workers\n";
    PodController controller(queue, pods.indexer());
    std::vector<kube::Thread> threads;
    for (int i = 0; i < workers; ++i) {
      threads.emplace_back("worker", [&] {
        // A worker that throws is logged, and starts again after a second.
        const auto work = [&](const Context& own) { return controller.RunWorker(own); };
        kube::RunPeriodically(ctx, {.name = "worker", .period = std::chrono::seconds(1)}, work);
      });
    }
    ctx.WaitUntilStopped();
    for (kube::Thread& thread : threads) thread.Join();
    std::cerr << "Stopping Pod controller\n";
    // [end]
  });
}
