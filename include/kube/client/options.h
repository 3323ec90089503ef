// What can be said with each verb. Aggregates: name what you want, leave out the rest.
//
//   client.List<Pod>(ctx, {.ns = "default", .label_selector = "app=web", .limit = 500});
//   client.Delete<Pod>(ctx, key, {.propagation = "Foreground"});
//
// Thread safety: plain structs. Nothing is checked here: what makes no sense is an error of the verb (kInvalid) or of the server
// (IsBadRequest, IsInvalid).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/export.h"
#include "kube/client/undecodable.h"
#include "kube/codec/json.h"
#include "kube/codec/options.h"
#include "kube/value/value.h"

namespace kube {

struct GetOptions {
  std::string resource_version{};  // "": the newest; "0": any that the server has at hand
  DecodeOptions decode{};
};

struct ListOptions {
  std::string ns{};  // empty: all namespaces
  std::string label_selector{};
  std::string field_selector{};
  std::string resource_version{};
  std::string resource_version_match{};  // "Exact" or "NotOlderThan"
  std::int64_t limit = 0;                // 0: all in one answer
  std::string continue_token{};          // from the page before
  std::optional<std::int64_t> timeout_seconds{};
  DecodeOptions decode{};
  // Gets the objects that cannot be decoded, and the list has all others. Null: such an object fails the list.
  std::vector<UndecodableObject>* undecodable = nullptr;
};

struct WatchOptions {
  std::string ns{};
  std::string label_selector{};
  std::string field_selector{};
  std::string resource_version{};  // where to go on from; empty: what is there comes first, as ADDED
  std::string resource_version_match{};
  bool bookmarks = true;
  std::optional<bool> send_initial_events{};  // true: a list as a stream, closed by a bookmark with k8s.io/initial-events-end
  std::optional<std::int64_t> timeout_seconds{};
  std::size_t max_frame_bytes = std::size_t{16} << 20;
  DecodeOptions decode{};
  // An event whose object cannot be decoded comes with its type, an empty object and the error, and the watch goes on. Off: it is an event
  // of kError, and ends the watch.
  bool skip_undecodable = false;
};

// Empty members are not sent.
struct WriteOptions {
  bool dry_run = false;
  std::string field_manager{};
  std::string field_validation{};  // "Ignore", "Warn" or "Strict"
};
using CreateOptions = WriteOptions;
using UpdateOptions = WriteOptions;
using PatchOptions = WriteOptions;

struct ApplyOptions {
  std::string field_manager{};  // required
  bool force = false;           // take fields over that others own
  bool dry_run = false;
  std::string field_validation{};
};

struct DeleteOptions {
  std::optional<std::int64_t> grace_period_seconds{};
  std::string propagation{};  // "Orphan", "Background" or "Foreground"; empty: the server's default
  // The deletion fails with a conflict where the object is another one.
  std::string uid{};
  std::string resource_version{};
  bool dry_run = false;
};

// A change to an object, by one of the three patch types. For server-side apply see Client::Apply.
struct KUBE_EXPORT Patch {
  enum class Type { kJson, kMerge, kStrategic };
  Type type = Type::kMerge;
  std::string body{};  // JSON

  // RFC 6902: a list of operations, as text or as a value.
  static Patch Json(std::string operations) { return {Type::kJson, std::move(operations)}; }
  template <std::same_as<Value> V>
  static Patch Json(const V& operations) {
    return {Type::kJson, ToJson(operations)};
  }
  // RFC 7386: lists are replaced, null removes.
  static Patch Merge(std::string patch) { return {Type::kMerge, std::move(patch)}; }
  template <std::same_as<Value> V>
  static Patch Merge(const V& patch) {
    return {Type::kMerge, ToJson(patch)};
  }
  // Lists are merged by their keys. For built-in kinds only: custom resources do not have it.
  static Patch Strategic(std::string patch) { return {Type::kStrategic, std::move(patch)}; }
  template <std::same_as<Value> V>
  static Patch Strategic(const V& patch) {
    return {Type::kStrategic, ToJson(patch)};
  }

  // "application/merge-patch+json"
  std::string_view content_type() const;
};

}  // namespace kube
