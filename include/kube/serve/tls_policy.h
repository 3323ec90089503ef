// TlsPolicy: the versions and cipher suites that a server accepts, under the names that Kubernetes' components have for them.
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

struct TlsPolicy {
  // VersionTLS12 or VersionTLS13. Older versions are not offered: they are broken.
  std::string min_version = "VersionTLS12";
  // Empty: those with forward secrecy and authenticated encryption. Suites of TLS 1.3 in the list restrict TLS 1.3; a list without any
  // leaves TLS 1.3 as it is, as with Go's servers.
  std::vector<std::string> cipher_suites{};

  bool operator==(const TlsPolicy&) const = default;
};

// Errors: kInvalid, naming the value and those that are possible.
KUBE_EXPORT Result<void> CheckTlsVersion(std::string_view version);
KUBE_EXPORT Result<void> CheckCipherSuite(std::string_view name);
// Of names that commas separate; blanks around them do not count.
KUBE_EXPORT Result<std::vector<std::string>> ParseCipherSuites(std::string_view names);
// All names that are possible.
KUBE_EXPORT std::vector<std::string_view> CipherSuiteNames();

}  // namespace kube::serve
