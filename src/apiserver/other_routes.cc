// Paths that are no resources: health, version, discovery, OpenAPI, and the server's own admin endpoint.
#include <fmt/format.h>

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

}  // namespace

void Router::HandleOther(const Exchange& exchange, const RequestPath& path, const Query&) {
  const std::vector<std::string>& p = path.parts;
  const serve::HttpRequest& request = exchange->request();
  std::shared_ptr<const Resources> resources = core_.registry().current();
  std::string first = p.empty() ? "" : p[0];
  if (first == "healthz" || first == "livez" || first == "readyz") {
    exchange->Reply({.status = 200, .headers = {{"content-type", "text/plain; charset=utf-8"}}, .body = "ok"});
    return;
  }
  if (request.method != "GET" && request.method != "HEAD") {
    SendFailure(*exchange, MethodNotAllowed());
    return;
  }
  if (p.empty()) {
    Value paths = Value::Array();
    List<Value>& list = paths.MutableList();
    for (const char* path_name : {"/api", "/api/v1", "/apis"}) list.push_back(path_name);
    for (const ServedGroup* g : DiscoveryGroups(*resources)) {
      list.push_back("/apis/" + g->name);
      for (const ServedVersion& v : g->versions) list.push_back("/apis/" + g->name + "/" + v.version);
    }
    for (const char* path_name : {"/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"}) list.push_back(path_name);
    SendValue(*exchange, 200, Value::Object({{"paths", std::move(paths)}}));
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
    SendValue(*exchange, 200, first == "api" ? ApiVersions(std::string(request.headers.Get("host"))) : ApiGroupList(*resources));
    return;
  }
  const ServedGroup* group = first == "api" && p.size() == 2    ? resources->FindGroup("")
                             : first == "apis" && p.size() <= 3 ? resources->FindGroup(p[1])
                                                                : nullptr;
  if (group != nullptr) {
    if (first == "apis" && p.size() == 2) {
      SendValue(*exchange, 200, ApiGroup(*group));
      return;
    }
    if (const ServedVersion* version = group->Find(p.back())) {
      SendValue(*exchange, 200, ApiResourceList(*resources, *group, *version));
      return;
    }
  }
  if (first == "openapi" && p.size() >= 2) {
    if (p[1] == "v2" && p.size() == 2) {
      for (const MediaRange& range : ParseAccept(request.headers.GetAll("accept"))) {
        if (range.type == "application/json" || range.type == "*/*" || range.type == "application/*") break;
        if (range.type != kOpenApiV2Accept && range.type != kOpenApiV2Protobuf) continue;
        auto make = [&] { return ToOpenApiProtobuf(OpenApiV2Document(*resources)); };
        SendDocument(*exchange, Document(resources, "/openapi/v2 protobuf", make), kOpenApiV2Protobuf);
        return;
      }
      SendDocument(*exchange, Document(resources, "/openapi/v2", [&] { return OpenApiV2(*resources); }), "application/json");
      return;
    }
    if (p[1] == "v3" && p.size() == 2) {
      SendDocument(*exchange, Document(resources, "/openapi/v3", [&] { return ToJson(OpenApiV3Index(*resources)); }), "application/json");
      return;
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
        return;
      }
    }
  }
  NotFoundPage(*exchange);
}

void Router::HandleAdmin(const Exchange& exchange, const RequestPath& path, const Query& query, const User& user) {
  const serve::HttpRequest& request = exchange->request();
  if (!user.InGroup("system:masters")) {
    SendFailure(*exchange, StatusError(403, "Forbidden", "forbidden: only system:masters may use the admin endpoint"));
    return;
  }
  std::string what = path.parts.size() >= 2 ? path.parts[1] : "";
  bool post = request.method == "POST";
  if (what == "faults" && post) {
    Result<Value> body = ParseJson(request.body);
    Result<Fault> fault = body ? Fault::FromValue(*body) : Result<Fault>(body.error());
    if (!fault) {
      SendFailure(*exchange, BadRequest(fault.error().message()));
      return;
    }
    SendValue(*exchange, 201, Value::Object({{"id", faults_.Add(*std::move(fault))}}));
    return;
  }
  if (what == "faults" && request.method == "GET") {
    Value list = Value::Array();
    for (const auto& [id, fault] : faults_.All()) {
      list.MutableList().push_back(Value::Object(
          {{"id", id}, {"kind", ToString(fault.kind)}, {"verb", fault.verb}, {"resource", fault.resource}, {"times", fault.times}}));
    }
    SendValue(*exchange, 200, list);
    return;
  }
  if (what == "faults" && request.method == "DELETE") {
    if (path.parts.size() == 2) {
      faults_.Clear();
      SendValue(*exchange, 200, Value::Object());
    } else if (Result<Value> id = ParseJson(path.parts[2]);
               id && id->is_int() && std::in_range<int>(id->int_value()) && faults_.Remove(static_cast<int>(id->int_value()))) {
      SendValue(*exchange, 200, Value::Object());
    } else {
      SendFailure(*exchange, NotFound("kubexx", "faults", path.parts[2]));
    }
    return;
  }
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
