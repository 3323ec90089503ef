#include "control/helpers/erased_object.h"

#include "kube/meta/resource.h"
#include "kube/value/type_info.h"

namespace kube::internal {

namespace {

void Assign(const TypeInfo* type, void* to, const void* from) {
  if (type == nullptr) {
    *static_cast<DynamicObject*>(to) = *static_cast<const DynamicObject*>(from);
    return;
  }
  DestroyObject(*type, to);
  CopyObject(*type, to, from);
}

}  // namespace

ErasedObject::ErasedObject(const TypeInfo* type) : type_(type) {
  if (type != nullptr) typed_ = AnyObject(*type);
}

ErasedObject::ErasedObject(const TypeInfo* type, const void* object) : ErasedObject(type) { Assign(type, mutable_data(), object); }

const void* ErasedObject::data() const { return type_ == nullptr ? static_cast<const void*>(&dynamic_) : typed_.data(); }

void* ErasedObject::mutable_data() { return type_ == nullptr ? static_cast<void*>(&dynamic_) : typed_.mutable_data(); }

void ErasedObject::CopyTo(void* object) const { Assign(type_, object, data()); }

const meta::v1::ObjectMeta& ErasedObject::metadata() const { return *MetadataOf(*type_, typed_.data()); }

const String& ErasedObject::uid() const { return type_ == nullptr ? dynamic_.uid() : metadata().uid; }

const String& ErasedObject::resource_version() const {
  return type_ == nullptr ? dynamic_.resource_version() : metadata().resource_version;
}

ObjectKey ErasedObject::key() const { return type_ == nullptr ? dynamic_.key() : KeyOf(metadata()); }

Result<DynamicObject> ErasedObject::ToDynamic() const {
  if (type_ == nullptr) return dynamic_;
  return kube::ToDynamic(*type_, typed_.data());
}

bool operator==(const ErasedObject& a, const ErasedObject& b) {
  return a.type_ == nullptr ? a.dynamic_ == b.dynamic_ : EqualObjects(*a.type_, a.data(), b.data());
}

meta::v1::ObjectMeta MetadataOfErased(const TypeInfo* type, const void* object) {
  return type == nullptr ? static_cast<const DynamicObject*>(object)->metadata() : *MetadataOf(*type, object);
}

}  // namespace kube::internal
