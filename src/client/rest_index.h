// An index over ServerApis for the lookups of RestMapper.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kube/client/discovery.h"
#include "kube/client/rest_mapper.h"
#include "kube/meta/gvk.h"

namespace kube::internal {

// Thread safety: immutable.
class RestIndex {
 public:
  // Called for each ambiguous short name, with the chosen resource and the others that have it.
  using Ambiguity = std::function<void(std::string_view short_name, const GroupResource& chosen, const GroupResource& other)>;

  explicit RestIndex(std::shared_ptr<const ServerApis> apis);

  const std::shared_ptr<const ServerApis>& apis() const { return apis_; }

  // In order; empty if nothing matches. Empty `versions`: all versions, else the first that has the kind.
  std::vector<RestMapping> Kinds(const GroupKind& kind, const std::vector<String>& versions) const;
  std::vector<RestMapping> Resources(const Gvr& resource, const Ambiguity& ambiguity) const;
  std::optional<RestMapping> Argument(std::string_view text, const Ambiguity& ambiguity) const;
  std::vector<RestMapping> Category(std::string_view category) const;

  // Whether the kind may be in a group-version that could not be read. An empty version means any version of the group.
  bool MayBeInFailure(const GroupVersion& group_version) const;

 private:
  struct Entry {
    RestMapping mapping;
    std::size_t rank = 0;  // rank of its group-version; lower is better
  };
  using Matches = std::vector<const Entry*>;
  using ByName = std::unordered_map<std::string, Matches>;

  enum class GroupMatch { kExact, kPrefix };
  // Finds by plural or singular name.
  Matches FullName(const std::string& name, std::string_view group, std::string_view version, GroupMatch match) const;
  Matches ShortName(const std::string& name, std::string_view group, std::string_view version, GroupMatch match,
                    const Ambiguity& ambiguity) const;

  std::shared_ptr<const ServerApis> apis_;
  std::vector<Entry> entries_;  // best first; immutable once the maps refer to it
  ByName plural_, singular_, short_, kind_lower_, category_;
  std::unordered_map<GroupKind, Matches> kind_;
};

}  // namespace kube::internal
