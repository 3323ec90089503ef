// Discovery documents in both forms, and the server's version.
//
//   /api                        ApiVersions            /apis                      ApiGroupList
//   /apis/<group>               ApiGroup               /api/v1, /apis/<g>/<v>     ApiResourceList
//   /api, /apis aggregated      GroupDiscoveryList     /version                   VersionInfo
//
// Pure functions of a set of resources; their results are valid as long as the set.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/resources.h"
#include "kube/value/value.h"

namespace kube::apiserver {

// Groups other than core in the order of discovery: built-in ones by their priority, then those of CRDs by name.
std::vector<const ServedGroup*> DiscoveryGroups(const Resources& resources);

// `address` is where clients reach the server: "127.0.0.1:6443".
Value ApiVersions(std::string_view address);
Value ApiGroupList(const Resources& resources);
// An answer of kind APIGroup. Requires: `group` is of the set.
Value ApiGroup(const ServedGroup& group);
// An answer of kind APIResourceList.
Value ApiResourceList(const Resources& resources, const ServedGroup& group, const ServedVersion& version);

// An APIGroupDiscoveryList: core alone (`/api`) or all other groups (`/apis`). `version` of apidiscovery.k8s.io: "v2" or "v2beta1".
Value GroupDiscoveryList(const Resources& resources, bool core, std::string_view version = "v2");
// For If-None-Match: a quoted hash of the answer.
std::string ETagOf(std::string_view answer);

// The Kubernetes release whose behaviour this server implements: "1.36".
std::string_view KubernetesMinorVersion();
// `v1.36.3+kubexx.0.1.0` and the other fields of /version.
Value VersionInfo();

// SHA-512 in upper-case hexadecimal digits, as the real server marks documents.
std::string Sha512Hex(std::string_view text);

}  // namespace kube::apiserver
