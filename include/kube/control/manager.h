// Manager: runs controllers together with the caches, servers and leader election that they need.
//
//   Manager manager(client, {.leader_election = LeaderElectionOptions{.name = "auto-expose"}, .metrics_bind_address = ":8080"});
//   manager.Add(ControllerFor<Deployment>("auto-expose").Owns<Service>().Reconcile(...));
//   if (Result<void> ran = manager.Run(SignalContext()); !ran) return Fail(ran.error());
//
// Startup order: the metrics and health servers; the caches of all controllers, on every replica, so that a new leader has warm caches;
// everything that does not need leadership; then, on the leader, the workers. Shutdown is the reverse.
//
// manager_flags.h sets the options from common flags. access.h explains permissions.
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

// What happens at startup if the program lacks permissions.
//   kWarn   logs the missing rules and continues. Caches retry, so permissions granted later take effect, and a kind that is forbidden need
//           not stop the others. /readyz names what a controller is waiting for.
//   kFail   makes Run return an error with the rules.
//   kSkip   checks nothing.
// If the API server cannot answer (no access reviews, or no response), that is logged once and startup continues in any case.
enum class Preflight : std::uint8_t { kWarn, kFail, kSkip };

// Limits on the reviews that protect /metrics: any client that reaches the port can trigger one by presenting a token.
struct MetricsReviewLimits {
  // Remembered tokens of users and their permissions. Refusals have a cache of their own, so that they displace none of these.
  std::size_t remembered = 1000;
  std::size_t remembered_refusals = 256;
  // Requests that wait for a review. Beyond this, requests of the peer with the most waiting requests are refused with 503.
  std::size_t max_waiting = 100;
  // Waiting requests of one peer. Beyond this, those on its connections with the most refusals are answered with 429.
  std::size_t max_waiting_per_peer = 32;
  // Rate and burst of one peer's new reviews that may end in a refusal. Further requests wait: first come connections that had a request
  // allowed, then those with the fewest refusals. Remembered tokens do not count.
  double per_second_per_peer = 5;
  double burst_per_peer = 20;
  // A connection with more refusals than this gets a 429 instead of waiting for its peer's next review.
  std::size_t refusals_per_connection = 3;
};

// Options of a Manager.
struct ManagerOptions {
  // Unset: this program is active immediately and must be the only replica.
  std::optional<LeaderElectionOptions> leader_election{};
  InformerFactoryOptions informers{};  // defaults of informers()
  CachedClientOptions cached{};        // for cached()
  // The clock for everything the manager does: retries and requeues, deadlines, leader election, caches, events, conditions. Its HTTP
  // servers use the system clock. Null for the system clock. For tests, set a FakeClock here and in Run's context.
  std::shared_ptr<Clock> clock{};
  // Where all metrics are counted; share it with the client (ClientOptions::metrics). Null for a new registry.
  std::shared_ptr<MetricsRegistry> metrics{};
  // "host:port", or ":port" for all addresses; port 0 picks a free port. Empty or "0" for no server.
  std::string metrics_bind_address{};       // /metrics, /debug/
  std::string health_probe_bind_address{};  // /healthz, /readyz
  // How long Run waits for reconcilers and runnables after its context stopped. The lease is held that long. Keep it below the pod's
  // terminationGracePeriodSeconds. 0 means no wait, negative no limit. At most five seconds after losing the lease: the new leader may
  // already be active.
  std::chrono::nanoseconds graceful_shutdown_timeout = std::chrono::seconds(25);

  // The namespaces that controllers write to, if they watch more. list and watch are then requested for all watched namespaces, all other
  // verbs for these only. This only affects permissions, not what controllers do. Unset: they write wherever they watch.
  std::optional<std::vector<std::string>> write_namespaces{};
  Preflight preflight = Preflight::kWarn;
  std::chrono::nanoseconds preflight_timeout = std::chrono::seconds(10);  // for all reviews together
  // Makes Run print the RBAC rules of everything that was added to standard output and return. Needs no API server.
  std::optional<RbacOptions> print_rbac{};
  // The same with all manifests that follow from what was added: see ManifestsYaml.
  std::optional<RbacOptions> print_manifests{};

  // ---- The server at metrics_bind_address ----
  // Serves HTTPS. The certificate is read from `metrics_cert_path`, and again when it changes. Without a path it is self-signed, for
  // scrapers that skip verification.
  bool metrics_secure = false;
  std::string metrics_cert_path{};  // a directory
  std::string metrics_cert_name = "tls.crt", metrics_cert_key = "tls.key";
  std::chrono::nanoseconds metrics_cert_poll = std::chrono::seconds(10);
  // Requires a bearer token of the cluster (TokenReview) whose user is allowed the request (SubjectAccessReview: verb get on the
  // nonResourceURL /metrics); otherwise 401 or 403. Answers are cached. Combine it with metrics_secure unless only loopback can
  // reach the server: tokens would travel in plain text.
  bool metrics_authorization = false;
  bool debug_endpoint = true;  // serves /debug/
  // Limits of TokenReviews and SubjectAccessReviews with metrics_authorization.
  MetricsReviewLimits metrics_reviews{};
  // Serves /debug/log-level if debug_endpoint is on: a PUT changes the log level. Protect the server: any client that reaches it may do
  // that.
  bool log_level_endpoint = false;

