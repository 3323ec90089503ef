// What ApiCore does with webhooks: conversion on the way from and to the store, and admission.
#include <fmt/format.h>

#include <utility>

#include "apiserver/core.h"
#include "apiserver/errors.h"
#include "apiserver/managed_fields.h"
#include "apiserver/object_meta.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

bool HasWebhook(const ServedResource& r) { return r.custom && r.custom->conversion; }

}  // namespace

Result<Value> ApiCore::Read(const Context& ctx, const ServedResource& r, const StoredObject& stored) {
  if (NeedsConversion(r, stored)) return converter_.Read(ctx, r, stored);
  return FromStorage(r, stored.Parse());
}

Result<Value> ApiCore::Convert(const Context& ctx, const ServedResource& from, const ServedResource& to, Value object) {
  if (!HasWebhook(from)) return FromStorage(to, ToStorage(from, std::move(object)));
  Result<std::vector<Value>> converted = converter_.Convert(ctx, *from.custom->conversion, {std::move(object)}, to.api_version());
  if (!converted) return converted.error();
  return std::move(converted->front());
}

Result<Value> ApiCore::FromForm(const Context& ctx, const ServedResource& r, Value stored) {
  if (!HasWebhook(r)) return FromStorage(r, std::move(stored));
  Result<std::vector<Value>> converted = converter_.Convert(ctx, *r.custom->conversion, {std::move(stored)}, r.api_version());
  if (!converted) return converted.error();
  return std::move(converted->front());
}

Result<Value> ApiCore::ForStore(const Context& ctx, const ServedResource& r, Value object) {
  if (!HasWebhook(r) || r.api_version() == r.storage_api_version) return ToStorage(r, std::move(object));
  Result<std::vector<Value>> converted = converter_.Convert(ctx, *r.custom->conversion, {std::move(object)}, r.storage_api_version);
  if (!converted) return converted.error();
  return std::move(converted->front());
}

Result<Value> ApiCore::ThereAndBack(const Call& call, Value object) {
  const ServedResource& r = *call.resource;
  if (!HasWebhook(r) || r.api_version() == r.storage_api_version) return object;
  Result<Value> stored = ForStore(call.ctx, r, std::move(object));
  if (!stored) return stored;
  return FromForm(call.ctx, r, *std::move(stored));
}

Result<void> ApiCore::InVersion(const Call& call, Answer& answer) {
  const ServedResource& r = *call.resource;
  if (!HasWebhook(r)) return {};
  if (answer.stored && NeedsConversion(r, *answer.stored)) {
    Result<Value> read = Read(call.ctx, r, *answer.stored);
    if (!read) return read.error();
    answer.object = *std::move(read);
    answer.stored = nullptr;
  }
  Result<std::vector<ObjectPtr>> items = converter_.ConvertStored(call.ctx, r, std::move(answer.items));
  if (!items) return items.error();
  answer.items = *std::move(items);
  return {};
}

AdmissionAttributes ApiCore::AttributesOf(const Call& call, std::string operation, Value object, Value old, bool dry_run) const {
  const ServedResource& r = *call.resource;
  AdmissionAttributes out;
  out.resources = call.resources;
  out.resource = call.resource;
  out.subresource = call.subresource;
  out.name = call.name;
  out.ns = call.ns;
  if (r.storage == "/namespaces") out.ns = call.name.empty() ? std::string(NameOf(object)) : call.name;
  if (out.name.empty() && operation == "CREATE") out.name = NameOf(object);
  out.kind = r.gvk();
  out.object = std::move(object);
  out.old_object = std::move(old);
  out.dry_run = dry_run;
  out.user = call.user;
  if (operation == "CREATE" || operation == "UPDATE") {
    out.options = Value::Object({{"kind", operation == "CREATE" ? "CreateOptions" : "UpdateOptions"}, {"apiVersion", "meta.k8s.io/v1"}});
    if (dry_run) out.options["dryRun"] = Value::Array({"All"});
    for (const char* option : {"fieldManager", "fieldValidation"}) {
      if (std::string_view given = call.query.Get(option); !given.empty()) out.options[option] = given;
    }
  }
  out.operation = std::move(operation);
  return out;
}

Result<Value> ApiCore::Mutate(Call& call, AdmissionAttributes& a) {
  const ServedResource& r = *call.resource;
  if (!call.admit || !hooks_.Any(r)) return std::move(a.object);
  const Value managed = MetaOf(a.object)["managedFields"];
  AdmissionHooks::InTree in_tree;
  if (a.subresource.empty() && a.kind == r.gvk() && (a.operation == "CREATE" || a.operation == "UPDATE")) {
    in_tree = [&](Value object) { return AdmitInTree(r, std::move(object), a.old_object, admission_); };
  }
  if (Result<void> ok = hooks_.Mutate(call.ctx, a, in_tree, call.warnings); !ok) return ok.error();
  Value object = a.object;
  if (a.kind == r.gvk() && MetaOf(object).is_object()) {
    const Value& now = MetaOf(object)["managedFields"];
    if (Result<void> ok = now == managed ? Result<void>() : ValidateManagedFields(now); !ok) {
      call.warnings.push_back(
          fmt::format(".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
                      "admission controller; please fix your requests: {}",
                      ok.error().message()));
      if (managed.is_null()) {
        object["metadata"].MutableObject().Erase("managedFields");
      } else {
        object["metadata"]["managedFields"] = managed;
      }
    }
    if (Result<void> ok = SetNamespace(object, r, call.ns); !ok) return ok.error();
  }
  return object;
}

Result<void> ApiCore::Validate(Call& call, AdmissionAttributes& a, Value& object) {
  if (!call.admit || !hooks_.Any(*call.resource)) return {};
  a.object = object;
  if (a.name.empty() && a.operation == "CREATE") a.name = NameOf(object);
  if (Result<void> ok = hooks_.Validate(call.ctx, a, call.warnings); !ok) return ok;
  if (a.kind == call.resource->gvk() && object.is_object()) DropUnknown(*call.resource, object);
  return {};
}

Result<Value> ApiCore::AdmitOther(Call& call, std::string operation, const Gvk& kind, Value object, const Value& old, bool dry_run) {
  if (!call.admit || !hooks_.Any(*call.resource)) return object;
  AdmissionAttributes a = AttributesOf(call, std::move(operation), std::move(object), old, dry_run);
  a.kind = kind;
  Result<Value> changed = Mutate(call, a);
  if (!changed) return changed;
  if (Result<void> ok = Validate(call, a, *changed); !ok) return ok.error();
  return changed;
}

}  // namespace kube::apiserver
