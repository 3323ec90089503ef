// Any body of an admission call is answered: with an HTTP error, or with a review for the same uid that allows or says why not. The patch
// of a mutating webhook makes the object that its function made, and a function that changes nothing sends none.
#include <optional>
#include <stdexcept>
#include <string>

#include "codec/base64.h"
#include "kube/api/core/v1.h"
#include "kube/base/context.h"
#include "kube/base/log.h"
#include "kube/codec/json.h"
#include "kube/codec/patch.h"
#include "kube/meta/dynamic_object.h"
#include "require.h"
#include "webhook/review.h"

namespace {

using kube::Admission;
using kube::AdmissionOperation;
using kube::AdmissionRequest;
using kube::Context;
using kube::DynamicObject;
using kube::ParseJson;
using kube::Result;
using kube::String;
using kube::Value;
using kube::core::v1::Pod;
using kube::fuzz::Require;
using kube::internal::AdmissionFunctions;
using kube::internal::AdmissionRole;

constexpr auto kAll =
    AdmissionOperation::kCreate | AdmissionOperation::kUpdate | AdmissionOperation::kDelete | AdmissionOperation::kConnect;

// The request chooses what the function does.
Admission Act(const AdmissionRequest& request) {
  const std::string_view user = request.user.username.view();
  if (user == "throw") throw std::runtime_error("thrown for " + request.key.ToString());
  if (user == "throw-int") throw 42;
  if (user == "deny") return Admission::Deny("denied: " + request.key.ToString());
  Admission answer;
  if (user == "invalid") answer.Forbidden("metadata.name", "is " + request.key.name.str());
  if (user == "warn") answer.Warn("about " + request.key.ToString()).Audit("about", request.key.ToString());
  return answer;
}

void Change(Pod& pod) {
  pod.metadata.labels["checked/by"] = "a~b";
  pod.metadata.annotations.clear();
  if (!pod.spec.volumes.empty()) pod.spec.volumes.erase(0);
  for (auto& container : pod.spec.containers) container.image = String(container.image.str() + "@sha256");
  pod.spec.containers.push_back({.name = "proxy"});
}
void Change(DynamicObject& object) {
  object["spec"]["checked"] = Value(true);
  object["metadata"].MutableObject().Erase("annotations");
}

// What both objects are as JSON: numbers may be written in several ways, 1.50 and 1.5.
bool Same(const Pod& made, const Value& patched) {
  const Result<Pod> got = kube::FromValue<Pod>(patched);
  return got.ok() && kube::ToValue(*got).value() == kube::ToValue(made).value();
}
bool Same(const DynamicObject& made, const Value& patched) { return made.value() == patched; }

// The response of an answer that has one.
std::optional<Value> ResponseOf(const kube::WebhookAnswer& answer, const Value& review) {
  Require(answer.code == 200 || answer.code == 400, "the call is answered");
  if (answer.code == 400) {
    Require(!answer.body.empty(), "a refusal says why");
    return std::nullopt;
  }
  const Result<Value> out = ParseJson(answer.body);
  Require(out.ok(), "the answer is JSON");
  Require((*out)["apiVersion"] == review["apiVersion"] && (*out)["kind"].string_value() == "AdmissionReview",
          "it is a review of the version");
  const Value& response = std::as_const(*out)["response"];
  Require(response["uid"] == review["request"]["uid"], "it is for the same uid");
  Require(response["allowed"].is_bool(), "it allows or not");
  if (!response["allowed"].bool_value()) {
    const Value& status = response["status"];
    Require(status["code"].is_int() && status["code"].int_value() >= 400 && !status["message"].string_value().empty(), "a denial says why");
    Require(response["patch"].is_null(), "a denial has no patch");
  }
  return response;
}

std::optional<Value> PatchOf(const Value& response) {
  if (response["patch"].is_null()) return std::nullopt;
  std::string json;
  Require(kube::internal::DecodeBase64(response["patch"].string_value().view(), json), "the patch is base64");
  Result<Value> patch = ParseJson(json);
  Require(patch.ok() && patch->is_list() && !patch->list().empty(), "the patch is a list of operations");
  return *std::move(patch);
}

template <typename T>
void CheckMutation(const kube::TypeInfo* type, std::string_view body, const Value& review) {
  std::optional<T> made;
  AdmissionFunctions functions{.type = type};
  functions.mutate = [&](const Context&, const AdmissionRequest& request, void* at) {
    Admission answer = Act(request);
    T& object = *static_cast<T*>(at);
    Change(object);
    made = object;
    return answer;
  };
  const Context ctx = Context::Background();
  const std::optional<Value> response =
      ResponseOf(kube::internal::ServeAdmission(functions, AdmissionRole::kMutate, kAll, ctx, body), review);
  if (response && made && (*response)["allowed"].bool_value()) {
    const std::optional<Value> patch = PatchOf(*response);
    Require(patch.has_value(), "a change is a patch");
    const Result<Value> patched = kube::ApplyJsonPatch(review["request"]["object"], *patch);
    Require(patched.ok(), "the patch applies to the object of the request");
    Require(Same(*made, *patched), "it makes the object that the function made");
  }
  functions.mutate = [](const Context&, const AdmissionRequest& request, void*) { return Act(request); };
  const std::optional<Value> unchanged =
      ResponseOf(kube::internal::ServeAdmission(functions, AdmissionRole::kMutate, kAll, ctx, body), review);
  Require(!unchanged || (*unchanged)["patch"].is_null(), "no change is no patch");
}

void CheckValidation(const kube::TypeInfo* type, std::string_view body, const Value& review) {
  AdmissionFunctions functions{.type = type};
  functions.validate = [](const Context&, const AdmissionRequest& request, const void* old, const void* now) {
    const bool has_old = request.operation == AdmissionOperation::kUpdate || request.operation == AdmissionOperation::kDelete;
    Require((old != nullptr) == has_old, "the old object is there if the operation has one");
    Require((now != nullptr) == (request.operation != AdmissionOperation::kDelete), "and the new one");
    return Act(request);
  };
  const std::optional<Value> response =
      ResponseOf(kube::internal::ServeAdmission(functions, AdmissionRole::kValidate, kAll, Context::Background(), body), review);
  Require(!response || (*response)["patch"].is_null(), "validation does not patch");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool quiet = [] {
    kube::LogBackend::Default()->SetSink(kube::MakeTextSink([](std::string_view) {}));
    return true;
  }();
  static_cast<void>(quiet);
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const Value review = ParseJson(body).value_or(Value());
  CheckMutation<Pod>(&Pod::kType, body, review);
  CheckMutation<DynamicObject>(nullptr, body, review);
  CheckValidation(&Pod::kType, body, review);
  CheckValidation(nullptr, body, review);
  AdmissionFunctions raw;
  raw.raw = [](const Context&, const AdmissionRequest& request) { return Act(request); };
  (void)ResponseOf(kube::internal::ServeAdmission(raw, AdmissionRole::kRaw, kAll, Context::Background(), body), review);
  return 0;
}
