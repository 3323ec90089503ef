// WithAuth: puts the Authorization header on requests.
#include <utility>

#include "kube/transport/decorators.h"

namespace kube {
namespace {

class AuthTransport : public Transport {
 public:
  AuthTransport(std::shared_ptr<Transport> next, std::shared_ptr<CredentialSource> credentials)
      : next_(std::move(next)), credentials_(std::move(credentials)) {}

  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    return Send<HttpResponse>(ctx, std::move(request), [&](HttpRequest r) { return next_->RoundTrip(ctx, std::move(r)); });
  }
  Result<UpgradeResponse> Upgrade(const Context& ctx, HttpRequest request) override {
    return Send<UpgradeResponse>(ctx, std::move(request), [&](HttpRequest r) { return next_->Upgrade(ctx, std::move(r)); });
  }

 private:
  template <typename Response, typename Next>
  Result<Response> Send(const Context& ctx, HttpRequest request, const Next& next) {
    // What the caller brings is the caller's: no plugin runs for it, and a refusal says nothing about ours.
    if (!request.headers.Get("Authorization").empty()) return next(std::move(request));
    Result<Authorization> now = credentials_->Get(ctx);
    if (!now) return now.error();
    // No header, and yet something to refuse: a plugin may give a certificate alone.
    if (!now->header.empty()) request.headers.Set("Authorization", now->header.reveal());
    Result<Response> response = next(std::move(request));
    if (response && response->code == 401) credentials_->Rejected(*now);
    return response;
  }

  const std::shared_ptr<Transport> next_;
  const std::shared_ptr<CredentialSource> credentials_;
};

}  // namespace

std::shared_ptr<Transport> WithAuth(std::shared_ptr<Transport> next, std::shared_ptr<CredentialSource> credentials) {
  if (credentials == nullptr) return next;
  return std::make_shared<AuthTransport>(std::move(next), std::move(credentials));
}

}  // namespace kube
