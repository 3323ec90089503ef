// Lister<T>: reads from an informer's cache with the interface of a client, without requests.
//
//   Lister<Pod> pods = informer.lister();
//   Result<Ptr<Pod>> pod = pods.Get({"default", "web"});                       // IsNotFound(e) if there is none, IsUndecodable(e) if the
//                                                                              // newest version cannot be decoded; List has the one before
//   std::vector<Ptr<Pod>> web = pods.Namespace("default").List(*Selector::Parse("app=web"));
//
// The cache may lag behind the API server, and it is empty until the informer has synced.
//
// Thread safety: all functions may be called from many threads at once.
// Lifetime: keeps its informer alive and running.
// Cost: that of Indexer.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_memory.h"
#include "kube/cache/indexer.h"
#include "kube/cache/object.h"
#include "kube/meta/gvk.h"
#include "kube/meta/selector.h"

namespace kube {

namespace internal {
// The error in the server's words: pods "web" not found.
KUBE_EXPORT Error NotInCache(const GroupResource& resource, const ObjectKey& key);
}  // namespace internal

// The objects of one namespace.
template <ObjectType T>
class NamespaceLister {
 public:
  NamespaceLister(Indexer<T> indexer, GroupResource resource, std::string ns, std::shared_ptr<const void> keep)
      : indexer_(std::move(indexer)), resource_(std::move(resource)), ns_(std::move(ns)), keep_(std::move(keep)) {}

  // Errors: IsNotFound, IsUndecodable.
  Result<Ptr<T>> Get(std::string_view name) const {
    const ObjectKey key{String(ns_), String(name)};
    Result<Ptr<T>> found = indexer_.Read(key);
    if (found && *found == nullptr) return internal::NotInCache(resource_, key);
    return found;
  }
  // In no particular order.
  std::vector<Ptr<T>> List(const Selector& selector = {}) const { return indexer_.List(ns_, selector); }

 private:
  Indexer<T> indexer_;
  GroupResource resource_;
  std::string ns_;
  std::shared_ptr<const void> keep_;
};

// See the beginning of this file.
template <ObjectType T>
class Lister {
 public:
  // The lister holds `keep`.
  Lister(Indexer<T> indexer, GroupResource resource, std::shared_ptr<const void> keep = nullptr)
      : indexer_(std::move(indexer)), resource_(std::move(resource)), keep_(std::move(keep)) {}

  // Errors: IsNotFound, IsUndecodable.
  Result<Ptr<T>> Get(const ObjectKey& key) const {
    Result<Ptr<T>> found = indexer_.Read(key);
    if (found && *found == nullptr) return internal::NotInCache(resource_, key);
    return found;
  }
  // In no particular order.
  std::vector<Ptr<T>> List(const Selector& selector = {}) const { return indexer_.List(selector); }
  NamespaceLister<T> Namespace(std::string ns) const { return {indexer_, resource_, std::move(ns), keep_}; }  // a lister for one namespace
  const Indexer<T>& indexer() const { return indexer_; }

 private:
  Indexer<T> indexer_;
  GroupResource resource_;
  std::shared_ptr<const void> keep_;
};

}  // namespace kube
