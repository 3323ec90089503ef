// DesiredState: say which objects an owner should have; it makes the server have them, and nothing more than that.
//
//   Result<Changes> changes = DesiredState(cached, deployment, "auto-expose")  // field manager and name of the set; or DesiredStateOptions
//                                 .Manage<Service, Ingress>()           // prune these kinds, also if none of them is wanted now
//                                 .Want(service)
//                                 .Want(ingress)                        // typed and dynamic objects alike
//                                 .Apply(ctx);
//   if (!changes) return changes.error();                               // also if a child failed
//   log.Info("Reconciled", {{"changes", changes->Summary()}});          // "1 created, 1 unchanged"
//
// Reads go to a CachedClient's informers if one has the kind, which a controller's Owns<U>() ensures: a pass that changes nothing sends
// no request. With a Client each pass asks the server.
//
// Apply does this for each wanted child:
//   - makes the owner its controller and labels it with the set (see below);
//   - writes nothing where the server has all that is wanted, whatever else it has: defaults and fields of others are left alone;
//   - creates it where there is none; otherwise applies it server-side, by force: drift is repaired, fields that are no longer wanted
//     go, those of others stay;
//   - leaves an object alone that is not a child of this owner and set, and reports a conflict.
// Then it deletes the children of this owner and set that are not wanted any more.
//
// How it knows that nothing has changed: an annotation holds a hash of what was applied last, so that a dropped field is noticed; each
// wanted field is compared with the live object; and managedFields must say that the field is still ours, which finds additions of others
// inside of lists that are replaced as a whole. Where the server stores something else than what was asked for (a webhook, another
// spelling), that is remembered in this process, and not fought over again until one of the two sides changes.
//
// Who else writes at the same moment: nothing that somebody else has just made is taken over. A child is made by a plain create, which
// the server refuses where there is one, and applied with its UID, which is another one where an object took its place. Before the first
// apply one more request turns the creator's fields in managedFields into applied ones: else those that are no longer wanted would stay.
//
// Marks on children, with `mark_prefix` "kubexx.dev": labels kubexx.dev/set (the set's name) and kubexx.dev/owner-uid, annotation
// kubexx.dev/applied.
//
// Children outside of the owner's namespace, cluster-scoped ones included, cannot refer to a namespaced owner. Anywhere() allows them:
//
//   DesiredState(cached, source, "replicator").Anywhere().Want(copy_for_a).Want(copy_for_b).Apply(ctx);      // docs/children-anywhere.md
//
// They are found by labels, and count as children only with a proof that copied marks do not have. A finalizer on the owner lets Apply
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

struct DesiredStateOptions {
  std::string field_manager{};  // required; one for each controller, and never another for the same set
  std::string name{};           // required: the value of the set's label; tells several sets of one owner apart
  std::string mark_prefix = "kubexx.dev";
  // Writes nothing: the server is asked what each write would do, and the answer says what would have been done.
  bool dry_run = false;
  bool prune = true;
  // Take over objects of a wanted name that have no controller. Without it they are conflicts: they may be somebody's.
  bool adopt = false;
  // Without it a field that somebody else applied makes a conflict. Values are taken over either way where nobody owns them.
  bool force = true;
  std::optional<bool> block_owner_deletion{};  // of the owner reference; unset: true
  std::string propagation = "Background";      // of pruning
  // A secret of the program, never changed, that goes into the proof on children outside of the owner's namespace. Without it whoever knows
  // the owner's UID can forge that proof, which matters if they may also edit, but not delete, objects of the managed kinds.
  std::string proof_key{};
  // For children without a struct. None: that of the CachedClient; with a Client one is made, which asks the server in each pass.
  std::optional<RestMapper> mapper{};
};

// What happened, or would have, to one child.
struct ChildChange {
  enum class Outcome : std::uint8_t {
    kCreated,
    kUpdated,    // `diff` says what changed, `reasons` why it was written
    kUnchanged,  // no write, or one that changed nothing
    kPruned,
    kDeleting,  // wanted, but it or its namespace is being deleted: it can be created again once that is deleted
    kConflict,  // belongs to somebody else; `message` says to whom
    kFailed,    // `error`
  };
  Outcome outcome = Outcome::kUnchanged;
  Gvk gvk{};
  ObjectKey key{};
  std::vector<Difference> diff{};      // of kUpdated; Secrets show sizes only
  std::vector<std::string> reasons{};  // "spec.replicas: 5 instead of 3"
  std::string message{};
  std::optional<Error> error{};
  // As the server has it now. Not for kPruned and kFailed.
  std::optional<DynamicObject> object{};

  // "updated Service default/web", then a line for each difference.
  std::string ToString() const;
};
KUBE_EXPORT std::string_view ToString(ChildChange::Outcome outcome);

// The children in the order of Want, then the pruned ones. A plain value.
struct Changes {
  std::vector<ChildChange> children{};
  bool dry_run = false;
  // The owner is being deleted, so nothing was applied. Children outside of its namespace were pruned, the others are left to the
  // garbage collector.
  bool owner_deleted = false;
  // Requests that could have changed something, dry runs included; not a create that found the object there.
  int writes = 0;

