// InstallWebhooks: makes the API server of a test call a program's webhooks, in the test's process.
//
//   Result<std::unique_ptr<InstalledWebhooks>> webhooks = InstallWebhooks(ctx, client, {NetworkWebhook()});
//   Result<Network> refused = client.Create(ctx, Network{...});     // goes through NetworkWebhook()
//
// The webhooks are served at a port of 127.0.0.1, and the configurations have its URL and CA: nothing has to be in the cluster. That needs
// an API server on the same machine, such as ControlPlane and ApiServer. When InstallWebhooks returns, the server calls the webhooks.
//
//   InstallWebhooks(ctx, client, {}, {.conversions = {NetworkConversion()}});     // of a definition that is installed already
//
// try_webhook.h runs webhooks, and check_conversion.h conversions, without a server.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_memory.h"
#include "kube/client/client.h"
#include "kube/webhook/conversion.h"
#include "kube/webhook/webhook_spec.h"

namespace kube::testing {

struct InstallWebhooksOptions {
  std::string name = "test-webhooks";  // of the configurations
  // Served as well. Their CustomResourceDefinitions must be there, with all versions converted; they get spec.conversion.
  std::vector<ConversionSpec> conversions{};
};

// Thread safety: all functions from any thread.
// Lifetime: the destructor deletes the configurations, puts back what definitions had in spec.conversion, and ends the port. If the server
// cannot be reached then, they stay.
class KUBE_EXPORT InstalledWebhooks {
 public:
  virtual ~InstalledWebhooks();
  virtual std::uint16_t port() const = 0;
  virtual std::string url() const = 0;            // "https://127.0.0.1:41234"
  virtual const std::string& ca_pem() const = 0;  // what signs its certificate
};

// Errors: those of the specs, and of SetConversion; kApi, such as IsAlreadyExists for configurations of this name and IsNotFound for a
// definition; the context's if the server does not call the webhooks in time.
// Blocking: until the server calls them, which takes some 100 ms.
KUBE_EXPORT Result<std::unique_ptr<InstalledWebhooks>> InstallWebhooks(const Context& ctx, const Client& client,
                                                                       const std::vector<WebhookSpec>& specs,
                                                                       InstallWebhooksOptions options = {});

}  // namespace kube::testing
