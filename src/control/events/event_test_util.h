// What tests of events share: a sink that writes down what it is asked, and fails on demand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/events/event_sink.h"
#include "control/events/event_writer.h"
#include "kube/base/fake_clock.h"
#include "kube/base/wait_until.h"
#include "kube/control/event_recorder.h"

namespace kube::internal {

// What a FakeSink was asked to write.
struct Written {
  std::string verb;  // "create" or "patch"
  events::v1::Event event;
  std::int32_t count() const { return event.series ? event.series->count : 1; }
};

// Shared by the test and the sink. Thread safety: all functions from any thread.
class SinkLog {
 public:
  // The next request of that kind gets this error.
  void Fail(std::string verb, Error error, int times = 1) {
    MutexLock lock(mu_);
    for (int i = 0; i < times; ++i) faults_.emplace_back(verb, error);
  }
  std::vector<Written> written() const {
    MutexLock lock(mu_);
    return written_;
  }
  // "create 1", "patch 2": with the count.
  std::vector<std::string> lines() const {
    std::vector<std::string> lines;
    for (const Written& w : written()) lines.push_back(w.verb + " " + std::to_string(w.count()));
    return lines;
  }
  bool WaitFor(std::size_t n) const {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    MutexLock lock(mu_);
    while (written_.size() < n) {
      if (!changed_.WaitUntil(mu_, limit)) return written_.size() >= n;
    }
    return true;
  }
  // Requests wait until it is opened.
  void Close() {
    MutexLock lock(mu_);
    closed_ = true;
  }
  void Open() {
    MutexLock lock(mu_);
    closed_ = false;
    changed_.NotifyAll();
  }
  bool WaitForWaiting() const {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    MutexLock lock(mu_);
    while (waiting_ == 0) {
      if (!changed_.WaitUntil(mu_, limit)) return waiting_ > 0;
    }
    return true;
  }
  Result<void> Take(const Context& ctx, const std::string& verb, const events::v1::Event& event) {
    MutexLock lock(mu_);
    ++waiting_;
    changed_.NotifyAll();
    if (closed_) {
      const Result<void> open = WaitUntil(ctx, mu_, changed_, [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return !closed_; });
      --waiting_;
      if (!open) return open;
    } else {
      --waiting_;
    }
    written_.push_back({verb, event});
    changed_.NotifyAll();
    for (auto at = faults_.begin(); at != faults_.end(); ++at) {
      if (at->first != verb) continue;
      const Error error = at->second;
      faults_.erase(at);
      return error;
    }
    return {};
  }

 private:
  mutable Mutex mu_;
  mutable CondVar changed_;
  std::vector<Written> written_ KUBE_GUARDED_BY(mu_);
  std::deque<std::pair<std::string, Error>> faults_ KUBE_GUARDED_BY(mu_);
  bool closed_ KUBE_GUARDED_BY(mu_) = false;
  int waiting_ KUBE_GUARDED_BY(mu_) = 0;
};

class FakeSink final : public EventSink {
 public:
  explicit FakeSink(std::shared_ptr<SinkLog> log) : log_(std::move(log)) {}
  Result<void> Create(const Context& ctx, const events::v1::Event& event) override { return log_->Take(ctx, "create", event); }
  Result<void> Patch(const Context& ctx, const events::v1::Event& event) override { return log_->Take(ctx, "patch", event); }

 private:
  const std::shared_ptr<SinkLog> log_;
};

inline EventObject PodObject(std::string name = "web", std::string ns = "default") {
  return {.api_version = "v1", .kind = "Pod", .ns = String(ns), .name = String(name), .uid = "uid-" + name};
}

}  // namespace kube::internal
