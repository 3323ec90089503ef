#include "control/certificates/ca_injection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "codec/base64.h"
#include "config/text.h"
#include "kube/serve/certificate.h"

namespace kube::internal {
namespace {

// cert-manager.io/inject-ca-from, -from-secret and inject-apiserver-ca.
constexpr std::string_view kForeignPrefix = "cert-manager.io/inject-";
constexpr std::string_view kManagedBy = "app.kubernetes.io/managed-by";

String Base64(std::string_view bytes) {
  std::string out;
  AppendBase64(bytes, out);
  return String(out);
}

std::vector<std::string> CertificatesOf(const Value& client) {
  std::string pem;
  if (!DecodeBase64(client["caBundle"].string_value().view(), pem)) return {};
  return serve::SplitCertificates(pem);
}

Value Operation(const char* op, std::string path, Value value) {
  return Value::Object({{"op", op}, {"path", Value(path)}, {"value", std::move(value)}});
}

// Everything that `wanted` says is in `have`; servers add defaults.
bool Covers(const Value& have, const Value& wanted) {
  if (wanted.is_object()) {
    return std::all_of(wanted.object().begin(), wanted.object().end(), [&](const auto& member) {
      const Value* const found = have.Find(member.key.view());
      return found != nullptr && Covers(*found, member.value);
    });
  }
  if (!wanted.is_list()) return have == wanted;
  const List<Value>&a = have.list(), &b = wanted.list();
  return have.is_list() && a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), Covers);
}

// Members of `wanted` replace those of `have`. What others added beside them stays.
Value Merged(Value have, const Value& wanted) {
  for (const auto& member : wanted.object()) have[member.key.view()] = member.value;
  return have;
}

// A service has a port by default, a webhook's client configuration not: it is replaced as a whole, and compared without the CA.
bool SameClient(const Value& have, const Value& wanted) {
  return Covers(have, wanted) && have["url"].is_null() == wanted["url"].is_null() &&
         have["service"].is_null() == wanted["service"].is_null();
}

// Whom API servers verify by the CA: the name in the certificate.
std::string HostOf(const Value& client) {
  if (const Value& service = client["service"]; service.is_object())
    return fmt::format("{}.{}.svc", service["name"].string_value(), service["namespace"].string_value());
  const Result<UrlParts> url = ParseUrl(client["url"].string_value().view());
  return url ? url->host : std::string();
}

bool IsCalledBy(const InjectionTarget& target, const Value& client, const Value& wanted) {
  if (SameClient(client, wanted)) return true;
  const std::string host = HostOf(client);
  const auto same = [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
  };
  return std::any_of(target.hosts.begin(), target.hosts.end(),
                     [&](const std::string& known) { return std::equal(known.begin(), known.end(), host.begin(), host.end(), same); });
}

std::string CallsAnother(std::string_view what, const Value& client) {
  const std::string host = HostOf(client);
  return fmt::format("{} (it calls {})", what, host.empty() ? "no host" : host);
}

void PlanWebhooks(const InjectionTarget& target, const DynamicObject& object, std::string_view bundle, bool install, InjectionPlan& plan,
                  List<Value>& patch) {
  const List<Value>& webhooks = object["webhooks"].list();
  for (const Value& wanted : target.wanted) {
    const auto is_wanted = [&](const Value& webhook) { return webhook["name"] == wanted["name"]; };
    const auto found = std::find_if(webhooks.begin(), webhooks.end(), is_wanted);
    if (found == webhooks.end()) {
      plan.missing.push_back(wanted["name"].string_value().str());
      if (!install || bundle.empty()) continue;
      if (webhooks.empty() && patch.empty()) patch.push_back(Operation("add", "/webhooks", Value::Array()));
      Value added = wanted;
      added["clientConfig"]["caBundle"] = Base64(bundle);
      patch.push_back(Operation("add", "/webhooks/-", std::move(added)));
      continue;
    }
    const Value& client = (*found)["clientConfig"];
    const bool calls_us = IsCalledBy(target, client, wanted["clientConfig"]);
    if (calls_us) plan.trusted.push_back(CertificatesOf(client));
    if (!calls_us) plan.missing.push_back(CallsAnother(wanted["name"].string_value(), client));
    if (bundle.empty()) continue;
    const std::string path = fmt::format("/webhooks/{}", found - webhooks.begin());
    const bool trusts = client["caBundle"].string_value() == Base64(bundle);
    if (install && (!SameClient(client, wanted["clientConfig"]) || !Covers(*found, wanted))) {
      Value changed = Merged(*found, wanted);
      changed["clientConfig"]["caBundle"] = Base64(bundle);
      patch.push_back(Operation("replace", path, std::move(changed)));
    } else if (calls_us && !trusts) {
      patch.push_back(Operation("add", path + "/clientConfig/caBundle", Value(Base64(bundle))));
    }
  }
}

