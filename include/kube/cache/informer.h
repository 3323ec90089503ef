// SharedInformer<T>: a cache of all objects of a kind that is kept equal to the server, and handlers that are told of every change.
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
// However many handlers, listers and copies of the informer there are: one watch, one cache. docs/informers.md says what exactly is
// promised. In short:
//   - The cache changes first, then handlers are told. Each handler is told in the order of the changes, on a thread of its own, one
//     call at a time; a slow one delays only itself (and memory grows by what waits for it). One that says that it is quick may be told
//     on the informer's thread.
//   - A handler that comes late is told of everything that is there as an add with initial = true; nothing is lost or told twice.
//   - Objects are compared by key, so a deletion and a creation that were both missed look like one update.
//   - A handler that throws is logged and counted; that notification is over and the next one comes.
//   - Where the kind or the permission is missing it says so once, keeps trying, and recovers by itself.
//
// Thread safety: all functions may be called from many threads at once.
// Lifetime: a handle; copies, registrations and listers share one informer, which stops when the last of them has gone.
// Errors: what goes wrong between it and the server is in status() and the log; nothing has to be handled.
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

// What is told. Members that are left empty are not called.
template <ObjectType T>
struct EventHandler {
  // `initial`: it was there when the handler or the informer started.
  std::function<void(const Ptr<T>& object, bool initial)> on_add{};
  // Where both have the same resource version it is a resync: nothing changed, the handler asked to look again now and then.
  std::function<void(const Ptr<T>& before, const Ptr<T>& after)> on_update{};
  std::function<void(const Deleted<T>& gone)> on_delete{};
  // Only objects that it accepts exist for this handler: an update into it is an add (with initial = false), out of it a deletion.
  std::function<bool(const T& object)> filter{};
};

struct HandlerOptions {
  std::string name{};  // for status, logs and the thread's name; empty: a number
  // How often all objects are told again as updates; 0: never; nothing: the informer's own. See InformerOptions::resync.
  std::optional<std::chrono::nanoseconds> resync{};
  // The handler never waits for anything: it only notes the change, as by adding a key to a queue. A single change is then told on the
  // informer's own thread, which saves waking another one; a handler that does wait would hold up the informer.
  bool quick = false;
};

struct InformerOptions {
  std::string ns{};  // empty: all namespaces
  std::string label_selector{};
  std::string field_selector{};
  // How often handlers that do not say otherwise are told everything again. Never from the server, always from the cache.
  std::chrono::nanoseconds resync{};
  // managedFields are often half of an object, and no controller reads them. They are skipped while decoding.
  bool strip_managed_fields = false;
  // Which fields are decoded and held; the default is all. kube/codec/field_selection.h has the rules.
  FieldSelection fields{};
  // Equal parts of objects are held once (kube/codec/interner.h).
  bool share = true;
  // Lists come as streams where the server can.
  bool watch_list = true;
};

namespace internal {

// A notification, whatever T is.
struct Handler {
  std::function<void(const ObjectRef& object, bool initial)> on_add{};
  std::function<void(const ObjectRef& before, const ObjectRef& after)> on_update{};
  std::function<void(const ObjectKey& key, const ObjectRef& object, bool final_state_unknown)> on_delete{};
  std::function<bool(const void* object)> filter{};
};

class HandlerThread;
class InformerCore;
struct InformerAccess;

// What users of an informer hold. The last one that goes stops it.
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

// A handler's place at an informer.
//
// Thread safety: one thread at a time; status functions from many.
// Lifetime: the destructor removes the handler and waits for a call that is running, so whatever the handler uses may go afterwards. In
//   the handler itself it does not wait. Holds the informer.
class KUBE_EXPORT HandlerRegistration {
 public:
  HandlerRegistration() = default;  // of nothing
  HandlerRegistration(HandlerRegistration&& other) noexcept = default;
  HandlerRegistration& operator=(HandlerRegistration&& other) noexcept;
  ~HandlerRegistration();

