// Any text as JSON: a Value, and typed objects with every trick (inlined structs, unions, raw JSON, quantities, lists of lists).
#include "codec/json_bytes.h"
#include "codec/shapes_test_types.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/api/core/v1.h"
#include "kube/codec/diff.h"
#include "kube/codec/field_selection.h"
#include "kube/codec/hash.h"
#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "kube/codec/patch.h"
#include "require.h"

namespace {

using kube::fuzz::Require;

const kube::FieldSelection& Some() {
  static const kube::FieldSelection& fields =
      *new kube::FieldSelection(kube::FieldSelection::Without({"metadata.managedFields", "metadata.annotations.a", "spec.containers.env",
                                                               "spec.versions.schema", "limits.x.cpu", "racks.r1"})
                                    .value());
  return fields;
}

template <typename T>
void Typed(std::string_view text, kube::Interner& interner) {
  auto object = kube::FromJson<T>(text);
  auto shared = kube::FromJson<T>(text, {.interner = &interner});
  auto some = kube::FromJson<T>(text, {.fields = &Some()});
  auto some_shared = kube::FromJson<T>(text, {.interner = &interner, .fields = &Some()});
  Require(some.ok() == some_shared.ok(), "an interner changes nothing about what is accepted of a part");
  Require(!some.ok() || *some == *some_shared, "an interner changes nothing about a part");
  Require(!object.ok() || some.ok(), "what can be read can be read in part");
  Require(object.ok() == shared.ok(), "an interner changes nothing about what is accepted");
  if (!object) {
    Require(!object.error().ToString().empty(), "an error says something");
    return;
  }
  Require(*object == *shared, "an interner changes nothing about the object");
  auto out = kube::ToJson(*object);
  Require(out.ok(), "what was read can be written");
  auto again = kube::FromJson<T>(*out);
  Require(again.ok() && *again == *object, "what was written reads the same");
}

// Lists and maps inside of each other: also copies, comparisons and patches.
void Nested(std::string_view text, const std::string& other_text) {
  using kube::testing::Shapes;
  const auto object = kube::FromJson<Shapes>(text);
  if (!object) return;
  const Shapes other = kube::FromJson<Shapes>(other_text).value();
  kube::List<Shapes> copies{*object, other};
  Require(std::as_const(copies)[0] == *object, "a copy is equal");
  Require(kube::HashObject(std::as_const(copies)[0]) == kube::HashObject(*object), "equal objects have one hash");
  Require(kube::Diff(std::as_const(copies)[0], *object).empty(), "equal objects do not differ");
  Require((*object == other) == kube::Diff(*object, other).empty(), "objects that are not equal differ");
  auto patch = kube::CreateTwoWayMergePatch(*object, other);
  if (!patch) return;  // raw JSON may hold what no patch can say
  auto patched = kube::ApplyStrategicMergePatch(*object, kube::ToJson(*patch));
  Require(!patched.ok() || kube::ToJson(*patched).ok(), "what was patched can be written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto value = kube::ParseJson(text);
  auto bytes = kube::internal::ParseJsonBytes(text);
  Require(value.ok() == bytes.ok(), "bytes that are not UTF-8 change nothing about what is accepted");
  if (bytes) {
    const std::string written = kube::internal::ToJsonBytes(*bytes);
    auto again = kube::internal::ParseJsonBytes(written);
    Require(again.ok() && *again == *bytes, "a Value with any bytes reads the same after it was written");
    Require(kube::ParseJson(kube::internal::ToWireJson(written)).ok(), "what goes out is JSON");
  }
  if (value) {
    auto again = kube::ParseJson(kube::ToJson(*value));
    Require(again.ok() && *again == *value, "a Value reads the same after it was written");
    auto pretty = kube::ParseJson(kube::ToJson(*value, {.indent = 2}));
    Require(pretty.ok() && *pretty == *value, "indentation changes nothing");
  }
  kube::Interner interner;
  for (int i = 0; i < 2; ++i) {
    Typed<kube::core::v1::Pod>(text, interner);
    Typed<kube::apiextensions::v1::CustomResourceDefinition>(text, interner);
    Typed<kube::testing::Shapes>(text, interner);
  }
  Nested(text, R"({"routes": {"a": ["b"]}, "limits": {"x": {"cpu": "1"}}, "matrix": [[1]], "maybeNames": [], "zone": "z"})");
  return 0;
}
