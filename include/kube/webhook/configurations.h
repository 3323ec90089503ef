// The objects that tell API servers about a program's webhooks, made from what the program registers. No I/O.
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

struct WebhookConfigurationOptions {
  std::string name = "manager";  // of both configurations
  // How API servers reach the program: by a Service in the namespace that the program runs in ...
  std::string ns{};
  std::string service{};  // empty: NAME-webhook
  int service_port = 443;
  int target_port = 9443;                                      // of the pods
  std::map<std::string, std::string, std::less<>> selector{};  // their labels; empty: app.kubernetes.io/name is NAME
  // ... or by an address, which is for tests and for programs outside of the cluster: "https://127.0.0.1:9443".
  std::string url{};
  std::string ca_bundle{};  // PEM; empty if something else fills it in
};

struct WebhookConfigurations {
  std::optional<admissionregistration::v1::MutatingWebhookConfiguration> mutating{};
  std::optional<admissionregistration::v1::ValidatingWebhookConfiguration> validating{};
};

// Neither object if no spec has an entry for it. Errors: kInvalid, for two webhooks of one name in one configuration, and if there is
// neither a namespace nor a URL.
KUBE_EXPORT Result<WebhookConfigurations> MakeWebhookConfigurations(const std::vector<WebhookSpec>& specs,
                                                                    const WebhookConfigurationOptions& options);
// Requires: options.url is empty.
KUBE_EXPORT core::v1::Service MakeWebhookService(const WebhookConfigurationOptions& options);
// "NAME-webhook" unless the options say otherwise.
KUBE_EXPORT std::string WebhookServiceName(const WebhookConfigurationOptions& options);
// The documents, without a Service.
KUBE_EXPORT Result<std::string> ToYaml(const WebhookConfigurations& configurations);

}  // namespace kube
