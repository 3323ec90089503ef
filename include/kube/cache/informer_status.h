// InformerStatus: the state of an informer, for logs, readiness, metrics and debug pages.
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

// What an informer's reflector is doing: the loop that lists and watches.
enum class ReflectorState : std::uint8_t {
  kIdle,       // not started
  kStarting,   // about to send a request
  kStreaming,  // receives the initial list as a stream
  kListing,    // lists
  kWatching,   // watches, up to date
  kWaiting,    // backs off after a failure
  kStopped,
};
// "watching"
KUBE_EXPORT std::string_view ToString(ReflectorState state);

// The state and the counters of a reflector.
struct ReflectorStatus {
  ReflectorState state = ReflectorState::kIdle;
  std::string resource_version{};  // the last one seen
  std::uint64_t lists = 0;         // completed lists, including streamed ones
  std::uint64_t watches = 0;       // opened watches, including streamed lists
  std::uint64_t events = 0;        // watch events, including bookmarks
  std::uint64_t failures = 0;      // rounds that ended with an error
  // The error of the last failed round, until a list or watch succeeds again.
  std::optional<Error> error{};
  // When the last message from the server arrived.
  std::optional<Clock::TimePoint> last_message{};
};

// The state of one handler.
struct HandlerStatus {
  std::string name{};
  std::size_t pending = 0;     // queued notifications
  std::uint64_t handled = 0;   // calls that returned
  std::uint64_t failures = 0;  // calls that threw
  bool synced = false;         // has processed the initial list
};

// The state of an informer and its handlers.
struct InformerStatus {
  std::string what{};  // "pods", "networks.samplecrd.k8s.io"
  std::string ns{}, label_selector{}, field_selector{};
  ReflectorStatus reflector{};
  bool synced = false;  // the cache has synced
  std::size_t objects = 0;
  // Objects on the server that cannot be decoded, at most a thousand. The cache keeps their last version that could be, if any.
  std::size_t undecodable = 0;
  // There are more: over a thousand, or some without a readable name.
  bool more_undecodable = false;
  std::vector<UndecodableObject> undecodable_objects{};  // the first ten
  std::uint64_t notifications = 0;                       // changes that handlers were notified of
  // Time since the last message from the server, including bookmarks; about a minute at most in a healthy cluster.
  std::chrono::nanoseconds silence{};
  // Fraction of the received parts of objects that were shared instead of decoded, from 0 to 1; by bytes if known.
  double shared_ratio = 0;
  std::vector<HandlerStatus> handlers{};

  // "2 objects cannot be decoded: default/a (spec.replicas: ...), default/b (...)"; empty if there are none.
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
