// Builds the objects that register a program's webhooks with API servers. No I/O.
//
//   auto made = MakeWebhookConfigurations(specs, {.name = "networks", .ns = "networks-system", .ca_bundle = ca_pem});
//   made->mutating, made->validating       MutatingWebhookConfiguration and ValidatingWebhookConfiguration "networks"
//   MakeWebhookService(...)                the Service "networks-webhook" in front of port 9443
//   ToYaml(*made)                          for kubectl apply
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kube/api/admissionregistration/v1.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/webhook/webhook_spec.h"

namespace kube {

namespace core::v1 {
struct Service;
}

// Options of MakeWebhookConfigurations.
struct WebhookConfigurationOptions {
  std::string name = "manager";  // of both configurations
  // Either API servers reach the program through a Service, in the program's namespace ...
  std::string ns{};
  std::string service{};  // empty for NAME-webhook
  int service_port = 443;
  int target_port = 9443;  // port of the pods
  // Labels of the pods. Empty for app.kubernetes.io/name: NAME.
  std::map<std::string, std::string, std::less<>> selector{};
  // ... or at a URL, for tests and programs outside of the cluster: "https://127.0.0.1:9443".
  std::string url{};
  std::string ca_bundle{};  // PEM; empty if another component injects it
};

// The two configurations. Unset if no webhook belongs to it.
struct WebhookConfigurations {
  std::optional<admissionregistration::v1::MutatingWebhookConfiguration> mutating{};
  std::optional<admissionregistration::v1::ValidatingWebhookConfiguration> validating{};
};

// Returns the configurations for all entries of `specs`. Errors: kInvalid if two webhooks of one configuration have the same name, or there
// is neither a namespace nor a URL.
KUBE_EXPORT Result<WebhookConfigurations> MakeWebhookConfigurations(const std::vector<WebhookSpec>& specs,
                                                                    const WebhookConfigurationOptions& options);
// Returns the Service in front of the program's pods. Requires: options.url is empty.
KUBE_EXPORT core::v1::Service MakeWebhookService(const WebhookConfigurationOptions& options);
// Returns options.service, or "NAME-webhook" if that is empty.
KUBE_EXPORT std::string WebhookServiceName(const WebhookConfigurationOptions& options);
// Returns the configurations as YAML documents, without a Service.
KUBE_EXPORT Result<std::string> ToYaml(const WebhookConfigurations& configurations);

}  // namespace kube
