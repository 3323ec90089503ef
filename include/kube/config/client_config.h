// ClientConfig: how to reach a server and how to authenticate. Kubeconfig files, a pod's environment and flags are all turned into one.
//
//   Result<ClientConfig> config = LoadConfig();            // load.h: $KUBECONFIG, ~/.kube/config, in-cluster
//   config->qps = 50;
//   config->burst = 100;
//   Result<Client> client = Client::FromConfig(*config);
//
// A plain struct that programs copy and change. Secrets are SecretStrings, and ToString() shows none of them.
// Thread safety: as any plain struct. Nothing here blocks or reads a file.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/secret_string.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/value/value.h"

namespace kube {

// Trust and client certificate. If both `_data` and `_file` of a pair are set, the data wins. Files are reread when they change.
struct TlsConfig {
  std::string ca_data{};      // PEM
  std::string ca_file{};      // without a CA, the system's roots are used
  std::string server_name{};  // for SNI and verification; empty: the host of the URL
  bool insecure = false;      // accept any certificate; not allowed with a CA
  // The client certificate and its key, PEM.
  std::string certificate_data{};
  std::string certificate_file{};
  SecretString key_data{};
  std::string key_file{};

  bool has_ca() const { return !ca_data.empty() || !ca_file.empty(); }
  bool has_certificate() const { return !certificate_data.empty() || !certificate_file.empty(); }
};

// A credential plugin (client.authentication.k8s.io).
struct ExecConfig {
  // Whether the plugin may read standard input. kUnset: a kubeconfig has no value or an unknown one; v1 then requires one of the others,
  // v1beta1 uses kIfAvailable.
  enum class InteractiveMode { kNever, kIfAvailable, kAlways, kUnset };
  std::string command{};
  std::vector<std::string> args{};
  std::vector<std::pair<std::string, std::string>> env{};
  std::string api_version{};          // "client.authentication.k8s.io/v1" or "/v1beta1"
  std::string install_hint{};         // shown if the command is not found
  bool provide_cluster_info = false;  // pass the cluster to the plugin
  InteractiveMode interactive_mode = InteractiveMode::kIfAvailable;
  Value cluster_extension{};  // the cluster's extension client.authentication.k8s.io/exec
  // Set by programs that use standard input themselves; the message explains it in errors.
  bool stdin_unavailable = false;
  std::string stdin_unavailable_message{};
  Value unknown{};  // kubeconfig fields that this build does not know
};

// A legacy auth provider of a kubeconfig. Only "oidc" is supported, with idp-issuer-url, client-id, client-secret, id-token, refresh-token
// and idp-certificate-authority(-data).
struct AuthProviderConfig {
  std::string name{};
  std::map<std::string, std::string> config{};
  // Called with the new settings after a token refresh, so that the kubeconfig can be updated. Runs on the thread that requested the
  // credentials. Its error is logged. May be empty.
  std::function<Result<void>(const std::map<std::string, std::string>&)> persist{};
  // Kubeconfig fields that this build does not know.
  Value unknown{};
};

// The user to impersonate; empty members are not sent.
struct ImpersonationConfig {
  std::string user{};
  std::string uid{};
  std::vector<std::string> groups{};
  std::map<std::string, std::vector<std::string>> extra{};
  bool empty() const { return user.empty() && uid.empty() && groups.empty() && extra.empty(); }
};

// A server and the credentials for it. Example, without any file:
//
//   ClientConfig config;
//   config.host = "https://10.0.0.1:6443";
//   config.tls.ca_file = "/etc/kubernetes/pki/ca.crt";
//   config.token_file = "/var/run/token";
//   if (Result<void> valid = config.Validate(); !valid) return valid.error();
struct KUBE_EXPORT ClientConfig {
  // "https://10.0.0.1:6443/prefix". Without a scheme, https if `tls` is set, else http. Empty: localhost.
  std::string host{};
  std::string ns{};  // the namespace of the context; used by commands if the user names none
  TlsConfig tls{};

  // ---- Authentication. At most one of token, basic auth, exec and auth provider, besides a client certificate ----
  SecretString token{};
  std::string token_file{};  // reread after 50 s; overrides `token` if it can be read
  std::string username{};
  SecretString password{};
  std::shared_ptr<const ExecConfig> exec{};
  std::shared_ptr<const AuthProviderConfig> auth_provider{};
  ImpersonationConfig impersonate{};

  // ---- Connection ----
  std::string proxy_url{};  // http, https or socks5; empty: from HTTPS_PROXY, HTTP_PROXY and NO_PROXY
  // Requests gzip. Useful on slow networks; inside a cluster it costs both sides more than it saves.
  bool compression = false;
  bool disable_compression = false;  // set by a kubeconfig; overrides `compression`
  bool disable_http2 = false;
  std::string user_agent{};            // empty: DefaultUserAgent()
  double qps = 0;                      // requests per second; 0: 5; negative: no limit
  int burst = 0;                       // 0: 10; must be set if qps is positive
  std::chrono::nanoseconds timeout{};  // per request, except watches; 0: none
  // Accept and Content-Type of typed requests. Empty: protobuf for built-in kinds, JSON for others.
  std::string content_type{};

  // All settings, for logs. Secrets that are set show as [redacted].
  std::string ToString() const;
  // Returns a config for the same server without credentials.
  ClientConfig Anonymous() const;
  // Checks for settings that contradict each other or are incomplete, such as a certificate without its key. Errors: kConfig, naming each
  // field.
  Result<void> Validate() const;
  // `host` as a URL with a scheme, without query, fragment and trailing slash: "https://10.0.0.1:6443/prefix". Errors: kConfig.
  Result<std::string> BaseUrl() const;
};

// "program/v0.1.0 (linux/amd64) kubexx/0.1.0": the program name from the command line, and the version of kubexx.
KUBE_EXPORT std::string DefaultUserAgent();

}  // namespace kube
