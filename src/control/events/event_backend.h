// What is behind an EventRecorder.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "kube/control/event_recorder.h"
#include "kube/value/time.h"

namespace kube::internal {

// An event as it was recorded.
struct EventInput {
  EventObject regarding{};
  EventObject related{};  // empty: none
  EventType type = EventType::kNormal;
  String controller{};
  String instance{};
  String reason{};
  String action{};
  String note{};
  Clock::WallTime time{};
};

// Thread safety: all functions from any thread.
class EventBackend {
 public:
  EventBackend() = default;
  EventBackend(const EventBackend&) = delete;
  EventBackend& operator=(const EventBackend&) = delete;
  virtual ~EventBackend() = default;
  // Does not block; may throw std::bad_alloc.
  virtual void Record(EventInput input) = 0;
  virtual bool Flush(std::chrono::nanoseconds limit) = 0;
  virtual void Shutdown() = 0;
  virtual EventRecorderStats stats() const = 0;
};

// For tests: a recorder with any backend.
struct RecorderAccess {
  static EventRecorder Make(std::shared_ptr<EventBackend> backend, std::string controller, std::string instance = {}) {
    return EventRecorder(std::move(backend), std::move(controller), std::move(instance));
  }
};

}  // namespace kube::internal
