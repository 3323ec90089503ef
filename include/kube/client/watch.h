// Watcher<T>: what happens to objects of a kind, as it happens.
//
//   Result<Watcher<Pod>> watcher = client.Watch<Pod>(ctx, {.ns = "default", .resource_version = list->metadata.resource_version});
//   for (;;) {
//     Result<std::optional<WatchEvent<Pod>>> event = watcher->Next(ctx);
//     if (!event) return event.error();          // the context stopped
//     if (!*event) break;                        // the server ended it, as it does every few minutes, or its connection broke: watch again
//     ...
//   }
//
// A watch alone is not a cache: it ends often, and after 410 Gone everything has to be listed anew. Informers (room cache) do that.
//
// Thread safety: one thread calls Next; Stop from any thread.
// Lifetime: destroying it ends the watch. It may outlive the last copy of the Client: the watch is over then.
// Blocking and cancellation: Next waits for the next event; the context ends it within 100 ms, and the watch can go on afterwards. The
//   context that the watch was opened with counts until the server has answered.
// Errors: those of the context alone. What the server says, and bytes that are no event, come as an event of kError; a connection that
//   breaks is the end of the watch.
// Cost: bytes are decoded on the thread that calls Next, never on the I/O thread. A watcher that nobody reads holds at most
//   stream_buffer bytes, then the server waits.
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

enum class WatchEventType : std::uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };
// "ADDED"
KUBE_EXPORT std::string_view ToString(WatchEventType type);

template <ObjectType T>
struct WatchEvent {
  WatchEventType type = WatchEventType::kAdded;
  // Of a deletion its last state; of a bookmark only kind and metadata.resourceVersion (and annotations); of an error nothing.
  T object{};
  // Of kError what the server said, as for any other call: IsGone(e) and IsResourceExpired(e) mean list again. kDecode for an event that
  // could not be read. Of other types only with WatchOptions::skip_undecodable: `object` could not be decoded, and is empty.
  std::optional<Error> error;
};

namespace internal {
// Frames to events, whatever T is. Null type: DynamicObject.
class KUBE_EXPORT WatchStream {
 public:
  virtual ~WatchStream();
  // False at the end of the watch. `object` points to an empty T.
  virtual Result<bool> Next(const Context& ctx, WatchEventType& type, void* object, std::optional<Error>& error) = 0;
  virtual void Stop() = 0;
  // What is known of the object of the last event, where that came with an error although it is none.
  virtual UndecodableObject TakeUndecodable() { return {}; }
  // The next event, or the end, is here: Next would not wait. May be false although it is.
  virtual bool Ready() const { return false; }
};
struct WatcherAccess;
}  // namespace internal

template <ObjectType T>
class Watcher {
 public:
  // Nothing at the end of the watch. After an event of kError the watch is over as well.
  Result<std::optional<WatchEvent<T>>> Next(const Context& ctx) {
    WatchEvent<T> event;
    Result<bool> more = stream_->Next(ctx, event.type, &event.object, event.error);
    if (!more) return more.error();
    if (!*more) return std::optional<WatchEvent<T>>();
    return std::optional<WatchEvent<T>>(std::move(event));
  }
  // Ends the watch: Next gives nothing from then on.
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
