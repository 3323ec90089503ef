#include "kube/webhook/configurations.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "kube/api/core/v1.h"
#include "kube/codec/yaml.h"

namespace kube {
namespace {

using admissionregistration::v1::RuleWithOperations;
using admissionregistration::v1::WebhookClientConfig;

constexpr std::string_view kNamespaceLabel = "kubernetes.io/metadata.name";
constexpr std::string_view kAppLabel = "app.kubernetes.io/name";

List<String> Strings(const std::vector<std::string>& from) {
  List<String> to;
  for (const std::string& text : from) to.push_back(text);
  return to;
}

RuleWithOperations RuleOf(const WebhookRule& from) {
  RuleWithOperations to{.api_groups = Strings(from.groups), .api_versions = Strings(from.versions), .resources = Strings(from.resources)};
  for (const AdmissionOperation operation :
       {AdmissionOperation::kCreate, AdmissionOperation::kUpdate, AdmissionOperation::kDelete, AdmissionOperation::kConnect}) {
    if (Includes(from.operations, operation)) to.operations.push_back(ToString(operation));
  }
  to.scope = String(from.scope);
  return to;
}

WebhookClientConfig ClientOf(const WebhookEntry& entry, const WebhookConfigurationOptions& options) {
  WebhookClientConfig client{.ca_bundle = options.ca_bundle};
  if (!options.url.empty()) {
    client.url = String(options.url + entry.path);
    return client;
  }
  auto& service = client.service.Mutable();
  service.namespace_ = options.ns;
  service.name = WebhookServiceName(options);
  service.path = String(entry.path);
  service.port = options.service_port;
  return client;
}

bool IsForBuiltInKinds(const WebhookEntry& entry) {
  const auto built_in = [](const std::string& group) { return group.find('.') == std::string::npos || group.ends_with(".k8s.io"); };
  return std::any_of(entry.rules.begin(), entry.rules.end(),
                     [&](const WebhookRule& rule) { return std::any_of(rule.groups.begin(), rule.groups.end(), built_in); });
}

// What both sorts of webhooks have.
template <typename Webhook>
Webhook WebhookOf(const WebhookEntry& entry, const WebhookConfigurationOptions& options) {
  Webhook webhook{.name = entry.name, .client_config = ClientOf(entry, options)};
  for (const WebhookRule& rule : entry.rules) webhook.rules.push_back(RuleOf(rule));
  webhook.failure_policy = String(entry.failure_policy == WebhookFailurePolicy::kFail ? "Fail" : "Ignore");
  webhook.match_policy = String(entry.match_policy == WebhookMatchPolicy::kEquivalent ? "Equivalent" : "Exact");
  webhook.side_effects = String(entry.side_effects == WebhookSideEffects::kNone ? "None" : "NoneOnDryRun");
  webhook.timeout_seconds = static_cast<std::int32_t>(entry.timeout.count());
  webhook.admission_review_versions = {"v1"};
  for (const WebhookMatchCondition& condition : entry.match_conditions)
    webhook.match_conditions.push_back({.name = condition.name, .expression = condition.expression});
  meta::v1::LabelSelector namespaces = entry.namespace_selector;
  if (!options.ns.empty() && entry.exclude_own_namespace.value_or(IsForBuiltInKinds(entry)))
    namespaces.match_expressions.push_back({.key = kNamespaceLabel, .operator_ = "NotIn", .values = {options.ns}});
  if (!(namespaces == meta::v1::LabelSelector())) webhook.namespace_selector = std::move(namespaces);
  if (!(entry.object_selector == meta::v1::LabelSelector())) webhook.object_selector = entry.object_selector;
  return webhook;
}

meta::v1::ObjectMeta MetadataOf(const WebhookConfigurationOptions& options) {
  meta::v1::ObjectMeta metadata;
  metadata.name = options.name;
  metadata.labels[kAppLabel] = options.name;
  return metadata;
}

}  // namespace

std::string WebhookServiceName(const WebhookConfigurationOptions& options) {
  return options.service.empty() ? options.name + "-webhook" : options.service;
}

Result<WebhookConfigurations> MakeWebhookConfigurations(const std::vector<WebhookSpec>& specs, const WebhookConfigurationOptions& options) {
  WebhookConfigurations out;
  std::set<std::pair<bool, std::string>> names;
  for (const WebhookSpec& spec : specs) {
    for (const WebhookEntry& entry : spec.entries) {
      if (options.url.empty() && options.ns.empty())
        return Error::Invalid("webhook configurations need the namespace that the program runs in, or a URL");
      if (!names.emplace(entry.mutating, entry.name).second)
        return Error::Invalid(fmt::format("two {} webhooks have the name {}", entry.mutating ? "mutating" : "validating", entry.name));
      if (entry.mutating) {
        if (!out.mutating) out.mutating.emplace().metadata = MetadataOf(options);
        auto webhook = WebhookOf<admissionregistration::v1::MutatingWebhook>(entry, options);
        webhook.reinvocation_policy = String(entry.reinvocation == WebhookReinvocation::kNever ? "Never" : "IfNeeded");
        out.mutating->webhooks.push_back(std::move(webhook));
      } else {
        if (!out.validating) out.validating.emplace().metadata = MetadataOf(options);
        out.validating->webhooks.push_back(WebhookOf<admissionregistration::v1::ValidatingWebhook>(entry, options));
      }
    }
  }
  return out;
}

core::v1::Service MakeWebhookService(const WebhookConfigurationOptions& options) {
  core::v1::Service service;
  service.metadata.name = WebhookServiceName(options);
  service.metadata.namespace_ = options.ns;
  service.metadata.labels[kAppLabel] = options.name;
  service.spec.ports.push_back(
      {.name = "webhook", .protocol = "TCP", .port = options.service_port, .target_port = IntOrString(options.target_port)});
  for (const auto& [key, value] : options.selector) service.spec.selector[key] = value;
  if (options.selector.empty()) service.spec.selector[kAppLabel] = options.name;
  return service;
}

Result<std::string> ToYaml(const WebhookConfigurations& configurations) {
  std::string out;
  const auto add = [&out](const auto& object) -> Result<void> {
    Result<std::string> yaml = kube::ToYaml(object);
    if (!yaml) return yaml.error();
    if (!out.empty()) out += "---\n";
    out += *yaml;
    return {};
  };
  if (configurations.mutating) {
    if (Result<void> added = add(*configurations.mutating); !added) return added.error();
  }
  if (configurations.validating) {
    if (Result<void> added = add(*configurations.validating); !added) return added.error();
  }
  return out;
}

}  // namespace kube
