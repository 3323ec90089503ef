// List<T>: the list type of API objects. One pointer wide, reference-counted, copied on write.
//
//   pod.spec.containers.push_back({.name = "web", .image = "nginx"});
//   for (const Container& c : std::as_const(pod.spec.containers)) ...
//
// Copying a List is one atomic increment; the first write to a copy makes it private ("detaches"). Non-const access (operator[], begin)
// counts as a write: read through a const reference if performance matters. push_back, insert, erase and reserve invalidate references and
// iterators. Non-const access also invalidates those that were obtained for reading, because it may detach.
//
// A copy never changes with the original, not even through a reference that was obtained before the copy:
//
//   Container& c = pod.spec.containers[0];
//   Pod before = pod;
//   c.image = "nginx:2";                            // before.spec.containers[0].image is unchanged
//
// The cost: a List that has returned a mutable reference is copied element by element from then on; its copies are cheap to copy again.
//
// Element types: String, numbers, bool, List, Map, Value, Time, Quantity and similar types, and structs with a table. Not std::string.
//
// Thread safety: as std::vector. Copies that share their elements may be used from different threads.
#pragma once

#include <initializer_list>
#include <utility>

#include "kube/value/shared.h"

namespace kube {

// A list of T, with the interface of std::vector where possible.
template <typename T>
class List {
 public:
  using value_type = T;
  using iterator = T*;
  using const_iterator = const T*;
  static constexpr bool kMovesByBytes = true;

  List() noexcept = default;
  List(std::initializer_list<T> items) {
    reserve(items.size());
    for (const T& item : items) Append(item);
  }
  template <typename It>
  requires requires(It it) { *++it; }
  List(It first, It last) {
    for (; first != last; ++first) push_back(T(*first));
  }
  List(const List& other) : rep_(Share(other.rep_)) {}
  List(List&& other) noexcept : rep_(std::exchange(other.rep_, nullptr)) {}
  List& operator=(const List& other) {
    List copy(other);
    std::swap(rep_, copy.rep_);
    return *this;
  }
  List& operator=(List&& other) noexcept {
    List moved(std::move(other));
    std::swap(rep_, moved.rep_);
    return *this;
  }
  ~List() { Release(rep_); }

  std::size_t size() const { return rep_ == nullptr ? 0 : rep_->size; }
  bool empty() const { return size() == 0; }
  const T* data() const { return rep_ == nullptr ? nullptr : Data(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }
  const T* cbegin() const { return begin(); }
  const T* cend() const { return end(); }
  T* begin() {
    Detach(size());
    if (rep_ == nullptr) return nullptr;
    rep_->lent = 1;
    return Data();
  }
  T* end() { return begin() + size(); }
  // Requires: i < size().
  const T& operator[](std::size_t i) const { return Data()[i]; }
  T& operator[](std::size_t i) {
    Detach(size());
    rep_->lent = 1;
    return Data()[i];
  }
  const T& front() const { return (*this)[0]; }
  const T& back() const { return (*this)[size() - 1]; }
  T& front() { return (*this)[0]; }
  T& back() { return (*this)[size() - 1]; }

  // Takes the item by value, so an element of this list may be passed.
  void push_back(T item) {
    Grow(size() + 1);
    if (internal::HoldsLent(item)) rep_->lent = 1;
    new (Data() + rep_->size) T(std::move(item));
    ++rep_->size;
  }
  template <typename... Args>
  T& emplace_back(Args&&... args) {
    push_back(T{std::forward<Args>(args)...});
    rep_->lent = 1;
    return Data()[rep_->size - 1];
  }
  // Requires: i <= size().
  void insert(std::size_t i, T item) {
    Grow(size() + 1);
    if (internal::HoldsLent(item)) rep_->lent = 1;
    MoveBytes(Data() + i + 1, Data() + i, size() - i);
    new (Data() + i) T(std::move(item));
    ++rep_->size;
  }
  // Requires: i < size().
  void erase(std::size_t i) {
    Detach(size());
    Data()[i].~T();
    --rep_->size;
    MoveBytes(Data() + i, Data() + i + 1, size() - i);
  }
  // Removes the items for which `pred` is true. Returns their number.
  template <typename Pred>
  std::size_t erase_if(Pred pred) {
    std::size_t removed = 0;
    for (std::size_t i = 0; i < size();) {
      if (pred(std::as_const(*this)[i])) {
        erase(i);
        ++removed;
      } else {
        ++i;
      }
    }
    return removed;
  }
  void clear() { List().swap(*this); }
  void reserve(std::size_t n) {
    if (n > size()) Detach(n);
  }
  void swap(List& other) noexcept { std::swap(rep_, other.rep_); }
  // As (*this)[i] = item, but without returning a mutable reference. Requires: i < size().
  void Replace(std::size_t i, T item) {
    Detach(size());
    if (internal::HoldsLent(item)) rep_->lent = 1;
    Data()[i] = std::move(item);
  }

  // For the implementation; see shared.h.
  bool HoldsLent() const { return rep_ != nullptr && rep_->lent != 0; }
  void Settle() {
    if (!HoldsLent()) return;
    rep_->lent = 0;
    for (std::size_t i = 0; i < rep_->size; ++i) internal::Settle(Data()[i]);
  }

  // True if both refer to the same elements in memory.
  bool SharesWith(const List& other) const { return rep_ != nullptr && rep_ == other.rep_; }

  friend bool operator==(const List& a, const List& b) {
    if (a.rep_ == b.rep_) return true;
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!(a[i] == b[i])) return false;
    }
    return true;
  }

