#include "kube/queue/parallelize.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/mutex.h"
#include "kube/base/thread.h"

namespace kube {

Result<void> ParallelizeUntil(const Context& ctx, int workers, std::size_t pieces, const std::function<void(std::size_t piece)>& work,
                              ParallelizeOptions options) {
  if (pieces == 0) return {};
  const std::size_t chunk = std::clamp<std::size_t>(options.chunk_size, 1, pieces);
  const std::size_t chunks = (pieces - 1) / chunk + 1;
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  std::atomic<bool> left_out = false;
  Mutex mu;
  std::optional<Error> failure;  // guarded by mu while threads run

  const auto fail = [&](std::string what) {
    MutexLock lock(mu);
    if (!failure) failure = Error(ErrorKind::kUserCode, std::move(what));
    failed = true;
  };
  const auto run = [&] {
    for (std::size_t taken = next++; taken < chunks; taken = next++) {
      const std::size_t end = std::min(pieces, (taken + 1) * chunk);
      for (std::size_t piece = taken * chunk; piece < end; ++piece) {
        if (failed) return;
        if (ctx.stopped()) {
          left_out = true;
          return;
        }
        try {
          work(piece);
        } catch (const std::exception& e) {
          fail("piece " + std::to_string(piece) + " threw: " + e.what());
        } catch (...) {
          fail("piece " + std::to_string(piece) + " threw something that is not a std::exception");
        }
      }
    }
  };
  {
    const std::size_t threads = std::min<std::size_t>(chunks, static_cast<std::size_t>(std::max(workers, 1)));
    std::vector<Thread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back("kube-par-" + std::to_string(i), run);
    run();
  }
  if (failure) return *failure;
  if (left_out) return ctx.Check();
  return {};
}

}  // namespace kube
