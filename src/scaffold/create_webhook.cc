#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "scaffold/files.h"
#include "scaffold/names.h"
#include "scaffold/resources.h"
#include "scaffold/scaffold.h"

namespace kube::scaffold {
namespace {

// The webhook that the options are about: one that has the same functions, else a new one, which the files of the others do not know.
Result<Part*> FindWebhook(Resource& resource, const CreateWebhookOptions& options) {
  std::string headers;
  bool overlaps = false;
  for (Part& part : resource.webhooks) {
    if (part.defaulting == options.defaulting && part.validation == options.validation) return &part;
    overlaps = overlaps || (part.defaulting && options.defaulting) || (part.validation && options.validation);
    headers += (headers.empty() ? "" : ", ") + part.header;
  }
  // With --force it is created again.
  if (overlaps && resource.webhooks.size() == 1) return &resource.webhooks[0];
  if (overlaps) return Error::Invalid(fmt::format("--kind: {} {} has both webhooks: {}", resource.version, resource.kind, headers));
  return static_cast<Part*>(nullptr);
}

Result<void> AddWebhook(FileSet& files, Resource& resource, const CreateWebhookOptions& options) {
  Result<Part*> part = FindWebhook(resource, options);
  if (!part) return part.error();
  const bool second = *part == nullptr ? !resource.webhooks.empty() : *part != resource.webhooks.data();
  const Result<PartNames> names = NamePart(files.project(), resource,
                                           {.part = "webhook",
                                            .versioned = true,
                                            .about = !second              ? ""
                                                     : options.validation ? "validation"
                                                                          : "defaulting"});
  if (!names) return names.error();
  if (*part == nullptr) {
    resource.webhooks.emplace_back();
    part = &resource.webhooks.back();
  }
  **part = {.header = names->header, .setup = names->setup, .defaulting = options.defaulting, .validation = options.validation};
  Variables& variables = files.variables();
  variables["id"] = names->id;
  variables["webhook_header"] = names->header;
  variables["defaulting"] = options.defaulting ? "yes" : "";
  variables["validation"] = options.validation ? "yes" : "";
  std::string functions;
  if (options.defaulting) functions += ".Default(SetDefaults)";
  if (!options.defaulting_path.empty()) functions += fmt::format(".DefaultAt(\"{}\")", options.defaulting_path);
  if (options.validation) functions += ".Validate(Validate)";
  if (!options.validation_path.empty()) functions += fmt::format(".ValidateAt(\"{}\")", options.validation_path);
  variables["webhook_functions"] = functions;
  // A domain of at least three parts.
  const std::string group = resource.own()
                                ? resource.group
                                : fmt::format("{}.{}", resource.group.empty() ? "core" : resource.group.substr(0, resource.group.find('.')),
                                              files.project().domain);
  variables["webhook_name"] = fmt::format("{}{}.{}", names->prefix, resource.plural, group);
  files.Add("webhook.h", names->header);
  files.Add("webhook.cc", names->source);
  files.Add("webhook_test.cc", names->test);
  return {};
}

Result<void> AddConversion(FileSet& files, Resource& hub, const CreateWebhookOptions& options) {
  const std::vector<const Resource*> versions = VersionsOf(files.project(), hub.group, hub.kind);
  std::vector<const Resource*> spokes;
  for (const Resource* resource : versions) {
    const bool wanted =
        options.spokes.empty() || std::find(options.spokes.begin(), options.spokes.end(), resource->version) != options.spokes.end();
    if (wanted && resource->version != hub.version) spokes.push_back(resource);
    if (resource->version != hub.version && resource->conversion.exists())
      return Error::Invalid(
          fmt::format("--conversion: {} has one, {}, with the hub {}", hub.kind, resource->conversion.header, resource->version));
  }
  for (const std::string& spoke : options.spokes) {
    const bool known = std::any_of(spokes.begin(), spokes.end(), [&](const Resource* r) { return r->version == spoke; });
    if (!known) return Error::Invalid(fmt::format("--spoke: \"{}\" is no other version of {}", spoke, hub.kind));
  }
  if (spokes.empty())
    return Error::Invalid(fmt::format("--conversion: {} has one version; `kubexx create api` makes another one", hub.kind));

  const Result<PartNames> made = NamePart(files.project(), hub, {.part = "conversion"});
  if (!made) return made.error();
  const PartNames& names = *made;
  hub.conversion = {.header = names.header, .setup = names.setup};
  std::string calls;
  std::set<std::string> headers = {hub.header};
  for (const Resource* spoke : spokes) {
    headers.insert(spoke->header);
    calls += fmt::format(
        "\n          .Spoke<{0}>([]([[maybe_unused]] const {0}& from, [[maybe_unused]] {1}& to) {{}},\n"
        "          {2}[]([[maybe_unused]] const {1}& from, [[maybe_unused]] {0}& to) {{}})",
        spoke->type, hub.type, std::string(std::string_view(".Spoke<>(").size() + spoke->type.size(), ' '));
  }
  // The first version is the stored one: types.h.in.
  if (versions[0]->version != hub.version) calls += fmt::format("\n          .StoredAs<{}>()", versions[0]->type);
  std::string includes;
  for (const std::string& header : headers) includes += fmt::format("{}#include \"{}\"", includes.empty() ? "" : "\n", header);
  Variables& variables = files.variables();
  variables["id"] = names.id;
  variables["conversion_header"] = names.header;
  variables["include_versions"] = includes;
  variables["spokes"] = calls;
  files.Add("conversion.h", names.header);
  files.Add("conversion.cc", names.source);
  files.Add("conversion_test.cc", names.test);
  return {};
}

}  // namespace

Result<Scaffold> CreateWebhook(const Project& project, const CreateWebhookOptions& options) {
  if (!options.defaulting && !options.validation && !options.conversion)
    return Error::Invalid("what for? Pass --defaulting, --validation or --conversion");
  if (!options.spokes.empty() && !options.conversion) return Error::Invalid("--spoke is for --conversion");
  for (const auto& [flag, path, wanted, of] :
       {std::tuple("--defaulting-path", &options.defaulting_path, options.defaulting, "--defaulting"),
        std::tuple("--validation-path", &options.validation_path, options.validation, "--validation")}) {
    if (path->empty()) continue;
    if (!wanted) return Error::Invalid(fmt::format("{} is for {}", flag, of));
    if (Result<void> good = CheckWebhookPath(flag, *path); !good) return good.error();
  }
  KindName name{options.group, options.version, options.kind};
  Result<Resource> found = options.external ? options.external->resource : FindResource(project, name);
  if (options.external) {
    if (const Resource* known = project.Find(found->group, found->version, found->kind); known != nullptr) found = *known;
  }
  if (!found && options.conversion && !options.defaulting && !options.validation && options.version.empty()) {
    // The version that is stored is a good hub.
    for (const Resource& resource : project.resources) {
      if (found || resource.kind != options.kind || (options.group && resource.group != FullGroup(*options.group, project.domain)))
        continue;
      name.version = resource.version;
      found = FindResource(project, name);
    }
  }
  if (!found) return found.error();
  Resource resource = *std::move(found);
  if (!resource.own() && options.conversion)
    return Error::Invalid(fmt::format("--conversion: {} is converted by {}", resource.kind,
                                      resource.built_in ? "the API server itself" : "the program of its own project"));
  if (!options.plural.empty() && options.plural != resource.plural)
    return Error::Invalid(fmt::format("--plural: {} {} has the plural {}", resource.version, resource.kind, resource.plural));

  FileSet files(project);
  DescribeKind(resource, files.variables());
  if (options.external) {
    for (const ScaffoldFile& file : options.external->files) files.Add(file);
  }
  if (options.defaulting || options.validation) {
    if (Result<void> added = AddWebhook(files, resource, options); !added) return added.error();
  }
  if (options.conversion) {
    if (Result<void> added = AddConversion(files, resource, options); !added) return added.error();
  }
  if (Resource* known = files.project().Find(resource.group, resource.version, resource.kind); known != nullptr) {
    *known = resource;
  } else {
    files.project().resources.push_back(resource);
  }
  return files.Finish();
}

}  // namespace kube::scaffold