  // The cache was complete and this handler has been told all of it.
  bool HasSynced() const;
  Result<void> WaitForSync(const Context& ctx) const;
  // The same, but does not wait for a kind that the server does not have or does not allow: false then. (When that changes, the handler
  // is told what is there.)
  Result<bool> WaitForSyncOrRefusal(const Context& ctx) const;
  // The server's last word was that it does not have the kind or does not allow it; never after the cache was complete once.
  bool refused() const;
  // No calls begin any more; what waits is dropped. Does not wait for a call that is running.
  void Remove();
  HandlerStatus status() const;

 private:
  friend class InformerBase;
  HandlerRegistration(std::shared_ptr<internal::InformerHandle> informer, std::shared_ptr<internal::HandlerThread> thread)
      : informer_(std::move(informer)), thread_(std::move(thread)) {}
  std::shared_ptr<internal::InformerHandle> informer_;
  std::shared_ptr<internal::HandlerThread> thread_;
};

// The functions of SharedInformer<T> that do not need T.
class KUBE_EXPORT InformerBase {
 public:
  // The cache was complete once. Says nothing about handlers; see HandlerRegistration.
  bool HasSynced() const;
  // Errors: the context's; kClosed where the informer has stopped; where it could not reach the server, that is said in the message.
  Result<void> WaitForSync(const Context& ctx) const;
  // Waits until the cache has seen this version of the object, or a newer one, or anything that came after it: what a write of this
  // program returned is visible afterwards. Give the context a deadline: an object that the informer's selector does not want is only
  // known to have passed when something later comes. Errors: the context's, kClosed.
  Result<void> WaitUntilSeen(const Context& ctx, const ObjectKey& key, std::string_view resource_version) const;
  InformerStatus status() const;
  // Walks all objects.
  CacheStats Stats() const;
  const Gvr& gvr() const;

  // For an informer that no factory has: starts it. Once; a second call does nothing. It stops with the context.
  void Start(const Context& ctx) const;
  // Ends the watch and all handlers, and waits for them. Nothing can start it again.
  void Stop() const;

  // Before Start. Errors: kInvalid after it, and on a temporary that nothing else holds.
  Result<void> OnError(std::function<void(const Error&)> callback) const&;
  Result<void> OnError(std::function<void(const Error&)> callback) &&;

 protected:
  Result<void> SetTransform(std::function<Result<void>(void*)> transform) const;
  // Errors: kInvalid if this handle is the only one, so that `what` would be lost with it.
  Result<void> CheckHeld(std::string_view what) const;

 private:
  template <ObjectType T>
  friend class SharedInformer;
  friend struct internal::InformerAccess;
  explicit InformerBase(std::shared_ptr<internal::InformerHandle> handle) : handle_(std::move(handle)) {}
  const std::shared_ptr<internal::Store>& store() const;
  // AddEventHandler without T.
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

template <ObjectType T>
class SharedInformer : public InformerBase {
 public:
  // At any time. Errors: kClosed where the informer has stopped.
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

  Lister<T> lister() const { return Lister<T>(indexer(), gvr().group_resource(), handle_); }
  Indexer<T> indexer() const { return internal::IndexerAccess::Make<T>(store()); }
  // At any time, as Indexer::AddIndex. Errors also: kInvalid on a temporary that nothing else holds: `informers.For<T>().AddIndex(...)`
  // works on a manager's informers, which live as long as the manager; elsewhere keep the informer first.
  Result<void> AddIndex(std::string name, std::function<std::vector<String>(const T&)> function) const& {
    return indexer().AddIndex(std::move(name), std::move(function));
  }
  Result<void> AddIndex(std::string name, std::function<std::vector<String>(const T&)> function) && {
    if (Result<void> held = CheckHeld("index " + name); !held) return held;
    return indexer().AddIndex(std::move(name), std::move(function));
  }
  // Changes every object before it is cached, to drop what is not read here. Before Start. Errors: kInvalid after it, and on a temporary
  // as for AddIndex.
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

// For kube/control: what holds an informer, and AddEventHandler without T.
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
