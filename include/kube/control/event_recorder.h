// EventRecorder: tells people what a program does with an object: the lines at the end of `kubectl describe`.
//
//   EventRecorder events(client, {.controller = "auto-expose"});
//   events.Event(deployment, EventType::kNormal, "ServiceCreated", "Create", "created service web");
//   events.Event(deployment, EventType::kWarning, "Refused", "Create", error.message(), EventObjectOf(service));
//
//   RecordedEvents fake;                                       // in a test
//   CodeUnderTest code(fake.recorder());
//   EXPECT_THAT(fake.events(), ElementsAre("Normal ServiceCreated created service web"));
//
// Events are for people, and may get lost: do not build on them. They are written by events.k8s.io/v1, or by core/v1 where a server
// has nothing newer. Many alike cost the server little: the second of a kind starts a series, whose later ones are only counted here and
// written now and then; ten different notes for one reason within ten minutes become one event "(combined from similar events): ...";
// and one object gets no more than a burst of 25 events, then one every five minutes.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/backoff.h"
#include "kube/base/clock.h"
#include "kube/base/export.h"
#include "kube/base/mutex.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_memory.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/resource.h"
#include "kube/value/string.h"

namespace kube {

class CachedClient;
class Client;
class MetricsSink;

enum class EventType : std::uint8_t { kNormal, kWarning };
KUBE_EXPORT std::string_view ToString(EventType type);  // "Normal", "Warning"

// Which object an event is about.
struct EventObject {
  String api_version{};
  String kind{};
  String ns{};  // empty: the object has none; its events are in "default"
  String name{};
  String uid{};
  String resource_version{};
  String field_path{};  // a part of it: "spec.containers{web}"

  bool empty() const { return kind.empty() && name.empty(); }
  friend bool operator==(const EventObject&, const EventObject&) = default;
};

template <ObjectType T>
EventObject EventObjectOf(const T& object) {
  const auto& metadata = MetadataOf(object);
  const Gvk gvk = GvkOf(object);
  return {.api_version = gvk.api_version(),
          .kind = gvk.kind,
          .ns = metadata.namespace_,
          .name = metadata.name,
          .uid = metadata.uid,
          .resource_version = metadata.resource_version};
}
// From a core::v1::ObjectReference, whose header this one does not need.
template <typename Reference>
requires requires(const Reference& r) { r.api_version, r.kind, r.namespace_, r.name, r.uid, r.resource_version, r.field_path; }
EventObject EventObjectOf(const Reference& reference) {
  return {.api_version = reference.api_version,
          .kind = reference.kind,
          .ns = reference.namespace_,
          .name = reference.name,
          .uid = reference.uid,
          .resource_version = reference.resource_version,
          .field_path = reference.field_path};
}

struct EventRecorderOptions {
  // Who reports: "auto-expose" or "example.com/auto-expose". Required: without it the server refuses every event.
  std::string controller{};
  std::string instance{};  // which replica; empty: the controller's name and the host's

  std::size_t queue_size = 1000;  // events that wait; more are dropped
  std::size_t cache_size = 4096;  // series, groups of similar events and objects that are remembered, of each

  // Where the server cannot be reached. What it refuses is not tried again.
  int max_tries = 12;
  std::chrono::nanoseconds retry_delay = std::chrono::seconds(10);
  double retry_jitter = 0.25;
  std::chrono::nanoseconds request_timeout = std::chrono::seconds(30);
  // How long the last events may take when the recorder is shut down; each is tried once.
  std::chrono::nanoseconds shutdown_timeout = std::chrono::seconds(5);

  // A series is written again at least this often, so that the server does not let it expire, and given up after so long without one.
  std::chrono::nanoseconds series_refresh = std::chrono::minutes(30);
  std::chrono::nanoseconds series_idle = std::chrono::minutes(6);

  // So many different notes for the same object, type and reason, none later than that after the one before, are combined.
  std::size_t aggregate_after = 10;
  std::chrono::nanoseconds aggregate_window = std::chrono::seconds(600);

  // What one controller may write about one object, for each type.
  int spam_burst = 25;
  double spam_refill_per_second = 1.0 / 300;

