// Each thread reports into one of a few stripes, so that threads do not wait for each other; Render adds the stripes up. Gauges cannot be
// added up: their stripe is chosen by their name and labels.
#include "kube/base/metrics_registry.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/keyed_hash.h"
#include "base/process_metrics.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"

namespace kube {
namespace {

constexpr std::size_t kStripes = 16;
constexpr std::string_view kDropped = "kubexx_metrics_dropped_total";

const Logger& Log() {
  static const Logger log("serve.metrics");
  return log;
}

enum class MetricType : std::uint8_t { kCounter, kGauge, kHistogram };

std::string_view ToString(MetricType type) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "untyped";
}

using Bounds = std::shared_ptr<const std::vector<double>>;

struct Series {
  MetricType type = MetricType::kCounter;
  double value = 0;  // of a histogram: the sum
  Bounds bounds;
  std::vector<std::uint64_t> counts;  // one for each bound and one for +Inf, not added up

  void Observe(double observed) {
    const auto at = std::lower_bound(bounds->begin(), bounds->end(), observed);
    ++counts[static_cast<std::size_t>(at - bounds->begin())];
    value += observed;
  }
  void Merge(const Series& other) {
    value += other.value;
    for (std::size_t i = 0; i < counts.size() && i < other.counts.size(); ++i) counts[i] += other.counts[i];
  }
};

// Separates name and labels without forbidding any character: each part is preceded by its length.
void AppendPart(std::string& key, std::string_view part) {
  const std::uint32_t size = static_cast<std::uint32_t>(part.size());
  char bytes[sizeof size];
  std::memcpy(bytes, &size, sizeof size);
  key.append(bytes, sizeof size).append(part);
}
std::string_view TakePart(std::string_view& key) {
  std::uint32_t size = 0;
  std::memcpy(&size, key.data(), sizeof size);
  const std::string_view part = key.substr(sizeof size, size);
  key.remove_prefix(sizeof size + size);
  return part;
}
void MakeKey(std::string& key, std::string_view name, MetricLabels labels) {
  key.clear();
  AppendPart(key, name);
  for (const auto& [label, value] : labels) {
    AppendPart(key, label);
    AppendPart(key, value);
  }
}

template <typename T>
using ByKey = std::unordered_map<std::string, T, kube::internal::KeyedHash, std::equal_to<>>;  // labels may hold names that others choose

struct alignas(64) Stripe {
  mutable Mutex mu;
  ByKey<Series> series KUBE_GUARDED_BY(mu);
};

std::size_t ThreadStripe() {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t mine = next.fetch_add(1, std::memory_order_relaxed) % kStripes;
  return mine;
}

bool ValidName(std::string_view name, bool colons) {
  if (name.empty()) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colons && c == ':');
    if (!letter && (i == 0 || c < '0' || c > '9')) return false;
  }
  return true;
}

bool ValidLabels(MetricLabels labels) {
  for (auto at = labels.begin(); at != labels.end(); ++at) {
    // Names with "__" in front are Prometheus' own, and "le" is written by histograms.
    if (!ValidName(at->first, false) || at->first.substr(0, 2) == "__" || at->first == "le") return false;
    for (auto before = labels.begin(); before != at; ++before) {
      if (before->first == at->first) return false;
    }
  }
  return true;
}

void AppendNumber(std::string& out, double number) {
  if (std::isnan(number)) {
    out += "NaN";
  } else if (std::isinf(number)) {
    out += number > 0 ? "+Inf" : "-Inf";
  } else {
    // As Go writes it, since the text of a bucket's bound is a part of its name: 0.0001, 1e-05, 100000, 1.048576e+06.
    char text[40] = {};  // atoi needs an end
    std::to_chars_result end = std::to_chars(std::begin(text), std::end(text), number, std::chars_format::scientific);
    const int exponent = std::atoi(std::find(std::begin(text), end.ptr, 'e') + 1);
    if (number == 0 || (exponent >= -4 && exponent < 6)) {
      end = std::to_chars(std::begin(text), std::end(text), number, std::chars_format::fixed);
    }
    out.append(text, end.ptr);
  }
}

void AppendEscaped(std::string& out, std::string_view text, bool quotes) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '\\' || (quotes && c == '"')) out += '\\';
    out += c;
  }
}

