// ControlPlane: a real Kubernetes control plane for tests. etcd and kube-apiserver as child processes, the controller manager where it is
// wanted; no nodes, so no pod ever runs.
//
//   ControlPlane           starts the processes, hands out kubeconfigs, stops, kills, pauses and restarts parts
//   ControlPlaneOptions    which release, which parts, where its files go
//
//   Result<std::unique_ptr<ControlPlane>> plane = ControlPlane::Start(ctx, {.controller_manager = true});
//   std::string admin = (*plane)->AdminKubeconfig();
//   (*plane)->Kill(ControlPlane::Part::kEtcd);                   // kill -9
//   (*plane)->Restart(ctx, ControlPlane::Part::kEtcd);           // ready again, with its data
//
// The programs come from `make control-plane`. Where a test has no need of the real thing, ApiServer (api_server.h) is a thousand times
// faster to start.
//
// Environment, as Go's envtest has it:
//   KUBEBUILDER_ASSETS        a folder with etcd, kube-apiserver (and kube-controller-manager); used where no release is asked for
//   USE_EXISTING_CLUSTER      "true": nothing is started; the cluster of $KUBECONFIG (or ~/.kube/config) is used
//   KUBEXX_CACHE              where `make control-plane` keeps what it built
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

struct ControlPlaneOptions {
  std::string version{};  // "newest", "oldest" or "v1.X.Y" of those that are built; empty: KUBEBUILDER_ASSETS, else newest
  std::string assets{};   // a folder with the programs; goes before `version` and the environment
  bool controller_manager = false;
  // Without a controller manager nobody makes the service account `default` that this admission plugin puts into every pod, and pods
  // would be refused. Unset: on where the controller manager runs.
  std::optional<bool> service_account_admission{};
  // A folder to keep: etcd's data, keys, logs. One that was used before is taken up again. Empty: a temporary one, removed at the end.
  std::string data_dir{};
  std::string log_dir{};                  // logs go here and are kept; empty: into the folder above
  std::vector<std::string> etcd_flags{};  // added at the end, so they win
  std::vector<std::string> apiserver_flags{};
  std::vector<std::string> controller_manager_flags{};
  // Patience for a starved machine: a program that ends early is noticed at once.
  std::chrono::milliseconds start_timeout = std::chrono::minutes(5);
  // A line for a person at each step; called on the thread that starts or restarts.
  std::function<void(std::string_view)> progress{};
};

// Thread safety: all functions may be called from any thread; those that start or end processes run one after another.
// Blocking: Start takes about three seconds, Restart one or two; both end early where the context stops.
// Lifetime: the destructor kills what runs and removes what is temporary. Where the test's process is killed, the kernel kills the
// children and a waiting shell removes the folder.
class KUBE_EXPORT ControlPlane {
 public:
  enum class Part { kEtcd, kApiServer, kControllerManager };

  // Errors: kConfig where programs are missing (the message says how to get them), kTimeout and kInternal where they do not come up (the
  // message has the end of their logs), kCancelled.
  static Result<std::unique_ptr<ControlPlane>> Start(const Context& ctx, ControlPlaneOptions options = {});
  ~ControlPlane();
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  // Whether this is a cluster that was there before (USE_EXISTING_CLUSTER). Its parts cannot be stopped and its users not be made up.
  bool existing() const;
  const std::string& url() const;      // "https://127.0.0.1:28431"
  const std::string& ca_pem() const;   // what signs the server's certificate
  const std::string& version() const;  // "v1.36.3", as the server says

  // ---- Who talks to it ----
  // A member of system:masters, who may do everything.
  std::string AdminKubeconfig() const;
  Result<serve::KeyPair> AdminCertificate() const;
  // A client certificate for a user who may do what RBAC allows the user or a group. Errors: kInvalid on an existing cluster.
  Result<std::string> UserKubeconfig(const std::string& user, const std::vector<std::string>& groups = {}) const;
  Result<serve::KeyPair> UserCertificate(const std::string& user, const std::vector<std::string>& groups = {}) const;
  // A token of a service account, which is made where it is missing. Errors: kApi, kTransport.
  Result<std::string> ServiceAccountKubeconfig(const Context& ctx, const std::string& namespace_, const std::string& name) const;
  Result<std::string> ServiceAccountToken(const Context& ctx, const std::string& namespace_, const std::string& name,
                                          std::chrono::seconds lifetime = std::chrono::hours(1)) const;

  // ---- Faults ----
  // All give kInvalid where the part was not asked for, or the cluster is an existing one.
  // SIGTERM, and SIGKILL where it does not end in time (ten seconds).
  Result<void> Stop(Part part);
  Result<void> Kill(Part part);    // SIGKILL
  Result<void> Pause(Part part);   // SIGSTOP: connections stay open, nothing answers
  Result<void> Resume(Part part);  // SIGCONT
  // Ends it where it runs, starts it with the same address and data, and waits until it is ready.
  Result<void> Restart(const Context& ctx, Part part);
  // Waits until every part that should run is ready.
  Result<void> WaitReady(const Context& ctx) const;
  bool running(Part part) const;
  // The process; 0 where it does not run.
  int pid(Part part) const;
  // Makes etcd forget all versions before the present one: lists that continue from one, and watches from one that the API server
  // does not hold in memory any more, get a 410.
  Result<void> CompactStorage(const Context& ctx) const;

  // ---- Files ----
  const std::string& directory() const;
  // The last lines of what a part logged.
  std::string Log(Part part, int lines = 200) const;
  // The last lines of all logs with headings: for the message of a failing test.
  std::string Logs(int lines = 40) const;

 private:
  class Impl;
  explicit ControlPlane(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// "etcd", "kube-apiserver", "kube-controller-manager".
KUBE_EXPORT std::string_view ToString(ControlPlane::Part part);

// The folder where the programs of these options are, without starting anything. Tests that need a real control plane skip where this
// fails. Errors: kConfig.
KUBE_EXPORT Result<std::string> FindControlPlaneAssets(const ControlPlaneOptions& options = {});

}  // namespace kube::testing
