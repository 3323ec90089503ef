#include "apiserver/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>

namespace kube::apiserver {
namespace {

TEST(WorkersTest, RefusesWhatWouldHaveToWait) {
  Workers workers(2);
  std::latch running(2), go(1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(workers.TryRun([&] {
      running.count_down();
      go.wait();
    }));
  }
  running.wait();
  EXPECT_FALSE(workers.TryRun([] {}));
  std::latch posted(1);
  workers.Post([&] { posted.count_down(); });
  EXPECT_FALSE(posted.try_wait());
  go.count_down();
  posted.wait();
}

TEST(WorkersTest, ThreadsAreUsedAgain) {
  Workers workers(1);
  for (int i = 0; i < 100; ++i) {
    std::latch done(1);
    workers.Post([&] { done.count_down(); });
    done.wait();
  }
}

TEST(WorkersTest, StopCancelsAndDropsTheRest) {
  auto workers = std::make_unique<Workers>(1);
  std::latch running(1);
  std::atomic<bool> stopped{false}, dropped_ran{false};
  workers->Post([&, context = workers->context()] {
    running.count_down();
    context.WaitUntilStopped();
    stopped = true;
  });
  auto held = std::make_shared<int>(0);
  workers->Post([&, held] { dropped_ran = true; });
  running.wait();
  workers->Stop();
  EXPECT_TRUE(stopped);
  EXPECT_FALSE(dropped_ran);
  EXPECT_EQ(held.use_count(), 1) << "what a dropped task holds is free";
  EXPECT_FALSE(workers->TryRun([] {}));
  workers->Post([&] { dropped_ran = true; });
  workers.reset();
  EXPECT_FALSE(dropped_ran);
}

}  // namespace
}  // namespace kube::apiserver
