// Reflector: keeps a sink equal to a collection of a server, by list (or a list as a stream) and watch, for ever.
//
//   Reflector reflector(source, sink, {.form = &ObjectForm::Of<Pod>(), .what = "pods"});
//   reflector.Run(ctx);                                   // until the context stops
//
// The rules are those of client-go's reflector: which resource version is sent when, when to list again, when to wait. They stand in
// docs/informers.md; the tests Contract01 to Contract08 hold them.
//
//            +------------------------------ list again <-----------------------------+
//            v                                                                         |
//   kStarting -> kStreaming ---- initial-events-end ----> kWatching -- normal end --> kWatching
//                   |  ^                                   ^   |
//     not supported |  | 429, refused: kWaiting            |   | 429, refused: kWaiting, then watch again
//                   v                                      |   v
//                kListing --------------------------------+  410 or another error: kWaiting, then kStreaming or kListing
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/source.h"
#include "kube/base/backoff.h"
#include "kube/base/context.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/cache/informer_status.h"
#include "kube/cache/object.h"
#include "kube/codec/interner.h"
#include "kube/meta/gvk.h"

namespace kube::internal {

// What a reflector drives. All functions are called on the thread of Reflector::Run.
class DeltaSink {
 public:
  virtual ~DeltaSink() = default;
  virtual void Add(ObjectRef object) = 0;
  virtual void Update(ObjectRef object) = 0;
  virtual void Delete(ObjectRef object) = 0;  // its last state
  // All objects of the collection at `resource_version`, but for those that cannot be decoded: what is there of them stays.
  virtual void Replace(std::vector<ObjectRef> objects, const std::string& resource_version,
                       std::vector<UndecodableObject> undecodable = {}) = 0;
  // An object that cannot be decoded was added or changed, or is gone. It has a name.
  virtual void Undecodable(UndecodableObject object, bool deleted) = 0;
  // A watch has ended: whether a list should come before the next one.
  virtual bool WantsList() { return false; }
  // Nothing has changed up to here.
  virtual void Bookmark(const std::string& resource_version) = 0;
  // The resync timer has come. An error ends the round: list again.
  virtual Result<void> Resync() = 0;
  // Nothing more is here at the moment (or enough is): time to work on it. Called before every wait.
  virtual void Flush() = 0;
};

struct ReflectorOptions {
  const ObjectForm* form = nullptr;  // required
  // For logs and errors: "pods", "networks.samplecrd.k8s.io".
  std::string what{};
  // Of DynamicObjects: others are logged and skipped. Without a kind, group and version count. Empty: not known.
  Gvk gvk{};
  std::string ns{}, label_selector{}, field_selector{};
  DecodeOptions decode{};  // the interner is the reflector's own unless `share` is off
  bool share = true;
  // Lists as streams. Off: list and watch.
  bool watch_list = true;
  // 0: as the rules have it (500 first, then none).
  std::int64_t page_size = 0;
  std::chrono::nanoseconds min_watch_timeout = std::chrono::minutes(5);  // less counts as this
  Backoff backoff{.duration = std::chrono::milliseconds(800), .factor = 2, .jitter = 1, .steps = 10, .cap = std::chrono::seconds(30)};
  std::chrono::nanoseconds backoff_reset = std::chrono::minutes(2);
  // How long internal errors of a watch are answered with another watch instead of a list.
  std::chrono::nanoseconds internal_error_retry{};
  // 0: no resyncs. Asked before every wait, for it may change while the reflector runs.
  std::function<std::chrono::nanoseconds()> resync_period{};
  // Run once for each object, before anybody sees it. One that it refuses (by an error or exception) counts as undecodable. A deletion is
  // a deletion all the same, and goes on with the object as it came.
  std::function<Result<void>(void*)> transform{};
  // Called once for each failed round, before the wait; quick. Besides the log. Not for what ends a watch that was open, nor for a
  // server that refuses connections or is too busy to watch: status() and the log have that.
  std::function<void(const Error&)> on_error{};
  RandomSource random{};
  MetricsSink* metrics = nullptr;
  Logger log{"cache.reflector"};
};

// Thread safety: Run on one thread; status and the rest from any.
class Reflector {
 public:
  Reflector(std::shared_ptr<ObjectSource> source, DeltaSink& sink, ReflectorOptions options);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // Until the context stops. Delays and timers are those of the context's clock.
  void Run(const Context& ctx);

  // One list and the watches behind it; what Run repeats. For tests. Nothing where the round ended without an error.
  std::optional<Error> ListAndWatch(const Context& ctx);

  ReflectorStatus status() const;
  // Where the next watch goes on from; empty before the first list.
  std::string last_resource_version() const;
  Interner::Stats sharing() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube::internal
