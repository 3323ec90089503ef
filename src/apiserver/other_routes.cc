// Paths that are no resources: health, version, discovery, OpenAPI, and the server's own admin endpoint.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "apiserver/discovery.h"
#include "apiserver/errors.h"
#include "apiserver/openapi.h"
#include "apiserver/openapi_protobuf.h"
#include "apiserver/router.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

using serve::HttpExchange;
using serve::HttpHeaders;

void NotFoundPage(HttpExchange& exchange) {
  exchange.Reply({.status = 404,
                  .headers = {{"content-type", "text/plain; charset=utf-8"}, {"x-content-type-options", "nosniff"}},
                  .body = "404 page not found\n"});
}

// Discovery, in the form that the client asks for. It has no protobuf form here.
void SendDiscovery(HttpExchange& exchange, const Value& value) {
  Result<AnswerForm> form = Negotiate(exchange.request().headers.GetAll("accept"), false, false, false);
  if (!form) {
    Error error = NotAcceptable({"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"});
    exchange.Reply({.status = error.http_code(),
                    .headers = {{"content-type", "application/json"}, {"cache-control", "no-cache, private"}},
                    .body = ToJson(ToStatus(error))});
    return;
  }
  Encoded encoded = EncodeValue(value, *form);
  exchange.Reply({.status = 200,
                  .headers = {{"content-type", std::move(encoded.content_type)}, {"cache-control", "no-cache, private"}},
                  .body = std::move(encoded.body)});
}

void SendValue(HttpExchange& exchange, int status, const Value& value) {
  exchange.Reply(
      {.status = status, .headers = {{"content-type", "application/json"}, {"cache-control", "no-cache, private"}}, .body = ToJson(value)});
}

void SendFailure(HttpExchange& exchange, const Error& error) { SendValue(exchange, error.http_code(), ToStatus(error)); }

// A document with an ETag: clients that have it get 304.
void SendDocument(HttpExchange& exchange, const std::shared_ptr<const std::string>& document, std::string content_type) {
  std::string etag = ETagOf(*document);
  HttpHeaders headers = {{"content-type", std::move(content_type)}, {"etag", etag}, {"cache-control", "public"}, {"vary", "Accept"}};
  if (exchange.request().headers.Get("if-none-match") == etag) {
    exchange.Reply({.status = 304, .headers = std::move(headers), .body = ""});
    return;
  }
  exchange.Reply({.status = 200, .headers = std::move(headers), .body = *document});
}

// One check, of many names on the real server: a server that answers is well.
void HandleHealth(HttpExchange& exchange, const std::vector<std::string>& path, const Query& query) {
  if (path.size() > 2 || (path.size() == 2 && path[1] != "ping")) {
    NotFoundPage(exchange);
    return;
  }
  std::string body = "ok";
  if (path.size() == 1 && query.Has("verbose")) {
    std::vector<std::string> excluded = query.All("exclude");
    bool ping = std::find(excluded.begin(), excluded.end(), "ping") == excluded.end();
    body = std::string(ping ? "[+]ping ok\n" : "[+]ping excluded: ok\n") + path[0] + " check passed\n";
  }
  exchange.Reply({.status = 200, .headers = {{"content-type", "text/plain; charset=utf-8"}}, .body = std::move(body)});
}

// The version of aggregated discovery that the client asks for; empty: the old form.
std::string AggregatedVersion(std::string_view accept) {
  for (const MediaRange& range : ParseAccept(accept)) {
    bool json = range.type == "application/json" || range.type == "*/*";
    if (!json) continue;
    if (range.Get("as").empty()) return "";
    if (range.Get("as") == "APIGroupDiscoveryList" && range.Get("g") == "apidiscovery.k8s.io" &&
        (range.Get("v") == "v2" || range.Get("v") == "v2beta1")) {
      return std::string(range.Get("v"));
    }
  }
  return "";
}

Value OpenIdConfiguration(const serve::HttpRequest& request, bool insecure) {
  std::string host(request.headers.Get("host").empty() ? request.headers.Get(":authority") : request.headers.Get("host"));
  return Value::Object({{"issuer", Tokens::kServer},
                        {"jwks_uri", fmt::format("{}://{}/openid/v1/jwks", insecure ? "http" : "https", host)},
                        {"response_types_supported", Value::Array({"id_token"})},
                        {"subject_types_supported", Value::Array({"public"})},
                        {"id_token_signing_alg_values_supported", Value::Array({"none"})}});
}

