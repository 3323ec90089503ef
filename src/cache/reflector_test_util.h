// What the tests of the reflector share: a reflector on a thread, with a scripted server, time that stands still, and no jitter.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/reflector.h"
#include "cache/scripted_source_test_util.h"
#include "kube/base/fake_clock.h"
#include "kube/base/metrics.h"
#include "kube/base/thread.h"
#include "kube/transport/transport_errors.h"

namespace kube::internal {

class ReflectorFixture : public ::testing::Test {
 protected:
  using Pod = core::v1::Pod;
  using Content = std::map<std::string, std::string>;

  ReflectorFixture() {
    options_.form = &ObjectForm::Of<Pod>();
    options_.what = "pods";
    options_.random = [] { return 0.0; };
    options_.metrics = &metrics_;
    options_.log = Logger("cache.reflector", std::make_shared<LogBackend>(log_, LogSettings{.everything = {.verbosity = 9}}));
  }
  ~ReflectorFixture() override { Stop(); }

  void UseLists() { options_.watch_list = false; }
  Reflector& Make() {
    if (reflector_ == nullptr) reflector_ = std::make_unique<Reflector>(source_, sink_, options_);
    return *reflector_;
  }
  void Start() {
    Reflector& reflector = Make();
    thread_ = Thread("reflector", [this, &reflector] { reflector.Run(ctx_); });
  }
  void Stop() {
    cancel_.Cancel();
    if (thread_.joinable()) thread_.Join();
  }
  // Waits for the n-th wait of the backoff, and lets its time pass. How long that was.
  std::chrono::milliseconds PassWait(std::size_t n) {
    EXPECT_TRUE(log_->WaitFor("\"Waiting\"", n)) << log_->text();
    EXPECT_TRUE(clock_->WaitForWaiters(1));
    const Clock::TimePoint before = clock_->Now();
    EXPECT_TRUE(clock_->AdvanceToNextTimer());
    return std::chrono::duration_cast<std::chrono::milliseconds>(clock_->Now() - before);
  }
  std::size_t waits() const { return log_->Count("\"Waiting\""); }
  // A list and a watch, and the reflector waits for events.
  std::shared_ptr<ScriptedWatch> StartWatching(const std::string& version = "10") {
    UseLists();
    source_->AddList(PageOf<Pod>({PodAt("a", "1")}, version));
    std::shared_ptr<ScriptedWatch> watch = source_->AddWatch();
    Start();
    EXPECT_TRUE(watch->WaitDrained()) << log_->text();
    return watch;
  }
  static std::vector<std::string> Versions(const std::vector<ListOptions>& requests) {
    std::vector<std::string> out;
    for (const ListOptions& request : requests) out.push_back(request.resource_version);
    return out;
  }

  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::shared_ptr<RecordingLog> log_ = std::make_shared<RecordingLog>();
  RecordedMetrics metrics_;
  std::shared_ptr<ScriptedSource> source_ = std::make_shared<ScriptedSource>();
  RecordingSink sink_;
  ReflectorOptions options_;
  std::unique_ptr<Reflector> reflector_;

 private:
  std::pair<Context, CancelSource> stop_ = Context::Background(clock_).WithCancel();

 protected:
  const Context ctx_ = stop_.first;
  CancelSource& cancel_ = stop_.second;

 private:
  Thread thread_;
};

inline Error Refused() { return TransportError(transport_reason::kConnectionRefused, "connect to 127.0.0.1:6443: connection refused"); }

}  // namespace kube::internal
