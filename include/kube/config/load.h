// Finds a program's ClientConfig: kubeconfig files, flags, or the environment of a pod.
//
//   Result<ClientConfig> config = LoadConfig();                                // as kubectl: $KUBECONFIG, ~/.kube/config, in-cluster
//   Result<ClientConfig> config = LoadConfig({.context = "staging"});
//   Result<ClientConfig> config = InClusterConfig();                           // a pod's service account
//
// Programs with kubectl's flags use ConfigFlags (kube/client/config_flags.h).
//
// Thread safety: the functions may be called from many threads at once, as long as the environment is not modified concurrently.
// Blocking: they read small files. A token file is read here once and again by the credentials.
// Errors: kConfig, naming the file, the entry and the fix, without secrets.
// Cost: files are read and parsed on each call. Meant for program start, not for each request.
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

// Overrides for the loaded configuration. Empty members change nothing.
struct LoadOptions {
  std::string kubeconfig{};  // load only this file; it must exist
  std::string context{};     // instead of current-context
  std::string cluster{};     // instead of the context's
  std::string user{};
  std::string master{};  // URL of the server, instead of the cluster's
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
  // If false, a pod's service account is not considered.
  bool allow_in_cluster = true;
  // Reads environment variables. Empty: from the process. Tests pass their own.
  std::function<std::optional<std::string>(const std::string& name)> getenv{};
  // The directory where a pod's service account is mounted.
  std::string service_account_dir = "/var/run/secrets/kubernetes.io/serviceaccount";
};

// Loads the configuration in kubectl's order: the explicit file; else the files of $KUBECONFIG, merged; else ~/.kube/config. If these are
// empty, the service account of the pod, if one is mounted; else the server in $KUBERNETES_MASTER. An invalid kubeconfig is an error, also
// in a pod. (~/.kube/.kubeconfig, used until 2014, is not read.)
KUBE_EXPORT Result<ClientConfig> LoadConfig(const LoadOptions& options = {});
// True if there is no kubeconfig, none that names a server, and no pod environment.
KUBE_EXPORT bool IsEmptyConfig(const Error& e);
// True if the requested context, or the current one, does not exist.
KUBE_EXPORT bool IsContextNotFound(const Error& e);

// Loads the service account of the pod that this process runs in. A missing, empty or unreadable CA is an error (client-go uses the
// system's roots instead), unless the options set `ca_file` or `insecure`.
// `options` override the server, the credentials, trust and the namespace. Errors: IsNotInCluster if the environment variables of a pod are
// not set.
KUBE_EXPORT Result<ClientConfig> InClusterConfig(const LoadOptions& options = {});
// True if this process does not run in a pod.
KUBE_EXPORT bool IsNotInCluster(const Error& e);

// Returns the ClientConfig that a kubeconfig describes. `options` override its entries:
//   context, cluster, user    must exist
//   ca_file, insecure         replace all trust settings of the kubeconfig
//   master                    also clears tls-server-name, unless that is set too
//   token, token_file         replace both; certificate_file, key_file: the file or data of each
// Credentials and TLS settings apply only to an https server: they are never sent over an unencrypted connection. Impersonation always
// applies. New tokens of an auth provider are written back to the file that the user entry came from.
KUBE_EXPORT Result<ClientConfig> ToClientConfig(const Kubeconfig& kubeconfig, const LoadOptions& options = {});

// The files that LoadConfig reads, in order. They need not exist.
KUBE_EXPORT std::vector<std::string> KubeconfigFiles(const LoadOptions& options = {});

}  // namespace kube
