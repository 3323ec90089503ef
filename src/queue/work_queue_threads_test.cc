// Queues under real threads: no key is lost or taken twice at a time, and every thread ends. Meant for ThreadSanitizer.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/fake_clock.h"
#include "kube/base/metrics.h"
#include "kube/base/thread.h"
#include "kube/queue/work_queue.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

// So that a queue that loses a key fails a test instead of hanging it.
Context Bounded() { return Context::Background().WithTimeout(60s); }

template <typename T>
void WaitForIdle(const WorkQueue<T>& queue, std::size_t n) {
  while (queue.Snapshot(0).idle_workers != n) std::this_thread::yield();
}

constexpr int kKeys = 50;

// What the workers and producers of a test share.
struct Ledger {
  std::array<std::atomic<int>, kKeys> wanted{};   // raised before each add
  std::array<std::atomic<int>, kKeys> seen{};     // `wanted` when its last run began
  std::array<std::atomic<int>, kKeys> workers{};  // at work on it
  std::array<std::atomic<int>, kKeys> runs{};
  std::atomic<bool> overlap = false;

  void Run(int key) {
    const auto i = static_cast<std::size_t>(key);
    if (workers[i]++ != 0) overlap = true;
    seen[i] = wanted[i].load();
    ++runs[i];
    --workers[i];
  }
};

TEST(WorkQueueThreadsTest, EveryKeyIsSeenAfterItsLastAddAndNeverTwiceAtATime) {
  const Context ctx = Bounded();
  WorkQueue<int> queue;
  Ledger ledger;
  {
    std::vector<Thread> workers;
    for (int i = 0; i < 4; ++i) {
      workers.emplace_back("worker", [&] {
        while (queue.ProcessNext(ctx, [&](const int& key) { ledger.Run(key); })) {
        }
      });
    }
    {
      std::vector<Thread> producers;
      for (int p = 0; p < 4; ++p) {
        producers.emplace_back("producer", [&, p] {
          for (int i = 0; i < 5000; ++i) {
            const int key = (i * 31 + p * 7) % kKeys;
            ++ledger.wanted[static_cast<std::size_t>(key)];
            queue.Add(key, {.priority = i % 3});
          }
        });
      }
    }
    EXPECT_TRUE(queue.ShutDownWithDrain(ctx));
  }
  EXPECT_FALSE(ledger.overlap);
  for (std::size_t i = 0; i < kKeys; ++i) {
    EXPECT_EQ(ledger.seen[i], ledger.wanted[i]) << i;
    EXPECT_LE(ledger.runs[i], ledger.wanted[i]);
  }
}

TEST(WorkQueueThreadsTest, DelaysAndRetriesArriveOnTheRealClock) {
  const Context ctx = Bounded();
  WorkQueue<int> queue({.rate_limiter = ExponentialLimiter(100us, 1ms)});
  std::atomic<int> done = 0;
  std::array<std::atomic<int>, kKeys> tries{};
  {
    std::vector<Thread> workers;
    for (int i = 0; i < 3; ++i) {
      workers.emplace_back("worker", [&] {
        while (queue.ProcessNext(ctx, [&](const int& key) {
          if (++tries[static_cast<std::size_t>(key)] < 4) {
            queue.AddRateLimited(key);
            return;
          }
          queue.Forget(key);
          if (++done == kKeys) queue.ShutDown();
        })) {
        }
      });
    }
    for (int key = 0; key < kKeys; ++key) queue.AddAfter(key, std::chrono::microseconds(key % 7));
  }
  EXPECT_FALSE(ctx.stopped());
  EXPECT_EQ(done, kKeys);
}

TEST(WorkQueueThreadsTest, AnAddWakesASleepingWorker) {
  const Context ctx = Bounded();
  WorkQueue<int> queue;
  std::atomic<int> got = 0;
  Thread worker("worker", [&] {
    while (Result<int> key = queue.Get(ctx)) {
      got = *key;
      queue.Done(*key);
      got.notify_all();
    }
  });
  for (int i = 1; i <= 200; ++i) {
    queue.Add(i);
    for (int seen = got; seen != i; seen = got) got.wait(seen);
  }
  queue.ShutDown();
}

TEST(WorkQueueThreadsTest, OneBurstWakesAllWorkersThatItNeeds) {
  const Context ctx = Bounded();
  constexpr int kWorkers = 4;
  WorkQueue<int> queue;
  Mutex mu;
  CondVar changed;
  int at_work = 0;
  std::vector<Thread> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.emplace_back("worker", [&] {
      Result<WorkQueue<int>::Item> item = queue.Take(ctx);
      ASSERT_TRUE(item);
      MutexLock lock(mu);
      ++at_work;
      changed.NotifyAll();
      while (at_work < kWorkers) changed.Wait(mu);  // no worker leaves before all have arrived
    });
  }
  WaitForIdle(queue, kWorkers);
  for (int i = 0; i < kWorkers; ++i) queue.Add(i);
  workers.clear();
  EXPECT_EQ(at_work, kWorkers);
}

