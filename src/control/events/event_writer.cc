#include "control/events/event_writer.h"

#include <utility>

#include "kube/base/log.h"
#include "kube/base/metrics.h"
#include "kube/base/wait_until.h"

namespace kube::internal {
namespace {

const Logger& Log() {
  static const Logger log("control.events");
  return log;
}

bool IsNamespaceTerminating(const Error& error) {
  for (const ErrorCause& cause : error.causes()) {
    if (cause.reason == "NamespaceTerminating") return true;
  }
  return false;
}

}  // namespace

EventWriter::EventWriter(std::unique_ptr<EventSink> sink, EventRecorderOptions options)
    : options_(std::move(options)),
      clock_(options_.clock != nullptr ? options_.clock : Clock::Real()),
      sink_(std::move(sink)),
      requests_(Context::Background(clock_).WithCancel()),
      correlator_(options_, clock_),
      next_refresh_(clock_->Later(options_.series_refresh)) {}

EventWriter::~EventWriter() { Shutdown(); }

void EventWriter::Drop(std::uint64_t EventRecorderStats::*counter, std::string_view reason) {
  {
    MutexLock lock(mu_);
    ++(stats_.*counter);
  }
  if (options_.metrics != nullptr) options_.metrics->Add("kubexx_events_dropped_total", {{"reason", reason}});
}

void EventWriter::Record(EventInput input) {
  if (input.regarding.kind.empty() || input.regarding.name.empty() || input.reason.empty()) {
    Log().Error("An event is not recorded: it has no object with a kind and a name, or no reason",
                {{"object", input.regarding.name.view()}, {"reason", input.reason.view()}, {"note", input.note.view()}});
    return Drop(&EventRecorderStats::dropped_invalid, "invalid");
  }
  if (input.action.empty()) input.action = input.reason;
  input.time = clock_->WallNow();
  bool full = false;
  bool complain = false;
  {
    MutexLock lock(mu_);
    ++stats_.recorded;
    full = stopping_ || queue_.size() >= options_.queue_size;
    if (full) {
      complain = !complained_ && !stopping_;
      complained_ = complained_ || complain;
    } else {
      queue_.push_back(std::move(input));
      if (!thread_.joinable()) thread_ = Thread("kube-events", [this] { Loop(); });
      changed_.NotifyAll();
    }
  }
  if (full) Drop(&EventRecorderStats::dropped_full, "queue_full");
  if (complain)
    Log().Warn("Too many events wait to be written; newer ones are dropped. This is logged once", {{"waiting", options_.queue_size}});
}

bool EventWriter::Flush(std::chrono::nanoseconds limit) {
  const Context ctx = Context::Background(clock_).WithTimeout(limit);
  MutexLock lock(mu_);
  return WaitUntil(ctx, mu_, changed_, [this]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return queue_.empty() && !busy_; }).ok();
}

void EventWriter::Shutdown() {
  Thread thread;
  {
    MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
    thread = std::move(thread_);
  }
  if (!thread.joinable()) return;
  Timer limit = clock_->AddTimerAfter(options_.shutdown_timeout, [this] { requests_.second.Cancel(); });
  thread.Join();
}

EventRecorderStats EventWriter::stats() const {
  MutexLock lock(mu_);
  return stats_;
}

std::optional<Clock::TimePoint> EventWriter::NextDue() const {
  std::optional<Clock::TimePoint> due = correlator_.NextIdle();
  if (due && next_refresh_ < *due) due = next_refresh_;
  if (!waiting_.empty() && (!due || waiting_.begin()->first < *due)) due = waiting_.begin()->first;
  return due;
}

bool EventWriter::WaitForWork() {
  const std::optional<Clock::TimePoint> due = NextDue();
  // While as many wait for their next try as may wait at all, nothing is taken from the queue: it fills up, and new events are dropped.
  const bool takes = waiting_.size() < options_.queue_size;
  const Context all = Context::Background(clock_);
  const Context ctx = due ? all.WithDeadline(*due) : all;
  (void)WaitUntil(ctx, mu_, changed_, [this, takes]() KUBE_NO_THREAD_SAFETY_ANALYSIS { return stopping_ || (takes && !queue_.empty()); });
  return !stopping_;
}

void EventWriter::Loop() {
  for (;;) {
    std::deque<EventInput> inputs;
    bool more = true;
    {
      MutexLock lock(mu_);
      busy_ = false;
      changed_.NotifyAll();
      more = WaitForWork();
      busy_ = true;
      if (!more) {
        inputs.swap(queue_);
      } else if (!queue_.empty() && waiting_.size() < options_.queue_size) {
        inputs.push_back(std::move(queue_.front()));
        queue_.pop_front();
      }
    }
    last_ = !more;
    for (const EventInput& input : inputs) Handle(input);
    if (!more) {
      LastWrites();
      MutexLock lock(mu_);
      busy_ = false;
      changed_.NotifyAll();
      return;
    }
    RunTimers();
  }
}

