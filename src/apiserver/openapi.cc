#include "apiserver/openapi.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "apiserver/discovery.h"
#include "apiserver/openapi_paths.h"
#include "apiserver/openapi_schema.h"
#include "kube/codec/json.h"
#include "kube/meta/v1.h"
#include "kube/version.h"

namespace kube::apiserver {
namespace {

// A document of the index: one group and version, or one place where discovery is answered.
struct Place {
  std::string path;  // "apis/apps/v1"
  const ServedGroup* group = nullptr;
  const ServedVersion* version = nullptr;
};

bool IsCustom(const ServedVersion& version) {
  for (const auto& [name, resource] : version.resources) {
    if (!resource->custom) return false;
  }
  return true;
}

bool HasBuiltin(const ServedGroup& group) {
  for (const ServedVersion& v : group.versions) {
    if (!IsCustom(v)) return true;
  }
  return false;
}

std::vector<Place> Places(const Resources& resources) {
  std::vector<Place> out = {{"api"}, {"apis"}, {"version"}};
  for (const ServedGroup& g : resources.groups()) {
    if (!g.name.empty() && HasBuiltin(g)) out.push_back({"apis/" + g.name, &g, nullptr});
    for (const ServedVersion& v : g.versions) out.push_back({RootOf(g, v).substr(1), &g, &v});
  }
  return out;
}

std::optional<Place> FindPlace(const Resources& resources, std::string_view path) {
  for (Place& place : Places(resources)) {
    if (place.path == path) return std::move(place);
  }
  return std::nullopt;
}

// Everything that a document depends on, as text; the tables of built-in kinds are part of this version of the library.
void Fingerprint(const Place& place, std::string& out) {
  out += fmt::format("{} {} {}\n", KUBE_VERSION_STRING, KubernetesMinorVersion(), place.path);
  if (place.version == nullptr) return;
  for (const auto& [name, r] : place.version->resources) {
    out += fmt::format("{} {} {} {}\n", r->resource, r->kind, r->list_kind, r->namespaced);
    for (const std::string& verb : r->verbs) out += verb + " ";
    for (const ServedSubresource& s : r->subresources) {
      out += fmt::format("{}/{} ", s.name, s.kind);
      for (const std::string& verb : s.verbs) out += verb + " ";
    }
    if (!r->custom) continue;
    out += ToJson(r->custom->raw_schema);
    for (const std::string& field : r->custom->selectable_fields) out += field + " ";
  }
}

void AddVersionPath(Definitions& definitions, Value& paths) {
  Value properties = Value::Object();
  Value required = Value::Array();
  for (const char* name : {"major", "minor", "gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"}) {
    properties[name] = Value::Object({{"type", "string"}});
    if (definitions.form() == OpenApiForm::kV3) properties[name]["default"] = "";
    required.MutableList().push_back(name);
  }
  for (const char* name : {"emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor"}) {
    properties[name] = Value::Object({{"type", "string"}});
  }
  OpenApiOperation op;
  op.method = "get";
  op.id = "getCodeVersion";
  op.tag = "version";
  op.consumes = op.produces = {"application/json"};
  op.codes = {200};
  op.answer = definitions.RefTo("io.k8s.apimachinery.pkg.version.Info",
                                Value::Object({{"type", "object"}, {"properties", properties}, {"required", required}}));
  paths["/version/"] = PathItem({op}, definitions.form());
}

void AddPlace(const Place& place, Definitions& definitions, Value& paths) {
  if (place.path == "version") return AddVersionPath(definitions, paths);
  std::string path = "/" + place.path + "/";
  if (place.path == "api") {
    AddDiscoveryPath(path, "getCoreAPIVersions", "core", meta::v1::APIVersions::kType, definitions, paths);
  } else if (place.path == "apis") {
    AddDiscoveryPath(path, "getAPIVersions", "apis", meta::v1::APIGroupList::kType, definitions, paths);
  } else if (place.version == nullptr) {
    std::string tag = OpenApiGroupTag(place.group->name);
    AddDiscoveryPath(path, fmt::format("get{}APIGroup", Capitalized(tag)), tag, meta::v1::APIGroup::kType, definitions, paths);
  } else {
    std::string tag = OpenApiGroupTag(place.group->name);
    if (!IsCustom(*place.version)) {
      AddDiscoveryPath(path, fmt::format("get{}{}APIResources", Capitalized(tag), Capitalized(place.version->version)),
                       fmt::format("{}_{}", tag, place.version->version), meta::v1::APIResourceList::kType, definitions, paths);
    }
    AddResourcePaths(*place.group, *place.version, definitions, paths);
  }
}

Value Info() { return Value::Object({{"title", "Kubernetes"}, {"version", KubernetesMinorVersion()}}); }

Value BearerToken() {
  return Value::Object({{"BearerToken", Value::Object({{"type", "apiKey"}, {"name", "authorization"}, {"in", "header"}})}});
}

std::string HashOf(const Place& place) {
  std::string text;
  Fingerprint(place, text);
  return Sha512Hex(text);
}

}  // namespace

Value OpenApiV3Index(const Resources& resources) {
  Value paths = Value::Object();
  for (const Place& place : Places(resources)) {
    paths[place.path] = Value::Object({{"serverRelativeURL", fmt::format("/openapi/v3/{}?hash={}", place.path, HashOf(place))}});
  }
  return Value::Object({{"paths", std::move(paths)}});
}

std::string OpenApiV3Hash(const Resources& resources, std::string_view path) {
  std::optional<Place> place = FindPlace(resources, path);
  return place ? HashOf(*place) : "";
}

std::optional<Value> OpenApiV3Document(const Resources& resources, std::string_view path) {
  std::optional<Place> place = FindPlace(resources, path);
  if (!place) return std::nullopt;
  Definitions definitions(OpenApiForm::kV3);
  Value paths = Value::Object();
  AddPlace(*place, definitions, paths);
  Value components = Value::Object({{"schemas", definitions.Take()}});
  Value info = Info();
  if (place->version != nullptr && IsCustom(*place->version)) {
    // The real server makes these documents elsewhere.
    info = Value::Object({{"title", "Kubernetes CRD Swagger"}, {"version", "v0.1.0"}});
  } else {
    components["securitySchemes"] = BearerToken();
  }
  return Value::Object({{"openapi", "3.0.0"}, {"info", info}, {"paths", std::move(paths)}, {"components", std::move(components)}});
}

Value OpenApiV2Document(const Resources& resources) {
  Definitions definitions(OpenApiForm::kV2);
  Value paths = Value::Object();
  for (const Place& place : Places(resources)) AddPlace(place, definitions, paths);
  return Value::Object({{"swagger", "2.0"},
                        {"info", Info()},
                        {"paths", std::move(paths)},
                        {"definitions", definitions.Take()},
                        {"securityDefinitions", BearerToken()},
                        {"security", Value::Array({Value::Object({{"BearerToken", Value::Array()}})})}});
}

std::string OpenApiV3(const Resources& resources, const ServedGroup& group, const ServedVersion& version) {
  std::optional<Value> document = OpenApiV3Document(resources, RootOf(group, version).substr(1));
  return document ? ToJson(*document) : "";
}

std::string OpenApiV2(const Resources& resources) { return ToJson(OpenApiV2Document(resources)); }

std::string OpenApiV2Hash(const Resources& resources) {
  std::string text;
  for (const Place& place : Places(resources)) Fingerprint(place, text);
  return Sha512Hex(text);
}

}  // namespace kube::apiserver
