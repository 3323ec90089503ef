#include "kube/transport/transport.h"

#include "kube/transport/transport_errors.h"

namespace kube {

Transport::~Transport() = default;

Result<UpgradeResponse> Transport::Upgrade(const Context&, HttpRequest) {
  return Error::Invalid("this transport cannot upgrade a connection: exec, attach and port-forward need one that can");
}

Result<HttpResponse> TransportDecorator::RoundTrip(const Context& ctx, HttpRequest request) {
  if (Result<void> prepared = Prepare(ctx, request); !prepared) return prepared.error();
  return next_->RoundTrip(ctx, std::move(request));
}

Result<UpgradeResponse> TransportDecorator::Upgrade(const Context& ctx, HttpRequest request) {
  if (Result<void> prepared = Prepare(ctx, request); !prepared) return prepared.error();
  return next_->Upgrade(ctx, std::move(request));
}

Result<void> TransportDecorator::Prepare(const Context&, HttpRequest&) { return {}; }

Error TransportError(std::string_view reason, std::string message) {
  return Error(Error::Payload{.kind = ErrorKind::kTransport, .reason = std::string(reason), .message = std::move(message)});
}

bool IsTransportError(const Error& e, std::string_view reason) { return e.kind() == ErrorKind::kTransport && e.reason() == reason; }

bool IsProbableEof(const Error& e) {
  return IsTransportError(e, transport_reason::kUnexpectedEof) || IsTransportError(e, transport_reason::kConnectionReset) ||
         IsTransportError(e, transport_reason::kGoAway) || IsTransportError(e, transport_reason::kConnectionLost);
}

}  // namespace kube
