// WebhookServer: the HTTPS port on which API servers call webhooks. A Manager has one; use it directly in tests and in programs without a
// manager.
//
//   auto server = WebhookServer::Start(spec.endpoints, {.certificate_pem = ..., .key_pem = ...}, {.port = 9443});
//
// Functions run on worker threads of their webhook. They may block, even on other webhooks, such as conversions that their own requests to
// the API server need. If all workers are busy, a call waits in a queue; if the queue is full, it is rejected with 503. A call's context
// stops when the API server stops waiting: at the timeout that it sent, or when its connection ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/metrics.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_memory.h"
#include "kube/serve/http_limits.h"
#include "kube/serve/http_server.h"
#include "kube/serve/tls_policy.h"
#include "kube/webhook/webhook_spec.h"

namespace kube {

// Options of a WebhookServer.
struct WebhookServerOptions {
  std::string bind_address{};  // an IP address; empty for all, IPv4 and IPv6
  int port = 9443;             // 0 picks a free port
  // HTTP/1.1 unless limits.http2 is set. API servers that use a Service speak either, whichever the server offers.
  serve::HttpLimits limits = serve::HttpLimits::ForWebhooks();
  serve::TlsPolicy tls{};
  int workers = 32;              // concurrent calls per webhook; threads start on demand
  std::size_t max_queued = 512;  // calls per webhook that wait for a worker
  // Timeout of calls that carry none. API servers always send one.
  std::chrono::nanoseconds default_timeout = std::chrono::seconds(10);
  // For controller_runtime_webhook_* and kubexx_webhook_*; may be null.
  std::shared_ptr<MetricsSink> metrics{};
};

// A running webhook server.
//
// Thread safety: all functions may be called from any thread.
// Blocking: the destructor stops the contexts of running calls and waits until their functions have returned.
class KUBE_EXPORT WebhookServer {
 public:
  // Errors: kConfig for an unusable certificate, kInvalid for two endpoints with one path, kTransport if the port is not available.
  static Result<std::unique_ptr<WebhookServer>> Start(const std::vector<WebhookEndpoint>& endpoints,
                                                      const serve::HttpTlsOptions& certificate, WebhookServerOptions options = {});
  WebhookServer(const WebhookServer&) = delete;
  WebhookServer& operator=(const WebhookServer&) = delete;
  ~WebhookServer();

  std::uint16_t port() const;
  serve::HttpUsage usage() const;
  // Replaces the certificate for new connections. Errors: kConfig; the old certificate stays then.
  Result<void> SetCertificate(const serve::HttpTlsOptions& certificate);

  // Graceful shutdown without failed calls. After BeginDrain each response closes its connection, so that API servers open new ones, which
  // reach other replicas once the Service has removed this one. Drain waits until running calls are answered, or `ctx` stops.
  void BeginDrain();
  Result<void> Drain(const Context& ctx);

 private:
  class Impl;
  explicit WebhookServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube
