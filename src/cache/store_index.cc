#include "cache/store_index.h"

#include <algorithm>

namespace kube::internal {

// ---- EntryTable ----

namespace {
constexpr std::size_t kFewestSlots = 16;

std::uint32_t HashKey(std::string_view ns, std::string_view name) { return static_cast<std::uint32_t>(KeyedHash::Of(ns, name)); }

// At most seven of eight slots are in use.
std::size_t SlotsFor(std::size_t objects) {
  std::size_t slots = kFewestSlots;
  while (slots * 7 / 8 < objects) slots *= 2;
  return slots;
}
}  // namespace

std::size_t EntryTable::FindSlot(std::uint32_t hash, std::string_view ns, std::string_view name) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash & mask;
  for (; slots_[i].id != kNoEntry; i = (i + 1) & mask) {
    if (slots_[i].hash != hash) continue;
    const void* object = entries_[slots_[i].id].object.get();
    if (form_->Name(object).view() == name && form_->Namespace(object).view() == ns) break;
  }
  return i;
}

EntryId EntryTable::Find(std::string_view ns, std::string_view name) const {
  if (slots_.empty()) return kNoEntry;
  return slots_[FindSlot(HashKey(ns, name), ns, name)].id;
}

EntryTable::Put EntryTable::Set(ObjectRef object) {
  if (SlotsFor(size_ + 1) > slots_.size()) Rebuild(SlotsFor(size_ + 1));
  const std::string_view ns = form_->Namespace(object.get()).view();
  const std::string_view name = form_->Name(object.get()).view();
  const std::uint32_t hash = HashKey(ns, name);
  Slot& slot = slots_[FindSlot(hash, ns, name)];
  if (slot.id != kNoEntry) return {slot.id, std::exchange(entries_[slot.id].object, std::move(object))};
  EntryId id = free_;
  if (id == kNoEntry) {
    id = limit();
    entries_.GrowTo(id + std::size_t{1});
  } else {
    free_ = entries_[id].next_free;
  }
  entries_[id].object = std::move(object);
  entries_[id].hash = hash;
  slot = {hash, id};
  ++size_;
  return {id, nullptr};
}

ObjectRef EntryTable::Erase(EntryId id) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t hole = entries_[id].hash & mask;
  while (slots_[hole].id != id) hole = (hole + 1) & mask;
  // Those behind move up, so that no search ends too early.
  for (std::size_t i = (hole + 1) & mask; slots_[i].id != kNoEntry; i = (i + 1) & mask) {
    const std::size_t wanted = slots_[i].hash & mask;
    if (((i - wanted) & mask) < ((i - hole) & mask)) continue;  // it would come to stand before its place
    slots_[hole] = slots_[i];
    hole = i;
  }
  slots_[hole] = {};
  --size_;
  entries_[id].next_free = free_;
  free_ = id;
  ObjectRef gone = std::move(entries_[id].object);
  if (slots_.size() > kFewestSlots && size_ < slots_.size() / 8) Rebuild(slots_.size() / 4);
  return gone;
}

void EntryTable::Reserve(std::size_t objects) {
  if (SlotsFor(objects) > slots_.size()) Rebuild(SlotsFor(objects));
}

void EntryTable::Rebuild(std::size_t slots) {
  std::vector<Slot> old(std::max(slots, kFewestSlots));
  slots_.swap(old);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kNoEntry) continue;
    std::size_t i = slot.hash & mask;
    while (slots_[i].id != kNoEntry) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

// ---- IdIndex ----

void IdIndex::Set(EntryId id, std::span<const String> values) {
  if (HasExactly(id, values)) return;
  EraseAll(id);
  if (values.size() == 1) {
    AddTo(id, values.front());
    return;
  }
  std::vector<String> unique(values.begin(), values.end());
  std::sort(unique.begin(), unique.end());
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  for (const String& value : unique) AddTo(id, value);
}

// Handles only the usual cases: no value, and one.
bool IdIndex::HasExactly(EntryId id, std::span<const String> values) const {
  const Place* place = id < places_.size() ? &places_[id] : nullptr;
  if (place == nullptr || place->bucket == nullptr) return values.empty();
  return values.size() == 1 && place->next == 0 && place->bucket->first == values.front();
}

void IdIndex::AddTo(EntryId id, const String& value) {
  places_.GrowTo(id + std::size_t{1});
  Buckets::value_type& bucket = *buckets_.try_emplace(value).first;
  Place place{.bucket = &bucket, .at = static_cast<std::uint32_t>(bucket.second.size())};
  bucket.second.push_back(id);
  if (places_[id].bucket == nullptr) {
    places_[id] = place;
    return;
  }
  place.next = places_[id].next;
  if (free_more_ != 0) {
    places_[id].next = std::exchange(free_more_, more_[free_more_ - 1].next);
    more_[places_[id].next - 1] = place;
  } else {
    more_.push_back(place);
    places_[id].next = static_cast<std::uint32_t>(more_.size());
  }
}

void IdIndex::TakeOut(const Place& place) {
  Bucket& ids = place.bucket->second;
  const EntryId last = ids.back();
  ids[place.at] = last;
  ids.pop_back();
  if (ids.empty()) {
    buckets_.erase(buckets_.find(place.bucket->first.view()));
    return;
  }
  if (ids.capacity() > 16 && ids.size() < ids.capacity() / 4) ids.shrink_to_fit();
  if (place.at == ids.size()) return;  // it was the last itself
  Place* moved = &places_[last];
  while (moved->bucket != place.bucket) moved = &more_[moved->next - 1];
  moved->at = place.at;
}

void IdIndex::EraseAll(EntryId id) {
  if (id >= places_.size() || places_[id].bucket == nullptr) return;
  TakeOut(places_[id]);
  std::uint32_t next = std::exchange(places_[id], Place()).next;
  while (next != 0) {
    Place& place = more_[next - 1];
    TakeOut(place);
    place.bucket = nullptr;
    const std::uint32_t behind = std::exchange(place.next, free_more_);
    free_more_ = std::exchange(next, behind);
  }
}

const IdIndex::Bucket* IdIndex::Find(std::string_view value) const {
  const auto found = buckets_.find(value);
  return found == buckets_.end() ? nullptr : &found->second;
}

std::vector<String> IdIndex::Values() const {
  std::vector<String> values;
  values.reserve(buckets_.size());
  for (const auto& [value, ids] : buckets_) values.push_back(value);
  return values;
}

}  // namespace kube::internal
