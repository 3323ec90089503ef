// Credentials: the current proof of identity for a server. They connect a ClientConfig to the transport.
//
//   Result<std::shared_ptr<CredentialSource>> credentials = MakeCredentials(config);
//   Result<Authorization> now = (*credentials)->Get(ctx);
//   request.headers.Add("Authorization", now->header.reveal());
//   ...
//   if (response.code == 401) (*credentials)->Rejected(*now);
//
//   CredentialSource    token, token file, basic auth, exec plugin or OIDC
//   TlsSource           CA and client certificate, reread when their files change
//   ExecPolicy          the exec plugins that a kubeconfig may run
//
// Only code that implements a transport needs this header; users of Client do not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/clock.h"
#include "kube/base/context.h"
#include "kube/base/export.h"
#include "kube/base/metrics.h"
#include "kube/base/result.h"
#include "kube/base/secret_string.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_function.h"
#include "kube/base/std_memory.h"
#include "kube/config/client_config.h"

namespace kube {

// The credential for one request.
struct Authorization {
  SecretString header{};           // value of the Authorization header; empty: none
  Clock::TimePoint obtained_at{};  // when the credential was obtained
  std::uint64_t serial = 0;        // number of the credential within its source; for Rejected
};

// A client certificate and its key, in PEM.
struct ClientCertificate {
  std::string certificate_pem{};
  SecretString key_pem{};
};

// Provides the current credential.
//
// Thread safety: all functions may be called from many threads at once.
// Lifetime: shared by its users; exec plugins are kept a while longer (see MakeCredentials). It has no thread.
// Cost: a cached credential costs a lock and a string copy.
class KUBE_EXPORT CredentialSource {
 public:
  virtual ~CredentialSource();
  // Returns the current credential, usually from the cache. It may read a file, run a plugin or query an issuer; concurrent callers share
  // that work.
  // Blocking: until the context stops, which kills a running plugin. A plugin is limited to five minutes.
  // Errors: kAuth, with what failed and how to fix it, never with a secret; kTimeout, kCancelled.
  virtual Result<Authorization> Get(const Context& ctx) = 0;
  // Reports that the server answered 401 to `used`. If it is still the current credential, the next Get tries once to obtain a new one. If
  // that fails, the old one is used until it expires. Token files ignore this: they are reread only by time.
  virtual void Rejected(const Authorization& used) = 0;
  // The client certificate of a plugin; null if there is none. May change with each Get.
  virtual std::shared_ptr<const ClientCertificate> Certificate() const = 0;
};

// The exec plugins that may run. An entry of the list is a command as written in the kubeconfig, or the path where it is found.
struct ExecPolicy {
  // Which plugins are allowed.
  enum class Mode { kAllowAll, kDenyAll, kAllowlist };
  Mode mode = Mode::kAllowAll;
  std::optional<std::vector<std::string>> allowlist{};  // required and not empty with kAllowlist; must be unset otherwise
};

// An HTTPS request to an OIDC issuer. The room config does not depend on transport, so its caller supplies the HTTP client.
struct OidcRequest {
  std::string url{};
  SecretString form{};           // body of a POST (application/x-www-form-urlencoded); empty: GET
  SecretString authorization{};  // Authorization header; empty: none
  std::string ca_pem{};          // empty: the system's roots
};
// The response of an OIDC issuer.
struct OidcResponse {
  int code = 0;
  std::string body{};
};
// Sends a request to an OIDC issuer.
using OidcHttp = std::function<Result<OidcResponse>(const Context& ctx, const OidcRequest& request)>;

// Options of MakeCredentials.
struct CredentialOptions {
  // Receives rest_client_exec_plugin_call_total {code,call_status}, rest_client_exec_plugin_policy_call_total {status},
  // rest_client_exec_plugin_ttl_seconds and rest_client_exec_plugin_certificate_rotation_age.
  std::shared_ptr<MetricsSink> metrics{};
  ExecPolicy exec_policy{};
  OidcHttp oidc_http{};  // if empty, an expired OIDC token is an error
};

// Creates the source for the token, token file, basic auth, exec plugin or OIDC of `config`; without any of them, its credential is empty.
// A token, basic auth or a client certificate disables an exec plugin. Equal exec configs of one process share one source, and so do OIDC
// configs with the same server, issuer, client and refresh token; the metrics of the first one are used. The last 64 exec sources are kept
// for future clients.
// Blocking: reads the token file. No plugin runs and no issuer is queried before the first Get.
// Errors: kConfig for an invalid config; kAuth for an unsupported auth provider (azure, gcp, ...).
KUBE_EXPORT Result<std::shared_ptr<CredentialSource>> MakeCredentials(const ClientConfig& config,
                                                                      std::shared_ptr<Clock> clock = Clock::Real(),
                                                                      CredentialOptions options = {});

// The TLS settings at one moment.
struct TlsMaterial {
  std::uint64_t generation = 0;     // increases when the certificate or key changes: close connections made with older ones
  std::uint64_t ca_generation = 0;  // increases when the CA changes: affects new connections only
  std::string ca_pem{};             // empty: the system's roots, unless `insecure`
  bool trust_nothing = false;       // the CA file exists but is empty
  std::shared_ptr<const ClientCertificate> certificate{};  // null: none
  std::string server_name{};
  bool insecure = false;
};

// CA and client certificate, from data or files. CA files are checked every five minutes, certificates at most once per second. If a file
// cannot be read or parsed, the previous contents stay in use.
//
// It has no thread and checks only when it is called. Code that keeps connections open must call it for each request and at least every
// five minutes, and close connections of an older generation.
// Example:
//   std::shared_ptr<const TlsMaterial> now = tls->Current();
//   if (now->generation != connection.generation) ...       // made with an old certificate: close it
//
// Thread safety: all functions may be called from many threads at once.
// Lifetime: shared by its users; it holds its CredentialSource.
// Blocking: reads small files, never waits for a plugin. Errors: none; they are logged.
// Cost: a lock; at most once per second it reads two small files.
class KUBE_EXPORT TlsSource {
 public:
  virtual ~TlsSource();
  // The current settings, never null. Returns the same object until something changes.
  virtual std::shared_ptr<const TlsMaterial> Current() = 0;
};

// `credentials` may supply a plugin's certificate, which is used if the config has none. May be null.
// `metrics` receives rest_client_transport_ca_reload_total {result,reason}. May be null.
// Blocking: reads the files.
// Errors: kConfig if a file cannot be read, is not valid PEM, the key does not match its certificate, or a CA is combined with `insecure`.
// An expired certificate only logs a warning: the server decides.
KUBE_EXPORT Result<std::shared_ptr<TlsSource>> MakeTlsSource(const ClientConfig& config, std::shared_ptr<CredentialSource> credentials,
                                                             std::shared_ptr<Clock> clock = Clock::Real(),
                                                             std::shared_ptr<MetricsSink> metrics = nullptr);

}  // namespace kube
