// Watcher<T>: a stream of changes to objects of one kind.
//
//   Result<Watcher<Pod>> watcher = client.Watch<Pod>(ctx, {.ns = "default", .resource_version = list->metadata.resource_version});
//   for (;;) {
//     Result<std::optional<WatchEvent<Pod>>> event = watcher->Next(ctx);
//     if (!event) return event.error();          // the context stopped
//     if (!*event) break;                        // the watch ended (normal every few minutes) or its connection broke: watch again
//     ...
//   }
//
// A watch alone is not a cache: it ends often, and after 410 Gone the caller must list again. Informers (room cache) handle this.
//
// Thread safety: one thread calls Next; Stop may be called from any thread.
// Lifetime: destroying it ends the watch. It may outlive the last copy of the Client; the watch has then ended.
// Blocking and cancellation: Next waits for the next event. It returns within 100 ms after its context stops, and the watch can continue.
//   The context that the watch was opened with applies only until the server has answered.
// Errors: only those of the context. Errors of the server and malformed events are delivered as kError events; a broken connection ends the
//   watch.
// Cost: events are decoded on the thread that calls Next, never on the I/O thread. A watcher that is not read buffers at most stream_buffer
//   bytes; then the server is paused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_memory.h"
#include "kube/client/undecodable.h"
#include "kube/meta/dynamic_object.h"

namespace kube {

// The type of a watch event.
enum class WatchEventType : std::uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };
// The name on the wire: "ADDED".
KUBE_EXPORT std::string_view ToString(WatchEventType type);

// One event of a watch.
template <ObjectType T>
struct WatchEvent {
  WatchEventType type = WatchEventType::kAdded;
  // For kDeleted the last state; for kBookmark only kind and metadata.resourceVersion (and annotations); for kError empty.
  T object{};
  // For kError the server's error, as from any other call: after IsGone(e) or IsResourceExpired(e) list again. kDecode if the event could
  // not be read. For other types set only with WatchOptions::skip_undecodable: `object` could not be decoded and is empty.
  std::optional<Error> error;
};

namespace internal {
// Turns frames into events, independently of T. A null type means DynamicObject.
class KUBE_EXPORT WatchStream {
 public:
  virtual ~WatchStream();
  // Returns false at the end of the watch. `object` points to an empty T.
  virtual Result<bool> Next(const Context& ctx, WatchEventType& type, void* object, std::optional<Error>& error) = 0;
  virtual void Stop() = 0;
  // The readable parts of the last event's object, if that event is not kError but came with an error.
  virtual UndecodableObject TakeUndecodable() { return {}; }
  // True if Next would not block, because an event or the end of the watch is available. May be false even then.
  virtual bool Ready() const { return false; }
};
struct WatcherAccess;
}  // namespace internal

// An open watch. Usage and guarantees are at the top of this file.
template <ObjectType T>
class Watcher {
 public:
  // The next event; nothing at the end of the watch. A kError event is always the last one.
  Result<std::optional<WatchEvent<T>>> Next(const Context& ctx) {
    WatchEvent<T> event;
    Result<bool> more = stream_->Next(ctx, event.type, &event.object, event.error);
    if (!more) return more.error();
    if (!*more) return std::optional<WatchEvent<T>>();
    return std::optional<WatchEvent<T>>(std::move(event));
  }
  // Ends the watch: Next then returns nothing.
  void Stop() { stream_->Stop(); }

 private:
  friend struct internal::WatcherAccess;
  explicit Watcher(std::unique_ptr<internal::WatchStream> stream) : stream_(std::move(stream)) {}
  std::unique_ptr<internal::WatchStream> stream_;
};

namespace internal {
struct WatcherAccess {
  template <ObjectType T>
  static Watcher<T> Make(std::unique_ptr<WatchStream> stream) {
    return Watcher<T>(std::move(stream));
  }
};
}  // namespace internal

}  // namespace kube
