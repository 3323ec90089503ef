// What contracts.md says of work queues, case by case, on a fake clock.
#include "kube/queue/work_queue.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "kube/base/fake_clock.h"
#include "kube/base/thread.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

// Counts how many of its copies are alive.
struct Counted {
  explicit Counted(int i, int* count) : id(i), alive(count) { ++*alive; }
  Counted(const Counted& other) : id(other.id), alive(other.alive) { ++*alive; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive; }
  friend bool operator==(const Counted& a, const Counted& b) { return a.id == b.id; }
  int id;
  int* alive;
};
struct CountedHash {
  std::size_t operator()(const Counted& key) const { return static_cast<std::size_t>(key.id); }
};

class QueueTest : public ::testing::Test {
 protected:
  // Whatever can be taken now, without waiting.
  Names TakeAll() {
    Names out;
    while (queue_.Len() != 0) out.push_back(Take());
    return out;
  }
  std::string Take() {
    Result<std::string> key = queue_.Get(ctx_);
    if (!key) return key.error().ToString();
    queue_.Done(*key);
    return *key;
  }
  // Without Done.
  std::string Begin() { return queue_.Get(ctx_).value_or("nothing"); }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  Context ctx_ = Context::Background(clock_);
  WorkQueue<std::string> queue_{{.clock = clock_}};
};

using Contract05Workqueue = QueueTest;

TEST_F(Contract05Workqueue, BasicNothingAddedAfterShutdownIsDelivered) {
  queue_.Add("a");
  queue_.ShutDown();
  queue_.Add("b");
  queue_.AddAfter("c", 1ms);
  queue_.AddRateLimited("d");
  clock_->Advance(1h);
  EXPECT_EQ(Take(), "a");
  Result<std::string> next = queue_.Get(ctx_);
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().kind(), ErrorKind::kClosed);
  EXPECT_EQ(clock_->waiters(), 0u);
}

TEST_F(Contract05Workqueue, AddWhileProcessingIsQueuedAtDone) {
  queue_.Add("a");
  EXPECT_EQ(Begin(), "a");
  queue_.Add("a");
  EXPECT_EQ(queue_.Len(), 0u);
  queue_.Done("a");
  EXPECT_EQ(queue_.Len(), 1u);
  EXPECT_EQ(Take(), "a");
  EXPECT_EQ(queue_.Len(), 0u);
}

TEST_F(Contract05Workqueue, LenCountsWhatCanBeTaken) {
  queue_.Add("a");
  EXPECT_EQ(queue_.Len(), 1u);
  queue_.Add("b");
  EXPECT_EQ(queue_.Len(), 2u);
  queue_.Add("a");
  EXPECT_EQ(queue_.Len(), 2u);
  queue_.AddAfter("c", 1s);
  EXPECT_EQ(queue_.Len(), 2u);
  EXPECT_EQ(Begin(), "a");
  EXPECT_EQ(queue_.Len(), 1u);
}

TEST_F(Contract05Workqueue, ReinsertGoesBehindWhatIsQueued) {
  queue_.Add("a");
  queue_.Add("b");
  EXPECT_EQ(Begin(), "a");
  queue_.Add("a");
  queue_.Done("a");
  EXPECT_EQ(TakeAll(), (Names{"b", "a"}));
}

TEST_F(Contract05Workqueue, CollapseGivesOneDelivery) {
  for (int i = 0; i < 3; ++i) queue_.Add("a");
  EXPECT_EQ(TakeAll(), (Names{"a"}));
}

TEST_F(Contract05Workqueue, CollapseKeepsThePlace) {
  queue_.Add("a");
  queue_.Add("b");
  queue_.Add("a");
  EXPECT_EQ(TakeAll(), (Names{"a", "b"}));
}

TEST_F(Contract05Workqueue, CollapseWhileProcessingGivesOneMore) {
  queue_.Add("a");
  EXPECT_EQ(Begin(), "a");
  for (int i = 0; i < 10; ++i) queue_.Add("a");
  queue_.Done("a");
  EXPECT_EQ(TakeAll(), (Names{"a"}));
}

