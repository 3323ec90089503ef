// ClientCore: the state that all copies of a Client share.
#pragma once

#include <memory>
#include <string>

#include "client/protobuf_refusals.h"
#include "kube/base/context.h"
#include "kube/base/result.h"
#include "kube/client/client.h"
#include "kube/config/client_config.h"
#include "kube/transport/http_transport.h"
#include "kube/transport/transport.h"

namespace kube {

// Thread safety: immutable once created, except protobuf_refusals, which is thread-safe.
class ClientCore {
 public:
  ClientConfig config;
  std::string ns;                             // never empty
  std::shared_ptr<HttpTransport> connection;  // null: an injected transport
  std::shared_ptr<Transport> transport;       // with all decorators
  std::shared_ptr<Clock> clock;
  std::shared_ptr<RateLimiter> discovery_limiter;  // with a burst of 300; null: the common limiter
  mutable internal::ProtobufRefusals protobuf_refusals;

  // Sends a request and turns unsuccessful responses into errors. `what` is prepended to errors: "get pods default/web".
  Result<HttpResponse> Send(const Context& ctx, HttpRequest request, const std::string& what) const;
};

}  // namespace kube
