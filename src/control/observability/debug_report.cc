#include "control/observability/debug_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/keyed_hash.h"
#include "kube/codec/json.h"
#include "kube/value/value.h"

namespace kube::internal {
namespace {

constexpr std::size_t kMostText = 2000;

Value Number(std::uint64_t n) { return Value(static_cast<std::int64_t>(n)); }
Value Seconds(std::chrono::nanoseconds time) { return Value(std::chrono::duration<double>(time).count()); }

// The length of the character that `text` begins with; 0 if that is not UTF-8.
std::size_t CharacterLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xF0 && first < 0xF5 ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return 0;
  }
  const bool wrong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) || (first == 0xF0 && byte(1) < 0x90) ||
                     (first == 0xF4 && byte(1) > 0x8F);
  return wrong ? 0 : length;
}

// Errors may have anything in them; JSON has only text. What is none becomes U+FFFD.
Value Text(std::string_view text) {
  std::string out;
  std::size_t good = 0;  // bytes before this are in `out`
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = CharacterLength(text.substr(i));
    if (length == 0) {
      out.append(text.substr(good, i - good)).append("\xEF\xBF\xBD");
      good = i + 1;
    }
    i += length == 0 ? 1 : length;
  }
  return Value(String(good == 0 ? text : std::string_view(out.append(text.substr(good)))));
}

// Errors may have a whole answer of a server in them.
std::string Shortened(std::string text) {
  if (text.size() <= kMostText) return text;
  std::size_t end = kMostText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // not inside of a character
  const std::size_t gone = text.size() - end;
  text.resize(end);
  return text + fmt::format("... ({} more bytes)", gone);
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool Contains(std::string_view text, std::string_view part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(), [](char a, char b) { return Lower(a) == Lower(b); }) != text.end();
}

int Hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = Lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string Decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && Hex(text[i + 1]) >= 0 && Hex(text[i + 2]) >= 0) {
      out += static_cast<char>(Hex(text[i + 1]) * 16 + Hex(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::vector<std::string> Texts(const std::vector<Cause>& causes) {
  std::vector<std::string> out;
  out.reserve(causes.size());
  for (const Cause& cause : causes) out.push_back(cause.ToString());
  return out;
}

Value TextList(const std::vector<std::string>& texts) {
  List<Value> list;
  for (const std::string& text : texts) list.push_back(Text(text));
  return Value(list);
}

// Everything that is known of a key, whichever list it came from.
struct Object {
  std::string key{};
  const WorkQueueEntry<ObjectKey>* entry = nullptr;  // null: neither queued nor worked on
  const KeyReport* report = nullptr;                 // null: its last run is not known any more, or there was none
  bool held = false;                                 // until caches have seen what its last run wrote
  std::vector<std::string> causes{};
  std::size_t more_causes = 0;
  std::string last_result{};
  std::vector<std::string> last_causes{};

  int failures() const { return report == nullptr ? 0 : report->failures; }
  std::string_view state() const {
    if (entry == nullptr) return held ? "held" : "idle";
    switch (entry->state) {
      case KeyState::kQueued:
        return "queued";
      case KeyState::kProcessing:
        return "processing";
      case KeyState::kWaiting:
        return "waiting";
    }
    return "unknown";
  }
};

// What is worked on, what fails, what is queued, what waits, the rest.
int Rank(const Object& object) {
  if (object.entry != nullptr && object.entry->state == KeyState::kProcessing) return 0;
  if (object.failures() > 0) return 1;
  if (object.entry == nullptr) return object.held ? 3 : 4;
  return object.entry->state == KeyState::kQueued ? 2 : 3;
}

bool Before(const Object& a, const Object& b) {
  const auto order = [](const Object& o) {
    const auto age = o.entry == nullptr ? Clock::Duration::zero() : o.entry->age;
    const auto due = o.entry == nullptr ? Clock::Duration::zero() : o.entry->due_in.value_or(Clock::Duration::zero());
    const auto ran = o.report == nullptr ? Clock::Duration::zero() : Clock::Duration(o.report->last_run.time_since_epoch());
    return std::tuple(Rank(o), -o.failures(), -age, due, -ran);
  };
  const auto left = order(a), right = order(b);
  return left != right ? left < right : a.key < b.key;
}

std::vector<Object> Merge(const ControllerStatus& status) {
  std::vector<Object> objects;
  std::unordered_map<std::string, std::size_t, KeyedHash> places;
  const auto at = [&](const ObjectKey& key) -> Object& {
    std::string text = key.ToString();
    const auto [place, added] = places.try_emplace(text, objects.size());
    if (added) objects.push_back({.key = std::move(text)});
    return objects[place->second];
  };
  for (std::size_t i = 0; i < status.queue.entries.size(); ++i) {
    const WorkQueueEntry<ObjectKey>& entry = status.queue.entries[i];
    Object& object = at(entry.key);
    object.entry = &entry;
    if (i >= status.causes.size()) continue;
    object.causes = Texts(status.causes[i].causes);
    object.more_causes = status.causes[i].more;
  }
  for (const ObjectKey& key : status.held) at(key).held = true;
  // Newest first; a key that fails may have had its last run too long ago to be there.
  for (const std::vector<KeyReport>* reports : {&status.recent, &status.failing}) {
    for (const KeyReport& report : *reports) {
      Object& object = at(report.key);
      if (object.report != nullptr) continue;
      object.report = &report;
      object.last_result = Shortened(report.last_result);
      object.last_causes = Texts(report.last_causes);
    }
  }
  return objects;
}

bool Matches(const Object& object, std::string_view controller, const DebugQuery& query) {
  if (!query.key.empty() && !Contains(object.key, query.key)) return false;
  if (query.filter.empty()) return true;
  const auto has = [&](std::string_view text) { return Contains(text, query.filter); };
  return has(controller) || has(object.key) || has(object.state()) || has(object.last_result) ||
         std::any_of(object.causes.begin(), object.causes.end(), has) ||
         std::any_of(object.last_causes.begin(), object.last_causes.end(), has);
}

Value Report(const Object& object) {
  Value value = Value::Object();
  value["key"] = Text(object.key);
  value["state"] = Text(object.state());
  value["failures"] = Value(static_cast<std::int64_t>(object.failures()));
  if (const WorkQueueEntry<ObjectKey>* entry = object.entry) {
    value["priority"] = Value(static_cast<std::int64_t>(entry->priority));
    value["requeues"] = Value(static_cast<std::int64_t>(entry->requeues));
    value["causes"] = TextList(object.causes);
    if (object.more_causes > 0) value["moreCauses"] = Number(object.more_causes);
    if (entry->state != KeyState::kWaiting) value["ageSeconds"] = Seconds(entry->age);
    if (entry->again) value["again"] = Value(true);
    if (entry->state == KeyState::kQueued || entry->again) {
      value["nextRunInSeconds"] = Value(0.0);
    } else if (entry->due_in) {
      value["nextRunInSeconds"] = Seconds(*entry->due_in);
    }
  }
  if (const KeyReport* report = object.report) {
    value["lastResult"] = Text(object.last_result);
    value["lastRun"] = Seconds(report->last_run.time_since_epoch());
    value["lastSeconds"] = Seconds(report->last_duration);
    value["lastCauses"] = TextList(object.last_causes);
    if (report->more_causes > 0) value["moreLastCauses"] = Number(report->more_causes);
  }
  return value;
}

// The objects, and how many of them have no place.
void AddObjects(const ControllerStatus& status, const DebugQuery& query, Value& out) {
  std::vector<Object> objects = Merge(status);
  std::erase_if(objects, [&](const Object& object) { return !Matches(object, status.name, query); });
  std::sort(objects.begin(), objects.end(), Before);
  const std::size_t shown = std::min(objects.size(), query.limit);
  List<Value> list;
  for (std::size_t i = 0; i < shown; ++i) list.push_back(Report(objects[i]));
  out["objects"] = Value(list);
  const std::size_t keys = status.queue.queued + status.queue.processing + status.queue.waiting;
  const std::size_t seen = status.queue.entries.size();
  const std::size_t unseen = seen < query.most() || keys < seen ? 0 : keys - seen;
  out["objectsLeftOut"] = Number(objects.size() - shown + (query.filters() ? 0 : unseen));
  if (query.filters() && unseen > 0) out["objectsNotSearched"] = Number(unseen);
}

Value Report(const ControllerStatus& status, const DebugQuery& query) {
  Value value = Value::Object();
  value["name"] = Text(status.name);
  value["workers"] = Value(static_cast<std::int64_t>(status.workers));
  value["active"] = Value(static_cast<std::int64_t>(status.active));
  value["running"] = Value(status.running);
  value["runs"] = Number(status.runs);
  value["errors"] = Number(status.errors);
  value["failing"] = Number(status.failing.size());
  value["held"] = Number(status.held.size());
  value["watches"] = TextList(status.watches);
  Value queue = Value::Object();
  queue["queued"] = Number(status.queue.queued);
  queue["processing"] = Number(status.queue.processing);
  queue["waiting"] = Number(status.queue.waiting);
  queue["oldestSeconds"] = Seconds(status.queue.oldest);
  if (status.queue.shutting_down) queue["shuttingDown"] = Value(true);
  value["queue"] = std::move(queue);
  AddObjects(status, query, value);
  return value;
}

Value Report(const InformerStatus& informer) {
  Value value = Value::Object();
  value["resource"] = Text(informer.what);
  value["namespace"] = Text(informer.ns);
  if (!informer.label_selector.empty()) value["labelSelector"] = Text(informer.label_selector);
  if (!informer.field_selector.empty()) value["fieldSelector"] = Text(informer.field_selector);
  value["synced"] = Value(informer.synced);
  value["objects"] = Number(informer.objects);
  if (const std::string text = informer.UndecodableText(); !text.empty()) value["undecodable"] = Text(Shortened(text));
  value["state"] = Text(ToString(informer.reflector.state));
  value["resourceVersion"] = Text(informer.reflector.resource_version);
  if (informer.reflector.last_message) value["silenceSeconds"] = Seconds(informer.silence);
  value["lists"] = Number(informer.reflector.lists);
  value["watches"] = Number(informer.reflector.watches);
  value["events"] = Number(informer.reflector.events);
  value["failures"] = Number(informer.reflector.failures);
  std::size_t pending = 0;
  for (const HandlerStatus& handler : informer.handlers) pending += handler.pending;
  value["pending"] = Number(pending);
  if (informer.reflector.error) value["error"] = Text(Shortened(informer.reflector.error->ToString()));
  return value;
}

}  // namespace

Result<DebugQuery> DebugQuery::Parse(std::string_view query) {
  DebugQuery out;
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    if (part.empty()) continue;
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string name = Decoded(part.substr(0, equals));
    std::string value = Decoded(part.substr(std::min(equals + 1, part.size())));
    if (name == "controller") {
      out.controller = std::move(value);
    } else if (name == "key") {
      out.key = std::move(value);
    } else if (name == "filter") {
      out.filter = std::move(value);
    } else if (name == "limit") {
      const char* const end = value.data() + value.size();
      const auto [stopped, problem] = std::from_chars(value.data(), end, out.limit);
      if (problem != std::errc() || stopped != end || out.limit > kMostObjects)
        return Error::Invalid(fmt::format("limit={}: expected a number from 0 to {}", value, kMostObjects));
    } else {
      return Error::Invalid(fmt::format("unknown parameter \"{}\": expected controller, key, filter or limit", name));
    }
  }
  return out;
}

std::string DebugReport(const std::vector<ControllerStatus>& controllers, const std::vector<InformerStatus>& informers, bool leader,
                        Clock::WallTime now, const DebugQuery& query, Value webhooks) {
  Value report = Value::Object();
  report["time"] = Seconds(now.time_since_epoch());
  report["leader"] = Value(leader);
  List<Value> all;
  for (const ControllerStatus& status : controllers) {
    if (query.controller.empty() || query.controller == status.name) all.push_back(Report(status, query));
  }
  report["controllers"] = Value(all);
  List<Value> caches;
  for (const InformerStatus& informer : informers) caches.push_back(Report(informer));
  report["caches"] = Value(caches);
  if (!webhooks.is_null()) report["webhooks"] = std::move(webhooks);
  return ToJson(report);
}

}  // namespace kube::internal
