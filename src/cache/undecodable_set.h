// UndecodableSet: the objects of a cache that cannot be decoded, as far as known.
//
// A bounded number is stored with all details. For the others it stores a hash of the key and the version: of all objects that the cache
// has an older version of, and of a bounded number of those that it lacks. Namespaces share that bound, and each takes only what is left,
// so that filling one namespace does not affect the entries of others. A namespace with more is doubtful: a key that the cache lacks may be
// one of them, and must not be treated as nonexistent. The same holds for a namespace with objects whose name cannot be read, and for all
// namespaces while there are objects without a readable namespace. Objects deleted since then are known not to exist.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/keyed_hash.h"
#include "client/raw_object.h"
#include "kube/base/error.h"
#include "kube/client/undecodable.h"

namespace kube::internal {

// Thread safety: like standard containers.
class UndecodableSet {
 public:
  static constexpr std::size_t kMost = 1000;
  // Hashes of keys that the cache lacks: about 50 bytes each.
  static constexpr std::size_t kMostHashes = 100'000;

  bool empty() const { return size() == 0 && !doubtful_; }
  // At most `kMost`.
  std::size_t size() const { return objects_.size() + hashes_ < kMost ? objects_.size() + hashes_ : kMost; }
  // Whether there are more than First returns.
  bool incomplete() const { return hashes_ > 0 || doubtful_; }
  // Whether there are some with unknown keys. Only a list can help.
  bool doubtful() const { return doubtful_; }

  // `cached`: the cache has an older version of the object.
  void Add(UndecodableObject object, bool cached) {
    if (!object.named()) {
      doubtful_ = true;
      if (object.key.ns.empty()) {
        all_doubtful_ = true;
      } else {
        namespaces_[object.key.ns].doubtful = true;
      }
      return;
    }
    const std::uint64_t hash = Hash(object.key);
    Forget(object.key, hash);
    gone_.erase(hash);
    if (objects_.size() < kMost) {
      ObjectKey key = object.key;
      objects_.insert_or_assign(std::move(key), std::move(object));
      return;
    }
    OfNamespace& of = namespaces_[object.key.ns];
    if (!cached && of.lacking >= kMostHashes - lacking_) {
      of.doubtful = true;
      doubtful_ = true;
      return;
    }
    of.marks[hash] = {VersionOf(object), cached};
    ++hashes_;
    if (cached) return;
    ++of.lacking;
    ++lacking_;
  }
  // A version arrived that could be decoded.
  void Healed(const ObjectKey& key) {
    if (empty()) return;
    const std::uint64_t hash = Hash(key);
    Forget(key, hash);
    gone_.erase(hash);
  }
  void Deleted(const ObjectKey& key) {
    if (empty()) return;
    const std::uint64_t hash = Hash(key);
    Forget(key, hash);
    if (doubtful_ && gone_.size() < kMostHashes) gone_.insert(hash);
  }
  // The error and the UID are empty if they were not stored.
  std::optional<UndecodableObject> Find(const ObjectKey& key) const {
    if (const auto found = objects_.find(key); found != objects_.end()) return found->second;
    if (hashes_ == 0) return std::nullopt;
    const auto of = namespaces_.find(key.ns);
    if (of == namespaces_.end()) return std::nullopt;
    const auto mark = of->second.marks.find(Hash(key));
    if (mark == of->second.marks.end()) return std::nullopt;
    UndecodableObject out{.key = key};
    if (mark->second.version > 0) out.resource_version = String(std::to_string(mark->second.version));
    return out;
  }
  std::vector<UndecodableObject> First(std::size_t n) const {
    std::vector<UndecodableObject> out;
    for (auto it = objects_.begin(); it != objects_.end() && out.size() < n; ++it) out.push_back(it->second);
    return out;
  }
  // The error for a read of `key`. `cached`: the cache has a version of it.
  std::optional<Error> ErrorOf(const ObjectKey& key, bool cached) const {
    if (std::optional<UndecodableObject> found = Find(key)) {
      if (found->error.empty()) found->error = "there are so many of these objects that the reason was not kept";
      return UndecodableError(*found);
    }
    if (cached || !doubtful_ || gone_.contains(Hash(key))) return std::nullopt;
    const auto of = namespaces_.find(key.ns);
    if (!all_doubtful_ && (of == namespaces_.end() || !of->second.doubtful)) return std::nullopt;
    return UndecodableError({.key = key, .error = "the cache does not have it, but there are objects that it could not identify"});
  }

 private:
  struct Mark {
    std::uint64_t version = 0;
    bool cached = false;
  };
  struct OfNamespace {
    std::unordered_map<std::uint64_t, Mark> marks{};  // by hash
    std::size_t lacking = 0;                          // of these, not cached
    bool doubtful = false;
  };

  static std::uint64_t Hash(const ObjectKey& key) { return KeyedHash::Of(key.ns.view(), key.name.view()); }
  static std::uint64_t VersionOf(const UndecodableObject& object) {
    std::uint64_t number = 0;
    const std::string_view text = object.resource_version.view();
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && stop == text.data() + text.size() ? number : 0;
  }
  void Forget(const ObjectKey& key, std::uint64_t hash) {
    if (objects_.erase(key) > 0 || hashes_ == 0) return;
    const auto of = namespaces_.find(key.ns);
    if (of == namespaces_.end()) return;
    const auto mark = of->second.marks.find(hash);
    if (mark == of->second.marks.end()) return;
    --hashes_;
    if (!mark->second.cached) {
      --of->second.lacking;
      --lacking_;
    }
    of->second.marks.erase(mark);
    if (of->second.marks.empty() && !of->second.doubtful) namespaces_.erase(of);
  }

  std::map<ObjectKey, UndecodableObject> objects_{};
  std::map<String, OfNamespace> namespaces_{};
  std::size_t hashes_ = 0, lacking_ = 0;  // of all namespaces
  bool doubtful_ = false, all_doubtful_ = false;
  std::unordered_set<std::uint64_t> gone_{};  // only while doubtful
};

}  // namespace kube::internal
