// bench_queue: kube::WorkQueue beside client-go's work queue and controller-runtime's priority queue.
//
//   bench_queue [--ops=N] [--rounds=N] [--seconds=N] [--only=kubexx|client-go|controller-runtime] [--filter=PART OF A NAME]
//   bench_queue --side --mode=add|busy|cycle|starve --threads=N --keys=N --ops=N [--seconds=N]      our side alone, for a profiler
//
// All sides run as processes of their own, one after the other, in turn; medians count. The peers come from scripts/build-peers; without
// them only our own figures are printed.
//
//   add      N threads add keys, none takes them: adds a second
//   busy     N threads add keys while N others take them: adds a second
//   cycle    N threads take a key, say Done and add it again: time of Get and Done together
//   starve   2 threads keep 1,000 keys of priority 0 going round while 100 of priority -100 wait: the longest wait of those
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/thread.h"
#include "kube/codec/json.h"
#include "kube/queue/work_queue.h"

namespace kube::bench {
namespace {

using Seconds = std::chrono::duration<double>;
using SteadyClock = std::chrono::steady_clock;

struct Options {
  int ops = 2000000;
  int rounds = 3;
  double seconds = 15;
  std::string only;
  std::string filter;
  // Settings of one side.
  std::string mode;
  int threads = 1;
  int keys = 1000;
};

std::vector<ObjectKey> MakeKeys(int n) {
  std::vector<ObjectKey> keys;
  keys.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) keys.push_back({fmt::format("namespace-{}", i % 100), fmt::format("deployment-{}-with-a-name", i)});
  return keys;
}

double Each(int threads, const std::function<void(int thread)>& work) {
  const SteadyClock::time_point start = SteadyClock::now();
  {
    std::vector<Thread> all;
    for (int i = 0; i < threads; ++i) all.emplace_back("bench", [&work, i] { work(i); });
  }
  return Seconds(SteadyClock::now() - start).count();
}

double AddAll(WorkQueue<>& queue, const std::vector<ObjectKey>& keys, int threads, int ops) {
  return Each(threads, [&](int thread) {
    const int n = ops / threads;
    std::size_t at = static_cast<std::size_t>(thread) * static_cast<std::size_t>(n) % keys.size();
    for (int i = 0; i < n; ++i) {
      queue.Add(keys[at]);
      if (++at == keys.size()) at = 0;
    }
  });
}

void Cycle(WorkQueue<>& queue, const std::vector<ObjectKey>& keys, int threads, int ops) {
  const Context ctx = Context::Background();
  for (const ObjectKey& key : keys) queue.Add(key);
  const std::size_t n = static_cast<std::size_t>(ops / threads);
  std::vector<std::vector<Clock::Duration>> latencies(static_cast<std::size_t>(threads));
  const double wall = Each(threads, [&](int thread) {
    std::vector<Clock::Duration> mine;
    mine.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
      const SteadyClock::time_point start = SteadyClock::now();
      Result<ObjectKey> key = queue.Get(ctx);
      queue.Done(*key);
      mine.push_back(SteadyClock::now() - start);
      queue.Add(*key);
    }
    latencies[static_cast<std::size_t>(thread)] = std::move(mine);
  });
  std::vector<Clock::Duration> ordered;
  for (const std::vector<Clock::Duration>& mine : latencies) ordered.insert(ordered.end(), mine.begin(), mine.end());
  std::sort(ordered.begin(), ordered.end());
  const auto percentile = [&](std::size_t percent) {
    return Seconds(ordered[std::min(ordered.size() - 1, ordered.size() * percent / 100)]).count();
  };
  fmt::print("{{\"per_second\":{:.0f},\"p50\":{:.9f},\"p99\":{:.9f}}}\n", static_cast<double>(ordered.size()) / wall, percentile(50),
             percentile(99));
}

void Starve(WorkQueue<>& queue, const std::vector<ObjectKey>& keys, int threads, double seconds) {
  constexpr int kLow = 100;
  const Context ctx = Context::Background();
  const SteadyClock::time_point start = SteadyClock::now();
  for (int i = 0; i < kLow; ++i) queue.Add({"low", std::to_string(i)}, {.priority = -100});
  for (const ObjectKey& key : keys) queue.Add(key);
  std::atomic<int> taken = 0;
  std::atomic<std::int64_t> longest = 0;
  Each(threads, [&](int) {
    while (Seconds(SteadyClock::now() - start).count() < seconds) {
      Result<WorkQueue<>::Item> item = queue.Take(ctx);
      const ObjectKey key = item->key();
      const bool low = item->priority() < 0;
      item->Done();
      if (!low) {
        queue.Add(key);
        continue;
      }
      ++taken;
      const std::int64_t waited = (SteadyClock::now() - start).count();
      for (std::int64_t seen = longest; seen < waited && !longest.compare_exchange_weak(seen, waited);) {
      }
    }
  });
  const double waited = taken < kLow ? Seconds(SteadyClock::now() - start).count() : static_cast<double>(longest.load()) / 1e9;
  fmt::print("{{\"longest\":{:.6f},\"left\":{}}}\n", waited, kLow - taken.load());
}