TEST(WorkQueueThreadsTest, ATimerWakesASleepingWorker) {
  auto clock = std::make_shared<FakeClock>();
  const Context ctx = Context::Background(clock);
  WorkQueue<int> queue({.clock = clock});
  Result<int> got = Error::Internal("nothing yet");
  Thread worker("worker", [&] { got = queue.Get(ctx); });
  queue.AddAfter(7, 1h);
  WaitForIdle(queue, 1);
  clock->Advance(1h);
  worker.Join();
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, 7);
}

TEST(WorkQueueThreadsTest, ShutDownWakesAllSleepers) {
  const Context ctx = Bounded();
  WorkQueue<int> queue;
  std::atomic<int> closed = 0;
  std::vector<Thread> workers;
  for (int i = 0; i < 8; ++i) {
    workers.emplace_back("worker", [&] {
      Result<int> key = queue.Get(ctx);
      if (!key && key.error().kind() == ErrorKind::kClosed) ++closed;
    });
  }
  WaitForIdle(queue, 8);
  queue.ShutDown();
  workers.clear();
  EXPECT_EQ(closed, 8);
}

TEST(WorkQueueThreadsTest, ACancelledWorkerLeavesTheOthersWorking) {
  const Context ctx = Bounded();
  for (int round = 0; round < 200; ++round) {
    WorkQueue<int> queue;
    auto made = ctx.WithCancel();
    std::atomic<int> taken = 0;
    std::vector<Thread> workers;
    for (int i = 0; i < 2; ++i) {
      workers.emplace_back("leaving", [&] {
        if (queue.Take(made.first)) ++taken;
      });
    }
    // The stop and the key race for the sleepers; the key must reach the sleeper that stays, or one of them.
    Thread canceller("cancel", [&] { made.second.Cancel(); });
    queue.Add(1);
    workers.clear();
    canceller.Join();
    if (taken == 0) {
      Result<int> key = queue.Get(ctx);
      ASSERT_TRUE(key);
      EXPECT_EQ(*key, 1);
    } else {
      EXPECT_EQ(taken, 1);
    }
  }
}

TEST(WorkQueueThreadsTest, AKeyThatACancelledSleeperWasWokenForGoesToAnother) {
  const Context ctx = Bounded();
  for (int round = 0; round < 200; ++round) {
    WorkQueue<int> queue;
    auto made = ctx.WithCancel();
    std::atomic<int> taken = 0;
    const auto take = [&](const Context& until) {
      if (queue.Take(until)) ++taken;
    };
    Thread staying("staying", [&] { take(ctx); });
    Thread leaving("leaving", [&] { take(made.first); });
    Thread canceller("cancel", [&] { made.second.Cancel(); });
    queue.Add(1);
    canceller.Join();
    leaving.Join();
    if (taken == 1) queue.ShutDown();  // the sleeper that left had it: let the other one go
    staying.Join();
    EXPECT_EQ(taken, 1);
  }
}

TEST(WorkQueueThreadsTest, TheDestructorSendsSleepersHome) {
  const Context ctx = Bounded();
  for (int round = 0; round < 100; ++round) {
    std::vector<Thread> workers;
    WorkQueue<int> queue;
    for (int i = 0; i < 3; ++i) {
      workers.emplace_back("worker", [&] {
        Result<WorkQueue<int>::Item> item = queue.Take(ctx);
        ASSERT_FALSE(item);
        EXPECT_EQ(item.error().kind(), ErrorKind::kClosed);
      });
    }
    WaitForIdle(queue, 3);
  }  // the queue goes first
}

TEST(WorkQueueThreadsTest, TheDestructorEndsADrain) {
  auto queue = std::make_unique<WorkQueue<int>>();
  queue->Add(1);
  Thread drain("drain", [q = queue.get()] { EXPECT_EQ(q->ShutDownWithDrain(Bounded()).error().kind(), ErrorKind::kClosed); });
  while (!queue->shutting_down()) std::this_thread::yield();
  queue->Done(*queue->Get(Bounded()) + 1);  // not the key that it waits for
  queue.reset();
}

