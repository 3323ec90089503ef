#include "apiserver/workers.h"

#include <utility>

namespace kube::apiserver {

Workers::Workers(std::size_t most_threads) : Workers(most_threads, Context::Background().WithCancel()) {}

Workers::Workers(std::size_t most_threads, std::pair<Context, CancelSource> context)
    : most_(most_threads), context_(std::move(context.first)), cancel_(std::move(context.second)) {}

Workers::~Workers() { Stop(); }

void Workers::Push(std::function<void()> task) {
  tasks_.push_back(std::move(task));
  if (running_ + tasks_.size() > threads_.size() && threads_.size() < most_) {
    threads_.emplace_back("kube-api-work", [this] { Loop(); });
  }
  changed_.NotifyOne();
}

bool Workers::TryRun(std::function<void()> task) {
  MutexLock lock(mu_);
  if (stop_ || running_ + tasks_.size() >= most_) return false;
  Push(std::move(task));
  return true;
}

void Workers::Post(std::function<void()> task) {
  MutexLock lock(mu_);
  if (!stop_) Push(std::move(task));
}

void Workers::Stop() {
  std::list<Thread> threads;
  std::deque<std::function<void()>> dropped;
  {
    MutexLock lock(mu_);
    stop_ = true;
    threads.swap(threads_);
    dropped.swap(tasks_);
    changed_.NotifyAll();
  }
  cancel_.Cancel();
}

void Workers::Loop() {
  for (;;) {
    std::function<void()> task;
    {
      MutexLock lock(mu_);
      while (!stop_ && tasks_.empty()) changed_.Wait(mu_);
      if (stop_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
      ++running_;
    }
    task();
    task = nullptr;  // what it holds ends before it counts as done
    MutexLock lock(mu_);
    --running_;
  }
}

}  // namespace kube::apiserver
