// ManagerWebhooks: the webhooks of a manager: their port, their certificate, and the objects that register them with API servers.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/certificates/ca_injection.h"
#include "control/certificates/certificate_files.h"
#include "control/certificates/webhook_certificates.h"
#include "control/manager/manager_crds.h"
#include "kube/base/context.h"
#include "kube/base/metrics_registry.h"
#include "kube/base/mutex.h"
#include "kube/base/thread.h"
#include "kube/client/client.h"
#include "kube/control/access.h"
#include "kube/control/event_recorder.h"
#include "kube/control/manager.h"
#include "kube/meta/dynamic_object.h"
#include "kube/webhook/configurations.h"
#include "kube/webhook/conversion.h"
#include "kube/webhook/webhook_server.h"
#include "kube/webhook/webhook_spec.h"

namespace kube::internal {

// Thread safety: call Add before everything else; Start and Stop once, on one thread; everything else from any thread.
class ManagerWebhooks {
 public:
  struct Parts {
    const ManagerOptions* options = nullptr;
    const Client* client = nullptr;
    std::shared_ptr<MetricsRegistry> metrics{};
    std::shared_ptr<Clock> clock{};
    std::function<bool()> leads{};        // may change shared objects
    std::function<void(Error)> failed{};  // the manager must stop
  };

  explicit ManagerWebhooks(Parts parts);
  ~ManagerWebhooks();

  // Errors: kInvalid for a name or a path that is taken, and the spec's own.
  Result<void> Add(WebhookSpec spec);
  // The conversion of a kind's CustomResourceDefinition. Its stanza is installed with WebhookOptions::install, or with the definition if
  // the manager installs that, and gets the CA. Errors: kInvalid for a kind that has a conversion already, and the spec's own.
  Result<void> Add(ConversionSpec spec);
  bool empty() const { return specs_.empty() && conversions_.empty(); }

  std::vector<AccessNeed> needs() const;
  // The YAML documents: the configurations, the Service, and the definitions that this converts: complete ones if the manager installs
  // them, otherwise the name and spec.conversion.
  std::string Manifests(const RbacOptions& names, const ManagerCrds& crds) const;

  // Whether this serves the conversion of the definition: "networks.example.com".
  bool Converts(std::string_view crd) const { return ConversionOf(crd) != nullptr; }
  bool ConvertsAnyOf(const ManagerCrds& crds) const;
  // Sets spec.conversion of a definition that this converts, with the CA unless it is empty; others stay. Errors: those of
  // kube::SetConversion: a version that is not converted.
  Result<void> SetConversion(DynamicObject& crd, const std::string& ca_pem) const;

  // Errors: kInvalid for options that cannot work.
  Result<void> Check() const;
  // Starts to serve in the background once there is a certificate. With certificate files: before it returns. `managed`: whether the
  // manager installs the definition of this name. Errors: kConfig for files, kTransport for the port. Requires: Check.
  Result<void> Start(const Context& ctx, const std::function<bool(std::string_view crd)>& managed);
  // Waits until it serves. Returns the CA for definitions that are installed from now on; empty if another tool writes it.
  Result<std::string> Await(const Context& ctx) const;
  void Wake();
  // From now on each answer closes its connection, and this replica is not ready. Does not block; any thread.
  void BeginShutdown();
  // Closes the port shutdown_delay after BeginShutdown, once running calls are answered.
  void Stop();

  Result<void> Ready() const;
  // What is missing although the replica is ready.
  std::string Note() const;
  std::uint16_t port() const { return port_; }
  // For the debug page. Null if there are no webhooks.
  Value Report() const;

 private:
  const WebhookOptions& options() const { return parts_.options->webhooks; }
  std::string Name() const;
  std::string Namespace() const;
  const ConversionSpec* ConversionOf(std::string_view crd) const;
  WebhookConfigurationOptions Placed(std::string ns) const;
  // The endpoints of all webhooks and conversions.
  Result<std::vector<WebhookEndpoint>> Endpoints() const;
  Result<std::vector<InjectionTarget>> Targets(const std::string& ns) const;
  std::vector<std::string> Hosts(const std::string& ns) const;
  Result<void> Use(const serve::HttpTlsOptions& certificate);
  void WatchFiles(const Context& ctx);
  void Collect(MetricsSink& sink) const;
  // Null with certificate files, and before Start.
  WebhookCertificates* certificates() const {
    MutexLock lock(mu_);
    return certificates_.get();
  }

  const Parts parts_;
  std::vector<WebhookSpec> specs_;
  std::vector<ConversionSpec> conversions_;
  std::atomic<std::uint16_t> port_ = 0;
  mutable Mutex mu_;
  std::unique_ptr<WebhookServer> server_ KUBE_GUARDED_BY(mu_);
  std::optional<Clock::TimePoint> answers_until_ KUBE_GUARDED_BY(mu_);  // set while stopping
  std::optional<serve::CertificateInfo> from_files_ KUBE_GUARDED_BY(mu_);
  std::optional<CertificateFiles> files_;
  std::unique_ptr<WebhookCertificates> certificates_ KUBE_GUARDED_BY(mu_);  // never reset once set
  EventRecorder events_;
  std::optional<CancelSource> stop_;
  Thread thread_;
  MetricsRegistry::Collector collector_;
};

}  // namespace kube::internal
