// Indexer<T>: objects by key and by index, for many readers and one writer at a time.
//
//   Indexer<Pod> pods;
//   pods.AddIndex("node", [](const Pod& pod) { return std::vector<String>{pod.spec.node_name}; });
//   pods.Add(std::make_shared<Pod>(pod));
//   Result<std::vector<Ptr<Pod>>> there = pods.ByIndex("node", "node-7");
//   std::vector<Ptr<Pod>> web = pods.List(*Selector::Parse("app=web"));
//
// An informer has one and keeps it equal to the server (informer.h); the write functions are for an indexer without an informer, and for
// objects that a program knows before it starts its informer (docs/informers.md, "Objects that are known before the start"). The index
// "namespace" is there from the start. Selectors that ask for a label's value use an index by that label, which is made when it is first
// asked for.
//
// Thread safety: all functions may be called from many threads at once. Every read is a snapshot: it sees all of a write or nothing.
// Blocking: reads share a lock; List copies pointers under it and looks at no object there. Index functions run under the writer's lock:
//   they must be quick and must not call the indexer.
// Errors: an index function that throws is logged, and the object is in no bucket of that index.
// Cost: about 60 bytes for each object, and 40 for each bucket of an index that it is in.
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

inline constexpr std::string_view kNamespaceIndex = "namespace";

// What the objects of a cache cost. See Indexer::Stats.
struct CacheStats {
  std::size_t objects = 0;
  std::size_t logical_bytes = 0;  // what they would take if each had its parts for itself
  std::size_t real_bytes = 0;     // what they take: shared parts count once
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
  // The last version that could be decoded.
  ObjectRef Get(std::string_view ns, std::string_view name) const;
  // The same for those who act on it: null where there is none. Errors: IsUndecodable where the newest version cannot be decoded.
  Result<ObjectRef> Read(std::string_view ns, std::string_view name) const;
  std::vector<ObjectRef> List() const;
  // No namespace: all of them.
  std::vector<ObjectRef> Select(std::optional<std::string_view> ns, const Selector& selector) const;
  std::vector<ObjectKey> Keys() const;
  Result<std::vector<ObjectRef>> ByIndex(std::string_view index, std::string_view value) const;
  Result<std::vector<ObjectKey>> KeysByIndex(std::string_view index, std::string_view value) const;  // sorted
  Result<std::vector<String>> IndexValues(std::string_view index) const;                             // sorted
  std::vector<String> LabelIndexes() const;  // labels that have an index at the moment
  std::size_t size() const;
  std::string resource_version() const;
  CacheStats Stats() const;
  // How many objects are marked as undecodable, at most a thousand. `incomplete`: there are more.
  std::size_t undecodable() const;
  bool undecodable_incomplete() const;
  std::vector<UndecodableObject> FirstUndecodable(std::size_t n) const;
  std::optional<UndecodableObject> FindUndecodable(const ObjectKey& key) const;

  // ---- Indexes ----
  Result<void> AddIndex(std::string name, IndexFunction function);

  // ---- Writes ----
  struct Write {
    ObjectRef object{};  // null: deletion of `key`
    ObjectKey key{};     // of a deletion only
    ObjectRef before{};  // out: what was there
  };
  // All of them, in their order, as one change. The version is left alone where `resource_version` is empty. What is written can be
  // decoded, and what is deleted is gone: marks of these keys go.
  void Apply(std::span<Write> writes, std::string_view resource_version);
  struct Replaced {
    std::vector<ObjectRef> before{};   // for each of the new objects what was there, or null
    std::vector<ObjectRef> removed{};  // what is there no more
  };
  // The old content goes, as one change. Of several objects with one key the last counts (and `before` of the others is null).
  // The marks are those of `undecodable` afterwards.
  Replaced Replace(const std::vector<ObjectRef>& objects, std::string_view resource_version,
                   std::vector<UndecodableObject> undecodable = {});
  // Its newest version cannot be decoded: the one that is there stays, and reads of it fail.
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

  // Null where there is none. Of an object whose newest version cannot be decoded, the last one that could.
  Ptr<T> Get(const ObjectKey& key) const { return std::static_pointer_cast<const T>(store_->Get(key.ns.view(), key.name.view())); }
  // The same for those who act on it. Errors: IsUndecodable, where the object exists and its newest version cannot be decoded.
  Result<Ptr<T>> Read(const ObjectKey& key) const {
    Result<internal::ObjectRef> found = store_->Read(key.ns.view(), key.name.view());
    if (!found) return found.error();
    return std::static_pointer_cast<const T>(*std::move(found));
  }
  // In no order.
  std::vector<Ptr<T>> List() const { return internal::CastAll<T>(store_->List()); }
  std::vector<Ptr<T>> List(const Selector& selector) const { return internal::CastAll<T>(store_->Select(std::nullopt, selector)); }
  std::vector<Ptr<T>> List(std::string_view ns, const Selector& selector = {}) const {
    return internal::CastAll<T>(store_->Select(ns, selector));
  }
  std::vector<ObjectKey> Keys() const { return store_->Keys(); }
  // Errors: kInvalid for an index that is not there.
  Result<std::vector<Ptr<T>>> ByIndex(std::string_view index, std::string_view value) const {
    Result<std::vector<internal::ObjectRef>> found = store_->ByIndex(index, value);
    if (!found) return found.error();
    return internal::CastAll<T>(*std::move(found));
  }
  Result<std::vector<ObjectKey>> KeysByIndex(std::string_view index, std::string_view value) const {
    return store_->KeysByIndex(index, value);
  }
  // All values that some object has, sorted.
  Result<std::vector<String>> IndexValues(std::string_view index) const { return store_->IndexValues(index); }
  std::size_t size() const { return store_->size(); }
  // Of the last write that had one.
  std::string resource_version() const { return store_->resource_version(); }
  // Walks all objects: for debug pages and metrics, not for every second.
  CacheStats Stats() const { return store_->Stats(); }
  // Up to `most` of the objects whose newest version cannot be decoded; a cache knows at most a thousand.
  std::vector<UndecodableObject> Undecodable(std::size_t most) const { return store_->FirstUndecodable(most); }

  // An object is found under each value that the function gives. At any time: objects that are there are indexed at once.
  // Errors: kInvalid where the name is taken; nothing is changed then.
  Result<void> AddIndex(std::string name, std::function<std::vector<String>(const T&)> function) {
    return store_->AddIndex(std::move(name), [f = std::move(function)](const void* object) { return f(*static_cast<const T*>(object)); });
  }

  // ---- Writes: for an indexer without an informer, or before the informer starts ----
  // Adds or replaces.
  void Add(Ptr<T> object) {
    internal::Store::Write write{.object = std::move(object)};
    const std::string version = store_->form().ResourceVersion(write.object.get()).str();
    store_->Apply({&write, 1}, version);
  }
  // Whether it was there.
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
