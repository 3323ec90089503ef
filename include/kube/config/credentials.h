// Credentials: what proves to a server who we are, at this moment. Between a ClientConfig and the transport.
//
//   Result<std::shared_ptr<CredentialSource>> credentials = MakeCredentials(config);
//   Result<Authorization> now = (*credentials)->Get(ctx);
//   request.headers.Add("Authorization", now->header.reveal());
//   ...
//   if (response.code == 401) (*credentials)->Rejected(*now);
//
//   CredentialSource    token, token file, basic auth, exec plugin or OIDC
//   TlsSource           CA and client certificate, read again as their files change
//   ExecPolicy          which exec plugins a program lets a kubeconfig run
//
// Who writes a client never needs this; who writes a transport does.
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

// What goes with one request.
struct Authorization {
  SecretString header{};           // the value of the Authorization header; empty: none
  Clock::TimePoint obtained_at{};  // when the credential was got
  std::uint64_t serial = 0;        // which one of its source's it is; for Rejected
};

// A client certificate and its key, PEM.
struct ClientCertificate {
  std::string certificate_pem{};
  SecretString key_pem{};
};

// Thread safety: all functions from many threads at once.
// Lifetime: as long as anybody holds it, and for exec plugins a while longer (see MakeCredentials); it keeps no thread.
// Cost: an answer from memory is a lock and the copy of a string.
class KUBE_EXPORT CredentialSource {
 public:
  virtual ~CredentialSource();
  // May read a file, run a program or ask an issuer; mostly it answers from memory. Of several callers one does the work and the others
  // wait for it.
  // Blocking: until the context stops, which kills a plugin that runs. A plugin gets five minutes, no more.
  // Errors: kAuth, which names what failed and says what to do and never holds a secret; kTimeout, kCancelled.
  virtual Result<Authorization> Get(const Context& ctx) = 0;
  // The server answered 401 to this one: where it is still the newest, the next Get makes a new one, once. Where that fails, the old one
  // goes on as long as it has not expired. Token files do not care: they are read again by time alone.
  virtual void Rejected(const Authorization& used) = 0;
  // The client certificate that a plugin gave; null where it gave none. Changes after Get.
  virtual std::shared_ptr<const ClientCertificate> Certificate() const = 0;
};

// Which exec plugins may run. An entry of the list is a command as the kubeconfig has it, or the path that it is found at.
struct ExecPolicy {
  enum class Mode { kAllowAll, kDenyAll, kAllowlist };
  Mode mode = Mode::kAllowAll;
  std::optional<std::vector<std::string>> allowlist{};  // with kAllowlist, and only then; not empty
};

// One HTTPS exchange with an OIDC issuer: config comes before the transport, so who makes credentials brings it along.
struct OidcRequest {
  std::string url{};
  SecretString form{};           // POST of application/x-www-form-urlencoded; empty: GET
  SecretString authorization{};  // header; empty: none
  std::string ca_pem{};          // empty: the system's roots
};
struct OidcResponse {
  int code = 0;
  std::string body{};
};
using OidcHttp = std::function<Result<OidcResponse>(const Context& ctx, const OidcRequest& request)>;

struct CredentialOptions {
  // rest_client_exec_plugin_call_total {code,call_status}, rest_client_exec_plugin_policy_call_total {status},
  // rest_client_exec_plugin_ttl_seconds, rest_client_exec_plugin_certificate_rotation_age.
  std::shared_ptr<MetricsSink> metrics{};
  ExecPolicy exec_policy{};
  OidcHttp oidc_http{};  // without it, an OIDC token that has expired is an error
};

// Token, token file, basic auth, exec plugin or OIDC, as the config says; one that gives nothing where it says nothing. A token, basic
// auth or a client certificate keeps an exec plugin from being run. Equal exec configs of one process share one source, and so do OIDC
// configs of one server, issuer, client and refresh token; then the first one's metrics count. The last 64 exec sources stay for the next
// client that wants one.
// Blocking: reads the token file. No plugin runs and no issuer is asked before the first Get.
// Errors: kConfig for a config that cannot work; kAuth for an auth provider that is not supported (azure, gcp, ...).
KUBE_EXPORT Result<std::shared_ptr<CredentialSource>> MakeCredentials(const ClientConfig& config,
                                                                      std::shared_ptr<Clock> clock = Clock::Real(),
                                                                      CredentialOptions options = {});

// What TLS needs, at one moment.
struct TlsMaterial {
  std::uint64_t generation = 0;     // grows when the certificate or key changed: connections made with the old ones have to go
  std::uint64_t ca_generation = 0;  // grows when the CA changed: new connections only
  std::string ca_pem{};             // empty: the system's roots, unless `insecure`
  bool trust_nothing = false;       // there is a CA file, and it is empty
  std::shared_ptr<const ClientCertificate> certificate{};  // null: none
  std::string server_name{};
  bool insecure = false;
};

// CA and certificates from data or files. CA files are looked at once in five minutes, certificates once in a second at most; a file that
// cannot be read or parsed leaves what was there before.
//
// It looks when it is asked, and has no thread: who keeps connections open asks at each request and at least once in five minutes, and
// closes those of an older generation.
// Example:
//   std::shared_ptr<const TlsMaterial> now = tls->Current();
//   if (now->generation != connection.generation) ...       // made with an old certificate: close it
//
// Thread safety: all functions from many threads at once.
// Lifetime: as long as anybody holds it; it holds the credentials that it was given.
// Blocking: for the reading of small files, never for a plugin. Errors: none, they are logged.
// Cost: a lock; at most once a second the reading of two small files.
class KUBE_EXPORT TlsSource {
 public:
  virtual ~TlsSource();
  // Never null. The same object as long as nothing changed.
  virtual std::shared_ptr<const TlsMaterial> Current() = 0;
};

// `credentials` may give a plugin's certificate; it counts where the config has none. May be null.
// `metrics` gets rest_client_transport_ca_reload_total {result,reason}. May be null.
// Blocking: reads the files.
// Errors: kConfig: a file that cannot be read, rubbish in the place of PEM, a key that does not fit its certificate, a CA with `insecure`.
// A certificate that has expired is a warning in the log: the server decides.
KUBE_EXPORT Result<std::shared_ptr<TlsSource>> MakeTlsSource(const ClientConfig& config, std::shared_ptr<CredentialSource> credentials,
                                                             std::shared_ptr<Clock> clock = Clock::Real(),
                                                             std::shared_ptr<MetricsSink> metrics = nullptr);

}  // namespace kube
