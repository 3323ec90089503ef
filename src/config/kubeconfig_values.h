// Converts the entries of a kubeconfig to and from the Values of its file.
#pragma once

#include <string>
#include <vector>

#include "kube/config/kubeconfig.h"
#include "kube/value/value.h"

namespace kube::internal {

// As kubectl writes them: unset members are omitted, except those that it always writes.
Value ClusterToValue(const KubeconfigCluster& cluster);
Value UserToValue(const KubeconfigUser& user);
Value ContextToValue(const KubeconfigContext& context);
Value KubeconfigToValue(const Kubeconfig& kubeconfig);

// The problems of an entry, one sentence each. `name` is the name of the entry.
std::vector<std::string> ClusterProblems(const std::string& name, const KubeconfigCluster& cluster);
std::vector<std::string> UserProblems(const std::string& name, const KubeconfigUser& user);
// Why the text is not a valid namespace name; empty if it is.
std::string NamespaceProblem(const std::string& ns);

// Whether no member is set.
bool IsEmptyCluster(const KubeconfigCluster& cluster);

// Makes the relative paths of all entries absolute, based on the directory of the file that the entry came from.
Result<void> ResolvePaths(Kubeconfig& kubeconfig);

std::vector<std::string> ContextNames(const Kubeconfig& kubeconfig);

// The cluster extension that is passed to an exec plugin.
inline constexpr const char* kExecExtension = "client.authentication.k8s.io/exec";

}  // namespace kube::internal
