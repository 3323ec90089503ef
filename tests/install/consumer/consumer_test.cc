#include <kube/testing/api_server.h>
#include <kube/testing/kubeconfig.h>

#include <iostream>

int main() {
  const auto server = kube::testing::ApiServer::Start();
  if (!server) {
    std::cerr << server.error().ToString() << '\n';
    return 1;
  }
  std::cout << kube::testing::MakeKubeconfig({.server = (*server)->url()});
  return (*server)->object_count() > 0 ? 0 : 1;
}