int RunSide(const Options& options) {
  const std::vector<ObjectKey> keys = MakeKeys(options.keys);
  WorkQueue<> queue;
  const double ops = options.ops / options.threads * options.threads;
  if (options.mode == "add") {
    fmt::print("{{\"per_second\":{:.0f}}}\n", ops / AddAll(queue, keys, options.threads, options.ops));
  } else if (options.mode == "busy") {
    const Context ctx = Context::Background();
    std::atomic<long> done = 0;
    double wall = 0;
    {
      std::vector<Thread> workers;
      for (int i = 0; i < options.threads; ++i) {
        workers.emplace_back("worker", [&] {
          while (Result<ObjectKey> key = queue.Get(ctx)) {
            ++done;
            queue.Done(*key);
          }
        });
      }
      wall = AddAll(queue, keys, options.threads, options.ops);
      queue.ShutDown();
    }
    fmt::print("{{\"per_second\":{:.0f},\"done\":{}}}\n", ops / wall, done.load());
  } else if (options.mode == "cycle") {
    Cycle(queue, keys, options.threads, options.ops);
  } else if (options.mode == "starve") {
    Starve(queue, keys, options.threads, options.seconds);
  } else {
    fmt::print(stderr, "bench_queue: no such mode: {}\n", options.mode);
    return 2;
  }
  return 0;
}

// Runs one side and reads its line.
std::optional<Value> Run(const std::vector<std::string>& argv) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    std::vector<char*> args;
    for (const std::string& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
    args.push_back(nullptr);
    execv(args[0], args.data());
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  Result<Value> line = ParseJson(text);
  if (status != 0 || !line) return std::nullopt;
  return *std::move(line);
}

std::string PeerPath() {
  const char* cache = std::getenv("KUBEXX_CACHE");
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::string folder =
      cache != nullptr ? cache : (xdg != nullptr ? std::string(xdg) : std::string(home != nullptr ? home : "") + "/.cache") + "/kubexx";
  return folder + "/peers/queue-go";
}

constexpr const char* kSides[] = {"kubexx", "client-go", "controller-runtime"};

class Driver {
 public:
  Driver(const Options& options, std::string self) : options_(options), self_(std::move(self)), peer_(PeerPath()) {
    has_peer_ = access(peer_.c_str(), X_OK) == 0;
  }

  int Drive() {
    if (!has_peer_) fmt::print("no peers: run scripts/build-peers queue-go\n");
    fmt::print("{:<44}{:>14}{:>14}{:>20}{:>12}{:>12}{:>8}\n", "", "kubexx", "client-go", "controller-runtime", "/ client-go", "/ c-r",
               "wanted");
    for (const int keys : {1000, 1000000}) {
      for (const int threads : {1, 4, 16}) {
        Row(fmt::format("adds, {} keys, {} threads", keys, threads), "add", threads, keys, "per_second", "M/s", 1e-6, true, 2);
      }
    }
    for (const int keys : {1000, 1000000}) {
      for (const int threads : {1, 4, 16}) {
        Row(fmt::format("adds while taken, {} keys, {} threads", keys, threads), "busy", threads, keys, "per_second", "M/s", 1e-6, true, 2);
      }
    }
    for (const int keys : {1000, 1000000}) {
      for (const int threads : {1, 4, 16}) {
        const std::string name = fmt::format("get and done, {} keys, {} threads", keys, threads);
        Row(name + ", p50", "cycle", threads, keys, "p50", "ns", 1e9, false, 0);
        Row(name + ", p99", "cycle", threads, keys, "p99", "ns", 1e9, false, 0);
      }
    }
    Starvation();
    return failed_ ? 1 : 0;
  }

 private:
  std::optional<Value> RunOne(const std::string& side, const std::string& mode, int threads, int keys) {
    if (!options_.only.empty() && options_.only != side) return std::nullopt;
    std::vector<std::string> argv;
    if (side == "kubexx") {
      argv = {self_,
              "--side",
              "--mode=" + mode,
              fmt::format("--threads={}", threads),
              fmt::format("--keys={}", keys),
              fmt::format("--ops={}", options_.ops),
              fmt::format("--seconds={}", options_.seconds)};
    } else {
      if (!has_peer_) return std::nullopt;
      argv = {peer_,
              "-queue",
              side,
              "-mode",
              mode,
              "-threads",
              std::to_string(threads),
              "-keys",
              std::to_string(keys),
              "-ops",
              std::to_string(options_.ops),
              "-seconds",
              fmt::format("{}", options_.seconds)};
    }
    std::optional<Value> line = Run(argv);
    if (!line) {
      failed_ = true;
      fmt::print("{} failed\n", side);
    }
    return line;
  }

