#include "kube/value/shared.h"

#include <limits>
#include <stdexcept>

namespace kube::internal {

alignas(16) const unsigned char kZeroes[kZeroBytes] = {};

ArrayRep* NewArray(std::size_t capacity, std::size_t element_size) {
  if (capacity > std::numeric_limits<std::uint32_t>::max()) throw std::length_error("kube::List: more than 2^32 elements");
  std::size_t bytes = sizeof(ArrayRep) + capacity * element_size;
  void* block = ::operator new(bytes);
  std::memset(block, 0, bytes);
  auto* rep = static_cast<ArrayRep*>(block);
  rep->refs.Increment();
  rep->capacity = static_cast<std::uint32_t>(capacity);
  return rep;
}

BoxRep* NewBox(std::size_t size) {
  void* block = ::operator new(sizeof(BoxRep) + size);
  std::memset(block, 0, sizeof(BoxRep) + size);
  auto* rep = static_cast<BoxRep*>(block);
  rep->refs.Increment();
  return rep;
}

void FreeBlock(void* rep) noexcept { ::operator delete(rep); }

void ReleaseStructArray(ArrayRep* rep, const TypeInfo& type) noexcept {
  if (!rep->refs.DropsLast()) return;
  char* at = rep->data();
  for (std::uint32_t i = 0; i < rep->size; ++i, at += type.size) DestroyObject(type, at);
  FreeBlock(rep);
}

void ReleaseBox(BoxRep* rep, const TypeInfo& type) noexcept {
  if (!rep->refs.DropsLast()) return;
  DestroyObject(type, rep->data());
  FreeBlock(rep);
}

ArrayRep* CopyStructArray(ArrayRep* rep, std::size_t capacity, const TypeInfo& type) {
  ArrayRep* fresh = NewArray(capacity, type.size);
  fresh->size = rep->size;  // zeroes are default values, so it can be released at any moment
  try {
    for (std::uint32_t i = 0; i < rep->size; ++i) {
      CopyObject(type, fresh->data() + std::size_t{i} * type.size, rep->data() + std::size_t{i} * type.size);
    }
  } catch (...) {
    ReleaseStructArray(fresh, type);
    throw;
  }
  return fresh;
}

BoxRep* CopyBox(BoxRep* rep, const TypeInfo& type) {
  BoxRep* fresh = NewBox(type.size);
  try {
    CopyObject(type, fresh->data(), rep->data());
  } catch (...) {
    FreeBlock(fresh);
    throw;
  }
  return fresh;
}

ArrayRep* ShareStructArray(ArrayRep* rep, const TypeInfo& type) {
  if (rep->lent != 0) return CopyStructArray(rep, rep->size, type);
  rep->refs.Increment();
  return rep;
}

BoxRep* ShareBox(BoxRep* rep, const TypeInfo& type) {
  if (rep->lent != 0) return CopyBox(rep, type);
  rep->refs.Increment();
  return rep;
}

}  // namespace kube::internal
