// The servers of the contract suite, each started at most once.
#include <map>
#include <sstream>

#include "contract.h"
#include "kube/base/context.h"
#include "kube/testing/api_server.h"
#include "kube/testing/control_plane.h"

namespace kube::contract {
namespace {

std::map<ServerKind, Result<ContractServer>>& Servers() {
  static std::map<ServerKind, Result<ContractServer>> servers;
  return servers;
}

Result<ContractServer> StartReal(ServerKind kind) {
  testing::ControlPlaneOptions options{.version = kind == ServerKind::kRealOldest ? "oldest" : "newest",
                                       .service_account_admission = false};
  // Garbage collection and the end of namespaces are the API server's business in the embedded one; controllers of workloads would only
  // change objects under the cases' hands.
  options.controller_manager = true;
  options.controller_manager_flags = {"--controllers=garbagecollector,namespace,clusterrole-aggregation-controller"};
  // It cannot be built for every release.
  options.controller_manager = testing::FindControlPlaneAssets(options).ok();
  Result<std::unique_ptr<testing::ControlPlane>> plane = testing::ControlPlane::Start(Context::Background(), options);
  if (!plane) return plane.error();
  std::shared_ptr<testing::ControlPlane> real = std::move(*plane);
  ContractServer server;
  server.kind = kind;
  server.lifecycle = options.controller_manager;
  server.url = real->url();
  Result<serve::KeyPair> admin = real->AdminCertificate();
  if (!admin) return admin.error();
  server.admin = {real->ca_pem(), admin->certificate_pem, admin->key_pem, ""};
  server.user = [real](const std::string& user, const std::vector<std::string>& groups) -> Result<HttpIdentity> {
    Result<serve::KeyPair> pair = real->UserCertificate(user, groups);
    if (!pair) return pair.error();
    return HttpIdentity{real->ca_pem(), pair->certificate_pem, pair->key_pem, ""};
  };
  server.compact = [real] { return real->CompactStorage(Context::Background().WithTimeout(std::chrono::seconds(10))); };
  server.logs = [real] { return real->Logs(); };
  server.owner = real;
  return server;
}

Result<ContractServer> StartEmbedded() {
  Result<std::unique_ptr<testing::ApiServer>> started = testing::ApiServer::Start();
  if (!started) return started.error();
  std::shared_ptr<testing::ApiServer> embedded = std::move(*started);
  ContractServer server;
  server.kind = ServerKind::kEmbedded;
  server.url = embedded->url();
  server.admin = {embedded->ca_pem(), "", "", embedded->admin_token()};
  server.user = [embedded](const std::string& user, const std::vector<std::string>& groups) -> Result<HttpIdentity> {
    Result<serve::KeyPair> pair = embedded->IssueClientCertificate(user, groups);
    if (!pair) return pair.error();
    return HttpIdentity{embedded->ca_pem(), pair->certificate_pem, pair->key_pem, ""};
  };
  server.compact = [embedded]() -> Result<void> {
    embedded->Compact();
    return {};
  };
  server.owner = embedded;
  return server;
}

}  // namespace

std::string NameOf(ServerKind kind) {
  switch (kind) {
    case ServerKind::kEmbedded:
      return "embedded";
    case ServerKind::kRealNewest:
      return "real-newest";
    case ServerKind::kRealOldest:
      return "real-oldest";
  }
  return "?";
}

std::string TestNameOf(ServerKind kind) {
  switch (kind) {
    case ServerKind::kEmbedded:
      return "Embedded";
    case ServerKind::kRealNewest:
      return "RealNewest";
    case ServerKind::kRealOldest:
      return "RealOldest";
  }
  return "Unknown";
}

std::vector<ServerKind> ServersToTest() {
  const char* asked = getenv("KUBEXX_CONTRACT_SERVERS");
  const std::vector<ServerKind> all = {ServerKind::kEmbedded, ServerKind::kRealNewest, ServerKind::kRealOldest};
  if (asked == nullptr || *asked == '\0') return all;
  std::vector<ServerKind> out;
  std::istringstream names(asked);
  for (std::string name; std::getline(names, name, ',');) {
    for (ServerKind kind : all) {
      if (NameOf(kind) == name) out.push_back(kind);
    }
  }
  return out;
}

const Result<ContractServer>& ServerOf(ServerKind kind) {
  auto found = Servers().find(kind);
  if (found == Servers().end()) {
    found = Servers().emplace(kind, kind == ServerKind::kEmbedded ? StartEmbedded() : StartReal(kind)).first;
  }
  return found->second;
}

void StopServers() {
  CloseClients();
  Servers().clear();
}

}  // namespace kube::contract
