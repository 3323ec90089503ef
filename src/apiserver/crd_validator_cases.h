// A definition with every kind of constraint, and objects that break them one by one. Used by tests that compare what several servers say.
#pragma once

#include <string>
#include <vector>

namespace kube::apiserver {

// `{group}` stands for the group.
inline constexpr const char* kCasesCrd = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.{group}}
spec:
  group: "{group}"
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          status: {type: object, properties: {replicas: {type: integer}}}
          spec:
            type: object
            required: [name]
            x-kubernetes-validations: [{rule: "true"}]
            properties:
              name: {type: string, minLength: 2, maxLength: 5, pattern: '^[a-z]+$'}
              size: {type: integer, format: int32, minimum: 1, maximum: 10}
              ratio: {type: number, minimum: 0, exclusiveMinimum: true, maximum: 1, exclusiveMaximum: true}
              even: {type: integer, multipleOf: 2}
              color: {type: string, enum: [red, green], default: red}
              on: {type: boolean}
              when: {type: string, format: date-time}
              net: {type: string, format: cidr}
              replicas: {type: integer}
              port: {x-kubernetes-int-or-string: true}
              tags: {type: array, maxItems: 2, minItems: 1, items: {type: string, maxLength: 3}}
              set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, port: {type: integer, maximum: 65535}}}
              labels: {type: object, maxProperties: 2, additionalProperties: {type: string, maxLength: 3}}
              nothing: {type: string, nullable: true}
              one: {type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}
              any: {type: string, anyOf: [{pattern: '^x'}, {maxLength: 1}]}
              never: {type: string, not: {enum: [bad]}}
              all: {type: string, allOf: [{minLength: 2}, {pattern: 'z$'}]}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
)";

struct ValidatorCase {
  const char* what;
  std::string metadata;  // below metadata, after the name
  std::string spec;      // the spec; empty: there is none
};

inline std::vector<ValidatorCase> ValidatorCases() {
  auto with = [](const char* what, const std::string& field) { return ValidatorCase{what, "", "{name: abc, " + field + "}"}; };
  return {
      {"missing spec", "", ""},
      {"missing required field", "", "{}"},
      {"spec of another type", "", "text"},
      {"too short", "", "{name: a}"},
      {"too long", "", "{name: abcdef}"},
      {"pattern", "", "{name: ABC}"},
      {"string of another type", "", "{name: 5}"},
      {"null that is not allowed", "", "{name: null}"},
      with("below minimum", "size: 0"),
      with("above maximum", "size: 11"),
      with("integer of another type", "size: x"),
      with("fraction for an integer", "size: 1.5"),
      with("beyond int32", "size: 3000000000"),
      with("exclusive minimum", "ratio: 0"),
      with("exclusive maximum", "ratio: 1"),
      with("multipleOf", "even: 3"),
      with("enum", "color: blue"),
      with("boolean of another type", "on: 'yes'"),
      with("date-time", "when: yesterday"),
      with("cidr", "net: 10.0.0.1"),
      with("int or string", "port: true"),
      with("too many items", "tags: [a, b, c]"),
      with("too few items", "tags: []"),
      with("item too long", "tags: [abcd]"),
      with("list of another type", "tags: {a: b}"),
      with("duplicate in a set", "set: [a, b, a]"),
      with("duplicate key in a map", "ports: [{name: a}, {name: a}]"),
      with("missing key in a map", "ports: [{port: 1}]"),
      with("item above maximum", "ports: [{name: a, port: 70000}]"),
      with("too many properties", "labels: {a: b, c: d, e: f}"),
      with("value of a map", "labels: {a: bcde}"),
      with("oneOf, none", "one: {}"),
      with("oneOf, both", "one: {a: x, b: y}"),
      with("anyOf", "any: abc"),
      with("not", "never: bad"),
      with("allOf", "all: a"),
      with("embedded without kind", "template: {metadata: {name: x}}"),
      with("embedded with a bad name", "template: {apiVersion: v1, kind: Pod, metadata: {name: 'A B'}}"),
      with("negative replicas", "replicas: -1"),
      with("several at once", "size: 11, color: blue, tags: [a, b, c]"),
      {"characters that Go does not print", "", "{name: \"<\\u2028\\xa0\\x7f\\xe9>\"}"},
      with("duplicate key with characters that HTML escapes", "ports: [{name: \"<&>\\u2028\"}, {name: \"<&>\\u2028\"}]"),
      with("large fraction", "size: 3000000000.5"),
      with("large number beyond a limit", "ratio: 1234567"),
      {"label key", "labels: {'a b': c}", "{name: abc}"},
      {"label key with two slashes", "labels: {a/b/c: d}\n  annotations: {a/b/c: d}\n  finalizers: [a/b/c]", "{name: abc}"},
      {"label value", "labels: {a: 'b c'}", "{name: abc}"},
      {"finalizer", "finalizers: ['a b']", "{name: abc}"},
      {"owner without a name", "ownerReferences: [{apiVersion: v1, kind: Pod, name: '', uid: u}]", "{name: abc}"},
      {"metadata of another type", "labels: [a]", "{name: abc}"},
      // Valid, with warnings or changes.
      with("unknown fields", "more: 1, free: {x: 1}, ports: [{name: a, extra: b}]"),
      with("null that is allowed", "nothing: null"),
      {"defaults", "", "{name: abc}"},
      {"unknown metadata", "more: 1", "{name: abc}"},
  };
}

inline std::string Replaced(std::string text, const std::string& group) {
  for (std::size_t at = 0; (at = text.find("{group}", at)) != std::string::npos;) text.replace(at, 7, group);
  return text;
}

inline std::string CaseYaml(const ValidatorCase& c, const std::string& group, const std::string& name) {
  return "apiVersion: " + group + "/v1\nkind: Gadget\nmetadata:\n  name: " + name + "\n  namespace: default\n" +
         (c.metadata.empty() ? "" : "  " + c.metadata + "\n") + (c.spec.empty() ? "" : "spec: " + c.spec + "\n");
}

}  // namespace kube::apiserver
