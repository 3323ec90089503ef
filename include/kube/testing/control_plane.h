// ControlPlane: a real Kubernetes control plane for tests. etcd, kube-apiserver and optionally the controller manager as child processes.
// There are no nodes, so no pod ever runs.
//
//   ControlPlane           starts the processes, creates kubeconfigs, stops, kills, pauses and restarts components
//   ControlPlaneOptions    the release, the components, and where files go
//
//   Result<std::unique_ptr<ControlPlane>> plane = ControlPlane::Start(ctx, {.controller_manager = true});
//   std::string admin = (*plane)->AdminKubeconfig();
//   (*plane)->Kill(ControlPlane::Part::kEtcd);                   // kill -9
//   (*plane)->Restart(ctx, ControlPlane::Part::kEtcd);           // ready again, with its data
//
// `make control-plane` builds the programs. If a test does not need a real control plane, ApiServer (api_server.h) starts a thousand times
// faster.
//
// Environment, as in Go's envtest:
//   KUBEBUILDER_ASSETS        a directory with etcd, kube-apiserver (and kube-controller-manager); used if no release is requested
//   USE_EXISTING_CLUSTER      "true" starts nothing and uses the cluster of $KUBECONFIG (or ~/.kube/config)
//   KUBEXX_CACHE              where `make control-plane` stores what it built
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/serve/certificate.h"

namespace kube::testing {

// Options of ControlPlane::Start.
struct ControlPlaneOptions {
  // "newest", "oldest" or "v1.X.Y", if built. Empty for KUBEBUILDER_ASSETS, or else the newest.
  std::string version{};
  std::string assets{};  // a directory with the programs; overrides `version` and the environment
  bool controller_manager = false;
  // The ServiceAccount admission plugin requires the service account `default`, which the controller manager creates; without it, pods
  // would be rejected. Unset: on if the controller manager runs.
  std::optional<bool> service_account_admission{};
  // A directory to keep: etcd's data, keys, logs. An existing one is reused. Empty for a temporary one, removed at the end.
  std::string data_dir{};
  std::string log_dir{};                  // keeps the logs here; empty for `data_dir`
  std::vector<std::string> etcd_flags{};  // appended, so they take precedence
  std::vector<std::string> apiserver_flags{};
  std::vector<std::string> controller_manager_flags{};
  // Generous, for overloaded machines. A program that exits early is detected at once.
  std::chrono::milliseconds start_timeout = std::chrono::minutes(5);
  // Called with a line of text at each step, on the thread that starts or restarts.
  std::function<void(std::string_view)> progress{};
};

// A running control plane.
//
// Thread safety: all functions may be called from any thread; those that start or stop processes run one at a time.
// Blocking: Start takes about three seconds, Restart one or two; both return early if the context stops.
// Lifetime: the destructor kills the processes and removes temporary files. If the test process is killed, the kernel kills the children
//   and a waiting shell removes the directory.
class KUBE_EXPORT ControlPlane {
 public:
  // A process of the control plane.
  enum class Part { kEtcd, kApiServer, kControllerManager };

  // Errors: kConfig if programs are missing (the message says how to get them), kTimeout and kInternal if they do not start (the message
  //   has the end of their logs), kCancelled.
  static Result<std::unique_ptr<ControlPlane>> Start(const Context& ctx, ControlPlaneOptions options = {});
  ~ControlPlane();
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  // Whether this is an existing cluster (USE_EXISTING_CLUSTER). Its parts cannot be stopped, and users cannot be created.
  bool existing() const;
  const std::string& url() const;      // "https://127.0.0.1:28431"
  const std::string& ca_pem() const;   // signs the server's certificate
  const std::string& version() const;  // "v1.36.3", as reported by the server

  // ---- Credentials ----
  // AdminKubeconfig and AdminCertificate are for a member of system:masters, who may do everything.
  std::string AdminKubeconfig() const;
  Result<serve::KeyPair> AdminCertificate() const;
  // UserKubeconfig and UserCertificate are for a user, with its RBAC permissions by name and groups. Errors: kInvalid on existing clusters.
  Result<std::string> UserKubeconfig(const std::string& user, const std::vector<std::string>& groups = {}) const;
  Result<serve::KeyPair> UserCertificate(const std::string& user, const std::vector<std::string>& groups = {}) const;
  // ServiceAccountKubeconfig and ServiceAccountToken create the account if it does not exist. Errors: kApi, kTransport.
  Result<std::string> ServiceAccountKubeconfig(const Context& ctx, const std::string& namespace_, const std::string& name) const;
  Result<std::string> ServiceAccountToken(const Context& ctx, const std::string& namespace_, const std::string& name,
                                          std::chrono::seconds lifetime = std::chrono::hours(1)) const;

  // ---- Faults ----
  // All return kInvalid if the part was not requested or the cluster is an existing one.
  // Sends SIGTERM, and SIGKILL after ten seconds.
  Result<void> Stop(Part part);
  Result<void> Kill(Part part);    // SIGKILL
  Result<void> Pause(Part part);   // SIGSTOP: connections stay open, nothing answers
  Result<void> Resume(Part part);  // SIGCONT
  // Stops the part if it runs, starts it with the same address and data, and waits until it is ready.
  Result<void> Restart(const Context& ctx, Part part);
  // Waits until every part that should run is ready.
  Result<void> WaitReady(const Context& ctx) const;
  bool running(Part part) const;  // whether its process runs
  // The process ID; 0 if the part is not running.
  int pid(Part part) const;
  // Compacts etcd up to the current revision. Lists that continue from an older resource version, and watches from one that the API server
  // no longer caches, get a 410.
  Result<void> CompactStorage(const Context& ctx) const;

  // ---- Files ----
  const std::string& directory() const;
  // Returns the last lines of a part's log.
  std::string Log(Part part, int lines = 200) const;
  // Returns the last lines of all logs, with headings, for the message of a failing test.
  std::string Logs(int lines = 40) const;

 private:
  class Impl;
  explicit ControlPlane(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// "etcd", "kube-apiserver", "kube-controller-manager".
KUBE_EXPORT std::string_view ToString(ControlPlane::Part part);

// Returns the directory with the programs for these options, without starting anything. Tests that need a real control plane skip if this
// fails. Errors: kConfig.
KUBE_EXPORT Result<std::string> FindControlPlaneAssets(const ControlPlaneOptions& options = {});

}  // namespace kube::testing
