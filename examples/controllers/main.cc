// A controller step by step, against the embedded server. docs/controllers.md shows these lines.
#include <atomic>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>

#include "kube/api/core/v1.h"
#include "kube/base/thread.h"
#include "kube/client/client.h"
#include "kube/client/wait.h"
#include "kube/control/controller.h"
#include "kube/control/desired_state.h"
#include "kube/control/manager.h"
#include "kube/testing/api_server.h"

using kube::Action;
using kube::Client;
using kube::Context;
using kube::Request;
using kube::Result;
using kube::core::v1::ConfigMap;
using kube::core::v1::Secret;

namespace {

int Fail(const kube::Error& error) {
  std::cerr << "controllers: " << error.ToString() << "\n";
  return 1;
}

// [reconciler]
// For each ConfigMap with the label `copy: secret` there shall be a Secret with the same data.
class CopyReconciler {
 public:
  explicit CopyReconciler(kube::CachedClient client) : client_(std::move(client)) {}

  Result<Action> operator()(const Context& ctx, const Request& request) const {
    const Result<kube::Ptr<ConfigMap>> found = client_.Get<ConfigMap>(ctx, request.key);  // from the cache
    if (!found && kube::IsNotFound(found.error())) return Action::Done();                 // gone, and its Secret with it: it has an owner
    if (!found) return found.error();
    const ConfigMap& map = **found;
    for (const kube::Cause& cause : request.causes) std::cout << request.key << ": " << cause.ToString() << "\n";

    kube::DesiredState desired(client_, map, "copier");
    desired.Manage<Secret>();
    if (map.metadata.labels.Get("copy") == "secret") {
      Secret secret;
      secret.metadata.name = map.metadata.name.str() + "-copy";
      for (const auto& [key, text] : map.data) secret.data[key] = text;
      desired.Want(secret);
    }
    const Result<kube::Changes> changes = desired.Apply(ctx);
    if (!changes) return changes.error();  // again, later and later
    return Action::Done();
  }

 private:
  const kube::CachedClient client_;
};
// [end]

}  // namespace

int main() {
  const auto server = kube::testing::ApiServer::Start();
  if (!server) return Fail(server.error());
  const Result<Client> client = (*server)->NewClient();
  if (!client) return Fail(client.error());
  auto [ctx, stop] = Context::Background().WithTimeout(std::chrono::minutes(2)).WithCancel();

  // [manager]
  kube::Manager manager(*client, {.leader_election = kube::LeaderElectionOptions{.name = "copier", .ns = "default"},
                                  .metrics_bind_address = "127.0.0.1:0",
                                  .health_probe_bind_address = "127.0.0.1:0"});
  const CopyReconciler reconciler(manager.cached());
  const Result<void> added = manager.Add(kube::ControllerFor<ConfigMap>("copier")
                                             .For({.when = kube::ResourceVersionChanged()})
                                             .Owns<Secret>()
                                             .Workers(2)
                                             .Reconcile(reconciler));
  if (!added) return Fail(added.error());
  // [end]
  // [numbers]
  manager.metrics()->Describe("copies_wanted", "ConfigMaps that ask for a copy.");
  manager.metrics()->Set("copies_wanted", {{"shop", "berlin"}}, 7);
  // [end]
  Result<void> ran;
  kube::Thread running("manager", [&, ctx = ctx] { ran = manager.Run(ctx); });

  ConfigMap map;
  map.metadata.namespace_ = "default";
  map.metadata.name = "settings";
  map.metadata.labels["copy"] = "secret";
  map.data["color"] = "blue";
  int problems = 0;
  if (const Result<ConfigMap> created = client->Create(ctx, map); !created) problems = Fail(created.error());
  // It appears, and comes back when somebody deletes it.
  std::string uid;
  for (int i = 0; i < 2 && problems == 0; ++i) {
    for (;;) {
      const Result<Secret> secret = client->Get<Secret>(ctx, {"default", "settings-copy"});
      if (secret && secret->metadata.uid != uid) {
        uid = secret->metadata.uid.str();
        break;
      }
      if (Result<void> slept = ctx.SleepFor(std::chrono::milliseconds(5)); !slept) {
        problems = Fail(slept.error());
        break;
      }
    }
    if (problems == 0) (void)client->Delete<Secret>(ctx, {"default", "settings-copy"});
  }
  std::cout << "leader: " << std::boolalpha << manager.is_leader() << "\n";
  stop.Cancel();
  running.Join();
  if (!ran) problems = Fail(ran.error());
  return problems;
}
