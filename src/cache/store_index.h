// Parts of a Store: a table of objects, and indexes of them by value.
//
//   Chunked<T>     an array that grows without moving its elements and without spare capacity
//   EntryTable     objects by key; each has a small number, its id, while it is stored
//   IdIndex        ids by value, many values per id
//
// Thread safety: like standard containers. Nothing here runs user code or reads objects, except their namespace and name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/keyed_hash.h"
#include "kube/cache/object.h"
#include "kube/value/string.h"

namespace kube::internal {

using EntryId = std::uint32_t;
inline constexpr EntryId kNoEntry = 0xffffffff;

template <typename T>
class Chunked {
 public:
  T& operator[](std::size_t i) { return chunks_[i / kChunk][i % kChunk]; }
  const T& operator[](std::size_t i) const { return chunks_[i / kChunk][i % kChunk]; }
  std::size_t size() const { return size_; }
  // New elements are default-constructed.
  void GrowTo(std::size_t size) {
    if (size <= size_) return;
    while (chunks_.size() * kChunk < size) chunks_.push_back(std::make_unique<T[]>(kChunk));
    size_ = size;
  }

 private:
  static constexpr std::size_t kChunk = 256;
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::size_t size_ = 0;
};

// Keys are read from the objects, not stored again. Ids are below limit() and reused after Erase.
class EntryTable {
 public:
  explicit EntryTable(const ObjectForm& form) : form_(&form) {}

  std::size_t size() const { return size_; }
  EntryId limit() const { return static_cast<EntryId>(entries_.size()); }
  // Null if the id is free.
  const ObjectRef& At(EntryId id) const { return entries_[id].object; }
  ObjectRef Take(EntryId id) { return std::move(entries_[id].object); }  // the entry is unusable afterwards

  EntryId Find(std::string_view ns, std::string_view name) const;
  struct Put {
    EntryId id = kNoEntry;
    ObjectRef before{};
  };
  Put Set(ObjectRef object);
  ObjectRef Erase(EntryId id);
  void Reserve(std::size_t objects);

 private:
  struct Entry {
    ObjectRef object{};
    std::uint32_t hash = 0;
    EntryId next_free = kNoEntry;
  };
  struct Slot {
    std::uint32_t hash = 0;
    EntryId id = kNoEntry;
  };
  std::size_t FindSlot(std::uint32_t hash, std::string_view ns, std::string_view name) const;  // a free one if there is none
  void Rebuild(std::size_t slots);

  const ObjectForm* form_;
  Chunked<Entry> entries_;
  EntryId free_ = kNoEntry;
  std::size_t size_ = 0;
  std::vector<Slot> slots_;  // open addressing, a power of two
};

class IdIndex {
 public:
  using Bucket = std::vector<EntryId>;  // in no particular order

  // Sets the values of the id, replacing all others. Duplicates count once.
  void Set(EntryId id, std::span<const String> values);
  void Erase(EntryId id) { Set(id, {}); }
  // Returns null if nothing has the value.
  const Bucket* Find(std::string_view value) const;
  std::size_t Count(std::string_view value) const {
    const Bucket* bucket = Find(value);
    return bucket == nullptr ? 0 : bucket->size();
  }
  std::vector<String> Values() const;
  void Reserve(std::size_t ids) { places_.GrowTo(ids); }

 private:
  struct Equal {
    using is_transparent = void;
    bool operator()(std::string_view a, std::string_view b) const { return a == b; }
  };
  using Buckets = std::unordered_map<String, Bucket, KeyedHash, Equal>;
  // The position of an id in a bucket, so that removing it takes one swap.
  struct Place {
    Buckets::value_type* bucket = nullptr;
    std::uint32_t at = 0;
    std::uint32_t next = 0;  // the next position of the same id, as an index into more_ plus 1; 0 for none
  };
  bool HasExactly(EntryId id, std::span<const String> values) const;
  void AddTo(EntryId id, const String& value);
  void TakeOut(const Place& place);
  void EraseAll(EntryId id);

  Buckets buckets_;
  Chunked<Place> places_;    // by id
  std::vector<Place> more_;  // for ids with more than one value
  std::uint32_t free_more_ = 0;
};

}  // namespace kube::internal
