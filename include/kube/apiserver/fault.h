// Faults: how a test makes the embedded API server misbehave.
//
//   server->AddFault({.verb = "list", .resource = "pods", .kind = FaultKind::kStatus, .status = 429, .retry_after_seconds = 1});
//   server->AddFault({.verb = "watch", .kind = FaultKind::kCut, .bytes = 1000, .times = 3});
//
// A fault hits the next `times` requests (or events) that fit; faults that are added earlier go first. Over HTTP the same can be said
// with a POST of the fields below in JSON to /kubexx/faults (docs/testing.md).
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

enum class FaultKind : std::uint8_t {
  kStatus,          // answers `status` with a Status object, and Retry-After where `retry_after_seconds` is not negative
  kDelay,           // answers as usual, `delay` later
  kDrop,            // closes the connection without an answer
  kCut,             // ends the answer the hard way after `bytes` of its body
  kStall,           // holds the whole answer back, until the client gives up or the fault is removed (which a used up one can be, too)
  kGone,            // watch: an ERROR event with 410 as the first event; list: 410
  kDropEvent,       // watch: an event is lost
  kDuplicateEvent,  // watch: an event comes twice
  kReorderEvents,   // watch: an event comes after the one that follows it
};
KUBE_EXPORT std::string_view ToString(FaultKind kind);  // "status", "delay", ..., "reorderEvents"

struct Fault {
  // Which requests. Empty fits all.
  std::string verb = {};      // get, list, watch, create, update, patch, delete, deletecollection
  std::string resource = {};  // plural: "pods"
  std::string ns = {};
  std::string name = {};
  // What happens.
  FaultKind kind = FaultKind::kStatus;
  int status = 500;
  std::string reason = {};  // of the Status; empty: what belongs to the code
  std::string message = {};
  int retry_after_seconds = -1;
  std::chrono::milliseconds delay{0};
  std::size_t bytes = 0;
  int times = 1;  // -1: until it is removed

  // From the JSON of the admin endpoint: {"verb": "list", "kind": "status", "status": 429, ...}. Errors: kInvalid, naming the member.
  static KUBE_EXPORT Result<Fault> FromValue(const Value& value);
};

}  // namespace kube::apiserver
