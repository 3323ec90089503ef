// The two servers of a manager: metrics and debugging, health and readiness.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "control/certificates/certificate_files.h"
#include "control/observability/health.h"
#include "control/observability/request_guard.h"
#include "kube/base/context.h"
#include "kube/base/metrics_registry.h"
#include "kube/base/thread.h"
#include "kube/control/manager.h"
#include "kube/serve/http_server.h"

namespace kube::internal {

// Of "host:port", ":port", "[::1]:port". Nothing for "" and "0": no server is wanted. Errors: kInvalid, naming `what`.
Result<std::optional<serve::HttpServerOptions>> BindAddress(std::string_view what, const std::string& text);

// Thread safety: ports from any thread; the rest from one at a time.
class ManagerServers {
 public:
  struct Parts {
    const ManagerOptions* options = nullptr;
    const Client* client = nullptr;
    std::shared_ptr<MetricsRegistry> metrics{};
    const HealthChecks* healthz = nullptr;
    const HealthChecks* readyz = nullptr;
    // Below /debug; nothing if the path is none of its own.
    std::function<std::optional<serve::HttpResponse>(const serve::HttpRequest&)> debug{};
  };

  explicit ManagerServers(Parts parts);
  ~ManagerServers();

  // The ports are bound when this returns.
  Result<void> Start();
  void Stop();

  std::uint16_t metrics_port() const { return metrics_port_; }
  std::uint16_t health_port() const { return health_port_; }

 private:
  Result<void> StartServer(std::string_view what, serve::HttpServerOptions options, std::unique_ptr<serve::HttpServer>& server,
                           std::atomic<std::uint16_t>& port, serve::HttpServer::Handler handler);
  Result<serve::HttpTlsOptions> Certificate();
  void WatchCertificate(const Context& ctx);
  void CollectUsage(MetricsSink& sink) const;
  void AnswerMetrics(serve::HttpExchange& exchange) const;
  void AnswerHealth(serve::HttpExchange& exchange) const;

  const Parts parts_;
  std::unique_ptr<RequestGuard> guard_;
  std::optional<CertificateFiles> files_;
  std::unique_ptr<serve::HttpServer> metrics_server_, health_server_;
  std::atomic<std::uint16_t> metrics_port_ = 0, health_port_ = 0;
  std::optional<CancelSource> stop_watching_;
  Thread watcher_;
  MetricsRegistry::Collector collector_;
};

}  // namespace kube::internal
