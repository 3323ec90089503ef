// Any JSON is applied to any JSON as a merge patch, and a created patch does what it was made for.
#include "json_lines.h"
#include "kube/codec/patch.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kube::fuzz::Require;
  auto documents = kube::fuzz::ParseLines(data, size, 2);
  if (!documents) return 0;
  const kube::Value& document = (*documents)[0];
  const kube::Value& other = (*documents)[1];

  kube::Value patched = kube::ApplyMergePatch(document, other);
  Require(kube::ApplyMergePatch(patched, other) == patched, "applying a merge patch again changes nothing");
  Require(kube::ParseJson(kube::ToJson(patched)).ok(), "the patched document can be read");

  kube::Result<kube::Value> patch = kube::CreateMergePatch(document, other);
  if (patch) {
    Require(kube::ApplyMergePatch(document, *patch) == other, "a created patch turns one document into the other");
  } else {
    Require(kube::fuzz::HasNullMember(other), "only null members cannot be expressed");
  }
  return 0;
}
