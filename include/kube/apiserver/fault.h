// Faults: make the embedded API server misbehave in tests.
//
//   server->AddFault({.verb = "list", .resource = "pods", .kind = FaultKind::kStatus, .status = 429, .retry_after_seconds = 1});
//   server->AddFault({.verb = "watch", .kind = FaultKind::kCut, .bytes = 1000, .times = 3});
//
// A fault applies to the next `times` matching requests (or events); earlier faults take precedence. Over HTTP, POST the fields below as
// JSON to /kubexx/faults (docs/testing.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/value/value.h"

namespace kube::apiserver {

// What a fault does.
enum class FaultKind : std::uint8_t {
  // Answers with `status` and a Status object, and with Retry-After unless `retry_after_seconds` is negative.
  kStatus,
  kDelay,  // answers as usual, `delay` later
  kDrop,   // closes the connection without an answer
  kCut,    // aborts the answer after `bytes` of its body
  // Holds the whole answer back until the client disconnects or the fault is removed, even if it is used up.
  kStall,
  kGone,            // watch: an ERROR event with 410 as the first event; list: 410
  kDropEvent,       // watch: drops an event
  kDuplicateEvent,  // watch: sends an event twice
  kReorderEvents,   // watch: sends an event after the next one
};
KUBE_EXPORT std::string_view ToString(FaultKind kind);  // "status", "delay", ..., "reorderEvents"

// A fault, and the requests that it applies to.
struct Fault {
  // The requests to match. Empty matches all.
  std::string verb = {};      // get, list, watch, create, update, patch, delete, deletecollection
  std::string resource = {};  // plural: "pods"
  std::string ns = {};
  std::string name = {};
  // The effect.
  FaultKind kind = FaultKind::kStatus;
  int status = 500;
  std::string reason = {};  // of the Status; empty for the default of the code
  std::string message = {};
  int retry_after_seconds = -1;
  std::chrono::milliseconds delay{0};
  std::size_t bytes = 0;
  int times = 1;  // -1: until removed

  // Parses the JSON of the admin endpoint: {"verb": "list", "kind": "status", "status": 429, ...}. Errors: kInvalid, naming the member.
  static KUBE_EXPORT Result<Fault> FromValue(const Value& value);
};

}  // namespace kube::apiserver
