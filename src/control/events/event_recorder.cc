#include "kube/control/event_recorder.h"

#include <utility>

#include "control/events/event_backend.h"
#include "control/events/event_sink.h"
#include "control/events/event_writer.h"
#include "control/host_identity.h"
#include "kube/base/log.h"
#include "kube/client/client.h"
#include "kube/control/cached_client.h"

namespace kube {
namespace {

constexpr std::size_t kMaxInstance = 128;

std::string DefaultInstance(const std::string& controller) {
  std::string instance = controller + "-" + internal::HostName();
  return instance.substr(0, kMaxInstance);
}

}  // namespace

std::string_view ToString(EventType type) { return type == EventType::kWarning ? "Warning" : "Normal"; }

EventRecorder::EventRecorder() = default;
EventRecorder::EventRecorder(const EventRecorder&) = default;
EventRecorder::EventRecorder(EventRecorder&&) noexcept = default;
EventRecorder& EventRecorder::operator=(const EventRecorder&) = default;
EventRecorder& EventRecorder::operator=(EventRecorder&&) noexcept = default;
EventRecorder::~EventRecorder() = default;

namespace {
EventRecorderOptions OnClockOf(const CachedClient& client, EventRecorderOptions options) {
  if (options.clock == nullptr) options.clock = internal::CachedClientAccess::CoreOf(client)->clock();
  return options;
}
}  // namespace

EventRecorder::EventRecorder(const CachedClient& client, EventRecorderOptions options)
    : EventRecorder(client.Live(), OnClockOf(client, std::move(options))) {}
EventRecorder::EventRecorder(const Client& client, EventRecorderOptions options)
    : controller_(options.controller),
      instance_(options.instance.empty() ? DefaultInstance(options.controller) : options.instance.substr(0, kMaxInstance)) {
  backend_ = std::make_shared<internal::EventWriter>(std::make_unique<internal::ClientEventSink>(client), std::move(options));
}

EventRecorder::EventRecorder(std::shared_ptr<internal::EventBackend> backend, std::string controller, std::string instance)
    : backend_(std::move(backend)),
      controller_(std::move(controller)),
      instance_(instance.empty() ? DefaultInstance(controller_) : std::move(instance)) {}

void EventRecorder::Event(const EventObject& regarding, EventType type, std::string_view reason, std::string_view action,
                          std::string_view note, const EventObject& related) const noexcept {
  if (backend_ == nullptr) return;
  try {
    backend_->Record({.regarding = regarding,
                      .related = related,
                      .type = type,
                      .controller = controller_,
                      .instance = instance_,
                      .reason = reason,
                      .action = action,
                      .note = note});
  } catch (...) {
    // Out of memory: an event is the least that can be missed then.
    return;
  }
}

EventRecorder EventRecorder::For(std::string controller) const {
  if (backend_ == nullptr) return {};
  return EventRecorder(backend_, std::move(controller));
}

bool EventRecorder::Flush(std::chrono::nanoseconds limit) const { return backend_ == nullptr || backend_->Flush(limit); }

void EventRecorder::Shutdown() const {
  if (backend_ != nullptr) backend_->Shutdown();
}

EventRecorderStats EventRecorder::stats() const { return backend_ == nullptr ? EventRecorderStats() : backend_->stats(); }

// ---- For tests ----

class RecordedEvents::Backend final : public internal::EventBackend {
 public:
  void Record(internal::EventInput input) override {
    MutexLock lock(mu_);
    lines_.push_back(std::string(ToString(input.type)) + " " + input.reason.str() + " " + input.note.str());
    objects_.push_back(std::move(input.regarding));
    changed_.NotifyAll();
  }
  bool Flush(std::chrono::nanoseconds) override { return true; }
  void Shutdown() override {}
  EventRecorderStats stats() const override {
    MutexLock lock(mu_);
    return {.recorded = lines_.size(), .written = lines_.size()};
  }
  std::vector<std::string> lines() const {
    MutexLock lock(mu_);
    return lines_;
  }
  std::vector<EventObject> objects() const {
    MutexLock lock(mu_);
    return objects_;
  }
  bool WaitFor(std::size_t n, std::chrono::nanoseconds limit) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit);
    MutexLock lock(mu_);
    while (lines_.size() < n) {
      if (!changed_.WaitUntil(mu_, until)) return lines_.size() >= n;
    }
    return true;
  }

 private:
  mutable Mutex mu_;
  mutable CondVar changed_;
  std::vector<std::string> lines_ KUBE_GUARDED_BY(mu_);
  std::vector<EventObject> objects_ KUBE_GUARDED_BY(mu_);
};

RecordedEvents::RecordedEvents() : backend_(std::make_shared<Backend>()) {}
RecordedEvents::~RecordedEvents() = default;
EventRecorder RecordedEvents::recorder(std::string controller) const { return EventRecorder(backend_, std::move(controller)); }
std::vector<std::string> RecordedEvents::events() const { return backend_->lines(); }
std::vector<EventObject> RecordedEvents::objects() const { return backend_->objects(); }
bool RecordedEvents::WaitForEvents(std::size_t n, std::chrono::nanoseconds limit) const { return backend_->WaitFor(n, limit); }

}  // namespace kube
