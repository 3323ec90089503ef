#include <utility>

#include "kube/apiserver/api_server.h"
#include "kube/client/client.h"
#include "kube/config/kubeconfig.h"
#include "kube/config/load.h"

namespace kube::apiserver {

Result<Client> ApiServer::NewClient() const { return NewClient(ClientOptions()); }

Result<Client> ApiServer::NewClient(ClientOptions options) const {
  Result<kube::Kubeconfig> kubeconfig = kube::Kubeconfig::Parse(Kubeconfig());
  if (!kubeconfig) return kubeconfig.error();
  Result<ClientConfig> config = ToClientConfig(*kubeconfig);
  if (!config) return config.error();
  config->qps = -1;
  return Client::FromConfig(*config, std::move(options));
}

}  // namespace kube::apiserver
