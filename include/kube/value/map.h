// Map<V>: the map type of API objects, from String to V. One pointer wide, reference-counted, copied on write.
//
//   pod.metadata.labels["app"] = "web";
//   if (const String* app = pod.metadata.labels.Find("app")) ...
//   for (const auto& [key, value] : std::as_const(pod.metadata.labels)) ...
//
// Entries are kept sorted by key in one flat block: small, and always written in the same order. Inserting into a map of n entries
// moves up to n of them; maps of API objects are small. Sharing and threads: as List.
#pragma once

#include <initializer_list>
#include <string_view>

#include "kube/value/list.h"
#include "kube/value/string.h"

namespace kube {

template <typename V>
struct MapEntry {
  String key;
  V value{};

  static constexpr bool kMovesByBytes = internal::MovesByBytes<V>();
  bool HoldsLent() const { return internal::HoldsLent(value); }
  void Settle() { internal::Settle(value); }
  friend bool operator==(const MapEntry&, const MapEntry&) = default;
};

template <typename V>
class Map {
 public:
  using Entry = MapEntry<V>;
  using value_type = Entry;
  using iterator = const Entry*;
  using const_iterator = const Entry*;
  static constexpr bool kMovesByBytes = true;

  Map() noexcept = default;
  // Later entries win over earlier ones with the same key.
  Map(std::initializer_list<Entry> entries) {
    for (const Entry& e : entries) Set(e.key, e.value);
  }

  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  // Iteration is read-only; change values through operator[] or Set.
  const Entry* begin() const { return entries_.begin(); }
  const Entry* end() const { return entries_.end(); }

  // The value, or null. Valid until the next write.
  const V* Find(std::string_view key) const {
    std::size_t i = LowerBound(key);
    return i < size() && entries_.cbegin()[i].key == key ? &entries_.cbegin()[i].value : nullptr;
  }
  bool contains(std::string_view key) const { return Find(key) != nullptr; }
  // The value, or a default one.
  const V& Get(std::string_view key) const {
    const V* found = Find(key);
    return found != nullptr ? *found : internal::DefaultValue<V>();
  }
  const V& operator[](std::string_view key) const { return Get(key); }
  // The value for writing, made if absent. Set is cheaper where the map is copied afterwards: see List.
  V& operator[](std::string_view key) {
    std::size_t i = LowerBound(key);
    if (i == size() || entries_.cbegin()[i].key != key) entries_.insert(i, Entry{String(key), V{}});
    return entries_[i].value;
  }
  void Set(std::string_view key, V value) {
    std::size_t i = LowerBound(key);
    if (i == size() || entries_.cbegin()[i].key != key) {
      entries_.insert(i, Entry{String(key), std::move(value)});
    } else {
      entries_.Replace(i, Entry{entries_.cbegin()[i].key, std::move(value)});
    }
  }
  // Adds an entry behind all others. Requires: key is greater than every key of the map.
  void Append(String key, V value) { entries_.push_back(Entry{std::move(key), std::move(value)}); }
  // True where the key was there.
  bool Erase(std::string_view key) {
    std::size_t i = LowerBound(key);
    if (i == size() || entries_.cbegin()[i].key != key) return false;
    entries_.erase(i);
    return true;
  }
  void clear() { entries_.clear(); }
  void swap(Map& other) noexcept { entries_.swap(other.entries_); }
  bool SharesWith(const Map& other) const { return entries_.SharesWith(other.entries_); }
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
