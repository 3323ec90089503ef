// Tokens: which user has which bearer token.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "apiserver/request.h"
#include "kube/base/mutex.h"
#include "kube/value/time.h"

namespace kube::apiserver {

// Tokens are random; the table is what makes them good. Those of service accounts have the form of a JWT, so that clients can read their
// claims, and no signature: nothing outside this server could check one.
//
// Thread safety: all functions may be called from any thread.
class Tokens {
 public:
  // 32 random bytes in base64.
  static std::string Random();

  // The audience that stands for this server, and its issuer.
  static constexpr std::string_view kServer = "https://kubernetes.default.svc.cluster.local";

  struct Found {
    User user;
    std::vector<std::string> audiences;  // those of the wanted ones that the token is for
  };
  // Without audiences, the token is for this server.
  void Add(std::string token, User user, std::optional<Time> expires = std::nullopt, std::vector<std::string> audiences = {});
  // Finds a token that is for one of the audiences at least; for this server where none is named.
  std::optional<Found> Find(std::string_view token, Time now, const std::vector<std::string>& audiences = {}) const;

  // A new token of a service account.
  std::string IssueServiceAccount(std::string_view ns, std::string_view name, std::string_view uid,
                                  const std::vector<std::string>& audiences, Time now, std::int64_t lifetime_seconds);

 private:
  struct Entry {
    User user;
    std::optional<Time> expires;
    std::vector<std::string> audiences;
  };
  mutable Mutex mu_;
  std::map<std::string, Entry, std::less<>> entries_ KUBE_GUARDED_BY(mu_);
};

std::string Base64UrlEncode(std::string_view bytes);
std::optional<std::string> Base64UrlDecode(std::string_view text);

}  // namespace kube::apiserver
