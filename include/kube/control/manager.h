// Manager: runs controllers, what they need, and what watches over them.
//
//   Manager manager(client, {.leader_election = LeaderElectionOptions{.name = "auto-expose"}, .metrics_bind_address = ":8080"});
//   manager.Add(ControllerFor<Deployment>("auto-expose").Owns<Service>().Reconcile(...));
//   if (Result<void> ran = manager.Run(SignalContext()); !ran) return Fail(ran.error());
//
// Start: the servers of metrics and health, the caches of all controllers (also on replicas that do not lead: the next leader need not
// wait for them), what does not need leadership, and then, as the leader, the workers. Shutdown is the other way round.
//
// manager_flags.h makes the options of the usual flags. access.h has more about permissions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/metrics_registry.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/cache/informer_factory.h"
#include "kube/client/client.h"
#include "kube/control/access.h"
#include "kube/control/cached_client.h"
#include "kube/control/controller.h"
#include "kube/control/crds.h"
#include "kube/control/event_recorder.h"
#include "kube/control/leader_election.h"
#include "kube/control/webhooks.h"
#include "kube/serve/http_limits.h"
#include "kube/serve/tls_policy.h"
#include "kube/webhook/conversion.h"
#include "kube/webhook/webhook_spec.h"

namespace kube {

// What becomes of permissions that the program needs and does not have, at start.
//   kWarn   the missing rules are logged, and the manager goes on: what was granted late is used when it is there (caches try again by
//           themselves), and one kind that may not be read need not stop the others. /readyz names what keeps a controller waiting.
//   kFail   Run returns an error with the rules.
//   kSkip   nobody is asked.
// Where the server cannot say (it has no such reviews, or does not answer), that is logged once, and the manager goes on in any case.
enum class Preflight : std::uint8_t { kWarn, kFail, kSkip };

// The reviews that protect /metrics: anyone who reaches the port can ask for one, by showing a token.
struct MetricsReviewLimits {
  // Tokens of users, and what these may do, that are remembered. What was refused has a memory of its own, so that it displaces nothing.
  std::size_t remembered = 1000;
  std::size_t remembered_refusals = 256;
  std::size_t max_waiting = 100;  // requests that wait for a review; those of the peer with most are refused with 503 beyond it
  // Requests of one peer that wait; those of its connections with most refusals are answered with 429 beyond it.
  std::size_t max_waiting_per_peer = 32;
  // New reviews of one peer that may end with a refusal, in a second and at once. Further requests wait; connections that were allowed
  // something go first, then those with fewest refusals. Tokens that are remembered are free.
  double per_second_per_peer = 5;
  double burst_per_peer = 20;
  std::size_t refusals_per_connection = 3;  // a connection with more does not wait for its peer's next review, but gets a 429
};

struct ManagerOptions {
  // None: this program works at once, and must be the only one.
  std::optional<LeaderElectionOptions> leader_election{};
  InformerFactoryOptions informers{};
  CachedClientOptions cached{};  // of cached()
  // The time of everything that the manager does: retries and requeues, deadlines, leader election, caches, events, conditions. Its HTTP
  // servers stay on the machine's. Null: the machine's. A FakeClock in tests; the context of Run must have the same.
  std::shared_ptr<Clock> clock{};
  // Where everything is counted; share it with the client (ClientOptions::metrics). Null: the manager makes one.
  std::shared_ptr<MetricsRegistry> metrics{};
  // "host:port", ":port" for all addresses; port 0 is a free one. Empty or "0": no such server.
  std::string metrics_bind_address{};       // /metrics, /debug/
  std::string health_probe_bind_address{};  // /healthz, /readyz
  // How long Run waits, after its context stopped, for reconcilers and runnables; the lease is kept that long. Keep it below the pod's
  // terminationGracePeriodSeconds. 0: does not wait. Negative: as long as it takes. When the lease was lost it is five seconds at most: who
  // leads next does not wait.
  std::chrono::nanoseconds graceful_shutdown_timeout = std::chrono::seconds(25);

  // The namespaces that controllers write to, if they watch more than that: the permission to list and watch is needed wherever they
  // watch, all others in these namespaces only. Says nothing about what controllers do; unset: they write wherever they watch.
  std::optional<std::vector<std::string>> write_namespaces{};
  Preflight preflight = Preflight::kWarn;
  std::chrono::nanoseconds preflight_timeout = std::chrono::seconds(10);  // for all questions together
  // Run prints the RBAC rules for what was added on standard output, and returns. Needs no server.
  std::optional<RbacOptions> print_rbac{};
  // The same with all manifests that follow from what was added: see ManifestsYaml.
  std::optional<RbacOptions> print_manifests{};

  // ---- The server of metrics_bind_address ----
  // HTTPS. The certificate is read from `metrics_cert_path`, again when it changes; without a path it is self-signed, which clients cannot
  // verify: for scrapers that are told not to.
  bool metrics_secure = false;
  std::string metrics_cert_path{};  // a folder
  std::string metrics_cert_name = "tls.crt", metrics_cert_key = "tls.key";
  std::chrono::nanoseconds metrics_cert_poll = std::chrono::seconds(10);
  // Requests need a bearer token of the cluster (TokenReview) whose user may do this on the path (SubjectAccessReview, verb get on the
  // nonResourceURL /metrics); answers are remembered for a while. Otherwise 401 and 403. Not without metrics_secure where others listen.
  bool metrics_authorization = false;
  bool debug_endpoint = true;  // /debug/
  // What TokenReviews and SubjectAccessReviews may cost with metrics_authorization.
  MetricsReviewLimits metrics_reviews{};
  // /debug/log-level, with debug_endpoint: PUT changes what is logged. Who may reach the server may do that: protect it.
  bool log_level_endpoint = false;

