// Runs a webhook in a test without a server, like an API server: first its mutating functions, then its validating ones, on the same JSON.
//
//   auto tried = TryCreate(NetworkWebhook(), Network{.spec = {.cidr = "10.0.0.0/8"}});
//   EXPECT_EQ(tried->object.spec.mtu, 1500);
//   EXPECT_EQ(tried->ToString(), "denied: Network.samplecrd.k8s.io \"\" is invalid: spec.gateway: Required value");
//
// The functions alone are functions of objects and need no help to be tested. Selectors and match conditions are evaluated by API servers:
// see testing::InstallWebhooks.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/error.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/codec/json.h"
#include "kube/meta/dynamic_object.h"
#include "kube/meta/resource.h"
#include "kube/value/value.h"
#include "kube/webhook/admission.h"
#include "kube/webhook/webhook_spec.h"

namespace kube {

// The outcome of an admission.
struct TriedAdmission {
  // The error for the client, without "admission webhook ... denied the request: ".
  std::optional<Error> denial{};
  std::vector<std::string> warnings{};
  std::vector<std::pair<std::string, std::string>> audit_annotations{};
  Value json{};   // request.object after all patches, as it would be stored
  Value patch{};  // the operations of all patches, in order

  bool allowed() const { return !denial; }
  KUBE_EXPORT std::string ToString() const;  // "allowed", or "denied: ..."
};
// The same with the patched object.
template <typename T>
struct Tried : TriedAdmission {
  T object{};
};

// Calls the webhooks of `spec` that are registered for the request's operation. The request's uid, kind and resource may be empty. Errors:
// whatever an API server would treat as a failed webhook.
KUBE_EXPORT Result<TriedAdmission> TryWebhook(const WebhookSpec& spec, const AdmissionRequest& request,
                                              const Context& ctx = Context::Background());

namespace internal {

template <ObjectType T>
Result<Tried<T>> TryTyped(const WebhookSpec& spec, AdmissionRequest request, const T* old, const T* object) {
  const T& any = object != nullptr ? *object : *old;
  request.kind = GvkOf(any);
  if (request.key.name.empty()) request.key = KeyOf(any);
  const auto json = [](const T* from) -> Result<RawJson> {
    if (from == nullptr) return RawJson();
    Result<std::string> text = ToJson(*from);
    if (!text) return text.error();
    return RawJson(String(*text));
  };
  Result<RawJson> now = json(object);
  if (!now) return now.error();
  Result<RawJson> before = json(old);
  if (!before) return before.error();
  request.object = *std::move(now);
  request.old_object = *std::move(before);
  Result<TriedAdmission> tried = TryWebhook(spec, request);
  if (!tried) return tried.error();
  Tried<T> out{*std::move(tried)};
  if (object == nullptr) return out;
  Result<T> decoded = FromJson<T>(ToJson(out.json));
  if (!decoded) return decoded.error();
  out.object = *std::move(decoded);
  return out;
}

}  // namespace internal

// TryCreate, TryUpdate and TryDelete review one request. `request` sets what else the functions see: the user, dry run, a subresource.
template <ObjectType T>
Result<Tried<T>> TryCreate(const WebhookSpec& spec, const T& object, AdmissionRequest request = {}) {
  request.operation = AdmissionOperation::kCreate;
  return internal::TryTyped<T>(spec, std::move(request), nullptr, &object);
}
template <ObjectType T>
Result<Tried<T>> TryUpdate(const WebhookSpec& spec, const T& old, const T& object, AdmissionRequest request = {}) {
  request.operation = AdmissionOperation::kUpdate;
  return internal::TryTyped<T>(spec, std::move(request), &old, &object);
}
template <ObjectType T>
Result<Tried<T>> TryDelete(const WebhookSpec& spec, const T& old, AdmissionRequest request = {}) {
  request.operation = AdmissionOperation::kDelete;
  return internal::TryTyped<T>(spec, std::move(request), &old, nullptr);
}

}  // namespace kube
