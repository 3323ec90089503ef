#include "kube/apiserver/crd_validator.h"

#include <fmt/format.h>

#include <utility>

#include "apiserver/crd.h"
#include "apiserver/errors.h"
#include "apiserver/object_meta.h"
#include "apiserver/pipeline.h"
#include "apiserver/resources.h"
#include "kube/meta/gvk.h"

namespace kube::apiserver {
namespace {

std::size_t CountRules(const Value& schema) {
  std::size_t count = schema["x-kubernetes-validations"].list().size();
  for (const auto& [name, property] : schema["properties"].object()) count += CountRules(property);
  for (const char* below : {"items", "additionalProperties"}) {
    if (schema[below].is_object()) count += CountRules(schema[below]);
  }
  return count;
}

}  // namespace

struct CrdValidator::Impl {
  std::string name, group, kind;
  std::vector<ResourcePtr> versions;

  Result<ResourcePtr> Find(const Value& object) const {
    std::string_view api_version = object["apiVersion"].string_value();
    std::string served;
    for (const ResourcePtr& version : versions) {
      if (version->api_version() == api_version) return version;
      served += (served.empty() ? "" : ", ") + version->version;
    }
    return BadRequest(fmt::format("apiVersion \"{}\" is not served by {} (group {}, versions {})", api_version, name, group, served));
  }
};

Result<CrdValidator> CrdValidator::Make(const Value& crd) {
  ResourcePtr definitions = Resources::Builtin(false)->Find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  Result<Decoded> decoded = DecodeObject(*definitions, crd);
  if (!decoded) return decoded.error();
  Value object = std::move(decoded->object);
  object.MutableObject().Erase("status");
  PrepareMetaForCreate(object, Time::Now());
  Result<Value> ready = PrepareCreate(std::move(object), {.resource = *definitions, .now = Time::Now()});
  if (!ready) return ready.error();
  if (std::vector<FieldError> errors = CheckCrd(*ready, nullptr); !errors.empty()) {
    return Invalid(definitions->group, definitions->kind, NameOf(*ready), errors);
  }
  ready->MutableObject().Erase("status");  // accepted names are the server's to give
  const Value& read = *ready;
  auto impl = std::make_shared<Impl>();
  impl->name = NameOf(read);
  impl->group = read["spec"]["group"].string_value().str();
  impl->kind = read["spec"]["names"]["kind"].string_value().str();
  impl->versions = ResourcesOf(read);
  CrdValidator out;
  out.impl_ = std::move(impl);
  return out;
}

const std::string& CrdValidator::group() const { return impl_->group; }
const std::string& CrdValidator::kind() const { return impl_->kind; }

CrdVerdict CrdValidator::Check(const Value& object, const Value* old, const std::string& ns) const {
  CrdVerdict out;
  auto refuse = [&](const Error& error) {
    out.error = error;
    return out;
  };
  if (!object.is_object()) return refuse(BadRequest("it is no object"));
  Result<ResourcePtr> found = impl_->Find(object);
  if (!found) return refuse(found.error());
  const ServedResource& r = **found;
  out.unevaluated_rules = CountRules(r.custom->raw_schema);
  if (r.custom->deprecated) out.warnings.push_back(r.custom->deprecation_warning);
  Result<Decoded> decoded = DecodeObject(r, object);
  if (!decoded) return refuse(decoded.error());
  out.warnings.insert(out.warnings.end(), decoded->problems.begin(), decoded->problems.end());
  Value next = std::move(decoded->object);
  std::string_view given = NamespaceOf(next);
  if (auto ok = SetNamespace(next, r, given.empty() ? std::string(ns) : std::string(given)); !ok) return refuse(ok.error());
  // The server warns that it does not evaluate CEL; the verdict says so with a number.
  std::vector<std::string> warnings;
  const WriteContext context{.resource = r, .now = Time::Now(), .warnings = &warnings};
  Result<Value> ready = Value();
  if (old == nullptr) {
    PrepareMetaForCreate(next, Time::Now());
    ready = PrepareCreate(std::move(next), context);
  } else {
    Result<Decoded> before = DecodeObject(r, *old);
    if (!before) return refuse(before.error());
    if (auto ok = SetNamespace(before->object, r,
                               NamespaceOf(before->object).empty() ? std::string(ns) : std::string(NamespaceOf(before->object)));
        !ok) {
      return refuse(ok.error());
    }
    PrepareMetaForUpdate(next, before->object);
    ready = PrepareUpdate(std::move(next), before->object, "", context);
  }
  for (std::string& warning : warnings) {
    if (warning.find("(CEL) are not evaluated") == std::string::npos) out.warnings.push_back(std::move(warning));
  }
  if (!ready) return refuse(ready.error());
  out.object = *std::move(ready);
  return out;
}

}  // namespace kube::apiserver
