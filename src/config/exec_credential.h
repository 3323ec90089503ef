// ExecCredential: the input and output of an exec plugin (client.authentication.k8s.io v1 and v1beta1).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/secret_string.h"
#include "kube/config/client_config.h"
#include "kube/value/value.h"

namespace kube::internal {

inline constexpr std::size_t kMaxExecOutput = std::size_t{1} << 20;

bool IsExecApiVersion(std::string_view api_version);

// Whether the token is valid in a header: printable ASCII without spaces.
bool IsHeaderToken(std::string_view token);

// The output of the plugin.
struct ExecCredential {
  SecretString token;
  std::string certificate_pem;  // both or none are set
  SecretString key_pem;
  std::optional<std::chrono::system_clock::time_point> expires;
};

// Parses the output of a plugin: one ExecCredential of exactly this version, as JSON or YAML, with a token or both halves of a certificate
// (whose contents are not checked here). Errors: kAuth, with text that follows the name of the command. They never quote the output.
KUBE_EXPORT Result<ExecCredential> ParseExecCredential(std::string_view text, std::string_view api_version);

// spec.cluster of KUBERNETES_EXEC_INFO. `ca_pem`: the contents of ca_data or ca_file.
Value ExecClusterInfo(const ClientConfig& config, std::string_view ca_pem);
// The value of KUBERNETES_EXEC_INFO. A null `cluster` is not passed to the plugin.
std::string ExecInfo(std::string_view api_version, bool interactive, const Value& cluster);

}  // namespace kube::internal
