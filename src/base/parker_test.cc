#include "base/parker.h"

#include <gtest/gtest.h>

#include "kube/base/thread.h"

namespace kube::internal {
namespace {

TEST(ParkerTest, DoesNotSleepWhereItWasWokenBefore) {
  Parker parker;
  parker.Unpark();
  parker.Unpark();  // counts once
  parker.Park();
  SUCCEED();
}

TEST(ParkerTest, EachWakeUpIsSeen) {
  constexpr int kRounds = 20'000;
  Parker ping, pong;
  int shared = 0;  // whose turn it is has it; nothing but the two says whose that is
  Thread other("other", [&] {
    for (int i = 0; i < kRounds; ++i) {
      ping.Park();
      ++shared;
      pong.Unpark();
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_EQ(shared, i);
    ping.Unpark();
    pong.Park();
  }
  other.Join();
  EXPECT_EQ(shared, kRounds);
}

}  // namespace
}  // namespace kube::internal
