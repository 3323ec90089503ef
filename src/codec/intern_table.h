// The table of an Interner: maps the keyed hash of raw bytes to the finished part.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/keyed_hash.h"
#include "kube/codec/interner.h"
#include "kube/value/raw.h"
#include "kube/value/shared.h"
#include "kube/value/string.h"
#include "value/field_access.h"

namespace kube::internal {

// Stand for the lists and objects of Values, which have no table.
inline constexpr FieldInfo kValueListPart{.json_name = {}, .kind = FieldKind::kInline, .shape = FieldShape::kList};
inline constexpr FieldInfo kValueObjectPart{.json_name = {}, .kind = FieldKind::kInline, .shape = FieldShape::kMap};

class InternTable {
 public:
  enum class Format : std::uint8_t { kJson, kProtobuf };

  struct Key {
    std::uint64_t low;
    std::uint64_t high;
  };

  // What the caller must do with a part.
  enum class Verdict : std::uint8_t {
    kNotAsked,  // not looked up: decode it
    kFound,     // use the part that was found
    kFirst,     // first sighting: decode it, then call Add
    kAgain,     // seen before: decode it, then call Add, which keeps it
  };

  InternTable();
  ~InternTable();
  InternTable(const InternTable&) = delete;
  InternTable& operator=(const InternTable&) = delete;

  // Larger parts are not looked up, but the parts inside them are.
  static constexpr std::size_t kMaxBytes = 64 * 1024;
  // Parts nested deeper than this are not looked up. Each byte is therefore in a bounded number of parts, and the cost of a hostile object
  // is proportional to its size. Real objects are hardly half as deep.
  static constexpr int kMaxDepth = 32;

  // These functions look up `bytes` as a part of that type. They return a new reference if it is found, and otherwise the key for Add.
  // `selection`: id of the selection node under which the part is decoded, 0 for none.
  Verdict FindString(std::string_view bytes, String& out, Key& key) {
    key = MakeKey(bytes, 1);
    const Slot* slot = Find(key, bytes.size());
    if (slot == nullptr) return Sighted(key);
    out = slot->text()->text();
    return Verdict::kFound;
  }
  // JSON that stays text. Text found for format JSON was validated and is compact, so it must not be mixed with unvalidated text.
  Verdict FindRawJson(Format format, std::string_view json, RawJson& out, Key& key) {
    key = MakeKey(json, format == Format::kJson ? 2 : 3);
    const Slot* slot = Find(key, json.size());
    if (slot == nullptr) return Sighted(key);
    out = *slot->text();
    return Verdict::kFound;
  }
  Verdict FindBox(Format format, const TypeInfo& type, std::uint64_t selection, std::string_view bytes, BoxRep*& out, Key& key) {
    key = MakeKey(bytes, Salt(format, &type, FieldKind::kMessage, FieldShape::kOptional), selection);
    const Slot* slot = Find(key, bytes.size());
    if (slot == nullptr) return Sighted(key);
    out = static_cast<BoxRep*>(slot->part.rep);
    out->refs.Increment();
    return Verdict::kFound;
  }
  Verdict FindArray(Format format, const FieldInfo& field, std::uint64_t selection, std::string_view bytes, ArrayRep*& out, Key& key) {
    key = MakeKey(bytes, Salt(format, field.type, field.kind, field.shape), selection);
    const Slot* slot = Find(key, bytes.size());
    if (slot == nullptr) return Sighted(key);
    out = static_cast<ArrayRep*>(slot->part.rep);
    out->refs.Increment();
    return Verdict::kFound;
  }

  // The hash of a part that may exist in an object's earlier version; never 0.
  std::uint64_t HashOf(std::string_view bytes) {
    hashed_bytes_ += bytes.size();
    const std::uint64_t hash = KeyedHash::Of128(secret_, bytes, 0, 0).low;
    return hash == 0 ? 1 : hash;
  }

  // Counts a part that the decoder found equal to its predecessor without a lookup.
  void CountHit(std::size_t bytes) {
    ++lookups_;
    ++hits_;
    hit_bytes_ += bytes;
  }

  // Counts tokens that were scanned to find the end of a part.
  void CountScan(std::size_t tokens) { scanned_tokens_ += tokens; }

  // These functions take their own reference. They do nothing if the part was not looked up.
  void AddString(Verdict verdict, const Key& key, const String& text);
  // For a text that was not found. If it nearly equals an earlier one, only the difference is stored.
  RawJson MakeRawJson(Verdict verdict, const Key& key, std::string_view text);
  void AddBox(Verdict verdict, const Key& key, const TypeInfo& type, BoxRep* rep);
  void AddArray(Verdict verdict, const Key& key, const FieldInfo& field, ArrayRep* rep);

