// ExecCredential: what goes to an exec plugin, and what comes back (client.authentication.k8s.io v1 and v1beta1).
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

// Only a token that can stand in a header: printable ASCII without spaces.
bool IsHeaderToken(std::string_view token);

// What the plugin answered.
struct ExecCredential {
  SecretString token;
  std::string certificate_pem;  // both or none
  SecretString key_pem;
  std::optional<std::chrono::system_clock::time_point> expires;
};

// The output of a plugin: one ExecCredential of exactly this version, as JSON or YAML, with a token or both halves of a certificate (whose
// contents are not looked at here). Errors: kAuth with what is wrong, to be put behind the name of the command. They never quote the text.
KUBE_EXPORT Result<ExecCredential> ParseExecCredential(std::string_view text, std::string_view api_version);

// spec.cluster of KUBERNETES_EXEC_INFO. `ca_pem`: what ca_data or ca_file hold.
Value ExecClusterInfo(const ClientConfig& config, std::string_view ca_pem);
// The value of KUBERNETES_EXEC_INFO. `cluster` is null where the plugin is not told.
std::string ExecInfo(std::string_view api_version, bool interactive, const Value& cluster);

}  // namespace kube::internal
