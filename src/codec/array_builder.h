// Builds the block of a List or Map one element at a time, without knowing the element type at compile time.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <string_view>
#include <vector>

#include "value/field_access.h"

namespace kube::internal {

// The distance in bytes between two elements (entries of a map).
inline std::size_t Stride(const FieldInfo& field) { return field.shape == FieldShape::kMap ? EntrySize(field) : ElementSize(field); }

// Sorts the entries of a map by key. If a key occurs several times, the last entry stays, and on_duplicate(key) is called.
template <typename F>
void SortEntries(const FieldInfo& field, ArrayRep** at, F on_duplicate) {
  std::size_t size = *at == nullptr ? 0 : (*at)->size;
  std::size_t stride = EntrySize(field);
  auto key = [&](std::size_t i) { return Read<String>((*at)->data() + stride * i).view(); };
  bool sorted = true;
  for (std::size_t i = 1; i < size && sorted; ++i) sorted = key(i - 1) < key(i);
  if (sorted) return;
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  // Until the end the entries belong to `*at`.
  using Block = std::unique_ptr<ArrayRep, decltype(&FreeBlock)>;
  Block keep(NewArray(size, stride), &FreeBlock), drop(NewArray(size, stride), &FreeBlock);
  for (std::size_t i = 0; i < size; ++i) {
    bool last = i + 1 == size || key(order[i]) != key(order[i + 1]);
    if (!last) on_duplicate(key(order[i]));
    ArrayRep* to = last ? keep.get() : drop.get();
    std::memcpy(to->data() + stride * to->size++, (*at)->data() + stride * order[i], stride);
  }
  keep->lent = (*at)->lent;
  FreeBlock(*at);  // its entries were moved byte by byte
  *at = keep.release();
  ReleaseArray(field, drop.release());
}

// For a known number of elements: appends to the contents of `*at`, in one block of the exact size. The field is valid at every moment, so
// a decoder may stop anywhere.
class ArrayBuilder {
 public:
  ArrayBuilder(const FieldInfo& field, ArrayRep** at, std::size_t more) : field_(field), at_(at), stride_(Stride(field)) {
    ArrayRep* old = *at_;
    if (old != nullptr && !old->refs.IsOne()) {
      MakePrivate();
      old = *at_;
    }
    ArrayRep* fresh = NewArray((old == nullptr ? 0 : old->size) + more, stride_);
    if (old != nullptr) {
      fresh->size = old->size;
      fresh->lent = old->lent;  // references into elements of elements stay valid
      std::memcpy(fresh->data(), old->data(), stride_ * old->size);
      FreeBlock(old);  // its elements were moved byte by byte
    }
    *at_ = fresh;
  }

  // Adds an element (an entry of a map) with its default value. Requires: not more than announced.
  char* Add() { return (*at_)->data() + stride_ * (*at_)->size++; }

 private:
  const FieldInfo& field_;
  ArrayRep** at_;
  const std::size_t stride_;

  // Copies a shared block, which occurs only if a protobuf list comes in several runs.
  void MakePrivate() {
    ArrayRep* old = *at_;
    ArrayRep* fresh = NewArray(old->size, stride_);
    std::size_t offset = field_.shape == FieldShape::kMap ? kEntryValueOffset : 0;
    fresh->size = old->size;  // zeros are default values, so it can be released at any moment
    try {
      for (std::size_t i = 0; i < old->size; ++i) {
        char* to = fresh->data() + stride_ * i;
        char* from = old->data() + stride_ * i;
        if (offset != 0) new (to) String(Read<String>(from));
        if (field_.kind == FieldKind::kMessage) {
          CopyObject(*field_.type, to + offset, from + offset);
        } else {
          WithScalarType(field_.kind, [&](auto t) {
            using T = typename decltype(t)::type;
            new (to + offset) T(Read<T>(from + offset));
          });
        }
      }
    } catch (...) {
      ReleaseArray(field_, fresh);
      throw;
    }
    *at_ = fresh;
    ReleaseArray(field_, old);
  }
};

// For an unknown number: elements are collected in a reused buffer, then moved to a block of the exact size.
class ScratchArrays {
 public:
  class Builder {
   public:
    Builder(ScratchArrays& pool, const FieldInfo& field) : pool_(pool), field_(field), stride_(Stride(field)), buffer_(pool.Take()) {}
    ~Builder() {
      for (std::size_t i = 0; i < count_; ++i) Drop(buffer_.data() + stride_ * i);
      pool_.Return();
    }
    Builder(const Builder&) = delete;
    Builder& operator=(const Builder&) = delete;

    // Adds an element with its default value. The pointer is valid until the next Add.
    char* Add() {
      std::size_t used = count_ * stride_;
      if (used + stride_ > buffer_.size()) buffer_.resize(std::max<std::size_t>(2 * (used + stride_), 1024));
      char* at = buffer_.data() + used;
      std::memset(at, 0, stride_);
      ++count_;
      return at;
    }
    bool empty() const { return count_ == 0; }
    // Moves all elements into the empty field.
    void Finish(ArrayRep** at) {
      ArrayRep* rep = NewArray(count_, stride_);
      std::memcpy(rep->data(), buffer_.data(), count_ * stride_);
      rep->size = static_cast<std::uint32_t>(count_);
      count_ = 0;
      *at = rep;
    }

   private:
    ScratchArrays& pool_;
    const FieldInfo& field_;
    const std::size_t stride_;
    std::vector<char>& buffer_;
    std::size_t count_ = 0;

    // Destroys in place: a destructor must not allocate.
    void Drop(char* element) noexcept {
      const bool map = field_.shape == FieldShape::kMap;
      if (map) std::destroy_at(&Write<String>(element));
      char* at = element + (map ? kEntryValueOffset : 0);
      if (field_.kind == FieldKind::kMessage) return DestroyObject(*field_.type, at);
      WithScalarType(field_.kind, [&](auto t) { std::destroy_at(&Write<typename decltype(t)::type>(at)); });
    }
  };

 private:
  // One buffer per level of nesting, because lists nest as their builders do.
  std::vector<std::unique_ptr<std::vector<char>>> buffers_;
  std::size_t level_ = 0;

  std::vector<char>& Take() {
    if (level_ == buffers_.size()) buffers_.push_back(std::make_unique<std::vector<char>>());
    return *buffers_[level_++];
  }
  void Return() { --level_; }
};

}  // namespace kube::internal
