// MakeKubeconfig: the text of a kubeconfig with one cluster, one user and one context. What the test servers hand out.
#pragma once

#include <string>

#include "kube/base/export.h"

namespace kube::testing {

// How a client reaches a server and who it is there. Empty texts are left out.
struct KubeconfigParts {
  std::string server{};           // "https://127.0.0.1:6443"
  std::string ca_pem{};           // empty: plain HTTP, or a CA that the client knows
  std::string certificate_pem{};  // a client certificate and its key, ...
  std::string key_pem{};
  std::string token{};          // ... or a token
  std::string namespace_{};     // of the context
  std::string name = "kubexx";  // of cluster, user and context
};

// YAML that kubectl and every client library read. It holds secrets in clear: write it with mode 0600.
KUBE_EXPORT std::string MakeKubeconfig(const KubeconfigParts& parts);

}  // namespace kube::testing
