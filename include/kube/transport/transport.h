// Transport: from an HttpRequest to its HttpResponse. The one interface between the client and the network, so that a test can stand in
// for the server, and a program can wrap what is sent.
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
// The real one is MakeHttpTransport (http_transport.h); the decorators that a Client is made of are in decorators.h.
#pragma once

#include <utility>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/transport/http.h"

namespace kube {

// Thread safety: all functions may be called from many threads at once.
// Lifetime: shared by those who use it. The streams and connections that it gave may outlive it.
// Blocking and cancellation: until the answer is there (its headers, for a streaming request) or the context stops; cancelling returns
// within 100 ms.
// Errors: kTransport (its reason() is one of the names in transport_errors.h), kTimeout, kCancelled, kAuth, kClosed. An answer with any
// HTTP code is no error here.
class KUBE_EXPORT Transport {
 public:
  virtual ~Transport();
  virtual Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) = 0;
  // Sends a request for an upgrade over HTTP/1.1 on a connection of its own. `request` has the Upgrade and Connection headers.
  // Default: kInvalid, for transports that cannot.
  virtual Result<UpgradeResponse> Upgrade(const Context& ctx, HttpRequest request);
};

// Passes everything on. Derived classes override Prepare, to change what is sent, or RoundTrip.
class KUBE_EXPORT TransportDecorator : public Transport {
 public:
  explicit TransportDecorator(std::shared_ptr<Transport> next) : next_(std::move(next)) {}
  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override;
  Result<UpgradeResponse> Upgrade(const Context& ctx, HttpRequest request) override;

 protected:
  // Called before a request is passed on. An error ends the request.
  virtual Result<void> Prepare(const Context& ctx, HttpRequest& request);
  Transport& next() const { return *next_; }

 private:
  std::shared_ptr<Transport> next_;
};

// What users wrap a client's transport with: gets the inner one, gives the outer one.
using TransportWrapper = std::function<std::shared_ptr<Transport>(std::shared_ptr<Transport>)>;

}  // namespace kube
