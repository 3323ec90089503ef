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
    bool is_number = key == "status" || key == "retryAfterSeconds" || key == "delayMilliseconds" || key == "bytes" || key == "times";
    if (!is_text && !is_number) return Bad(key, "unknown member");
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
    } else {
      if (n == 0) return Bad(key, "expected a positive number, or -1");
      out.times = static_cast<int>(n);
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
  std::vector<std::function<void()>> waiting;  // called outside of the lock
  bool found = false;
  {
    MutexLock lock(mu_);
    found = std::erase_if(entries_, [id](const Entry& e) { return e.id == id; }) > 0;
    found = stalling_.erase(id) > 0 || found;
    if (id > cleared_ && id < next_id_) removed_.insert(id);
    for (auto& [of, then] : on_remove_) {
      if (of == id) waiting.push_back(std::move(then));
    }
    std::erase_if(on_remove_, [id](const auto& entry) { return entry.first == id; });
    Recount();
  }
  for (const auto& then : waiting) then();
  return found || !waiting.empty();
}

void Faults::Clear() {
  std::vector<std::pair<int, std::function<void()>>> waiting;
  {
    MutexLock lock(mu_);
    entries_.clear();
    waiting.swap(on_remove_);
    cleared_ = next_id_ - 1;
    removed_.clear();
    stalling_.clear();
    Recount();
  }
  for (const auto& [id, then] : waiting) then();
}

void Faults::OnRemove(int id, std::function<void()> then) {
  {
    MutexLock lock(mu_);
    if (const auto taken = stalling_.find(id); taken != stalling_.end()) stalling_.erase(taken);
    // A request may have found the fault just before it was removed.
    if (id > cleared_ && removed_.count(id) == 0) {
      on_remove_.emplace_back(id, std::move(then));
      return;
    }
  }
  then();
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
  bool any = false;
  for (const Entry& e : entries_) any = any || IsEventFault(e.fault.kind);
  watch_faults_.store(any, std::memory_order_relaxed);
}

std::optional<Fault> Faults::Take(std::string_view verb, std::string_view resource, std::string_view ns, std::string_view name, int* id) {
  MutexLock lock(mu_);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Fault fault = entries_[i].fault;
    if (IsEventFault(fault.kind) || fault.kind == FaultKind::kGone || !Fits(fault, verb, resource, ns, name)) continue;
    if (id != nullptr) {
      *id = entries_[i].id;
      if (fault.kind == FaultKind::kStall) stalling_.insert(*id);
    }
    Use(i);
    return fault;
  }
  return std::nullopt;
}

bool Faults::TakeGone(std::string_view verb, std::string_view resource, std::string_view ns, std::string_view name) {
  MutexLock lock(mu_);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Fault& fault = entries_[i].fault;
    if (fault.kind != FaultKind::kGone || !Fits(fault, verb, resource, ns, name)) continue;
    Use(i);
    return true;
  }
  return false;
}

std::vector<StoreEvent> Faults::FilterEvent(std::string_view resource, std::optional<StoreEvent>& held, const StoreEvent& event) {
  MutexLock lock(mu_);
  std::vector<StoreEvent> out = {event};
  if (held) {
    // The one that was held back comes after this one.
    out.push_back(*std::move(held));
    held.reset();
    return out;
  }
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Fault& fault = entries_[i].fault;
    if (!IsEventFault(fault.kind) || !Fits(fault, "watch", resource, event.object->ns, event.object->name)) continue;
    FaultKind kind = fault.kind;
    if (kind == FaultKind::kDropEvent) out.clear();
    if (kind == FaultKind::kDuplicateEvent) out.push_back(event);
    if (kind == FaultKind::kReorderEvents) {
      held = event;
      out.clear();
    }
    Use(i);
    break;
  }
  return out;
}

}  // namespace kube::apiserver
