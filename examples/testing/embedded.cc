// The embedded API server in a test. docs/testing.md shows these lines.
#include <cstdio>
#include <memory>
#include <string>

#include "kube/base/context.h"
#include "kube/base/fake_clock.h"
#include "kube/client/client.h"
#include "kube/testing/api_server.h"

using kube::Context;
using kube::Error;
using kube::Result;
using kube::testing::ApiServer;
using kube::testing::FaultKind;

namespace {

int Fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.ToString().c_str());
  return 1;
}

void Users(ApiServer& server) {
  // [users]
  std::string admin = server.Kubeconfig();                 // may do everything
  std::string token = server.AddUser("jane", {"team-a"});  // who asks shows up in objects; RBAC is not evaluated yet
  std::string jane = server.KubeconfigFor("jane", token);
  // [end]
  (void)admin;
  (void)jane;
}

Result<void> ClientOf(const ApiServer& server) {
  // [client]
  Result<kube::Client> client = server.NewClient();  // the administrator's, without a rate limit
  if (!client) return client.error();
  // [end]
  return {};
}

Result<void> Faults(ApiServer& server) {
  // [faults]
  server.AddFault({.verb = "list", .resource = "pods", .kind = FaultKind::kStatus, .status = 429, .retry_after_seconds = 1});
  server.AddFault({.verb = "watch", .kind = FaultKind::kCut, .bytes = 1000, .times = 3});  // three watches break after 1000 bytes
  server.AddFault({.verb = "watch", .resource = "pods", .kind = FaultKind::kDropEvent});   // the next event is lost
  server.Compact();                                                                        // older watches and pages get 410
  if (Result<void> r = server.Restart(true); !r) return r;                                 // all connections are cut
  server.ClearFaults();
  // [end]
  return {};
}

Result<void> PodsThatAnswer(ApiServer& server) {
  // [pods]
  kube::testing::PodHandlers pods;
  pods.exec = [](const Context&, const kube::apiserver::PodExecRequest& request, kube::apiserver::PodStreams& io) -> Result<int> {
    if (Result<void> r = io.WriteStdout("ran " + request.command.front() + "\n"); !r) return r.error();
    return 0;  // the exit code
  };
  server.SetPodHandlers(pods);
  // [end]
  return {};
}

}  // namespace

int main() {
  // [start]
  Result<std::unique_ptr<ApiServer>> server = ApiServer::Start({.manifests = {R"(
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.com/web:1"}]}
)"}});
  if (!server) return Fail(server.error());  // names the line of the manifest
  std::printf("%s, %zu objects\n", (*server)->url().c_str(), (*server)->object_count());
  // [end]
  Users(**server);
  if (Result<void> r = ClientOf(**server); !r) return Fail(r.error());
  if (Result<void> r = Faults(**server); !r) return Fail(r.error());
  if (Result<void> r = PodsThatAnswer(**server); !r) return Fail(r.error());

  // [clock]
  auto clock = std::make_shared<kube::FakeClock>();
  Result<std::unique_ptr<ApiServer>> still = ApiServer::Start({.clock = clock});  // timestamps and timeouts stand still
  if (!still) return Fail(still.error());
  clock->Advance(std::chrono::minutes(10));           // bookmarks are sent, watches time out
  (*still)->SetClockSkew(std::chrono::seconds(-30));  // objects get timestamps from 30 seconds ago
  // [end]
  return 0;
}
