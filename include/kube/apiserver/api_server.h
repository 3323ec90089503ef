// ApiServer: a Kubernetes API server in this process. In memory, on loopback, ready in milliseconds, with faults on demand.
//
//   auto server = ApiServer::Start();
//   if (!server) ...
//   Result<Client> client = (*server)->NewClient();    // of the administrator; include kube/client/client.h
//   WriteFile(path, (*server)->Kubeconfig());          // kubectl --kubeconfig path get pods
//   (*server)->AddFault({.verb = "watch", .kind = FaultKind::kGone});
//
// For tests and development: it keeps nothing, lets every authenticated user do everything, and has no kubelets and schedulers behind it.
// Namespace deletion and garbage collection work, as with a controller manager. tests/contract keeps it equal to a real server; what
// differs is listed in docs/testing.md. Users' tests take it from kube/testing/api_server.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kube/apiserver/fault.h"
#include "kube/apiserver/pod_handlers.h"
#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_memory.h"
#include "kube/serve/certificate.h"
#include "kube/serve/tls_policy.h"

namespace kube {
class Client;
struct ClientOptions;
}  // namespace kube

namespace kube::apiserver {

struct ApiServerOptions {
  std::uint16_t port = 0;  // 0: a free one
  bool http = false;       // plain HTTP: no certificates, and who shows no credentials is the administrator (kubectl sends none there)
  serve::TlsPolicy tls{};  // versions and cipher suites, without `http`
  // Also alpha and beta versions of the built-in kinds.
  bool all_versions = false;
  // Garbage collection and namespace deletion, as the controller manager of a real cluster does them.
  bool lifecycle = true;
  // The time of objects and the timers of watches. A FakeClock makes both stand still until the test moves it.
  std::shared_ptr<Clock> clock = {};
  std::chrono::seconds bookmark_interval{60};
  // A watch whose client has this many bytes of events not yet read is cut off, as the real server does with watchers that do not keep up.
  // What was there when the watch began does not count.
  std::size_t max_watch_backlog = std::size_t{256} << 20;
  // YAML or JSON manifests to start with.
  std::vector<std::string> manifests = {};
  // The token of the administrator; empty: a random one.
  std::string admin_token = {};
  // A folder that keeps port, certificate authority and administrator's token: the next server with it has the same kubeconfig. Created if
  // missing, readable by this user alone. Objects are not kept. `port` and `admin_token` go first, and are kept from then on.
  std::string data_dir = {};
  // Where the Services of webhooks are, for this server routes none: "hook.default.svc" or "hook.default.svc:8443" -> "127.0.0.1:9443".
  // Certificates have to be for the Service's name, as in a cluster. MapService adds to it.
  std::map<std::string, std::string, std::less<>> webhook_services = {};
};

// Thread safety: all functions may be called from any thread.
class KUBE_EXPORT ApiServer {
 public:
  // Errors: kTransport where the port cannot be had, kInvalid for a manifest that the server refuses, kConfig for a data_dir that cannot be
  //   used.
  static Result<std::unique_ptr<ApiServer>> Start(ApiServerOptions options = {});
  // Stops serving; answers under way are cut.
  ~ApiServer();

  // ---- How to reach it ----
  std::uint16_t port() const;
  std::string url() const;            // "https://127.0.0.1:41234"
  const std::string& ca_pem() const;  // empty with plain HTTP
  const std::string& admin_token() const;
  std::string Kubeconfig() const;  // of the administrator
  // A client of the administrator, without a rate limit. Errors: those of Client::FromConfig.
  Result<Client> NewClient() const;
  Result<Client> NewClient(ClientOptions options) const;
  // Other users: by token, or (with TLS) by client certificate.
  std::string AddUser(std::string name, std::vector<std::string> groups = {});
  Result<serve::KeyPair> IssueClientCertificate(const std::string& name, std::vector<std::string> groups = {}) const;
  std::string KubeconfigFor(std::string_view user, std::string_view token) const;

  // ---- Objects ----
  // Creates the objects of a manifest (YAML or JSON, several documents). Errors: the first refusal.
  Result<void> Load(std::string_view manifest);
  // The version of the last change.
  std::uint64_t resource_version() const;
  std::size_t object_count() const;
  // Waits until garbage collection and namespace deletion have nothing left to do.
  bool WaitIdle(std::chrono::milliseconds limit) const;

  // ---- What stands behind Services ----
  // Calls to webhooks of the Service "NAME.NAMESPACE.svc" or "NAME.NAMESPACE.svc:PORT" go to this address, "127.0.0.1:9443", from now on.
  void MapService(std::string service, std::string address);

  // ---- What stands behind pods ----
  void SetPodHandlers(PodHandlers handlers);

  // ---- Faults ----
  int AddFault(Fault fault);
  bool RemoveFault(int id);
  void ClearFaults();
  // Refuses connections until Accept.
  void Refuse();
  Result<void> Accept();
  // Cuts all connections at once, but after it returns; after Refuse, connections() tells when it is done.
  void CloseConnections();
  std::size_t connections() const;  // that are open now
  // Forgets history: watches and pages that start earlier get 410.
  void Compact();
  // As a process that stops and starts again on the same port: connections are cut. Without its state all objects are gone but the
  // built-in ones, and versions go on.
  Result<void> Restart(bool keep_state);
  // Moves the time of objects, against the clock's.
  void SetClockSkew(std::chrono::seconds skew);

 private:
  class Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube::apiserver
