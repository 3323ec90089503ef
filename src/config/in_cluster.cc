#include <sys/stat.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "config/files.h"
#include "config/load_internal.h"
#include "config/pem.h"
#include "config/text.h"

namespace kube {
namespace internal {

Error ConfigError(std::string message, const char* reason) {
  Error::Payload payload;
  payload.kind = ErrorKind::kConfig;
  payload.reason = reason;
  payload.message = std::move(message);
  return Error(std::move(payload));
}

std::string EnvironmentOf(const LoadOptions& options, const char* name) {
  if (options.getenv) return options.getenv(name).value_or("");
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool InClusterPossible(const LoadOptions& options) {
  struct stat status {};
  return !EnvironmentOf(options, "KUBERNETES_SERVICE_HOST").empty() && !EnvironmentOf(options, "KUBERNETES_SERVICE_PORT").empty() &&
         stat((options.service_account_dir + "/token").c_str(), &status) == 0 && !S_ISDIR(status.st_mode);
}

std::string InClusterNamespace(const LoadOptions& options) {
  if (std::string ns = EnvironmentOf(options, "POD_NAMESPACE"); !ns.empty()) return ns;
  const FileText file = ReadFile(options.service_account_dir + "/namespace");
  if (file.ok() && !Trimmed(file.text).empty()) return std::string(Trimmed(file.text));
  return "default";
}

}  // namespace internal

Result<ClientConfig> InClusterConfig(const LoadOptions& options) {
  const std::string host = internal::EnvironmentOf(options, "KUBERNETES_SERVICE_HOST");
  const std::string port = internal::EnvironmentOf(options, "KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return internal::ConfigError("not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set",
                                 internal::kNotInCluster);
  }
  ClientConfig config;
  const bool brackets = host.find_first_of(":%") != std::string::npos;
  config.host = "https://" + (brackets ? "[" + host + "]" : host) + ":" + port;

  config.token_file = options.service_account_dir + "/token";
  internal::FileText token = internal::ReadFile(config.token_file);
  if (!token.ok()) {
    return internal::ConfigError("in-cluster config: cannot read " + config.token_file + ": " + token.problem() +
                                 "; does the pod have automountServiceAccountToken: false?");
  }
  config.token = SecretString(std::string(internal::Trimmed(token.text)));
  if (config.token.empty()) return internal::ConfigError("in-cluster config: " + config.token_file + " is empty");

  // The system's roots are no substitute: any holder of a certificate from one of them could then pose as the API server.
  const bool own_trust = options.insecure.value_or(false) || !options.ca_file.empty();
  const std::string ca_file = options.service_account_dir + "/ca.crt";
  if (!own_trust) {
    const internal::FileText ca = internal::ReadFile(ca_file);
    if (!ca.ok()) return internal::ConfigError("in-cluster config: cannot read the cluster's CA " + ca_file + ": " + ca.problem());
    if (const Result<void> usable = internal::CheckCaBundle(ca.text, ca_file); !usable) {
      return internal::ConfigError("in-cluster config: cannot use the cluster's CA: " + usable.error().message());
    }
    config.tls.ca_file = ca_file;
  }
  config.ns = options.ns.empty() ? internal::InClusterNamespace(options) : options.ns;

  // ---- What the caller wants otherwise ----
  if (!options.master.empty()) config.host = options.master;
  if (!options.token.empty() || !options.token_file.empty()) {
    config.token = SecretString(options.token);
    config.token_file = options.token_file;
  } else if (!options.username.empty() || !options.password.empty()) {
    config.token = SecretString();
    config.token_file.clear();
  }
  config.username = options.username;
  config.password = SecretString(options.password);
  if (own_trust) {
    config.tls.insecure = options.insecure.value_or(false);
    config.tls.ca_file = options.ca_file;
  }
  config.tls.server_name = options.tls_server_name;
  config.tls.certificate_file = options.certificate_file;
  config.tls.key_file = options.key_file;
  config.proxy_url = options.proxy_url;
  config.disable_compression = options.disable_compression.value_or(false);
  config.timeout = options.timeout;
  config.impersonate = options.impersonate;
  if (Result<void> valid = config.Validate(); !valid) return valid.error().WithContext("in-cluster config");
  return config;
}

bool IsNotInCluster(const Error& e) { return e.kind() == ErrorKind::kConfig && e.reason() == internal::kNotInCluster; }

}  // namespace kube
