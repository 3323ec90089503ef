// InstallWebhooks: registers a program's webhooks with a test's API server and serves them in the test process.
//
//   Result<std::unique_ptr<InstalledWebhooks>> webhooks = InstallWebhooks(ctx, client, {NetworkWebhook()});
//   Result<Network> refused = client.Create(ctx, Network{...});     // goes through NetworkWebhook()
//
// The webhooks are served on a port of 127.0.0.1, and the configurations contain its URL and CA, so nothing needs to run in the cluster.
// The API server must be on the same machine, such as ControlPlane and ApiServer. When InstallWebhooks returns, the API server calls the
// webhooks.
//
//   InstallWebhooks(ctx, client, {}, {.conversions = {NetworkConversion()}});     // for a definition that is already installed
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

// Options of InstallWebhooks.
struct InstallWebhooksOptions {
  std::string name = "test-webhooks";  // of the configurations
  // Also served. Their CustomResourceDefinitions must be installed and have only versions that are converted; they get spec.conversion.
  std::vector<ConversionSpec> conversions{};
};

// Webhooks that are served and registered.
//
// Thread safety: all functions may be called from any thread.
// Lifetime: the destructor deletes the configurations, restores spec.conversion of the definitions, and closes the port. If the API server
//   cannot be reached, the configurations and spec.conversion remain.
class KUBE_EXPORT InstalledWebhooks {
 public:
  virtual ~InstalledWebhooks();
  virtual std::uint16_t port() const = 0;
  virtual std::string url() const = 0;            // "https://127.0.0.1:41234"
  virtual const std::string& ca_pem() const = 0;  // signs the server's certificate
};

// Errors: those of the specs, and of SetConversion; kApi, such as IsAlreadyExists for configurations of this name and IsNotFound for a
//   definition; the context's, if the API server does not call the webhooks in time.
// Blocking: until the API server calls them, about 100 ms.
KUBE_EXPORT Result<std::unique_ptr<InstalledWebhooks>> InstallWebhooks(const Context& ctx, const Client& client,
                                                                       const std::vector<WebhookSpec>& specs,
                                                                       InstallWebhooksOptions options = {});

}  // namespace kube::testing
