// Informers under thousands of random schedules; see schedule.h.
//
// KUBEXX_SCHEDULES    how many (300)
// KUBEXX_FIRST_SEED   the seed of the first (1)
// KUBEXX_SEED         this one alone, over and over as KUBEXX_SCHEDULES says (20 times): to find out about a failure
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>

#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "schedule.h"

namespace kube::consistency {
namespace {

std::uint64_t Number(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// The last lines of the log: thousands of faults make too many to print them all.
class LastLines {
 public:
  void Add(std::string_view line) {
    if (line.find("\"Resync\"") != line.npos || line.find("handler threw") != line.npos) return;
    MutexLock lock(mu_);
    lines_.emplace_back(line);
    if (lines_.size() > 100) lines_.pop_front();
  }
  std::string Take() {
    MutexLock lock(mu_);
    std::string text;
    for (const std::string& line : lines_) text += line;
    lines_.clear();
    return text;
  }

 private:
  Mutex mu_;
  std::deque<std::string> lines_ KUBE_GUARDED_BY(mu_);
};

// A schedule that does not end is a failure too, and its seed has to be known.
class Watchdog {
 public:
  Watchdog() : thread_("watchdog", [this] { Run(); }) {}
  ~Watchdog() { Begin(0); }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // 0: no more.
  void Begin(std::uint64_t seed) {
    MutexLock lock(mu_);
    over_ = seed == 0;
    seed_ = seed;
    until_ = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    changed_.NotifyAll();
  }

 private:
  void Run() {
    MutexLock lock(mu_);
    while (!over_) {
      if (changed_.WaitUntil(mu_, until_) || std::chrono::steady_clock::now() < until_) continue;
      std::fprintf(stderr, "seed %llu hangs. To run it again: KUBEXX_SEED=%llu informer_consistency_test\n",
                   static_cast<unsigned long long>(seed_), static_cast<unsigned long long>(seed_));
      std::abort();
    }
  }

  Mutex mu_;
  CondVar changed_;
  bool over_ KUBE_GUARDED_BY(mu_) = false;
  std::uint64_t seed_ KUBE_GUARDED_BY(mu_) = 0;
  std::chrono::steady_clock::time_point until_ KUBE_GUARDED_BY(mu_) = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  Thread thread_;
};

TEST(InformerConsistencyTest, CacheServerAndHandlersAgreeUnderRandomSchedules) {
  static LastLines log;
  LogBackend::Default()->SetSink(MakeTextSink([](std::string_view line) { log.Add(line); }));
  World plain(false), tls(true);
  Watchdog watchdog;
  const std::uint64_t one = Number("KUBEXX_SEED", 0);
  if (one != 0) LogBackend::Default()->SetSettings(LogSettings::Parse("info,cache=6").value());
  const std::uint64_t count = Number("KUBEXX_SCHEDULES", one != 0 ? 20 : 300);
  const std::uint64_t first = Number("KUBEXX_FIRST_SEED", 1);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t seed = one != 0 ? one : first + i;
    (void)log.Take();
    watchdog.Begin(seed);
    if (i % 100 == 0) std::fprintf(stderr, "seed %llu ...\n", static_cast<unsigned long long>(seed));
    const std::string problem = Schedule(seed % 3 == 0 ? tls : plain, seed).Run();
    if (problem.empty()) continue;
    FAIL() << problem << "The log's last lines:\n"
           << log.Take() << "To run it again: KUBEXX_SEED=" << seed << " informer_consistency_test\n";
  }
  std::printf("%llu schedules\n", static_cast<unsigned long long>(count));
}

}  // namespace
}  // namespace kube::consistency
