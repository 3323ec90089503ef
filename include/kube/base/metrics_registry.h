// MetricsRegistry: keeps the numbers that a program reports, and says them in the text format of Prometheus (version 0.0.4).
//
//   auto metrics = std::make_shared<MetricsRegistry>();
//   Result<Client> client = Client::FromEnvironment({.metrics = metrics});
//   metrics->Describe("carts_open", "Carts that nobody paid for.");
//   metrics->Set("carts_open", {{"shop", "berlin"}}, 7);
//   exchange->Reply({.headers = {{"content-type", MetricsRegistry::kContentType}}, .body = metrics->Render()});
//
// What nobody reports all the time but somebody can count is collected when it is asked for:
//
//   MetricsRegistry::Collector collector = metrics->AddCollector([&](MetricsSink& sink) {
//     sink.Set("cache_objects", {{"kind", "Pod"}}, cache.size());
//   });
//
// Histograms have the buckets that client-go and controller-runtime give to their names, so that dashboards made for those work; others
// get `default_buckets`. The text of HELP lines is known for the same names. RecordedMetrics (kube/base/metrics.h) is the sink for tests.
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

struct MetricsRegistryOptions {
  // Upper bounds, ascending, without +Inf. Empty: Prometheus' own, 5 ms to 10 s.
  std::vector<double> default_buckets = {};
  // More label values than this for one name are not kept: a label that holds a user's text must not eat all memory. What is lost is
  // counted in kubexx_metrics_dropped_total.
  std::size_t max_series_per_name = 10000;
  // process_cpu_seconds_total, process_resident_memory_bytes, process_virtual_memory_bytes, process_open_fds, process_max_fds,
  // process_threads and process_start_time_seconds, read from /proc when they are asked for.
  bool process_metrics = true;
};

// A name has one type, that of its first use; other uses, names and labels that Prometheus does not allow, and negative steps of a
// counter are dropped, counted and logged once for each name.
//
// Thread safety: all functions from any thread.
// Lifetime: a Collector may outlive the registry and the other way round. Its destructor waits for a call that is running, so what the
//   function uses may go afterwards; not to be destroyed by the function itself.
// Blocking: Render calls the collectors, on its own thread; the others do not block.
// Errors: none. A collector that throws is logged, and its numbers are left out.
// Cost: Add and Observe of a series that exists: a hash, a lookup and a lock that only threads of the same stripe share, no allocation.
//   Memory: each series once for each of up to 16 stripes that reported it.
class KUBE_EXPORT MetricsRegistry final : public MetricsSink {
 public:
  static constexpr const char* kContentType = "text/plain; version=0.0.4; charset=utf-8";

  using CollectFunction = std::function<void(MetricsSink& sink)>;

  // A function that is called for each Render, until this object is destroyed. Move-only.
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

  // The HELP text, and of a histogram the buckets (upper bounds, ascending). Buckets count only before the first Observe of the name.
  void Describe(std::string_view name, std::string_view help, std::vector<double> buckets = {});
  // Takes a series out: of a gauge whose thing is gone.
  void Remove(std::string_view name, MetricLabels labels);
  [[nodiscard]] Collector AddCollector(CollectFunction collect);

  // All of it, sorted by name and labels.
  std::string Render() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

namespace internal {
// The bucket bounds that a histogram of this name has in client-go or controller-runtime; empty where it is none of theirs.
KUBE_EXPORT std::vector<double> KnownBuckets(std::string_view name);
// The HELP text of a known name, or empty.
KUBE_EXPORT std::string_view KnownHelp(std::string_view name);
}  // namespace internal

}  // namespace kube
