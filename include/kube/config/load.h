// Where a program's ClientConfig comes from.
//
//   Result<ClientConfig> config = LoadConfig();                                // as kubectl: $KUBECONFIG, ~/.kube/config, in-cluster
//   Result<ClientConfig> config = LoadConfig({.context = "staging"});
//   Result<ClientConfig> config = InClusterConfig();                           // a pod's service account
//
// Programs that take kubectl's flags use ConfigFlags (kube/client/config_flags.h).
//
// Thread safety: the functions may be called from many threads at once, as long as nobody changes the environment meanwhile.
// Blocking: they read small files. A token file is read once here and again by the credentials.
// Errors are kConfig and say which file, which entry and what to do; they hold no secrets.
// Cost: files are read and parsed each time. For the start of a program, not for each request.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/config/client_config.h"
#include "kube/config/kubeconfig.h"

namespace kube {

// What to take from where. Empty members change nothing.
struct LoadOptions {
  std::string kubeconfig{};  // this file and no other; it must exist
  std::string context{};     // instead of current-context
  std::string cluster{};     // instead of the context's
  std::string user{};
  std::string master{};  // the server's URL, instead of the cluster's
  std::string ns{};
  std::string token{};
  std::string token_file{};
  std::string certificate_file{}, key_file{}, ca_file{};
  std::string tls_server_name{};
  std::string proxy_url{};
  std::string username{}, password{};
  std::optional<bool> insecure{};
  std::optional<bool> disable_compression{};
  std::chrono::nanoseconds timeout{};
  ImpersonationConfig impersonate{};
  // False: a pod's service account is not looked for.
  bool allow_in_cluster = true;
  // The environment; empty: the process's. Tests pass their own.
  std::function<std::optional<std::string>(const std::string& name)> getenv{};
  // Where a pod's service account is mounted.
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// kubectl's order: the explicit file; else the files of $KUBECONFIG, merged; else ~/.kube/config. Where that gives nothing and a service
// account is mounted, that one; else the server of $KUBERNETES_MASTER. A kubeconfig that is wrong is an error, in a pod as well.
// (~/.kube/.kubeconfig of the year 2014 is not looked for.)
KUBE_EXPORT Result<ClientConfig> LoadConfig(const LoadOptions& options = {});
// No kubeconfig, none that says which server, and no pod.
KUBE_EXPORT bool IsEmptyConfig(const Error& e);
// The context that was asked for, or the current one, does not exist.
KUBE_EXPORT bool IsContextNotFound(const Error& e);

// The service account of the pod that this process runs in. A CA that is missing, empty or cannot be read is an error
// (client-go uses the system's roots then), unless the options bring their own `ca_file` or say `insecure`.
// `options` override the server, the credentials, trust and the namespace. Errors: IsNotInCluster where the environment says nothing of
// one.
KUBE_EXPORT Result<ClientConfig> InClusterConfig(const LoadOptions& options = {});
KUBE_EXPORT bool IsNotInCluster(const Error& e);

// The ClientConfig that a kubeconfig describes. `options` override its entries:
//   context, cluster, user    have to exist
//   ca_file, insecure         replace everything that the kubeconfig says about trust
//   master                    also clears tls-server-name, unless that is given too
//   token, token_file         replace both; certificate_file, key_file: the file or data of each
// Credentials and TLS settings count only for an https server: they are not sent over an open line. Impersonation always counts.
// New tokens of an auth provider are written back to the file that the user came from.
KUBE_EXPORT Result<ClientConfig> ToClientConfig(const Kubeconfig& kubeconfig, const LoadOptions& options = {});

// The files that LoadConfig reads, in order. They need not exist.
KUBE_EXPORT std::vector<std::string> KubeconfigFiles(const LoadOptions& options = {});

}  // namespace kube
