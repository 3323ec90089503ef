// EventWriter: the thread behind an EventRecorder. Takes events from a queue, correlates them and writes what has to be written.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/events/event_backend.h"
#include "control/events/event_correlator.h"
#include "control/events/event_sink.h"
#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"

namespace kube::internal {

class EventWriter final : public EventBackend {
 public:
  EventWriter(std::unique_ptr<EventSink> sink, EventRecorderOptions options);
  ~EventWriter() override;

  void Record(EventInput input) override;
  bool Flush(std::chrono::nanoseconds limit) override;
  void Shutdown() override;
  EventRecorderStats stats() const override;

 private:
  // A write that waits for its next try.
  struct Write {
    EventSeriesPtr series;
    int tries = 0;
  };
  enum class Tried : std::uint8_t { kDone, kAgain };

  void Loop();
  // Waits for the next thing to do. False: shut down.
  bool WaitForWork() KUBE_REQUIRES(mu_);
  std::optional<Clock::TimePoint> NextDue() const;
  void Handle(const EventInput& input);
  void Start(EventSeriesPtr series);
  void Attempt(Write write);
  Tried TryOnce(EventSeriesState& series);
  Tried Judge(const Error& error, EventSeriesState& series, bool create);
  void RunTimers();
  void LastWrites();
  void Drop(std::uint64_t EventRecorderStats::*counter, std::string_view reason);

  const EventRecorderOptions options_;
  const std::shared_ptr<Clock> clock_;
  const std::unique_ptr<EventSink> sink_;
  const std::pair<Context, CancelSource> requests_;  // stops when the shutdown takes too long

  // Used by the thread only.
  EventCorrelator correlator_;
  std::multimap<Clock::TimePoint, Write> waiting_;
  Clock::TimePoint next_refresh_;
  bool last_ = false;  // shutting down: nothing is tried again

  mutable Mutex mu_;
  CondVar changed_;
  std::deque<EventInput> queue_ KUBE_GUARDED_BY(mu_);
  bool busy_ KUBE_GUARDED_BY(mu_) = false;
  bool stopping_ KUBE_GUARDED_BY(mu_) = false;
  bool complained_ KUBE_GUARDED_BY(mu_) = false;
  EventRecorderStats stats_ KUBE_GUARDED_BY(mu_);
  Thread thread_ KUBE_GUARDED_BY(mu_);
};

}  // namespace kube::internal
