// WithWritePermits: a write leaves only where the permit of its context says so.
#include "kube/transport/write_permit.h"

#include <utility>

#include "kube/transport/decorators.h"

namespace kube {
namespace {

class PermitTransport : public TransportDecorator {
 public:
  using TransportDecorator::TransportDecorator;

 protected:
  Result<void> Prepare(const Context& ctx, HttpRequest& request) override {
    if (request.method == "GET" || request.method == "HEAD") return {};
    const std::shared_ptr<WritePermit> permit = ctx.Value<WritePermit>();
    return permit == nullptr ? Result<void>() : permit->Check();
  }
};

}  // namespace

WritePermit::~WritePermit() = default;

std::shared_ptr<Transport> WithWritePermits(std::shared_ptr<Transport> next) { return std::make_shared<PermitTransport>(std::move(next)); }

}  // namespace kube
