// Certificates for test servers, webhooks and their clients: a private CA and what it signs. ECDSA P-256, made in a millisecond.
//
//   Result<CertificateAuthority> ca = CertificateAuthority::Create("kubexx test CA");
//   Result<KeyPair> server = ca->Issue({.common_name = "apiserver", .dns_names = {"localhost"}, .addresses = {"127.0.0.1"}, .server =
//   true}); Result<KeyPair> admin = ca->Issue({.common_name = "admin", .organizations = {"system:masters"}, .client = true});
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

// A certificate and its private key, both PEM. The key is a secret: it is never logged.
struct KeyPair {
  std::string certificate_pem{};
  std::string key_pem{};
};

struct CertificateRequest {
  std::string common_name{};
  std::vector<std::string> organizations{};
  std::vector<std::string> dns_names{};
  std::vector<std::string> addresses{};  // IPv4 and IPv6
  bool server = false;
  bool client = false;
  std::chrono::system_clock::time_point not_before = std::chrono::system_clock::now() - std::chrono::hours(1);
  std::chrono::seconds lifetime = std::chrono::hours(24 * 365);
};

// Times beyond these seconds since 1970 (the year 2255), and before 1970, are cut.
inline constexpr std::int64_t kMostCertificateSeconds = 9'000'000'000;

// What a certificate says about itself.
struct CertificateInfo {
  std::string common_name{};
  std::string fingerprint{};  // SHA-256 of the certificate, in hexadecimal
  std::vector<std::string> dns_names{};
  std::vector<std::string> addresses{};
  std::chrono::system_clock::time_point not_before{}, not_after{};
  bool is_ca = false;
};
// Of the first certificate in the text. Errors: kInvalid if it has none.
KUBE_EXPORT Result<CertificateInfo> ReadCertificate(std::string_view pem);
// Whether the first certificate of `pem` was signed by one of `bundle_pem`. Times do not matter.
KUBE_EXPORT bool IsSignedByOneOf(std::string_view pem, std::string_view bundle_pem);
// Each certificate of the text by itself, as OpenSSL writes it. What is no certificate is left out.
KUBE_EXPORT std::vector<std::string> SplitCertificates(std::string_view pem);

// Thread safety: immutable.
class KUBE_EXPORT CertificateAuthority {
 public:
  // Valid for ten years.
  static Result<CertificateAuthority> Create(const std::string& common_name);
  static Result<CertificateAuthority> Create(const std::string& common_name, std::chrono::system_clock::time_point not_before,
                                             std::chrono::system_clock::time_point not_after);
  // Errors: kInvalid where it is no CA, or the key belongs to another certificate.
  static Result<CertificateAuthority> FromPem(KeyPair pair);

  // Errors: kInvalid for a name or an address that is none, kInternal where OpenSSL fails.
  Result<KeyPair> Issue(const CertificateRequest& request) const;

  const std::string& certificate_pem() const { return pair_.certificate_pem; }
  const KeyPair& key_pair() const { return pair_; }

 private:
  explicit CertificateAuthority(KeyPair pair) : pair_(std::move(pair)) {}
  KeyPair pair_;
};

// A new private key (RSA 2048, PKCS 8) that service-account tokens can be signed with by RS256, and its public key, both PEM. Takes a
// tenth of a second.
struct SigningKey {
  std::string private_pem{};
  std::string public_pem{};
};
KUBE_EXPORT Result<SigningKey> CreateSigningKey();

}  // namespace kube::serve
