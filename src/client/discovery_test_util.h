// A server for discovery tests, with a response for each path and a request counter.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/mutex.h"
#include "kube/client/client.h"
#include "kube/config/client_config.h"
#include "kube/transport/transport.h"

namespace kube::internal {

inline constexpr char kV2Type[] = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
inline constexpr char kV2Beta1Type[] = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

// Thread safety: all functions may be called from many threads at once.
class FakeApi : public Transport {
 public:
  using Handler = std::function<Result<HttpResponse>(const Context&, const HttpRequest&)>;

  void Set(const std::string& path, Handler handler) {
    MutexLock lock(mu_);
    handlers_[path] = std::move(handler);
  }
  void Set(const std::string& path, int code, std::string body, std::string content_type = "application/json", std::string etag = "") {
    Set(path, [=](const Context&, const HttpRequest& request) -> Result<HttpResponse> {
      HttpResponse response;
      response.code = code;
      response.headers.Add("Content-Type", content_type);
      if (!etag.empty()) response.headers.Add("ETag", etag);
      if (!etag.empty() && request.headers.Get("If-None-Match") == etag) {
        response.code = 304;
        return response;
      }
      response.body = body;
      return response;
    });
  }
  void Fail(const std::string& path, Error error) {
    Set(path, [error](const Context&, const HttpRequest&) -> Result<HttpResponse> { return error; });
  }
  void Remove(const std::string& path) {
    MutexLock lock(mu_);
    handlers_.erase(path);
  }

  std::vector<HttpRequest> requests() const {
    MutexLock lock(mu_);
    return requests_;
  }
  std::size_t total() const { return requests().size(); }
  std::size_t count(std::string_view target) const {
    std::size_t n = 0;
    for (const HttpRequest& r : requests()) n += r.target == target ? 1 : 0;
    return n;
  }
  HttpRequest last() const { return requests().back(); }
  void Forget() {
    MutexLock lock(mu_);
    requests_.clear();
  }

  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest request) override {
    if (Result<void> go = ctx.Check(); !go) return go.error();
    Handler handler;
    {
      MutexLock lock(mu_);
      requests_.push_back(request);
      auto it = handlers_.find(request.target);
      if (it == handlers_.end()) it = handlers_.find(request.target.substr(0, request.target.find('?')));
      if (it != handlers_.end()) handler = it->second;
    }
    if (handler) return handler(ctx, request);
    HttpResponse response;
    response.code = 404;
    response.headers.Add("Content-Type", "application/json");
    response.body = R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"the server could not find the requested resource",)"
                    R"("reason":"NotFound","details":{},"code":404})";
    return response;
  }

 private:
  mutable Mutex mu_;
  std::map<std::string, Handler> handlers_ KUBE_GUARDED_BY(mu_);
  std::vector<HttpRequest> requests_ KUBE_GUARDED_BY(mu_);
};

inline Client ClientOf(const std::shared_ptr<FakeApi>& api, ClientConfig config = {}, std::shared_ptr<Clock> clock = nullptr) {
  if (config.host.empty()) config.host = "https://10.0.0.1:6443";
  ClientOptions options;
  options.transport = api;
  options.max_retries = 0;
  options.clock = std::move(clock);
  return Client::FromConfig(config, std::move(options)).value();
}

// A Status of failure.
inline std::string StatusBody(int code, const std::string& reason) {
  return R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":")" + reason + R"(","code":)" +
         std::to_string(code) + "}";
}

// ---- Documents of the aggregated form ----
struct TestResource {
  std::string name, kind;
  bool namespaced = true;
  std::string singular{};
  std::vector<std::string> short_names{}, categories{}, verbs = {"get", "list"};
  std::string extra{};  // more members, as JSON: R"(,"subresources":[...])"
};
struct TestVersion {
  std::string version;
  std::vector<TestResource> resources{};
  bool stale = false;
};
struct TestGroup {
  std::string name;
  std::vector<TestVersion> versions{};
};

inline std::string JsonStrings(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items) out += (out.size() > 1 ? ",\"" : "\"") + item + "\"";
  return out + "]";
}

