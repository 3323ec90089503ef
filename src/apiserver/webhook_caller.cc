#include "apiserver/webhook_caller.h"

#include <fmt/format.h>

#include <utility>

#include "codec/base64.h"
#include "config/text.h"
#include "kube/codec/json.h"
#include "kube/config/client_config.h"
#include "kube/config/credentials.h"
#include "kube/transport/transport_errors.h"

namespace kube::apiserver {
namespace {

// Connections are kept for so many webhooks.
constexpr std::size_t kMostTransports = 64;
constexpr std::chrono::seconds kUntoldTimeout{30};

Error Failed(std::string message) { return TransportError(transport_reason::kProtocol, std::move(message)); }

std::string WithPort(const std::string& authority, std::string_view port) {
  return authority.find(':', authority.rfind(']') == std::string::npos ? 0 : authority.rfind(']')) == std::string::npos
             ? authority + ":" + std::string(port)
             : authority;
}

// The error of a transport as Go's HTTP client words it.
std::string InGoWords(const Error& error, std::string_view address, std::string_view host) {
  const std::string& text = error.message();
  const auto has = [&text](std::string_view part) { return text.find(part) != std::string::npos; };
  if (error.kind() == ErrorKind::kTimeout) return "context deadline exceeded";
  if (error.kind() == ErrorKind::kCancelled) return "context canceled";
  if (IsConnectionRefused(error)) return fmt::format("dial tcp {}: connect: connection refused", address);
  if (IsTransportError(error, transport_reason::kDns)) return fmt::format("dial tcp: lookup {}: no such host", host);
  if (IsTransportError(error, transport_reason::kTls)) {
    constexpr std::string_view kHead = "tls: failed to verify certificate: x509: ";
    if (has("unknown authority")) return fmt::format("{}certificate signed by unknown authority", kHead);
    if (has("has expired")) return fmt::format("{}certificate has expired or is not yet valid: {}", kHead, text);
    if (has("another name")) return fmt::format("{}certificate is not valid for {}: {}", kHead, host, text);
    return text;
  }
  if (IsTransportError(error, transport_reason::kUnexpectedEof)) return "EOF";
  return text;
}

std::string MessageOfStatus(std::string_view body) {
  const Result<Value> value = ParseJson(body);
  if (!value || (*value)["kind"].string_value() != "Status" || (*value)["status"].string_value() == "Success") return {};
  return (*value)["message"].string_value().str();
}

}  // namespace

WebhookTarget WebhookTarget::From(const Value& config) {
  WebhookTarget out;
  out.url = config["url"].string_value().str();
  if (const Value* service = config.Find("service"); service != nullptr && service->is_object()) {
    out.service_namespace = (*service)["namespace"].string_value().str();
    out.service_name = (*service)["name"].string_value().str();
    out.service_path = (*service)["path"].string_value().str();
    if ((*service)["port"].is_int()) out.service_port = (*service)["port"].int_value();
  }
  (void)kube::internal::DecodeBase64(config["caBundle"].string_value(), out.ca_pem);
  if (out.ca_pem.find_first_not_of(" \t\r\n") == std::string::npos) out.ca_pem.clear();
  return out;
}

std::string DescribeHttpFailure(int code, std::string_view content_type, std::string_view body) {
  if (std::string message = MessageOfStatus(body); !message.empty()) return message;
  const bool text = content_type.starts_with("text/");
  std::string said = text ? std::string(body.substr(0, 2048)) : "unknown";
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ' || said.back() == '\r')) said.pop_back();
  switch (code) {
    case 400:
      return "the server rejected our request for an unknown reason";
    case 401:
      return "the server has asked for the client to provide credentials";
    case 403:
      return said;
    case 404:
      return "the server could not find the requested resource";
    case 405:
      return "the server does not allow this method on the requested resource";
    case 406:
    case 415:
      return text && !said.empty() ? said : "the server was unable to respond with a content type that the client supports";
    case 409:
      return "the server reported a conflict";
    case 422:
      return "the server rejected our request due to an error in our request";
    case 429:
      return "the server has received too many requests and has asked us to try again later";
    case 503:
      return "the server is currently unable to handle the request";
    case 504:
      return "the server was unable to return a response in the time allotted, but may still be processing the request";
    default:
      if (code >= 500) return fmt::format("an error on the server (\"{}\") has prevented the request from succeeding", said);
      return fmt::format("the server responded with the status code {} but did not return more information", code);
  }
}

void WebhookCaller::SetService(std::string service, std::string address) {
  MutexLock lock(mu_);
  services_.insert_or_assign(std::move(service), std::move(address));
}

WebhookCaller::Place WebhookCaller::PlaceOf(const WebhookTarget& target) const {
  Place place;
  if (target.service_name.empty()) {
    Result<kube::internal::UrlParts> url = kube::internal::ParseUrl(target.url);
    place.shown = url ? url->scheme + "://" + url->authority : target.url;
    place.base = url ? url->scheme + "://" + WithPort(url->authority, "443") : target.url;
    place.path = url ? url->path : "";
    return place;
  }
  place.server_name = fmt::format("{}.{}.svc", target.service_name, target.service_namespace);
  const std::string name = fmt::format("{}:{}", place.server_name, target.service_port);
  place.shown = "https://" + name;
  place.path = target.service_path;
  MutexLock lock(mu_);
  auto found = services_.find(name);
  if (found == services_.end()) found = services_.find(place.server_name);
  place.found = found != services_.end();
  if (place.found) place.base = "https://" + WithPort(found->second, "443");
  return place;
}

Result<std::shared_ptr<HttpTransport>> WebhookCaller::TransportTo(const Place& place, const WebhookTarget& target, std::size_t max_answer) {
  const std::string key = fmt::format("{}\n{}\n{}\n{}", place.base, place.server_name, max_answer, target.ca_pem);
  MutexLock lock(mu_);
  if (auto found = transports_.find(key); found != transports_.end()) return found->second;
  ClientConfig config{.host = place.base, .tls = {.ca_data = target.ca_pem, .server_name = place.server_name}};
  Result<std::shared_ptr<TlsSource>> tls = MakeTlsSource(config, nullptr);
  if (!tls) {
    const bool pem = target.ca_pem.find("-----BEGIN") != std::string::npos;
    return Error(ErrorKind::kConfig,
                 fmt::format("unable to load root certificates: {}", pem ? tls.error().message() : "unable to parse bytes as PEM block"));
  }
  Result<std::shared_ptr<HttpTransport>> transport = MakeHttpTransport({.base_url = place.base,
                                                                        .tls = *std::move(tls),
                                                                        .disable_http2 = !target.service_name.empty(),
                                                                        .connect_timeout = kUntoldTimeout,
                                                                        .max_response = max_answer,
                                                                        .max_header_bytes = std::size_t{64} << 10});
  if (!transport) return Error(ErrorKind::kConfig, transport.error().message());
  if (transports_.size() >= kMostTransports) transports_.clear();
  transports_.emplace(key, *transport);
  return *std::move(transport);
}

Result<std::string> WebhookCaller::Post(const Context& ctx, const WebhookTarget& target, WebhookPost post) {
  const Place place = PlaceOf(target);
  std::string path = place.path.empty() ? "/" : place.path;
  if (path[0] != '/') path = "/" + path;
  if (post.timeout.count() > 0) path += fmt::format("?timeout={}s", post.timeout.count());
  // As the real server shows it: a URL without a path is shown without one, but with its query.
  const std::string shown = place.shown + path;
  if (!place.found) {
    return Failed(fmt::format("Post \"{}\": service \"{}\" not found", shown, target.service_name));
  }
  Result<std::shared_ptr<HttpTransport>> transport = TransportTo(place, target, post.max_answer);
  if (!transport) return transport.error();
  HttpRequest request{.method = "POST", .target = path, .body = std::move(post.body), .verb = "create"};
  request.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json, */*"}, {"User-Agent", post.user_agent}};
  if (!place.server_name.empty()) request.headers.Add("Host", place.shown.substr(8));
  const Context limited = ctx.WithTimeout(post.timeout.count() > 0 ? post.timeout : kUntoldTimeout);
  Result<HttpResponse> answer = (*transport)->RoundTrip(limited, std::move(request));
  if (!answer) {
    const std::string address = place.base.substr(8);
    std::string host = place.server_name.empty() ? address.substr(0, address.rfind(':')) : place.server_name;
    return Failed(fmt::format("Post \"{}\": {}", shown, InGoWords(answer.error(), address, host)));
  }
  const std::string_view type = answer->headers.Get("content-type");
  if (answer->code < 200 || answer->code > 206) {
    return Failed(DescribeHttpFailure(answer->code, type, answer->body));
  }
  if (answer->body.empty()) {
    return Failed(fmt::format("0-length response with status code: {} and content type: {}", answer->code,
                              type.empty() ? std::string_view("application/json") : type));
  }
  return std::move(answer->body);
}

}  // namespace kube::apiserver
