// ApiServer: a Kubernetes API server in this process. In memory, on loopback, ready in milliseconds, with fault injection.
//
//   auto server = ApiServer::Start();
//   if (!server) ...
//   Result<Client> client = (*server)->NewClient();    // as the administrator; include kube/client/client.h
//   WriteFile(path, (*server)->Kubeconfig());          // kubectl --kubeconfig path get pods
//   (*server)->AddFault({.verb = "watch", .kind = FaultKind::kGone});
//
// For tests and development: it keeps objects in memory only, allows every authenticated user everything, and has no kubelets and no
// schedulers. Namespace deletion and garbage collection work, as with a controller manager. tests/contract checks that it behaves like a
// real server; docs/testing.md lists the differences. Tests of programs include it as kube/testing/api_server.h.
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

// Options of an ApiServer.
struct ApiServerOptions {
  std::uint16_t port = 0;  // 0 picks a free port
  // Plain HTTP without certificates. Requests without credentials then act as the administrator, because kubectl sends none over HTTP.
  bool http = false;
  serve::TlsPolicy tls{};  // versions and cipher suites, unless `http` is set
  // Serves alpha and beta versions of the built-in kinds too.
  bool all_versions = false;
  // Runs garbage collection and namespace deletion, as the controller manager of a real cluster does.
  bool lifecycle = true;
  // Clock for the times in objects and the timers of watches. With a FakeClock both stand still until the test advances it.
  std::shared_ptr<Clock> clock = {};
  std::chrono::seconds bookmark_interval{60};
  // Closes a watch whose client is too slow and has this many unread bytes of events, as a real server does. Events of the initial list do
  // not count.
  std::size_t max_watch_backlog = std::size_t{256} << 20;
  // YAML or JSON manifests to create at startup.
  std::vector<std::string> manifests = {};
  // The administrator's token; empty for a random one.
  std::string admin_token = {};
  // A directory that stores the port, the certificate authority and the administrator's token, so that the next server has the same
  // kubeconfig. It is created if missing, with access for this user only. Objects are not stored. `port` and `admin_token` take precedence
  // and are then stored.
  std::string data_dir = {};
  // Addresses of webhook Services, which this server does not route: "hook.default.svc" or "hook.default.svc:8443" -> "127.0.0.1:9443".
  // Certificates must be valid for the Service's name, as in a cluster. MapService adds entries.
  std::map<std::string, std::string, std::less<>> webhook_services = {};
};

// A running API server.
//
// Thread safety: all functions may be called from any thread.
class KUBE_EXPORT ApiServer {
 public:
  // Errors: kTransport if the port is not available, kInvalid if the server rejects a manifest, kConfig if data_dir is not usable.
  static Result<std::unique_ptr<ApiServer>> Start(ApiServerOptions options = {});
  // Stops serving and aborts pending answers.
  ~ApiServer();

  // ---- Addresses and credentials ----
  std::uint16_t port() const;
  std::string url() const;                 // "https://127.0.0.1:41234"
  const std::string& ca_pem() const;       // empty with plain HTTP
  const std::string& admin_token() const;  // for the administrator
  std::string Kubeconfig() const;          // for the administrator
  // Returns a client for the administrator, without a rate limit. Errors: those of Client::FromConfig.
  Result<Client> NewClient() const;
  Result<Client> NewClient(ClientOptions options) const;
  // Other users. AddUser returns a token for KubeconfigFor; IssueClientCertificate needs TLS.
  std::string AddUser(std::string name, std::vector<std::string> groups = {});
  Result<serve::KeyPair> IssueClientCertificate(const std::string& name, std::vector<std::string> groups = {}) const;
  std::string KubeconfigFor(std::string_view user, std::string_view token) const;

  // ---- Objects ----
  // Creates the objects of a manifest (YAML or JSON, several documents). Errors: that of the first rejected object.
  Result<void> Load(std::string_view manifest);
  // The resource version of the last change.
  std::uint64_t resource_version() const;
  std::size_t object_count() const;  // of all kinds
  // Waits until garbage collection and namespace deletion are idle. Returns false after `limit`.
  bool WaitIdle(std::chrono::milliseconds limit) const;

  // ---- Backends of Services ----
  // From now on, sends calls to webhooks of the Service "NAME.NAMESPACE.svc" or "NAME.NAMESPACE.svc:PORT" to `address`: "127.0.0.1:9443".
  void MapService(std::string service, std::string address);

  // ---- Backends of pods ----
  void SetPodHandlers(PodHandlers handlers);  // logs, exec, attach and port-forward; see pod_handlers.h

  // ---- Faults ----
  // See fault.h. AddFault returns an id for RemoveFault, which returns false if there is no such fault. ClearFaults removes all.
  int AddFault(Fault fault);
  bool RemoveFault(int id);
  void ClearFaults();
  // Refuse rejects new connections until Accept is called.
  void Refuse();
  Result<void> Accept();
  // Cuts all connections shortly after it returns. After Refuse, connections() shows when that is done.
  void CloseConnections();
  std::size_t connections() const;  // open connections
  // Discards history: watches and list pages from an earlier resource version get 410.
  void Compact();
  // Simulates a restart on the same port: connections are cut. Without `keep_state` all objects except the built-in ones are deleted, and
  // resource versions continue.
  Result<void> Restart(bool keep_state);
  // Shifts the times in objects relative to the clock.
  void SetClockSkew(std::chrono::seconds skew);

 private:
  class Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace kube::apiserver
