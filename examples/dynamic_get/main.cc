// dynamic_get: reads one object of any kind, without a struct for it.
//
//   dynamic_get --group cnat.programming-kubernetes.info --version v1alpha1 --resource ats --name example-at [--namespace NAME]
//   dynamic_get --version v1 --resource pods --name web
#include <iostream>
#include <map>
#include <string>

#include "kube/base/context.h"
#include "kube/client/client.h"
#include "kube/codec/yaml.h"
#include "kube/config/load.h"

using kube::Result;

namespace {

int Fail(const kube::Error& error) {
  std::cerr << "dynamic_get: " << error.ToString() << "\n";
  return 1;
}

int Usage() {
  std::cerr << "usage: dynamic_get --version V --resource R --name N [--group G] [--cluster-scoped] [flags]\n"
               "  --group GROUP          empty for core kinds\n"
               "  --version VERSION      v1\n"
               "  --resource RESOURCE    plural: pods\n"
               "  --name NAME\n"
               "  --cluster-scoped       the kind has no namespaces\n"
            << kube::ConfigFlags::Help();
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  kube::ConfigFlags flags;
  const Result<std::vector<std::string>> rest = flags.Parse(argc, argv);
  if (!rest) return Fail(rest.error());
  std::map<std::string, std::string> given{{"--group", ""}, {"--version", ""}, {"--resource", ""}, {"--name", ""}};
  bool cluster_scoped = false;
  for (std::size_t i = 0; i < rest->size(); ++i) {
    if ((*rest)[i] == "--cluster-scoped") {
      cluster_scoped = true;
    } else if (given.contains((*rest)[i]) && i + 1 < rest->size()) {
      given[(*rest)[i]] = (*rest)[i + 1];
      ++i;
    } else {
      return Usage();
    }
  }
  if (given["--version"].empty() || given["--resource"].empty() || given["--name"].empty()) return Usage();

  const Result<kube::ClientConfig> config = flags.Load();
  if (!config) return Fail(config.error());
  const Result<kube::Client> client = kube::Client::FromConfig(*config);
  if (!client) return Fail(client.error());

  const kube::Gvr gvr{kube::String(given["--group"]), kube::String(given["--version"]), kube::String(given["--resource"])};
  const kube::ObjectKey key{kube::String(cluster_scoped ? "" : client->default_namespace()), kube::String(given["--name"])};
  const Result<kube::DynamicObject> object = client->Resource(gvr).Get(kube::SignalContext(), key);
  if (!object) return Fail(object.error());
  std::cout << "Got " << object->kind() << " " << object->name() << "\n";
  const Result<std::string> text = ToYaml(*object);
  if (!text) return Fail(text.error());
  std::cout << *text;
  return 0;
}
