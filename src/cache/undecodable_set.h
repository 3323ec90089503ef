// UndecodableSet: which objects of a cache cannot be decoded, as far as that is known.
//
// A bounded number of them is remembered. Beyond it, and while objects came of which not even the name could be read, the set is
// incomplete: then a key that the cache does not have may be one of them, and must not be taken for one that does not exist.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/raw_object.h"
#include "kube/base/error.h"
#include "kube/client/undecodable.h"

namespace kube::internal {

// Thread safety: as standard containers.
class UndecodableSet {
 public:
  static constexpr std::size_t kMost = 1000;

  bool empty() const { return objects_.empty() && !incomplete_; }
  std::size_t size() const { return objects_.size(); }
  // There are others that are not here.
  bool incomplete() const { return incomplete_; }

  void Add(UndecodableObject object) {
    if (!object.named() || (objects_.size() >= kMost && !objects_.contains(object.key))) {
      incomplete_ = true;
      return;
    }
    ObjectKey key = object.key;
    objects_.insert_or_assign(std::move(key), std::move(object));
  }
  void Erase(const ObjectKey& key) { objects_.erase(key); }
  const UndecodableObject* Find(const ObjectKey& key) const {
    const auto found = objects_.find(key);
    return found == objects_.end() ? nullptr : &found->second;
  }
  std::vector<UndecodableObject> First(std::size_t n) const {
    std::vector<UndecodableObject> out;
    for (auto it = objects_.begin(); it != objects_.end() && out.size() < n; ++it) out.push_back(it->second);
    return out;
  }
  // Of a read of `key`. `cached`: the cache has a version of it.
  std::optional<Error> ErrorOf(const ObjectKey& key, bool cached) const {
    if (const UndecodableObject* const found = Find(key)) return UndecodableError(*found);
    if (!incomplete_ || cached) return std::nullopt;
    return UndecodableError({.key = key, .error = "the cache does not have it, but there are objects that it could not identify"});
  }

 private:
  std::map<ObjectKey, UndecodableObject> objects_{};
  bool incomplete_ = false;
};

}  // namespace kube::internal
