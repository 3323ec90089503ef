#include "scaffold/resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "generate/names.h"
#include "kube/api/all.h"
#include "kube/value/type_info.h"
#include "scaffold/names.h"

namespace kube::scaffold {
namespace {

std::string FirstLabel(std::string_view group) { return std::string(group.substr(0, group.find('.'))); }

// core, or the first label of the group: "apps", "networking".
bool IsBuiltInGroup(std::string_view group, std::string_view wanted) {
  if (wanted == "core") return group.empty();
  return !group.empty() && (group == wanted || FirstLabel(group) == wanted);
}

std::vector<Resource> BuiltIns(const KindName& name) {
  std::vector<Resource> out;
  for (const TypeInfo* type : api::AllKinds()) {
    const KindInfo& kind = *type->kind;
    if (kind.kind != name.kind || kind.is_list || kind.resource.empty()) continue;
    if (!name.group || !IsBuiltInGroup(kind.group, *name.group) || (!name.version.empty() && kind.version != name.version)) continue;
    // "core.v1.Pod" is kube::core::v1::Pod in kube/api/core/v1.h.
    const std::string table(type->name);
    const std::size_t first = table.find('.'), last = table.rfind('.');
    if (first == last) continue;
    Resource resource{.group = std::string(kind.group), .version = std::string(kind.version), .kind = name.kind};
    resource.plural = kind.resource;
    resource.namespaced = kind.namespaced;
    resource.built_in = true;
    const std::string package = table.substr(0, first), version = table.substr(first + 1, last - first - 1);
    resource.header = fmt::format("kube/api/{}/{}.h", package, version);
    resource.type = fmt::format("kube::{}::{}::{}", package, version, table.substr(last + 1));
    out.push_back(std::move(resource));
  }
  return out;
}

// As on the command line.
std::string ShortGroup(const Project& project, const Resource& resource) {
  if (!resource.own()) return resource.group.empty() ? "core" : FirstLabel(resource.group);
  if (!resource.group.ends_with("." + project.domain)) return "";
  return resource.group.substr(0, resource.group.size() - project.domain.size() - 1);
}

bool IsGroup(const Project& project, const Resource& resource, const std::string& wanted) {
  if (resource.built_in) return IsBuiltInGroup(resource.group, wanted);
  if (resource.external) return resource.group == wanted || FirstLabel(resource.group) == wanted;
  return resource.group == FullGroup(wanted, project.domain);
}

std::string Capitalized(std::string_view text) { return generate::TypeNamePart(text); }

}  // namespace

Result<Resource> FindResource(const Project& project, const KindName& name) {
  std::vector<Resource> found;
  for (const Resource& resource : project.resources) {
    if (resource.kind != name.kind || (!name.version.empty() && resource.version != name.version)) continue;
    if (!name.group || IsGroup(project, resource, *name.group)) found.push_back(resource);
  }
  if (found.empty()) found = BuiltIns(name);
  if (found.size() == 1) return found[0];
  if (found.empty()) {
    const std::string known =
        name.group ? fmt::format("PROJECT has no such kind of {}, nor is it built into Kubernetes", FullGroup(*name.group, project.domain))
                   : "PROJECT has no such kind; a kind that is built into Kubernetes needs --group, such as core or apps";
    return Error::Invalid(fmt::format("--kind: \"{}\" is unknown: {}. Kinds of other projects need --external-api-path", name.kind, known));
  }
  std::string list;
  for (const Resource& resource : found) list += fmt::format("{}{}/{}", list.empty() ? "" : ", ", resource.group, resource.version);
  return Error::Invalid(fmt::format("--kind: there are several {}: {}; pass --group and --version", name.kind, list));
}

std::vector<const Resource*> VersionsOf(const Project& project, std::string_view group, std::string_view kind) {
  std::vector<const Resource*> out;
  for (const Resource& resource : project.resources) {
    if (resource.group == group && resource.kind == kind) out.push_back(&resource);
  }
  return out;
}

Result<PartNames> NamePart(const Project& project, const Resource& resource, const PartRequest& request) {
  const auto names = [&](const std::string& before, const std::string& version) {
    std::string stem(request.name.empty() ? Lower(resource.kind) : request.name), id;
    if (request.name.empty()) {
      id = Capitalized(before) + resource.kind + Capitalized(version);
      if (!before.empty()) stem = before + "_" + stem;
      if (!version.empty()) stem += "_" + version;
    } else {
      id = Capitalized(request.name);
      std::replace(stem.begin(), stem.end(), '-', '_');
    }
    if (!request.about.empty()) stem += fmt::format("_{}", request.about);
    id += Capitalized(request.about);
    stem += fmt::format("_{}", request.part);
    std::string prefix = (version.empty() ? "" : version + "-") + (before.empty() ? "" : before + "-");
    std::replace(prefix.begin(), prefix.end(), '_', '-');
    return PartNames{.header = fmt::format("src/{}.h", stem),
                     .source = fmt::format("src/{}.cc", stem),
                     .test = fmt::format("tests/{}_test.cc", stem),
                     .id = id,
                     .setup = "Setup" + id + Capitalized(request.part),
                     .prefix = std::move(prefix)};
  };
  // The other resource that has one of these names, if there is one.
  const auto holder = [&](const PartNames& made) -> const Resource* {
    const auto has = [&](const Resource& other) {
      const bool same =
          other.group == resource.group && other.kind == resource.kind && (!request.versioned || other.version == resource.version);
      std::vector<Part> parts = other.controllers;
      parts.insert(parts.end(), other.webhooks.begin(), other.webhooks.end());
      parts.push_back(other.conversion);
      return std::any_of(parts.begin(), parts.end(), [&](const Part& part) {
        // The function of a header that differs in the letters' case only, or in where words begin.
        return part.exists() && (part.header == made.header ? !same : part.setup == made.setup);
      });
    };
    const auto found = std::find_if(project.resources.begin(), project.resources.end(), has);
    return found == project.resources.end() ? nullptr : &*found;
  };
  // The group is named if another group has the kind, the version if another version has such a part.
  PartNames made = names("", "");
  const Resource* other = holder(made);
  if (other == nullptr) return made;
  if (request.name.empty()) {
    const std::string group = GroupName(ShortGroup(project, resource), project.domain);
    const std::string before = other->group != resource.group ? group : "";
    for (const auto& [in_front, version] : {std::pair(before, std::string()), std::pair(before, request.versioned ? resource.version : ""),
                                            std::pair(group, std::string()), std::pair(group, resource.version)}) {
      made = names(in_front, version);
      if (holder(made) == nullptr) return made;
    }
    other = holder(made);
  }
  return Error::Invalid(fmt::format("{}: {} {} has a {} of the name {}{}", request.name.empty() ? "--kind" : "--controller-name",
                                    other->version, other->kind, request.part, made.setup,
                                    request.part == "controller" ? "; pass another --controller-name" : ""));
}

void DescribeKind(const Resource& resource, Variables& variables) {
  variables["group"] = resource.group;
  variables["version"] = resource.version;
  variables["kind"] = resource.kind;
  variables["plural"] = resource.plural;
  variables["lower"] = Lower(resource.kind);
  variables["header"] = resource.header;
  variables["type"] = resource.type;
  variables["namespaced"] = resource.namespaced ? "yes" : "";
  variables["in_default_namespace"] = resource.namespaced ? ", .namespace_ = \"default\"" : "";
  variables["own"] = resource.own() ? "yes" : "";
  variables["include"] = resource.built_in ? fmt::format("<{}>", resource.header) : fmt::format("\"{}\"", resource.header);
}

}  // namespace kube::scaffold
