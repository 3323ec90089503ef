// Certificates for test servers, webhooks and their clients: a private CA that issues them. ECDSA P-256; issuing takes about a millisecond.
//
//   Result<CertificateAuthority> ca = CertificateAuthority::Create("kubexx test CA");
//   Result<KeyPair> server = ca->Issue({.common_name = "apiserver", .dns_names = {"localhost"}, .server = true});
//   Result<KeyPair> admin = ca->Issue({.common_name = "admin", .organizations = {"system:masters"}, .client = true});
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"

namespace kube::serve {

// A certificate and its private key, both PEM. The key is secret and never logged.
struct KeyPair {
  std::string certificate_pem{};
  std::string key_pem{};
};

// What to put into a certificate.
struct CertificateRequest {
  std::string common_name{};
  std::vector<std::string> organizations{};
  std::vector<std::string> dns_names{};
  std::vector<std::string> addresses{};  // IPv4 and IPv6 addresses
  // Extended key usage: server authentication, client authentication, or both.
  bool server = false;
  bool client = false;
  // An hour ago by default, for clients whose clocks are behind.
  std::chrono::system_clock::time_point not_before = std::chrono::system_clock::now() - std::chrono::hours(1);
  std::chrono::seconds lifetime = std::chrono::hours(24 * 365);
};

// Certificate times are clamped to 1970 and to this many seconds after it (the year 2255).
inline constexpr std::int64_t kMostCertificateSeconds = 9'000'000'000;

// The content of a certificate.
struct CertificateInfo {
  std::string common_name{};
  std::string fingerprint{};  // SHA-256 of the certificate, in hexadecimal
  std::vector<std::string> dns_names{};
  std::vector<std::string> addresses{};
  std::chrono::system_clock::time_point not_before{}, not_after{};
  bool is_ca = false;
};
// Reads the first certificate in the text. Errors: kInvalid if there is none.
KUBE_EXPORT Result<CertificateInfo> ReadCertificate(std::string_view pem);
// Whether the first certificate of `pem` was signed by one of `bundle_pem`. Validity times are ignored.
KUBE_EXPORT bool IsSignedByOneOf(std::string_view pem, std::string_view bundle_pem);
// Returns each certificate of the text, in OpenSSL's format. Skips everything else.
KUBE_EXPORT std::vector<std::string> SplitCertificates(std::string_view pem);

// A certificate authority with its key in memory.
//
// Thread safety: immutable.
class KUBE_EXPORT CertificateAuthority {
 public:
  // Creates a self-signed CA. Without times it is valid for ten years.
  static Result<CertificateAuthority> Create(const std::string& common_name);
  static Result<CertificateAuthority> Create(const std::string& common_name, std::chrono::system_clock::time_point not_before,
                                             std::chrono::system_clock::time_point not_after);
  // Errors: kInvalid if the certificate is not a CA, or the key does not belong to it.
  static Result<CertificateAuthority> FromPem(KeyPair pair);

  // Issues a certificate with a new key. Errors: kInvalid for a malformed name or address, kInternal if OpenSSL fails.
  Result<KeyPair> Issue(const CertificateRequest& request) const;

  const std::string& certificate_pem() const { return pair_.certificate_pem; }
  const KeyPair& key_pair() const { return pair_; }

 private:
  explicit CertificateAuthority(KeyPair pair) : pair_(std::move(pair)) {}
  KeyPair pair_;
};

// A new private key (RSA 2048, PKCS 8) for signing service-account tokens with RS256, and its public key, both PEM. Takes a tenth of a
// second.
struct SigningKey {
  std::string private_pem{};
  std::string public_pem{};
};
KUBE_EXPORT Result<SigningKey> CreateSigningKey();  // a new pair of keys

}  // namespace kube::serve