TEST(WorkQueueThreadsTest, IdleWorkersAreCounted) {
  const Context ctx = Bounded();
  WorkQueue<int> queue;
  EXPECT_EQ(queue.Snapshot().idle_workers, 0u);
  auto made = ctx.WithCancel();
  {
    Thread one("one", [&] { EXPECT_FALSE(queue.Get(made.first)); });
    Thread two("two", [&] { EXPECT_FALSE(queue.Get(made.first)); });
    WaitForIdle(queue, 2);
    made.second.Cancel();
  }
  EXPECT_EQ(queue.Snapshot().idle_workers, 0u);
}

TEST(WorkQueueThreadsTest, TimersRaceWithDestruction) {
  for (int round = 0; round < 300; ++round) {
    auto metrics = std::make_shared<RecordedMetrics>();
    WorkQueue<int> queue({.name = "race", .metrics = metrics, .ageing = 1ms});
    for (int i = 0; i < 20; ++i) queue.AddAfter(i, std::chrono::microseconds(i * 5));
    if (round % 3 == 0) queue.ShutDown();
  }
}

TEST(WorkQueueThreadsTest, TimersOnAFakeClockRaceWithDestruction) {
  auto clock = std::make_shared<FakeClock>();
  std::atomic<bool> stop = false;
  Thread time("time", [&] {
    while (!stop) clock->Advance(1ms);
  });
  for (int round = 0; round < 300; ++round) {
    WorkQueue<int> queue({.clock = clock});
    for (int i = 0; i < 10; ++i) queue.AddAfter(i, std::chrono::milliseconds(i));
  }
  stop = true;
}

TEST(WorkQueueThreadsTest, ShutdownRacesWithProducersAndWorkers) {
  const Context ctx = Bounded();
  for (int round = 0; round < 20; ++round) {
    WorkQueue<int> queue({.rate_limiter = ExponentialLimiter(10us, 100us)});
    std::vector<Thread> threads;
    for (int w = 0; w < 3; ++w) {
      threads.emplace_back("worker", [&] {
        while (Result<WorkQueue<int>::Item> item = queue.Take(ctx)) {
          if (**item % 3 == 0) queue.AddRateLimited(**item);
        }
      });
    }
    for (int p = 0; p < 2; ++p) {
      threads.emplace_back("producer", [&] {
        for (int i = 0; !queue.shutting_down(); ++i) {
          queue.Add(i % 40);
          queue.AddAfter(i % 20, 20us);
          if (i % 16 == 0) (void)queue.Snapshot(5);
          queue.Forget(i % 40);
        }
      });
    }
    threads.emplace_back("shutdown", [&] {
      for (int i = 0; i < 3; ++i) std::this_thread::yield();
      EXPECT_TRUE(queue.ShutDownWithDrain(ctx));
    });
    threads.clear();
    EXPECT_EQ(queue.Len(), 0u);
    EXPECT_EQ(queue.Snapshot().processing, 0u);
  }
}

TEST(WorkQueueThreadsTest, DrainsOfSeveralCallersEndTogether) {
  const Context ctx = Bounded();
  WorkQueue<int> queue;
  queue.Add(1);
  std::optional<WorkQueue<int>::Item> item = *queue.Take(ctx);
  std::atomic<int> drained = 0;
  std::vector<Thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back("drain", [&] {
      if (queue.ShutDownWithDrain(ctx)) ++drained;
    });
  }
  while (!queue.shutting_down()) std::this_thread::yield();
  EXPECT_EQ(drained, 0);
  item.reset();
  threads.clear();
  EXPECT_EQ(drained, 4);
}

TEST(WorkQueueThreadsTest, MetricsUnderThreads) {
  const Context ctx = Bounded();
  auto metrics = std::make_shared<RecordedMetrics>();
  WorkQueue<int> queue({.name = "busy", .controller = "c", .metrics = metrics});
  std::atomic<int> runs = 0;
  {
    std::vector<Thread> threads;
    for (int w = 0; w < 2; ++w) {
      threads.emplace_back("worker", [&] {
        while (queue.Take(ctx)) ++runs;
      });
    }
    for (int i = 0; i < 2000; ++i) queue.Add(i % 100, {.priority = i % 2});
    EXPECT_TRUE(queue.ShutDownWithDrain(ctx));
  }
  EXPECT_EQ(metrics->Value("workqueue_adds_total", {{"name", "busy"}, {"controller", "c"}}), runs);
  EXPECT_EQ(metrics->Count("workqueue_work_duration_seconds", {{"name", "busy"}, {"controller", "c"}}), static_cast<std::uint64_t>(runs));
  for (const char* priority : {"0", "1"}) {
    EXPECT_EQ(metrics->Value("workqueue_depth", {{"name", "busy"}, {"controller", "c"}, {"priority", priority}}), 0);
  }
}

}  // namespace
}  // namespace kube