  // ---- Webhooks, if any were added ----
  WebhookOptions webhooks{};

  // ---- All servers ----
  // Limits on what clients may consume. The defaults are safe on ports that anyone can reach; HTTP/2 is off. The webhook port has its own
  // limits (WebhookOptions::limits), except http2.
  serve::HttpLimits server_limits{};
  // TLS versions and cipher suites, for webhooks and metrics_secure.
  serve::TlsPolicy tls{};
};

// A function that runs beside the controllers until `ctx` stops. If it returns an error earlier, or throws one, the manager stops.
struct Runnable {
  std::string name{};
  // Must return when `ctx` stops.
  std::function<Result<void>(const Context& ctx)> run{};
  bool needs_leader = true;  // runs on the leader only
};

// A named check for /healthz or /readyz: ok, or the reason for failure.
using HealthCheck = std::function<Result<void>()>;

// Whether Run returned because graceful_shutdown_timeout expired. The message names what is still running.
KUBE_EXPORT bool IsShutdownTimeout(const Error& e);

// Thread safety: all functions may be called from any thread; Run once.
// Lifetime: the destructor stops everything and waits for it, without a limit: what still runs uses the manager, its client and whatever
//   its functions refer to. Copies of cached() may outlive the manager; their reads then fail.
// Blocking and cancellation: Run blocks until its context stops (ok), leadership is lost (IsLeadershipLost: exit and restart) or something
//   fails. It then waits for reconcilers and runnables, for at most graceful_shutdown_timeout; they must return when their context stops.
//   After IsShutdownTimeout, and whenever StillRunning() names something, those calls, the servers and the caches are still alive, and the
//   lease is not released. Then exit without running destructors (std::quick_exit), as ManagerFlags::Run does: the manager's destructor
//   would wait.
// Errors: Add returns kInvalid if a name is taken, and the errors of Controller::Create. Run also returns kInvalid (a bad address, a
//   different clock) and kTransport (a port).
class KUBE_EXPORT Manager {
 public:
  explicit Manager(Client client, ManagerOptions options = {});
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;
  ~Manager();

  // The Add functions must be called before Run.
  Result<void> Add(ControllerSpec controller);
  Result<void> Add(Runnable runnable);
  // Definitions to install at startup: see crds.h.
  Result<void> Add(ManagedCrds crds);
  // Webhooks are served on every replica, without leadership and before caches have synced. See webhooks.h for their certificates.
  Result<void> Add(WebhookSpec webhook);
  // Conversion between the versions of a kind, on the webhook port: kube/webhook/conversion.h. A definition that the manager installs gets
  // it before it is applied: crds.h. Run fails if a definition has a version that the program does not convert.
  Result<void> Add(ConversionSpec conversion);
  // Declares what else the program does, for the check at startup and --print-rbac. Controllers declare their own needs (Owns, MayApply,
  // MayWrite ...). An undeclared write is logged once per verb and resource.
  void Needs(AccessNeed need);
  // May be called at any time. /readyz has a check of its own per controller, which fails until its caches have synced and names what is
  // missing.
  void AddHealthCheck(std::string name, HealthCheck check);
  void AddReadyCheck(std::string name, HealthCheck check);

  // Starts everything and blocks until shutdown; see above.
  Result<void> Run(const Context& ctx);
  // What has not returned yet: "controller maps (default/a)", "runnable mailer". Empty before Run and after a graceful shutdown.
  std::vector<std::string> StillRunning() const;

  // The permissions for everything added so far: watches, declarations of controllers, leader election, events, protection of /metrics.
  std::vector<AccessNeed> needs() const;
  // needs() as roles: see kube::RbacYaml.
  std::string RbacYaml(const RbacOptions& options = {}) const;
  // The manifests that the program needs in the cluster, derived from what was added so far: its roles, its webhook configurations with
  // their Service, and the definitions that it converts, with spec.conversion. A definition that the manager does not install has only its
  // name and spec.conversion: `kubexx generate --program` merges it, like all of this, into the project's config/. The YAML is
  // deterministic for a given program.
  std::string ManifestsYaml(const RbacOptions& options = {}) const;

  const Client& client() const;
  // The client for reconcilers: reads from the informers of the controllers' watches and sees its own writes.
  const CachedClient& cached() const;
  // Informers requested before Run live as long as the manager, even if nothing holds them: informers().For<T>().AddIndex(...).
  InformerFactory& informers();
  const std::shared_ptr<MetricsRegistry>& metrics() const;
  // Returns a recorder for this controller. Call it before Run, so that the permission is declared. Queued events are written before Run
  // returns.
  EventRecorder events(std::string controller);
  // Returns null if there is no controller of that name.
  Controller* controller(std::string_view name);
  // Whether this replica leads now (LeaderElector::is_leader). Without leader election, whether Run is running.
  bool is_leader() const;

  // 0 if there is no such server, or Run has not started it yet.
  std::uint16_t metrics_port() const;
  std::uint16_t health_port() const;
  std::uint16_t webhook_port() const;
  // The content of /debug/controllers.
  std::string DebugJson() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube
