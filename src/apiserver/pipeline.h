// The path of an object from a request into the store and back: decoding, canonical form, defaults, strategy, validation, conversion.
//
//   DecodeObject       bytes -> Value in the version of the request, with defaults, and the errors of strict decoding
//   PrepareCreate      -> the object as it will be stored
//   PrepareUpdate      the same for an update
//   ToStorage, FromStorage   between the version of the request and that of the store
//
// Built-in kinds go through their tables, custom ones through the schema of their CRD. Only this file distinguishes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/builtin/admission.h"
#include "apiserver/builtin/service_allocator.h"
#include "apiserver/request.h"
#include "apiserver/resources.h"
#include "apiserver/store.h"
#include "kube/base/result.h"
#include "kube/value/time.h"
#include "kube/value/value.h"

namespace kube::apiserver {

enum class FieldValidation { kIgnore, kWarn, kStrict };
// "" means Warn. Errors: 422.
Result<FieldValidation> ParseFieldValidation(std::string_view text, std::string_view options_kind);

struct Decoded {
  Value object;
  std::vector<std::string> problems;  // `unknown field "spec.x"`, `duplicate field "spec.y"`
};

// Errors: 400 with the reason.
Result<Decoded> DecodeObject(const ServedResource& resource, std::string_view body, Encoding encoding);
// The result of a webhook's patch, with defaults. Unknown fields are dropped only when it is stored, as on the real server.
Result<Value> DecodePatched(const ServedResource& resource, const Value& value);
void DropUnknown(const ServedResource& resource, Value& object);
// The same for a Value: the result of a patch. The result of server-side apply (`applied`) fits the schema already, except nulls, which
// stay in a custom resource until validation.
Result<Decoded> DecodeObject(const ServedResource& resource, const Value& value, bool applied = false);

struct WriteContext {
  const ServedResource& resource;
  Time now;
  ServiceAllocation* services = nullptr;
  const User* user = nullptr;
  const AdmissionContext* admission = nullptr;
  std::vector<std::string>* warnings = nullptr;
};

// Only the server's own admission, before webhooks see the object; `old` is null on create. Errors: those of Admit.
Result<Value> AdmitInTree(const ServedResource& resource, Value object, const Value& old, const AdmissionContext& admission);
// `object` has its metadata already (object_meta.h). Errors: 422 and others of the strategy.
Result<Value> PrepareCreate(Value object, const WriteContext& context);
// `subresource` is empty, "status" or another that writes the whole object.
Result<Value> PrepareUpdate(Value object, const Value& old, std::string_view subresource, const WriteContext& context);

// The fields that field selectors can use. Empty if there are none except name and namespace.
Map<String> SelectableValues(const ServedResource& resource, const Value& stored);
// Errors: 400, `field label not supported: x`.
Result<void> CheckFieldLabel(const ServedResource& resource, std::string_view label);

Value ToStorage(const ServedResource& resource, Value object);
// The value of StoredObject::form for an object in storage form.
std::shared_ptr<const void> FormOf(const ServedResource& resource, const Value& stored);
// The text of an object in the version of the resource: the stored text if that is the same.
std::shared_ptr<const std::string> TextFor(const ServedResource& resource, const StoredObject& stored);
Value FromStorage(const ServedResource& resource, Value stored);

}  // namespace kube::apiserver
