// Any bytes as an answer to a list, with objects that cannot be decoded left out; and as one object of which the key is wanted.
#include <vector>

#include "client/object_codec.h"
#include "client/raw_object.h"
#include "kube/api/apps/v1.h"
#include "kube/meta/dynamic_object.h"
#include "require.h"

namespace {

using kube::fuzz::Require;

template <typename T>
void List(const kube::TypeInfo* type, bool metadata_only, std::string_view content_type, std::string_view body) {
  kube::ObjectList<T> strict, tolerant;
  std::vector<kube::UndecodableObject> skipped;
  const bool all = kube::internal::DecodeObjectList(type, metadata_only, content_type, body, {}, &strict).ok();
  const bool some = kube::internal::DecodeObjectList(type, metadata_only, content_type, body, {}, &tolerant, &skipped).ok();
  Require(!all || some, "what can be read whole can be read with objects left out");
  Require(!all || (skipped.empty() && strict.items.size() == tolerant.items.size()), "nothing is left out of what can be read");
  for (const kube::UndecodableObject& object : skipped) {
    Require(object.error.size() <= 512, "reasons are short");
    Require(object.key.ns.empty() || object.named(), "a namespace comes with a name");
    Require(kube::IsUndecodable(kube::internal::UndecodableError(object)), "its error can be told");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const kube::TypeInfo* const deployment = &kube::apps::v1::Deployment::kType;
  const kube::TypeInfo* const metadata = &kube::meta::v1::PartialObjectMetadata::kType;
  List<kube::apps::v1::Deployment>(deployment, false, "application/json", body);
  List<kube::apps::v1::Deployment>(deployment, false, "application/vnd.kubernetes.protobuf", body);
  List<kube::meta::v1::PartialObjectMetadata>(metadata, true, "application/json", body);
  List<kube::DynamicObject>(nullptr, false, "application/json", body);
  const kube::Error why = kube::Error::Decode("why");
  for (const kube::UndecodableObject& object : {kube::internal::IdentifyJson(body, why), kube::internal::IdentifyProtobuf(body, why)}) {
    Require(object.key.name.size() <= 512 && object.key.ns.size() <= 512, "names are short");
  }
  return 0;
}