// name{labels,le="x"} value
void AppendSample(std::string& out, std::string_view name, std::string_view suffix, std::string_view labels, const double* bound,
                  double value) {
  out.append(name).append(suffix);
  if (!labels.empty() || bound != nullptr) {
    out.append("{").append(labels);
    if (bound != nullptr) {
      out += labels.empty() ? "le=\"" : ",le=\"";
      AppendNumber(out, *bound);
      out += '"';
    }
    out += '}';
  }
  out += ' ';
  AppendNumber(out, value);
  out += '\n';
}

struct Family {
  MetricType type = MetricType::kCounter;
  bool used = false;
  std::string help;
  Bounds bounds;
  std::unordered_set<std::string, kube::internal::KeyedHash> keys;
};

}  // namespace

struct MetricsRegistry::Collector::Entry {
  Mutex mu;
  CollectFunction collect KUBE_GUARDED_BY(mu);
};

MetricsRegistry::Collector::Collector() = default;
MetricsRegistry::Collector::Collector(std::shared_ptr<Entry> entry) : entry_(std::move(entry)) {}
MetricsRegistry::Collector::Collector(Collector&&) noexcept = default;
MetricsRegistry::Collector& MetricsRegistry::Collector::operator=(Collector&& other) noexcept {
  if (this != &other) {
    Remove();
    entry_ = std::move(other.entry_);
  }
  return *this;
}
MetricsRegistry::Collector::~Collector() { Remove(); }

void MetricsRegistry::Collector::Remove() {
  if (entry_ == nullptr) return;
  CollectFunction gone;  // destroyed without the lock
  {
    MutexLock lock(entry_->mu);
    gone = std::move(entry_->collect);
    entry_->collect = nullptr;
  }
  entry_ = nullptr;
}

