// WebhookCaller: posts a review to a webhook over HTTPS, verified with the webhook's CA bundle, and returns the answer.
//
// Errors have kind kTransport and the words of the real server's client: `Post "https://...": dial tcp ...: connect: connection refused`,
// `tls: failed to verify certificate: x509: certificate signed by unknown authority`, or those of a timeout.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "kube/base/context.h"
#include "kube/base/mutex.h"
#include "kube/base/result.h"
#include "kube/transport/http_transport.h"
#include "kube/value/value.h"

namespace kube::apiserver {

// The address of a webhook: a URL or a Service.
struct WebhookTarget {
  std::string url;
  std::string service_namespace, service_name, service_path;
  std::int64_t service_port = 443;
  std::string ca_pem;  // empty for the system's roots

  // From a clientConfig.
  static WebhookTarget From(const Value& client_config);
};

struct WebhookPost {
  std::string body;
  std::string user_agent;
  // Timeout of the call. 0: 30 seconds, without a timeout parameter for the webhook.
  std::chrono::seconds timeout{0};
  std::size_t max_answer = std::size_t{16} << 20;
};

// Thread safety: all functions may be called from any thread.
// Blocking: Post blocks until the answer arrives, the timeout expires or the context stops.
class WebhookCaller {
 public:
  // Maps a Service to an address: "hook.default.svc:443" or "hook.default.svc" -> "127.0.0.1:9443".
  using Services = std::map<std::string, std::string, std::less<>>;
  explicit WebhookCaller(Services services) : services_(std::move(services)) {}

  void SetService(std::string service, std::string address);

  // Returns the body of a successful answer; never empty. Redirects are not followed.
  Result<std::string> Post(const Context& ctx, const WebhookTarget& target, WebhookPost post);

 private:
  struct Place {
    std::string shown;  // "https://hook.default.svc:443": in messages
    std::string base;   // "https://127.0.0.1:9443": where it goes
    std::string path;
    std::string server_name;  // empty: the host of `base`
    bool found = true;
  };
  Place PlaceOf(const WebhookTarget& target) const;
  Result<std::shared_ptr<HttpTransport>> TransportTo(const Place& place, const WebhookTarget& target, std::size_t max_answer);

  mutable Mutex mu_;
  Services services_ KUBE_GUARDED_BY(mu_);
  std::map<std::string, std::shared_ptr<HttpTransport>> transports_ KUBE_GUARDED_BY(mu_);
};

// The error of the real server's client for an answer other than 2xx.
std::string DescribeHttpFailure(int code, std::string_view content_type, std::string_view body);

}  // namespace kube::apiserver
