// WithWritePermits: a write is sent only if the permit of its context allows it.
#include "kube/transport/write_permit.h"

#include <utility>

#include "kube/transport/decorators.h"

namespace kube {
namespace {

// Asks for every piece that is sent, so that a session that outlives its permit changes nothing more in the pod.
class PermitConnection : public UpgradedConnection {
 public:
  PermitConnection(std::unique_ptr<UpgradedConnection> next, std::shared_ptr<WritePermit> permit)
      : next_(std::move(next)), permit_(std::move(permit)) {}

  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) override { return next_->Read(ctx, buffer, size); }
  Result<void> Write(const Context& ctx, std::string_view bytes) override {
    if (Result<void> allowed = permit_->Check(); !allowed) return allowed;
    return next_->Write(ctx, bytes);
  }
  void Close() override { next_->Close(); }

 private:
  const std::unique_ptr<UpgradedConnection> next_;
  const std::shared_ptr<WritePermit> permit_;
};

class PermitTransport : public TransportDecorator {
 public:
  using TransportDecorator::TransportDecorator;

  // exec, attach and port-forward are GETs, but what they open can change anything.
  Result<UpgradeResponse> Upgrade(const Context& ctx, HttpRequest request) override {
    std::shared_ptr<WritePermit> permit = ctx.Value<WritePermit>();
    if (permit == nullptr) return next().Upgrade(ctx, std::move(request));
    if (Result<void> allowed = permit->Check(); !allowed) return allowed.error();
    Result<UpgradeResponse> answer = next().Upgrade(ctx, std::move(request));
    if (answer && answer->connection != nullptr) {
      answer->connection = std::make_unique<PermitConnection>(std::move(answer->connection), std::move(permit));
    }
    return answer;
  }

 protected:
  Result<void> Prepare(const Context& ctx, HttpRequest& request) override {
    if (request.method == "GET" || request.method == "HEAD") return {};
    const std::shared_ptr<WritePermit> permit = ctx.Value<WritePermit>();
    return permit == nullptr ? Result<void>() : permit->Check();
  }
};

class BothPermits : public WritePermit {
 public:
  BothPermits(std::shared_ptr<WritePermit> a, std::shared_ptr<WritePermit> b) : a_(std::move(a)), b_(std::move(b)) {}
  Result<void> Check() override {
    if (Result<void> allowed = a_->Check(); !allowed) return allowed;
    return b_->Check();
  }

 private:
  const std::shared_ptr<WritePermit> a_;
  const std::shared_ptr<WritePermit> b_;
};

}  // namespace

WritePermit::~WritePermit() = default;

Context AddWritePermit(const Context& ctx, std::shared_ptr<WritePermit> permit) {
  if (permit == nullptr) return ctx;
  std::shared_ptr<WritePermit> outer = ctx.Value<WritePermit>();
  if (outer != nullptr && outer != permit) permit = std::make_shared<BothPermits>(std::move(outer), std::move(permit));
  return ctx.WithValue(std::move(permit));
}

std::shared_ptr<Transport> WithWritePermits(std::shared_ptr<Transport> next) { return std::make_shared<PermitTransport>(std::move(next)); }

}  // namespace kube
