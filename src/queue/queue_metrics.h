// QueueMetrics: the metrics of a queue, under client-go's names.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/clock.h"
#include "kube/base/metrics.h"

namespace kube::internal {

// Does nothing without a sink or a name of the queue. Called with the queue's lock held, so that gauges are reported in order. Thread
// safety: none.
class QueueMetrics {
 public:
  QueueMetrics(std::string name, std::string controller, std::shared_ptr<MetricsSink> sink);

  bool enabled() const { return sink_ != nullptr; }

  void Added(int priority);       // the key is queued
  void Raised(int from, int to);  // its priority changed
  void Got(int priority, Clock::Duration queued);
  void Done(Clock::Duration worked);
  void Retried();
  void Unfinished(Clock::Duration all, Clock::Duration longest);

 private:
  void Count(std::string_view name, double value);
  void Observe(std::string_view name, Clock::Duration value);
  void Set(std::string_view name, double value);
  void ChangeDepth(int priority, int by);

  const std::string name_;
  const std::string controller_;
  const std::shared_ptr<MetricsSink> sink_;
  long depth_ = 0;
  // The depth by priority, for a controller's queue. At most kPriorities priorities; all others are combined, because label values must be
  // few.
  static constexpr std::size_t kPriorities = 25;
  std::vector<std::pair<int, long>> depths_;
  long other_depth_ = 0;
};

}  // namespace kube::internal