Value IndexOfPaths(const Resources& resources) {
  Value paths = Value::Array();
  List<Value>& list = paths.MutableList();
  for (const char* path_name : {"/api", "/api/v1", "/apis"}) list.push_back(path_name);
  for (const ServedGroup* g : DiscoveryGroups(resources)) {
    list.push_back("/apis/" + g->name);
    for (const ServedVersion& v : g->versions) list.push_back("/apis/" + g->name + "/" + v.version);
  }
  for (const char* path_name : {"/.well-known/openid-configuration", "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3",
                                "/openid/v1/jwks", "/readyz", "/version"})
    list.push_back(path_name);
  return paths;
}

}  // namespace

bool Router::HandleOpenApi(const Exchange& exchange, const std::vector<std::string>& p, const std::shared_ptr<const Resources>& resources) {
  if (p[1] == "v2" && p.size() == 2) {
    for (const MediaRange& range : ParseAccept(exchange->request().headers.GetAll("accept"))) {
      if (range.type == "application/json" || range.type == "*/*" || range.type == "application/*") break;
      if (range.type != kOpenApiV2Accept && range.type != kOpenApiV2Protobuf) continue;
      auto make = [&] { return ToOpenApiProtobuf(OpenApiV2Document(*resources)); };
      SendDocument(*exchange, Document(resources, "/openapi/v2 protobuf", make), kOpenApiV2Protobuf);
      return true;
    }
    SendDocument(*exchange, Document(resources, "/openapi/v2", [&] { return OpenApiV2(*resources); }), "application/json");
    return true;
  }
  if (p[1] == "v3" && p.size() == 2) {
    SendDocument(*exchange, Document(resources, "/openapi/v3", [&] { return ToJson(OpenApiV3Index(*resources)); }), "application/json");
    return true;
  }
  if (p[1] == "v3") {
    std::string name;
    for (std::size_t i = 2; i < p.size(); ++i) name += (i == 2 ? "" : "/") + p[i];
    auto document = Document(resources, "/openapi/v3/" + name, [&] {
      std::optional<Value> found = OpenApiV3Document(*resources, name);
      return found ? ToJson(*found) : std::string();
    });
    if (!document->empty()) {
      SendDocument(*exchange, document, "application/json");
      return true;
    }
  }
  return false;
}

void Router::HandleOther(const Exchange& exchange, const RequestPath& path, const Query& query) {
  const std::vector<std::string>& p = path.parts;
  const serve::HttpRequest& request = exchange->request();
  std::shared_ptr<const Resources> resources = core_.registry().current();
  std::string first = p.empty() ? "" : p[0];
  if (first == "healthz" || first == "livez" || first == "readyz") {
    HandleHealth(*exchange, p, query);
    return;
  }
  if (request.method != "GET" && request.method != "HEAD") {
    SendFailure(*exchange, MethodNotAllowed());
    return;
  }
  if (p.empty()) {
    SendValue(*exchange, 200, Value::Object({{"paths", IndexOfPaths(*resources)}}));
    return;
  }
  if (first == "metrics" && p.size() == 1) {
    exchange->Reply({.status = 200, .headers = {{"content-type", MetricsRegistry::kContentType}}, .body = metrics_.Render()});
    return;
  }
  if (first == ".well-known" && p.size() == 2 && p[1] == "openid-configuration") {
    SendValue(*exchange, 200, OpenIdConfiguration(request, insecure_));
    return;
  }
  if (first == "openid" && p.size() == 3 && p[1] == "v1" && p[2] == "jwks") {
    // The tokens have no signature, so there is no key.
    exchange->Reply({.status = 200, .headers = {{"content-type", "application/jwk-set+json"}}, .body = R"({"keys":[]})"});
    return;
  }
  if (first == "version" && p.size() == 1) {
    SendValue(*exchange, 200, VersionInfo());
    return;
  }
  if ((first == "api" || first == "apis") && p.size() == 1) {
    std::string version = AggregatedVersion(request.headers.GetAll("accept"));
    if (!version.empty()) {
      auto document = Document(resources, fmt::format("/{} {}", first, version),
                               [&] { return ToJson(GroupDiscoveryList(*resources, first == "api", version)); });
      SendDocument(*exchange, document, fmt::format("application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList", version));
      return;
    }
    SendDiscovery(*exchange, first == "api" ? ApiVersions(std::string(request.headers.Get("host"))) : ApiGroupList(*resources));
    return;
  }
  const ServedGroup* group = first == "api" && p.size() == 2    ? resources->FindGroup("")
                             : first == "apis" && p.size() <= 3 ? resources->FindGroup(p[1])
                                                                : nullptr;
  if (group != nullptr) {
    if (first == "apis" && p.size() == 2) {
      SendDiscovery(*exchange, ApiGroup(*group));
      return;
    }
    if (const ServedVersion* version = group->Find(p.back())) {
      SendDiscovery(*exchange, ApiResourceList(*resources, *group, *version));
      return;
    }
  }
  if (first == "openapi" && p.size() >= 2 && HandleOpenApi(exchange, p, resources)) return;
  NotFoundPage(*exchange);
}

