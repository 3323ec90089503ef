// The store of a cache, with 100,000 pods, beside what one would write without it: a hash map of "namespace/name" under a shared lock,
// searched from end to end for labels.
//
//   bench_store [--pods=100000] [--benchmark_...]
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "../codec/pods.h"
#include "kube/cache/indexer.h"

namespace kube::bench {
namespace {

using core::v1::Pod;

int pod_count = 100000;

const std::vector<Ptr<Pod>>& Pods() {
  static const std::vector<Ptr<Pod>> pods = [] {
    std::vector<Ptr<Pod>> out;
    for (int i = 0; i < pod_count; ++i) out.push_back(std::make_shared<Pod>(MakePod(i, std::max(1, pod_count / 50), false)));
    return out;
  }();
  return pods;
}

class PlainMap {
 public:
  void Add(Ptr<Pod> pod) {
    std::string key = pod->metadata.namespace_.str() + "/" + pod->metadata.name.str();
    std::unique_lock lock(mu_);
    pods_[std::move(key)] = std::move(pod);
  }
  Ptr<Pod> Get(const ObjectKey& key) const {
    const std::string text = key.ToString();
    std::shared_lock lock(mu_);
    const auto found = pods_.find(text);
    return found == pods_.end() ? nullptr : found->second;
  }
  std::vector<Ptr<Pod>> List() const {
    std::shared_lock lock(mu_);
    std::vector<Ptr<Pod>> out;
    out.reserve(pods_.size());
    for (const auto& [key, pod] : pods_) out.push_back(pod);
    return out;
  }
  std::vector<Ptr<Pod>> List(const Selector& selector) const {
    std::shared_lock lock(mu_);
    std::vector<Ptr<Pod>> out;
    for (const auto& [key, pod] : pods_) {
      if (selector.Matches(pod->metadata.labels)) out.push_back(pod);
    }
    return out;
  }

 private:
  mutable std::shared_mutex mu_;
  std::unordered_map<std::string, Ptr<Pod>> pods_;
};

template <typename Store>
Store& Filled() {
  static Store* const store = [] {
    const std::vector<Ptr<Pod>>& pods = Pods();
    const std::size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    auto* made = new Store;
    for (const Ptr<Pod>& pod : pods) made->Add(pod);
    const std::size_t bytes = mallinfo2().uordblks + mallinfo2().hblkhd - before;
    fmt::print("{} bytes of the heap a pod\n", bytes / static_cast<std::size_t>(pod_count));
    return made;
  }();
  return *store;
}

template <typename Store>
void Get(benchmark::State& state) {
  const Store& store = Filled<Store>();
  std::vector<ObjectKey> keys;
  for (const Ptr<Pod>& pod : Pods()) keys.push_back({pod->metadata.namespace_, pod->metadata.name});
  std::size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(store.Get(keys[i]));
    i = (i + 7919) % keys.size();
  }
}

template <typename Store>
void Add(benchmark::State& state) {
  Store& store = Filled<Store>();
  std::size_t i = 0;
  for (auto _ : state) {
    store.Add(Pods()[i]);
    i = (i + 7919) % Pods().size();
  }
}

template <typename Store>
void List(benchmark::State& state) {
  const Store& store = Filled<Store>();
  for (auto _ : state) benchmark::DoNotOptimize(store.List());
}

template <typename Store>
void Select(benchmark::State& state) {
  const Store& store = Filled<Store>();
  const auto& [key, value] = *Pods().front()->metadata.labels.begin();
  const Selector selector = Selector::FromLabels({{key, value}});
  std::size_t found = 0;
  for (auto _ : state) found = store.List(selector).size();
  state.counters["found"] = static_cast<double>(found);
}

void Fill(benchmark::State& state) {
  for (auto _ : state) {
    Indexer<Pod> store;
    store.Replace(Pods());
    benchmark::DoNotOptimize(store.size());
  }
}

BENCHMARK(Get<Indexer<Pod>>)->Name("get/kubexx");
BENCHMARK(Get<PlainMap>)->Name("get/plain_map");
BENCHMARK(Get<Indexer<Pod>>)->Name("get_by_4_threads/kubexx")->Threads(4);
BENCHMARK(Get<PlainMap>)->Name("get_by_4_threads/plain_map")->Threads(4);
BENCHMARK(Add<Indexer<Pod>>)->Name("add/kubexx");
BENCHMARK(Add<PlainMap>)->Name("add/plain_map");
BENCHMARK(List<Indexer<Pod>>)->Name("list/kubexx")->Unit(benchmark::kMillisecond);
BENCHMARK(List<PlainMap>)->Name("list/plain_map")->Unit(benchmark::kMillisecond);
BENCHMARK(Select<Indexer<Pod>>)->Name("select/kubexx")->Unit(benchmark::kMicrosecond);
BENCHMARK(Select<PlainMap>)->Name("select/plain_map")->Unit(benchmark::kMicrosecond);
BENCHMARK(Fill)->Name("replace_all/kubexx")->Unit(benchmark::kMillisecond);

int Main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with("--pods=")) {
      pod_count = std::max(1, std::atoi(argv[i] + 7));
      std::copy(argv + i + 1, argv + argc, argv + i);
      --argc;
      break;
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace kube::bench

int main(int argc, char** argv) { return kube::bench::Main(argc, argv); }
