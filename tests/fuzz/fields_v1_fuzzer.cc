// FieldsV1 of any form is read or refused, and what is read is written unchanged.
#include "apiserver/field_set.h"
#include "kube/codec/json.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using kube::apiserver::FieldSet;
  using kube::fuzz::Require;
  kube::Result<kube::Value> json = kube::ParseJson({reinterpret_cast<const char*>(data), size});
  if (!json) return 0;
  kube::Result<FieldSet> set = FieldSet::FromFieldsV1(*json);
  if (!set) return 0;

  std::string text = set->ToFieldsV1Text();
  kube::Result<kube::Value> written = kube::ParseJson(text);
  Require(written.ok(), "the text is JSON");
  kube::Result<FieldSet> again = FieldSet::FromFieldsV1(*written);
  Require(again.ok() && again->ToFieldsV1Text() == text, "the text can be read");
  Require(set->Union(*set) == *set && set->Intersection(*set).Size() == set->Size(), "a set and itself");
  Require(set->Difference(*set).Empty() && set->RecursiveDifference(*set).Empty(), "a set without itself");
  set->ForEach([&](const kube::apiserver::FieldPath& path) { Require(set->Has(path), "each path is in the set"); });
  return 0;
}
