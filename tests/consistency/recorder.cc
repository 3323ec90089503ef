#include "recorder.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

namespace kube::consistency {
namespace {

std::string Named(const ConfigMap& object) { return KeyOf(object).ToString() + "@" + object.metadata.resource_version.str(); }

}  // namespace

std::uint64_t VersionOf(const ConfigMap& object) {
  const std::string_view text = object.metadata.resource_version.view();
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

ObjectKey KeyOf(const ConfigMap& object) { return {object.metadata.namespace_, object.metadata.name}; }

std::string Difference(const View& a, const View& b) {
  std::string text;
  for (const auto& [key, object] : a) {
    const auto other = b.find(key);
    if (other == b.end()) {
      text += "  " + Named(*object) + " is in the first only\n";
    } else if (*other->second != *object) {
      text += "  " + Named(*object) + " differs, the second has version " + other->second->metadata.resource_version.str() + "\n";
    }
  }
  for (const auto& [key, object] : b) {
    if (a.find(key) == a.end()) text += "  " + Named(*object) + " is in the second only\n";
  }
  return text;
}

EventHandler<ConfigMap> Recorder::Handler() {
  const std::shared_ptr<Recorder> self = shared_from_this();
  EventHandler<ConfigMap> handler{
      .on_add = [self](const Ptr<ConfigMap>& object, bool initial) { self->OnAdd(object, initial); },
      .on_update = [self](const Ptr<ConfigMap>& before, const Ptr<ConfigMap>& after) { self->OnUpdate(before, after); },
      .on_delete = [self](const Deleted<ConfigMap>& gone) { self->OnDelete(gone); }};
  if (options_.only_blue) handler.filter = [](const ConfigMap& object) { return object.metadata.labels.Get("color") == "blue"; };
  return handler;
}

void Recorder::Block() {
  MutexLock lock(mu_);
  blocked_ = true;
}

void Recorder::Unblock() {
  MutexLock lock(mu_);
  blocked_ = false;
  changed_.NotifyAll();
}

void Recorder::Retire() {
  MutexLock lock(mu_);
  if (running_) Mistake("a call was running after the handler was removed");
  retired_ = true;
}

View Recorder::view() const {
  MutexLock lock(mu_);
  return view_;
}

bool Recorder::WaitFor(const View& wanted, std::chrono::steady_clock::duration limit) const {
  const auto until = std::chrono::steady_clock::now() + limit;
  MutexLock lock(mu_);
  while (!Difference(view_, wanted).empty()) {
    if (!changed_.WaitUntil(mu_, until)) return Difference(view_, wanted).empty();
  }
  return true;
}

std::vector<std::string> Recorder::mistakes() const {
  MutexLock lock(mu_);
  return mistakes_;
}

std::string Recorder::History() const {
  MutexLock lock(mu_);
  std::string text;
  for (std::size_t i = history_.size() - std::min<std::size_t>(history_.size(), 60); i < history_.size(); ++i) {
    text += "    " + history_[i] + "\n";
  }
  return text;
}

void Recorder::Mistake(const std::string& what) {
  mistakes_.push_back(options_.name + ": " + what);
  history_.push_back("!!! " + what);
}

void Recorder::Begin(std::string what) {
  if (running_) Mistake("two calls at once");
  running_ = true;
  while (blocked_) changed_.Wait(mu_);
  if (retired_) Mistake("called after it was removed: " + what);
  if (!what.empty()) history_.push_back(std::move(what));
}

void Recorder::End() {
  running_ = false;
  ++calls_;
  changed_.NotifyAll();
  if (options_.throw_every == 0 || calls_ % options_.throw_every != 0) return;
  throw std::runtime_error("this handler throws now and then");
}

void Recorder::CheckVersion(const ConfigMap& object) {
  std::uint64_t& newest = versions_[KeyOf(object)];
  if (VersionOf(object) < newest) Mistake(Named(object) + " came after version " + std::to_string(newest));
  newest = std::max(newest, VersionOf(object));
}

void Recorder::OnAdd(const Ptr<ConfigMap>& object, bool initial) {
  MutexLock lock(mu_);
  Begin("add " + Named(*object) + (initial ? " (initial)" : ""));
  CheckVersion(*object);
  if (!view_.try_emplace(KeyOf(*object), object).second) Mistake("add of " + Named(*object) + ", which is there");
  End();
}

void Recorder::OnUpdate(const Ptr<ConfigMap>& before, const Ptr<ConfigMap>& after) {
  MutexLock lock(mu_);
  // Resyncs are not worth a line: there are many.
  Begin(before == after ? "" : "update " + Named(*before) + " to " + Named(*after));
  CheckVersion(*after);
  const auto known = view_.find(KeyOf(*after));
  if (KeyOf(*before) != KeyOf(*after)) Mistake("update from one object to another");
  if (known == view_.end()) {
    Mistake("update of " + Named(*after) + ", which is not there");
    view_[KeyOf(*after)] = after;
  } else {
    if (*known->second != *before) Mistake("update of " + Named(*before) + ", but the last one told was " + Named(*known->second));
    if (VersionOf(*before) == VersionOf(*after) && *before != *after) Mistake("one version, two objects: " + Named(*after));
    known->second = after;
  }
  End();
}

void Recorder::OnDelete(const Deleted<ConfigMap>& gone) {
  MutexLock lock(mu_);
  Begin("delete " + (gone.object == nullptr ? gone.key.ToString() + " (no object)" : Named(*gone.object)) +
        (gone.final_state_unknown ? " (final state unknown)" : ""));
  const auto known = view_.find(gone.key);
  if (known == view_.end()) {
    Mistake("delete of " + gone.key.ToString() + ", which is not there");
  } else {
    if (gone.object == nullptr) {
      if (!gone.final_state_unknown) Mistake("delete of " + gone.key.ToString() + " without its last state");
    } else if (KeyOf(*gone.object) != gone.key) {
      Mistake("delete of " + gone.key.ToString() + " with the state of " + Named(*gone.object));
    } else {
      CheckVersion(*gone.object);
      if (gone.final_state_unknown && *gone.object != *known->second)
        Mistake("the last state of " + Named(*gone.object) + " was never told");
    }
    view_.erase(known);
  }
  End();
}

}  // namespace kube::consistency
