// Reflector: keeps a sink in sync with a collection on the server by list (or streamed list) and watch, indefinitely.
//
//   Reflector reflector(source, sink, {.form = &ObjectForm::Of<Pod>(), .what = "pods"});
//   reflector.Run(ctx);                                   // until the context stops
//
// The rules are those of client-go's reflector: which resource version to send, when to relist and when to wait. docs/informers.md
// describes them; the tests Contract01 to Contract08 check them.
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

// The consumer of a reflector. All functions are called on the thread of Reflector::Run.
class DeltaSink {
 public:
  virtual ~DeltaSink() = default;
  virtual void Add(ObjectRef object) = 0;
  virtual void Update(ObjectRef object) = 0;
  virtual void Delete(ObjectRef object) = 0;  // its last state
  // All objects of the collection at `resource_version`, except undecodable ones, whose previous versions stay.
  virtual void Replace(std::vector<ObjectRef> objects, const std::string& resource_version,
                       std::vector<UndecodableObject> undecodable = {}) = 0;
  // An object that cannot be decoded was added, changed or deleted. It has a name.
  virtual void Undecodable(UndecodableObject object, bool deleted) = 0;
  // Called when a watch has ended: whether to list before the next one.
  virtual bool WantsList() { return false; }
  // Nothing has changed up to this version.
  virtual void Bookmark(const std::string& resource_version) = 0;
  // The resync timer fired. An error ends the round: list again.
  virtual Result<void> Resync() = 0;
  // No more events are available now (or enough are queued): process them. Called before every wait.
  virtual void Flush() = 0;
};

struct ReflectorOptions {
  const ObjectForm* form = nullptr;  // required
  // For logs and errors: "pods", "networks.samplecrd.k8s.io".
  std::string what{};
  // For DynamicObjects: others are logged and skipped. Without a kind, group and version count. Empty if not known.
  Gvk gvk{};
  std::string ns{}, label_selector{}, field_selector{};
  DecodeOptions decode{};  // the interner is the reflector's own unless `share` is off
  bool share = true;
  // Streams lists (WatchList). Off: list and watch.
  bool watch_list = true;
  // 0 for the default rules (500 first, then no limit).
  std::int64_t page_size = 0;
  std::chrono::nanoseconds min_watch_timeout = std::chrono::minutes(5);  // smaller values are raised to this
  Backoff backoff{.duration = std::chrono::milliseconds(800), .factor = 2, .jitter = 1, .steps = 10, .cap = std::chrono::seconds(30)};
  std::chrono::nanoseconds backoff_reset = std::chrono::minutes(2);
  // How long to answer internal errors of a watch with another watch instead of a list.
  std::chrono::nanoseconds internal_error_retry{};
  // 0 means no resyncs. Called before every wait, because it may change while the reflector runs.
  std::function<std::chrono::nanoseconds()> resync_period{};
  // Called once per object, before the sink gets it. An object for which it returns an error or throws counts as undecodable. A deletion is
  // delivered in any case, then with the object as received.
  std::function<Result<void>(void*)> transform{};
  // Called once per failed round, before the wait, in addition to the log. Must not block. Not called for the end of an open watch, nor for
  // a server that refuses connections or is too busy to watch: see status() and the log.
  std::function<void(const Error&)> on_error{};
  RandomSource random{};
  MetricsSink* metrics = nullptr;
  Logger log{"cache.reflector"};
};

// Thread safety: Run on one thread; everything else from any thread.
class Reflector {
 public:
  Reflector(std::shared_ptr<ObjectSource> source, DeltaSink& sink, ReflectorOptions options);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // Runs until the context stops. Delays and timers use the context's clock.
  void Run(const Context& ctx);

  // One list and its watches, which Run repeats. For tests. Returns nullopt if the round ended without an error.
  std::optional<Error> ListAndWatch(const Context& ctx);

  ReflectorStatus status() const;
  // The version that the next watch starts from; empty before the first list.
  std::string last_resource_version() const;
  Interner::Stats sharing() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube::internal
