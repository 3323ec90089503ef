#include "kube/client/scale.h"

#include <optional>
#include <string>
#include <utility>

#include "client/request.h"
#include "client/write_report.h"
#include "kube/codec/json.h"
#include "kube/meta/selector.h"
#include "kube/transport/http.h"

namespace kube {
namespace {

using autoscaling::v1::Scale;

// The forms before autoscaling/v1 had the selector as labels, and beside them as a text.
bool IsOldForm(std::string_view api_version) {
  return api_version == "extensions/v1beta1" || api_version == "apps/v1beta1" || api_version == "apps/v1beta2";
}

Result<Scale> ToCurrentForm(Value value) {
  const std::string api_version = std::as_const(value)["apiVersion"].string_value().str();
  const std::string kind = std::as_const(value)["kind"].string_value().str();
  if (kind != "Scale" || (api_version != "autoscaling/v1" && !IsOldForm(api_version))) {
    return Error::Decode("the server answered with " + api_version + " " + kind +
                         ", expected a Scale of autoscaling/v1, apps or extensions");
  }
  if (IsOldForm(api_version)) {
    value["apiVersion"] = "autoscaling/v1";
    if (const Value* status = std::as_const(value).Find("status"); status != nullptr && status->is_object()) {
      Map<String> labels;
      for (const auto& [key, label] : (*status)["selector"].object()) labels[key] = label.string_value();
      String selector = (*status)["targetSelector"].string_value();
      if (selector.empty() && !labels.empty()) selector = String(Selector::FromLabels(labels).ToString());
      Value current = Value::Object();
      if (const Value* replicas = status->Find("replicas")) current["replicas"] = *replicas;
      if (!selector.empty()) current["selector"] = selector;
      value["status"] = std::move(current);
    }
  }
  return FromValue<Scale>(value);
}

Result<std::string> ToForm(const Scale& scale, const GroupVersion& form) {
  if (!IsOldForm(form.ToString())) return ToJson(scale);
  Result<Value> value = ToValue(scale);
  if (!value) return value.error();
  (*value)["apiVersion"] = form.ToString();
  (*value)["kind"] = "Scale";
  const String selector = scale.status.selector;
  if (!selector.empty()) {
    Value& status = (*value)["status"];
    status["targetSelector"] = selector;
    status.MutableObject().Erase("selector");
    Result<Selector> parsed = Selector::Parse(selector);
    Result<meta::v1::LabelSelector> labels = parsed ? parsed->ToLabelSelector() : parsed.error();
    if (labels && labels->match_expressions.empty()) {
      for (const auto& [key, label] : std::as_const(labels->match_labels)) status["selector"][key] = label;
    }
  }
  return ToJson(*value);
}

struct Call {
  std::string_view method;
  std::string_view verb;
  internal::Query query{};
  std::string body{};
  std::string_view content_type{};
};

Result<Scale> Send(const Context& ctx, const Client& client, const Gvr& resource, const ObjectKey& key, Call call) {
  if (key.name.empty()) return Error::Invalid("the scale of " + resource.group_resource().ToString() + " needs the name of an object");
  const internal::ResourcePath path{&resource, key.ns, key.name, "scale"};
  Result<std::string> target = path.ToTarget();
  if (!target) return target.error();
  HttpRequest request;
  request.method = call.method;
  request.verb = call.verb;
  request.target = *std::move(target);
  if (!call.query.empty()) request.target += "?" + internal::EncodeQuery(call.query);
  request.url_template = path.ToTemplate();
  request.headers.Set("Accept", "application/json");
  if (!call.content_type.empty()) request.headers.Set("Content-Type", std::string(call.content_type));
  request.body = std::move(call.body);
  Result<HttpResponse> response = client.Raw(ctx, std::move(request));
  if (!response) return response.error();
  Result<Value> value = ParseJson(response->body);
  Result<Scale> scale = value ? ToCurrentForm(*std::move(value)) : value.error();
  if (!scale) return scale.error().WithContext("read the " + path.Describe());
  if (call.verb != "get" && call.query.count("dryRun") == 0) {
    const ResourceTarget written{.gvr = resource};
    internal::ReportMetadata(client.core(), ctx, {written, call.verb, "scale"}, key, scale->metadata);
  }
  return scale;
}

Result<Scale> Update(const Context& ctx, const Client& client, const Gvr& resource, const Scale& scale, const GroupVersion& form,
                     const UpdateOptions& options) {
  Result<std::string> body = ToForm(scale, form);
  if (!body) return body.error();
  return Send(ctx, client, resource, KeyOf(scale), {"PUT", "update", internal::ToQuery(options), *std::move(body), "application/json"});
}

Result<RestMapping> Resolve(const Context& ctx, const RestMapper& mapper, const GroupResource& resource, const ObjectKey& key) {
  Result<RestMapping> mapping = mapper.ForResource(ctx, resource.WithVersion(""));
  if (!mapping) return mapping.error();
  if (mapping->namespaced && key.ns.empty()) return Error::Invalid(resource.ToString() + " live in namespaces: name one");
  if (!mapping->namespaced && !key.ns.empty()) return Error::Invalid(resource.ToString() + " do not live in namespaces: leave it empty");
  return mapping;
}

}  // namespace

Result<Scale> GetScale(const Context& ctx, const Client& client, const Gvr& resource, const ObjectKey& key, const GetOptions& options) {
  Call call{"GET", "get"};
  if (!options.resource_version.empty()) call.query.emplace("resourceVersion", options.resource_version);
  return Send(ctx, client, resource, key, std::move(call));
}

Result<Scale> UpdateScale(const Context& ctx, const Client& client, const Gvr& resource, const Scale& scale, const UpdateOptions& options) {
  return Update(ctx, client, resource, scale, {"autoscaling", "v1"}, options);
}

Result<Scale> PatchScale(const Context& ctx, const Client& client, const Gvr& resource, const ObjectKey& key, const Patch& patch,
                         const PatchOptions& options) {
  return Send(ctx, client, resource, key, {"PATCH", "patch", internal::ToQuery(options), patch.body, patch.content_type()});
}

Result<Scale> GetScale(const Context& ctx, const RestMapper& mapper, const GroupResource& resource, const ObjectKey& key,
                       const GetOptions& options) {
  Result<RestMapping> mapping = Resolve(ctx, mapper, resource, key);
  if (!mapping) return mapping.error();
  return GetScale(ctx, mapper.discovery().client(), mapping->gvr, key, options);
}

Result<Scale> UpdateScale(const Context& ctx, const RestMapper& mapper, const GroupResource& resource, const Scale& scale,
                          const UpdateOptions& options) {
  Result<RestMapping> mapping = Resolve(ctx, mapper, resource, KeyOf(scale));
  if (!mapping) return mapping.error();
  Result<ApiResourceList> list = mapper.discovery().Resources(ctx, mapping->gvr.group_version());
  if (!list) return list.error();
  const ApiResource* found = list->Find(mapping->gvr.resource.str() + "/scale");
  if (found == nullptr) {
    Error::Payload payload;
    payload.kind = ErrorKind::kApi;
    payload.http_code = 404;
    payload.reason = "NotFound";
    payload.message = mapping->gvr.ToString() + " has no scale subresource";
    return Error(std::move(payload));
  }
  return Update(ctx, mapper.discovery().client(), mapping->gvr, scale, found->gvk.group_version(), options);
}

}  // namespace kube