  // The medians of a case, which is run once for all of its rows.
  double Median(const std::vector<std::optional<Value>>& runs, const std::string& figure) {
    std::vector<double> values;
    for (const std::optional<Value>& run : runs) {
      if (run) values.push_back((*run)[figure].double_value());
    }
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  }

  void Row(const std::string& name, const std::string& mode, int threads, int keys, const std::string& figure, const char* unit,
           double scale, bool more_is_better, double wanted) {
    if (name.find(options_.filter) == std::string::npos) return;
    const std::string id = fmt::format("{} {} {}", mode, threads, keys);
    if (id != last_id_) {
      last_id_ = id;
      for (std::vector<std::optional<Value>>& runs : last_runs_) runs.clear();
      for (int round = 0; round < options_.rounds; ++round) {
        for (std::size_t i = 0; i < 3; ++i) {
          const std::size_t side = (i + static_cast<std::size_t>(round)) % 3;
          last_runs_[side].push_back(RunOne(kSides[side], mode, threads, keys));
        }
      }
    }
    double figures[3];
    for (std::size_t i = 0; i < 3; ++i) figures[i] = Median(last_runs_[i], figure) * scale;
    const auto number = [&](double value) { return value == 0 ? std::string("-") : fmt::format("{:.2f} {}", value, unit); };
    const auto ratio = [&](double other) {
      if (figures[0] == 0 || other == 0) return std::string("-");
      return fmt::format("{:.2f}", more_is_better ? figures[0] / other : other / figures[0]);
    };
    fmt::print("{:<44}{:>14}{:>14}{:>20}{:>12}{:>12}{:>8}\n", name, number(figures[0]), number(figures[1]), number(figures[2]),
               ratio(figures[1]), ratio(figures[2]), wanted == 0 ? "" : fmt::format("{:.1f}", wanted));
    std::fflush(stdout);
  }

  void Starvation() {
    if (std::string("starvation").find(options_.filter) == std::string::npos) return;
    for (const char* side : {"kubexx", "controller-runtime"}) {
      const std::optional<Value> line = RunOne(side, "starve", 2, 1000);
      if (!line) continue;
      fmt::print(
          "starvation, 2 threads, 1000 keys of priority 0 all the time: of 100 keys of priority -100 in {}, {} were never taken in {} s; "
          "the longest wait was {:.2f} s\n",
          side, (*line)["left"].double_value(), options_.seconds, (*line)["longest"].double_value());
      std::fflush(stdout);
    }
  }

  const Options options_;
  const std::string self_;
  const std::string peer_;
  bool has_peer_ = false;
  bool failed_ = false;
  std::string last_id_;
  std::vector<std::optional<Value>> last_runs_[3];
};

int Main(int argc, char** argv) {
  Options options;
  bool side = false;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const std::string value = arg.substr(arg.find('=') == std::string::npos ? arg.size() : arg.find('=') + 1);
    if (arg == "--side") {
      side = true;
    } else if (arg.starts_with("--ops=")) {
      options.ops = std::max(16, std::atoi(value.c_str()));
    } else if (arg.starts_with("--rounds=")) {
      options.rounds = std::max(1, std::atoi(value.c_str()));
    } else if (arg.starts_with("--seconds=")) {
      options.seconds = std::atof(value.c_str());
    } else if (arg.starts_with("--only=")) {
      options.only = value;
    } else if (arg.starts_with("--filter=")) {
      options.filter = value;
    } else if (arg.starts_with("--mode=")) {
      options.mode = value;
    } else if (arg.starts_with("--threads=")) {
      options.threads = std::max(1, std::atoi(value.c_str()));
    } else if (arg.starts_with("--keys=")) {
      options.keys = std::max(1, std::atoi(value.c_str()));
    } else {
      fmt::print(stderr,
                 "usage: bench_queue [--ops=N] [--rounds=N] [--seconds=N] [--only=kubexx|client-go|controller-runtime] "
                 "[--filter=PART OF A NAME]\n");
      return 2;
    }
  }
  return side ? RunSide(options) : Driver(options, argv[0]).Drive();
}

}  // namespace
}  // namespace kube::bench

int main(int argc, char** argv) { return kube::bench::Main(argc, argv); }
