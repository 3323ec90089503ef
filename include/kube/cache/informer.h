// SharedInformer<T>: a cache of all objects of a kind, kept in sync by list and watch, with handlers that are notified of every change.
//
//   InformerFactory informers(client);
//   SharedInformer<Pod> pods = informers.For<Pod>();
//   Result<HandlerRegistration> registration = pods.AddEventHandler({
//       .on_add = [](const Ptr<Pod>& pod, bool initial) { ... },
//       .on_update = [](const Ptr<Pod>& before, const Ptr<Pod>& after) { ... },
//       .on_delete = [](const Deleted<Pod>& gone) { ... }});
//   informers.Start(ctx);
//   if (Result<void> synced = informers.WaitForSync(ctx); !synced) ...
//   Lister<Pod> lister = pods.lister();
//
// All handlers, listers and copies of an informer share one watch and one cache. docs/informers.md defines the guarantees. In short:
//   - The cache changes before handlers are notified. Each handler is called on its own thread, one call at a time, in the order of the
//     changes. A slow handler delays only itself, and its pending notifications use memory. A non-blocking handler (HandlerOptions::quick)
//     may be called on the informer's thread.
//   - A handler added late gets every cached object as an add with initial = true. Nothing is lost or delivered twice.
//   - Objects are identified by key, so a deletion and a creation that were both missed appear as one update.
//   - An exception from a handler is logged and counted, and ends that notification only.
//   - If the kind or the permission is missing, the informer logs it once, keeps retrying, and recovers by itself.
//
// Thread safety: all functions may be called from many threads at once.
// Lifetime: a handle. Copies, registrations and listers share one informer, which stops when the last of them is destroyed.
// Errors: failures between the informer and the API server appear in status() and the log; callers need not handle them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/cache/indexer.h"
#include "kube/cache/informer_status.h"
#include "kube/cache/lister.h"
#include "kube/cache/object.h"
#include "kube/client/client.h"
#include "kube/codec/field_selection.h"
#include "kube/meta/gvk.h"

namespace kube {

class InformerFactory;
class MetricsSink;

// Callbacks for the changes of a kind. Null members are not called.
template <ObjectType T>
struct EventHandler {
  // `initial`: from the initial list of the informer, or cached before the handler was added.
  std::function<void(const Ptr<T>& object, bool initial)> on_add{};
  // A call with equal resource versions is a resync: nothing changed, and the handler gets a periodic chance to reconcile.
  std::function<void(const Ptr<T>& before, const Ptr<T>& after)> on_update{};
  // See Deleted for deletions that the watch missed.
  std::function<void(const Deleted<T>& gone)> on_delete{};
  // The handler sees only objects that it accepts: an update into the filter is an add (with initial = false), one out of it a deletion.
  std::function<bool(const T& object)> filter{};
};

// Options of AddEventHandler.
struct HandlerOptions {
  std::string name{};  // for status, logs and the thread's name; empty for a number
  // How often all objects are delivered again as updates. 0 means never, unset the informer's own period. See InformerOptions::resync.
  std::optional<std::chrono::nanoseconds> resync{};
  // The handler is non-blocking: it only records the change, for example by adding a key to a queue. A single change is then delivered on
  // the informer's thread, which saves a thread switch. A handler that does block would stall the informer.
  bool quick = false;
};

// What an informer lists, watches and caches.
struct InformerOptions {
  std::string ns{};  // empty for all namespaces
  std::string label_selector{};
  std::string field_selector{};
  // Default resync period of handlers. A resync reads from the cache, never from the server.
  std::chrono::nanoseconds resync{};
  // Skips managedFields while decoding. They are often half of an object, and few controllers read them.
  bool strip_managed_fields = false;
  // Which fields are decoded and cached; all by default. kube/codec/field_selection.h has the rules.
  FieldSelection fields{};
  // Stores equal parts of objects once (kube/codec/interner.h).
  bool share = true;
  // Streams the initial list (WatchList) if the server supports it.
  bool watch_list = true;
};

namespace internal {

// A type-erased EventHandler.
struct Handler {
  std::function<void(const ObjectRef& object, bool initial)> on_add{};
  std::function<void(const ObjectRef& before, const ObjectRef& after)> on_update{};
  std::function<void(const ObjectKey& key, const ObjectRef& object, bool final_state_unknown)> on_delete{};
  std::function<bool(const void* object)> filter{};
};

class HandlerThread;
class InformerCore;
struct InformerAccess;

// Held by the users of an informer. The informer stops when the last one is destroyed.
class KUBE_EXPORT InformerHandle {
 public:
  explicit InformerHandle(std::shared_ptr<InformerCore> core) : core_(std::move(core)) {}
  InformerHandle(const InformerHandle&) = delete;
  InformerHandle& operator=(const InformerHandle&) = delete;
  ~InformerHandle();
  InformerCore& core() const { return *core_; }
  const std::shared_ptr<InformerCore>& shared_core() const { return core_; }

