// Parses the responses of /api, /apis and /apis/<group>/<version> into the types of discovery.h, and writes them for files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"
#include "kube/client/discovery.h"

namespace kube::internal {

enum class DiscoveryForm { kLegacy, kV2Beta1, kV2 };

// The Accept header of a request. `no_peer`: see DiscoveryOptions.
std::string DiscoveryAccept(bool legacy, bool no_peer);

// The form of a response by its Content-Type: aggregated only if media type, group, version and kind all match, in any order and among any
// other parameters.
DiscoveryForm DiscoveryFormOf(std::string_view content_type);

// The contents of /api or /apis.
struct DiscoveryRoot {
  bool aggregated = false;
  std::vector<ApiGroup> groups{};
  std::vector<ApiResourceList> lists{};      // aggregated form only
  std::vector<DiscoveryFailure> failures{};  // stale versions
};
// `core`: the response of /api, which has another format if it is not aggregated. Errors: kDecode.
Result<DiscoveryRoot> ParseDiscoveryRoot(DiscoveryForm form, bool core, std::string_view body);
Result<ApiResourceList> ParseApiResourceList(const GroupVersion& group_version, std::string_view body);

// The formats of kubectl's files: an APIGroupList that includes core, and an APIResourceList.
std::string WriteApiGroups(const std::vector<ApiGroup>& groups);
Result<std::vector<ApiGroup>> ReadApiGroups(std::string_view text);
std::string WriteApiResourceList(const ApiResourceList& list);

}  // namespace kube::internal
