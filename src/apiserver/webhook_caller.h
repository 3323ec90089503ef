// WebhookCaller: posts a review to a webhook and gives back what it answers. Over real HTTPS, checked against the webhook's CA bundle.
//
// Errors are of kind kTransport, with the words that the real server's client has for them: `Post "https://...": dial tcp ...: connect:
// connection refused`, `tls: failed to verify certificate: x509: certificate signed by unknown authority`, or a timeout's.
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

// Where a webhook is: a URL or a Service.
struct WebhookTarget {
  std::string url;
  std::string service_namespace, service_name, service_path;
  std::int64_t service_port = 443;
  std::string ca_pem;  // empty: the system's roots

  // From a clientConfig.
  static WebhookTarget From(const Value& client_config);
};

struct WebhookPost {
  std::string body;
  std::string user_agent;
  // Of the answer. 0: 30 seconds, and the webhook is not told.
  std::chrono::seconds timeout{0};
  std::size_t max_answer = std::size_t{16} << 20;
};

// Thread safety: all functions may be called from any thread.
// Blocking: Post until the answer is there, the timeout is over or the context stops.
class WebhookCaller {
 public:
  // Which address stands for a Service: "hook.default.svc:443" or "hook.default.svc" -> "127.0.0.1:9443".
  using Services = std::map<std::string, std::string, std::less<>>;
  explicit WebhookCaller(Services services) : services_(std::move(services)) {}

  void SetService(std::string service, std::string address);

  // The body of a good answer; never empty. Redirects are not followed.
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

// What the real server's client makes of an answer that is not 2xx.
std::string DescribeHttpFailure(int code, std::string_view content_type, std::string_view body);

}  // namespace kube::apiserver
