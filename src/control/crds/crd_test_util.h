// Definitions for tests.
#pragma once

#include <string>
#include <vector>

#include "kube/control/crds.h"

namespace kube::internal {

inline const char* const kStringSpec = "{type: object, properties: {spec: {type: object, properties: {a: {type: string}}}}}";

inline std::string VersionYaml(const std::string& name, bool storage, const std::string& schema = kStringSpec,
                               const std::string& more = "") {
  return "  - {name: " + name + ", served: true, storage: " + (storage ? "true" : "false") + ", schema: {openAPIV3Schema: " + schema + "}" +
         (more.empty() ? "" : ", " + more) + "}\n";
}

// Widgets of a group, in one document.
inline std::string WidgetsYaml(const std::string& group, const std::string& versions, const std::string& more = "",
                               const std::string& plural = "widgets", const std::string& kind = "Widget") {
  return "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: " + plural + "." + group +
         "\n  creationTimestamp: null\nspec:\n  group: " + group + "\n  scope: Namespaced\n  names: {plural: " + plural +
         ", kind: " + kind + "}\n" + more + "  versions:\n" + versions;
}

inline std::vector<CrdSource> Sources(const std::string& yaml) { return ParseCrds(yaml, "crds.yaml").value(); }

}  // namespace kube::internal
