#include "client/pod_request.h"

#include <chrono>
#include <utility>

#include "kube/client/status_error.h"
#include "kube/meta/gvk.h"

namespace kube::internal {
namespace {

// The server has to reach the kubelet before it answers.
constexpr std::chrono::seconds kHandshake{60};

const Gvr& Pods() {
  static const Gvr gvr{"", "v1", "pods"};
  return gvr;
}

ResourcePath PathOf(const ObjectKey& pod, std::string_view subresource) {
  return {.gvr = &Pods(), .ns = pod.ns.view(), .name = pod.name.view(), .subresource = subresource};
}

}  // namespace

std::string DescribePod(const ObjectKey& pod, std::string_view subresource) { return PathOf(pod, subresource).Describe(); }

Result<HttpRequest> PodRequest(const ObjectKey& pod, std::string_view subresource, const Query& query) {
  const ResourcePath path = PathOf(pod, subresource);
  if (pod.name.empty()) return Error::Invalid("the name of the pod is missing").WithContext(path.Describe());
  if (pod.ns.empty()) return Error::Invalid("the namespace of the pod is missing").WithContext(path.Describe());
  Result<std::string> target = path.ToTarget();
  if (!target) return target.error().WithContext(path.Describe());
  HttpRequest request;
  request.target = *std::move(target);
  if (const std::string text = EncodeQuery(query); !text.empty()) request.target += "?" + text;
  request.verb = "get";
  request.url_template = path.ToTemplate();
  return request;
}

WebSocket::Limits SessionLimits() {
  WebSocket::Limits limits;
  limits.read_timeout = std::chrono::seconds(61);
  limits.write_timeout = std::chrono::seconds(60);
  return limits;
}

Result<WebSocketDial> DialPod(Transport& transport, const Context& ctx, HttpRequest request,
                              const std::vector<std::string_view>& protocols) {
  HttpRequest asked;
  asked.target = request.target;
  Result<WebSocketDial> dial = DialWebSocket(transport, ctx.WithTimeout(kHandshake), std::move(request), protocols, SessionLimits());
  if (!dial) return dial.error().WithContext("open a WebSocket");
  if (dial->socket != nullptr) return dial;
  HttpResponse answer;
  answer.code = dial->refusal.code;
  answer.headers = std::move(dial->refusal.headers);
  answer.body = std::move(dial->refusal.body);
  Error refused = ErrorFromResponse(answer, asked);
  // The API server's own words need no more. Others are those of a proxy, say.
  if (!refused.causes().empty() && refused.causes()[0].reason == "UnexpectedServerResponse") {
    return refused.WithContext("the server did not upgrade to a WebSocket");
  }
  return refused;
}

}  // namespace kube::internal
