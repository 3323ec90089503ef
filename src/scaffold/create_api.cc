#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "generate/plural.h"
#include "scaffold/files.h"
#include "scaffold/names.h"
#include "scaffold/resources.h"
#include "scaffold/scaffold.h"

namespace kube::scaffold {
namespace {

// The structs of a kind are Kind, KindSpec and KindStatus.
bool StructsCollide(std::string_view a, std::string_view b) {
  const auto makes = [](std::string_view kind, std::string_view other) {
    return other.starts_with(kind) && (other.substr(kind.size()) == "Spec" || other.substr(kind.size()) == "Status");
  };
  return makes(a, b) || makes(b, a);
}

Result<void> CheckAgainst(const Project& project, const Resource& fresh) {
  for (const Resource& other : project.resources) {
    if (other.own() && other.group != fresh.group && other.type == fresh.type)
      return Error::Invalid(
          fmt::format("--group: {} of {} has the C++ name {} already; choose another group or kind", other.kind, other.group, fresh.type));
    if (!other.own() || other.group != fresh.group || other.kind == fresh.kind) continue;
    if (other.plural == fresh.plural)
      return Error::Invalid(fmt::format("--kind: {} has the plural {} already; pass another one with --plural", other.kind, other.plural));
    if (other.header == fresh.header)
      return Error::Invalid(
          fmt::format("--kind: {} has the header {} already, and names of files have no capital letters; choose another kind", other.kind,
                      other.header));
    if (other.version == fresh.version && StructsCollide(other.kind, fresh.kind))
      return Error::Invalid(
          fmt::format("--kind: the structs of {} and {} would have the same name; choose another kind", other.kind, fresh.kind));
  }
  return {};
}

// api/v1/guestbook_types.h; with the group in front if the project began with another one.
std::string TypesHeader(const Project& project, const Resource& fresh, const std::string& group_name) {
  const auto first = std::find_if(project.resources.begin(), project.resources.end(), [](const Resource& r) { return r.own(); });
  const bool is_first = first == project.resources.end() || first->group == fresh.group;
  return fmt::format("api/{}{}/{}_types.h", is_first ? "" : group_name + "/", fresh.version, Lower(fresh.kind));
}

Result<Resource> NewKind(const Project& project, const CreateApiOptions& options) {
  const std::string group = options.group.value_or("");
  for (const Result<void>& good : {CheckGroup(group, project.domain), CheckVersion(options.version), CheckKind(options.kind)}) {
    if (!good) return good.error();
  }
  Resource fresh{.group = FullGroup(group, project.domain), .version = options.version, .kind = options.kind};
  fresh.plural = options.plural.empty() ? generate::PluralOf(fresh.kind) : options.plural;
  fresh.namespaced = options.namespaced;
  if (Result<void> good = CheckPlural(fresh.plural); !good) return good.error();
  if (const std::vector<const Resource*> versions = VersionsOf(project, fresh.group, fresh.kind); !versions.empty()) {
    // All versions of a kind are one CustomResourceDefinition.
    const Resource& first = *versions[0];
    if (!options.plural.empty() && options.plural != first.plural)
      return Error::Invalid(fmt::format("--plural: {} {} has the plural {}", first.version, first.kind, first.plural));
    fresh.plural = first.plural;
    fresh.namespaced = first.namespaced;
  }
  const std::string name = GroupName(group, project.domain);
  fresh.header = TypesHeader(project, fresh, name);
  fresh.type = fmt::format("{}::{}::{}", name, fresh.version, fresh.kind);
  if (Result<void> good = CheckAgainst(project, fresh); !good) return good.error();
  return fresh;
}

bool IsProtected(std::string_view group) {
  const auto within = [&](std::string_view domain) { return group == domain || group.ends_with("." + std::string(domain)); };
  return within("k8s.io") || within("kubernetes.io");
}

void AddTypes(FileSet& files, const Resource& fresh) {
  const std::vector<const Resource*> versions = VersionsOf(files.project(), fresh.group, fresh.kind);
  std::string marker;
  if (fresh.plural != generate::PluralOf(fresh.kind)) marker = "path=" + fresh.plural;
  if (!fresh.namespaced) marker += (marker.empty() ? "" : ",") + std::string("scope=Cluster");
  Variables& variables = files.variables();
  variables["namespace"] = fresh.type.substr(0, fresh.type.rfind("::"));
  variables["resource_marker"] = marker;
  variables["storage"] = versions.empty() || versions[0]->version == fresh.version ? "yes" : "";
  variables["protected_group"] = IsProtected(fresh.group) ? "yes" : "";
  files.Add("types.h", fresh.header);
  // As `kubexx generate --samples` and kubebuilder name it; with the whole group if another one begins so.
  const auto label = [](const Resource& r) { return r.group.substr(0, r.group.find('.')); };
  const std::vector<Resource>& all = files.project().resources;
  const bool alike = std::any_of(all.begin(), all.end(), [&](const Resource& other) {
    return other.own() && other.group != fresh.group && label(other) == label(fresh);
  });
  files.Add("sample.yaml",
            fmt::format("config/samples/{}_{}_{}.yaml", alike ? fresh.group : label(fresh), fresh.version, Lower(fresh.kind)));
}

Result<void> AddController(FileSet& files, Resource& fresh, const std::string& name) {
  // That of its kind needs no name.
  const std::string_view other = name == Lower(fresh.kind) ? "" : std::string_view(name);
  const Result<PartNames> names = NamePart(files.project(), fresh, {.part = "controller", .name = other});
  if (!names) return names.error();
  const auto known =
      std::find_if(fresh.controllers.begin(), fresh.controllers.end(), [&](const Part& part) { return part.header == names->header; });
  if (known == fresh.controllers.end()) fresh.controllers.push_back({.header = names->header, .setup = names->setup});
  Variables& variables = files.variables();
  variables["id"] = names->id;
  variables["controller_header"] = names->header;
  variables["controller_name"] = name.empty() ? names->prefix + Lower(fresh.kind) : name;
  files.Add("controller.h", names->header);
  files.Add("controller.cc", names->source);
  files.Add("controller_test.cc", names->test);
  return {};
}

}  // namespace

Result<Scaffold> CreateApi(const Project& project, const CreateApiOptions& options) {
  const bool resource = options.resource && !options.external;
  if (!options.controller_name.empty()) {
    if (Result<void> good = CheckControllerName(options.controller_name); !good) return good.error();
    if (!options.controller.value_or(true)) return Error::Invalid("--controller-name without a controller");
  }
  Result<Resource> found = options.external ? options.external->resource
                           : resource       ? NewKind(project, options)
                                            : FindResource(project, {options.group, options.version, options.kind});
  if (!found) return found.error();
  Resource fresh = *std::move(found);
  if (const Resource* known = project.Find(fresh.group, fresh.version, fresh.kind); known != nullptr) {
    if (known->own() != fresh.own())
      return Error::Invalid(
          fmt::format("--kind: {} {} is a kind of {}", fresh.version, fresh.kind, known->own() ? "this project" : "another project"));
    fresh.controllers = known->controllers;
    fresh.webhooks = known->webhooks;
    fresh.conversion = known->conversion;
  }
  // One controller for all versions of a kind.
  const std::vector<const Resource*> versions = VersionsOf(project, fresh.group, fresh.kind);
  const auto other = std::find_if(versions.begin(), versions.end(),
                                  [&](const Resource* r) { return r->version != fresh.version && !r->controllers.empty(); });
  if (options.controller.value_or(false) && options.controller_name.empty() && other != versions.end())
    return Error::Invalid(fmt::format("--controller: {} {} has one, {}; one controller does the work for all versions", (*other)->version,
                                      fresh.kind, (*other)->controllers[0].header));
  const bool controller = options.controller.value_or(other == versions.end() || !options.controller_name.empty());
  if (!resource && !controller) return Error::Invalid("--resource=false without a controller makes nothing");

  FileSet files(project);
  DescribeKind(fresh, files.variables());
  if (resource) AddTypes(files, fresh);
  if (options.external) {
    for (const ScaffoldFile& file : options.external->files) files.Add(file);
  }
  if (controller) {
    if (Result<void> added = AddController(files, fresh, options.controller_name); !added) return added.error();
  }
  if (Resource* known = files.project().Find(fresh.group, fresh.version, fresh.kind); known != nullptr) {
    *known = fresh;
  } else {
    files.project().resources.push_back(fresh);
  }
  Result<Scaffold> made = files.Finish();
  if (made && resource) made->type_header = fresh.header;
  return made;
}

}  // namespace kube::scaffold