 private:
  std::shared_ptr<InformerCore> core_;
};

}  // namespace internal

// A handler that is registered with an informer.
//
// Thread safety: one thread at a time; status functions from many threads.
// Lifetime: the destructor removes the handler and waits for a running call, so whatever the handler uses may be destroyed afterwards. It
//   does not wait if the handler itself runs it. A registration keeps the informer alive.
class KUBE_EXPORT HandlerRegistration {
 public:
  HandlerRegistration() = default;  // registers nothing
  HandlerRegistration(HandlerRegistration&& other) noexcept = default;
  HandlerRegistration& operator=(HandlerRegistration&& other) noexcept;
  ~HandlerRegistration();

  // Whether the cache has synced and the handler has processed all of the initial list.
  bool HasSynced() const;
  // Waits for that.
  Result<void> WaitForSync(const Context& ctx) const;
  // The same, but returns false instead of waiting if the server lacks the kind or forbids reading it. The handler gets the objects once
  // that changes.
  Result<bool> WaitForSyncOrRefusal(const Context& ctx) const;
  // Whether the server's last answer was that the kind does not exist or is forbidden. Always false once the cache has synced.
  bool refused() const;
  // Starts no further calls and drops pending notifications. Does not wait for a running call.
  void Remove();
  HandlerStatus status() const;

 private:
  friend class InformerBase;
  HandlerRegistration(std::shared_ptr<internal::InformerHandle> informer, std::shared_ptr<internal::HandlerThread> thread)
      : informer_(std::move(informer)), thread_(std::move(thread)) {}
  std::shared_ptr<internal::InformerHandle> informer_;
  std::shared_ptr<internal::HandlerThread> thread_;
};

// The untyped part of SharedInformer<T>.
class KUBE_EXPORT InformerBase {
 public:
  // Whether the cache has synced. For handlers see HandlerRegistration.
  bool HasSynced() const;
  // Waits for that. Errors: the context's; kClosed if the informer has stopped. The message says if it could not reach the server.
  Result<void> WaitForSync(const Context& ctx) const;
  // Waits until the cache has seen this version of the object, a newer one, or any later event: a write of this program is visible
  // afterwards. Give the context a deadline: if the informer's selector excludes the object, only a later event shows that the version has
  // passed. Errors: the context's, kClosed.
  Result<void> WaitUntilSeen(const Context& ctx, const ObjectKey& key, std::string_view resource_version) const;
  InformerStatus status() const;
  // Walks all objects.
  CacheStats Stats() const;
  const Gvr& gvr() const;

  // Starts an informer that belongs to no factory. Later calls do nothing. It stops with the context.
  void Start(const Context& ctx) const;
  // Ends the watch and all handlers, and waits for them. The informer cannot be started again.
  void Stop() const;

  // Sets a callback for failed list and watch calls. Call it before Start. Errors: kInvalid after Start, and on a temporary that is the
  // only handle.
  Result<void> OnError(std::function<void(const Error&)> callback) const&;
  Result<void> OnError(std::function<void(const Error&)> callback) &&;

 protected:
  Result<void> SetTransform(std::function<Result<void>(void*)> transform) const;  // see SharedInformer::Transform
  // Errors: kInvalid if this is the only handle, so that `what` would be lost with it.
  Result<void> CheckHeld(std::string_view what) const;

 private:
  template <ObjectType T>
  friend class SharedInformer;
  friend struct internal::InformerAccess;
  explicit InformerBase(std::shared_ptr<internal::InformerHandle> handle) : handle_(std::move(handle)) {}
  const std::shared_ptr<internal::Store>& store() const;
  // The untyped AddEventHandler.
  Result<HandlerRegistration> Add(internal::Handler handler, HandlerOptions options) const;