TEST_F(Contract05Workqueue, GarbageCollectionTakenKeysAreNotKept) {
  int alive = 0;
  {
    WorkQueue<Counted, CountedHash> queue({.clock = clock_});
    for (int i = 0; i < 100; ++i) queue.Add(Counted(i, &alive));
    EXPECT_EQ(alive, 100);
    for (int i = 0; i < 99; ++i) {
      Result<Counted> key = queue.Get(ctx_);
      ASSERT_TRUE(key);
      queue.Done(*key);
    }
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST_F(Contract05Workqueue, QueueDrainageUsingShutDownWithDrainWaitsForDone) {
  queue_.Add("a");
  queue_.Add("b");
  EXPECT_EQ(Begin(), "a");
  EXPECT_EQ(Begin(), "b");
  const Context soon = ctx_.WithTimeout(1s);
  Result<void> drained;
  {
    Thread drain("drain", [&] { drained = queue_.ShutDownWithDrain(ctx_); });
    while (!queue_.shutting_down()) std::this_thread::yield();
    queue_.Done("a");
    // Still one key in work: another call that drains does not return either.
    clock_->Advance(1s);
    EXPECT_TRUE(IsDeadlineExceeded(queue_.ShutDownWithDrain(soon).error()));
    queue_.Done("b");
  }
  EXPECT_TRUE(drained);
}

TEST_F(Contract05Workqueue, QueueDrainageWithDirtyItemWaitsForItsNextRun) {
  queue_.Add("a");
  EXPECT_EQ(Begin(), "a");
  queue_.Add("a");
  Result<void> drained;
  {
    Thread drain("drain", [&] { drained = queue_.ShutDownWithDrain(ctx_); });
    while (!queue_.shutting_down()) std::this_thread::yield();
    queue_.Done("a");
    EXPECT_EQ(Begin(), "a");
    const Context over = ctx_.WithTimeout(0s);
    EXPECT_FALSE(queue_.ShutDownWithDrain(over));
    queue_.Done("a");
  }
  EXPECT_TRUE(drained);
}

TEST_F(Contract05Workqueue, NoQueueDrainageUsingShutDown) {
  queue_.Add("a");
  EXPECT_EQ(Begin(), "a");
  queue_.ShutDown();  // returns although "a" is at work
  EXPECT_TRUE(queue_.shutting_down());
  EXPECT_EQ(queue_.Get(ctx_).error().kind(), ErrorKind::kClosed);
  queue_.Done("a");
}

TEST_F(Contract05Workqueue, ForceQueueShutdownUsingShutDownReleasesADrain) {
  queue_.Add("a");
  EXPECT_EQ(Begin(), "a");
  Result<void> drained;
  {
    Thread drain("drain", [&] { drained = queue_.ShutDownWithDrain(ctx_); });
    while (!queue_.shutting_down()) std::this_thread::yield();
    queue_.ShutDown();
  }
  ASSERT_FALSE(drained);
  EXPECT_EQ(drained.error().kind(), ErrorKind::kClosed);
  queue_.Done("a");
}

TEST_F(Contract05Workqueue, SimpleQueueIsDueOnceAfterTheDelay) {
  queue_.AddAfter("a", 50ms);
  EXPECT_EQ(queue_.Len(), 0u);
  clock_->Advance(49ms);
  EXPECT_EQ(queue_.Len(), 0u);
  clock_->Advance(1ms);
  EXPECT_EQ(TakeAll(), (Names{"a"}));
  clock_->Advance(10s);
  EXPECT_EQ(TakeAll(), (Names{}));
}

TEST_F(Contract05Workqueue, DedupingEarlierTimeWinsWhenItComesLast) {
  queue_.AddAfter("a", 70ms);
  queue_.AddAfter("a", 30ms);
  clock_->Advance(30ms);
  EXPECT_EQ(TakeAll(), (Names{"a"}));
  clock_->Advance(1s);
  EXPECT_EQ(TakeAll(), (Names{}));
}

TEST_F(Contract05Workqueue, DedupingEarlierTimeWinsWhenItComesFirst) {
  queue_.AddAfter("a", 30ms);
  queue_.AddAfter("a", 70ms);
  clock_->Advance(30ms);
  EXPECT_EQ(TakeAll(), (Names{"a"}));
  clock_->Advance(1s);
  EXPECT_EQ(TakeAll(), (Names{}));
}

TEST_F(Contract05Workqueue, AddTwoFireEarlyEachAtItsTime) {
  queue_.AddAfter("third", 2s);
  queue_.AddAfter("first", 50ms);
  queue_.AddAfter("second", 1s);
  clock_->Advance(60ms);
  EXPECT_EQ(TakeAll(), (Names{"first"}));
  clock_->Advance(1s);
  EXPECT_EQ(TakeAll(), (Names{"second"}));
  clock_->Advance(2s);
  EXPECT_EQ(TakeAll(), (Names{"third"}));
}

TEST_F(Contract05Workqueue, CopyShiftingComesInTheOrderOfTime) {
  queue_.AddAfter("first", 1s);
  queue_.AddAfter("second", 500ms);
  queue_.AddAfter("third", 250ms);
  clock_->Advance(2s);
  EXPECT_EQ(TakeAll(), (Names{"third", "second", "first"}));
}

TEST_F(Contract05Workqueue, RateLimitingQueueDoublesForEachKeyAndForgets) {
  WorkQueue<std::string> queue({.clock = clock_, .rate_limiter = ExponentialLimiter(1ms, 1s)});
  const auto due = [&] {
    const WorkQueueSnapshot<std::string> snapshot = queue.Snapshot();
    return snapshot.entries.empty() ? -1ns : snapshot.entries.back().due_in.value_or(-1ns);
  };
  queue.AddRateLimited("one");
  EXPECT_EQ(due(), 1ms);
  clock_->Advance(1ms);
  queue.Done(*queue.Get(ctx_));
  queue.AddRateLimited("one");
  EXPECT_EQ(due(), 2ms);
  EXPECT_EQ(queue.NumRequeues("one"), 2);
  queue.AddRateLimited("two");
  EXPECT_EQ(queue.NumRequeues("two"), 1);
  clock_->Advance(2ms);
  queue.Done(*queue.Get(ctx_));
  queue.Done(*queue.Get(ctx_));
  queue.Forget("one");
  EXPECT_EQ(queue.NumRequeues("one"), 0);
  queue.AddRateLimited("one");
  EXPECT_EQ(due(), 1ms);
}

TEST(Contract16SameKeyNeverTwice, NobodyElseGetsAKeyThatIsBeingProcessed) {
  auto clock = std::make_shared<FakeClock>();
  const Context ctx = Context::Background(clock);
  WorkQueue<> queue({.clock = clock});
  const ObjectKey key{"default", "web"};
  queue.Add(key);
  Result<WorkQueue<>::Item> item = queue.Take(ctx);
  ASSERT_TRUE(item);
  for (int i = 0; i < 5; ++i) queue.Add(key);
  queue.AddAfter(key, 1s);
  queue.AddRateLimited(key);
  clock->Advance(1h);
  EXPECT_EQ(queue.Len(), 0u);
  EXPECT_TRUE(IsDeadlineExceeded(queue.Get(ctx.WithTimeout(0s)).error()));
  item->Done();
  EXPECT_EQ(queue.Len(), 1u);
}

TEST(Contract16SameKeyNeverTwice, AddsDuringProcessingGiveExactlyOneMoreRun) {
  auto clock = std::make_shared<FakeClock>();
  const Context ctx = Context::Background(clock);
  WorkQueue<int> queue({.clock = clock});
  for (const int adds : {0, 1, 2, 100}) {
    queue.Add(7);
    int runs = 0;
    while (queue.Len() != 0) {
      Result<WorkQueue<int>::Item> item = queue.Take(ctx);
      ASSERT_TRUE(item);
      if (runs++ == 0) {
        for (int i = 0; i < adds; ++i) queue.Add(7);
      }
    }
    EXPECT_EQ(runs, adds == 0 ? 1 : 2) << adds;
  }
}

TEST(Contract17Waiting, AddAfterKeepsTheEarlierTime) {
  auto clock = std::make_shared<FakeClock>();
  WorkQueue<> queue({.clock = clock});
  queue.AddAfter({"a", "b"}, 10s);
  queue.AddAfter({"a", "b"}, 20s);
  EXPECT_EQ(queue.Snapshot().entries.at(0).due_in, 10s);
  queue.AddAfter({"a", "b"}, 5s);
  EXPECT_EQ(queue.Snapshot().entries.at(0).due_in, 5s);
  EXPECT_EQ(queue.Snapshot().waiting, 1u);
}

TEST(Contract17Waiting, ShutdownDropsWaitingKeys) {
  auto clock = std::make_shared<FakeClock>();
  const Context ctx = Context::Background(clock);
  WorkQueue<> queue({.clock = clock});
  queue.AddAfter({"a", "b"}, 10s);
  queue.AddAfter({"a", "c"}, 20s);
  queue.ShutDown();
  EXPECT_EQ(clock->waiters(), 0u);
  clock->Advance(1h);
  EXPECT_EQ(queue.Len(), 0u);
  EXPECT_EQ(queue.Snapshot().waiting, 0u);
  EXPECT_EQ(queue.Get(ctx).error().kind(), ErrorKind::kClosed);
}

TEST(Contract22SampleController, ErrorsAreRetriedRateLimitedAndSuccessForgets) {
  auto clock = std::make_shared<FakeClock>();
  const Context ctx = Context::Background(clock);
  WorkQueue<> queue({.clock = clock, .rate_limiter = MaxOfLimiter({ExponentialLimiter(5ms, 1000s), BucketLimiter(50, 300, clock)})});
  const ObjectKey key{"default", "foo"};
  int failures_left = 3;
  std::vector<Clock::Duration> runs;
  const Clock::TimePoint start = clock->Now();
  const auto sync = [&](const ObjectKey& k) {
    runs.push_back(clock->Now() - start);
    if (failures_left-- > 0) {
      queue.AddRateLimited(k);
    } else {
      queue.Forget(k);
    }
  };
  queue.Add(key);
  for (int i = 0; i < 4; ++i) {
    if (queue.Len() == 0) {
      ASSERT_TRUE(clock->AdvanceToNextTimer());
    }
    ASSERT_TRUE(queue.ProcessNext(ctx, sync));
  }
  EXPECT_EQ(runs, (std::vector<Clock::Duration>{0ms, 5ms, 15ms, 35ms}));
  EXPECT_EQ(queue.NumRequeues(key), 0);
  EXPECT_FALSE(clock->AdvanceToNextTimer());
}

TEST_F(QueueTest, AddAfterOfNothingIsAnAdd) {
  queue_.AddAfter("a", 0s);
  queue_.AddAfter("b", -1s);
  EXPECT_EQ(TakeAll(), (Names{"a", "b"}));
  EXPECT_EQ(clock_->waiters(), 0u);
}

TEST_F(QueueTest, AddBesideADelayIsTakenTwice) {
  queue_.AddAfter("a", 1s);
  queue_.Add("a");
  EXPECT_EQ(TakeAll(), (Names{"a"}));
  clock_->Advance(1s);
  EXPECT_EQ(TakeAll(), (Names{"a"}));
}

TEST_F(QueueTest, WhatBecomesDueWhileQueuedIsTakenOnce) {
  queue_.AddAfter("a", 1s);
  queue_.Add("a");
  clock_->Advance(1s);
  EXPECT_EQ(TakeAll(), (Names{"a"}));
  clock_->Advance(1h);
  EXPECT_EQ(TakeAll(), (Names{}));
}

TEST_F(QueueTest, WhatBecomesDueWhileProcessingIsQueuedAtDone) {
  queue_.Add("a");
  EXPECT_EQ(Begin(), "a");
  queue_.AddAfter("a", 1s);
  clock_->Advance(2s);
  EXPECT_EQ(queue_.Len(), 0u);
  queue_.Done("a");
  EXPECT_EQ(TakeAll(), (Names{"a"}));
}

TEST_F(QueueTest, DoneBeforeTheTimeHasComeKeepsTheKeyWaiting) {
  queue_.Add("a");
  EXPECT_EQ(Begin(), "a");
  queue_.AddAfter("a", 1s);
  queue_.Done("a");
  EXPECT_EQ(queue_.Len(), 0u);
  clock_->Advance(1s);
  EXPECT_EQ(TakeAll(), (Names{"a"}));
}

TEST_F(QueueTest, ManyDelaysTakeOneTimer) {
  for (int i = 0; i < 100; ++i) queue_.AddAfter(std::to_string(i), std::chrono::milliseconds(1000 - i));
  EXPECT_EQ(clock_->waiters(), 1u);
  for (int i = 99; i >= 0; --i) {
    ASSERT_TRUE(clock_->AdvanceToNextTimer());
    EXPECT_EQ(TakeAll(), (Names{std::to_string(i)}));
  }
  EXPECT_EQ(clock_->waiters(), 0u);
}

TEST_F(QueueTest, TheLongestDelayNeverComes) {
  queue_.AddAfter("a", Clock::Duration::max());
  queue_.AddAfter("b", 1s);
  clock_->Advance(24h * 365);
  EXPECT_EQ(TakeAll(), (Names{"b"}));
  EXPECT_EQ(queue_.Snapshot().waiting, 1u);
}

TEST_F(QueueTest, DoneOfAKeyThatNobodyHasChangesNothing) {
  queue_.Add("a");
  queue_.Done("a");
  queue_.Done("unknown");
  EXPECT_EQ(TakeAll(), (Names{"a"}));
}

TEST_F(QueueTest, DoneTwiceCountsOnce) {
  queue_.Add("a");
  EXPECT_EQ(Begin(), "a");
  queue_.Add("a");
  queue_.Done("a");
  queue_.Done("a");
  EXPECT_EQ(TakeAll(), (Names{"a"}));
}

TEST_F(QueueTest, ForgetTouchesNothingButTheCount) {
  queue_.AddRateLimited("a");
  EXPECT_EQ(queue_.NumRequeues("a"), 1);
  queue_.Forget("a");
  queue_.Forget("unknown");
  EXPECT_EQ(queue_.NumRequeues("a"), 0);
  clock_->Advance(5ms);
  EXPECT_EQ(Begin(), "a");
  queue_.Forget("a");
  queue_.Add("a");
  EXPECT_EQ(queue_.Len(), 0u);  // Done is still due
  queue_.Done("a");
  EXPECT_EQ(TakeAll(), (Names{"a"}));
}

TEST_F(QueueTest, NumRequeuesOutlivesTheRun) {
  queue_.AddRateLimited("a");
  clock_->Advance(1s);
  EXPECT_EQ(TakeAll(), (Names{"a"}));
  EXPECT_EQ(queue_.NumRequeues("a"), 1);
}

TEST_F(QueueTest, RateLimitedWithADelayWaitsForTheLonger) {
  queue_.Add("a", {.after = 1s, .rate_limited = true});
  queue_.Add("b", {.after = 1ms, .rate_limited = true});
  clock_->Advance(5ms);
  EXPECT_EQ(TakeAll(), (Names{"b"}));
  clock_->Advance(1s);
  EXPECT_EQ(TakeAll(), (Names{"a"}));
}

TEST_F(QueueTest, ALimiterThatDoesNotWaitAddsAtOnce) {
  WorkQueue<int> queue({.clock = clock_, .rate_limiter = MaxOfLimiter({})});
  queue.AddRateLimited(1);
  EXPECT_EQ(queue.Len(), 1u);
  EXPECT_EQ(queue.NumRequeues(1), 1);
}

TEST_F(QueueTest, TheDefaultLimiterIsOnTheQueuesClock) {
  for (int i = 0; i < 101; ++i) queue_.AddRateLimited(std::to_string(i));
  clock_->Advance(5ms);
  EXPECT_EQ(queue_.Len(), 100u);  // the bucket's burst
  clock_->Advance(95ms);
  EXPECT_EQ(queue_.Len(), 101u);
}

TEST_F(QueueTest, AStoppedContextGetsNothing) {
  queue_.Add("a");
  auto [ctx, cancel] = ctx_.WithCancel();
  cancel.Cancel();
  Result<std::string> key = queue_.Get(ctx);
  ASSERT_FALSE(key);
  EXPECT_TRUE(IsCancelled(key.error()));
  EXPECT_EQ(queue_.Len(), 1u);
}

TEST_F(QueueTest, ItemSaysDone) {
  queue_.Add("a");
  {
    Result<WorkQueue<std::string>::Item> item = queue_.Take(ctx_);
    ASSERT_TRUE(item);
    EXPECT_EQ(item->key(), "a");
    EXPECT_EQ(**item, "a");
    EXPECT_EQ((*item)->size(), 1u);
    queue_.Add("a");
    EXPECT_EQ(queue_.Len(), 0u);
  }
  EXPECT_EQ(queue_.Len(), 1u);
}

TEST_F(QueueTest, ItemCanBeMovedAndDoneEarly) {
  queue_.Add("a");
  queue_.Add("b");
  WorkQueue<std::string>::Item a = *queue_.Take(ctx_);
  WorkQueue<std::string>::Item b = *queue_.Take(ctx_);
  EXPECT_EQ(queue_.Snapshot().processing, 2u);
  a = std::move(b);
  EXPECT_EQ(queue_.Snapshot().processing, 1u);
  EXPECT_EQ(a.key(), "b");
  a.Done();
  a.Done();
  EXPECT_EQ(queue_.Snapshot().processing, 0u);
}

TEST_F(QueueTest, ProcessNextSaysDoneAndReportsTheEnd) {
  queue_.Add("a");
  std::string seen;
  EXPECT_TRUE(queue_.ProcessNext(ctx_, [&](const std::string& key) {
    seen = key;
    EXPECT_EQ(queue_.Snapshot().processing, 1u);
  }));
  EXPECT_EQ(seen, "a");
  EXPECT_EQ(queue_.Snapshot().processing, 0u);
  queue_.ShutDown();
  Result<void> next = queue_.ProcessNext(ctx_, [](const std::string&) { FAIL(); });
  ASSERT_FALSE(next);
  EXPECT_EQ(next.error().kind(), ErrorKind::kClosed);
}

TEST_F(QueueTest, ProcessNextCatchesAndTriesAgain) {
  queue_.Add("a");
  EXPECT_TRUE(queue_.ProcessNext(ctx_, [](const std::string&) { throw std::runtime_error("no"); }));
  EXPECT_TRUE(queue_.Snapshot().processing == 0);
  EXPECT_EQ(queue_.NumRequeues("a"), 1);
  clock_->Advance(5ms);
  EXPECT_TRUE(queue_.ProcessNext(ctx_, [](const std::string&) { throw 42; }));
  EXPECT_EQ(queue_.NumRequeues("a"), 2);
  clock_->Advance(10ms);
  EXPECT_EQ(TakeAll(), (Names{"a"}));
}

TEST_F(QueueTest, ShutDownMayBeCalledAgain) {
  queue_.ShutDown();
  queue_.ShutDown();
  EXPECT_TRUE(queue_.ShutDownWithDrain(ctx_));
}

TEST_F(QueueTest, DrainOfAnEmptyQueueReturnsAtOnce) {
  EXPECT_TRUE(queue_.ShutDownWithDrain(ctx_));
  EXPECT_TRUE(queue_.shutting_down());
}

TEST_F(QueueTest, DrainStopsWithItsContext) {
  queue_.Add("a");
  Result<void> drained = queue_.ShutDownWithDrain(ctx_.WithTimeout(0s));
  ASSERT_FALSE(drained);
  EXPECT_TRUE(IsDeadlineExceeded(drained.error()));
  EXPECT_EQ(Take(), "a");
}

TEST_F(QueueTest, ADirtyKeyIsStillTakenAfterShutDown) {
  queue_.Add("a");
  EXPECT_EQ(Begin(), "a");
  queue_.Add("a");
  queue_.ShutDown();
  queue_.Add("a");
  queue_.Done("a");
  EXPECT_EQ(Take(), "a");
  EXPECT_EQ(queue_.Get(ctx_).error().kind(), ErrorKind::kClosed);
}

TEST_F(QueueTest, SnapshotTellsWhatEachKeyDoes) {
  queue_.Add("working");
  EXPECT_EQ(Begin(), "working");
  queue_.Add("working", {.priority = 3});
  queue_.AddAfter("working", 5s);
  queue_.Add("later", {.priority = 7, .after = 10s});
  queue_.AddRateLimited("soon");
  queue_.Add("low", {.priority = -5});
  queue_.Add("next", {.priority = 2});
  clock_->Advance(1ms);

  WorkQueueSnapshot<std::string> snapshot = queue_.Snapshot();
  EXPECT_EQ(snapshot.processing, 1u);
  EXPECT_EQ(snapshot.queued, 2u);
  EXPECT_EQ(snapshot.waiting, 3u);
  EXPECT_EQ(snapshot.oldest, 1ms);
  EXPECT_FALSE(snapshot.shutting_down);
  ASSERT_EQ(snapshot.entries.size(), 5u);
  EXPECT_EQ(snapshot.entries[0].key, "working");
  EXPECT_EQ(snapshot.entries[0].state, KeyState::kProcessing);
  EXPECT_TRUE(snapshot.entries[0].again);
  EXPECT_EQ(snapshot.entries[0].priority, 0);
  EXPECT_EQ(snapshot.entries[0].age, 1ms);
  EXPECT_EQ(snapshot.entries[0].due_in, 4999ms);
  EXPECT_EQ(snapshot.entries[1].key, "next");
  EXPECT_EQ(snapshot.entries[1].state, KeyState::kQueued);
  EXPECT_EQ(snapshot.entries[1].priority, 2);
  EXPECT_EQ(snapshot.entries[1].due_in, std::nullopt);
  EXPECT_EQ(snapshot.entries[2].key, "low");
  EXPECT_EQ(snapshot.entries[3].key, "soon");
  EXPECT_EQ(snapshot.entries[3].state, KeyState::kWaiting);
  EXPECT_EQ(snapshot.entries[3].requeues, 1);
  EXPECT_EQ(snapshot.entries[3].due_in, 4ms);
  EXPECT_EQ(snapshot.entries[4].key, "later");
  EXPECT_EQ(snapshot.entries[4].priority, 7);
  EXPECT_EQ(ToString(snapshot.entries[4].state), "waiting");
}

TEST_F(QueueTest, SnapshotIsBoundedAndHasTheSoonest) {
  for (int i = 0; i < 1000; ++i) queue_.AddAfter(std::to_string(i), std::chrono::milliseconds(1 + (i * 7919) % 1000));
  WorkQueueSnapshot<std::string> snapshot = queue_.Snapshot(10);
  EXPECT_EQ(snapshot.waiting, 1000u);
  ASSERT_EQ(snapshot.entries.size(), 10u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(snapshot.entries[static_cast<std::size_t>(i)].due_in, std::chrono::milliseconds(1 + i));
  clock_->Advance(1h);
  EXPECT_EQ(queue_.Snapshot(3).entries.size(), 3u);
  EXPECT_EQ(queue_.Snapshot(0).entries.size(), 0u);
}

TEST_F(QueueTest, KeysOfAnyTypeWork) {
  WorkQueue<> objects({.clock = clock_});
  objects.Add({"", "node-1"});
  objects.Add({"node-1", ""});
  EXPECT_EQ(objects.Get(ctx_)->ToString(), "node-1");
  EXPECT_EQ(objects.Len(), 1u);

  struct Poor {
    std::size_t operator()(int) const { return 1; }
  };
  WorkQueue<int, Poor> numbers({.clock = clock_});
  for (int i = 0; i < 500; ++i) numbers.Add(i);
  for (int i = 0; i < 500; i += 2) numbers.Add(i);
  EXPECT_EQ(numbers.Len(), 500u);
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(*numbers.Get(ctx_), i);
    numbers.Done(i);
  }
  EXPECT_EQ(numbers.Len(), 0u);
}

TEST_F(QueueTest, DestructorDropsEverything) {
  int alive = 0;
  auto queue = std::make_unique<WorkQueue<Counted, CountedHash>>(WorkQueueOptions{.clock = clock_});
  queue->Add(Counted(1, &alive));
  queue->AddAfter(Counted(2, &alive), 1s);
  queue->AddRateLimited(Counted(3, &alive));
  queue->Add(Counted(4, &alive));
  queue->AddRateLimited(Counted(4, &alive));
  EXPECT_EQ(alive, 4);
  queue.reset();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(clock_->waiters(), 0u);
}

}  // namespace
}  // namespace kube
