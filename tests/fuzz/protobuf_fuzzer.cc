// Any bytes as protobuf, with and without envelope.
#include <memory>

#include "kube/api/apiextensions/v1.h"
#include "kube/api/core/v1.h"
#include "kube/codec/field_selection.h"
#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "kube/codec/predecessors.h"
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

// The object of the last call, as the earlier version of whatever comes next.
template <typename T>
class Last final : public kube::Predecessors {
 public:
  Last() : Predecessors(T::kType) {}
  const void* Begin(const void*, kube::PartHashes& parts) override {
    parts = parts_;
    return object_.get();
  }
  void End(const void* object, const kube::PartHashes& parts) override {
    object_ = std::make_unique<T>(*static_cast<const T*>(object));
    parts_ = parts;
  }

 private:
  std::unique_ptr<T> object_;
  kube::PartHashes parts_{};
};

// The second time all of it is there already; the last time what half of it was.
template <typename T>
void WithEarlierVersions(std::string_view bytes, const T& want, kube::Interner& interner) {
  Last<T> last;
  const kube::DecodeOptions options{.interner = &interner, .predecessors = &last};
  for (const std::string_view each : {bytes, bytes, bytes.substr(0, bytes.size() / 2), bytes}) {
    auto read = kube::FromProtobuf<T>(each, options);
    if (each.size() == bytes.size()) Require(read.ok() && *read == want, "an earlier version changes nothing about the object");
  }
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
  WithEarlierVersions(bytes, *object, interner);
  if (auto json = kube::ToJson(*object)) Require(kube::ParseJson(*json).ok(), "whatever bytes came, what goes out is JSON");
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
