// Priorities, and that nothing starves.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "kube/base/fake_clock.h"
#include "kube/queue/work_queue.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

class PriorityTest : public ::testing::Test {
 protected:
  void Make(Clock::Duration ageing) {
    queue_ = std::make_unique<WorkQueue<std::string>>(WorkQueueOptions{.clock = clock_, .ageing = ageing});
  }
  void Add(const std::string& key, int priority) { queue_->Add(key, {.priority = priority}); }
  Names TakeAll() {
    Names out;
    while (queue_->Len() != 0) {
      out.push_back(*queue_->Get(ctx_));
      queue_->Done(out.back());
    }
    return out;
  }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  Context ctx_ = Context::Background(clock_);
  std::unique_ptr<WorkQueue<std::string>> queue_ = std::make_unique<WorkQueue<std::string>>(WorkQueueOptions{.clock = clock_});
};

TEST_F(PriorityTest, HigherGoesFirst) {
  Add("initial", -100);
  Add("normal", 0);
  Add("urgent", 10);
  EXPECT_EQ(TakeAll(), (Names{"urgent", "normal", "initial"}));
}

TEST_F(PriorityTest, EqualsGoInTheOrderOfAdding) {
  for (const char* key : {"a", "b", "c"}) Add(key, 5);
  for (const char* key : {"d", "e", "f"}) Add(key, 6);
  EXPECT_EQ(TakeAll(), (Names{"d", "e", "f", "a", "b", "c"}));
}

TEST_F(PriorityTest, AHigherAddRaisesAQueuedKey) {
  Add("a", 0);
  Add("b", 0);
  Add("c", 0);
  Add("c", 1);
  EXPECT_EQ(queue_->Len(), 3u);
  EXPECT_EQ(TakeAll(), (Names{"c", "a", "b"}));
}

TEST_F(PriorityTest, ARaisedKeyGoesBehindItsNewEquals) {
  Add("a", 0);
  Add("b", 1);
  Add("a", 1);
  EXPECT_EQ(TakeAll(), (Names{"b", "a"}));
}

TEST_F(PriorityTest, ALowerAddChangesNothing) {
  Add("a", 1);
  Add("b", 0);
  Add("a", -50);
  EXPECT_EQ(TakeAll(), (Names{"a", "b"}));
}

TEST_F(PriorityTest, TheNextRunTakesTheHighestThatWasAskedForMeanwhile) {
  Add("a", 0);
  ASSERT_EQ(*queue_->Get(ctx_), "a");
  Add("b", 3);
  Add("a", -1);
  Add("a", 7);
  Add("a", 2);
  queue_->Done("a");
  Result<WorkQueue<std::string>::Item> item = queue_->Take(ctx_);
  ASSERT_TRUE(item);
  EXPECT_EQ(item->key(), "a");
  EXPECT_EQ(item->priority(), 7);
}

TEST_F(PriorityTest, APriorityIsUsedUpByTheRun) {
  Add("a", 7);
  ASSERT_EQ(TakeAll(), (Names{"a"}));
  Add("b", 0);
  Add("a", 0);
  EXPECT_EQ(TakeAll(), (Names{"b", "a"}));
}

TEST_F(PriorityTest, AWaitingKeyKeepsTheHighestPriorityAndTheEarliestTime) {
  queue_->Add("a", {.priority = 5, .after = 20s});
  queue_->Add("a", {.priority = 1, .after = 10s});
  clock_->Advance(10s);
  Result<WorkQueue<std::string>::Item> item = queue_->Take(ctx_);
  ASSERT_TRUE(item);
  EXPECT_EQ(item->priority(), 5);
}

TEST_F(PriorityTest, WhatBecomesDueRaisesAQueuedKey) {
  Add("a", 0);
  Add("b", 0);
  queue_->Add("b", {.priority = 1, .after = 1ms});
  clock_->Advance(1ms);
  EXPECT_EQ(TakeAll(), (Names{"b", "a"}));
}

