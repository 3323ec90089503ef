// The memory of List, Map and Box: reference-counted blocks. Not a public interface; use the containers.
//
// Lent blocks. A mutable reference (`auto& c = pod.spec.containers[0]`) may be used for writing at any time, even after the object was
// copied. A block that has returned one is therefore lent: it is never shared again, and a copy of its container gets its own block, which
// is not lent. All blocks that contain a lent block are lent, too, because a reference into it was obtained through them or it was moved
// into them (HoldsLent). So a block that is not lent contains no lent one. Settle clears the mark of an object that has no mutable
// references left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "kube/base/export.h"
#include "kube/base/ref_count.h"
#include "kube/value/type_info.h"

namespace kube::internal {

// Header of the block of a List or Map; the elements follow.
struct ArrayRep {
  RefCount refs;
  std::uint32_t size;
  std::uint32_t capacity;
  std::uint32_t lent;  // 0 or 1; 1 only if refs is 1
  char* data() { return reinterpret_cast<char*>(this + 1); }
};
static_assert(sizeof(ArrayRep) == 16);

// Header of the block of a Box; the object follows.
struct BoxRep {
  RefCount refs;
  std::uint32_t lent;  // as in ArrayRep
  char* data() { return reinterpret_cast<char*>(this + 1); }
};
static_assert(sizeof(BoxRep) == 8);

// New blocks have one reference and zeroed contents, which are the default values.
KUBE_EXPORT ArrayRep* NewArray(std::size_t capacity, std::size_t element_size);
KUBE_EXPORT BoxRep* NewBox(std::size_t size);
KUBE_EXPORT void FreeBlock(void* rep) noexcept;

// Drops one reference. The last one destroys the elements, which are structs of `type`.
KUBE_EXPORT void ReleaseStructArray(ArrayRep* rep, const TypeInfo& type) noexcept;
KUBE_EXPORT void ReleaseBox(BoxRep* rep, const TypeInfo& type) noexcept;
// Returns a private copy with room for `capacity` elements.
KUBE_EXPORT ArrayRep* CopyStructArray(ArrayRep* rep, std::size_t capacity, const TypeInfo& type);
KUBE_EXPORT BoxRep* CopyBox(BoxRep* rep, const TypeInfo& type);
// Returns the block with one more owner, or a private copy if it is lent.
KUBE_EXPORT ArrayRep* ShareStructArray(ArrayRep* rep, const TypeInfo& type);
KUBE_EXPORT BoxRep* ShareBox(BoxRep* rep, const TypeInfo& type);

// Whether the struct refers to a lent block.
KUBE_EXPORT bool StructHoldsLent(const TypeInfo& type, const void* object);
KUBE_EXPORT void SettleStruct(const TypeInfo& type, void* object);

// The same for a value of any field type; containers have both as members.
template <typename T>
bool HoldsLent(const T& value) {
  if constexpr (Described<T>) {
    return StructHoldsLent(T::kType, &value);
  } else if constexpr (requires { value.HoldsLent(); }) {
    return value.HoldsLent();
  } else {
    return false;
  }
}
// Promises that no mutable references into `value` are left, so that copies share all of it.
template <typename T>
void Settle(T& value) {
  if constexpr (Described<T>) {
    SettleStruct(T::kType, &value);
  } else if constexpr (requires { value.Settle(); }) {
    value.Settle();
  }
}

// For code that writes to `value` through references and keeps none of them: if it was not lent before, it is not lent afterwards.
template <typename T>
class Unlent {
 public:
  explicit Unlent(T& value) : value_(value), lent_(HoldsLent(value)) {}
  Unlent(const Unlent&) = delete;
  Unlent& operator=(const Unlent&) = delete;
  ~Unlent() {
    if (!lent_) Settle(value_);
  }
  // Marks that `part` is moved into the value; references into it may still exist.
  template <typename U>
  U&& Takes(U&& part) {
    lent_ = lent_ || HoldsLent(part);
    return std::forward<U>(part);
  }

 private:
  T& value_;
  bool lent_;
};

// The table of a List or Map in the place of a struct; defined in kube/value/member_type.h.
template <typename Container, bool bytes = false>
struct ContainerTable;
template <typename T>
constexpr const TypeInfo& TableOf() {
  if constexpr (Described<T>) {
    return T::kType;
  } else {
    return ContainerTable<T>::kType;
  }
}

// Whether a T may be moved by copying its bytes, as growing blocks do. Types declare it with `static constexpr bool kMovesByBytes = true`.
template <typename T>
constexpr bool MovesByBytes() {
  if constexpr (std::is_trivially_copyable_v<T> || Described<T>) {
    return true;
  } else {
    return requires { requires T::kMovesByBytes; };
  }
}

// All-zero bytes: the default value of every struct and field type.
inline constexpr std::size_t kZeroBytes = 4096;
KUBE_EXPORT extern const unsigned char kZeroes[kZeroBytes];
template <typename T>
const T& DefaultValue() {
  static_assert(sizeof(T) <= kZeroBytes);
  return *static_cast<const T*>(static_cast<const void*>(kZeroes));
}

}  // namespace kube::internal
