// ErasedObject: an object of a type that is known at run time only, DynamicObject included. What the helpers for reconcilers work with, so
// that their requests and retries are compiled once and not for each kind.
//
// Thread safety: as the object itself. Cost: of a copy what copying the struct costs; its parts stay shared.
#pragma once

#include "kube/base/result.h"
#include "kube/meta/dynamic_object.h"
#include "kube/value/any_object.h"

namespace kube::internal {

class ErasedObject {
 public:
  // Empty. `type` as in ResourceTarget: null is DynamicObject.
  explicit ErasedObject(const TypeInfo* type);
  // A copy of an object of that type.
  ErasedObject(const TypeInfo* type, const void* object);

  const void* data() const;
  void* mutable_data();
  // Makes `object`, which has the same type, a copy of this one.
  void CopyTo(void* object) const;

  // ---- References live as long as the object is not changed ----
  const String& uid() const;
  const String& resource_version() const;
  ObjectKey key() const;
  Result<DynamicObject> ToDynamic() const;
  friend bool operator==(const ErasedObject& a, const ErasedObject& b);

 private:
  const meta::v1::ObjectMeta& metadata() const;  // of a struct

  const TypeInfo* type_;
  AnyObject typed_{};
  DynamicObject dynamic_{};
};

// The metadata of an object of that type.
meta::v1::ObjectMeta MetadataOfErased(const TypeInfo* type, const void* object);

}  // namespace kube::internal