  std::shared_ptr<MetricsSink> metrics{};  // kubexx_events_dropped_total {reason}
  std::shared_ptr<Clock> clock{};          // null: the real one
  RandomSource random{};
};

struct EventRecorderStats {
  std::uint64_t recorded = 0;  // calls of Event
  std::uint64_t written = 0;   // requests that the server took
  std::uint64_t counted = 0;   // only counted, in a series
  std::uint64_t dropped_full = 0;
  std::uint64_t dropped_spam = 0;
  std::uint64_t dropped_invalid = 0;   // no object, no reason
  std::uint64_t dropped_rejected = 0;  // the server refused it
  std::uint64_t dropped_gave_up = 0;   // no answer after all tries
};

namespace internal {
class EventBackend;
struct RecorderAccess;
}  // namespace internal

// A cheap handle; copies share one queue, one thread and one memory of what was written. A default-constructed one does nothing.
//
// Thread safety: all functions from any thread.
// Lifetime: the last copy's destructor shuts down: what waits is tried once, for at most `shutdown_timeout`. The thread `kube-events`
//   starts with the first event.
// Blocking: Event never blocks; Shutdown and the last destructor do, as said.
// Errors: Event never fails and never throws. What is lost is logged (once for a full queue) and counted.
// Cost: of Event a copy of its texts and a lock. A text of more than 1024 bytes is cut, as the server takes no more.
class KUBE_EXPORT EventRecorder {
 public:
  EventRecorder();
  EventRecorder(const Client& client, EventRecorderOptions options);
  EventRecorder(const CachedClient& client, EventRecorderOptions options);
  EventRecorder(const EventRecorder&);
  EventRecorder(EventRecorder&&) noexcept;
  EventRecorder& operator=(const EventRecorder&);
  EventRecorder& operator=(EventRecorder&&) noexcept;
  ~EventRecorder();

  // `reason` says why, in one CamelCase word, and is what tools look for; `action` what was done or tried ("Create"; empty: the reason);
  // `note` is a sentence for people. `related` is a second object that has to do with it.
  void Event(const EventObject& regarding, EventType type, std::string_view reason, std::string_view action, std::string_view note,
             const EventObject& related = {}) const noexcept;
  template <typename T>
  requires(!std::same_as<T, EventObject>) void Event(const T& object, EventType type, std::string_view reason, std::string_view action,
                                                     std::string_view note, const EventObject& related = {}) const {
    Event(EventObjectOf(object), type, reason, action, note, related);
  }

  // The same queue under another controller's name.
  [[nodiscard]] EventRecorder For(std::string controller) const;
  // Waits until everything that was recorded so far was tried. False where that took longer than `limit` of the recorder's clock.
  bool Flush(std::chrono::nanoseconds limit = std::chrono::seconds(10)) const;
  // As the last destructor; later events are dropped.
  void Shutdown() const;
  EventRecorderStats stats() const;

 private:
  friend class RecordedEvents;
  friend struct internal::RecorderAccess;
  explicit EventRecorder(std::shared_ptr<internal::EventBackend> backend, std::string controller, std::string instance = {});
  std::shared_ptr<internal::EventBackend> backend_;
  std::string controller_;
  std::string instance_;
};

// For tests: keeps what was recorded, as "<type> <reason> <note>".
//
// Thread safety: all functions from any thread. Lifetime: recorders may outlive it.
class KUBE_EXPORT RecordedEvents {
 public:
  RecordedEvents();
  ~RecordedEvents();
  RecordedEvents(const RecordedEvents&) = delete;
  RecordedEvents& operator=(const RecordedEvents&) = delete;

  EventRecorder recorder(std::string controller = "test") const;
  std::vector<std::string> events() const;
  // Of the same events, what they are about.
  std::vector<EventObject> objects() const;
  // Waits until there are `n`. False after `limit` of real time.
  bool WaitForEvents(std::size_t n, std::chrono::nanoseconds limit = std::chrono::seconds(30)) const;

 private:
  class Backend;
  const std::shared_ptr<Backend> backend_;
};

}  // namespace kube
