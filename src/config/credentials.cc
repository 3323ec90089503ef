#include "kube/config/credentials.h"

#include <utility>

#include "codec/base64.h"
#include "config/exec_credential.h"
#include "config/exec_source.h"
#include "config/oidc_source.h"
#include "config/text.h"
#include "config/token_source.h"

namespace kube {
namespace {

Error Wrong(std::string message) { return Error(ErrorKind::kConfig, std::move(message)); }

Result<std::shared_ptr<CredentialSource>> Fixed(SecretString header) {
  return std::shared_ptr<CredentialSource>(std::make_shared<internal::FixedSource>(std::move(header)));
}

Result<std::shared_ptr<CredentialSource>> FromTokenFile(const ClientConfig& config, std::shared_ptr<Clock> clock) {
  auto source = std::make_shared<internal::TokenFileSource>(config.token_file, config.token, std::move(clock));
  // A wrong path is a clear error here, and not at the first request.
  if (Result<Authorization> first = source->Get(Context::Background()); !first) return Wrong(first.error().message());
  return std::shared_ptr<CredentialSource>(std::move(source));
}

Result<std::shared_ptr<CredentialSource>> FromBasicAuth(const ClientConfig& config) {
  // RFC 7617: the first colon ends the name.
  if (config.username.find(':') != std::string::npos)
    return Wrong("username must not have a colon, as HTTP basic auth has no way to send it");
  std::string header = "Basic ";
  internal::AppendBase64(config.username + ":" + config.password.reveal(), header);
  return Fixed(SecretString(std::move(header)));
}

Result<std::shared_ptr<CredentialSource>> FromAuthProvider(const ClientConfig& config, const std::shared_ptr<Clock>& clock,
                                                           const CredentialOptions& options) {
  const std::string& name = config.auth_provider->name;
  if (name == "oidc") return internal::MakeOidcSource(config, clock, options.oidc_http);
  if (name == "gcp") {
    return Error(ErrorKind::kAuth, "the auth provider gcp does not exist any more; use the exec plugin gke-gcloud-auth-plugin instead");
  }
  if (name == "azure") {
    return Error(ErrorKind::kAuth, "the auth provider azure does not exist any more; use the exec plugin kubelogin instead");
  }
  return Error(ErrorKind::kAuth, "auth provider " + internal::Quoted(name) + " is not known; use an exec plugin instead");
}

}  // namespace

CredentialSource::~CredentialSource() = default;

Result<std::shared_ptr<CredentialSource>> MakeCredentials(const ClientConfig& config, std::shared_ptr<Clock> clock,
                                                          CredentialOptions options) {
  const bool token = !config.token.empty() || !config.token_file.empty();
  const bool basic = !config.username.empty() || !config.password.empty();
  const bool certificate = config.tls.has_certificate() && (!config.tls.key_data.empty() || !config.tls.key_file.empty());
  if (token && basic) return Wrong("a token and a username exclude each other; drop one of them");
  if (config.exec != nullptr && config.auth_provider != nullptr)
    return Wrong("exec and auth-provider exclude each other; drop one of them");
  if (!config.token.empty() && !internal::IsHeaderToken(config.token.reveal())) {
    return Wrong("the token has characters that a header cannot have, such as a line end");
  }
  if (!config.token_file.empty()) return FromTokenFile(config, std::move(clock));
  if (token) return Fixed(SecretString("Bearer " + config.token.reveal()));
  if (basic) return FromBasicAuth(config);
  if (config.exec != nullptr && !certificate) return internal::MakeExecSource(config, clock, options);
  if (config.auth_provider != nullptr) return FromAuthProvider(config, clock, options);
  return Fixed(SecretString());
}

}  // namespace kube
