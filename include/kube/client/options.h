// The options of each verb. They are aggregates: set the members you need.
//
//   client.List<Pod>(ctx, {.ns = "default", .label_selector = "app=web", .limit = 500});
//   client.Delete<Pod>(ctx, key, {.propagation = "Foreground"});
//
// Thread safety: plain structs.
// Nothing is validated here. An invalid combination is an error of the verb (kInvalid) or of the server (IsBadRequest, IsInvalid).
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

// Options of Get.
struct GetOptions {
  std::string resource_version{};  // "": the newest; "0": any version from the server's cache
  // How the response is decoded; the same member in other options.
  DecodeOptions decode{};
};

// Options of List. Also selects the objects of DeleteCollection.
struct ListOptions {
  std::string ns{};  // empty: all namespaces
  std::string label_selector{};
  std::string field_selector{};
  // As resource_version of GetOptions; resource_version_match refines it.
  std::string resource_version{};
  std::string resource_version_match{};  // "Exact" or "NotOlderThan"
  std::int64_t limit = 0;                // maximum per page; 0: everything in one response
  std::string continue_token{};          // from the previous page
  // Deadline on the server; nothing: the server's default.
  std::optional<std::int64_t> timeout_seconds{};
  DecodeOptions decode{};
  // Receives the objects that cannot be decoded; the list has all others. Null: such an object fails the list.
  std::vector<UndecodableObject>* undecodable = nullptr;
};

// Options of Watch.
struct WatchOptions {
  std::string ns{};
  std::string label_selector{};
  std::string field_selector{};
  std::string resource_version{};  // start after this version; empty: existing objects come first, as ADDED
  std::string resource_version_match{};
  // Requests BOOKMARK events, which advance the resource version.
  bool bookmarks = true;
  std::optional<bool> send_initial_events{};  // true: streams the list first, ended by a bookmark annotated k8s.io/initial-events-end
  // When the server ends the watch; nothing: the server's default.
  std::optional<std::int64_t> timeout_seconds{};
  // Maximum size of one event.
  std::size_t max_frame_bytes = std::size_t{16} << 20;
  DecodeOptions decode{};
  // If set, an event whose object cannot be decoded is delivered with its type, an empty object and the error, and the watch continues. If
  // not, it is delivered as a kError event, which ends the watch.
  bool skip_undecodable = false;
};

// Options of Create, Update and Patch. Empty members are not sent.
struct WriteOptions {
  bool dry_run = false;  // the server validates, but stores nothing
  std::string field_manager{};
  std::string field_validation{};  // "Ignore", "Warn" or "Strict"
};
using CreateOptions = WriteOptions;  // of Create
using UpdateOptions = WriteOptions;  // of Update
using PatchOptions = WriteOptions;   // of Patch

// Options of Apply (server-side apply).
struct ApplyOptions {
  std::string field_manager{};  // required
  bool force = false;           // take ownership of fields of other managers
  bool dry_run = false;
  std::string field_validation{};
};

// Options of Delete and DeleteCollection.
struct DeleteOptions {
  std::optional<std::int64_t> grace_period_seconds{};
  std::string propagation{};  // "Orphan", "Background" or "Foreground"; empty: the server's default
  // Preconditions: the deletion fails with a conflict if the object has another UID or resource version.
  std::string uid{};
  std::string resource_version{};
  bool dry_run = false;
};

// A patch of one of the three patch types. For server-side apply see Client::Apply.
struct KUBE_EXPORT Patch {
  // The format of a Patch.
  enum class Type { kJson, kMerge, kStrategic };
  Type type = Type::kMerge;
  std::string body{};  // JSON

  // JSON Patch (RFC 6902): a list of operations, as text or as a value.
  static Patch Json(std::string operations) { return {Type::kJson, std::move(operations)}; }
  template <std::same_as<Value> V>
  static Patch Json(const V& operations) {
    return {Type::kJson, ToJson(operations)};
  }
  // JSON Merge Patch (RFC 7386): lists are replaced, null removes a field.
  static Patch Merge(std::string patch) { return {Type::kMerge, std::move(patch)}; }
  template <std::same_as<Value> V>
  static Patch Merge(const V& patch) {
    return {Type::kMerge, ToJson(patch)};
  }
  // Strategic merge patch: lists are merged by their keys. Built-in kinds only; custom resources do not support it.
  static Patch Strategic(std::string patch) { return {Type::kStrategic, std::move(patch)}; }
  template <std::same_as<Value> V>
  static Patch Strategic(const V& patch) {
    return {Type::kStrategic, ToJson(patch)};
  }

  // The media type of the patch: "application/merge-patch+json".
  std::string_view content_type() const;
};

}  // namespace kube
