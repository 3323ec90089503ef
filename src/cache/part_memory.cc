#include "cache/part_memory.h"

#include <algorithm>
#include <bit>
#include <unordered_set>
#include <utility>

#include "base/keyed_hash.h"

namespace kube::internal {

bool PartMemory::Helps(const TypeInfo* type) {
  return type != nullptr && std::any_of(type->begin(), type->end(), [](const FieldInfo& field) {
           return (field.number == 2 || field.number == 3) && field.kind == FieldKind::kMessage && field.shape == FieldShape::kPlain;
         });
}

std::uint32_t PartMemory::TagOf(const void* object) const {
  return static_cast<std::uint32_t>(KeyedHash::Of({}, form_.Uid(object).view())) | 0x80000000U;
}

std::uint64_t PartMemory::VersionOf(const void* object) const {
  // The address is part of the hash: another object of the same version is not the one that was decoded.
  return KeyedHash::Of(form_.Uid(object).view(), form_.ResourceVersion(object).view()) +
         reinterpret_cast<std::uintptr_t>(object) * 0x9e3779b97f4a7c15ULL;
}

const void* PartMemory::Begin(const void* object, PartHashes& parts) {
  earlier_.reset();
  const String& uid = form_.Uid(object);
  if (uid.empty()) return nullptr;
  ObjectRef found = store_.Get(form_.Namespace(object).view(), form_.Name(object).view());
  if (found == nullptr || form_.Uid(found.get()) != uid) return nullptr;
  const std::size_t at = Find(TagOf(object));
  if (tags_[at] == 0) return nullptr;
  const std::uint64_t version = VersionOf(found.get());
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] = parts_[at][i] - version;
  earlier_ = std::move(found);
  return earlier_.get();
}

void PartMemory::End(const void* object, const PartHashes& parts) {
  earlier_.reset();
  // Without a version, an entry cannot be matched to a state of the object.
  if (form_.Uid(object).empty() || form_.ResourceVersion(object).empty()) return;
  const std::uint32_t tag = TagOf(object);
  if (parts == PartHashes{} && tags_[Find(tag)] == 0) return;
  const std::uint64_t version = VersionOf(object);
  PartHashes of_version = parts;
  for (std::uint64_t& part : of_version) part += version;
  if (used_ * 4 >= capacity() * 3) MakeRoom();
  Put(tag, of_version);
}

std::size_t PartMemory::Find(std::uint32_t tag) const {
  std::size_t at = tag & (capacity() - 1);
  while (tags_[at] != 0 && tags_[at] != tag) at = (at + 1) & (capacity() - 1);
  return at;
}

void PartMemory::Put(std::uint32_t tag, const PartHashes& parts) {
  const std::size_t at = Find(tag);
  if (tags_[at] == 0) ++used_;
  tags_[at] = tag;
  parts_[at] = parts;
}

void PartMemory::Resize(std::size_t capacity) {
  tags_.assign(capacity, 0);
  parts_.assign(capacity, {});
  used_ = 0;
}

void PartMemory::MakeRoom() {
  // Until the first list is complete the store is empty, and all of these are to come.
  const bool first_list = store_.resource_version().empty();
  std::unordered_set<std::uint32_t> alive;
  if (!first_list) {
    for (const ObjectRef& object : store_.List()) alive.insert(TagOf(object.get()));
  }
  const std::vector<std::uint32_t> tags = std::move(tags_);
  const std::vector<PartHashes> parts = std::move(parts_);
  const std::size_t most = first_list ? tags.size() : alive.size();
  Resize(std::bit_ceil(std::max(kFewest, 2 * most)));
  for (std::size_t i = 0; i < tags.size(); ++i) {
    if (tags[i] != 0 && (first_list || alive.contains(tags[i]))) Put(tags[i], parts[i]);
  }
}

}  // namespace kube::internal
