#include "json_list.h"

#include <chrono>
#include <string>
#include <utility>

#include "kube/codec/json.h"
#include "kube/transport/http.h"
#include "kube/transport/transport_errors.h"

namespace auto_expose {
namespace {

constexpr int kAttempts = 3;
constexpr std::chrono::minutes kTimeout{1};  // streaming requests have no timeout of their own

// Streams the answer, so that a long one is never held in memory. The client does not retry streams: connections that break are retried
// here.
kube::Result<std::string> ReadAtMost(const kube::Context& ctx, const kube::Client& client, const kube::HttpRequest& request,
                                     std::size_t max_bytes) {
  const auto read = [&]() -> kube::Result<std::string> {
    const kube::Context soon = ctx.WithTimeout(kTimeout);
    kube::Result<kube::HttpResponse> response = client.Raw(soon, request);
    if (!response) return response.error();
    if (response->stream == nullptr) return std::move(response->body);
    return kube::ReadAll(soon, *response->stream, max_bytes + 1);
  };
  kube::Result<std::string> body = read();
  for (int i = 1; i < kAttempts && !body && kube::IsProbableEof(body.error()); ++i) body = read();
  if (body && body->size() > max_bytes) {
    return kube::TransportError(kube::transport_reason::kTooLarge,
                                "GET " + request.target + ": the answer is longer than " + std::to_string(max_bytes) + " bytes");
  }
  return body;
}

}  // namespace

kube::Result<kube::List<kube::Value>> ListJson(const kube::Context& ctx, const kube::Client& client, const kube::Gvr& gvr,
                                               const kube::String& ns, const JsonListOptions& options) {
  kube::HttpRequest request{
      .target = "/apis/" + gvr.group.str() + "/" + gvr.version.str() + "/namespaces/" + ns.str() + "/" + gvr.resource.str(),
      .verb = "list"};
  if (!options.name.empty()) request.target += "?fieldSelector=metadata.name%3D" + options.name.str();
  request.headers.Set("Accept", options.metadata_only ? "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
                                                      : "application/json");
  std::string body;
  if (options.max_bytes > 0) {
    request.streaming = true;
    kube::Result<std::string> read = ReadAtMost(ctx, client, request, options.max_bytes);
    if (!read) return read.error();
    body = *std::move(read);
  } else {
    kube::Result<kube::HttpResponse> response = client.Raw(ctx, std::move(request));
    if (!response) return response.error();
    body = std::move(response->body);
  }
  const kube::Result<kube::Value> list = kube::ParseJson(body);
  if (!list) return list.error();
  return (*list)["items"].list();
}

}  // namespace auto_expose
