// The client, verb by verb, against the embedded server. docs/client.md shows these lines.
#include <atomic>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/client/client.h"
#include "kube/client/config_flags.h"
#include "kube/client/pager.h"
#include "kube/client/retry.h"
#include "kube/client/wait.h"
#include "kube/config/load.h"
#include "kube/testing/api_server.h"
#include "kube/transport/transport.h"

using kube::Client;
using kube::Context;
using kube::Error;
using kube::ObjectList;
using kube::Result;
using kube::apps::v1::Deployment;
using kube::core::v1::ConfigMap;
using kube::core::v1::Pod;

namespace {

// [flags]
int ListPods(int argc, const char* const* argv) {
  bool wide = false;
  kube::ConfigFlags flags("podtop");                // --kubeconfig, --context, --namespace ... as kubectl has them
  flags.Add("wide", &wide, "print the node, too");  // also PODTOP_WIDE=true, and `wide: true` in the file of --config
  return flags.Run(argc, argv, [&](const Context& ctx, const Client& client) -> Result<void> {
    const Result<ObjectList<Pod>> pods = client.List<Pod>(ctx, {.ns = client.default_namespace()});
    if (!pods) return pods.error();  // "podtop: ...", exit code 1
    for (const Pod& pod : *pods) std::cout << pod.metadata.name << (wide ? " " + pod.spec.node_name.str() : "") << "\n";
    return {};
  });
}
// [end]

Result<Client> Connect(const std::string& kubeconfig_text) {
  // [connect]
  Result<kube::Kubeconfig> kubeconfig = kube::Kubeconfig::Parse(kubeconfig_text);
  if (!kubeconfig) return kubeconfig.error();
  Result<kube::ClientConfig> config = kube::ToClientConfig(*kubeconfig, {.ns = "default"});
  if (!config) return config.error();
  config->qps = 50;  // client-go's 5 are few for a controller
  config->burst = 100;
  return Client::FromConfig(*config);
  // [end]
}

Result<void> Write(const Client& client, const Context& ctx) {
  // [write]
  ConfigMap settings;
  settings.metadata = {.name = "settings", .namespace_ = "default"};
  settings.data = {{"colour", "blue"}};
  Result<ConfigMap> created = client.Create(ctx, settings);
  if (!created) return created.error();

  Result<void> updated = kube::RetryOnConflict(ctx, [&]() -> Result<void> {
    Result<ConfigMap> current = client.Get<ConfigMap>(ctx, {"default", "settings"});
    if (!current) return current.error();
    current->data["colour"] = "green";
    Result<ConfigMap> written = client.Update(ctx, *current);
    return written ? Result<void>() : written.error();
  });
  if (!updated) return updated;
  // [end]
  // [patch]
  Result<ConfigMap> patched =
      client.Patch<ConfigMap>(ctx, {"default", "settings"}, kube::Patch::Merge(R"({"data":{"size":"large"}})"), {.field_manager = "demo"});
  if (!patched) return patched.error();
  // [end]
  // [apply]
  Deployment web;  // only what this program wants to own
  web.metadata = {.name = "web", .namespace_ = "default"};
  web.spec.replicas = 2;
  web.spec.selector.Mutable().match_labels = {{"app", "web"}};
  web.spec.template_.metadata.labels = {{"app", "web"}};
  web.spec.template_.spec.containers.push_back({.name = "web", .image = "nginx"});
  Result<Deployment> applied = client.Apply(ctx, web, {.field_manager = "demo"});
  if (!applied) return applied.error();
  // [end]
  return {};
}

Result<void> Read(const Client& client, const Context& ctx) {
  // [read]
  Result<ObjectList<ConfigMap>> maps = client.List<ConfigMap>(ctx, {.ns = "default", .field_selector = "metadata.name=settings"});
  if (!maps) return maps.error();
  for (const ConfigMap& map : *maps) std::cout << map.metadata.name << " " << map.metadata.resource_version << "\n";

  Result<Pod> missing = client.Get<Pod>(ctx, {"default", "nobody"});
  if (!missing && kube::IsNotFound(missing.error())) std::cout << missing.error().message() << "\n";  // pods "nobody" not found
  // [end]
  // [pages]
  kube::Pager<ConfigMap> pages(client.Resource<ConfigMap>(), ctx, {.limit = 100});
  for (const Result<ConfigMap>& map : pages) {
    if (!map) return map.error();
    std::cout << map->metadata.name << "\n";
  }
  // [end]
  // [dynamic]
  Result<kube::DynamicObject> any = client.Resource(kube::Gvr{"apps", "v1", "deployments"}).Get(ctx, {"default", "web"});
  if (!any) return any.error();
  std::cout << any->NestedInt({"spec", "replicas"}).value_or(0) << " replicas\n";

  auto light = client.Metadata<Deployment>().List(ctx, {.ns = "default"});  // names, labels, owners; nothing else travels
  if (!light) return light.error();
  // [end]
  return {};
}

Result<void> Watch(const Client& client, const Context& ctx) {
  // [watch]
  Result<ObjectList<ConfigMap>> list = client.List<ConfigMap>(ctx, {.ns = "default"});
  if (!list) return list.error();
  Result<kube::Watcher<ConfigMap>> watcher =
      client.Watch<ConfigMap>(ctx, {.ns = "default", .resource_version = list->metadata.resource_version.str()});
  if (!watcher) return watcher.error();

  if (Result<void> deleted = client.Delete<ConfigMap>(ctx, {"default", "settings"}); !deleted) return deleted;
  for (;;) {
    Result<std::optional<kube::WatchEvent<ConfigMap>>> event = watcher->Next(ctx);
    if (!event) return event.error();
    if (!*event) break;  // the server ended it: list and watch again
    std::cout << ToString((*event)->type) << " " << (*event)->object.metadata.name << "\n";
    if ((*event)->type == kube::WatchEventType::kDeleted) break;
  }
  // [end]
  // [wait]
  Result<Deployment> scaled = kube::WaitFor<Deployment>(client.Resource<Deployment>(), ctx.WithTimeout(std::chrono::seconds(30)),
                                                        {"default", "web"}, [](const Deployment& d) { return d.spec.replicas == 2; });
  if (!scaled) return scaled.error();
  // [end]
  return {};
}

// [wrap]
class CountingTransport : public kube::TransportDecorator {
 public:
  using TransportDecorator::TransportDecorator;
  Result<kube::HttpResponse> RoundTrip(const Context& ctx, kube::HttpRequest request) override {
    ++count;
    return next().RoundTrip(ctx, std::move(request));
  }
  std::atomic<int> count = 0;
};
// [end]

// [fake]
class AlwaysForbidden : public kube::Transport {
 public:
  Result<kube::HttpResponse> RoundTrip(const Context&, kube::HttpRequest) override {
    kube::HttpResponse response;
    response.code = 403;
    response.headers.Add("Content-Type", "application/json");
    response.body = R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not you","code":403})";
    return response;
  }
};
// [end]

Result<void> Test(const Context& ctx) {
  // [use-fake]
  Result<Client> client = Client::FromConfig({}, {.transport = std::make_shared<AlwaysForbidden>()});
  if (!client) return client.error();
  Result<Pod> pod = client->Get<Pod>(ctx, {"default", "web"});
  // [end]
  if (pod || !IsForbidden(pod.error())) return Error::Internal("the fake was not asked");
  return {};
}

int Run() {
  auto server = kube::testing::ApiServer::Start();
  const auto fail = [](const Error& error) {
    std::cerr << error.ToString() << "\n";
    return 1;
  };
  if (!server) return fail(server.error());
  const Context ctx = Context::Background().WithTimeout(std::chrono::minutes(2));
  const char* const arguments[] = {"podtop", "--help"};
  if (const int code = ListPods(2, arguments); code != 0) return code;
  const Result<Client> client = Connect((*server)->Kubeconfig());
  if (!client) return fail(client.error());
  if (Result<void> r = Write(*client, ctx); !r) return fail(r.error());
  if (Result<void> r = Read(*client, ctx); !r) return fail(r.error());
  if (Result<void> r = Watch(*client, ctx); !r) return fail(r.error());
  if (Result<void> r = Test(ctx); !r) return fail(r.error());
  return 0;
}

}  // namespace

int main() { return Run(); }