TEST_F(PriorityTest, KeysOfOneMomentAreDueByPriority) {
  queue_->Add("low", {.priority = -1, .after = 1s});
  queue_->Add("high", {.priority = 1, .after = 1s});
  clock_->Advance(1s);
  EXPECT_EQ(TakeAll(), (Names{"high", "low"}));
}

TEST_F(PriorityTest, AgeingMakesUpForPriority) {
  Add("old", -100);
  clock_->Advance(10s - 1ns);
  Add("just in time", 0);
  clock_->Advance(2ns);
  Add("too late", 0);
  EXPECT_EQ(TakeAll(), (Names{"just in time", "old", "too late"}));
}

TEST_F(PriorityTest, AtTheSameScoreThePriorityDecides) {
  Add("old", -100);
  clock_->Advance(10s);
  Add("new", 0);
  EXPECT_EQ(TakeAll(), (Names{"new", "old"}));
}

TEST_F(PriorityTest, RaisingAnOldKeyNeverPutsItBack) {
  Add("old", 0);
  clock_->Advance(1h);
  Add("new", 1);
  Add("old", 1);  // by its age it is better off as it is
  EXPECT_EQ(TakeAll(), (Names{"old", "new"}));
}

// A worker that takes one key each millisecond, with a new one of high priority each millisecond: the low one is reached in bounded time.
TEST_F(PriorityTest, NothingStarvesUnderConstantLoad) {
  for (int i = 0; i < 50; ++i) Add("backlog-" + std::to_string(i), 0);
  Add("low", -100);
  int steps = 0;
  for (;; ++steps) {
    ASSERT_LT(steps, 20000) << "starved";
    Add("high-" + std::to_string(steps), 0);
    const std::string key = *queue_->Get(ctx_);
    queue_->Done(key);
    if (key == "low") break;
    clock_->Advance(1ms);
  }
  // 100 points of 100 ms each are 10,000 steps, and what was queued before must also be taken.
  EXPECT_GE(steps, 10000);
  EXPECT_LE(steps, 10000 + 51);
}

TEST_F(PriorityTest, AgeingOfZeroIgnoresPriorities) {
  Make(Clock::Duration::zero());
  Add("a", -5);
  clock_->Advance(1ns);
  Add("b", 1000);
  clock_->Advance(1ns);
  Add("a", 2000);
  EXPECT_EQ(TakeAll(), (Names{"a", "b"}));
}

TEST_F(PriorityTest, AgeingOfNeverIsStrict) {
  Make(Clock::Duration::max());
  Add("low", -2);
  Add("lower", -3);
  Add("normal", 0);
  clock_->Advance(24h * 1000);
  Add("one", 1);
  Add("two", 2);
  Add("lower", -1);
  EXPECT_EQ(TakeAll(), (Names{"two", "one", "normal", "lower", "low"}));
}

TEST_F(PriorityTest, TheEndsOfTheNumbersAreInOrder) {
  Make(1h);
  Add("min", std::numeric_limits<int>::min());
  Add("max", std::numeric_limits<int>::max());
  Add("zero", 0);
  EXPECT_EQ(TakeAll(), (Names{"max", "zero", "min"}));
}

TEST_F(PriorityTest, ManyPrioritiesAreInOrder) {
  for (int i = 0; i < 2000; ++i) Add(std::to_string(i), (i * 7919) % 2000);
  const Names taken = TakeAll();
  ASSERT_EQ(taken.size(), 2000u);
  for (std::size_t i = 1; i < taken.size(); ++i) {
    EXPECT_GT((std::stoi(taken[i - 1]) * 7919) % 2000, (std::stoi(taken[i]) * 7919) % 2000);
  }
}

TEST_F(PriorityTest, ItemKnowsItsPriority) {
  Add("a", -100);
  EXPECT_EQ(queue_->Take(ctx_)->priority(), -100);
}

TEST_F(PriorityTest, OldestIsTheAgeOfTheLongestQueued) {
  Add("a", -100);
  clock_->Advance(3s);
  Add("b", 5);
  clock_->Advance(1s);
  EXPECT_EQ(queue_->Snapshot().oldest, 4s);
}

}  // namespace
}  // namespace kube
