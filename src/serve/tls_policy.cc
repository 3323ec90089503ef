#include "serve/tls_policy.h"

#include <fmt/format.h>

#include <algorithm>

namespace kube::serve {
namespace {

struct Suite {
  std::string_view name;     // as IANA and Kubernetes call it
  std::string_view openssl;  // as OpenSSL does
  bool tls13 = false;
  bool by_default = false;
};

// Kubernetes also takes suites without forward secrecy, and with RC4 and 3DES, and calls them insecure. These are not here.
constexpr Suite kSuites[] = {
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256", true},
    {"TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", true},
    {"TLS_CHACHA20_POLY1305_SHA256", "TLS_CHACHA20_POLY1305_SHA256", true},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256", false, true},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256", false, true},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384", false, true},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384", false, true},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305", false, true},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305", false, true},
    // Older names of the two above.
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"},
    {"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA"},
    {"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA"},
    {"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA"},
};

constexpr std::string_view kTls12 = "VersionTLS12", kTls13 = "VersionTLS13";

const Suite* FindSuite(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kSuites), std::end(kSuites), [name](const Suite& suite) { return suite.name == name; });
  return found == std::end(kSuites) ? nullptr : found;
}

void Append(std::string& list, std::string_view name) {
  if (!list.empty()) list += ':';
  list += name;
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

Result<void> CheckTlsVersion(std::string_view version) {
  if (version == kTls12 || version == kTls13) return {};
  if (version == "VersionTLS10" || version == "VersionTLS11")
    return Error::Invalid(fmt::format("{} is not supported, because it is broken: use {} or {}", version, kTls12, kTls13));
  return Error::Invalid(fmt::format("unknown TLS version \"{}\": use {} or {}", version, kTls12, kTls13));
}

Result<void> CheckCipherSuite(std::string_view name) {
  if (FindSuite(name) != nullptr) return {};
  return Error::Invalid(
      fmt::format("unknown or insecure cipher suite \"{}\": the possible ones are {}", name, fmt::join(CipherSuiteNames(), ", ")));
}

std::vector<std::string_view> CipherSuiteNames() {
  std::vector<std::string_view> names;
  for (const Suite& suite : kSuites) names.push_back(suite.name);
  return names;
}

Result<std::vector<std::string>> ParseCipherSuites(std::string_view names) {
  std::vector<std::string> suites;
  if (Trimmed(names).empty()) return suites;
  for (std::size_t at = 0; at <= names.size();) {
    const std::size_t comma = std::min(names.find(',', at), names.size());
    const std::string_view name = Trimmed(names.substr(at, comma - at));
    if (Result<void> known = CheckCipherSuite(name); !known) return known.error();
    suites.emplace_back(name);
    at = comma + 1;
  }
  return suites;
}

Result<OpenSslPolicy> TranslateTlsPolicy(const TlsPolicy& policy) {
  if (Result<void> known = CheckTlsVersion(policy.min_version); !known) return known.error();
  OpenSslPolicy out{.only_tls13 = policy.min_version == kTls13};
  for (const std::string& name : policy.cipher_suites) {
    if (Result<void> known = CheckCipherSuite(name); !known) return known.error();
    const Suite& suite = *FindSuite(name);
    Append(suite.tls13 ? out.tls13_suites : out.tls12_ciphers, suite.openssl);
  }
  if (policy.cipher_suites.empty()) {
    for (const Suite& suite : kSuites) {
      if (suite.by_default) Append(out.tls12_ciphers, suite.openssl);
    }
  }
  // Without a suite for it there is no TLS 1.2.
  if (out.tls12_ciphers.empty()) out.only_tls13 = true;
  return out;
}

}  // namespace kube::serve
