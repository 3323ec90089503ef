// Workers: threads for requests that have to wait for a webhook, so that the threads that do I/O never wait. Made as they are needed.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <list>

#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"

namespace kube::apiserver {

// Thread safety: all functions may be called from any thread; Stop not from a worker.
class Workers {
 public:
  explicit Workers(std::size_t most_threads);
  ~Workers();

  // Runs the task, unless as many as there may be threads run or wait already: false then. A webhook may call this server while a request
  // waits for it, so a request that would have to queue behind others is refused instead: no request waits for one that waits for it.
  bool TryRun(std::function<void()> task);
  // Runs the task, behind others if it has to be.
  void Post(std::function<void()> task);
  // Stops the context, drops what did not begin and waits for the rest.
  void Stop();
  // What tasks wait with.
  const Context& context() const { return context_; }

 private:
  explicit Workers(std::size_t most_threads, std::pair<Context, CancelSource> context);
  void Push(std::function<void()> task) KUBE_REQUIRES(mu_);
  void Loop();

  const std::size_t most_;
  const Context context_;
  const CancelSource cancel_;
  Mutex mu_;
  CondVar changed_;
  bool stop_ KUBE_GUARDED_BY(mu_) = false;
  std::size_t running_ KUBE_GUARDED_BY(mu_) = 0;  // tasks
  std::deque<std::function<void()>> tasks_ KUBE_GUARDED_BY(mu_);
  std::list<Thread> threads_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::apiserver
