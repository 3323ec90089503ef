#include "kube/cache/object.h"

#include "kube/cache/lister.h"

namespace kube::internal {

ObjectForm::ObjectForm(const TypeInfo* type, NewObject (*make)(), ListFunction list) : type_(type), make_(make), list_(list) {
  if (type_ == nullptr) return;
  const NewObject probe = make_();
  metadata_offset_ =
      static_cast<std::size_t>(reinterpret_cast<const char*>(MetadataOf(*type_, probe.get())) - static_cast<const char*>(probe.get()));
}

const meta::v1::ObjectMeta& ObjectForm::Metadata(const void* object) const {
  return *reinterpret_cast<const meta::v1::ObjectMeta*>(static_cast<const char*>(object) + metadata_offset_);
}

namespace {
const DynamicObject& Dynamic(const void* object) { return *static_cast<const DynamicObject*>(object); }
}  // namespace

const String& ObjectForm::Namespace(const void* object) const {
  return type_ == nullptr ? Dynamic(object).namespace_() : Metadata(object).namespace_;
}
const String& ObjectForm::Name(const void* object) const { return type_ == nullptr ? Dynamic(object).name() : Metadata(object).name; }
const String& ObjectForm::ResourceVersion(const void* object) const {
  return type_ == nullptr ? Dynamic(object).resource_version() : Metadata(object).resource_version;
}
const String& ObjectForm::Uid(const void* object) const { return type_ == nullptr ? Dynamic(object).uid() : Metadata(object).uid; }
bool ObjectForm::IsDeleting(const void* object) const {
  return !(type_ == nullptr ? Dynamic(object).deletion_timestamp() : Metadata(object).deletion_timestamp).IsZero();
}
Map<String> ObjectForm::Labels(const void* object) const { return type_ == nullptr ? Dynamic(object).labels() : Metadata(object).labels; }

std::optional<String> ObjectForm::Annotation(const void* object, std::string_view key) const {
  const Map<String> all = type_ == nullptr ? Dynamic(object).annotations() : Metadata(object).annotations;
  const String* const found = all.Find(key);
  return found == nullptr ? std::nullopt : std::optional<String>(*found);
}

Error NotInCache(const GroupResource& resource, const ObjectKey& key) {
  return Error(Error::Payload{.kind = ErrorKind::kApi,
                              .http_code = 404,
                              .reason = "NotFound",
                              .message = resource.ToString() + " \"" + key.name.str() + "\" not found",
                              .resource_group = resource.group.str(),
                              .resource_kind = resource.resource.str(),
                              .name = key.name.str()});
}

}  // namespace kube::internal
