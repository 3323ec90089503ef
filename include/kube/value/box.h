// Box<T>: an optional struct in an API object. One pointer wide, reference-counted, copied on write.
// Box<List<T>> and Box<Map<T>> (with kube/value/table.h) are for fields for which `[]` or `{}` differs from absent.
//
//   if (pod.spec.security_context->run_as_non_root.value_or(false)) ...   // valid even if security_context is absent: reads a default
//   pod.spec.security_context.Mutable().run_as_user = 1000;               // creates it if absent, copies it if shared, then writes
//
// Reading never creates the object, and writing is always explicit; that is why `->` is read-only.
// Copying and thread safety: as List.
#pragma once

#include <utility>

#include "kube/value/shared.h"

namespace kube {

// An optional, implicitly shared T.
template <typename T>
class Box {
 public:
  static constexpr bool kMovesByBytes = true;

  Box() noexcept = default;
  Box(T object) : rep_(internal::NewBox(sizeof(T))) {  // NOLINT(google-explicit-constructor)
    if (internal::HoldsLent(object)) rep_->lent = 1;
    *reinterpret_cast<T*>(rep_->data()) = std::move(object);
  }
  Box(const Box& other) : rep_(other.rep_ == nullptr ? nullptr : internal::ShareBox(other.rep_, internal::TableOf<T>())) {}
  Box(Box&& other) noexcept : rep_(std::exchange(other.rep_, nullptr)) {}
  // Takes its argument by value: `b.Mutable().child = b` copies b before it writes, so a Box never contains itself.
  Box& operator=(Box other) noexcept {
    std::swap(rep_, other.rep_);
    return *this;
  }
  ~Box() {
    if (rep_ != nullptr) internal::ReleaseBox(rep_, internal::TableOf<T>());
  }

  bool has_value() const { return rep_ != nullptr; }
  explicit operator bool() const { return rep_ != nullptr; }

  // The object, or a default one if absent.
  const T& operator*() const { return rep_ == nullptr ? internal::DefaultValue<T>() : *reinterpret_cast<const T*>(rep_->data()); }
  const T* operator->() const { return &**this; }

  // The object for writing. Creates it if absent, copies it if shared. The reference is invalidated by the next write to the Box.
  T& Mutable() {
    if (rep_ == nullptr) {
      rep_ = internal::NewBox(sizeof(T));
    } else if (!rep_->refs.IsOne()) {
      internal::BoxRep* fresh = internal::CopyBox(rep_, internal::TableOf<T>());
      internal::ReleaseBox(rep_, internal::TableOf<T>());
      rep_ = fresh;
    }
    rep_->lent = 1;
    return *reinterpret_cast<T*>(rep_->data());
  }
  // Makes it absent.
  void reset() { Box().swap(*this); }
  void swap(Box& other) noexcept { std::swap(rep_, other.rep_); }

  // For the implementation; see shared.h.
  bool HoldsLent() const { return rep_ != nullptr && rep_->lent != 0; }
  void Settle() {
    if (!HoldsLent()) return;
    rep_->lent = 0;
    internal::SettleStruct(internal::TableOf<T>(), rep_->data());
  }

  // True if both refer to the same object in memory.
  bool SharesWith(const Box& other) const { return rep_ != nullptr && rep_ == other.rep_; }

  // Absent equals only absent: `affinity: {}` differs from no affinity.
  friend bool operator==(const Box& a, const Box& b) {
    return a.rep_ == b.rep_ || (a.rep_ != nullptr && b.rep_ != nullptr && EqualObjects(internal::TableOf<T>(), &*a, &*b));
  }

 private:
  internal::BoxRep* rep_ = nullptr;
};

}  // namespace kube