  std::shared_ptr<internal::InformerHandle> handle_;
};

namespace internal {

struct InformerSetup {
  std::shared_ptr<const ClientCore> client{};
  ResourceTarget target{};
  const ObjectForm* form = nullptr;
  InformerOptions options{};
  std::shared_ptr<MetricsSink> metrics{};
};
KUBE_EXPORT std::shared_ptr<InformerHandle> MakeInformer(InformerSetup setup);

}  // namespace internal

// A handle to an informer; see the beginning of this file.
template <ObjectType T>
class SharedInformer : public InformerBase {
 public:
  // May be called at any time. Errors: kClosed if the informer has stopped.
  Result<HandlerRegistration> AddEventHandler(EventHandler<T> handler, HandlerOptions options = {}) const {
    internal::Handler erased;
    if (handler.on_add) {
      erased.on_add = [f = std::move(handler.on_add)](const internal::ObjectRef& object, bool initial) { f(Cast(object), initial); };
    }
    if (handler.on_update) {
      erased.on_update = [f = std::move(handler.on_update)](const internal::ObjectRef& before, const internal::ObjectRef& after) {
        f(Cast(before), Cast(after));
      };
    }
    if (handler.on_delete) {
      erased.on_delete = [f = std::move(handler.on_delete)](const ObjectKey& key, const internal::ObjectRef& object, bool unknown) {
        f(Deleted<T>{.key = key, .object = Cast(object), .final_state_unknown = unknown});
      };
    }
    if (handler.filter) {
      erased.filter = [f = std::move(handler.filter)](const void* object) { return f(*static_cast<const T*>(object)); };
    }
    return Add(std::move(erased), std::move(options));
  }

  // Reads from the cache.
  Lister<T> lister() const { return Lister<T>(indexer(), gvr().group_resource(), handle_); }
  Indexer<T> indexer() const { return internal::IndexerAccess::Make<T>(store()); }
  // Like Indexer::AddIndex, at any time. Errors also: kInvalid on a temporary that is the only handle. `informers.For<T>().AddIndex(...)`
  // works on a manager's informers, which live as long as the manager; elsewhere store the informer in a variable first.
  Result<void> AddIndex(std::string name, std::function<std::vector<String>(const T&)> function) const& {
    return indexer().AddIndex(std::move(name), std::move(function));
  }
  Result<void> AddIndex(std::string name, std::function<std::vector<String>(const T&)> function) && {
    if (Result<void> held = CheckHeld("index " + name); !held) return held;
    return indexer().AddIndex(std::move(name), std::move(function));
  }
  // Changes every object before it is cached, to drop what the program does not read. Call it before Start. Errors: kInvalid after Start,
  // and on a temporary that is the only handle.
  Result<void> Transform(std::function<Result<void>(T&)> transform) const& {
    return SetTransform([f = std::move(transform)](void* raw) {
      T& object = *static_cast<T*>(raw);
      internal::Unlent unlent(object);  // copies of what the cache holds stay cheap
      return f(object);
    });
  }
  Result<void> Transform(std::function<Result<void>(T&)> transform) && {
    if (Result<void> held = CheckHeld("transform"); !held) return held;
    const SharedInformer& informer = *this;
    return informer.Transform(std::move(transform));
  }

 private:
  friend class InformerFactory;
  friend struct internal::InformerAccess;
  explicit SharedInformer(std::shared_ptr<internal::InformerHandle> handle) : InformerBase(std::move(handle)) {}
  static Ptr<T> Cast(const internal::ObjectRef& object) { return std::static_pointer_cast<const T>(object); }
};

namespace internal {

// For kube/control: the handle, and an untyped AddEventHandler.
struct InformerAccess {
  template <ObjectType T>
  static SharedInformer<T> Make(std::shared_ptr<InformerHandle> handle) {
    return SharedInformer<T>(std::move(handle));
  }
  static std::shared_ptr<InformerHandle> HandleOf(const InformerBase& informer) { return informer.handle_; }
  static Result<HandlerRegistration> Add(const InformerBase& informer, Handler handler, HandlerOptions options) {
    return informer.Add(std::move(handler), std::move(options));
  }
};

}  // namespace internal

}  // namespace kube
