#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "kube/base/fake_clock.h"
#include "kube/base/metrics.h"
#include "kube/queue/work_queue.h"

namespace kube {
namespace {

using namespace std::chrono_literals;

class QueueMetricsTest : public ::testing::Test {
 protected:
  double Value(std::string_view metric) const { return metrics_->Value(metric, {{"name", "pods"}}); }
  std::uint64_t Count(std::string_view metric) const { return metrics_->Count(metric, {{"name", "pods"}}); }
  double Depth(std::string_view priority) const {
    return metrics_->Value("workqueue_depth", {{"name", "pods"}, {"controller", "pod"}, {"priority", priority}});
  }
  WorkQueueOptions Options() const { return {.name = "pods", .metrics = metrics_, .clock = clock_}; }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::shared_ptr<RecordedMetrics> metrics_ = std::make_shared<RecordedMetrics>();
  Context ctx_ = Context::Background(clock_);
};

using Contract05WorkqueueMetrics = QueueMetricsTest;

TEST_F(Contract05WorkqueueMetrics, DepthAddsAndLatencies) {
  WorkQueue<std::string> queue(Options());
  queue.Add("a");
  EXPECT_EQ(Value("workqueue_adds_total"), 1);
  EXPECT_EQ(Value("workqueue_depth"), 1);
  clock_->Advance(50us);

  ASSERT_TRUE(queue.Get(ctx_));
  EXPECT_EQ(Value("workqueue_depth"), 0);
  EXPECT_EQ(Count("workqueue_queue_duration_seconds"), 1u);
  EXPECT_DOUBLE_EQ(Value("workqueue_queue_duration_seconds"), 50e-6);

  queue.Add("a");  // it has work to do again: that counts at once
  queue.Add("a");
  EXPECT_EQ(Value("workqueue_adds_total"), 2);
  EXPECT_EQ(Value("workqueue_depth"), 1);
  clock_->Advance(25us);
  queue.Done("a");
  EXPECT_EQ(Count("workqueue_work_duration_seconds"), 1u);
  EXPECT_DOUBLE_EQ(Value("workqueue_work_duration_seconds"), 25e-6);
  EXPECT_EQ(Value("workqueue_depth"), 1);

  clock_->Advance(25us);
  ASSERT_TRUE(queue.Get(ctx_));
  EXPECT_DOUBLE_EQ(Value("workqueue_queue_duration_seconds"), 100e-6);  // 50 us since the second add
  EXPECT_EQ(Value("workqueue_depth"), 0);
  queue.Done("a");
}

TEST_F(Contract05WorkqueueMetrics, UnfinishedWorkIsRefreshedTwiceASecond) {
  WorkQueue<std::string> queue(Options());
  EXPECT_EQ(clock_->waiters(), 0u);
  queue.Add("a");
  queue.Add("b");
  ASSERT_TRUE(queue.Get(ctx_));
  EXPECT_EQ(clock_->waiters(), 1u);
  clock_->Advance(499ms);
  EXPECT_EQ(Value("workqueue_unfinished_work_seconds"), 0);
  clock_->Advance(1ms);
  EXPECT_DOUBLE_EQ(Value("workqueue_unfinished_work_seconds"), 0.5);
  EXPECT_DOUBLE_EQ(Value("workqueue_longest_running_processor_seconds"), 0.5);
  ASSERT_TRUE(queue.Get(ctx_));
  clock_->Advance(500ms);
  EXPECT_DOUBLE_EQ(Value("workqueue_unfinished_work_seconds"), 1.5);
  EXPECT_DOUBLE_EQ(Value("workqueue_longest_running_processor_seconds"), 1.0);
  queue.Done("a");
  clock_->Advance(500ms);
  EXPECT_DOUBLE_EQ(Value("workqueue_unfinished_work_seconds"), 1.0);
  EXPECT_DOUBLE_EQ(Value("workqueue_longest_running_processor_seconds"), 1.0);
  queue.Done("b");
  clock_->Advance(500ms);
  EXPECT_EQ(Value("workqueue_unfinished_work_seconds"), 0);
  EXPECT_EQ(Value("workqueue_longest_running_processor_seconds"), 0);
}

TEST_F(Contract05WorkqueueMetrics, SilentWhenIdle) {
  WorkQueue<std::string> queue(Options());
  queue.Add("a");
  ASSERT_TRUE(queue.Get(ctx_));
  queue.Done("a");
  clock_->Advance(500ms);
  EXPECT_EQ(clock_->waiters(), 0u);
  const std::uint64_t reports = Count("workqueue_unfinished_work_seconds");
  clock_->Advance(1h);
  EXPECT_EQ(Count("workqueue_unfinished_work_seconds"), reports);
  queue.Add("a");
  ASSERT_TRUE(queue.Get(ctx_));
  EXPECT_EQ(clock_->waiters(), 1u);
  queue.Done("a");
}

TEST_F(Contract05WorkqueueMetrics, MetricShutdownNoUpdateAfterwards) {
  WorkQueue<std::string> queue(Options());
  queue.Add("a");
  ASSERT_TRUE(queue.Get(ctx_));
  clock_->Advance(500ms);
  const std::uint64_t reports = Count("workqueue_unfinished_work_seconds");
  queue.ShutDown();
  EXPECT_EQ(clock_->waiters(), 0u);
  clock_->Advance(1h);
  EXPECT_EQ(Count("workqueue_unfinished_work_seconds"), reports);
  queue.Add("b");
  queue.AddAfter("b", 1s);
  EXPECT_EQ(Value("workqueue_adds_total"), 1);
  EXPECT_EQ(Value("workqueue_retries_total"), 0);
  queue.Done("a");
}

TEST_F(Contract05WorkqueueMetrics, RetriesCountDelayedAdds) {
  WorkQueue<std::string> queue(Options());
  queue.AddAfter("a", 1s);
  queue.AddAfter("a", 1s);
  queue.AddRateLimited("b");
  queue.Add("c");
  EXPECT_EQ(Value("workqueue_retries_total"), 3);
  EXPECT_EQ(Value("workqueue_adds_total"), 1);
  EXPECT_EQ(Value("workqueue_depth"), 1);
  clock_->Advance(1s);
  EXPECT_EQ(Value("workqueue_adds_total"), 3);
  EXPECT_EQ(Value("workqueue_depth"), 3);
}

TEST_F(QueueMetricsTest, AQueueWithoutANameHasNone) {
  WorkQueue<std::string> queue({.metrics = metrics_, .clock = clock_});
  queue.Add("a");
  ASSERT_TRUE(queue.Get(ctx_));
  queue.Done("a");
  queue.AddRateLimited("a");
  EXPECT_TRUE(metrics_->Names().empty());
  EXPECT_EQ(clock_->waiters(), 1u);  // of the delay alone
}

TEST_F(QueueMetricsTest, ANameAloneIsNotEnough) {
  WorkQueue<std::string> queue({.name = "pods", .clock = clock_});
  queue.Add("a");
  ASSERT_TRUE(queue.Get(ctx_));
  EXPECT_EQ(clock_->waiters(), 0u);
}

TEST_F(QueueMetricsTest, AreThereFromTheBeginning) {
  WorkQueue<std::string> queue(Options());
  EXPECT_EQ(metrics_->Names(), (std::vector<std::string>{
                                   "workqueue_adds_total{name=\"pods\"}",
                                   "workqueue_depth{name=\"pods\"}",
                                   "workqueue_longest_running_processor_seconds{name=\"pods\"}",
                                   "workqueue_retries_total{name=\"pods\"}",
                                   "workqueue_unfinished_work_seconds{name=\"pods\"}",
                               }));
}

TEST_F(QueueMetricsTest, AControllersQueueTellsItsDepthByPriority) {
  WorkQueueOptions options = Options();
  options.controller = "pod";
  WorkQueue<std::string> queue(options);
  queue.Add("a", {.priority = -100});
  queue.Add("b", {.priority = -100});
  queue.Add("c");
  EXPECT_EQ(Depth("-100"), 2);
  EXPECT_EQ(Depth("0"), 1);
  queue.Add("a", {.priority = 0});
  EXPECT_EQ(Depth("-100"), 1);
  EXPECT_EQ(Depth("0"), 2);
  EXPECT_EQ(*queue.Get(ctx_), "c");
  EXPECT_EQ(Depth("0"), 1);
  queue.Add("c", {.priority = -100});
  EXPECT_EQ(Depth("-100"), 2);
  queue.Add("c", {.priority = 0});
  EXPECT_EQ(Depth("-100"), 1);
  EXPECT_EQ(Depth("0"), 2);
  queue.Done("c");
  EXPECT_EQ(metrics_->Value("workqueue_adds_total", {{"name", "pods"}, {"controller", "pod"}}), 4);
  EXPECT_EQ(metrics_->Count("workqueue_work_duration_seconds", {{"name", "pods"}, {"controller", "pod"}}), 1u);
}

TEST_F(QueueMetricsTest, ManyPrioritiesShareOneLabel) {
  WorkQueueOptions options = Options();
  options.controller = "pod";
  WorkQueue<int> queue(options);
  for (int i = 0; i < 40; ++i) queue.Add(i, {.priority = i});
  EXPECT_EQ(Depth("24"), 1);
  EXPECT_EQ(Depth("25"), 0);
  EXPECT_EQ(Depth("exceeded_cardinality_limit"), 15);
  while (queue.Len() != 0) queue.Done(*queue.Get(ctx_));
  EXPECT_EQ(Depth("24"), 0);
  EXPECT_EQ(Depth("exceeded_cardinality_limit"), 0);
}

}  // namespace
}  // namespace kube
