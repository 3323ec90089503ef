// Objects that many cases start from.
#pragma once

#include <string>

namespace kube::contract {

inline constexpr const char* kConfigMaps = "/api/v1/namespaces/{ns}/configmaps";
inline constexpr const char* kPods = "/api/v1/namespaces/{ns}/pods";
inline constexpr const char* kServices = "/api/v1/namespaces/{ns}/services";
inline constexpr const char* kDeployments = "/apis/apps/v1/namespaces/{ns}/deployments";
inline constexpr const char* kNamespaces = "/api/v1/namespaces";
inline constexpr const char* kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

inline constexpr const char* kConfigMapA = R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {app: web, tier: front}}
data: {color: red, size: "3"}
)";

// JSON: what starts with a brace is sent as it is.
inline std::string ConfigMapJson(const std::string& name, const std::string& labels = "{}") {
  return R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":")" + name + R"(","labels":)" + labels + R"(},"data":{"k":"v"}})";
}

inline constexpr const char* kPodA = R"(
apiVersion: v1
kind: Pod
metadata: {name: a, labels: {app: web}}
spec:
  automountServiceAccountToken: false
  containers:
  - name: web
    image: example.com/web:1
    ports: [{containerPort: 8080}]
)";

inline constexpr const char* kDeploymentA = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: example.com/web:1
        ports: [{containerPort: 8080}]
)";

// A namespaced custom resource with most of what a schema can say. `{w}` is one name for all cases of a run: a real server needs two
// seconds until it serves a definition.
inline constexpr const char* kWidgetCrd = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.{w}.example.com}
spec:
  group: {w}.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList, shortNames: [wd], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas, labelSelectorPath: .status.selector}
    additionalPrinterColumns:
    - {name: Size, type: string, jsonPath: .spec.size}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [size]
            properties:
              size: {type: string, enum: [small, large], description: how large it is}
              replicas: {type: integer, minimum: 0, maximum: 10, default: 1}
              name: {type: string, pattern: "^[a-z]+$", minLength: 2, maxLength: 8}
              nested:
                type: object
                default: {}
                properties:
                  mode: {type: string, default: auto}
                  ratio: {type: number}
              tags: {type: array, maxItems: 3, items: {type: string}, x-kubernetes-list-type: set}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, port: {type: integer}, protocol: {type: string, default: TCP}}
              labels: {type: object, additionalProperties: {type: string}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              either: {x-kubernetes-int-or-string: true}
              maybe: {type: string, nullable: true}
          status:
            type: object
            properties: {replicas: {type: integer}, selector: {type: string}, phase: {type: string}}
)";
inline constexpr const char* kWidgets = "/apis/{w}.example.com/v1/namespaces/{ns}/widgets";
inline constexpr const char* kWidgetA = R"(
apiVersion: {w}.example.com/v1
kind: Widget
metadata: {name: a}
spec: {size: small}
)";

// The same for a case that wants a definition of its own: `{id}` in the place of `{w}`.
inline std::string Own(std::string text) {
  for (std::size_t at = 0; (at = text.find("{w}", at)) != std::string::npos;) text.replace(at, 3, "{id}");
  return text;
}

}  // namespace kube::contract
