// One replica of the controller under test: keeps a ConfigMap for each Deployment of a namespace, while it leads.
//
//   chaos_replica <kubeconfig> <namespace> <identity> <lease ms> <renew deadline ms> <retry period ms>
//
// Exit codes: 0 after SIGTERM, kExitLostLease where leadership was lost, kExitFailed otherwise.
//
// After SIGUSR1 it writes the manager's debug report to standard error, for tests that fail.
//
// Each of its writes has an Audit-ID that names its sender and time: "a-3.1789000000000000.42". The server's audit log has it then.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/base/context.h"
#include "kube/base/thread.h"
#include "kube/client/client.h"
#include "kube/config/kubeconfig.h"
#include "kube/config/load.h"
#include "kube/control/controller.h"
#include "kube/control/desired_state.h"
#include "kube/control/manager.h"
#include "kube/transport/transport.h"
#include "wanted.h"

namespace kube::chaos {
namespace {

using apps::v1::Deployment;
using core::v1::ConfigMap;

class StampTransport : public TransportDecorator {
 public:
  StampTransport(std::shared_ptr<Transport> next, std::string identity)
      : TransportDecorator(std::move(next)), identity_(std::move(identity)) {}

 protected:
  Result<void> Prepare(const Context&, HttpRequest& request) override {
    if (request.method == "GET") return {};
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
    request.headers.Set("Audit-ID", identity_ + "." + std::to_string(micros) + "." + std::to_string(++sent_));
    return {};
  }

 private:
  const std::string identity_;
  std::atomic<std::uint64_t> sent_ = 0;
};

class ChildReconciler {
 public:
  ChildReconciler(Client client, InformerFactory& informers)
      : client_(std::move(client)), deployments_(informers.For<Deployment>().lister()), maps_(informers.For<ConfigMap>().lister()) {}

  Result<Action> operator()(const Context& ctx, const Request& request) const {
    const Ptr<Deployment> deployment = deployments_.indexer().Get(request.key);
    if (deployment == nullptr) return Action::Done();  // the child has an owner: it is the garbage collector's
    ConfigMap child;
    child.metadata.name = ChildName(request.key.name.str());
    for (const auto& [key, text] : WantedData(*deployment)) child.data[key] = text;
    const Result<Changes> changes =
        DesiredState(client_, *deployment, {.field_manager = "chaos", .name = "chaos"}).ReadFrom(maps_).Want(child).Apply(ctx);
    if (!changes) return changes.error();
    if (Result<void> good = changes->ToResult(); !good) return good.error();
    return changes->complete() ? Action::Done() : Action::Requeue();
  }

 private:
  const Client client_;
  const Lister<Deployment> deployments_;
  const Lister<ConfigMap> maps_;
};

// Takes SIGUSR1, which all threads of the process have to block.
class Reporter {
 public:
  explicit Reporter(const Manager& manager) : thread_("report", [this, &manager] { Loop(manager); }) {}
  ~Reporter() {
    ending_ = true;
    ::kill(::getpid(), SIGUSR1);
  }
  static void BlockSignal() {
    const sigset_t set = Set();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
  }

 private:
  static sigset_t Set() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    return set;
  }
  void Loop(const Manager& manager) const {
    const sigset_t set = Set();
    int signal = 0;
    while (sigwait(&set, &signal) == 0 && !ending_) std::fprintf(stderr, "%s\n%s\n", manager.DebugJson().c_str(), kEndOfReport);
  }

  std::atomic<bool> ending_ = false;
  Thread thread_;  // joined first
};

int Fail(const Error& error) {
  std::fprintf(stderr, "chaos_replica: %s\n", error.ToString().c_str());
  return IsLeadershipLost(error) ? kExitLostLease : kExitFailed;
}

int Run(char** argv) {
  Reporter::BlockSignal();
  const Context ctx = SignalContext();
  const std::string ns = argv[2], identity = argv[3];
  const auto time = [&](int i) { return std::chrono::milliseconds(std::atoi(argv[i])); };
  const Result<Kubeconfig> kubeconfig = Kubeconfig::Load(argv[1]);
  if (!kubeconfig) return Fail(kubeconfig.error());
  Result<ClientConfig> config = ToClientConfig(*kubeconfig);
  if (!config) return Fail(config.error());
  config->qps = -1;
  config->user_agent = "chaos-replica/" + identity;
  const Result<Client> client = Client::FromConfig(
      *config,
      {.warning_handler = [](const ApiWarning&) {},
       .wrap_transport = [&](std::shared_ptr<Transport> next) { return std::make_shared<StampTransport>(std::move(next), identity); }});
  if (!client) return Fail(client.error());
  Manager manager(*client, {.leader_election = LeaderElectionOptions{.name = "chaos",
                                                                     .ns = ns,
                                                                     .identity = identity,
                                                                     .lease_duration = time(4),
                                                                     .renew_deadline = time(5),
                                                                     .retry_period = time(6)},
                            .informers = {.ns = ns}});
  const Result<void> added = manager.Add(ControllerFor<Deployment>("chaos")
                                             .Owns<ConfigMap>()
                                             .Workers(kWorkers)
                                             .ReconcileTimeout(std::chrono::seconds(20))
                                             // A child of a deleted namesake can stay for as long as the garbage collector does not see it:
                                             // fifteen retries later a key would wait longer than the test does.
                                             .RateLimited(MaxWaitLimiter(DefaultRateLimiter(), std::chrono::seconds(5)))
                                             .Reconcile(ChildReconciler(*client, manager.informers())));
  if (!added) return Fail(added.error());
  const Reporter reporter(manager);
  if (Result<void> ran = manager.Run(ctx); !ran) return Fail(ran.error());
  return 0;
}

}  // namespace
}  // namespace kube::chaos

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: chaos_replica <kubeconfig> <namespace> <identity> <lease ms> <renew deadline ms> <retry period ms>\n");
    return 2;
  }
  return kube::chaos::Run(argv);
}
