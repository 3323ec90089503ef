// Decoding a list of pods: kubexx against protobuf's own C++ library and against a bare simdjson walk, on the same bytes in one run.
//
//   bench_codec [--pods=20000] [--benchmark_...]
//
// After the runs it prints the ratios, the live heap a pod and the allocations a pod. Figures of different machines do not compare.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>

#include <cstdlib>
#include <map>
#include <new>
#include <string>

#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "peers.h"
#include "pods.h"

namespace {
std::uint64_t allocations = 0;  // the benchmark has one thread
}

[[gnu::noinline]] void* operator new(std::size_t n) {
  ++allocations;
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
// None of the three is inlined: GCC would see malloc() beside operator delete, and free() beside operator new, and report a mismatch.
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace kube::bench {
namespace {

int pod_count = 20000;

struct Workload {
  std::string protobuf;  // the bare PodList message
  std::string json;      // with simdjson's padding reserved behind it
  std::string_view json_text;
};

const Workload& Pods(bool managed_fields) {
  static std::map<bool, Workload> made;
  auto [at, fresh] = made.try_emplace(managed_fields);
  Workload& w = at->second;
  if (fresh) {
    core::v1::PodList list = MakePods(pod_count, managed_fields);
    w.protobuf = ToProtobuf(list, {.envelope = false}).value();
    w.json = ToJson(list).value();
    std::size_t size = w.json.size();
    w.json.append(kSimdjsonPadding, ' ');
    w.json_text = std::string_view(w.json).substr(0, size);
    fmt::print("{} pods{}: {} bytes a pod in protobuf, {} in JSON; sizeof(Pod) = {}\n", pod_count,
               managed_fields ? "" : " without managedFields", w.protobuf.size() / static_cast<std::size_t>(pod_count),
               size / static_cast<std::size_t>(pod_count), sizeof(core::v1::Pod));
  }
  return w;
}

std::size_t LiveHeap() {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// Before each timed pass: what earlier passes freed is one piece again, and stays with the process. Every contender starts from the same
// warm heap, so that decoding is measured and not the kernel's page faults.
void SettleHeap() { std::free(std::malloc(64 << 20)); }

// What one decoded list costs: measured outside the timed loop.
template <typename Decode>
void Cost(benchmark::State& state, Decode decode) {
  std::size_t before = LiveHeap();
  std::uint64_t count = allocations;
  auto held = decode();
  state.counters["heap_a_pod"] = static_cast<double>(LiveHeap() - before) / pod_count;
  state.counters["allocations_a_pod"] = static_cast<double>(allocations - count) / pod_count;
}

struct Held {
  Interner interner;
  core::v1::PodList list;
};

std::unique_ptr<Held> Decode(bool json, bool managed_fields, bool intern) {
  const Workload& w = Pods(managed_fields);
  auto held = std::make_unique<Held>();
  DecodeOptions options{.interner = intern ? &held->interner : nullptr};
  auto& type = core::v1::PodList::kType;
  auto r = json ? DecodeJson(type, &held->list, w.json_text, options) : DecodeProtobuf(type, &held->list, w.protobuf, options);
  r.value();
  if (held->list.items.size() != static_cast<std::size_t>(pod_count)) std::abort();
  return held;
}

void Kubexx(benchmark::State& state, bool json, bool managed_fields, bool intern) {
  Pods(managed_fields);
  Cost(state, [&] { return Decode(json, managed_fields, intern); });
  for (auto _ : state) {
    auto held = Decode(json, managed_fields, intern);
    state.PauseTiming();  // neither side is timed for freeing
    held.reset();
    SettleHeap();
    state.ResumeTiming();
  }
}

void ProtobufLibrary(benchmark::State& state, bool managed_fields) {
  const Workload& w = Pods(managed_fields);
  std::size_t items = 0;
  Cost(state, [&] { return ProtobufParsePodList(w.protobuf, &items); });
  for (auto _ : state) {
    auto list = ProtobufParsePodList(w.protobuf, &items);
    if (items != static_cast<std::size_t>(pod_count)) std::abort();
    state.PauseTiming();
    list.reset();
    SettleHeap();
    state.ResumeTiming();
  }
}

void Simdjson(benchmark::State& state, bool managed_fields, std::uint64_t (*walk)(std::string_view)) {
  const Workload& w = Pods(managed_fields);
  for (auto _ : state) benchmark::DoNotOptimize(walk(w.json_text));
}

// A pod out of a decoder shares everything with its copies; of one that was built by hand, lists and maps that have given out a reference
// are copied (kube/value/shared.h).
void CopyOfAPod(benchmark::State& state, bool by_hand) {
  core::v1::Pod pod = MakePod(0, 1, true);
  if (!by_hand) pod = FromJson<core::v1::Pod>(ToJson(pod).value()).value();
  for (auto _ : state) {
    core::v1::Pod copy = pod;
    benchmark::DoNotOptimize(copy);
  }
}

// Keeps the times for the ratios at the end.
class Reporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      // The fastest of the repetitions: the cost of the work without disturbance.
      if (run.run_type != Run::RT_Iteration) continue;
      double seconds = run.GetAdjustedCPUTime() / benchmark::GetTimeUnitMultiplier(run.time_unit);
      auto [at, fresh] = seconds_.try_emplace(run.run_name.function_name, seconds);
      if (!fresh) at->second = std::min(at->second, seconds);
      for (const auto& [name, counter] : run.counters) counters_[run.run_name.function_name + ' ' + name] = counter.value;
    }
    ConsoleReporter::ReportRuns(runs);
  }
  void Ratio(const char* what, const std::string& mine, const std::string& peer, double wanted) {
    if (!seconds_.contains(mine) || !seconds_.contains(peer)) return;
    double ratio = seconds_[peer] / seconds_[mine];
    fmt::print("{:<66} {:5.2f} times the peer's speed, wanted {:.2f}: {}\n", what, ratio, wanted, ratio >= wanted ? "met" : "NOT MET");
  }
  void Limit(const char* what, const std::string& counter, double wanted) {
    if (!counters_.contains(counter)) return;
    fmt::print("{:<66} {:5.0f}, wanted at most {:.0f}: {}\n", what, counters_[counter], wanted,
               counters_[counter] <= wanted ? "met" : "NOT MET");
  }

 private:
  std::map<std::string, double> seconds_;
  std::map<std::string, double> counters_;
};

template <typename F, typename... Args>
void Register(const std::string& name, F f, Args... args) {
  benchmark::RegisterBenchmark(name.c_str(), f, args...)->Unit(benchmark::kMillisecond)->Iterations(3)->Repetitions(5);
}

int Main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view arg = argv[i]; arg.starts_with("--pods=")) {
      pod_count = std::max(1, std::atoi(argv[i] + 7));
      std::copy(argv + i + 1, argv + argc, argv + i);
      --argc;
      break;
    }
  }
  mallopt(M_TRIM_THRESHOLD, 2000000000);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest that glibc takes
  mallopt(M_TOP_PAD, 64 << 20);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (bool managed : {true, false}) {
    std::string tail = managed ? "" : "/no_managed_fields";
    Register("protobuf/library" + tail, ProtobufLibrary, managed);
    Register("protobuf/kubexx" + tail, Kubexx, false, managed, false);
    Register("protobuf/kubexx_interner" + tail, Kubexx, false, managed, true);
    Register("json/simdjson_ondemand_walk" + tail, Simdjson, managed, &SimdjsonWalk);
    Register("json/simdjson_dom_walk" + tail, Simdjson, managed, &SimdjsonDomWalk);
    Register("json/kubexx" + tail, Kubexx, true, managed, false);
    Register("json/kubexx_interner" + tail, Kubexx, true, managed, true);
  }
  benchmark::RegisterBenchmark("copy/decoded", CopyOfAPod, false);
  benchmark::RegisterBenchmark("copy/built_by_hand", CopyOfAPod, true);
  Reporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  fmt::print("\n");
  reporter.Ratio("protobuf decode, against protobuf's C++ library", "protobuf/kubexx", "protobuf/library", 1.3);
  reporter.Ratio("protobuf decode with interner, against protobuf's C++ library", "protobuf/kubexx_interner", "protobuf/library", 2.2);
  reporter.Ratio("JSON decode, against a bare simdjson walk", "json/kubexx", "json/simdjson_ondemand_walk", 0.45);
  reporter.Ratio("JSON decode with interner, against a bare simdjson walk", "json/kubexx_interner", "json/simdjson_ondemand_walk", 0.6);
  reporter.Limit("live heap a pod with interner, without managedFields (protobuf)", "protobuf/kubexx_interner/no_managed_fields heap_a_pod",
                 2500);
  reporter.Limit("live heap a pod with interner, without managedFields (JSON)", "json/kubexx_interner/no_managed_fields heap_a_pod", 2500);
  return 0;
}

}  // namespace
}  // namespace kube::bench

int main(int argc, char** argv) { return kube::bench::Main(argc, argv); }