bool Router::HandleFaults(const Exchange& exchange, const RequestPath& path) {
  const serve::HttpRequest& request = exchange->request();
  if (request.method == "POST") {
    Result<Value> body = ParseJson(request.body);
    Result<Fault> fault = body ? Fault::FromValue(*body) : Result<Fault>(body.error());
    if (!fault) {
      SendFailure(*exchange, BadRequest(fault.error().message()));
      return true;
    }
    SendValue(*exchange, 201, Value::Object({{"id", faults_.Add(*std::move(fault))}}));
    return true;
  }
  if (request.method == "GET") {
    Value list = Value::Array();
    for (const auto& [id, fault] : faults_.All()) {
      list.MutableList().push_back(Value::Object(
          {{"id", id}, {"kind", ToString(fault.kind)}, {"verb", fault.verb}, {"resource", fault.resource}, {"times", fault.times}}));
    }
    SendValue(*exchange, 200, list);
    return true;
  }
  if (request.method == "DELETE") {
    if (path.parts.size() == 2) {
      faults_.Clear();
      SendValue(*exchange, 200, Value::Object());
    } else if (Result<Value> id = ParseJson(path.parts[2]);
               id && id->is_int() && std::in_range<int>(id->int_value()) && faults_.Remove(static_cast<int>(id->int_value()))) {
      SendValue(*exchange, 200, Value::Object());
    } else {
      SendFailure(*exchange, NotFound("kubexx", "faults", path.parts[2]));
    }
    return true;
  }
  return false;
}

void Router::HandleAdmin(const Exchange& exchange, const RequestPath& path, const Query& query, const User& user) {
  const serve::HttpRequest& request = exchange->request();
  if (!user.InGroup("system:masters")) {
    SendFailure(*exchange, StatusError(403, "Forbidden", "forbidden: only system:masters may use the admin endpoint"));
    return;
  }
  std::string what = path.parts.size() >= 2 ? path.parts[1] : "";
  bool post = request.method == "POST";
  if (what == "faults" && HandleFaults(exchange, path)) return;
  if (what == "compact" && post) {
    admin_.compact();
    SendValue(*exchange, 200, Value::Object({{"resourceVersion", std::to_string(core_.store().version())}}));
    return;
  }
  if (what == "clock" && post) {
    Result<Value> seconds = ParseJson(query.Get("skewSeconds"));
    constexpr std::int64_t kLongest = std::int64_t{100} * 366 * 24 * 3600;
    if (!seconds || !seconds->is_int() || seconds->int_value() > kLongest || seconds->int_value() < -kLongest) {
      SendFailure(*exchange, BadRequest("clock: skewSeconds: expected an integer, of no more than a hundred years"));
      return;
    }
    admin_.set_skew(std::chrono::seconds(seconds->int_value()));
    SendValue(*exchange, 200, Value::Object({{"now", core_.Now().ToString()}}));
    return;
  }
  if (what == "restart" && post) {
    std::string_view state = query.Get("state");
    if (state != "keep" && state != "drop") {
      SendFailure(*exchange, BadRequest("restart: state: expected keep or drop"));
      return;
    }
    SendValue(*exchange, 202, Value::Object());
    admin_.restart(state == "keep");
    return;
  }
  NotFoundPage(*exchange);
}

}  // namespace kube::apiserver
