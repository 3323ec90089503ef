// AnyObject: a struct whose type is known only at run time, for generic code (convert, the embedded server, caches).
//
//   AnyObject o(*registry.Find(gvk));
//   auto r = DecodeJson(text, o);
//
// Implicitly shared like Box. Thread safety: as List.
#pragma once

#include <utility>

#include "kube/value/shared.h"

namespace kube {

// An object of any type with a table.
class AnyObject {
 public:
  AnyObject() noexcept = default;
  // Creates an object with default values.
  explicit AnyObject(const TypeInfo& type) : type_(&type), rep_(internal::NewBox(type.size)) {}
  AnyObject(const AnyObject& other)
      : type_(other.type_), rep_(other.rep_ == nullptr ? nullptr : internal::ShareBox(other.rep_, *other.type_)) {}
  AnyObject(AnyObject&& other) noexcept : type_(std::exchange(other.type_, nullptr)), rep_(std::exchange(other.rep_, nullptr)) {}
  AnyObject& operator=(AnyObject other) noexcept {
    std::swap(type_, other.type_);
    std::swap(rep_, other.rep_);
    return *this;
  }
  ~AnyObject() {
    if (rep_ != nullptr) internal::ReleaseBox(rep_, *type_);
  }

  explicit operator bool() const { return rep_ != nullptr; }
  // The members below require that it is not empty.
  const TypeInfo& type() const { return *type_; }
  const void* data() const { return rep_->data(); }
  // The object for writing. Copies it first if it is shared.
  void* mutable_data() {
    if (!rep_->refs.IsOne()) {
      internal::BoxRep* fresh = internal::CopyBox(rep_, *type_);
      internal::ReleaseBox(rep_, *type_);
      rep_ = fresh;
    }
    rep_->lent = 1;
    return rep_->data();
  }
  // Promises that no pointer from mutable_data() is used for writing any more, so that copies may share the object.
  void Settle() {
    if (rep_ == nullptr || rep_->lent == 0) return;
    rep_->lent = 0;
    internal::SettleStruct(*type_, rep_->data());
  }
  // The object as its C++ type, or null if it has another type.
  template <Described T>
  const T* As() const {
    return type_ == &T::kType ? static_cast<const T*>(data()) : nullptr;
  }

  friend bool operator==(const AnyObject& a, const AnyObject& b) {
    return a.rep_ == b.rep_ || (a.type_ == b.type_ && a.rep_ != nullptr && b.rep_ != nullptr && EqualObjects(*a.type_, a.data(), b.data()));
  }

 private:
  const TypeInfo* type_ = nullptr;
  internal::BoxRep* rep_ = nullptr;
};

}  // namespace kube
