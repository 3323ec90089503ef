// Translates a TlsPolicy for OpenSSL.
#pragma once

#include <string>

#include "kube/base/result.h"
#include "kube/serve/tls_policy.h"

namespace kube::serve {

struct OpenSslPolicy {
  bool only_tls13 = false;
  std::string tls12_ciphers;  // SSL_CTX_set_cipher_list
  std::string tls13_suites;   // SSL_CTX_set_ciphersuites; empty: the default
};

// Errors: kInvalid.
Result<OpenSslPolicy> TranslateTlsPolicy(const TlsPolicy& policy);

}  // namespace kube::serve
