// Finding what a control plane is made of: programs, ports, and an existing cluster's kubeconfig.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kube/base/result.h"
#include "testing/http.h"

namespace kube::testing::internal {

// An environment variable; empty where it is unset.
std::string Environment(const char* name);

// ${KUBEXX_CACHE:-${XDG_CACHE_HOME:-~/.cache}/kubexx}/control-plane
std::string ControlPlaneCache();

bool IsProgram(const std::string& path);

// A port of 127.0.0.1 on which nothing listens, outside of the range from which the system takes ports for outgoing connections: a
// server that is down for a moment finds its port free again. Somebody else may still be faster; callers try again.
Result<std::uint16_t> PickPort();

// Where a kubeconfig's current context leads.
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
// The last `lines` lines; empty where there is no such file.
std::string TailOf(const std::string& path, int lines);

}  // namespace kube::testing::internal
