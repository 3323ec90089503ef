// Any JSON as the schema of a CRD, and any JSON as objects of it: checked, normalised, validated, applied.
#include "apiserver/managed_fields.h"
#include "apiserver/structural_schema.h"
#include "apiserver/typed_value.h"
#include "json_lines.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace apiserver = kube::apiserver;
  using kube::fuzz::Require;
  auto documents = kube::fuzz::ParseLines(data, size, 3);
  if (!documents) return 0;
  kube::Value &schema = (*documents)[0], &first = (*documents)[1], &second = (*documents)[2];

  bool good = apiserver::CheckCrdSchema(schema, "s", false).empty();
  auto structural = apiserver::StructuralSchema::Make(schema);
  bool normal = structural->Normalize(first).ok() && structural->Normalize(second).ok();
  structural->Validate(first, nullptr);
  structural->Validate(second, &first);
  if (!normal || !first.is_object() || !second.is_object()) return 0;
  if (good) {
    kube::Value again = first;
    Require(structural->Prune(again).empty() && again == first, "what is pruned stays");
  }

  const apiserver::Schema& typed = *structural->ToApplySchema();
  if (!apiserver::ValidateTyped(typed, first, true) || !apiserver::ValidateTyped(typed, second, false)) return 0;
  Require(apiserver::CompareTyped(typed, first, first).IsSame(), "a value is the same as itself");
  apiserver::ToFieldSet(typed, first);
  apiserver::FieldManagerTarget target{.schema = structural->ToApplySchema(), .api_version = "g/v1", .kind = "K"};
  first["apiVersion"] = second["apiVersion"] = "g/v1";
  first["kind"] = second["kind"] = "K";
  kube::Value created = apiserver::UpdateManagedFields(target, kube::Value(), first, {.manager = "a"});
  kube::Result<kube::Value> applied = apiserver::ApplyConfiguration(target, created, second, {.manager = "b"}, true);
  if (!applied) return 0;
  kube::Result<kube::Value> again = apiserver::ApplyConfiguration(target, *applied, second, {.manager = "b"}, false);
  Require(!again.ok() || apiserver::ValidateManagedFields((*again)["metadata"]["managedFields"]).ok(), "managedFields can be read");
  return 0;
}
