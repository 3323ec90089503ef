// The memory under List, Map and Box: reference-counted blocks. Not for users; the containers are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "kube/base/export.h"
#include "kube/base/ref_count.h"
#include "kube/value/type_info.h"

namespace kube::internal {

// Header of a List's or Map's block; the elements follow.
struct ArrayRep {
  RefCount refs;
  std::uint32_t size;
  std::uint32_t capacity;
  std::uint32_t reserved;
  char* data() { return reinterpret_cast<char*>(this + 1); }
};
static_assert(sizeof(ArrayRep) == 16);

// Header of a Box's block; the object follows.
struct BoxRep {
  RefCount refs;
  std::uint32_t reserved;
  char* data() { return reinterpret_cast<char*>(this + 1); }
};
static_assert(sizeof(BoxRep) == 8);

// New blocks have one reference and zeroed (hence default) contents.
KUBE_EXPORT ArrayRep* NewArray(std::size_t capacity, std::size_t element_size);
KUBE_EXPORT BoxRep* NewBox(std::size_t size);
KUBE_EXPORT void FreeBlock(void* rep) noexcept;

// Drops one reference; the last one destroys the elements, which are structs of `type`.
KUBE_EXPORT void ReleaseStructArray(ArrayRep* rep, const TypeInfo& type) noexcept;
KUBE_EXPORT void ReleaseBox(BoxRep* rep, const TypeInfo& type) noexcept;
// A private copy with room for `capacity` elements.
KUBE_EXPORT ArrayRep* CopyStructArray(ArrayRep* rep, std::size_t capacity, const TypeInfo& type);
KUBE_EXPORT BoxRep* CopyBox(BoxRep* rep, const TypeInfo& type);

// All-zero bytes: the default value of every struct and field type.
inline constexpr std::size_t kZeroBytes = 4096;
KUBE_EXPORT extern const unsigned char kZeroes[kZeroBytes];
template <typename T>
const T& DefaultValue() {
  static_assert(sizeof(T) <= kZeroBytes);
  return *static_cast<const T*>(static_cast<const void*>(kZeroes));
}

}  // namespace kube::internal
