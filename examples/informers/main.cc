// Informers, step by step, against the embedded server. docs/informers.md shows these lines.
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "kube/api/core/v1.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/testing/api_server.h"

using kube::Client;
using kube::Context;
using kube::KeyOf;
using kube::Ptr;
using kube::Result;
using kube::SharedInformer;
using kube::core::v1::ConfigMap;

namespace {

Result<void> Watch(const Client& client, const Context& ctx) {
  // [informer]
  kube::InformerFactory informers(client, {.resync = std::chrono::minutes(10)});
  SharedInformer<ConfigMap> maps = informers.For<ConfigMap>();
  Result<kube::HandlerRegistration> registration = maps.AddEventHandler({
      .on_add = [](const Ptr<ConfigMap>& map, bool initial) { std::cout << "added " << KeyOf(*map) << (initial ? " at start\n" : "\n"); },
      .on_update = [](const Ptr<ConfigMap>&, const Ptr<ConfigMap>& map) { std::cout << "updated " << KeyOf(*map) << "\n"; },
      .on_delete = [](const kube::Deleted<ConfigMap>& gone) { std::cout << "deleted " << gone.key << "\n"; },
  });
  if (!registration) return registration.error();
  informers.Start(ctx);
  if (Result<void> synced = informers.WaitForSync(ctx); !synced) return synced;
  // [end]

  // [lister]
  kube::Lister<ConfigMap> lister = maps.lister();
  for (const Ptr<ConfigMap>& map : lister.Namespace("default").List(*kube::Selector::Parse("app=web")))
    std::cout << map->metadata.name << "\n";
  Result<Ptr<ConfigMap>> one = lister.Get({"default", "settings"});
  if (!one && !IsNotFound(one.error())) return one.error();
  // [end]

  // [index]
  Result<void> indexed = maps.AddIndex("colour", [](const ConfigMap& map) { return std::vector<kube::String>{map.data.Get("colour")}; });
  if (!indexed) return indexed;
  Result<std::vector<Ptr<ConfigMap>>> blue = maps.indexer().ByIndex("colour", "blue");
  if (!blue) return blue.error();
  // [end]

  // [own-writes]
  ConfigMap mine = **one;  // a copy: what is in the cache belongs to everybody
  mine.data["colour"] = "red";
  Result<ConfigMap> written = client.Update(ctx, mine);
  if (!written) return written.error();
  Result<void> seen = maps.WaitUntilSeen(ctx.WithTimeout(std::chrono::seconds(10)), KeyOf(*written), written->metadata.resource_version);
  if (!seen) return seen;  // from here on the cache shows that version, or a later one
  // [end]

  std::cout << maps.status() << "\n";
  return {};
}

Result<void> Small(const Client& client, const Context& ctx) {
  // [fields]
  kube::InformerOptions options{.ns = "default", .strip_managed_fields = true};
  options.fields = *kube::FieldSelection::Without({"metadata.annotations", "binaryData"});
  kube::InformerFactory informers(client);
  SharedInformer<ConfigMap> small = informers.For<ConfigMap>(options);
  SharedInformer<kube::meta::v1::PartialObjectMetadata> smallest = informers.ForMetadata<ConfigMap>();
  SharedInformer<kube::DynamicObject> any = informers.For(kube::Gvr{"", "v1", "configmaps"});
  // [end]
  informers.Start(ctx);
  return informers.WaitForSync(ctx);
}

int Fail(const kube::Error& error) {
  std::cerr << "informers: " << error.ToString() << "\n";
  return 1;
}

}  // namespace

int main() {
  Result<std::unique_ptr<kube::testing::ApiServer>> server = kube::testing::ApiServer::Start();
  if (!server) return Fail(server.error());
  const Result<Client> client = (*server)->NewClient();
  if (!client) return Fail(client.error());
  const Context ctx = Context::Background().WithTimeout(std::chrono::minutes(1));

  ConfigMap settings;
  settings.metadata = {.name = "settings", .namespace_ = "default"};
  settings.metadata.labels["app"] = "web";
  settings.data["colour"] = "blue";
  if (Result<ConfigMap> made = client->Create(ctx, settings); !made) return Fail(made.error());
  if (Result<void> done = Watch(*client, ctx); !done) return Fail(done.error());
  if (Result<void> done = Small(*client, ctx); !done) return Fail(done.error());
  return 0;
}
