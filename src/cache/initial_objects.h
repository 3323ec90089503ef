// InitialObjects: what came of a list that is a stream so far, by key.
//
// Two blocks, whatever their number: a node for each object would lie between the objects, and leave a hole there when the list is done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/keyed_hash.h"
#include "kube/cache/object.h"

namespace kube::internal {

// Thread safety: as standard containers.
class InitialObjects {
 public:
  explicit InitialObjects(const ObjectForm& form) : form_(form) {}

  // In the place of the one with the same key, if there is one.
  void Set(ObjectRef object) {
    if ((objects_.size() + 1) * 8 > slots_.size() * 7) Grow();
    const String& ns = form_.Namespace(object.get());
    const String& name = form_.Name(object.get());
    Slot& slot = Find(ns, name);
    if (slot.at != kNone) {
      objects_[slot.at] = std::move(object);
      return;
    }
    slot = {Hash(ns, name), static_cast<std::uint32_t>(objects_.size())};
    objects_.push_back(std::move(object));
  }
  // The one with this key.
  void Erase(const ObjectKey& key) {
    if (slots_.empty()) return;
    // The slot stays: searches for others go on behind it.
    if (const Slot& slot = Find(key.ns, key.name); slot.at != kNone) objects_[slot.at] = nullptr;
  }
  void Erase(const void* object) { Erase(form_.Key(object)); }
  // All, in the order in which they came first.
  std::vector<ObjectRef> Take() && {
    std::vector<Slot>().swap(slots_);
    std::erase(objects_, nullptr);
    return std::move(objects_);
  }

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::size_t kFewestSlots = 64;
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t at = kNone;
  };

  static std::uint32_t Hash(const String& ns, const String& name) {
    return static_cast<std::uint32_t>(KeyedHash::Of(ns.view(), name.view()));
  }
  // That of the object with this key, or a free one.
  Slot& Find(const String& ns, const String& name) {
    const std::uint32_t hash = Hash(ns, name);
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash & mask;
    for (; slots_[i].at != kNone; i = (i + 1) & mask) {
      const void* const other = slots_[i].hash == hash ? objects_[slots_[i].at].get() : nullptr;
      if (other != nullptr && form_.Name(other) == name && form_.Namespace(other) == ns) break;
    }
    return slots_[i];
  }
  void Grow() {
    std::vector<Slot> old(slots_.empty() ? kFewestSlots : slots_.size() * 2);
    slots_.swap(old);
    const std::size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.at == kNone) continue;
      std::size_t i = slot.hash & mask;
      while (slots_[i].at != kNone) i = (i + 1) & mask;
      slots_[i] = slot;
    }
  }

  const ObjectForm& form_;
  std::vector<ObjectRef> objects_;  // null: erased
  std::vector<Slot> slots_;         // open addressing, a power of two; at most seven of eight in use
};

}  // namespace kube::internal
