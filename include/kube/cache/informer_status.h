// What an informer can tell of itself: for logs, readiness, metrics and debug pages.
//
//   std::cout << informer.status() << "\n";    // pods: watching, synced, 20000 objects at version 48213, 2 handlers
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/export.h"
#include "kube/base/std_chrono.h"
#include "kube/client/undecodable.h"

namespace kube {

enum class ReflectorState : std::uint8_t {
  kIdle,       // not started
  kStarting,   // about to ask
  kStreaming,  // the first list is coming as a stream
  kListing,    // a list is coming
  kWatching,   // up to date
  kWaiting,    // something failed: trying again after a while
  kStopped,
};
// "watching"
KUBE_EXPORT std::string_view ToString(ReflectorState state);

struct ReflectorStatus {
  ReflectorState state = ReflectorState::kIdle;
  std::string resource_version{};  // the last one that was seen
  std::uint64_t lists = 0;         // that were complete, streams included
  std::uint64_t watches = 0;       // that were opened, streams included
  std::uint64_t events = 0;        // of watches, bookmarks included
  std::uint64_t failures = 0;      // rounds that ended with an error
  // Of the last failed round; gone when a list or watch works again.
  std::optional<Error> error{};
  // When the server was last heard of.
  std::optional<Clock::TimePoint> last_message{};
};

struct HandlerStatus {
  std::string name{};
  std::size_t pending = 0;     // notifications that wait for it
  std::uint64_t handled = 0;   // that it returned from
  std::uint64_t failures = 0;  // that it threw at
  bool synced = false;
};

struct InformerStatus {
  std::string what{};  // "pods", "networks.samplecrd.k8s.io"
  std::string ns{}, label_selector{}, field_selector{};
  ReflectorStatus reflector{};
  bool synced = false;
  std::size_t objects = 0;
  // Objects of the server that cannot be decoded, at most a thousand. The cache has the last version of them that could be, if any.
  std::size_t undecodable = 0;
  bool more_undecodable = false;                         // there are others: more than a thousand, or without a name that can be read
  std::vector<UndecodableObject> undecodable_objects{};  // the first ten
  std::uint64_t notifications = 0;                       // changes that handlers were told
  // How long ago the server was last heard of, bookmarks included; about a minute at most in a healthy cluster.
  std::chrono::nanoseconds silence{};
  // Of the parts of objects that came, those that were shared instead of decoded; 0 to 1, by bytes where known.
  double shared_ratio = 0;
  std::vector<HandlerStatus> handlers{};

  // "2 objects cannot be decoded: default/a (spec.replicas: ...), default/b (...)"; empty where all can.
  KUBE_EXPORT std::string UndecodableText() const;
  KUBE_EXPORT std::string ToString() const;
};

template <typename Stream>
requires requires(Stream& s) { s.setstate(s.badbit); }
Stream& operator<<(Stream& stream, const InformerStatus& status) {
  stream << status.ToString();
  return stream;
}

}  // namespace kube
