// Any bytes as protobuf, with and without envelope.
#include "kube/api/apiextensions/v1.h"
#include "kube/api/core/v1.h"
#include "kube/codec/field_selection.h"
#include "kube/codec/interner.h"
#include "kube/codec/protobuf.h"
#include "require.h"

namespace {

using kube::fuzz::Require;

const kube::FieldSelection& Some() {
  static const kube::FieldSelection& fields = *new kube::FieldSelection(
      kube::FieldSelection::Without({"metadata.managedFields", "metadata.annotations.a", "spec.containers.env", "spec.versions.schema"})
          .value());
  return fields;
}

template <typename T>
void Typed(std::string_view bytes, kube::Interner& interner) {
  auto object = kube::FromProtobuf<T>(bytes);
  auto shared = kube::FromProtobuf<T>(bytes, {.interner = &interner});
  auto some = kube::FromProtobuf<T>(bytes, {.fields = &Some()});
  auto some_shared = kube::FromProtobuf<T>(bytes, {.interner = &interner, .fields = &Some()});
  Require(some.ok() == some_shared.ok(), "an interner changes nothing about what is accepted of a part");
  Require(!some.ok() || *some == *some_shared, "an interner changes nothing about a part");
  Require(!object.ok() || some.ok(), "what can be read can be read in part");
  Require(object.ok() == shared.ok(), "an interner changes nothing about what is accepted");
  if (!object) {
    Require(!object.error().ToString().empty(), "an error says something");
    return;
  }
  Require(*object == *shared, "an interner changes nothing about the object");
  auto out = kube::ToProtobuf(*object);
  Require(out.ok(), "what was read can be written");
  auto again = kube::FromProtobuf<T>(*out);
  Require(again.ok() && *again == *object, "what was written reads the same");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  kube::Interner interner;
  for (int i = 0; i < 2; ++i) {
    Typed<kube::core::v1::Pod>(bytes, interner);
    Typed<kube::apiextensions::v1::CustomResourceDefinition>(bytes, interner);
  }
  return 0;
}