inline std::string Aggregated(const std::vector<TestGroup>& groups, const std::string& version = "v2") {
  std::string out = R"({"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/)" + version + R"(","metadata":{},"items":[)";
  std::string comma;
  for (const TestGroup& group : groups) {
    out += comma + R"({"metadata":{"name":")" + group.name + R"(","creationTimestamp":null},"versions":[)";
    std::string version_comma;
    for (const TestVersion& v : group.versions) {
      out += version_comma + R"({"version":")" + v.version + R"(","resources":[)";
      std::string resource_comma;
      for (const TestResource& r : v.resources) {
        out += resource_comma + R"({"resource":")" + r.name + R"(","responseKind":{"group":")" + group.name + R"(","version":")" +
               v.version + R"(","kind":")" + r.kind + R"("},"scope":")" + (r.namespaced ? "Namespaced" : "Cluster") +
               R"(","singularResource":")" + r.singular + R"(","verbs":)" + JsonStrings(r.verbs) + R"(,"shortNames":)" +
               JsonStrings(r.short_names) + R"(,"categories":)" + JsonStrings(r.categories) + r.extra + "}";
        resource_comma = ",";
      }
      out += std::string(R"(],"freshness":")") + (v.stale ? "Stale" : "Current") + "\"}";
      version_comma = ",";
    }
    out += "]}";
    comma = ",";
  }
  return out + "]}";
}

// Puts the groups under /api and /apis, in the aggregated form.
inline void ServeAggregated(FakeApi& api, const std::vector<TestGroup>& groups, const std::string& etag = "") {
  std::vector<TestGroup> core, others;
  for (const TestGroup& group : groups) (group.name.empty() ? core : others).push_back(group);
  api.Set("/api", 200, Aggregated(core), kV2Type, etag.empty() ? "" : "\"core-" + etag + "\"");
  api.Set("/apis", 200, Aggregated(others), kV2Type, etag.empty() ? "" : "\"" + etag + "\"");
}

// The same in the form of servers before 1.27. Stale versions get a 503.
inline void ServeLegacy(FakeApi& api, const std::vector<TestGroup>& groups) {
  std::string core = R"({"kind":"APIVersions","versions":[)", others = R"({"kind":"APIGroupList","apiVersion":"v1","groups":[)";
  std::string comma, core_comma;
  for (const TestGroup& group : groups) {
    std::string versions;
    for (const TestVersion& v : group.versions) {
      const std::string gv = group.name.empty() ? v.version : group.name + "/" + v.version;
      if (group.name.empty()) {
        core += core_comma + "\"" + v.version + "\"";
        core_comma = ",";
      } else {
        versions += (versions.empty() ? "" : ",") + (R"({"groupVersion":")" + gv + R"(","version":")" + v.version + "\"}");
      }
      std::string list = R"({"kind":"APIResourceList","apiVersion":"v1","groupVersion":")" + gv + R"(","resources":[)";
      std::string resource_comma;
      for (const TestResource& r : v.resources) {
        list += resource_comma + R"({"name":")" + r.name + R"(","singularName":")" + r.singular + R"(","namespaced":)" +
                (r.namespaced ? "true" : "false") + R"(,"kind":")" + r.kind + R"(","verbs":)" + JsonStrings(r.verbs) + R"(,"shortNames":)" +
                JsonStrings(r.short_names) + R"(,"categories":)" + JsonStrings(r.categories) + "}";
        resource_comma = ",";
      }
      const std::string path = (group.name.empty() ? "/api/" : "/apis/") + gv;
      if (v.stale) {
        api.Set(path, 503, StatusBody(503, "ServiceUnavailable"));
      } else {
        api.Set(path, 200, list + "]}");
      }
    }
    if (group.name.empty()) continue;
    const std::string first = group.versions.empty() ? "" : group.versions.front().version;
    others += comma + R"({"name":")" + group.name + R"(","versions":[)" + versions + R"(],"preferredVersion":{"groupVersion":")" +
              group.name + "/" + first + R"(","version":")" + first + R"("}})";
    comma = ",";
  }
  api.Set("/api", 200, core + "]}");
  api.Set("/apis", 200, others + "]}");
}

}  // namespace kube::internal
