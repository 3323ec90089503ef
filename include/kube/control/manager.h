// Manager: runs controllers, what they need, and what watches over them.
//
//   Manager manager(client, {.leader_election = LeaderElectionOptions{.name = "auto-expose"}, .metrics_bind_address = ":8080"});
//   manager.Add(ControllerFor<Deployment>("auto-expose").Owns<Service>().Reconcile(...));
//   if (Result<void> ran = manager.Run(SignalContext()); !ran) return Fail(ran.error());
//
// Start: the servers of metrics and health, the caches of all controllers (also on replicas that do not lead: the next leader need not
// wait for them), what does not need leadership, and then, as the leader, the workers. Shutdown is the other way round.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/control/controller.h"
#include "kube/control/event_recorder.h"
#include "kube/control/leader_election.h"
#include "kube/serve/metrics_registry.h"

namespace kube {

struct ManagerOptions {
  // None: this program works at once, and must be the only one.
  std::optional<LeaderElectionOptions> leader_election{};
  InformerFactoryOptions informers{};
  // Where everything is counted; share it with the client (ClientOptions::metrics). Null: the manager makes one.
  std::shared_ptr<serve::MetricsRegistry> metrics{};
  // "host:port", ":port" for all addresses; port 0 is a free one. Empty or "0": no such server.
  std::string metrics_bind_address{};       // /metrics, /debug/controllers
  std::string health_probe_bind_address{};  // /healthz, /readyz
  // How long the lease is kept, after Run's context stopped, for reconcilers and runnables that have not returned; then it ends by itself
  // instead of being given back. Keep it below the pod's terminationGracePeriodSeconds.
  std::chrono::nanoseconds graceful_shutdown_timeout = std::chrono::seconds(25);
};

// Something that runs beside controllers: returns when `ctx` stops. Returning earlier with an error ends the manager.
struct Runnable {
  std::string name{};
  std::function<Result<void>(const Context& ctx)> run{};
  bool needs_leader = true;
};

// A named test for /healthz or /readyz: ok, or why not.
using HealthCheck = std::function<Result<void>()>;

// Thread safety: all functions from any thread; Run once.
// Lifetime: the destructor ends everything and waits for it.
// Blocking and cancellation: Run blocks until its context stops (ok), leadership is lost (IsLeadershipLost: exit, and start again) or
//   something failed. It then waits for reconcilers and runnables, however long they take: they have to return when their context stops.
// Errors: of Add kInvalid: a name that is taken, what Controller::Create says; of Run also kInvalid (an address) and kTransport (a port).
class KUBE_EXPORT Manager {
 public:
  explicit Manager(Client client, ManagerOptions options = {});
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  ~Manager();

  // Before Run.
  Result<void> Add(ControllerSpec controller);
  Result<void> Add(Runnable runnable);
  // At any time. /readyz has one of its own for each controller: its caches are complete; what is missing is named.
  void AddHealthCheck(std::string name, HealthCheck check);
  void AddReadyCheck(std::string name, HealthCheck check);

  Result<void> Run(const Context& ctx);

  const Client& client() const;
  InformerFactory& informers();
  const std::shared_ptr<serve::MetricsRegistry>& metrics() const;
  // Null where there is none of that name.
  Controller* controller(std::string_view name);
  bool is_leader() const;

  // 0 where there is no such server, or before Run started it.
  std::uint16_t metrics_port() const;
  std::uint16_t health_port() const;
  // What /debug/controllers says.
  std::string DebugJson() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube
