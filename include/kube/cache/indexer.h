// Indexer<T>: a thread-safe store of objects, found by key or by index.
//
//   Indexer<Pod> pods;
//   pods.AddIndex("node", [](const Pod& pod) { return std::vector<String>{pod.spec.node_name}; });
//   pods.Add(std::make_shared<Pod>(pod));
//   Result<std::vector<Ptr<Pod>>> there = pods.ByIndex("node", "node-7");
//   std::vector<Ptr<Pod>> web = pods.List(*Selector::Parse("app=web"));
//
// Each informer has one and keeps it in sync with the API server (informer.h). The write functions are for an indexer without an informer,
// and for objects that a program has before it starts its informer (docs/informers.md, "Objects that are known before the start"). The
// index "namespace" always exists. A selector that requires a label's value uses an index on that label, which is created on first use.
//
// Thread safety: all functions may be called from many threads at once. Every read is a snapshot: it sees all of a write or nothing of it.
// Blocking: reads share a lock; List copies pointers under it and does not read the objects. Index functions run under the writer's lock:
//   they must be fast and must not call the indexer.
// Errors: an exception from an index function is logged, and the object is not in that index.
// Cost: about 60 bytes per object, and 40 for each index bucket that it is in.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/cache/object.h"
#include "kube/meta/selector.h"

namespace kube {

// The name of the index that always exists.
inline constexpr std::string_view kNamespaceIndex = "namespace";

// Memory use of a cache. See Indexer::Stats.
struct CacheStats {
  std::size_t objects = 0;
  std::size_t logical_bytes = 0;  // if no parts were shared
  std::size_t real_bytes = 0;     // actual size: shared parts count once
};

namespace internal {

// The indexer without templates.
class KUBE_EXPORT Store {
 public:
  using IndexFunction = std::function<std::vector<String>(const void* object)>;

  explicit Store(const ObjectForm& form);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  const ObjectForm& form() const;

  // ---- Reads ----
  // Returns the last version that could be decoded, or null.
  ObjectRef Get(std::string_view ns, std::string_view name) const;
  // The same for callers that act on the object: fails with IsUndecodable if the newest version cannot be decoded.
  Result<ObjectRef> Read(std::string_view ns, std::string_view name) const;
  std::vector<ObjectRef> List() const;
  // Without `ns`, selects from all namespaces.
  std::vector<ObjectRef> Select(std::optional<std::string_view> ns, const Selector& selector) const;
  std::vector<ObjectKey> Keys() const;
  Result<std::vector<ObjectRef>> ByIndex(std::string_view index, std::string_view value) const;
  Result<std::vector<ObjectKey>> KeysByIndex(std::string_view index, std::string_view value) const;  // sorted
  Result<std::vector<String>> IndexValues(std::string_view index) const;                             // sorted
  std::vector<String> LabelIndexes() const;                                                          // labels that currently have an index
  std::size_t size() const;
  std::string resource_version() const;
  CacheStats Stats() const;
  // The number of objects marked as undecodable, at most a thousand. undecodable_incomplete: there are more.
  std::size_t undecodable() const;
  bool undecodable_incomplete() const;
  std::vector<UndecodableObject> FirstUndecodable(std::size_t n) const;
  std::optional<UndecodableObject> FindUndecodable(const ObjectKey& key) const;

  // ---- Indexes ----
  Result<void> AddIndex(std::string name, IndexFunction function);

  // ---- Writes ----
  struct Write {
    ObjectRef object{};  // null: delete `key`
    ObjectKey key{};     // for a deletion only
    ObjectRef before{};  // out: the previous version
  };
  // Applies all writes in order, as one change. Keeps the resource version if `resource_version` is empty. Removes the undecodable marks of
  // the written and deleted keys.
  void Apply(std::span<Write> writes, std::string_view resource_version);
  struct Replaced {
    std::vector<ObjectRef> before{};   // previous version of each new object, or null
    std::vector<ObjectRef> removed{};  // objects that no longer exist
  };
  // Replaces the content as one change. If several objects have the same key, the last one counts (and `before` of the others is null). The
  // undecodable marks become those of `undecodable`.
  Replaced Replace(const std::vector<ObjectRef>& objects, std::string_view resource_version,
                   std::vector<UndecodableObject> undecodable = {});
  // Records that the newest version cannot be decoded: the stored version stays, and Read fails.
  void MarkUndecodable(UndecodableObject object);
  void SetResourceVersion(std::string_view resource_version);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

template <typename T>
std::vector<Ptr<T>> CastAll(std::vector<ObjectRef> refs) {
  std::vector<Ptr<T>> out;
  out.reserve(refs.size());
  for (ObjectRef& ref : refs) out.push_back(std::static_pointer_cast<const T>(std::move(ref)));
  return out;
}

struct IndexerAccess;

}  // namespace internal

// A handle: copies share one store.
template <ObjectType T>
class Indexer {
 public:
  Indexer() : store_(std::make_shared<internal::Store>(internal::ObjectForm::Of<T>())) {}

