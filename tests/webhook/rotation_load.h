// Requests that rotation_test sends without a pause, and what became of them.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"

namespace kube::rotation {

// Failures by kind. Thread safety: all functions from any thread.
class Failures {
 public:
  // "x509", "connection", "timeout" or "other", by what Go or this library says.
  static std::string_view KindOf(std::string_view text);
  void Add(const std::string& text);
  int count() const;
  int count(std::string_view kind) const;
  // Counts, and the first texts of each kind.
  std::string ToString() const;

 private:
  mutable Mutex mu_;
  std::map<std::string, int, std::less<>> counts_ KUBE_GUARDED_BY(mu_);
  std::map<std::string, std::vector<std::string>, std::less<>> texts_ KUBE_GUARDED_BY(mu_);
};

// Calls `once` again and again on each of its threads, until it is destroyed or stopped.
class Load {
 public:
  // What went wrong; empty: nothing. The context stops with the load.
  using Once = std::function<std::string(const Context& ctx, int thread)>;

  Load(int threads, Once once);
  ~Load() { Stop(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void Stop();
  int calls() const { return calls_; }
  const Failures& failures() const { return failures_; }

 private:
  const Once once_;
  std::pair<Context, CancelSource> stop_ = Context::Background().WithCancel();
  std::atomic<int> calls_ = 0;
  Failures failures_;
  std::deque<Thread> threads_;
};

}  // namespace kube::rotation
