// Creates a Network and prints the server's answer as JSON.
#include <kube/client/config_flags.h>
#include <kube/codec/json.h>

#include <iostream>

#include "api/v1/network_types.h"

int main(int argc, char** argv) {
  kube::ConfigFlags flags("manager");
  return flags.Run(argc, argv, [](const kube::Context& ctx, const kube::Client& client) {
    own::v1::Network network;
    network.metadata = {.name = "office", .namespace_ = "default"};
    network.spec.cidr = "192.168.0.0/16";
    network = client.Create(ctx, network).value();
    std::cout << kube::ToJson(network).value() << '\n';
  });
}