  void Sweep();
  Interner::Stats stats() const;

 private:
  enum class Kind : std::uintptr_t { kFree, kString, kBox, kArray };
  struct Part {
    void* rep;
    const void* info;  // TypeInfo of a Box, FieldInfo of an array
  };
  // A text, or a block with its table. Two low bits of the key, which are not compared, distinguish them.
  struct Slot {
    Key key{0, 0};
    union {
      unsigned char text_bytes[sizeof(RawJson)];
      Part part;
    };
    Slot() : part{nullptr, nullptr} {}
    bool Has(const Key& k) const { return key.low == k.low && (key.high & ~std::uint64_t{3}) == k.high; }
    Kind kind() const { return static_cast<Kind>(key.high & 3); }
    const RawJson* text() const { return reinterpret_cast<const RawJson*>(text_bytes); }
    RawJson* text() { return reinterpret_cast<RawJson*>(text_bytes); }
  };
  static_assert(sizeof(Slot) == 32);

  static std::uint64_t Salt(Format format, const TypeInfo* type, FieldKind kind, FieldShape shape) {
    return reinterpret_cast<std::uintptr_t>(type) ^ (static_cast<std::uint64_t>(kind) << 56) ^ (static_cast<std::uint64_t>(shape) << 52) ^
           (static_cast<std::uint64_t>(format) << 50) ^ (std::uint64_t{1} << 63);
  }
  Key MakeKey(std::string_view bytes, std::uint64_t salt, std::uint64_t selection = 0) {
    hashed_bytes_ += bytes.size();
    // The salt separates equal bytes of different types.
    const KeyedHash::Pair hash = KeyedHash::Of128(secret_, bytes, salt, selection);
    return {hash.low, hash.high & ~std::uint64_t{3}};
  }
  const Slot* Find(const Key& key, std::size_t bytes) {
    ++lookups_;
    for (std::size_t i = key.low & mask_;; i = (i + 1) & mask_) {
      const Slot& slot = slots_[i];
      if (slot.kind() == Kind::kFree) break;
      if (slot.Has(key)) return Hit(slot, bytes);
    }
    const Slot& recent = recent_[RecentIndex(key)];
    return recent.kind() != Kind::kFree && recent.Has(key) ? Hit(recent, bytes) : nullptr;
  }
  const Slot* Hit(const Slot& slot, std::size_t bytes) {
    ++hits_;
    hit_bytes_ += bytes;
    return &slot;
  }
  // The first sighting leaves a fingerprint, which later ones may overwrite, and temporarily the part itself: parts that repeat only within
  // one object need no place in the table.
  Verdict Sighted(const Key& key) {
    std::uint32_t& fingerprint = sighted_[(key.high >> 8) & (sighted_.size() - 1)];
    auto mine = static_cast<std::uint32_t>(key.low >> 32) | 1U;
    if (fingerprint == mine) return Verdict::kAgain;
    fingerprint = mine;
    if (++first_sightings_ >= sighted_.size() && sighted_.size() < kMostSightings) MoreSightings();
    return Verdict::kFirst;
  }
  void MoreSightings();
  std::size_t BaseIndex(std::string_view text) const;
  static std::size_t RecentIndex(const Key& key) { return (key.high >> 40) % kRecent; }
  Slot& Place(Verdict verdict, const Key& key, Kind kind);
  Slot& PlaceForGood(const Key& key, Kind kind);
  void Rebuild(std::size_t capacity);
  static bool InUse(const Slot& slot);
  static void Drop(Slot& slot);

  static constexpr std::size_t kFewestSightings = 1 << 11;  // powers of two
  static constexpr std::size_t kMostSightings = 1 << 16;
  static constexpr std::size_t kRecent = 256;
  static constexpr std::size_t kBases = 64;
  static constexpr std::size_t kFewestForDifference = 128;  // bytes of a text

  const KeyedHash::Secret& secret_ = KeyedHash::ProcessSecret();
  std::vector<Slot> slots_;
  std::size_t mask_;
  std::size_t used_ = 0;
  std::vector<std::uint32_t> sighted_;
  std::size_t first_sightings_ = 0;  // since the fingerprint table was last enlarged
  std::vector<Slot> recent_;
  std::vector<String> bases_;  // texts that others may resemble, indexed by their beginning and length
  std::uint64_t lookups_ = 0, hits_ = 0, hit_bytes_ = 0, hashed_bytes_ = 0, scanned_tokens_ = 0;
};

struct InternAccess {
  static InternTable& TableOf(Interner& interner) { return *interner.table_; }
};

}  // namespace kube::internal
