// Transport: sends an HttpRequest and returns its HttpResponse. It is the only interface between a client and the network, so tests can
// replace the server and programs can wrap requests.
//
//   class CountingTransport : public TransportDecorator {
//    public:
//     using TransportDecorator::TransportDecorator;
//     Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
//       ++count;
//       return next().RoundTrip(ctx, std::move(request));
//     }
//     std::atomic<int> count = 0;
//   };
//
// The network implementation is MakeHttpTransport (http_transport.h); the decorators of a Client are in decorators.h.
#pragma once

#include <utility>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/transport/http.h"

namespace kube {

// Sends requests.
//
// Thread safety: all functions may be called from many threads at once.
// Lifetime: shared by its users. Its streams and connections may outlive it.
// Blocking and cancellation: blocks until the response is complete (for a streaming request, until its headers arrive) or the context
//   stops. Returns within 100 ms after the context stops.
// Errors: kTransport (reason() is one of the names in transport_errors.h), kTimeout, kCancelled, kAuth, kClosed. A response with any HTTP
//   code is not an error here.
class KUBE_EXPORT Transport {
 public:
  virtual ~Transport();
  // Sends a request and returns the response.
  virtual Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) = 0;
  // Sends an upgrade request over HTTP/1.1 on a separate connection. `request` has the Upgrade and Connection headers. Default: returns
  // kInvalid, for transports without upgrades.
  virtual Result<UpgradeResponse> Upgrade(const Context& ctx, HttpRequest request);
};

// Passes all calls on to another transport. Derived classes override Prepare, to change requests, or RoundTrip.
class KUBE_EXPORT TransportDecorator : public Transport {
 public:
  explicit TransportDecorator(std::shared_ptr<Transport> next) : next_(std::move(next)) {}
  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override;
  Result<UpgradeResponse> Upgrade(const Context& ctx, HttpRequest request) override;

 protected:
  // Called before each request is passed on; may change it. An error ends the request.
  virtual Result<void> Prepare(const Context& ctx, HttpRequest& request);
  // The wrapped transport.
  Transport& next() const { return *next_; }

 private:
  std::shared_ptr<Transport> next_;
};

// Wraps a transport: takes the inner one and returns the outer one.
using TransportWrapper = std::function<std::shared_ptr<Transport>(std::shared_ptr<Transport>)>;

}  // namespace kube