  KUBE_EXPORT std::size_t Count(ChildChange::Outcome outcome) const;
  // Null where there was no such child.
  KUBE_EXPORT const ChildChange* Find(const Gvk& gvk, const ObjectKey& key) const;
  template <Resource T>
  const ChildChange* Find(const ObjectKey& key) const {
    return Find(GvkOf<T>(), key);
  }
  // Whether something was created, updated or pruned.
  KUBE_EXPORT bool changed() const;
  // No conflicts, no failures, nothing that waits for a deletion.
  KUBE_EXPORT bool complete() const;
  // Ok if there are no conflicts and no failures. Otherwise the error of the first child that failed, or kInvalid for a conflict; the
  // message counts the others. A reconciler that returns it is called again later.
  KUBE_EXPORT Result<void> ToResult() const;
  KUBE_EXPORT std::string Summary() const;   // "1 created, 2 unchanged"; "nothing to do" if there are no children
  KUBE_EXPORT std::string ToString() const;  // all but the unchanged ones, with differences
};

namespace internal {

// A kind of children.
struct ChildKind {
  Gvk gvk{};
  const TypeInfo* type = nullptr;  // null: to be found by the mapper

  template <kube::Resource T>
  static ChildKind Of() {
    return {GvkOf<T>(), &T::kType};
  }
  template <ObjectType T>
  static ChildKind Of(const T& object) {
    return {GvkOf(object), ObjectTraits<T>::kType};
  }
};

// What a cache knows of a kind; empty functions: nothing.
struct ChildCache {
  std::function<std::optional<DynamicObject>(const ObjectKey& key)> get{};
  // In a namespace, or in all of them where it is empty.
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

// Made for one pass and thrown away; Apply may be called again.
//
// Thread safety: one thread at a time; any number of them beside each other, also for one owner.
// Lifetime: holds a copy of the client, of the owner's metadata and of all that it was given.
// Blocking and cancellation: Apply waits for its requests, one after another, and they end with the context.
// Errors: of both kInvalid if options or owner cannot be right (no field manager, no name, an owner without UID). A child that fails stops
//   no other child; Apply then returns the error of the first one, TryApply has it in Changes. Conflicts are in Changes: another owner's
//   object has the name. Return Action::RequeueAfter then: the controller watches its own children only, so no event reports that the
//   name is free.
// Cost: one read for each wanted child and one list for each kind; none of them if a cache has the kind and there is nothing to do, or the
//   child does not exist. Before an object is changed it is read from the server, whatever a cache says. One write for each child that
//   has to change, two for the first change after its creation.
template <ObjectType Owner>
class DesiredState {
 public:
  DesiredState(const Client& client, const Owner& owner, DesiredStateOptions options)
      : core_(client, nullptr, MetadataOf(owner), internal::ChildKind::Of(owner), std::move(options)) {}
  // Reads from the caches that there are.
  DesiredState(const CachedClient& client, const Owner& owner, DesiredStateOptions options)
      : core_(client.Live(), internal::CachedClientAccess::CoreOf(client), MetadataOf(owner), internal::ChildKind::Of(owner),
              std::move(options)) {}
  // `name` is the field manager and the name of the set.
  DesiredState(const Client& client, const Owner& owner, std::string_view name)
      : DesiredState(client, owner, {.field_manager = std::string(name), .name = std::string(name)}) {}
  DesiredState(const CachedClient& client, const Owner& owner, std::string_view name)
      : DesiredState(client, owner, {.field_manager = std::string(name), .name = std::string(name)}) {}

  // Allows children that a namespaced owner cannot be referred to from: those in other namespaces and cluster-scoped ones. Before the first
  // of them is created, the owner gets a finalizer. If the owner is being deleted, Apply deletes these children and then removes the
  // finalizer. The controller must therefore see the owner until the end: do not filter owners by label. Declare the kinds of such
  // children with OwnsAnywhere<U>().
  DesiredState& Anywhere() & {
    core_.Anywhere();
    return *this;
  }
  DesiredState&& Anywhere() && {
    Anywhere();
    return std::move(*this);
  }

  // A child. Without a namespace it goes into the owner's. The status and what the server sets (uid, resourceVersion ...) do not count.
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

  // Kinds that are pruned also where no child of them is wanted.
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

  // Reads a synced cache before the server; for a Client, and for informers that a CachedClient does not choose by itself. A cache that
  // leaves fields out finds drift that is none, and costs requests; one that drops managedFields may overlook what others add to lists. For
  // a namespace that the cache does not cover, use none.
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
  // Any other source of objects: nothing where there is none of that name.
  DesiredState& ReadFrom(const Gvk& kind, std::function<std::optional<DynamicObject>(const ObjectKey&)> get) & {
    core_.ReadFrom(kind, {.get = std::move(get)});
    return *this;
  }

  // What was done; an error if a child failed.
  Result<Changes> Apply(const Context& ctx) const {
    Result<Changes> changes = TryApply(ctx);
    if (changes && changes->Count(ChildChange::Outcome::kFailed) > 0) return changes->ToResult().error();
    return changes;
  }
  // The same, with the children that failed beside the others in Changes.
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
      // One that cannot be decoded counts as missing here: the server has the last word then.
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
