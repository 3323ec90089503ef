// MakeKubeconfig: a kubeconfig with one cluster, one user and one context, as the test servers provide it.
#pragma once

#include <string>

#include "kube/base/export.h"

namespace kube::testing {

// The server and the credentials of a kubeconfig. Empty fields are omitted.
struct KubeconfigParts {
  std::string server{};           // "https://127.0.0.1:6443"
  std::string ca_pem{};           // empty for plain HTTP, or for a CA that the client trusts already
  std::string certificate_pem{};  // either a client certificate and its key ...
  std::string key_pem{};
  std::string token{};          // ... or a token
  std::string namespace_{};     // namespace of the context
  std::string name = "kubexx";  // of the cluster, the user and the context
};

// Returns YAML that kubectl and every client library can read. It holds secrets in plain text: write it with mode 0600.
KUBE_EXPORT std::string MakeKubeconfig(const KubeconfigParts& parts);

}  // namespace kube::testing
