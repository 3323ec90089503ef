#include "kube/base/metrics.h"

namespace kube {
namespace {

std::string Key(std::string_view name, MetricLabels labels) {
  std::string key(name);
  if (labels.size() == 0) return key;
  key += '{';
  for (const auto& [label, value] : labels) {
    if (key.back() != '{') key += ',';
    key.append(label).append("=\"");
    for (const char c : value) {
      if (c == '\n') {
        key += "\\n";
        continue;
      }
      if (c == '"' || c == '\\') key += '\\';
      key += c;
    }
    key += '"';
  }
  return key += '}';
}

}  // namespace

MetricsSink::~MetricsSink() = default;

void RecordedMetrics::Add(std::string_view counter, MetricLabels labels, double value) { Observe(counter, labels, value); }

void RecordedMetrics::Observe(std::string_view histogram, MetricLabels labels, double value) {
  const std::string key = Key(histogram, labels);
  MutexLock lock(mu_);
  Series& series = series_[key];
  series.value += value;
  ++series.count;
}

void RecordedMetrics::Set(std::string_view gauge, MetricLabels labels, double value) {
  const std::string key = Key(gauge, labels);
  MutexLock lock(mu_);
  Series& series = series_[key];
  series.value = value;
  ++series.count;
}

double RecordedMetrics::Value(std::string_view name, MetricLabels labels) const {
  const std::string key = Key(name, labels);
  MutexLock lock(mu_);
  const auto found = series_.find(key);
  return found == series_.end() ? 0 : found->second.value;
}

std::uint64_t RecordedMetrics::Count(std::string_view name, MetricLabels labels) const {
  const std::string key = Key(name, labels);
  MutexLock lock(mu_);
  const auto found = series_.find(key);
  return found == series_.end() ? 0 : found->second.count;
}

std::vector<std::string> RecordedMetrics::Names() const {
  MutexLock lock(mu_);
  std::vector<std::string> names;
  for (const auto& [name, series] : series_) names.push_back(name);
  return names;
}

}  // namespace kube
