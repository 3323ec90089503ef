// Locates the parts of a control plane: programs, ports, and an existing cluster's kubeconfig.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kube/base/result.h"
#include "testing/http.h"

namespace kube::testing::internal {

// Returns an environment variable, or "" if it is not set.
std::string Environment(const char* name);

// ${KUBEXX_CACHE:-${XDG_CACHE_HOME:-~/.cache}/kubexx}/control-plane
std::string ControlPlaneCache();

bool IsProgram(const std::string& path);

// Returns a free port of 127.0.0.1 outside of the system's ephemeral range, so that a server that restarts finds its port still free.
// Another process may still take it first: callers retry.
Result<std::uint16_t> PickPort();

// The target of a kubeconfig's current context.
struct ExistingCluster {
  std::string kubeconfig;  // its text
  std::string url;
  HttpIdentity identity;
};
// $KUBECONFIG (the first file that exists), else ~/.kube/config.
Result<ExistingCluster> FindExistingCluster();
Result<ExistingCluster> ReadKubeconfig(const std::string& text, const std::string& folder);

Result<std::string> ReadFile(const std::string& path);
// Readable for this user only.
Result<void> WriteFile(const std::string& path, std::string_view text);
// The last `lines` lines; empty if the file does not exist.
std::string TailOf(const std::string& path, int lines);

}  // namespace kube::testing::internal
