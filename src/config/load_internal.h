// The parts of LoadConfig.
#pragma once

#include <string>

#include "kube/config/load.h"

namespace kube::internal {

// The values of Error::reason(), for the predicates.
inline constexpr const char* kNotInCluster = "NotInCluster";
inline constexpr const char* kEmptyConfig = "EmptyConfig";
inline constexpr const char* kContextNotFound = "ContextNotFound";

Error ConfigError(std::string message, const char* reason = "");

// A variable of the options' environment; empty if it is unset.
std::string EnvironmentOf(const LoadOptions& options, const char* name);

// Whether the environment names a server and a token is mounted.
bool InClusterPossible(const LoadOptions& options);
// The namespace of the pod: $POD_NAMESPACE, else the service account's, else "default".
std::string InClusterNamespace(const LoadOptions& options);

}  // namespace kube::internal
