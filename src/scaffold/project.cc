#include "scaffold/project.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "kube/codec/json.h"
#include "kube/value/value.h"
#include "scaffold/names.h"

namespace kube::scaffold {
namespace {

constexpr std::int64_t kLayout = 1;

constexpr std::array<std::pair<const char*, std::vector<Part> Resource::*>, 2> kParts = {
    {{"controller", &Resource::controllers}, {"webhook", &Resource::webhooks}}};

Value ToValue(const Part& part) {
  Value out = Value::Object();
  out["header"] = part.header;
  out["setup"] = part.setup;
  if (part.defaulting) out["defaulting"] = true;
  if (part.validation) out["validation"] = true;
  return out;
}

Part ToPart(const Value& value) {
  return {.header = value["header"].string_value().str(),
          .setup = value["setup"].string_value().str(),
          .defaulting = value["defaulting"].bool_value(),
          .validation = value["validation"].bool_value()};
}

// A header, which is included by its name, and a function or type, which is called by it.
bool IsCode(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == ';'; });
}

Result<void> Check(const Resource& resource) {
  if (resource.version.empty() || resource.kind.empty() || resource.header.empty())
    return Error::Invalid("version, kind or header is missing");
  std::vector<std::string_view> code = {resource.header, resource.type, resource.conversion.header, resource.conversion.setup};
  for (const auto& [name, parts] : kParts) {
    for (const Part& part : resource.*parts) {
      if (part.header.empty() || part.setup.empty()) return Error::Invalid(fmt::format("{}: header or setup is missing", name));
      code.insert(code.end(), {part.header, part.setup});
    }
  }
  for (const std::string_view text : code) {
    if (!IsCode(text)) return Error::Invalid(fmt::format("\"{}\" is neither a header nor a C++ name", text));
  }
  return {};
}

}  // namespace

const Resource* Project::Find(std::string_view group, std::string_view version, std::string_view kind) const {
  const auto found = std::find_if(resources.begin(), resources.end(),
                                  [&](const Resource& r) { return r.group == group && r.version == version && r.kind == kind; });
  return found == resources.end() ? nullptr : &*found;
}

Resource* Project::Find(std::string_view group, std::string_view version, std::string_view kind) {
  return const_cast<Resource*>(std::as_const(*this).Find(group, version, kind));
}

std::string ToText(const Project& project) {
  List<Value> resources;
  for (const Resource& resource : project.resources) {
    Value out = Value::Object();
    out["group"] = resource.group;
    out["version"] = resource.version;
    out["kind"] = resource.kind;
    out["plural"] = resource.plural;
    out["namespaced"] = resource.namespaced;
    if (resource.built_in) out["builtIn"] = true;
    if (resource.external) out["external"] = true;
    out["header"] = resource.header;
    if (!resource.includes.empty()) {
      List<Value> includes;
      for (const std::string& header : resource.includes) includes.push_back(header);
      out["includes"] = Value(std::move(includes));
    }
    out["type"] = resource.type;
    for (const auto& [name, parts] : kParts) {
      List<Value> several;
      for (const Part& part : resource.*parts) several.push_back(ToValue(part));
      if (several.size() == 1) out[name] = several[0];
      if (several.size() > 1) out[name] = Value(std::move(several));
    }
    if (resource.conversion.exists()) out["conversion"] = ToValue(resource.conversion);
    resources.push_back(std::move(out));
  }
  Value out = Value::Object();
  out["layout"] = kLayout;
  out["name"] = project.name;
  out["domain"] = project.domain;
  out["resources"] = Value(std::move(resources));
  return ToJson(out, {.indent = 2}) + "\n";
}

Result<Project> ParseProject(std::string_view text) {
  const Result<Value> parsed = ParseJson(text);
  if (!parsed) return parsed.error();
  const std::int64_t layout = (*parsed)["layout"].int_value();
  if (layout > kLayout)
    return Error::Invalid(
        fmt::format("has \"layout\": {}, which a newer kubexx writes; this one knows up to {}: update it", layout, kLayout));
  if (layout != kLayout) return Error::Invalid(fmt::format("expected \"layout\": {}; is this a PROJECT of `kubexx init`?", kLayout));
  Project out;
  out.name = (*parsed)["name"].string_value().str();
  out.domain = (*parsed)["domain"].string_value().str();
  if (out.name.empty() || out.domain.empty()) return Error::Invalid("name or domain is missing");
  if (Result<void> good = CheckProjectName(out.name); !good) return good.error();
  if (Result<void> good = CheckDomain(out.domain); !good) return good.error();
  for (const Value& value : (*parsed)["resources"].list()) {
    Resource resource;
    const auto read = [&](const char* name) { return value[name].string_value().str(); };
    resource.group = read("group");
    resource.version = read("version");
    resource.kind = read("kind");
    resource.plural = read("plural");
    resource.namespaced = value["namespaced"].bool_value();
    resource.built_in = value["builtIn"].bool_value();
    resource.external = value["external"].bool_value();
    for (const Value& header : value["includes"].list()) resource.includes.push_back(header.string_value().str());
    resource.header = read("header");
    resource.type = read("type");
    for (const auto& [name, parts] : kParts) {
      const Value& part = value[name];
      if (part.is_object()) (resource.*parts).push_back(ToPart(part));
      for (const Value& one : part.list()) (resource.*parts).push_back(ToPart(one));
    }
    // Written before there were these fields.
    for (Part& webhook : resource.webhooks) {
      if (!webhook.defaulting && !webhook.validation) webhook.defaulting = webhook.validation = true;
    }
    resource.conversion = ToPart(value["conversion"]);
    if (Result<void> good = Check(resource); !good)
      return Error::Invalid(fmt::format("resources[{}]: {}", out.resources.size(), good.error().message()));
    out.resources.push_back(std::move(resource));
  }
  return out;
}

}  // namespace kube::scaffold
