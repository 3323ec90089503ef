// TlsPolicy: the TLS versions and cipher suites that a server accepts, under the names that Kubernetes components use.
//
//   --tls-min-version=VersionTLS13
//   --tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/result.h"

namespace kube::serve {

// Minimum version and cipher suites of a server.
struct TlsPolicy {
  // VersionTLS12 or VersionTLS13. Older versions are insecure and not supported.
  std::string min_version = "VersionTLS12";
  // Empty for the suites with forward secrecy and authenticated encryption. TLS 1.3 suites in the list restrict TLS 1.3; a list without any
  // leaves TLS 1.3 unchanged, as in Go's servers.
  std::vector<std::string> cipher_suites{};

  bool operator==(const TlsPolicy&) const = default;
};

// CheckTlsVersion and CheckCipherSuite return kInvalid for an unsupported name; the message lists the supported ones.
KUBE_EXPORT Result<void> CheckTlsVersion(std::string_view version);
KUBE_EXPORT Result<void> CheckCipherSuite(std::string_view name);
// Splits a comma-separated list of names; ignores spaces around them.
KUBE_EXPORT Result<std::vector<std::string>> ParseCipherSuites(std::string_view names);
// All supported names.
KUBE_EXPORT std::vector<std::string_view> CipherSuiteNames();

}  // namespace kube::serve
