#include "queue/queue_metrics.h"

#include <chrono>

namespace kube::internal {
namespace {

double Seconds(Clock::Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

QueueMetrics::QueueMetrics(std::string name, std::string controller, std::shared_ptr<MetricsSink> sink)
    : name_(std::move(name)), controller_(std::move(controller)), sink_(name_.empty() ? nullptr : std::move(sink)) {
  if (!enabled()) return;
  // So that they exist before something happens.
  if (controller_.empty()) {
    Set("workqueue_depth", 0);
  } else {
    ChangeDepth(0, 0);
  }
  Count("workqueue_adds_total", 0);
  Count("workqueue_retries_total", 0);
  Set("workqueue_unfinished_work_seconds", 0);
  Set("workqueue_longest_running_processor_seconds", 0);
}

void QueueMetrics::Count(std::string_view name, double value) {
  if (controller_.empty()) {
    sink_->Add(name, {{"name", name_}}, value);
  } else {
    sink_->Add(name, {{"name", name_}, {"controller", controller_}}, value);
  }
}

void QueueMetrics::Observe(std::string_view name, Clock::Duration value) {
  if (controller_.empty()) {
    sink_->Observe(name, {{"name", name_}}, Seconds(value));
  } else {
    sink_->Observe(name, {{"name", name_}, {"controller", controller_}}, Seconds(value));
  }
}

void QueueMetrics::Set(std::string_view name, double value) {
  if (controller_.empty()) {
    sink_->Set(name, {{"name", name_}}, value);
  } else {
    sink_->Set(name, {{"name", name_}, {"controller", controller_}}, value);
  }
}

void QueueMetrics::ChangeDepth(int priority, int by) {
  if (controller_.empty()) {
    depth_ += by;
    Set("workqueue_depth", static_cast<double>(depth_));
    return;
  }
  long* depth = nullptr;
  for (auto& [known, count] : depths_) {
    if (known == priority) depth = &count;
  }
  if (depth == nullptr && depths_.size() < kPriorities) depth = &depths_.emplace_back(priority, 0).second;
  const std::string label = depth == nullptr ? "exceeded_cardinality_limit" : std::to_string(priority);
  if (depth == nullptr) depth = &other_depth_;
  *depth += by;
  sink_->Set("workqueue_depth", {{"name", name_}, {"controller", controller_}, {"priority", label}}, static_cast<double>(*depth));
}

void QueueMetrics::Added(int priority) {
  if (!enabled()) return;
  Count("workqueue_adds_total", 1);
  ChangeDepth(priority, 1);
}

void QueueMetrics::Raised(int from, int to) {
  if (!enabled() || controller_.empty()) return;
  ChangeDepth(from, -1);
  ChangeDepth(to, 1);
}

void QueueMetrics::Got(int priority, Clock::Duration queued) {
  if (!enabled()) return;
  ChangeDepth(priority, -1);
  Observe("workqueue_queue_duration_seconds", queued);
}

void QueueMetrics::Done(Clock::Duration worked) {
  if (enabled()) Observe("workqueue_work_duration_seconds", worked);
}

void QueueMetrics::Retried() {
  if (enabled()) Count("workqueue_retries_total", 1);
}

void QueueMetrics::Unfinished(Clock::Duration all, Clock::Duration longest) {
  if (!enabled()) return;
  Set("workqueue_unfinished_work_seconds", Seconds(all));
  Set("workqueue_longest_running_processor_seconds", Seconds(longest));
}

}  // namespace kube::internal
