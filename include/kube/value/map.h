// Map<V>: the map type of API objects, from String to V. One pointer wide, reference-counted, copied on write.
//
//   pod.metadata.labels["app"] = "web";
//   if (const String* app = pod.metadata.labels.Find("app")) ...
//   for (const auto& [key, value] : std::as_const(pod.metadata.labels)) ...
//
// Entries are sorted by key in one contiguous block, so maps are compact and always written in the same order. Inserting into a map of n
// entries moves up to n of them; maps of API objects are small.
// Sharing and thread safety: as List.
#pragma once

#include <initializer_list>
#include <string_view>

#include "kube/value/list.h"
#include "kube/value/string.h"

namespace kube {

// An entry of a Map.
template <typename V>
struct MapEntry {
  String key;
  V value{};

  // For List and the implementation; see shared.h.
  static constexpr bool kMovesByBytes = internal::MovesByBytes<V>();
  bool HoldsLent() const { return internal::HoldsLent(value); }
  void Settle() { internal::Settle(value); }
  friend bool operator==(const MapEntry&, const MapEntry&) = default;
};

// A sorted map from String to V.
template <typename V>
class Map {
 public:
  using Entry = MapEntry<V>;  // what iterators point to
  using value_type = Entry;
  using iterator = const Entry*;
  using const_iterator = const Entry*;
  static constexpr bool kMovesByBytes = true;

  Map() noexcept = default;
  // If a key occurs twice, the last entry wins.
  Map(std::initializer_list<Entry> entries) {
    for (const Entry& e : entries) Set(e.key, e.value);
  }

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  // Iteration is read-only; change values with operator[] or Set.
  const Entry* begin() const { return entries_.begin(); }
  const Entry* end() const { return entries_.end(); }

  // The value, or null. Valid until the next write.
  const V* Find(std::string_view key) const {
    std::size_t i = LowerBound(key);
    return i < size() && entries_.cbegin()[i].key == key ? &entries_.cbegin()[i].value : nullptr;
  }
  bool contains(std::string_view key) const { return Find(key) != nullptr; }
  // The value, or a default one if absent.
  const V& Get(std::string_view key) const {
    const V* found = Find(key);
    return found != nullptr ? *found : internal::DefaultValue<V>();
  }
  const V& operator[](std::string_view key) const { return Get(key); }
  // The value for writing; created if absent. Set is cheaper if the map is copied later; see List.
  V& operator[](std::string_view key) {
    std::size_t i = LowerBound(key);
    if (i == size() || entries_.cbegin()[i].key != key) entries_.insert(i, Entry{String(key), V{}});
    return entries_[i].value;
  }
  // Adds or replaces an entry.
  void Set(std::string_view key, V value) {
    std::size_t i = LowerBound(key);
    if (i == size() || entries_.cbegin()[i].key != key) {
      entries_.insert(i, Entry{String(key), std::move(value)});
    } else {
      entries_.Replace(i, Entry{entries_.cbegin()[i].key, std::move(value)});
    }
  }
  // Adds an entry at the end. Requires: `key` is greater than every key of the map.
  void Append(String key, V value) { entries_.push_back(Entry{std::move(key), std::move(value)}); }
  // Returns whether the key existed.
  bool Erase(std::string_view key) {
    std::size_t i = LowerBound(key);
    if (i == size() || entries_.cbegin()[i].key != key) return false;
    entries_.erase(i);
    return true;
  }
  void clear() { entries_.clear(); }
  void swap(Map& other) noexcept { entries_.swap(other.entries_); }
  // True if both refer to the same entries in memory.
  bool SharesWith(const Map& other) const { return entries_.SharesWith(other.entries_); }
  // For the implementation; see shared.h.
  bool HoldsLent() const { return entries_.HoldsLent(); }
  void Settle() { entries_.Settle(); }

  friend bool operator==(const Map& a, const Map& b) { return a.entries_ == b.entries_; }

 private:
  List<Entry> entries_;  // sorted by key, keys unique

  std::size_t LowerBound(std::string_view key) const {
    std::size_t low = 0, high = size();
    while (low < high) {
      std::size_t middle = low + (high - low) / 2;
      if (entries_.cbegin()[middle].key.view() < key) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

}  // namespace kube
