// Between the entries of a kubeconfig and the Values that stand for them in its file.
#pragma once

#include <string>
#include <vector>

#include "kube/config/kubeconfig.h"
#include "kube/value/value.h"

namespace kube::internal {

// As kubectl writes them: what is not set is left out, except for the members that it always has.
Value ClusterToValue(const KubeconfigCluster& cluster);
Value UserToValue(const KubeconfigUser& user);
Value ContextToValue(const KubeconfigContext& context);
Value KubeconfigToValue(const Kubeconfig& kubeconfig);

// What is wrong with an entry, one sentence each. `name` is its own.
std::vector<std::string> ClusterProblems(const std::string& name, const KubeconfigCluster& cluster);
std::vector<std::string> UserProblems(const std::string& name, const KubeconfigUser& user);
// Empty where the text may be a namespace's name.
std::string NamespaceProblem(const std::string& ns);

// Whether nothing at all is set.
bool IsEmptyCluster(const KubeconfigCluster& cluster);

// Makes the relative paths of all entries absolute: they count from the folder of the file that the entry came from.
Result<void> ResolvePaths(Kubeconfig& kubeconfig);

std::vector<std::string> ContextNames(const Kubeconfig& kubeconfig);

// For extensions of clusters: what an exec plugin gets to see.
inline constexpr const char* kExecExtension = "client.authentication.k8s.io/exec";

}  // namespace kube::internal
