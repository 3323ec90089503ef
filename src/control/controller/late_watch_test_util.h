// Watches that are behind: what a server sends on them is held back, by a gate that a test opens, or by delays out of a seeded dice.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/wait_until.h"
#include "kube/transport/transport.h"

namespace kube {

// Thread safety: all functions from any thread.
class WatchGate {
 public:
  // What arrives on watches of the resource ("secrets") from now on waits for Open.
  void Close(const std::string& resource) {
    MutexLock lock(mu_);
    closed_.insert(resource);
  }
  void Open() {
    MutexLock lock(mu_);
    closed_.clear();
    changed_.NotifyAll();
  }
  // Everything that arrives is late by up to this much.
  void Delay(std::chrono::microseconds most, std::uint32_t seed) {
    MutexLock lock(mu_);
    most_ = most;
    dice_.seed(seed);
  }

  Result<void> Pass(const Context& ctx, const std::string& target) {
    std::chrono::microseconds delay{};
    {
      MutexLock lock(mu_);
      if (most_.count() > 0) delay = std::chrono::microseconds(std::uniform_int_distribution<std::int64_t>(0, most_.count())(dice_));
    }
    if (delay.count() > 0) {
      if (Result<void> slept = ctx.SleepFor(delay); !slept) return slept;
    }
    MutexLock lock(mu_);
    return WaitUntil(ctx, mu_, changed_, [&]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return !IsClosed(target); });
  }

 private:
  bool IsClosed(const std::string& target) const KUBE_REQUIRES(mu_) {
    for (const std::string& resource : closed_) {
      if (target.find("/" + resource + "?") != std::string::npos) return true;
    }
    return false;
  }

  Mutex mu_;
  CondVar changed_;
  std::set<std::string> closed_ KUBE_GUARDED_BY(mu_);
  std::chrono::microseconds most_ KUBE_GUARDED_BY(mu_){};
  std::minstd_rand dice_ KUBE_GUARDED_BY(mu_);
};

// Behind the gate: streams. Everything else passes.
class LateWatches : public TransportDecorator {
 public:
  LateWatches(std::shared_ptr<Transport> next, std::shared_ptr<WatchGate> gate)
      : TransportDecorator(std::move(next)), gate_(std::move(gate)) {}

  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    const std::string target = request.target;
    Result<HttpResponse> response = next().RoundTrip(ctx, std::move(request));
    if (response && response->stream != nullptr) response->stream = std::make_unique<Stream>(std::move(response->stream), gate_, target);
    return response;
  }

 private:
  class Stream : public BodyStream {
   public:
    Stream(std::unique_ptr<BodyStream> inner, std::shared_ptr<WatchGate> gate, std::string target)
        : inner_(std::move(inner)), gate_(std::move(gate)), target_(std::move(target)) {}
    Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) override {
      Result<std::size_t> got = inner_->Read(ctx, buffer, size);
      if (!got) return got;
      if (Result<void> passed = gate_->Pass(ctx, target_); !passed) return passed.error();
      return got;
    }
    void Close() override { inner_->Close(); }

   private:
    const std::unique_ptr<BodyStream> inner_;
    const std::shared_ptr<WatchGate> gate_;
    const std::string target_;
  };

  const std::shared_ptr<WatchGate> gate_;
};

}  // namespace kube
