// Any JSON is applied to any JSON as a strategic merge patch, and created patches do what they were made for.
#include <algorithm>

#include "codec/patch_test_types.h"
#include "json_lines.h"
#include "kube/codec/patch.h"
#include "require.h"

namespace {

// Lists of plain values that merge are sets; a document with doubles there is changed by a round trip.
bool HasDoubles(const kube::Value& value) {
  for (const auto& [key, member] : value.object()) {
    if (HasDoubles(member)) return true;
  }
  const kube::List<kube::Value>& list = value.list();
  if (list.size() > 1000) return true;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (HasDoubles(list[i]) || std::find(list.begin(), list.begin() + i, list[i]) != list.begin() + i) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kube::fuzz::Require;
  auto documents = kube::fuzz::ParseLines(data, size, 3);
  if (!documents) return 0;
  const kube::Value& original = (*documents)[0];
  const kube::Value& modified = (*documents)[1];
  const kube::Value& current = (*documents)[2];
  const kube::TypeInfo& type = kube::patch_test::Spec::kType;

  kube::Result<kube::Value> patched = kube::ApplyStrategicMergePatch(type, original, modified);
  if (patched) Require(kube::ToJson(*patched).size() <= 6 * size + 1024, "the patched document is bounded");

  kube::Result<kube::Value> patch = kube::CreateTwoWayMergePatch(type, original, modified);
  if (patch) {
    kube::Result<kube::Value> back = kube::ApplyStrategicMergePatch(type, original, *patch);
    Require(back.ok(), "a created patch can be applied");
    bool exact = modified.is_object() && !kube::fuzz::HasNullMember(modified) && !HasDoubles(modified);
    Require(!exact || *back == modified, "a created patch turns one document into the other");
  }

  patch = kube::CreateThreeWayMergePatch(type, original, modified, current, true);
  if (patch) Require(kube::ApplyStrategicMergePatch(type, current, *patch).ok(), "a created three-way patch can be applied");
  patch = kube::CreateThreeWayMergePatch(type, original, modified, current, false);
  if (!patch) Require(!patch.error().ToString().empty(), "errors say something");
  return 0;
}
