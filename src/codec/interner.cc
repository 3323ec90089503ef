#include "kube/codec/interner.h"

#include <algorithm>

#include "codec/intern_table.h"
#include "kube/value/value.h"

namespace kube {
namespace internal {
namespace {

constexpr std::size_t kSmallest = 128;

void ReleasePart(const FieldInfo& field, ArrayRep* rep) {
  if (&field == &kValueListPart) {
    std::destroy_at(reinterpret_cast<List<Value>*>(&rep));  // a pointer wide, as all lists and maps
  } else if (&field == &kValueObjectPart) {
    std::destroy_at(reinterpret_cast<Map<Value>*>(&rep));
  } else {
    ReleaseArray(field, rep);
  }
}

}  // namespace

InternTable::InternTable() : slots_(kSmallest), mask_(kSmallest - 1), sighted_(kFewestSightings), recent_(kRecent), bases_(kBases) {}

InternTable::~InternTable() {
  for (Slot& slot : recent_) Drop(slot);
  for (Slot& slot : slots_) Drop(slot);
}

void InternTable::AddString(Verdict verdict, const Key& key, const String& text) {
  if (verdict == Verdict::kNotAsked) return;
  new (Place(verdict, key, Kind::kString).text_bytes) RawJson(text);
}

RawJson InternTable::MakeRawJson(Verdict verdict, const Key& key, std::string_view text) {
  RawJson made;
  if (text.size() < kFewestForDifference) {
    made = String(text);
  } else {
    String& base = bases_[BaseIndex(text)];
    const std::string_view other = base.view();
    const std::size_t least = std::min(text.size(), other.size());
    const std::size_t prefix =
        static_cast<std::size_t>(std::mismatch(text.begin(), text.begin() + least, other.begin()).first - text.begin());
    const std::size_t suffix = static_cast<std::size_t>(
        std::mismatch(text.rbegin(), text.rbegin() + static_cast<std::ptrdiff_t>(least - prefix), other.rbegin()).first - text.rbegin());
    if (prefix == text.size() && prefix == other.size()) {
      made = base;
    } else if (prefix + suffix >= text.size() / 4 * 3) {
      made = RawJson::Difference(base, text, prefix, suffix);
    } else {
      base = String(text);
      made = base;
    }
  }
  if (verdict != Verdict::kNotAsked) new (Place(verdict, key, Kind::kString).text_bytes) RawJson(made);
  return made;
}

std::size_t InternTable::BaseIndex(std::string_view text) const {
  const std::string_view beginning = text.substr(0, 48);
  return (KeyedHash::Of(secret_, {}, beginning) + text.size() / 64) % kBases;
}

void InternTable::AddBox(Verdict verdict, const Key& key, const TypeInfo& type, BoxRep* rep) {
  if (verdict == Verdict::kNotAsked) return;
  rep->refs.Increment();
  Place(verdict, key, Kind::kBox).part = {rep, &type};
}

void InternTable::AddArray(Verdict verdict, const Key& key, const FieldInfo& field, ArrayRep* rep) {
  if (verdict == Verdict::kNotAsked || rep == nullptr) return;
  rep->refs.Increment();
  Place(verdict, key, Kind::kArray).part = {rep, &field};
}

InternTable::Slot& InternTable::Place(Verdict verdict, const Key& key, Kind kind) {
  if (verdict == Verdict::kAgain) return PlaceForGood(key, kind);
  Slot& slot = recent_[RecentIndex(key)];
  Drop(slot);
  slot.key = {key.low, key.high | static_cast<std::uint64_t>(kind)};
  return slot;
}

InternTable::Slot& InternTable::PlaceForGood(const Key& key, Kind kind) {
  if (used_ * 8 >= slots_.size() * 7) {
    Sweep();
    if (used_ * 2 >= slots_.size()) Rebuild(slots_.size() * 2);
  }
  std::size_t i = key.low & mask_;
  while (slots_[i].kind() != Kind::kFree) i = (i + 1) & mask_;
  slots_[i].key = {key.low, key.high | static_cast<std::uint64_t>(kind)};
  ++used_;
  return slots_[i];
}

// An Interner of a few objects should not cost more than they do. A fingerprint's new place is its old one, or that many further: it is
// put at both, and the wrong one does no harm.
void InternTable::MoreSightings() {
  std::size_t old = sighted_.size();
  sighted_.resize(2 * old);
  std::copy_n(sighted_.begin(), old, sighted_.begin() + static_cast<std::ptrdiff_t>(old));
  first_sightings_ = 0;
}

bool InternTable::InUse(const Slot& slot) {
  switch (slot.kind()) {
    case Kind::kString:
      return !slot.text()->SoleOwner();
    case Kind::kBox:
      return !static_cast<BoxRep*>(slot.part.rep)->refs.IsOne();
    case Kind::kArray:
      return !static_cast<ArrayRep*>(slot.part.rep)->refs.IsOne();
    case Kind::kFree:
      break;
  }
  return false;
}

void InternTable::Drop(Slot& slot) {
  switch (slot.kind()) {
    case Kind::kString:
      std::destroy_at(slot.text());
      break;
    case Kind::kBox:
      ReleaseBox(static_cast<BoxRep*>(slot.part.rep), *static_cast<const TypeInfo*>(slot.part.info));
      break;
    case Kind::kArray:
      ReleasePart(*static_cast<const FieldInfo*>(slot.part.info), static_cast<ArrayRep*>(slot.part.rep));
      break;
    case Kind::kFree:
      return;
  }
  slot = Slot();
}

void InternTable::Sweep() {
  for (Slot& slot : recent_) Drop(slot);
  for (String& base : bases_) base.clear();  // those that others differ from live on with them
  // Dropping a part may leave the parts inside it unused: go on until nothing changes.
  for (bool dropped = true; dropped;) {
    dropped = false;
    for (Slot& slot : slots_) {
      if (slot.kind() != Kind::kFree && !InUse(slot)) {
        Drop(slot);
        --used_;
        dropped = true;
      }
    }
  }
  std::size_t capacity = slots_.size();
  while (capacity > kSmallest && used_ * 8 < capacity) capacity /= 2;
  Rebuild(capacity);
}

// Also closes the gaps that dropped slots leave, which linear probing must not meet.
void InternTable::Rebuild(std::size_t capacity) {
  std::vector<Slot> old(capacity);
  old.swap(slots_);
  mask_ = capacity - 1;
  for (Slot& slot : old) {
    if (slot.kind() == Kind::kFree) continue;
    std::size_t i = slot.key.low & mask_;
    while (slots_[i].kind() != Kind::kFree) i = (i + 1) & mask_;
    slots_[i] = slot;  // slots may be moved by copying their bytes
  }
}

Interner::Stats InternTable::stats() const {
  return {lookups_,
          hits_,
          hit_bytes_,
          used_,
          (slots_.size() + recent_.size()) * sizeof(Slot) + sighted_.size() * sizeof(std::uint32_t),
          hashed_bytes_,
          scanned_tokens_};
}

}  // namespace internal

Interner::Interner() : table_(std::make_unique<internal::InternTable>()) {}
Interner::~Interner() = default;
void Interner::Sweep() { table_->Sweep(); }
Interner::Stats Interner::stats() const { return table_->stats(); }

}  // namespace kube