class MetricsRegistry::Impl {
 public:
  explicit Impl(MetricsRegistryOptions options) : options_(std::move(options)) {
    if (options_.default_buckets.empty()) options_.default_buckets = {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
  }

  void Report(MetricType type, std::string_view name, MetricLabels labels, double value) {
    thread_local std::string key;
    MakeKey(key, name, labels);
    Stripe& stripe = StripeOf(type, key);
    {
      MutexLock lock(stripe.mu);
      const auto found = stripe.series.find(std::string_view(key));
      if (found != stripe.series.end() && found->second.type == type) {
        Apply(found->second, value);
        return;
      }
    }
    // The first report of this series in this stripe.
    std::optional<Series> fresh = Admit(type, name, labels, key);
    if (!fresh) return;
    MutexLock lock(stripe.mu);
    Apply(stripe.series.try_emplace(key, *std::move(fresh)).first->second, value);
  }

  void Drop(std::string_view name, std::string_view reason) {
    bool first = false;
    {
      MutexLock lock(families_mu_);
      first = complained_.size() < 1000 && complained_.insert(std::string(name)).second;
    }
    if (first) Log().Warn("A metric cannot be kept; this is said once for each name", {{"name", name}, {"reason", reason}});
    if (name != kDropped) Report(MetricType::kCounter, kDropped, {{"reason", reason}}, 1);
  }

  void Describe(std::string_view name, std::string_view help, std::vector<double> buckets) {
    MutexLock lock(families_mu_);
    Family& family = families_[std::string(name)];
    family.help = help;
    if (!buckets.empty() && !family.used) family.bounds = Sane(std::move(buckets));
  }

  void Remove(std::string_view name, MetricLabels labels) {
    std::string key;
    MakeKey(key, name, labels);
    {
      MutexLock lock(families_mu_);
      const auto family = families_.find(name);
      if (family != families_.end()) family->second.keys.erase(key);
    }
    for (std::size_t i = 0; i < kStripes; ++i) {
      MutexLock lock(sums_[i].mu);
      sums_[i].series.erase(key);
    }
    Stripe& gauges = StripeOf(MetricType::kGauge, key);
    MutexLock lock(gauges.mu);
    gauges.series.erase(key);
  }

  std::shared_ptr<Collector::Entry> AddCollector(CollectFunction collect) {
    auto entry = std::make_shared<Collector::Entry>();
    {
      MutexLock lock(entry->mu);
      entry->collect = std::move(collect);
    }
    MutexLock lock(families_mu_);
    collectors_.push_back(entry);
    return entry;
  }

  std::string Render();

 private:
  // What was reported with this name, by labels as they are printed.
  using ByLabels = std::map<std::string, Series>;
  using Snapshot = std::map<std::string, ByLabels, std::less<>>;

  static void Apply(Series& series, double value) {
    switch (series.type) {
      case MetricType::kCounter:
        series.value += value;
        break;
      case MetricType::kGauge:
        series.value = value;
        break;
      case MetricType::kHistogram:
        series.Observe(value);
        break;
    }
  }

  static Bounds Sane(std::vector<double> bounds) {
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    bounds.erase(std::remove_if(bounds.begin(), bounds.end(), [](double b) { return !std::isfinite(b); }), bounds.end());
    return std::make_shared<const std::vector<double>>(std::move(bounds));
  }

  Stripe& StripeOf(MetricType type, std::string_view key) {
    return type == MetricType::kGauge ? gauges_[kube::internal::KeyedHash()(key) % kStripes] : sums_[ThreadStripe()];
  }

  // Whether there may be such a series; makes an empty one.
  std::optional<Series> Admit(MetricType type, std::string_view name, MetricLabels labels, const std::string& key) {
    if (!ValidName(name, true)) return Refuse(name, "invalid_name");
    if (!ValidLabels(labels)) return Refuse(name, "invalid_label");
    Bounds bounds;
    std::string_view problem;
    {
      MutexLock lock(families_mu_);
      Family& family = families_[std::string(name)];
      if (!family.used) {
        family.used = true;
        family.type = type;
        if (type == MetricType::kHistogram && family.bounds == nullptr) {
          std::vector<double> known = internal::KnownBuckets(name);
          family.bounds = Sane(known.empty() ? options_.default_buckets : std::move(known));
        }
      }
      if (family.type != type) {
        problem = "type_conflict";
      } else if (family.keys.size() >= options_.max_series_per_name && !family.keys.contains(key)) {
        problem = "too_many_series";
      } else {
        family.keys.insert(key);
        bounds = family.bounds;
      }
    }
    if (!problem.empty()) return Refuse(name, problem);
    Series series{.type = type, .bounds = bounds};
    if (type == MetricType::kHistogram) series.counts.resize(bounds->size() + 1);
    return series;
  }
  std::optional<Series> Refuse(std::string_view name, std::string_view reason) {
    Drop(name, reason);
    return std::nullopt;
  }

  static void Take(const std::array<Stripe, kStripes>& stripes, Snapshot& snapshot) {
    for (const Stripe& stripe : stripes) {
      MutexLock lock(stripe.mu);
      for (const auto& [key, series] : stripe.series) {
        std::string_view rest = key;
        const std::string name(TakePart(rest));
        std::string labels;
        while (!rest.empty()) {
          if (!labels.empty()) labels += ',';
          labels.append(TakePart(rest)).append("=\"");
          AppendEscaped(labels, TakePart(rest), true);
          labels += '"';
        }
        const auto [at, fresh] = snapshot[name].try_emplace(std::move(labels), series);
        if (!fresh) at->second.Merge(series);
      }
    }
  }

  void CollectInto(MetricsRegistry& out);

  MetricsRegistryOptions options_;
  std::array<Stripe, kStripes> sums_;    // counters and histograms, by thread
  std::array<Stripe, kStripes> gauges_;  // by key

  Mutex families_mu_;
  std::map<std::string, Family, std::less<>> families_ KUBE_GUARDED_BY(families_mu_);
  std::unordered_set<std::string, kube::internal::KeyedHash> complained_ KUBE_GUARDED_BY(families_mu_);
  std::vector<std::weak_ptr<Collector::Entry>> collectors_ KUBE_GUARDED_BY(families_mu_);
};

void MetricsRegistry::Impl::CollectInto(MetricsRegistry& out) {
  std::vector<std::shared_ptr<Collector::Entry>> entries;
  {
    MutexLock lock(families_mu_);
    for (const auto& [name, family] : families_) {
      out.Describe(name, family.help, family.bounds == nullptr ? std::vector<double>() : *family.bounds);
    }
    std::erase_if(collectors_, [](const std::weak_ptr<Collector::Entry>& entry) { return entry.expired(); });
    for (const std::weak_ptr<Collector::Entry>& weak : collectors_) {
      if (std::shared_ptr<Collector::Entry> entry = weak.lock()) entries.push_back(std::move(entry));
    }
  }
  if (options_.process_metrics) internal::CollectProcessMetrics(out);
  for (const std::shared_ptr<Collector::Entry>& entry : entries) {
    MutexLock lock(entry->mu);
    if (!entry->collect) continue;
    try {
      entry->collect(out);
    } catch (const std::exception& e) {
      Log().Warn("A collector of metrics threw", {{"what", e.what()}});
    } catch (...) {
      Log().Warn("A collector of metrics threw something that is not a std::exception");
    }
  }
}

std::string MetricsRegistry::Impl::Render() {
  // Collectors report into a registry of their own, which follows the same rules and is forgotten afterwards.
  MetricsRegistry collected({.max_series_per_name = options_.max_series_per_name, .process_metrics = false});
  CollectInto(collected);
  Snapshot snapshot;
  Take(sums_, snapshot);
  Take(gauges_, snapshot);
  Snapshot more;
  Take(collected.impl_->sums_, more);
  Take(collected.impl_->gauges_, more);
  for (auto& [name, by_labels] : more) {
    ByLabels& into = snapshot[name];
    for (auto& [labels, series] : by_labels) {
      if (!into.empty() && into.begin()->second.type != series.type) continue;
      const auto [at, fresh] = into.try_emplace(labels, series);
      if (fresh) continue;
      if (series.type == MetricType::kGauge) {
        at->second.value = series.value;  // the newer one
      } else {
        at->second.Merge(series);
      }
    }
  }

  std::string out;
  for (const auto& [name, by_labels] : snapshot) {
    if (by_labels.empty()) continue;
    std::string help;
    {
      MutexLock lock(families_mu_);
      if (const auto family = families_.find(name); family != families_.end()) help = family->second.help;
    }
    if (help.empty()) help = internal::KnownHelp(name);
    if (!help.empty()) {
      out.append("# HELP ").append(name).append(" ");
      AppendEscaped(out, help, false);
      out += '\n';
    }
    out.append("# TYPE ").append(name).append(" ").append(ToString(by_labels.begin()->second.type)).append("\n");
    for (const auto& [labels, series] : by_labels) {
      if (series.type != MetricType::kHistogram) {
        AppendSample(out, name, "", labels, nullptr, series.value);
        continue;
      }
      std::uint64_t total = 0;
      for (std::size_t i = 0; i < series.counts.size(); ++i) {
        total += series.counts[i];
        const double bound = i < series.bounds->size() ? (*series.bounds)[i] : HUGE_VAL;
        AppendSample(out, name, "_bucket", labels, &bound, static_cast<double>(total));
      }
      AppendSample(out, name, "_sum", labels, nullptr, series.value);
      AppendSample(out, name, "_count", labels, nullptr, static_cast<double>(total));
    }
  }
  return out;
}

MetricsRegistry::MetricsRegistry(MetricsRegistryOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
MetricsRegistry::~MetricsRegistry() = default;

void MetricsRegistry::Add(std::string_view counter, MetricLabels labels, double value) {
  if (!(value >= 0)) return impl_->Drop(counter, "negative_step");
  impl_->Report(MetricType::kCounter, counter, labels, value);
}
void MetricsRegistry::Observe(std::string_view histogram, MetricLabels labels, double value) {
  if (std::isnan(value)) return impl_->Drop(histogram, "not_a_number");
  impl_->Report(MetricType::kHistogram, histogram, labels, value);
}
void MetricsRegistry::Set(std::string_view gauge, MetricLabels labels, double value) {
  impl_->Report(MetricType::kGauge, gauge, labels, value);
}
void MetricsRegistry::Describe(std::string_view name, std::string_view help, std::vector<double> buckets) {
  impl_->Describe(name, help, std::move(buckets));
}
void MetricsRegistry::Remove(std::string_view name, MetricLabels labels) { impl_->Remove(name, labels); }
MetricsRegistry::Collector MetricsRegistry::AddCollector(CollectFunction collect) {
  return Collector(impl_->AddCollector(std::move(collect)));
}
std::string MetricsRegistry::Render() const { return impl_->Render(); }

}  // namespace kube
