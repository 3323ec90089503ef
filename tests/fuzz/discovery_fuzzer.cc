// Answers of /api and /apis: whatever a server says, what is made of it fits together, and survives being kept in files.
#include <cstdint>
#include <memory>
#include <string_view>

#include "client/discovery_parse.h"
#include "client/rest_index.h"
#include "require.h"

namespace {

using kube::ApiGroup;
using kube::ApiResource;
using kube::ApiResourceList;
using kube::fuzz::Require;
using namespace kube::internal;  // NOLINT(google-build-using-namespace)

void Check(const DiscoveryRoot& root) {
  auto apis = std::make_shared<kube::ServerApis>();
  apis->groups = root.groups;
  apis->lists = root.lists;
  apis->failures = root.failures;
  for (const ApiGroup& group : root.groups) {
    Require(!root.aggregated || group.preferred_version.empty() == group.versions.empty(), "a group with versions prefers one");
    Require(!root.aggregated || group.versions.empty() || group.Has(group.preferred_version),
            "the preferred version is one of the group's");
  }
  for (const ApiResourceList& list : root.lists) {
    Require(apis->FindGroup(list.group_version.group) != nullptr, "a list has a group");
    for (const ApiResource& r : list.resources) Require(r.group_version == list.group_version, "a resource is of its list's version");
    (void)ParseApiResourceList(list.group_version, WriteApiResourceList(list)).value();
  }
  for (const ApiResourceList& list : apis->Preferred()) Require(!list.resources.empty(), "no empty lists are preferred");
  Require(apis->error().has_value() == !root.failures.empty(), "failures make an error");
  (void)ReadApiGroups(WriteApiGroups(root.groups)).value();

  const RestIndex index(apis);
  for (const ApiResourceList& list : root.lists) {
    for (const ApiResource& r : list.resources) {
      if (r.is_subresource() || r.name.empty()) continue;
      // Also if the same group-version comes twice, of which the first counts.
      if (apis->Find(list.group_version) != &list && apis->Find(list.group_version)->Find(r.name) == nullptr) continue;
      (void)index.Argument(r.name, nullptr);
      (void)index.Kinds({list.group_version.group, r.gvk.kind}, {});
      for (const kube::String& name : r.short_names) (void)index.Resources({list.group_version.group, "", name}, nullptr);
      for (const kube::String& name : r.categories)
        Require(!index.Category(name).empty() || apis->Find(list.group_version) != &list, "a category has its resources");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  (void)DiscoveryFormOf(input.substr(0, input.find('\n')));
  for (const DiscoveryForm form : {DiscoveryForm::kV2, DiscoveryForm::kV2Beta1, DiscoveryForm::kLegacy}) {
    if (const kube::Result<DiscoveryRoot> root = ParseDiscoveryRoot(form, false, input)) Check(*root);
  }
  if (const kube::Result<DiscoveryRoot> root = ParseDiscoveryRoot(DiscoveryForm::kLegacy, true, input)) Check(*root);
  (void)ParseApiResourceList({"apps", "v1"}, input);
  return 0;
}
