#include "kube/base/gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kube/base/fake_clock.h"
#include "kube/base/thread.h"

namespace kube {
namespace {

using std::chrono::seconds;

TEST(GateTest, LetsInUntilClosed) {
  Gate gate;
  {
    const std::optional<Gate::Holder> a = gate.Enter();
    const std::optional<Gate::Holder> b = gate.Enter();
    ASSERT_TRUE(a && b);
    EXPECT_EQ(gate.count(), 2u);
  }
  EXPECT_EQ(gate.count(), 0u);
  EXPECT_FALSE(gate.closed());
  gate.Close();
  EXPECT_TRUE(gate.closed());
  EXPECT_FALSE(gate.Enter());
  gate.Close();
}

TEST(GateTest, CloseWaitsForThoseInside) {
  Gate gate;
  std::optional<Gate::Holder> inside = gate.Enter();
  std::atomic<bool> closed{false};
  Thread closer("closer", [&] {
    gate.Close();
    closed = true;
  });
  while (gate.Enter()) {  // until the closer is at work
  }
  EXPECT_FALSE(closed);
  inside.reset();
  closer.Join();
  EXPECT_TRUE(closed);
}

TEST(GateTest, AMovedHolderLeavesOnce) {
  Gate gate;
  std::optional<Gate::Holder> a = gate.Enter();
  std::optional<Gate::Holder> b = std::move(a);
  a.reset();
  EXPECT_EQ(gate.count(), 1u);
  std::optional<Gate::Holder> c = gate.Enter();
  *b = std::move(*c);
  EXPECT_EQ(gate.count(), 1u);
  b.reset();
  EXPECT_EQ(gate.count(), 0u);
}

TEST(GateTest, CloseGivesUpWithTheContextAndStaysClosed) {
  auto clock = std::make_shared<FakeClock>();
  const Context ctx = Context::Background(clock).WithTimeout(seconds(5));
  Gate gate;
  std::optional<Gate::Holder> inside = gate.Enter();
  std::promise<Result<void>> done;
  Thread closer("closer", [&] { done.set_value(gate.Close(ctx)); });
  while (gate.Enter()) {
  }
  clock->Advance(seconds(5));
  EXPECT_TRUE(IsDeadlineExceeded(done.get_future().get().error()));
  EXPECT_FALSE(gate.Enter());
  inside.reset();
  EXPECT_TRUE(gate.Close(ctx).ok()) << "an empty gate closes even after the deadline";
}

TEST(GateTest, TheOwnerMayBeDestroyedRightAfterClosing) {
  for (int round = 0; round < 200; ++round) {
    auto gate = std::make_unique<Gate>();
    std::optional<Gate::Holder> inside = gate->Enter();
    Thread worker("worker", [holder = std::make_shared<std::optional<Gate::Holder>>(std::move(inside))] { holder->reset(); });
    gate->Close();
    gate.reset();
  }
}

TEST(GateTest, StandsManyThreads) {
  Gate gate;
  std::atomic<int> inside{0};
  std::atomic<bool> closed{false};
  std::vector<Thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back("user", [&] {
      while (auto holder = gate.Enter()) {
        ++inside;
        EXPECT_FALSE(closed);
        --inside;
      }
    });
  }
  gate.Close();
  closed = true;
  EXPECT_EQ(inside, 0);
}

}  // namespace
}  // namespace kube
