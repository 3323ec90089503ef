// Definitions at run time, on the embedded server: install, compare, migrate, and a manager that does it at start. See
// docs/custom-resources.md.
#include <chrono>
#include <iostream>
#include <string>

#include "kube/control/crds.h"
#include "kube/control/manager.h"
#include "kube/testing/api_server.h"

namespace {

using namespace kube;

// v1, and v2 with one more field.
std::string Networks(bool store_v2) {
  const std::string v2 = store_v2 ? "true" : "false", v1 = store_v2 ? "false" : "true";
  return R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: networks.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: networks, kind: Network}
  versions:
  - name: v1
    served: true
    storage: )" +
         v1 + R"(
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {cidr: {type: string}}}}}}
  - name: v2
    served: true
    storage: )" +
         v2 + R"(
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {cidr: {type: string}, mtu: {type: integer}}}}}}
)";
}

Result<void> Install(const Context& ctx, const Client& client, const std::string& yaml) {
  // [install]
  Result<std::vector<CrdSource>> crds = ParseCrds(yaml, "networks.yaml");  // or ReadCrds({"config/crd"})
  if (!crds) return crds.error();
  Result<std::vector<InstalledCrd>> installed = InstallCrds(ctx, client, *crds);
  if (!installed) return installed.error();  // names the document, and all that the change would break
  for (const InstalledCrd& crd : *installed) std::cout << crd.name << " " << ToString(crd.change) << "\n";
  // [end]
  return {};
}

Result<void> Migrate(const Context& ctx, const Client& client) {
  // [migrate]
  Result<StorageMigration> done = MigrateStorage(ctx, client, "networks.example.com", {.qps = 100});
  if (!done) return done.error();
  std::cout << done->rewritten << " networks are stored in " << done->storage_version << "\n";
  if (!done->trimmed) std::cout << "run it again: " << done->not_trimmed_because << "\n";
  // [end]
  return {};
}

Result<void> AddTo(Manager& manager, const std::string& yaml) {
  // [manager]
  Result<std::vector<CrdSource>> crds = ParseCrds(yaml, "networks.yaml");
  if (!crds) return crds.error();
  return manager.Add(ManagedCrds{.crds = *crds, .migrate_storage = true});
  // [end]
}

Result<void> Run(const Context& ctx, const Client& client) {
  if (Result<void> ok = Install(ctx, client, Networks(false)); !ok) return ok;
  DynamicObject network({"example.com", "v1", "Network"}, {"default", "office"});
  network["spec"]["cidr"] = "192.168.0.0/16";
  if (auto made = client.Resource(Gvr{"example.com", "v1", "networks"}).Create(ctx, network); !made) return made.error();
  if (Result<void> ok = Install(ctx, client, Networks(true)); !ok) return ok;
  if (Result<void> ok = Migrate(ctx, client); !ok) return ok;
  Manager manager(client);
  if (Result<void> ok = AddTo(manager, Networks(true)); !ok) return ok;
  std::cout << manager.RbacYaml({.name = "networks"});
  return {};
}

}  // namespace

int main() {
  const auto server = testing::ApiServer::Start();
  if (!server) return 1;
  const Result<Client> client = (*server)->NewClient();
  if (!client) return 1;
  const Result<void> ran = Run(Context::Background().WithTimeout(std::chrono::minutes(1)), *client);
  if (!ran) std::cerr << ran.error().ToString() << "\n";
  return ran ? 0 : 1;
}
