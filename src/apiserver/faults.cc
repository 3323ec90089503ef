#include "apiserver/faults.h"

#include <fmt/format.h>

#include <utility>

namespace kube::apiserver {
namespace {

constexpr std::pair<FaultKind, std::string_view> kKinds[] = {
    {FaultKind::kStatus, "status"},
    {FaultKind::kDelay, "delay"},
    {FaultKind::kDrop, "drop"},
    {FaultKind::kCut, "cut"},
    {FaultKind::kStall, "stall"},
    {FaultKind::kGone, "gone"},
    {FaultKind::kDropEvent, "dropEvent"},
    {FaultKind::kDuplicateEvent, "duplicateEvent"},
    {FaultKind::kReorderEvents, "reorderEvents"},
};

bool IsEventFault(FaultKind kind) {
  return kind == FaultKind::kDropEvent || kind == FaultKind::kDuplicateEvent || kind == FaultKind::kReorderEvents;
}

Error Bad(std::string_view member, std::string_view why) { return Error::Invalid(fmt::format("fault: {}: {}", member, why)); }

}  // namespace

std::string_view ToString(FaultKind kind) {
  for (const auto& [k, name] : kKinds) {
    if (k == kind) return name;
  }
  return "";
}

Result<Fault> Fault::FromValue(const Value& value) {
  if (!value.is_object()) return Error::Invalid("fault: expected an object");
  Fault out;
  bool has_kind = false;
  for (const auto& [key, member] : value.object()) {
    bool is_text =
        key == "verb" || key == "resource" || key == "namespace" || key == "name" || key == "kind" || key == "reason" || key == "message";
    if (is_text ? !member.is_string() : !member.is_int()) return Bad(key, is_text ? "expected a string" : "expected an integer");
    std::string text = member.string_value().str();
    std::int64_t n = member.int_value();
    if (!is_text && (n < -1 || n > 1'000'000'000)) return Bad(key, "out of range");
    if (key == "verb") {
      out.verb = text;
    } else if (key == "resource") {
      out.resource = text;
    } else if (key == "namespace") {
      out.ns = text;
    } else if (key == "name") {
      out.name = text;
    } else if (key == "reason") {
      out.reason = text;
    } else if (key == "message") {
      out.message = text;
    } else if (key == "kind") {
      for (const auto& [kind, name] : kKinds) {
        if (name == text) {
          out.kind = kind;
          has_kind = true;
        }
      }
      if (!has_kind) {
        return Bad(key, "expected one of status, delay, drop, cut, stall, gone, dropEvent, duplicateEvent, reorderEvents");
      }
    } else if (key == "status") {
      if (n < 400 || n > 599) return Bad(key, "expected 400 to 599");
      out.status = static_cast<int>(n);
    } else if (key == "retryAfterSeconds") {
      out.retry_after_seconds = static_cast<int>(n);
    } else if (key == "delayMilliseconds") {
      if (n < 0) return Bad(key, "out of range");
      out.delay = std::chrono::milliseconds(n);
    } else if (key == "bytes") {
      if (n < 0) return Bad(key, "out of range");
      out.bytes = static_cast<std::size_t>(n);
    } else if (key == "times") {
      if (n == 0) return Bad(key, "expected a positive number, or -1");
      out.times = static_cast<int>(n);
    } else {
      return Bad(key, "unknown member");
    }
  }
  if (!has_kind) return Bad("kind", "is missing");
  return out;
}

int Faults::Add(Fault fault) {
  MutexLock lock(mu_);
  int id = next_id_++;
  entries_.push_back({id, std::move(fault)});
  Recount();
  return id;
}

bool Faults::Remove(int id) {
  MutexLock lock(mu_);
  bool found = std::erase_if(entries_, [id](const Entry& e) { return e.id == id; }) > 0;
  Recount();
  return found;
}

void Faults::Clear() {
  MutexLock lock(mu_);
  entries_.clear();
  Recount();
}

std::vector<std::pair<int, Fault>> Faults::All() const {
  MutexLock lock(mu_);
  std::vector<std::pair<int, Fault>> out;
  for (const Entry& e : entries_) out.emplace_back(e.id, e.fault);
  return out;
}

bool Faults::Fits(const Fault& f, std::string_view verb, std::string_view resource, std::string_view ns, std::string_view name) {
  return (f.verb.empty() || f.verb == verb) && (f.resource.empty() || f.resource == resource) && (f.ns.empty() || f.ns == ns) &&
         (f.name.empty() || f.name == name);
}

void Faults::Use(std::size_t index) {
  Fault& fault = entries_[index].fault;
  if (fault.times > 0 && --fault.times == 0) entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(index));
  Recount();
}

void Faults::Recount() {
  bool any = !held_.empty();
  for (const Entry& e : entries_) any = any || IsEventFault(e.fault.kind);
  watch_faults_.store(any, std::memory_order_relaxed);
}

std::optional<Fault> Faults::Take(std::string_view verb, std::string_view resource, std::string_view ns, std::string_view name) {
  MutexLock lock(mu_);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Fault fault = entries_[i].fault;
    if (IsEventFault(fault.kind) || fault.kind == FaultKind::kGone || !Fits(fault, verb, resource, ns, name)) continue;
    Use(i);
    return fault;
  }
  return std::nullopt;
}

bool Faults::TakeGone(std::string_view resource, std::string_view verb) {
  MutexLock lock(mu_);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Fault& fault = entries_[i].fault;
    if (fault.kind != FaultKind::kGone || !Fits(fault, verb, resource, fault.ns, fault.name)) continue;
    Use(i);
    return true;
  }
  return false;
}

std::vector<StoreEvent> Faults::FilterEvent(std::string_view resource, const void* watcher, const StoreEvent& event) {
  MutexLock lock(mu_);
  std::vector<StoreEvent> out = {event};
  if (auto held = held_.find(watcher); held != held_.end()) {
    // The one that was held back comes after this one.
    out.push_back(std::move(held->second));
    held_.erase(held);
    Recount();
    return out;
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Fault& fault = entries_[i].fault;
    if (!IsEventFault(fault.kind) || !Fits(fault, "watch", resource, event.object->ns, event.object->name)) continue;
    FaultKind kind = fault.kind;
    if (kind == FaultKind::kDropEvent) out.clear();
    if (kind == FaultKind::kDuplicateEvent) out.push_back(event);
    if (kind == FaultKind::kReorderEvents) {
      held_[watcher] = event;
      out.clear();
    }
    Use(i);
    break;
  }
  return out;
}

}  // namespace kube::apiserver