  // ---- Webhooks, if any were added ----
  WebhookOptions webhooks{};

  // ---- All servers ----
  // What clients may cost. The defaults are safe on ports that anyone can reach; HTTP/2 is off. The port of webhooks has its own
  // (WebhookOptions::limits), but for http2.
  serve::HttpLimits server_limits{};
  // Versions and cipher suites, of webhooks and with metrics_secure.
  serve::TlsPolicy tls{};
};

// Something that runs beside controllers: returns when `ctx` stops. Returning earlier with an error, or throwing one, ends the manager.
struct Runnable {
  std::string name{};
  std::function<Result<void>(const Context& ctx)> run{};
  bool needs_leader = true;
};

// A named test for /healthz or /readyz: ok, or why not.
using HealthCheck = std::function<Result<void>()>;

// Run ended before everything else did: graceful_shutdown_timeout was over. The message names what still runs.
KUBE_EXPORT bool IsShutdownTimeout(const Error& e);

// Thread safety: all functions from any thread; Run once.
// Lifetime: the destructor ends everything and waits for it, however long that takes: what still runs uses the manager, its client and
//   whatever its functions refer to. Copies of cached() may outlive it; their reads are errors then.
// Blocking and cancellation: Run blocks until its context stops (ok), leadership is lost (IsLeadershipLost: exit, and start again) or
//   something failed. It then waits for reconcilers and runnables, graceful_shutdown_timeout at most; they have to return when their
//   context stops. After IsShutdownTimeout, and wherever StillRunning() names something, those and the servers are still alive, caches too;
//   the lease is not given back. Leave the process without destructors then (std::quick_exit), as ManagerFlags::Run does: the manager's
//   would wait.
// Errors: of Add kInvalid: a name that is taken, what Controller::Create says; of Run also kInvalid (an address, another clock) and
//   kTransport (a port).
class KUBE_EXPORT Manager {
 public:
  explicit Manager(Client client, ManagerOptions options = {});
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  ~Manager();

  // Before Run.
  Result<void> Add(ControllerSpec controller);
  Result<void> Add(Runnable runnable);
  // Definitions to install at start: see crds.h.
  Result<void> Add(ManagedCrds crds);
  // Webhooks: served on every replica, before caches are complete, and without leadership. See webhooks.h for their certificates.
  Result<void> Add(WebhookSpec webhook);
  // Conversion between the versions of a kind, by the same port: kube/webhook/conversion.h. A definition that the manager installs gets it
  // before it is applied: crds.h. Run fails for a definition with a version that the program does not convert.
  Result<void> Add(ConversionSpec conversion);
  // What else the program does, for pre-flight and --print-rbac; controllers declare theirs (Owns, MayApply, MayWrite ...). A write that
  // is not declared is logged once for each verb and resource.
  void Needs(AccessNeed need);
  // At any time. /readyz has one of its own for each controller: its caches are complete; what is missing is named.
  void AddHealthCheck(std::string name, HealthCheck check);
  void AddReadyCheck(std::string name, HealthCheck check);

  Result<void> Run(const Context& ctx);
  // What has not returned: "controller maps (default/a)", "runnable mailer". Empty before Run and after an end in good order.
  std::vector<std::string> StillRunning() const;

  // Everything that was added so far needs: watches, what controllers declare, leader election, events, protection of /metrics.
  std::vector<AccessNeed> needs() const;
  std::string RbacYaml(const RbacOptions& options = {}) const;
  // What has to be in the cluster for the program to work, derived from what was added so far: its roles, webhook configurations and their
  // Service, and the definitions that it converts, with spec.conversion. A definition that the manager does not install has its name and
  // spec.conversion only: `kubexx generate --program` merges it, like all of this, into the project's config/. Documents in YAML, the same
  // ones in the same order for the same program, wherever it runs.
  std::string ManifestsYaml(const RbacOptions& options = {}) const;

  const Client& client() const;
  // What reconcilers read and write with: reads from the informers, which controllers' watches make, and sees its own writes.
  const CachedClient& cached() const;
  // Informers that are asked for before Run live as long as the manager, also if nothing holds them: informers().For<T>().AddIndex(...).
  InformerFactory& informers();
  const std::shared_ptr<MetricsRegistry>& metrics() const;
  // Writes events as this controller. Call it before Run, so that the permission is known. Events that wait are written before Run returns.
  EventRecorder events(std::string controller);
  // Null where there is none of that name.
  Controller* controller(std::string_view name);
  // Whether this replica leads at this moment (LeaderElector::is_leader); without leader election, whether Run runs.
  bool is_leader() const;

  // 0 where there is no such server, or before Run started it.
  std::uint16_t metrics_port() const;
  std::uint16_t health_port() const;
  std::uint16_t webhook_port() const;
  // What /debug/controllers says.
  std::string DebugJson() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube
