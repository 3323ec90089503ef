// Metrics: counters, gauges and histograms, identified by name and labels. kubexx reports them to a sink that the program chooses.
//
//   MetricsSink         receives the values
//   RecordedMetrics     keeps them in memory; for tests and small programs
//
//   metrics.Add("rest_client_requests_total", {{"code", "200"}, {"method", "GET"}, {"host", host}});
//
// Names and labels match client-go and controller-runtime, so existing dashboards work. MetricsRegistry (metrics_registry.h) is the sink
// for Prometheus.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/mutex.h"

namespace kube {

// Label names and values, in a fixed order for each metric name.
using MetricLabels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Receives metrics.
//
// Thread safety: all functions are called from many threads at once. They must be non-blocking and must not throw.
class KUBE_EXPORT MetricsSink {
 public:
  virtual ~MetricsSink();
  // Increases a counter.
  virtual void Add(std::string_view counter, MetricLabels labels, double value = 1) = 0;
  // Adds an observation to a histogram.
  virtual void Observe(std::string_view histogram, MetricLabels labels, double value) = 0;
  // Sets a gauge.
  virtual void Set(std::string_view gauge, MetricLabels labels, double value) = 0;
};

// Keeps all metrics in memory. Thread safety: all functions may be called from any thread.
class KUBE_EXPORT RecordedMetrics : public MetricsSink {
 public:
  void Add(std::string_view counter, MetricLabels labels, double value = 1) override;
  void Observe(std::string_view histogram, MetricLabels labels, double value) override;
  void Set(std::string_view gauge, MetricLabels labels, double value) override;

  // The total of a counter, the last value of a gauge, or the sum of a histogram; 0 if it was never reported.
  double Value(std::string_view name, MetricLabels labels = {}) const;
  // The number of reports.
  std::uint64_t Count(std::string_view name, MetricLabels labels = {}) const;
  // All series as "name{label="value",...}", sorted.
  std::vector<std::string> Names() const;

 private:
  struct Series {
    double value = 0;
    std::uint64_t count = 0;
  };
  mutable Mutex mu_;
  std::map<std::string, Series, std::less<>> series_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube
