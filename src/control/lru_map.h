// LruMap: a map of bounded size that forgets what was not used for the longest time.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/keyed_hash.h"

namespace kube::internal {

// Thread safety: none. Pointers to values stay until the value is removed.
template <typename V>
class LruMap {
 public:
  explicit LruMap(std::size_t capacity) : capacity_(capacity < 1 ? 1 : capacity) {}

  // Makes it the most recent one; null if it is not there.
  V* Find(std::string_view key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->second;
  }
  // Requires: the key is not there. What had to go for it is put into `evicted`.
  V& Insert(std::string key, V value, std::optional<V>* evicted = nullptr) {
    if (entries_.size() >= capacity_) {
      if (evicted != nullptr) *evicted = std::move(entries_.back().second);
      index_.erase(entries_.back().first);
      entries_.pop_back();
    }
    entries_.emplace_front(std::move(key), std::move(value));
    index_.emplace(entries_.front().first, entries_.begin());
    return entries_.front().second;
  }
  // The one that was not used for the longest time, or null.
  const V* Oldest() const { return entries_.empty() ? nullptr : &entries_.back().second; }
  void RemoveOldest() {
    if (entries_.empty()) return;
    index_.erase(entries_.back().first);
    entries_.pop_back();
  }
  bool Remove(std::string_view key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return false;
    const auto entry = found->second;
    index_.erase(found);
    entries_.erase(entry);
    return true;
  }

  std::size_t size() const { return entries_.size(); }
  // Most recent first.
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  const std::size_t capacity_;
  std::list<std::pair<const std::string, V>> entries_;
  // Keys are those of the entries.
  std::unordered_map<std::string_view, typename std::list<std::pair<const std::string, V>>::iterator, KeyedHash> index_;
};

}  // namespace kube::internal
