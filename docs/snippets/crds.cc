// crds: definitions at run time, on a server of its own: installs one, changes it, rewrites what is stored, and prints the role of a
// manager that does all of that at its start. docs/custom-resources.md explains the steps.
#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "kube/control/crds.h"
#include "kube/control/manager.h"
#include "kube/testing/api_server.h"

// Networks, stored in v1 or in v2, which has one more field.
std::string Networks(const std::string& stored) {
  const auto version = [&](const std::string& name, const std::string& fields) {
    return "  - {name: " + name + ", served: true, storage: " + (name == stored ? "true" : "false") +
           ", schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {" + fields + "}}}}}}\n";
  };
  return R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: networks.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: networks, kind: Network}
  versions:
)" + version("v1", "cidr: {type: string}") +
         version("v2", "cidr: {type: string}, mtu: {type: integer}");
}

void Install(const kube::Context& ctx, const kube::Client& client, const std::string& yaml) {
  const std::vector<kube::CrdSource> crds = kube::ParseCrds(yaml, "networks.yaml").value();  // an error names the document
  const std::vector<kube::InstalledCrd> installed = InstallCrds(ctx, client, crds).value();  // names all that a change would break
  for (const kube::InstalledCrd& crd : installed) std::cout << crd.name << " " << ToString(crd.change) << "\n";
}

int main() {
  try {
    const auto server = kube::testing::ApiServer::Start().value();
    const kube::Client client = server->NewClient().value();
    const kube::Context ctx = kube::Context::Background().WithTimeout(std::chrono::minutes(1));

    Install(ctx, client, Networks("v1"));
    kube::DynamicObject network({"example.com", "v1", "Network"}, {"default", "office"});
    network["spec"]["cidr"] = "192.168.0.0/16";
    client.Resource(kube::Gvr{"example.com", "v1", "networks"}).Create(ctx, network).value();
    Install(ctx, client, Networks("v2"));
    const kube::StorageMigration done = MigrateStorage(ctx, client, "networks.example.com").value();
    std::cout << done.rewritten << " networks are stored in " << done.storage_version << "\n";

    kube::Manager manager(client);
    manager.Add(kube::ManagedCrds{.crds = kube::ParseCrds(Networks("v2"), "networks.yaml").value(), .migrate_storage = true}).value();
    std::cout << manager.RbacYaml({.name = "networks"});
  } catch (const kube::ErrorException& e) {
    std::cerr << "crds: " << e.what() << "\n";
    return 1;
  }
}
