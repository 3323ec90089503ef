// What kube::Client sends for the calls that traffic_test.py also makes with kubectl.
//
//   traffic_client KUBECONFIG get|list|watch|apply|exec
#include <iostream>
#include <string>

#include "kube/client/client.h"
#include "kube/client/exec.h"
#include "kube/config/load.h"

using namespace kube;  // NOLINT: a test program

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string verb = argv[2];
  const Context ctx = Context::Background().WithTimeout(std::chrono::seconds(30));
  const Result<ClientConfig> config = LoadConfig({.kubeconfig = argv[1]});
  const Result<Client> client = config ? Client::FromConfig(*config) : config.error();
  std::optional<Error> failure;
  const auto note = [&](const auto& result) {
    if (!result) failure = result.error();
  };
  note(client);
  if (client) {
    const ResourceClient<DynamicObject> pods = client->Resource(Gvr{"", "v1", "pods"});
    const ObjectKey web{"default", "web"};
    if (verb == "get") {
      note(pods.Get(ctx, web));
    } else if (verb == "list") {
      note(pods.List(ctx, {.ns = "default", .label_selector = "app=web", .limit = 500}));
    } else if (verb == "watch") {
      Result<Watcher<DynamicObject>> watcher = pods.Watch(ctx, {.ns = "default", .resource_version = "0", .bookmarks = false});
      note(watcher);
      if (watcher) note(watcher->Next(ctx));
    } else if (verb == "apply") {
      const Result<DynamicObject> map =
          DynamicObject::Parse(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"default"},"data":{"a":"1"}})");
      note(client->Resource(Gvr{"", "v1", "configmaps"}).Apply(ctx, *map, {.field_manager = "kubectl", .field_validation = "Strict"}));
    } else if (verb == "exec") {
      note(Exec(ctx, *client, web, {.command = {"echo", "hello"}, .container = "web"}));
    } else {
      return 2;
    }
  }
  if (failure) std::cerr << failure->ToString() << "\n";
  return failure ? 1 : 0;
}
