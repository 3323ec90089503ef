#include "kube/queue/parallelize.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace kube {
namespace {

struct Case {
  int workers;
  std::size_t pieces;
  std::size_t chunk;
};

class Contract05ParallelizeUntil : public ::testing::TestWithParam<Case> {};

TEST_P(Contract05ParallelizeUntil, EachPieceExactlyOnce) {
  const Case& c = GetParam();
  std::vector<std::atomic<int>> seen(c.pieces);
  EXPECT_TRUE(
      ParallelizeUntil(Context::Background(), c.workers, c.pieces, [&](std::size_t piece) { ++seen.at(piece); }, {.chunk_size = c.chunk}));
  for (std::size_t i = 0; i < c.pieces; ++i) EXPECT_EQ(seen[i], 1) << i;
}

INSTANTIATE_TEST_SUITE_P(Sizes, Contract05ParallelizeUntil,
                         ::testing::Values(Case{10, 1000, 1}, Case{10, 1000, 10}, Case{10, 1000, 100}, Case{10, 999, 10}, Case{1, 7, 1},
                                           Case{0, 7, 2}, Case{-3, 7, 0}, Case{4, 0, 1}, Case{16, 3, 1}, Case{2, 5, 1000}));

TEST(ParallelizeTest, AStoppedContextBeginsNothing) {
  auto [ctx, cancel] = Context::Background().WithCancel();
  cancel.Cancel();
  Result<void> done = ParallelizeUntil(ctx, 4, 10, [](std::size_t) { FAIL(); });
  ASSERT_FALSE(done);
  EXPECT_TRUE(IsCancelled(done.error()));
}

TEST(ParallelizeTest, StopsBeforeTheNextPiece) {
  auto made = Context::Background().WithCancel();
  std::atomic<int> calls = 0;
  Result<void> done = ParallelizeUntil(made.first, 1, 100,
                                       [&](std::size_t piece) {
                                         ++calls;
                                         if (piece == 4) made.second.Cancel();
                                       },
                                       {.chunk_size = 10});
  ASSERT_FALSE(done);
  EXPECT_EQ(calls, 5);
}

TEST(ParallelizeTest, AContextThatStopsWithTheLastPieceIsNoError) {
  auto made = Context::Background().WithCancel();
  EXPECT_TRUE(ParallelizeUntil(made.first, 1, 3, [&](std::size_t piece) {
    if (piece == 2) made.second.Cancel();
  }));
}

TEST(ParallelizeTest, WhatThrowsEndsIt) {
  std::atomic<int> calls = 0;
  Result<void> done = ParallelizeUntil(Context::Background(), 1, 100, [&](std::size_t piece) {
    ++calls;
    if (piece == 3) throw std::runtime_error("broken");
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorKind::kUserCode);
  EXPECT_EQ(done.error().message(), "piece 3 threw: broken");
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(ParallelizeUntil(Context::Background(), 2, 1, [](std::size_t) { throw 1; }).error().kind(), ErrorKind::kUserCode);
}

}  // namespace
}  // namespace kube