  // Returns null if there is no such object. If its newest version cannot be decoded, returns the last one that could be.
  Ptr<T> Get(const ObjectKey& key) const { return std::static_pointer_cast<const T>(store_->Get(key.ns.view(), key.name.view())); }
  // The same for callers that act on the object. Errors: IsUndecodable if the object exists but its newest version cannot be decoded.
  Result<Ptr<T>> Read(const ObjectKey& key) const {
    Result<internal::ObjectRef> found = store_->Read(key.ns.view(), key.name.view());
    if (!found) return found.error();
    return std::static_pointer_cast<const T>(*std::move(found));
  }
  // In no particular order.
  std::vector<Ptr<T>> List() const { return internal::CastAll<T>(store_->List()); }
  std::vector<Ptr<T>> List(const Selector& selector) const { return internal::CastAll<T>(store_->Select(std::nullopt, selector)); }
  std::vector<Ptr<T>> List(std::string_view ns, const Selector& selector = {}) const {
    return internal::CastAll<T>(store_->Select(ns, selector));
  }
  std::vector<ObjectKey> Keys() const { return store_->Keys(); }  // in no particular order
  // ByIndex returns the objects that have `value` in the index, KeysByIndex their keys. Errors: kInvalid if there is no such index.
  Result<std::vector<Ptr<T>>> ByIndex(std::string_view index, std::string_view value) const {
    Result<std::vector<internal::ObjectRef>> found = store_->ByIndex(index, value);
    if (!found) return found.error();
    return internal::CastAll<T>(*std::move(found));
  }
  Result<std::vector<ObjectKey>> KeysByIndex(std::string_view index, std::string_view value) const {
    return store_->KeysByIndex(index, value);
  }
  // All values in the index, sorted.
  Result<std::vector<String>> IndexValues(std::string_view index) const { return store_->IndexValues(index); }
  std::size_t size() const { return store_->size(); }
  // The resource version of the last write that had one.
  std::string resource_version() const { return store_->resource_version(); }
  // Walks all objects: for debug pages and metrics, not for frequent calls.
  CacheStats Stats() const { return store_->Stats(); }
  // Returns up to `most` of the objects whose newest version cannot be decoded. A cache records at most a thousand.
  std::vector<UndecodableObject> Undecodable(std::size_t most) const { return store_->FirstUndecodable(most); }

  // Adds an index: an object is found under each value that the function returns. May be called at any time; existing objects are indexed
  // at once. Errors: kInvalid if the name is taken; nothing changes then.
  Result<void> AddIndex(std::string name, std::function<std::vector<String>(const T&)> function) {
    return store_->AddIndex(std::move(name), [f = std::move(function)](const void* object) { return f(*static_cast<const T*>(object)); });
  }

  // ---- Writes: for an indexer without an informer, or before the informer starts ----
  // Adds or replaces an object.
  void Add(Ptr<T> object) {
    internal::Store::Write write{.object = std::move(object)};
    const std::string version = store_->form().ResourceVersion(write.object.get()).str();
    store_->Apply({&write, 1}, version);
  }
  // Returns whether the object existed.
  bool Delete(const ObjectKey& key) {
    internal::Store::Write write{.key = key};
    store_->Apply({&write, 1}, {});
    return write.before != nullptr;
  }
  void Replace(const std::vector<Ptr<T>>& objects, std::string_view resource_version = {}) {
    (void)store_->Replace({objects.begin(), objects.end()}, resource_version);
  }

 private:
  friend struct internal::IndexerAccess;
  explicit Indexer(std::shared_ptr<internal::Store> store) : store_(std::move(store)) {}
  std::shared_ptr<internal::Store> store_;
};

namespace internal {

struct IndexerAccess {
  template <ObjectType T>
  static Indexer<T> Make(std::shared_ptr<Store> store) {
    return Indexer<T>(std::move(store));
  }
  template <ObjectType T>
  static std::shared_ptr<Store> StoreOf(const Indexer<T>& indexer) {
    return indexer.store_;
  }
};

}  // namespace internal

}  // namespace kube
