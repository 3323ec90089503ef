// Work queues, step by step. docs/queues.md shows these lines.
#include <atomic>
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/thread.h"
#include "kube/queue/item_rate_limiter.h"
#include "kube/queue/parallelize.h"
#include "kube/queue/work_queue.h"

using kube::Context;
using kube::ObjectKey;
using kube::Result;
using kube::WorkQueue;
using namespace std::chrono_literals;

namespace {

std::atomic<int> synced = 0;

// Fails twice before it works, as things do.
Result<void> Sync(const ObjectKey& key, int attempt) {
  if (key.name == "web" && attempt < 2) return kube::Error::Internal("not yet");
  ++synced;
  return {};
}

void Adding(WorkQueue<>& queue) {
  // [adding]
  queue.Add({"default", "web"});                      // soon
  queue.Add({"default", "web"});                      // it is there already: nothing happens
  queue.AddAfter({"default", "db"}, 20ms);            // not before 20 ms have passed
  queue.Add({"default", "old"}, {.priority = -100});  // after all that is more urgent, but not never
  // [end]
}

// [worker]
void Work(const Context& ctx, WorkQueue<>& queue) {
  while (Result<ObjectKey> key = queue.Get(ctx)) {
    const int attempt = queue.NumRequeues(*key);
    if (Result<void> done = Sync(*key, attempt); done) {
      queue.Forget(*key);  // its next failure is the first again
    } else if (attempt < 5) {
      queue.AddRateLimited(*key);  // 5 ms, 10 ms, 20 ms ...
    } else {
      queue.Forget(*key);
      std::cerr << "dropping " << *key << ": " << done.error().ToString() << "\n";
    }
    queue.Done(*key);  // always: until then nobody else gets this key
  }
}
// [end]

// [process-next]
void WorkWithLess(const Context& ctx, WorkQueue<>& queue) {
  while (queue.ProcessNext(ctx, [&](const ObjectKey& key) {
    if (Sync(key, queue.NumRequeues(key))) {
      queue.Forget(key);
    } else {
      queue.AddRateLimited(key);
    }
  })) {
  }
}
// [end]

Result<void> Run(const Context& ctx) {
  // [starting]
  WorkQueue<> queue({.name = "pods"});
  std::vector<kube::Thread> workers;
  for (int i = 0; i < 4; ++i) workers.emplace_back("worker", [&] { Work(ctx, queue); });
  // [end]
  workers.emplace_back("worker", [&] { WorkWithLess(ctx, queue); });
  Adding(queue);
  while (synced != 3) {
    if (Result<void> slept = ctx.SleepFor(1ms); !slept) return slept;
  }

  // [looking]
  kube::WorkQueueSnapshot<ObjectKey> now = queue.Snapshot();
  std::cout << now.queued << " queued, " << now.processing << " being processed, " << now.waiting << " wait\n";
  for (const auto& entry : now.entries) {
    std::cout << entry.key << " " << ToString(entry.state) << ", failed " << entry.requeues << " times\n";
  }
  // [end]

  // [stopping]
  Result<void> drained = queue.ShutDownWithDrain(ctx.WithTimeout(10s));  // no more keys; wait for what is there
  workers.clear();                                                       // joins them
  // [end]
  return drained;
}

void Limits() {
  // [limiters]
  WorkQueue<std::string> hosts({
      .rate_limiter = kube::MaxOfLimiter({kube::ExponentialLimiter(100ms, 5min), kube::BucketLimiter(50, 300)}),
  });
  hosts.AddRateLimited("node-1");
  // [end]

  // [item-limiter]
  kube::ItemRateLimiter<std::string> limiter(kube::ExponentialLimiter(1s, 5min));
  const auto wait = limiter.When("node-1");  // 1 s, then 2 s, 4 s ...
  limiter.Forget("node-1");
  // [end]
  std::cout << "would wait " << std::chrono::duration<double>(wait).count() << " s\n";
}

Result<void> Parallel(const Context& ctx) {
  std::vector<int> numbers(100, 1);
  std::atomic<int> sum = 0;
  // [parallel]
  Result<void> all = ParallelizeUntil(ctx, 4, numbers.size(), [&](std::size_t i) { sum += numbers[i]; });
  // [end]
  if (all && sum != 100) return kube::Error::Internal("not all pieces were done");
  return all;
}

}  // namespace

int main() {
  const Context ctx = Context::Background().WithTimeout(60s);
  Limits();
  for (const Result<void>& result : {Run(ctx), Parallel(ctx)}) {
    if (!result) {
      std::cerr << result.error().ToString() << "\n";
      return 1;
    }
  }
  return 0;
}
