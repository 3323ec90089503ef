// MetricsRegistry: stores a program's metrics and renders them in the Prometheus text format (version 0.0.4).
//
//   auto metrics = std::make_shared<MetricsRegistry>();
//   Result<Client> client = Client::FromEnvironment({.metrics = metrics});
//   metrics->Describe("carts_open", "Carts that are not paid yet.");
//   metrics->Set("carts_open", {{"shop", "berlin"}}, 7);
//   exchange->Reply({.headers = {{"content-type", MetricsRegistry::kContentType}}, .body = metrics->Render()});
//
// A collector reports values that are computed only when the metrics are rendered:
//
//   MetricsRegistry::Collector collector = metrics->AddCollector([&](MetricsSink& sink) {
//     sink.Set("cache_objects", {{"kind", "Pod"}}, cache.size());
//   });
//
// Histograms have the buckets that client-go and controller-runtime use for the same names, so that existing dashboards work. Others have
// `default_buckets`. HELP texts of these names are built in. RecordedMetrics (kube/base/metrics.h) is the sink for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/metrics.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"

namespace kube {

// Options of a MetricsRegistry.
struct MetricsRegistryOptions {
  // Upper bounds, ascending, without +Inf. Empty for Prometheus' defaults, 5 ms to 10 s.
  std::vector<double> default_buckets = {};
  // Maximum number of label combinations per name, so that a label with user input cannot exhaust memory. Further ones are dropped and
  // counted in kubexx_metrics_dropped_total.
  std::size_t max_series_per_name = 10000;
  // Reports process_cpu_seconds_total, process_resident_memory_bytes, process_virtual_memory_bytes, process_open_fds, process_max_fds,
  // process_threads and process_start_time_seconds, read from /proc when rendered.
  bool process_metrics = true;
};

// A name has the type of its first use. Uses as another type, names and labels that Prometheus does not allow, and negative increments of a
// counter are dropped, counted, and logged once per name.
//
// Thread safety: all functions may be called from any thread.
// Lifetime: a Collector may outlive the registry, and vice versa. Its destructor waits for a running call, so whatever the function uses
//   may be destroyed afterwards. The function must not destroy its own Collector.
// Blocking: Render calls the collectors on the calling thread; nothing else blocks.
// Errors: none. An exception from a collector is logged and its values are omitted.
// Cost: Add and Observe of an existing series take a hash, a lookup and a lock shared only by threads of the same stripe, and do not
//   allocate. Memory: each series is stored once per stripe that reported it, of up to 16.
class KUBE_EXPORT MetricsRegistry final : public MetricsSink {
 public:
  // The content type of Render().
  static constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

  // Reports values to `sink`.
  using CollectFunction = std::function<void(MetricsSink& sink)>;

  // A registered function, called by each Render until this object is destroyed. Move-only.
  class KUBE_EXPORT Collector {
   public:
    Collector();
    Collector(Collector&&) noexcept;
    Collector& operator=(Collector&&) noexcept;
    ~Collector();

   private:
    friend class MetricsRegistry;
    struct Entry;
    explicit Collector(std::shared_ptr<Entry> entry);
    void Remove();
    std::shared_ptr<Entry> entry_;
  };

  explicit MetricsRegistry(MetricsRegistryOptions options = {});
  ~MetricsRegistry() override;

  void Add(std::string_view counter, MetricLabels labels, double value = 1) override;
  void Observe(std::string_view histogram, MetricLabels labels, double value) override;
  void Set(std::string_view gauge, MetricLabels labels, double value) override;

  // Sets the HELP text and, for a histogram, the buckets (upper bounds, ascending). Buckets must be set before the first Observe of the
  // name.
  void Describe(std::string_view name, std::string_view help, std::vector<double> buckets = {});
  // Remove deletes a series, such as the gauge of a deleted object.
  // AddCollector registers a function that each Render calls.
  void Remove(std::string_view name, MetricLabels labels);
  [[nodiscard]] Collector AddCollector(CollectFunction collect);

  // Returns all metrics, sorted by name and labels.
  std::string Render() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

namespace internal {
// The buckets that client-go or controller-runtime use for a histogram of this name; empty if neither has it.
KUBE_EXPORT std::vector<double> KnownBuckets(std::string_view name);
// The HELP text of a known name, or empty.
KUBE_EXPORT std::string_view KnownHelp(std::string_view name);
}  // namespace internal

}  // namespace kube
