// Credentials of the auth provider "oidc": an ID token, and a refresh token to renew it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/mutex.h"
#include "kube/config/credentials.h"

namespace kube::internal {

// A token is renewed this long before it expires.
inline constexpr std::chrono::seconds kIdTokenLeeway{10};

// `exp` of a JWT, in seconds since 1970; 0 if it has none. Errors: kAuth if this is not a JWT; never quotes it.
Result<std::int64_t> IdTokenExpiry(std::string_view token);

// Encodes application/x-www-form-urlencoded: one text, and "a=b&c=d".
std::string FormEncode(std::string_view text);
std::string FormEncode(const std::map<std::string, std::string>& fields);

// Thread safety: all functions may be called from many threads at once. One caller queries the issuer; the others wait.
class OidcSource final : public CredentialSource {
 public:
  OidcSource(AuthProviderConfig config, std::string ca_pem, std::shared_ptr<Clock> clock, OidcHttp http);

  Result<Authorization> Get(const Context& ctx) override;
  void Rejected(const Authorization&) override {}  // an ID token is valid until it expires
  std::shared_ptr<const ClientCertificate> Certificate() const override { return nullptr; }

 private:
  struct Tokens {
    std::string id;
    std::string refresh;
  };
  Result<bool> Valid(const std::string& id_token) const;
  Result<Tokens> Refresh(const Context& ctx, const std::string& refresh_token) const;
  Result<std::string> TokenEndpoint(const Context& ctx) const;
  Error Failed(const std::string& what) const;

  const AuthProviderConfig provider_;  // its tokens are those of the start
  const std::string issuer_;
  const std::string ca_pem_;
  const std::shared_ptr<Clock> clock_;
  const OidcHttp http_;

  Mutex mu_;
  CondVar changed_;
  bool running_ KUBE_GUARDED_BY(mu_) = false;
  std::map<std::string, std::string> settings_ KUBE_GUARDED_BY(mu_);
  Clock::TimePoint obtained_at_ KUBE_GUARDED_BY(mu_);
  std::uint64_t serial_ KUBE_GUARDED_BY(mu_) = 1;
};

// Shared by clients of the same server, issuer, client and refresh token, because a refresh token may be usable only once. Errors: kConfig.
Result<std::shared_ptr<CredentialSource>> MakeOidcSource(const ClientConfig& config, const std::shared_ptr<Clock>& clock,
                                                         const OidcHttp& http);

}  // namespace kube::internal
