// peers_informer: our side of bench/peers. One shared informer; its words are in ../README.md.
//
//   peers_informer --kubeconfig F --kind pods|workloads|workloads-dynamic [--encoding protobuf|json] [--strip] [--quick]
#include <fmt/core.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "kube/api/core/v1.h"
#include "kube/base/mutex.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/config/load.h"
#include "workload.h"

namespace kube::bench {
namespace {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC

struct Options {
  std::string kubeconfig;
  std::string kind = "pods";
  bool json = false;
  bool strip = false;
  bool quick = false;
  bool verbose = false;
};

[[noreturn]] void Fail(const std::string& message) {
  fmt::print(stderr, "peers_informer: {}\n", message);
  std::_Exit(1);
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::int64_t Nanoseconds() { return Clock::now().time_since_epoch().count(); }

// Bytes, of /proc/self/status.
std::int64_t Memory(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field)) return std::atoll(line.c_str() + field.size()) * 1024;
  }
  return 0;
}

void Say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

// What the handler saw.
struct Seen {
  std::atomic<std::int64_t> objects = 0;
  std::atomic<std::int64_t> updates = 0;
  Mutex mutex;
  std::vector<std::pair<std::uint64_t, std::int64_t>> times KUBE_GUARDED_BY(mutex);  // version and time of each update
};

String VersionOf(const DynamicObject& object) { return String(object.resource_version()); }
template <Resource T>
const String& VersionOf(const T& object) {
  return object.metadata.resource_version;
}

void Obey(Seen& seen) {
  double cpu = CpuSeconds();
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "memory") {
      Say(fmt::format(R"({{"phase":"memory","rss":{},"peak":{}}})", Memory("VmRSS:"), Memory("VmHWM:")));
    } else if (command == "begin") {
      {
        MutexLock lock(seen.mutex);
        seen.times.clear();
      }
      seen.updates = 0;
      cpu = CpuSeconds();
      Say(R"({"phase":"begin"})");
    } else if (command == "end") {
      std::int64_t count = 0;
      std::string file;
      words >> count >> file;
      const Context ctx = Context::Background();
      for (const Clock::time_point deadline = Clock::now() + std::chrono::minutes(1); seen.updates < count && Clock::now() < deadline;) {
        (void)ctx.SleepFor(std::chrono::milliseconds(20));
      }
      const double used = CpuSeconds() - cpu;
      {
        MutexLock lock(seen.mutex);
        std::ofstream out(file);
        for (const auto& [version, time] : seen.times) out << version << ' ' << time << '\n';
      }
      Say(fmt::format(R"({{"phase":"end","updates":{},"cpu":{:.6f},"rss":{},"peak":{}}})", seen.updates.load(), used, Memory("VmRSS:"),
                      Memory("VmHWM:")));
    } else {
      Fail("what is \"" + line + "\"?");
    }
  }
}

template <typename T>
int Run(InformerFactory& informers, const SharedInformer<T>& informer, std::int64_t start, const Options& options) {
  Seen seen;
  Result<HandlerRegistration> registration =
      informer.AddEventHandler({.on_add = [&](const Ptr<T>&, bool) { ++seen.objects; },
                                .on_update =
                                    [&](const Ptr<T>&, const Ptr<T>& object) {
                                      const std::uint64_t version = std::strtoull(VersionOf(*object).str().c_str(), nullptr, 10);
                                      {
                                        MutexLock lock(seen.mutex);
                                        seen.times.emplace_back(version, Nanoseconds());
                                      }
                                      ++seen.updates;
                                    }},
                               {.quick = options.quick});
  if (!registration) Fail(registration.error().ToString());
  const Context ctx = Context::Background();
  informers.Start(ctx);
  if (Result<void> synced = registration->WaitForSync(ctx); !synced) Fail(synced.error().ToString());
  Say(fmt::format(R"({{"phase":"synced","objects":{},"cached":{},"wall":{:.6f},"cpu":{:.6f},"rss":{},"peak":{}}})", seen.objects.load(),
                  informer.indexer().size(), static_cast<double>(Nanoseconds() - start) / 1e9, CpuSeconds(), Memory("VmRSS:"),
                  Memory("VmHWM:")));
  if (options.verbose) {
    const CacheStats stats = informer.Stats();
    fmt::print(stderr, "{}\n{} objects, {} bytes, {} without sharing\n", informer.status().ToString(), stats.objects, stats.real_bytes,
               stats.logical_bytes);
  }
  Obey(seen);
  return 0;
}

int Main(int argc, char** argv) {
  const std::int64_t start = Nanoseconds();
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 == argc) Fail(arg + " needs a value");
      return argv[++i];
    };
    if (arg == "--kubeconfig") {
      options.kubeconfig = value();
    } else if (arg == "--kind") {
      options.kind = value();
    } else if (arg == "--encoding") {
      options.json = value() == "json";
    } else if (arg == "--strip") {
      options.strip = true;
    } else if (arg == "--quick") {
      options.quick = true;
    } else if (arg == "--verbose") {
      options.verbose = true;
    } else {
      Fail(
          "usage: peers_informer --kubeconfig F --kind pods|workloads|workloads-dynamic [--encoding protobuf|json] [--strip] [--quick] "
          "[--verbose]");
    }
  }
  Result<ClientConfig> config = LoadConfig({.kubeconfig = options.kubeconfig});
  if (!config) Fail(config.error().ToString());
  if (options.json) config->content_type = "application/json";
  Result<Client> client = Client::FromConfig(*config);
  if (!client) Fail(client.error().ToString());
  InformerFactory informers(*client, {.strip_managed_fields = options.strip});
  if (options.kind == "pods") return Run(informers, informers.For<core::v1::Pod>(), start, options);
  if (options.kind == "workloads") return Run(informers, informers.For<Workload>(), start, options);
  return Run(informers, informers.For(Gvr{"bench.example.com", "v1", "workloads"}), start, options);
}

}  // namespace
}  // namespace kube::bench

int main(int argc, char** argv) { return kube::bench::Main(argc, argv); }
