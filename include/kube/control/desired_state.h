// DesiredState: makes the children of an owner match a declared set. It creates, updates and prunes them, and writes only what differs.
//
//   Result<Changes> changes = DesiredState(cached, deployment, "auto-expose")  // field manager and name of the set; or DesiredStateOptions
//                                 .Manage<Service, Ingress>()           // prunes these kinds even if none of them is wanted
//                                 .Want(service)
//                                 .Want(ingress)                        // typed and dynamic objects alike
//                                 .Apply(ctx);
//   if (!changes) return changes.error();                               // including failures of a child
//   log.Info("Reconciled", {{"changes", changes->Summary()}});          // "1 created, 1 unchanged"
//
// Reads come from a CachedClient's informers if one has the kind, which a controller's Owns<U>() ensures: a pass that changes nothing sends
// no request. With a Client, each pass reads from the API server.
//
// For each wanted child, Apply
//   - makes the owner its controller and labels it with the set (see below);
//   - writes nothing if the live object already has everything wanted; defaults and other managers' fields do not matter;
//   - creates a missing child, and otherwise uses server-side apply with force: it repairs drift, removes fields that are no longer wanted
//     and keeps other managers' fields;
//   - skips an object that is not a child of this owner and set, and reports a conflict.
// Then it deletes the children of this owner and set that are no longer wanted.
//
// How Apply detects that nothing changed: an annotation holds a hash of the last applied state, which reveals dropped fields. Each wanted
// field is compared with the live object. managedFields must still list the field as ours, which reveals other managers' additions to
// atomic lists. If the API server stores something other than what was applied (a webhook, a normalized value), the process remembers that
// and does not apply again until one of the two sides changes.
//
// Apply never adopts an object that was created concurrently. A create is a POST, which fails if the object exists; an apply carries the
// UID, so a recreated object is rejected. Before the first apply, one more request turns the creator's fields in managedFields into applied
// ones; otherwise server-side apply would not remove those that are no longer wanted.
//
// Marks on children, if `mark_prefix` is "kubexx.dev": the labels kubexx.dev/set (name of the set) and kubexx.dev/owner-uid, and the
// annotation kubexx.dev/applied.
//
// Children in other namespaces and cluster-scoped children cannot have an owner reference to a namespaced owner. Anywhere() allows them:
//
//   DesiredState(cached, source, "replicator").Anywhere().Want(copy_for_a).Want(copy_for_b).Apply(ctx);      // docs/children-anywhere.md
//
// They are found by labels, and count as children only if they carry a proof, which copied marks lack. A finalizer on the owner lets Apply
// delete them before the owner is deleted. docs/children-anywhere.md has the details.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/error.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/cache/lister.h"
#include "kube/client/client.h"
#include "kube/client/rest_mapper.h"
#include "kube/codec/diff.h"
#include "kube/control/cached_client.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/gvk.h"
#include "kube/meta/object_key.h"
#include "kube/meta/object_traits.h"
#include "kube/meta/resource.h"
#include "kube/meta/selector.h"

namespace kube {

// Options of a DesiredState.
struct DesiredStateOptions {
  std::string field_manager{};  // required: one per controller, and always the same one for a set
  std::string name{};           // required: the value of the set's label; distinguishes several sets of one owner
  // Prefix of the marks on children.
  std::string mark_prefix = "kubexx.dev";
  // Writes nothing: server-side dry runs report what would change.
  bool dry_run = false;
  // Deletes children that are no longer wanted.
  bool prune = true;
  // Adopts objects of a wanted name that have no controller. If false, they are conflicts: another client may own them.
  bool adopt = false;
  // Overrides fields that another field manager applied. If false, they are conflicts. Fields without an owner are set either way.
  bool force = true;
  std::optional<bool> block_owner_deletion{};  // of the owner reference; unset means true
  std::string propagation = "Background";      // deletion propagation when pruning
  // A secret of the program that goes into the proof on children outside of the owner's namespace. Never change it. Without it, anyone who
  // knows the owner's UID can forge the proof, which matters if they may edit, but not delete, objects of the managed kinds.
  std::string proof_key{};
  // For children without a struct. Unset for the CachedClient's mapper; with a Client, a new one that queries discovery in each pass.
  std::optional<RestMapper> mapper{};
};

// What was done, or would be done, to one child.
struct ChildChange {
  // What became of the child.
  enum class Outcome : std::uint8_t {
    kCreated,
    kUpdated,    // `diff` has the changes, `reasons` why it was written
    kUnchanged,  // no write, or one without effect
    kPruned,
    kDeleting,  // wanted, but it or its namespace is being deleted; it can be recreated afterwards
    kConflict,  // has another owner, named in `message`
    kFailed,    // `error`
  };
  Outcome outcome = Outcome::kUnchanged;
  Gvk gvk{};  // kind of the child
  ObjectKey key{};
  std::vector<Difference> diff{};      // for kUpdated; Secrets show sizes only
  std::vector<std::string> reasons{};  // "spec.replicas: 5 instead of 3"
  // Details of a conflict.
  std::string message{};
  std::optional<Error> error{};  // for kFailed
  // The live object after the pass. Unset for kPruned and kFailed.
  std::optional<DynamicObject> object{};

  // "updated Service default/web", followed by one line per difference.
  std::string ToString() const;
};
KUBE_EXPORT std::string_view ToString(ChildChange::Outcome outcome);

// The result of a pass: the children in the order of Want, then the pruned ones. A plain value.
struct Changes {
  std::vector<ChildChange> children{};
  bool dry_run = false;  // nothing was written
  // The owner is being deleted, so nothing was applied. Children outside of its namespace were pruned; the garbage collector deletes the
  // others.
  bool owner_deleted = false;
  // Requests that could have changed something, including dry runs. A create that found an existing object does not count.
  int writes = 0;

  // The number of children with this outcome.
  KUBE_EXPORT std::size_t Count(ChildChange::Outcome outcome) const;
  // Returns null if there is no such child.
  KUBE_EXPORT const ChildChange* Find(const Gvk& gvk, const ObjectKey& key) const;
  template <Resource T>
  const ChildChange* Find(const ObjectKey& key) const {
    return Find(GvkOf<T>(), key);
  }
  // Whether something was created, updated or pruned.
  KUBE_EXPORT bool changed() const;
  // Whether there are no conflicts, no failures and no pending deletions.
  KUBE_EXPORT bool complete() const;
  // Ok if there are no conflicts and no failures. Otherwise the error of the first failed child, or kInvalid for a conflict; the message
  // counts the others. A reconciler that returns the error is retried.
  KUBE_EXPORT Result<void> ToResult() const;
  KUBE_EXPORT std::string Summary() const;   // "1 created, 2 unchanged"; "nothing to do" if there are no children
  KUBE_EXPORT std::string ToString() const;  // every child that changed or failed, with differences
};

namespace internal {

// The kind of a child.
struct ChildKind {
  Gvk gvk{};
  const TypeInfo* type = nullptr;  // null to ask the mapper

  template <kube::Resource T>
  static ChildKind Of() {
    return {GvkOf<T>(), &T::kType};
  }
  template <ObjectType T>
  static ChildKind Of(const T& object) {
    return {GvkOf(object), ObjectTraits<T>::kType};
  }
};

// What a cache has of a kind. Null functions mean no cache.
struct ChildCache {
  std::function<std::optional<DynamicObject>(const ObjectKey& key)> get{};
  // In one namespace, or in all of them if `ns` is empty.
  std::function<std::vector<DynamicObject>(std::string_view ns, const Selector& selector)> list{};
};

class KUBE_EXPORT DesiredStateCore {
 public:
  // `cached` may be null.
  DesiredStateCore(Client client, std::shared_ptr<const CachedClientCore> cached, meta::v1::ObjectMeta owner, ChildKind owner_kind,
                   DesiredStateOptions options);
  ~DesiredStateCore();
  DesiredStateCore(DesiredStateCore&&) noexcept;
  DesiredStateCore& operator=(DesiredStateCore&&) noexcept;

  void Anywhere();
  void Manage(ChildKind kind);
  void Want(ChildKind kind, Result<DynamicObject> child);
  void ReadFrom(const Gvk& gvk, ChildCache cache);
  // Failures of children are in Changes.
  Result<Changes> TryApply(const Context& ctx) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace internal

// Collects the wanted children of one owner for one pass. Apply may be called again.
//
// Thread safety: one thread at a time per object; any number of objects at once, even for the same owner.
// Lifetime: holds a copy of the client, of the owner's metadata and of everything it was given.
// Blocking and cancellation: Apply sends its requests one after another and waits for them; they end with the context.
// Errors: Apply and TryApply return kInvalid if the options or the owner are invalid (no field manager, no name, an owner without UID). A
//   failed child does not stop the others: Apply then returns the error of the first one, TryApply reports it in Changes. A conflict
//   (another owner's object has the name) is in Changes. Return Action::RequeueAfter then: the controller watches its own children only, so
//   no event reports that the name is free.
// Cost: one read per wanted child and one list per kind. Neither is sent if a cache has the kind and nothing needs to change, or if the
//   child does not exist. Before a change, the object is always read from the API server. One write per child that changes; two for the
//   first change after its creation.
template <ObjectType Owner>
class DesiredState {
 public:
  DesiredState(const Client& client, const Owner& owner, DesiredStateOptions options)
      : core_(client, nullptr, MetadataOf(owner), internal::ChildKind::Of(owner), std::move(options)) {}
  // Reads from the client's caches.
  DesiredState(const CachedClient& client, const Owner& owner, DesiredStateOptions options)
      : core_(client.Live(), internal::CachedClientAccess::CoreOf(client), MetadataOf(owner), internal::ChildKind::Of(owner),
              std::move(options)) {}
  // `name` is the field manager and the name of the set.
  DesiredState(const Client& client, const Owner& owner, std::string_view name)
      : DesiredState(client, owner, {.field_manager = std::string(name), .name = std::string(name)}) {}
  DesiredState(const CachedClient& client, const Owner& owner, std::string_view name)
      : DesiredState(client, owner, {.field_manager = std::string(name), .name = std::string(name)}) {}

  // Allows children that cannot have an owner reference to a namespaced owner: those in other namespaces and cluster-scoped ones. The owner
  // gets a finalizer before the first of them is created. If the owner is being deleted, Apply deletes these children and then removes the
  // finalizer. The controller must therefore see the owner until the end: do not filter owners by label. Declare the kinds of such children
  // with OwnsAnywhere<U>().
  DesiredState& Anywhere() & {
    core_.Anywhere();
    return *this;
  }
  DesiredState&& Anywhere() && {
    Anywhere();
    return std::move(*this);
  }

  // Adds a child. Without a namespace it gets the owner's. Its status and server-set metadata (uid, resourceVersion ...) are ignored.
  template <ObjectType T>
  DesiredState& Want(const T& child) & {
    core_.Want(internal::ChildKind::Of(child), ObjectTraits<T>::ToDynamic(child));
    return *this;
  }
  template <ObjectType T>
  DesiredState&& Want(const T& child) && {
    Want(child);
    return std::move(*this);
  }

  // Adds kinds to prune even if no child of them is wanted.
  template <Resource... Kinds>
  DesiredState& Manage() & {
    (core_.Manage(internal::ChildKind::Of<Kinds>()), ...);
    return *this;
  }
  template <Resource... Kinds>
  DesiredState&& Manage() && {
    Manage<Kinds...>();
    return std::move(*this);
  }
  DesiredState& Manage(const Gvk& kind) & {
    core_.Manage({kind});
    return *this;
  }
  DesiredState&& Manage(const Gvk& kind) && {
    Manage(kind);
    return std::move(*this);
  }

  // Reads from a synced cache before the API server. For a Client, and for informers that a CachedClient does not choose by itself. A cache
  // that leaves out fields reports false drift, which costs requests. One that drops managedFields may miss what other managers add to
  // lists. Do not use it for namespaces that the cache does not cover.
  template <Resource T>
  DesiredState& ReadFrom(Lister<T> lister) & {
    core_.ReadFrom(GvkOf<T>(), CacheOf(std::move(lister)));
    return *this;
  }
  template <Resource T>
  DesiredState&& ReadFrom(Lister<T> lister) && {
    ReadFrom(std::move(lister));
    return std::move(*this);
  }
  DesiredState& ReadFrom(const Gvk& kind, Lister<DynamicObject> lister) & {
    core_.ReadFrom(kind, CacheOf(std::move(lister)));
    return *this;
  }
  // Any other source of objects. `get` returns nullopt if there is no such object.
  DesiredState& ReadFrom(const Gvk& kind, std::function<std::optional<DynamicObject>(const ObjectKey&)> get) & {
    core_.ReadFrom(kind, {.get = std::move(get)});
    return *this;
  }

  // Returns what was done, or an error if a child failed.
  Result<Changes> Apply(const Context& ctx) const {
    Result<Changes> changes = TryApply(ctx);
    if (changes && changes->Count(ChildChange::Outcome::kFailed) > 0) return changes->ToResult().error();
    return changes;
  }
  // The same, but failed children are in Changes.
  Result<Changes> TryApply(const Context& ctx) const { return core_.TryApply(ctx); }

 private:
  template <ObjectType T>
  static std::optional<DynamicObject> AsDynamic(const T& object) {
    Result<DynamicObject> out = ObjectTraits<T>::ToDynamic(object);
    return out ? std::optional<DynamicObject>(*std::move(out)) : std::nullopt;
  }
  template <ObjectType T>
  static internal::ChildCache CacheOf(Lister<T> lister) {
    internal::ChildCache cache;
    cache.get = [lister](const ObjectKey& key) -> std::optional<DynamicObject> {
      // An object that cannot be decoded counts as missing here, so that it is read from the API server.
      const Result<Ptr<T>> found = lister.indexer().Read(key);
      return !found || *found == nullptr ? std::nullopt : AsDynamic(**found);
    };
    cache.list = [lister](std::string_view ns, const Selector& selector) {
      std::vector<DynamicObject> out;
      for (const Ptr<T>& found : ns.empty() ? lister.List(selector) : lister.indexer().List(ns, selector)) {
        if (std::optional<DynamicObject> object = AsDynamic(*found)) out.push_back(*std::move(object));
      }
      return out;
    };
    return cache;
  }

  internal::DesiredStateCore core_;
};

}  // namespace kube