void EventWriter::Handle(const EventInput& input) {
  EventCorrelator::Outcome outcome = correlator_.Correlate(input);
  if (outcome.evicted != nullptr) Start(std::move(outcome.evicted));
  switch (outcome.decision) {
    case EventCorrelator::Decision::kWrite:
      return Start(std::move(outcome.series));
    case EventCorrelator::Decision::kCount: {
      MutexLock lock(mu_);
      ++stats_.counted;
      return;
    }
    case EventCorrelator::Decision::kSpam:
      return Drop(&EventRecorderStats::dropped_spam, "spam");
  }
}

void EventWriter::Start(EventSeriesPtr series) {
  if (series->write_waits) return;
  series->write_waits = true;
  Attempt({std::move(series), 0});
}

void EventWriter::Attempt(Write write) {
  if (TryOnce(*write.series) == Tried::kDone) {
    write.series->write_waits = false;
    return;
  }
  ++write.tries;
  if (last_ || write.tries >= options_.max_tries) {
    if (!last_)
      Log().Error("An event could not be written, and is dropped",
                  {{"event", write.series->event.metadata.name.view()}, {"tries", write.tries}});
    write.series->write_waits = false;
    return Drop(&EventRecorderStats::dropped_gave_up, "gave_up");
  }
  const std::chrono::nanoseconds delay =
      options_.retry_jitter > 0 ? Jitter(options_.retry_delay, options_.retry_jitter, options_.random) : options_.retry_delay;
  waiting_.emplace(clock_->Later(delay), std::move(write));
}

EventWriter::Tried EventWriter::TryOnce(EventSeriesState& series) {
  const Context ctx = requests_.first.WithTimeout(options_.request_timeout);
  const events::v1::Event event = series.Current();
  bool create = !series.created;
  Result<void> written;
  if (!create) {
    written = sink_->Patch(ctx, event);
    // It expired, or another client deleted it.
    create = !written && IsNotFound(written.error());
  }
  if (create) written = sink_->Create(ctx, event);
  if (!written) return Judge(written.error(), series, create);
  series.created = true;
  series.written_count = series.count;
  MutexLock lock(mu_);
  ++stats_.written;
  return Tried::kDone;
}

EventWriter::Tried EventWriter::Judge(const Error& error, EventSeriesState& series, bool create) {
  const std::string_view name = series.event.metadata.name;
  switch (error.kind()) {
    case ErrorKind::kApi:
      if (create && IsAlreadyExists(error)) {
        // An earlier attempt reached the server, and its answer was lost. The stored event may lack the series.
        series.created = true;
        if (series.count > 1) return Tried::kAgain;
        series.written_count = 1;
        Log().V(5).Info("The server has the event already", {{"event", name}});
        return Tried::kDone;
      }
      if (IsNamespaceTerminating(error)) {
        Log().V(5).Info("The server refused an event", {{"event", name}, {"err", error}});
      } else {
        Log().Error(error, "The server refused an event; it is not retried",
                    {{"event", name}, {"namespace", series.event.metadata.namespace_.view()}, {"reason", series.event.reason.view()}});
      }
      Drop(&EventRecorderStats::dropped_rejected, "rejected");
      return Tried::kDone;
    case ErrorKind::kInvalid:
    case ErrorKind::kConfig:
      // The request would be the same next time.
      Log().Error(error, "An event cannot be sent; it is not retried", {{"event", name}});
      Drop(&EventRecorderStats::dropped_rejected, "rejected");
      return Tried::kDone;
    default:
      Log().V(2).Info("An event could not be written", {{"event", name}, {"err", error}});
      return Tried::kAgain;
  }
}

void EventWriter::RunTimers() {
  const Clock::TimePoint now = clock_->Now();
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    Write write = std::move(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    Attempt(std::move(write));
  }
  if (now >= next_refresh_) {
    next_refresh_ = clock_->Later(options_.series_refresh);
    for (EventSeriesPtr& series : correlator_.Series()) Start(std::move(series));
  }
  for (EventSeriesPtr& series : correlator_.TakeIdle()) {
    if (series->count > 1 && series->count > series->written_count) Start(std::move(series));
  }
}

void EventWriter::LastWrites() {
  std::multimap<Clock::TimePoint, Write> waiting = std::move(waiting_);
  waiting_.clear();
  for (auto& [due, write] : waiting) {
    // What this shutdown has tried once already is not tried again.
    if (write.series->write_waits) Attempt(std::move(write));
  }
  for (EventSeriesPtr& series : correlator_.Series()) {
    if (series->created && series->count > series->written_count) Start(std::move(series));
  }
}

}  // namespace kube::internal
