#include "kube/cache/informer_status.h"

#include <fmt/format.h>

namespace kube {

std::string_view ToString(ReflectorState state) {
  switch (state) {
    case ReflectorState::kIdle:
      return "idle";
    case ReflectorState::kStarting:
      return "starting";
    case ReflectorState::kStreaming:
      return "streaming";
    case ReflectorState::kListing:
      return "listing";
    case ReflectorState::kWatching:
      return "watching";
    case ReflectorState::kWaiting:
      return "waiting";
    case ReflectorState::kStopped:
      return "stopped";
  }
  return "unknown";
}

namespace {
void AppendCount(std::string& out, std::size_t count, std::string_view what) {
  out += fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}
}  // namespace

std::string InformerStatus::UndecodableText() const {
  if (undecodable == 0 && !more_undecodable) return {};
  std::string out;
  AppendCount(out, undecodable, more_undecodable ? "or more object" : "object");
  out += " cannot be decoded";
  for (std::size_t i = 0; i < undecodable_objects.size(); ++i) {
    out += fmt::format("{} {} ({})", i == 0 ? ":" : ",", undecodable_objects[i].key.ToString(), undecodable_objects[i].error);
  }
  if (undecodable > undecodable_objects.size()) out += ", ...";
  return out;
}

std::string InformerStatus::ToString() const {
  std::string out = what.empty() ? "objects" : what;
  if (!ns.empty()) out += " in " + ns;
  if (!label_selector.empty()) out += " with labels " + label_selector;
  if (!field_selector.empty()) out += " with fields " + field_selector;
  out += fmt::format(": {}, {}, ", kube::ToString(reflector.state), synced ? "synced" : "not synced");
  AppendCount(out, objects, "object");
  if (!reflector.resource_version.empty()) out += " at version " + reflector.resource_version;
  out += ", ";
  AppendCount(out, handlers.size(), "handler");
  std::size_t pending = 0;
  for (const HandlerStatus& handler : handlers) pending += handler.pending;
  if (pending > 0) {
    out += ", ";
    AppendCount(out, pending, "notification");
    out += " pending";
  }
  if (undecodable > 0 || more_undecodable) out += ", " + UndecodableText();
  if (reflector.error) {
    out += fmt::format(", {} failed round{}: {}", reflector.failures, reflector.failures == 1 ? "" : "s", reflector.error->ToString());
  }
  return out;
}

}  // namespace kube
