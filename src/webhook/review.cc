#include "webhook/review.h"

#include <fmt/format.h>

#include <exception>
#include <optional>
#include <utility>

#include "codec/json_patch_of.h"
#include "kube/api/admission/v1.h"
#include "kube/base/log.h"
#include "kube/client/status_error.h"
#include "kube/codec/json.h"
#include "kube/meta/dynamic_object.h"
#include "kube/value/any_object.h"
#include "kube/value/table.h"

namespace kube::internal {

// An AdmissionReview of any version: the requests of v1 and v1beta1 have the same fields.
struct ReviewEnvelope {
  String api_version{};
  String kind{};
  Box<admission::v1::AdmissionRequest> request{};
  KUBE_TABLE(ReviewEnvelope);
};
KUBE_DEFINE_TABLE(ReviewEnvelope, "webhook.AdmissionReview", KUBE_FIELD(ReviewEnvelope, api_version), KUBE_FIELD(ReviewEnvelope, kind),
                  KUBE_FIELD(ReviewEnvelope, request));

namespace {

Logger Log() { return Logger("webhook"); }

Error BadRequest(std::string message) {
  Error::Payload payload;
  payload.kind = ErrorKind::kApi;
  payload.http_code = 400;
  payload.reason = "BadRequest";
  payload.message = std::move(message);
  return Error(std::move(payload));
}

Gvk KindOf(const meta::v1::GroupVersionKind& kind) { return {kind.group, kind.version, kind.kind}; }
Gvr ResourceOf(const meta::v1::GroupVersionResource& resource) { return {resource.group, resource.version, resource.resource}; }

std::optional<AdmissionOperation> ParseOperation(std::string_view text) {
  for (const AdmissionOperation operation :
       {AdmissionOperation::kCreate, AdmissionOperation::kUpdate, AdmissionOperation::kDelete, AdmissionOperation::kConnect}) {
    if (text == ToString(operation)) return operation;
  }
  return std::nullopt;
}

AdmissionRequest RequestOf(const admission::v1::AdmissionRequest& from, AdmissionOperation operation) {
  AdmissionRequest to;
  to.uid = from.uid;
  to.operation = operation;
  to.kind = KindOf(from.kind);
  to.resource = ResourceOf(from.resource);
  to.subresource = from.sub_resource;
  to.request_kind = from.request_kind ? KindOf(*from.request_kind) : to.kind;
  to.request_resource = from.request_resource ? ResourceOf(*from.request_resource) : to.resource;
  to.request_subresource = from.request_resource ? from.request_sub_resource : to.subresource;
  to.key = {from.namespace_, from.name};
  to.user = from.user_info;
  to.dry_run = from.dry_run.value_or(false);
  to.object = from.object;
  to.old_object = from.old_object;
  to.options = from.options;
  return to;
}

// The object of a review: a struct of a known type, or a DynamicObject; or none.
class ReviewObject {
 public:
  static Result<ReviewObject> Decode(const TypeInfo* type, const RawJson& raw) {
    ReviewObject out;
    if (raw.empty()) return out;
    std::string scratch;
    const std::string_view text = raw.View(scratch);
    if (type == nullptr) {
      Result<DynamicObject> object = FromJson<DynamicObject>(text);
      if (!object) return object.error();
      out.dynamic_ = *std::move(object);
      return out;
    }
    out.typed_ = AnyObject(*type);
    if (Result<void> decoded = DecodeJson(*type, out.typed_.mutable_data(), text); !decoded) return decoded.error();
    out.typed_.Settle();
    return out;
  }

  // Null if there is none.
  const void* data() const { return typed_ ? typed_.data() : dynamic_ ? &*dynamic_ : nullptr; }
  void* mutable_data() { return typed_ ? typed_.mutable_data() : dynamic_ ? &*dynamic_ : nullptr; }

  Result<Value> ToValue() const { return typed_ ? kube::ToValue(typed_.type(), typed_.data()) : dynamic_->value(); }
  friend bool operator==(const ReviewObject&, const ReviewObject&) = default;

  bool is_typed() const { return static_cast<bool>(typed_); }

 private:
  AnyObject typed_{};
  std::optional<DynamicObject> dynamic_{};
};

// What the function changed, as a patch of the JSON that the server has. Nothing if it changed nothing.
Result<std::optional<Value>> ChangeOf(const RawJson& raw, const ReviewObject& before, const ReviewObject& after) {
  if (before == after) return std::optional<Value>();
  Result<Value> from = before.ToValue();
  if (!from) return from.error();
  Result<Value> to = after.ToValue();
  if (!to) return to.error();
  Result<Value> document = before.is_typed() ? ParseJson(raw) : from;
  if (!document) return document.error();
  Value patch = CreateJsonPatchOf(*document, *from, *to);
  if (patch.list().empty()) return std::optional<Value>();
  return std::optional(std::move(patch));
}

class Review {
 public:
  Review(const AdmissionFunctions& functions, AdmissionRole role, const Context& ctx, const AdmissionRequest& request)
      : functions_(functions), role_(role), ctx_(ctx), request_(request) {}

  Admission Run() {
    if (role_ == AdmissionRole::kRaw) return Call([&] { return functions_.raw(ctx_, request_); });
    Result<ReviewObject> object = ReviewObject::Decode(functions_.type, request_.object);
    if (!object) return BadRequest("the webhook could not decode the object: " + object.error().ToString());
    Result<ReviewObject> old = ReviewObject::Decode(functions_.type, role_ == AdmissionRole::kValidate ? request_.old_object : RawJson());
    if (!old) return BadRequest("the webhook could not decode the old object: " + old.error().ToString());
    if (object->data() == nullptr && request_.operation != AdmissionOperation::kDelete) return BadRequest("the review has no object");
    if (role_ == AdmissionRole::kMutate) return Mutate(*object);
    const bool had_one = request_.operation == AdmissionOperation::kUpdate || request_.operation == AdmissionOperation::kDelete;
    if (had_one && old->data() == nullptr) return BadRequest("the review has no old object");
    const void* const before = had_one ? old->data() : nullptr;
    const void* const now = request_.operation == AdmissionOperation::kDelete ? nullptr : object->data();
    return Call([&] { return functions_.validate(ctx_, request_, before, now); });
  }

  bool threw() const { return threw_; }

 private:
  Admission Mutate(const ReviewObject& object) {
    if (request_.operation == AdmissionOperation::kDelete) return {};
    ReviewObject changed = object;
    Admission answer = Call([&] { return functions_.mutate(ctx_, request_, changed.mutable_data()); });
    if (!answer.allowed()) return answer;
    Result<std::optional<Value>> patch = ChangeOf(request_.object, object, changed);
    if (!patch) return answer.Merge(patch.error().WithContext("the object as the webhook changed it cannot be written"));
    if (*patch) answer.Patch(**std::move(patch));
    return answer;
  }

  template <typename F>
  Admission Call(const F& call) {
    std::string what;
    try {
      return call();
    } catch (const ErrorException& e) {  // Result::value(): the same as returning that error
      return e.error();
    } catch (const std::exception& e) {
      what = e.what();
    } catch (...) {
      what = "something that is not a std::exception";
    }
    threw_ = true;
    Log().Error("The function of a webhook threw", {{"what", what},
                                                    {"operation", ToString(request_.operation)},
                                                    {"resource", request_.resource.ToString()},
                                                    {"object", request_.key.ToString()}});
    return Error::Internal("the function of the webhook threw: " + what);
  }

  const AdmissionFunctions& functions_;
  const AdmissionRole role_;
  const Context& ctx_;
  const AdmissionRequest& request_;
  bool threw_ = false;
};

WebhookAnswer Refuse(std::string why) { return {.code = 400, .body = std::move(why)}; }

}  // namespace

WebhookAnswer ServeAdmission(const AdmissionFunctions& functions, AdmissionRole role, AdmissionOperation on, const Context& ctx,
                             std::string_view body) {
  Result<ReviewEnvelope> envelope = FromJson<ReviewEnvelope>(body);
  if (!envelope) return Refuse(envelope.error().WithContext("AdmissionReview").ToString());
  const std::string_view version = envelope->api_version.view();
  if (envelope->kind != "AdmissionReview" || (version != "admission.k8s.io/v1" && version != "admission.k8s.io/v1beta1"))
    return Refuse("expected an AdmissionReview of admission.k8s.io/v1 or v1beta1");
  if (!envelope->request) return Refuse("the AdmissionReview has no request");
  const admission::v1::AdmissionRequest& asked = *std::as_const(*envelope).request;
  if (asked.uid.empty()) return Refuse("the AdmissionReview has no uid");
  const std::optional<AdmissionOperation> operation = ParseOperation(asked.operation);
  if (!operation) return Refuse("the AdmissionReview has an unknown operation");

  const AdmissionRequest request = RequestOf(asked, *operation);
  Admission answer;
  bool threw = false;
  if (Includes(on, *operation)) {
    Review review(functions, role, ctx, request);
    answer = review.Run();
    threw = review.threw();
  } else {
    Log().V(1).Info("A webhook was called for an operation that it has no function for",
                    {{"operation", ToString(*operation)}, {"resource", request.resource.ToString()}});
  }

  admission::v1::AdmissionResponse response;
  response.uid = asked.uid;
  const std::optional<Error> denial = answer.Denial(request);
  response.allowed = !denial;
  if (denial) {
    response.status.Mutable() = ErrorToStatus(*denial);
  } else if (answer.patch() && !answer.patch()->list().empty()) {
    response.patch = String(ToJson(*answer.patch()));
    response.patch_type = String("JSONPatch");
  }
  for (const std::string& warning : answer.warnings()) response.warnings.push_back(warning);
  for (const auto& [key, value] : answer.audit_annotations()) response.audit_annotations[key] = value;

  std::string out = fmt::format(R"({{"kind":"AdmissionReview","apiVersion":"{}","response":)", version);
  if (Result<void> written = EncodeJson(admission::v1::AdmissionResponse::kType, &response, out); !written) {
    return {.code = 500, .body = written.error().ToString(), .threw = threw};  // no RawJson among the fields: cannot be
  }
  out += '}';
  return {.body = std::move(out), .threw = threw};
}

}  // namespace kube::internal