 private:
  internal::ArrayRep* rep_ = nullptr;

  T* Data() const { return reinterpret_cast<T*>(rep_->data()); }

  // Elements may be moved byte by byte, because no field type depends on its own address.
  static void MoveBytes(T* to, const T* from, std::size_t n) {
    if (n != 0) std::memmove(static_cast<void*>(to), static_cast<const void*>(from), n * sizeof(T));
  }
  void Append(const T& item) {
    new (Data() + rep_->size) T(item);
    ++rep_->size;
  }
  void Grow(std::size_t need) {
    if (rep_ == nullptr || need > rep_->capacity) {
      std::size_t roomy = size() < 4 ? 4 : size() + size() / 2;
      Detach(need < roomy ? roomy : need);
    } else {
      Detach(need);
    }
  }
  // Makes the block private, with room for at least `capacity` elements.
  void Detach(std::size_t capacity) {
    if (rep_ == nullptr) {
      if (capacity != 0) rep_ = internal::NewArray(capacity, sizeof(T));
      return;
    }
    bool alone = rep_->refs.IsOne();
    if (alone && capacity <= rep_->capacity) return;
    internal::ArrayRep* fresh = Copy(rep_, alone, capacity);
    if (alone) {
      fresh->lent = rep_->lent;   // references into elements of elements stay valid
      internal::FreeBlock(rep_);  // its elements were moved byte by byte
    } else {
      Release(rep_);
    }
    rep_ = fresh;
  }
  static internal::ArrayRep* Copy(internal::ArrayRep* rep, bool may_move, std::size_t capacity) {
    if (capacity < rep->size) capacity = rep->size;
    if constexpr (Described<T>) {
      if (!may_move) return internal::CopyStructArray(rep, capacity, T::kType);
    }
    internal::ArrayRep* fresh = internal::NewArray(capacity, sizeof(T));
    fresh->size = rep->size;
    T* to = reinterpret_cast<T*>(fresh->data());
    const T* from = reinterpret_cast<const T*>(rep->data());
    if (may_move || std::is_trivially_copyable_v<T>) {
      MoveBytes(to, from, rep->size);
    } else {
      for (std::size_t i = 0; i < rep->size; ++i) new (to + i) T(from[i]);
    }
    return fresh;
  }
  static internal::ArrayRep* Share(internal::ArrayRep* rep) {
    if (rep == nullptr) return nullptr;
    if constexpr (Described<T>) {
      return internal::ShareStructArray(rep, T::kType);
    } else {
      if (rep->lent != 0) return Copy(rep, false, rep->size);
      rep->refs.Increment();
      return rep;
    }
  }
  static void Release(internal::ArrayRep* rep) noexcept {
    static_assert(
        internal::MovesByBytes<T>(),
        "kube::List<T> and kube::Map<T>: T has to be a field type of kubexx (kube::String instead of std::string, kube::List instead "
        "of std::vector, ...) or a struct that has a table (static const kube::TypeInfo kType)");
    if (rep == nullptr) return;
    if constexpr (Described<T>) {
      internal::ReleaseStructArray(rep, T::kType);
    } else if (rep->refs.DropsLast()) {
      T* items = reinterpret_cast<T*>(rep->data());
      for (std::size_t i = 0; i < rep->size; ++i) items[i].~T();
      internal::FreeBlock(rep);
    }
  }
};

}  // namespace kube
