// Metrics: counters, gauges and histograms, by name and labels. What parts of kubexx report; where it goes is the program's choice.
//
//   MetricsSink         receives the numbers
//   RecordedMetrics     keeps them in memory; for tests and small programs
//
//   metrics.Add("rest_client_requests_total", {{"code", "200"}, {"method", "GET"}, {"host", host}});
//
// Names and labels are those of client-go and controller-runtime, so that dashboards made for Go programs work. MetricsRegistry
// (metrics_registry.h) is the sink for Prometheus.
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

// In a fixed order for each name.
using MetricLabels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

// Thread safety: all functions are called from many threads at once. They must be quick and must not throw.
class KUBE_EXPORT MetricsSink {
 public:
  virtual ~MetricsSink();
  virtual void Add(std::string_view counter, MetricLabels labels, double value = 1) = 0;
  virtual void Observe(std::string_view histogram, MetricLabels labels, double value) = 0;
  virtual void Set(std::string_view gauge, MetricLabels labels, double value) = 0;
};

class KUBE_EXPORT RecordedMetrics : public MetricsSink {
 public:
  void Add(std::string_view counter, MetricLabels labels, double value = 1) override;
  void Observe(std::string_view histogram, MetricLabels labels, double value) override;
  void Set(std::string_view gauge, MetricLabels labels, double value) override;

  // Of a counter its sum, of a gauge its last value, of a histogram the sum of its observations; 0 where there is none.
  double Value(std::string_view name, MetricLabels labels = {}) const;
  // How often it was reported.
  std::uint64_t Count(std::string_view name, MetricLabels labels = {}) const;
  // All of them as "name{label="value",...}", sorted.
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
