#include "kube/webhook/try_webhook.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/api/admission/v1.h"
#include "kube/client/status_error.h"
#include "kube/codec/patch.h"

namespace kube {
namespace {

admission::v1::AdmissionReview ReviewOf(const AdmissionRequest& from) {
  admission::v1::AdmissionReview review;
  admission::v1::AdmissionRequest& to = review.request.Mutable();
  to.uid = from.uid.empty() ? String("try") : from.uid;
  to.operation = ToString(from.operation);
  to.kind = {.group = from.kind.group, .version = from.kind.version, .kind = from.kind.kind};
  to.resource = {.group = from.resource.group, .version = from.resource.version, .resource = from.resource.resource};
  to.sub_resource = from.subresource;
  if (!from.request_kind.empty())
    to.request_kind.Mutable() = {.group = from.request_kind.group, .version = from.request_kind.version, .kind = from.request_kind.kind};
  if (!from.request_resource.empty()) {
    to.request_resource.Mutable() = {
        .group = from.request_resource.group, .version = from.request_resource.version, .resource = from.request_resource.resource};
    to.request_sub_resource = from.request_subresource;
  }
  to.namespace_ = from.key.ns;
  to.name = from.key.name;
  to.user_info = from.user;
  to.dry_run = from.dry_run;
  to.object = from.object;
  to.old_object = from.old_object;
  to.options = from.options;
  return review;
}

// One call, as an API server makes it. True if the request goes on.
Result<bool> Call(const WebhookEndpoint& endpoint, const AdmissionRequest& request, const Context& ctx, TriedAdmission& tried) {
  const Result<std::string> asked = ToJson(ReviewOf(request));
  if (!asked) return asked.error();
  const WebhookAnswer answer = endpoint.serve(ctx, *asked);
  if (answer.code != 200) return Error::Invalid(fmt::format("{} answered {}: {}", endpoint.path, answer.code, answer.body));
  const Result<admission::v1::AdmissionReview> review = FromJson<admission::v1::AdmissionReview>(answer.body);
  if (!review) return review.error().WithContext(endpoint.path);
  const admission::v1::AdmissionResponse& response = *review->response;
  for (const String& warning : response.warnings) tried.warnings.push_back(warning.str());
  for (const auto& [key, value] : response.audit_annotations) tried.audit_annotations.emplace_back(key.str(), value.str());
  if (!response.allowed) {
    tried.denial = StatusToError(*response.status);
    return false;
  }
  if (response.patch.empty()) return true;
  const Result<Value> patch = ParseJson(response.patch.view());
  if (!patch) return patch.error().WithContext(endpoint.path);
  Result<Value> patched = ApplyJsonPatch(tried.json, *patch);
  if (!patched) return patched.error().WithContext(endpoint.path);
  tried.json = *std::move(patched);
  for (const Value& operation : patch->list()) tried.patch.MutableList().push_back(operation);
  return true;
}

}  // namespace

Result<TriedAdmission> TryWebhook(const WebhookSpec& spec, const AdmissionRequest& request, const Context& ctx) {
  if (spec.problem) return *spec.problem;
  TriedAdmission tried{.patch = Value::Array()};
  if (!request.object.empty()) {
    Result<Value> object = ParseJson(request.object);
    if (!object) return object.error();
    tried.json = *std::move(object);
  }
  for (const bool mutating : {true, false}) {
    for (const WebhookEntry& entry : spec.entries) {
      const auto wants = [&](const WebhookRule& rule) { return Includes(rule.operations, request.operation); };
      if (entry.mutating != mutating || std::none_of(entry.rules.begin(), entry.rules.end(), wants)) continue;
      const auto its = [&](const WebhookEndpoint& e) { return e.path == entry.path; };
      const auto endpoint = std::find_if(spec.endpoints.begin(), spec.endpoints.end(), its);
      if (endpoint == spec.endpoints.end()) return Error::Invalid(fmt::format("webhook {} has no endpoint {}", entry.name, entry.path));
      AdmissionRequest now = request;
      if (!tried.json.is_null()) now.object = ToRawJson(tried.json);
      Result<bool> goes_on = Call(*endpoint, now, ctx, tried);
      if (!goes_on) return goes_on.error();
      if (!*goes_on) return tried;
    }
  }
  return tried;
}

std::string TriedAdmission::ToString() const { return denial ? "denied: " + denial->ToString() : "allowed"; }

}  // namespace kube
