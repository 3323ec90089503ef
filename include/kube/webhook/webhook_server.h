// WebhookServer: the HTTPS port that API servers call webhooks at. A Manager has one; this is for programs without a manager, and for
// tests.
//
//   auto server = WebhookServer::Start(spec.endpoints, {.certificate_pem = ..., .key_pem = ...}, {.port = 9443});
//
// The functions run on worker threads of their webhook, so they may wait, also for other webhooks, such as conversions that an API server
// needs for what they ask of it. A call that finds all workers busy waits in a queue, and is refused with 503 if the queue is full. The
// context of a call stops when the API server no longer waits: at the timeout that it sent, or when its connection ends.
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

struct WebhookServerOptions {
  std::string bind_address{};  // an IP address; empty: all, of IPv4 and IPv6
  int port = 9443;             // 0: a free one
  // HTTP/1.1 unless limits.http2 is set. API servers that reach webhooks by a Service use HTTP/1.1 or HTTP/2, as the server offers.
  serve::HttpLimits limits = serve::HttpLimits::ForWebhooks();
  serve::TlsPolicy tls{};
  int workers = 32;              // calls of a webhook at a time; threads are started as they are needed
  std::size_t max_queued = 512;  // calls of a webhook that wait for a worker
  // Of calls that do not say how long they wait. API servers always do.
  std::chrono::nanoseconds default_timeout = std::chrono::seconds(10);
  // controller_runtime_webhook_*, kubexx_webhook_*; may be null.
  std::shared_ptr<MetricsSink> metrics{};
};

// Thread safety: all functions from any thread.
// Blocking: the destructor stops the contexts of calls under way, and waits until their functions have returned.
class KUBE_EXPORT WebhookServer {
 public:
  // Errors: kConfig for a certificate that is not usable, kInvalid for two endpoints with one path, kTransport for a port that cannot be
  // had.
  static Result<std::unique_ptr<WebhookServer>> Start(const std::vector<WebhookEndpoint>& endpoints,
                                                      const serve::HttpTlsOptions& certificate, WebhookServerOptions options = {});
  WebhookServer(const WebhookServer&) = delete;
  WebhookServer& operator=(const WebhookServer&) = delete;
  ~WebhookServer();

  std::uint16_t port() const;
  serve::HttpUsage usage() const;
  // For new connections. Errors: kConfig; the old certificate stays then.
  Result<void> SetCertificate(const serve::HttpTlsOptions& certificate);

  // Shutdown without a failed call: from BeginDrain on, each answer ends its connection, so that API servers open new ones, to other
  // replicas as soon as the Service no longer has this one. Drain waits until the calls under way are answered, or `ctx` stops.
  void BeginDrain();
  Result<void> Drain(const Context& ctx);

 private:
  class Impl;
  explicit WebhookServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube
