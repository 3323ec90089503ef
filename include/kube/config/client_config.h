// ClientConfig: how to reach a server and who to be there. What kubeconfig files, the environment of a pod and flags all become.
//
//   Result<ClientConfig> config = LoadConfig();            // load.h: $KUBECONFIG, ~/.kube/config, in-cluster
//   config->qps = 50;
//   config->burst = 100;
//   Result<Client> client = Client::FromConfig(*config);
//
// A plain struct: copy it, change it, compare nothing. Secrets are SecretStrings, and ToString() shows none of them.
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

// Trust and certificates. Of each pair of `_data` and `_file`, the data wins; files are read again as they change.
struct TlsConfig {
  std::string ca_data{};      // PEM
  std::string ca_file{};      // neither: the system's roots
  std::string server_name{};  // for SNI and verification; empty: the host of the URL
  bool insecure = false;      // accept any certificate; not together with a CA
  std::string certificate_data{};
  std::string certificate_file{};
  SecretString key_data{};
  std::string key_file{};

  bool has_ca() const { return !ca_data.empty() || !ca_file.empty(); }
  bool has_certificate() const { return !certificate_data.empty() || !certificate_file.empty(); }
};

// A program that gives credentials: client.authentication.k8s.io.
struct ExecConfig {
  // kUnset: a kubeconfig did not say, or said something unknown. v1 asks for one of the others; v1beta1 takes it for kIfAvailable.
  enum class InteractiveMode { kNever, kIfAvailable, kAlways, kUnset };
  std::string command{};
  std::vector<std::string> args{};
  std::vector<std::pair<std::string, std::string>> env{};
  std::string api_version{};   // "client.authentication.k8s.io/v1" or "/v1beta1"
  std::string install_hint{};  // shown where the command is not found
  bool provide_cluster_info = false;
  InteractiveMode interactive_mode = InteractiveMode::kIfAvailable;
  Value cluster_extension{};  // of the extension client.authentication.k8s.io/exec of the cluster
  bool stdin_unavailable = false;
  std::string stdin_unavailable_message{};
  Value unknown{};  // members of a kubeconfig that this build does not know
};

// A legacy auth provider of a kubeconfig. Only "oidc" is known: with idp-issuer-url, client-id, client-secret, id-token, refresh-token,
// idp-certificate-authority(-data).
struct AuthProviderConfig {
  std::string name{};
  std::map<std::string, std::string> config{};
  // Called with the new settings after a refresh, so that a kubeconfig can be written back, on the thread that asked for credentials. Its
  // error is logged. May be empty.
  std::function<Result<void>(const std::map<std::string, std::string>&)> persist{};
  Value unknown{};
};

struct ImpersonationConfig {
  std::string user{};
  std::string uid{};
  std::vector<std::string> groups{};
  std::map<std::string, std::vector<std::string>> extra{};
  bool empty() const { return user.empty() && uid.empty() && groups.empty() && extra.empty(); }
};

// Example, without any file:
//
//   ClientConfig config;
//   config.host = "https://10.0.0.1:6443";
//   config.tls.ca_file = "/etc/kubernetes/pki/ca.crt";
//   config.token_file = "/var/run/token";
//   if (Result<void> valid = config.Validate(); !valid) return valid.error();
struct KUBE_EXPORT ClientConfig {
  std::string host{};  // "https://10.0.0.1:6443/prefix"; "10.0.0.1:6443" is https where `tls` says anything, else http; empty: localhost
  std::string ns{};    // of the context; what commands use where the user names none
  TlsConfig tls{};

  // ---- Who we are. At most one of token, basic auth, exec and auth provider, besides a client certificate ----
  SecretString token{};
  std::string token_file{};  // read again every minute; wins over `token` where it can be read
  std::string username{};
  SecretString password{};
  std::shared_ptr<const ExecConfig> exec{};
  std::shared_ptr<const AuthProviderConfig> auth_provider{};
  ImpersonationConfig impersonate{};

  // ---- How ----
  std::string proxy_url{};  // http, https or socks5; empty: as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say
  // Ask for gzip. Good for slow networks; inside of a cluster it costs both sides more than it saves.
  bool compression = false;
  bool disable_compression = false;  // what a kubeconfig may say; wins over `compression`
  bool disable_http2 = false;
  std::string user_agent{};            // empty: DefaultUserAgent()
  double qps = 0;                      // 0: 5; less than 0: no limit
  int burst = 0;                       // 0: 10; a qps of more than 0 needs one of its own
  std::chrono::nanoseconds timeout{};  // of each request that is no watch; 0: none
  // Accept and Content-Type of typed calls; empty: protobuf for built-in kinds, JSON for others.
  std::string content_type{};

  // Everything but secrets, for logs: those show as [redacted] where they are set.
  std::string ToString() const;
  // The same server, without any credentials.
  ClientConfig Anonymous() const;
  // What cannot work: both kinds of something, a certificate without its key. Errors: kConfig, naming each field.
  Result<void> Validate() const;
  // `host` as a URL with its scheme, without query, fragment and a slash at the end: "https://10.0.0.1:6443/prefix". Errors: kConfig.
  Result<std::string> BaseUrl() const;
};

// "program/v0.1.0 (linux/amd64) kubexx/0.1.0": the program's name as it was started, and the version of kubexx.
KUBE_EXPORT std::string DefaultUserAgent();

}  // namespace kube
