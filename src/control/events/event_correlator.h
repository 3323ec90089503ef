// EventCorrelator: what becomes of an event: a new one, one more of a series, a part of a combined one, or nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/events/event_backend.h"
#include "control/lru_map.h"
#include "kube/api/events/v1.h"

namespace kube::internal {

// "web.17a2b3c4d5e6f708", or a UUID if that is no name that the server would take.
std::string EventName(std::string_view object, std::int64_t unix_nanos);
// At most 1024 bytes, cut between characters.
std::string CutNote(std::string_view note);

// Events that are alike, as one event of the server.
struct EventSeriesState {
  events::v1::Event event;  // as it was first written; its series is kept in `count` and `last`
  std::string key;
  std::int32_t count = 1;
  Clock::WallTime last{};
  Clock::TimePoint last_seen{};  // the same, by the clock that does not jump
  // What the writer knows.
  bool created = false;
  std::int32_t written_count = 0;
  bool write_waits = false;  // a write is queued or will be tried again: it will carry the newest count

  // The event with its series, as it has to be written now.
  events::v1::Event Current() const;
};
using EventSeriesPtr = std::shared_ptr<EventSeriesState>;

// Thread safety: none; the writer's thread only.
class EventCorrelator {
 public:
  enum class Decision : std::uint8_t { kWrite, kCount, kSpam };
  struct Outcome {
    Decision decision = Decision::kWrite;
    EventSeriesPtr series;   // null for kSpam
    EventSeriesPtr evicted;  // had to go for it, and has counts that were not written; or null
  };

  EventCorrelator(const EventRecorderOptions& options, std::shared_ptr<Clock> clock);

  Outcome Correlate(const EventInput& input);

  // Series that had no event for the idle time. They are taken out of the memory.
  std::vector<EventSeriesPtr> TakeIdle();
  // When TakeIdle has something to give.
  std::optional<Clock::TimePoint> NextIdle() const;
  // All that are series: had a second event.
  std::vector<EventSeriesPtr> Series() const;
  std::size_t size() const { return series_.size(); }

 private:
  struct Group {
    std::set<std::string> notes;
    Clock::TimePoint last{};
  };
  struct Bucket {
    double tokens = 0;
    Clock::TimePoint last{};
  };

  // The key of the series that the event belongs to, and whether it is the combined one.
  std::pair<std::string, bool> Aggregate(const EventInput& input);
  bool IsSpam(const EventInput& input);

  const EventRecorderOptions& options_;
  const std::shared_ptr<Clock> clock_;
  LruMap<EventSeriesPtr> series_;
  LruMap<Group> groups_;
  LruMap<Bucket> buckets_;
  std::int64_t last_nanos_ = 0;
};

}  // namespace kube::internal
