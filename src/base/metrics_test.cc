#include "kube/base/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kube {
namespace {

using ::testing::ElementsAre;

TEST(RecordedMetricsTest, SumsCountersByLabels) {
  RecordedMetrics metrics;
  metrics.Add("requests_total", {{"code", "200"}});
  metrics.Add("requests_total", {{"code", "200"}}, 2);
  metrics.Add("requests_total", {{"code", "404"}});
  EXPECT_EQ(metrics.Value("requests_total", {{"code", "200"}}), 3);
  EXPECT_EQ(metrics.Count("requests_total", {{"code", "200"}}), 2U);
  EXPECT_EQ(metrics.Value("requests_total", {{"code", "404"}}), 1);
  EXPECT_EQ(metrics.Value("requests_total"), 0);
}

TEST(RecordedMetricsTest, AGaugeKeepsItsLastValue) {
  RecordedMetrics metrics;
  metrics.Set("depth", {}, 5);
  metrics.Set("depth", {}, 3);
  EXPECT_EQ(metrics.Value("depth"), 3);
  EXPECT_EQ(metrics.Count("depth"), 2U);
}

TEST(RecordedMetricsTest, NamesAreThoseOfPrometheus) {
  RecordedMetrics metrics;
  metrics.Observe("seconds", {{"verb", "GET"}, {"host", "a\"b\\c\nd"}}, 0.5);
  metrics.Add("a", {});
  EXPECT_THAT(metrics.Names(), ElementsAre("a", "seconds{verb=\"GET\",host=\"a\\\"b\\\\c\\nd\"}"));
}

}  // namespace
}  // namespace kube
