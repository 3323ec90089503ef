// dynamic_get: reads one object of any kind, without a struct for it.
//
//   dynamic_get --group cnat.programming-kubernetes.info --version v1alpha1 --resource ats --name example-at [--namespace NAME]
//   dynamic_get --version v1 --resource pods --name web
#include <iostream>
#include <string>

#include "kube/base/context.h"
#include "kube/client/client.h"
#include "kube/client/config_flags.h"
#include "kube/codec/yaml.h"

int main(int argc, char** argv) {
  kube::ConfigFlags flags("dynamic_get");
  std::string group, version, resource, name;
  bool cluster_scoped = false;
  flags.Add("group", &group, "empty for core kinds").Value("GROUP");
  flags.Add("version", &version, "v1").Value("VERSION").Required();
  flags.Add("resource", &resource, "plural: pods").Value("RESOURCE").Required();
  flags.Add("name", &name, "of the object").Value("NAME").Required();
  flags.Add("cluster-scoped", &cluster_scoped, "the kind has no namespaces");
  return flags.Run(argc, argv, [&](const kube::Context& ctx, const kube::Client& client) {
    // [get]
    const kube::Gvr gvr{kube::String(group), kube::String(version), kube::String(resource)};
    const kube::ObjectKey key{kube::String(cluster_scoped ? "" : client.default_namespace()), kube::String(name)};
    const kube::DynamicObject object = client.Resource(gvr).Get(ctx, key).value();
    std::cout << "Got " << object.kind() << " " << object.name() << "\n" << ToYaml(object).value();
    // [end]
  });
}
