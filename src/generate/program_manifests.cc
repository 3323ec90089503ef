#include "generate/program_manifests.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "generate/roles.h"
#include "generate/webhooks.h"
#include "kube/codec/yaml.h"

namespace kube::generate {
namespace {

struct Printed {
  std::vector<Value> roles, webhooks, services, crds;
};

Printed ReadPrinted(const std::string& text, Problems& problems) {
  Printed out;
  const Result<std::vector<Value>> documents = ParseYaml(text);
  if (!documents) {
    problems.Error({}, "what the program prints for --print-manifests is no YAML: " + documents.error().message());
    return out;
  }
  for (const Value& document : *documents) {
    const std::string_view version = document["apiVersion"].string_value().view(), kind = document["kind"].string_value().view();
    if (version == "rbac.authorization.k8s.io/v1" && (kind == "ClusterRole" || kind == "Role")) {
      out.roles.push_back(document);
    } else if (version == "admissionregistration.k8s.io/v1" &&
               (kind == "MutatingWebhookConfiguration" || kind == "ValidatingWebhookConfiguration")) {
      out.webhooks.push_back(document);
    } else if (version == "v1" && kind == "Service") {
      out.services.push_back(document);
    } else if (version == "apiextensions.k8s.io/v1" && kind == "CustomResourceDefinition") {
      out.crds.push_back(document);
    } else {
      problems.Error({},
                     fmt::format("the program prints an object that this command has no file for: apiVersion \"{}\", kind \"{}\"; use the "
                                 "command of the program's version of kubexx",
                                 version, kind));
    }
  }
  return out;
}

// All markers of the model whose name begins so.
std::vector<Marker> MarkersOf(const Model& model, std::string_view prefix) {
  std::vector<Marker> out;
  const auto add = [&](const std::vector<Marker>& markers) {
    for (const Marker& marker : markers) {
      if (marker.name.starts_with(prefix)) out.push_back(marker);
    }
  };
  for (const File& file : model.files) add(file.markers);
  for (const Alias& alias : model.aliases) add(alias.markers);
  for (const Struct& s : model.structs) {
    add(s.markers);
    for (const Field& field : s.fields) add(field.markers);
  }
  return out;
}

}  // namespace

ProgramManifests MakeProgramManifests(const Model& model, const std::optional<std::string>& printed, const std::string& role_name,
                                      Problems& problems) {
  const Printed program = printed ? ReadPrinted(*printed, problems) : Printed();
  ProgramManifests out;
  out.roles = RolesYaml(MakeRoles(MarkersOf(model, "kubebuilder:rbac"), program.roles, role_name, problems));
  for (const Value& configuration : MakeWebhookConfigurations(MarkersOf(model, "kubebuilder:webhook"), program.webhooks, problems))
    out.webhooks += "---\n" + ToYaml(configuration);
  for (const Value& service : program.services) out.webhooks += "---\n" + ToYaml(service);
  for (const Value& crd : program.crds) {
    const Value& conversion = crd["spec"]["conversion"];
    if (!conversion.is_null()) out.conversions[crd["metadata"]["name"].string_value().str()] = conversion;
  }
  return out;
}

}  // namespace kube::generate
