// Answers of /api, /apis and /apis/<group>/<version> to what discovery.h has, and back for files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/result.h"
#include "kube/client/discovery.h"

namespace kube::internal {

enum class DiscoveryForm { kLegacy, kV2Beta1, kV2 };

// What to ask for. `no_peer`: see DiscoveryOptions.
std::string DiscoveryAccept(bool legacy, bool no_peer);

// By the Content-Type of an answer: aggregated only where media type, group, version and kind all fit, in any order and with any others
// beside them.
DiscoveryForm DiscoveryFormOf(std::string_view content_type);

// /api or /apis.
struct DiscoveryRoot {
  bool aggregated = false;
  std::vector<ApiGroup> groups{};
  std::vector<ApiResourceList> lists{};      // of the aggregated form
  std::vector<DiscoveryFailure> failures{};  // stale versions
};
// `core`: the answer of /api, which has a form of its own where it is not aggregated. Errors: kDecode.
Result<DiscoveryRoot> ParseDiscoveryRoot(DiscoveryForm form, bool core, std::string_view body);
Result<ApiResourceList> ParseApiResourceList(const GroupVersion& group_version, std::string_view body);

// The forms that kubectl keeps in files: an APIGroupList with core in it, and an APIResourceList.
std::string WriteApiGroups(const std::vector<ApiGroup>& groups);
Result<std::vector<ApiGroup>> ReadApiGroups(std::string_view text);
std::string WriteApiResourceList(const ApiResourceList& list);

}  // namespace kube::internal
