#include "control/events/event_correlator.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "control/host_identity.h"
#include "kube/meta/validation.h"

namespace kube::internal {
namespace {

constexpr std::string_view kCombined = "(combined from similar events): ";
constexpr std::size_t kMaxNote = 1024;

// Texts may hold anything but a zero byte between them.
template <typename... Parts>
std::string Join(const Parts&... parts) {
  std::string key;
  const auto add = [&key](std::string_view part) { key.append(part).push_back('\0'); };
  (add(std::string_view(parts)), ...);
  return key;
}

std::string ObjectOf(const EventInput& e) {
  const EventObject& o = e.regarding;
  return Join(e.controller, e.instance, o.kind, o.ns, o.name, o.uid, o.api_version, ToString(e.type));
}

core::v1::ObjectReference Reference(const EventObject& o) {
  core::v1::ObjectReference r;
  r.kind = o.kind;
  r.namespace_ = o.ns;
  r.name = o.name;
  r.uid = o.uid;
  r.api_version = o.api_version;
  r.resource_version = o.resource_version;
  r.field_path = o.field_path;
  return r;
}

MicroTime Micro(Clock::WallTime t) { return MicroTime(std::chrono::time_point_cast<std::chrono::microseconds>(t)); }

}  // namespace

std::string EventName(std::string_view object, std::int64_t unix_nanos) {
  char hex[24];
  std::snprintf(hex, sizeof hex, ".%llx", static_cast<unsigned long long>(unix_nanos));
  std::string name = std::string(object) + hex;
  return ValidateDnsSubdomain(name) ? name : NewUuid();
}

std::string CutNote(std::string_view note) {
  if (note.size() <= kMaxNote) return std::string(note);
  std::size_t end = kMaxNote - 3;
  // Not inside of a character of several bytes.
  while (end > 0 && (static_cast<unsigned char>(note[end]) & 0xc0) == 0x80) --end;
  return std::string(note.substr(0, end)) + "...";
}

events::v1::Event EventSeriesState::Current() const {
  events::v1::Event e = event;
  if (count > 1) {
    events::v1::EventSeries series;
    series.count = count;
    series.last_observed_time = Micro(last);
    e.series = series;
  }
  return e;
}

EventCorrelator::EventCorrelator(const EventRecorderOptions& options, std::shared_ptr<Clock> clock)
    : options_(options), clock_(std::move(clock)), series_(options.cache_size), groups_(options.cache_size), buckets_(options.cache_size) {}

std::pair<std::string, bool> EventCorrelator::Aggregate(const EventInput& input) {
  // Unlike the group of a combined event, a series is about the same part of the object, the same action and the same related object.
  const std::string group_key = ObjectOf(input) + Join(input.reason);
  const EventObject& related = input.related;
  std::string key = group_key + Join(input.action, input.note, input.regarding.field_path, related.kind, related.ns, related.name,
                                     related.uid, related.api_version);
  const Clock::TimePoint now = clock_->Now();
  Group* group = groups_.Find(group_key);
  if (group == nullptr) group = &groups_.Insert(group_key, Group{});
  if (!group->notes.empty() && now - group->last > options_.aggregate_window) group->notes.clear();
  group->notes.insert(input.note.str());
  group->last = now;
  if (group->notes.size() < options_.aggregate_after) return {std::move(key), false};
  // No need to remember more: the group stays full until it is quiet for a while.
  while (group->notes.size() >= std::max<std::size_t>(options_.aggregate_after, 1)) {
    auto victim = group->notes.begin();
    if (*victim == input.note && group->notes.size() > 1) ++victim;
    group->notes.erase(victim);
  }
  return {group_key, true};
}

bool EventCorrelator::IsSpam(const EventInput& input) {
  const std::string key = ObjectOf(input);
  const Clock::TimePoint now = clock_->Now();
  Bucket* bucket = buckets_.Find(key);
  const double burst = options_.spam_burst;
  if (bucket == nullptr) bucket = &buckets_.Insert(key, Bucket{burst, now});
  const double passed = std::chrono::duration<double>(now - bucket->last).count();
  bucket->tokens = std::min(burst, bucket->tokens + passed * options_.spam_refill_per_second);
  bucket->last = now;
  // A little less than one: 300 s of a 300th are not quite one in binary fractions.
  if (bucket->tokens < 1 - 1e-9) return true;
  bucket->tokens -= 1;
  return false;
}

EventCorrelator::Outcome EventCorrelator::Correlate(const EventInput& input) {
  Outcome outcome;
  auto [key, combined] = Aggregate(input);
  if (const EventSeriesPtr* found = series_.Find(key)) {
    EventSeriesState& series = **found;
    // One more event of a series costs the server nothing, so only the first repetition is rate limited; if it may not be written now, it
    // is written with the others later.
    const bool writes = series.count == 1 && !series.write_waits && !IsSpam(input);
    ++series.count;
    series.last = input.time;
    series.last_seen = clock_->Now();
    outcome.decision = writes ? Decision::kWrite : Decision::kCount;
    outcome.series = *found;
    return outcome;
  }
  if (IsSpam(input)) {
    outcome.decision = Decision::kSpam;
    return outcome;
  }
  auto series = std::make_shared<EventSeriesState>();
  series->key = key;
  series->last = input.time;
  series->last_seen = clock_->Now();
  events::v1::Event& event = series->event;
  // Two events of one object in the same moment must not have the same name.
  const std::int64_t nanos = std::chrono::duration_cast<std::chrono::nanoseconds>(input.time.time_since_epoch()).count();
  last_nanos_ = std::max(nanos, last_nanos_ + 1);
  event.metadata.name = EventName(input.regarding.name, last_nanos_);
  event.metadata.namespace_ = input.regarding.ns.empty() ? String("default") : input.regarding.ns;
  event.event_time = Micro(input.time);
  event.reporting_controller = input.controller;
  event.reporting_instance = input.instance;
  event.action = input.action;
  event.reason = input.reason;
  event.regarding = Reference(input.regarding);
  if (!input.related.empty()) event.related = Reference(input.related);
  event.note = combined ? CutNote(std::string(kCombined) + input.note.str()) : CutNote(input.note);
  event.type = ToString(input.type);
  std::optional<EventSeriesPtr> evicted;
  series_.Insert(std::move(key), series, &evicted);
  if (evicted && (*evicted)->count > (*evicted)->written_count && (*evicted)->created) outcome.evicted = *std::move(evicted);
  outcome.series = std::move(series);
  return outcome;
}

std::vector<EventSeriesPtr> EventCorrelator::TakeIdle() {
  std::vector<EventSeriesPtr> idle;
  const Clock::TimePoint now = clock_->Now();
  while (const EventSeriesPtr* oldest = series_.Oldest()) {
    if (now - (*oldest)->last_seen < options_.series_idle) break;
    idle.push_back(*oldest);
    series_.RemoveOldest();
  }
  return idle;
}

std::optional<Clock::TimePoint> EventCorrelator::NextIdle() const {
  const EventSeriesPtr* oldest = series_.Oldest();
  if (oldest == nullptr) return std::nullopt;
  return (*oldest)->last_seen + std::chrono::duration_cast<Clock::TimePoint::duration>(options_.series_idle);
}

std::vector<EventSeriesPtr> EventCorrelator::Series() const {
  std::vector<EventSeriesPtr> all;
  for (const auto& [key, series] : series_) {
    if (series->count > 1) all.push_back(series);
  }
  return all;
}

}  // namespace kube::internal