void PlanConversion(const InjectionTarget& target, const DynamicObject& object, std::string_view bundle, bool install, InjectionPlan& plan,
                    List<Value>& patch) {
  const Value& conversion = object["spec"]["conversion"];
  const Value& client = conversion["webhook"]["clientConfig"];
  const Value& wanted = target.wanted.front();
  const bool calls = conversion["strategy"].string_value() == "Webhook" && client.is_object();
  const bool has_place = calls && IsCalledBy(target, client, wanted["webhook"]["clientConfig"]);
  if (has_place) plan.trusted.push_back(CertificatesOf(client));
  if (!has_place) plan.missing.push_back(calls ? CallsAnother("spec.conversion", client) : "spec.conversion");
  if (const Result<void> checked = target.check(object); !checked) plan.problem = checked.error();
  if (bundle.empty()) return;
  if (install && !plan.problem && (!has_place || !SameClient(client, wanted["webhook"]["clientConfig"]))) {
    Value changed = wanted;
    changed["webhook"]["clientConfig"]["caBundle"] = Base64(bundle);
    patch.push_back(Operation("add", "/spec/conversion", std::move(changed)));
  } else if (has_place && client["caBundle"].string_value() != Base64(bundle)) {
    patch.push_back(Operation("add", "/spec/conversion/webhook/clientConfig/caBundle", Value(Base64(bundle))));
  }
}

void PlanService(const InjectionTarget& target, const DynamicObject& object, bool install, InjectionPlan& plan, List<Value>& patch) {
  const Value &spec = object["spec"], &wanted = target.wanted.front();
  plan.foreign = object["metadata"]["labels"][kManagedBy] != target.object["metadata"]["labels"][kManagedBy];
  if (plan.foreign || !install) return;
  const Value &have = spec["selector"], &selector = wanted["selector"];
  if (have.object().size() != selector.object().size() || !Covers(have, selector))
    patch.push_back(Operation("add", "/spec/selector", selector));
  const Value& port = wanted["ports"].list().front();
  const List<Value>& ports = spec["ports"].list();
  const bool found = std::any_of(ports.begin(), ports.end(), [&](const Value& p) { return Covers(p, port); });
  if (!found) patch.push_back(Operation("add", "/spec/ports", wanted["ports"]));
}

}  // namespace

InjectionTarget ServiceTarget(const Value& service) {
  InjectionTarget target;
  target.kind = {"", "v1", "Service"};
  target.resource = {"", "v1", "services"};
  target.ns = service["metadata"]["namespace"].string_value().str();
  target.name = service["metadata"]["name"].string_value().str();
  target.wanted = {service["spec"]};
  target.object = service;
  target.object["metadata"]["labels"][kManagedBy] = service["metadata"]["labels"]["app.kubernetes.io/name"];
  return target;
}

InjectionTarget WebhookTarget(const Value& configuration) {
  InjectionTarget target;
  const std::string kind = configuration["kind"].string_value().str();
  target.kind = {"admissionregistration.k8s.io", "v1", String(kind)};
  target.resource = {"admissionregistration.k8s.io", "v1",
                     kind == "MutatingWebhookConfiguration" ? "mutatingwebhookconfigurations" : "validatingwebhookconfigurations"};
  target.name = configuration["metadata"]["name"].string_value().str();
  for (const Value& webhook : configuration["webhooks"].list()) {
    target.wanted.push_back(webhook);
    target.wanted.back()["clientConfig"].MutableObject().Erase("caBundle");
  }
  target.object = configuration;
  target.object.MutableObject().Erase("webhooks");
  return target;
}

InjectionTarget ConversionTarget(const std::string& crd, Value conversion, std::function<Result<void>(const DynamicObject&)> check) {
  InjectionTarget target;
  target.kind = {"apiextensions.k8s.io", "v1", "CustomResourceDefinition"};
  target.resource = {"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
  target.name = crd;
  target.wanted = {std::move(conversion)};
  target.check = std::move(check);
  return target;
}

bool IsInjectedByOthers(const DynamicObject& object) {
  const Map<Value>& annotations = object["metadata"]["annotations"].object();
  return std::any_of(annotations.begin(), annotations.end(),
                     [](const auto& annotation) { return annotation.key.view().starts_with(kForeignPrefix); });
}

InjectionPlan PlanInjection(const InjectionTarget& target, const DynamicObject& object, std::string_view bundle, bool install) {
  InjectionPlan plan;
  plan.foreign = IsInjectedByOthers(object);
  List<Value> patch;
  if (target.is_service()) {
    PlanService(target, object, install, plan, patch);
  } else if (target.is_crd()) {
    PlanConversion(target, object, bundle, install, plan, patch);
  } else {
    PlanWebhooks(target, object, bundle, install, plan, patch);
  }
  if (plan.foreign || patch.empty()) return plan;
  // A patch of another version is a conflict.
  patch.push_back(Operation("replace", "/metadata/resourceVersion", Value(object.resource_version())));
  plan.patch = Value(std::move(patch));
  return plan;
}

DynamicObject NewObjectOf(const InjectionTarget& target, std::string_view bundle) {
  Value object = target.object;
  if (target.is_service()) return DynamicObject(std::move(object));
  for (Value webhook : target.wanted) {
    webhook["clientConfig"]["caBundle"] = Base64(bundle);
    object["webhooks"].MutableList().push_back(std::move(webhook));
  }
  return DynamicObject(std::move(object));
}

}  // namespace kube::internal
