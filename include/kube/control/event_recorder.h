// EventRecorder: writes Kubernetes events about objects, as shown by `kubectl describe`.
//
//   EventRecorder events(client, {.controller = "auto-expose"});
//   events.Event(deployment, EventType::kNormal, "ServiceCreated", "Create", "created service web");
//   events.Event(deployment, EventType::kWarning, "Refused", "Create", error.message(), EventObjectOf(service));
//
//   RecordedEvents fake;                                       // in a test
//   CodeUnderTest code(fake.recorder());
//   EXPECT_THAT(fake.events(), ElementsAre("Normal ServiceCreated created service web"));
//
// Events are for people and may get lost: do not build logic on them. They are written to events.k8s.io/v1, or to core/v1 on servers
// without it. Repeated events are cheap for the server. The second of a kind starts a series, whose later events are only counted here and
// written now and then. Ten different notes for one reason within ten minutes become one event "(combined from similar events): ...". Each
// object gets a burst of at most 25 events, then one every five minutes.
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

// The type of an event. Warning is for problems.
enum class EventType : std::uint8_t { kNormal, kWarning };
KUBE_EXPORT std::string_view ToString(EventType type);  // "Normal", "Warning"

// The object that an event is about.
struct EventObject {
  String api_version{};
  String kind{};
  String ns{};  // empty for a cluster-scoped object; its events are in "default"
  String name{};
  String uid{};
  String resource_version{};
  String field_path{};  // a part of the object: "spec.containers{web}"

  bool empty() const { return kind.empty() && name.empty(); }
  friend bool operator==(const EventObject&, const EventObject&) = default;
};

// The reference to `object`, or to the object of a core::v1::ObjectReference.
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
// Takes a core::v1::ObjectReference without including its header.
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

// Options of an EventRecorder.
struct EventRecorderOptions {
  // The reporting controller: "auto-expose" or "example.com/auto-expose". Required: the server rejects events without it.
  std::string controller{};
  std::string instance{};  // the replica; empty for the name of the controller and the host

  // Maximum number of queued events; more are dropped.
  std::size_t queue_size = 1000;
  // Maximum number of remembered series, of groups of similar events, and of objects, each.
  std::size_t cache_size = 4096;

  // Retries while the server is unreachable. An event that the server rejects is not retried.
  int max_tries = 12;
  std::chrono::nanoseconds retry_delay = std::chrono::seconds(10);
  double retry_jitter = 0.25;
  std::chrono::nanoseconds request_timeout = std::chrono::seconds(30);
  // How long Shutdown may take to write the queued events. Each is tried once.
  std::chrono::nanoseconds shutdown_timeout = std::chrono::seconds(5);

  // A series is written at least every series_refresh, so that the server does not expire it, and ends after series_idle without a new
  // event.
  std::chrono::nanoseconds series_refresh = std::chrono::minutes(30);
  std::chrono::nanoseconds series_idle = std::chrono::minutes(6);

  // This many different notes for one object, type and reason are combined into one event, if none comes later than aggregate_window after
  // the previous one.
  std::size_t aggregate_after = 10;
  std::chrono::nanoseconds aggregate_window = std::chrono::seconds(600);

  // Rate limit for the events of one controller about one object, per type.
  int spam_burst = 25;
  double spam_refill_per_second = 1.0 / 300;  // after the burst

  std::shared_ptr<MetricsSink> metrics{};  // kubexx_events_dropped_total {reason}
  std::shared_ptr<Clock> clock{};          // null for the system clock
  RandomSource random{};
};

// Counters of an EventRecorder.
struct EventRecorderStats {
  std::uint64_t recorded = 0;  // calls of Event
  std::uint64_t written = 0;   // requests that the server accepted
  std::uint64_t counted = 0;   // only counted, as part of a series
  // Dropped because the queue was full, or by the rate limit.
  std::uint64_t dropped_full = 0;
  std::uint64_t dropped_spam = 0;
  std::uint64_t dropped_invalid = 0;   // no object or no reason
  std::uint64_t dropped_rejected = 0;  // rejected by the server
  std::uint64_t dropped_gave_up = 0;   // no answer after max_tries
};

namespace internal {
class EventBackend;
struct RecorderAccess;
}  // namespace internal

// A cheap handle: copies share one queue, one thread and one record of written events. A default-constructed recorder does nothing.
//
// Thread safety: all functions may be called from any thread.
// Lifetime: the last copy's destructor shuts down: it tries each queued event once, for at most `shutdown_timeout`. The thread
//   `kube-events` starts with the first event.
// Blocking: Event never blocks. Shutdown and the last destructor block for at most `shutdown_timeout`.
// Errors: Event never fails and never throws. Lost events are counted and logged (once for a full queue).
// Cost: Event copies its texts and takes a lock. Texts are cut at 1024 bytes, the server's limit.
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

  // Records an event. `reason` is one CamelCase word that tools search for. `action` is what was done or tried ("Create"; empty for the
  // reason). `note` is a sentence for people. `related` is an optional second object.
  void Event(const EventObject& regarding, EventType type, std::string_view reason, std::string_view action, std::string_view note,
             const EventObject& related = {}) const noexcept;
  template <typename T>
  requires(!std::same_as<T, EventObject>) void Event(const T& object, EventType type, std::string_view reason, std::string_view action,
                                                     std::string_view note, const EventObject& related = {}) const {
    Event(EventObjectOf(object), type, reason, action, note, related);
  }

  // A recorder for another controller name on the same queue.
  [[nodiscard]] EventRecorder For(std::string controller) const;
  // Waits until every event recorded so far was tried. Returns false if that takes longer than `limit` by the recorder's clock.
  bool Flush(std::chrono::nanoseconds limit = std::chrono::seconds(10)) const;
  // Shuts down like the last destructor. Later events are dropped.
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

// An in-memory recorder for tests: keeps each event as "<type> <reason> <note>".
//
// Thread safety: all functions from any thread. Lifetime: recorders may outlive it.
class KUBE_EXPORT RecordedEvents {
 public:
  RecordedEvents();
  ~RecordedEvents();
  RecordedEvents(const RecordedEvents&) = delete;
  RecordedEvents& operator=(const RecordedEvents&) = delete;

  EventRecorder recorder(std::string controller = "test") const;  // a recorder whose events are kept here
  std::vector<std::string> events() const;
  // The objects of the same events, in the same order.
  std::vector<EventObject> objects() const;
  // Waits until there are `n` events. Returns false after `limit` of real time.
  bool WaitForEvents(std::size_t n, std::chrono::nanoseconds limit = std::chrono::seconds(30)) const;

 private:
  class Backend;
  const std::shared_ptr<Backend> backend_;
};

}  // namespace kube
