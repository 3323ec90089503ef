// The table of all markers.
#include <algorithm>
#include <array>

#include "generate/markers.h"

namespace kube::generate {
namespace {

using A = ArgumentType;
using F = MarkerForm;

constexpr ArgumentDefinition kRbac[] = {{"groups", A::kStrings},      {"resources", A::kStrings}, {"resourceNames", A::kStrings},
                                        {"verbs", A::kStrings, true}, {"urls", A::kStrings},      {"namespace", A::kString},
                                        {"roleName", A::kString}};
constexpr ArgumentDefinition kWebhook[] = {{"mutating", A::kBool, true},
                                           {"failurePolicy", A::kString, true},
                                           {"matchPolicy", A::kString},
                                           {"sideEffects", A::kString},
                                           {"timeoutSeconds", A::kInt},
                                           {"groups", A::kStrings, true},
                                           {"resources", A::kStrings, true},
                                           {"verbs", A::kStrings, true},
                                           {"versions", A::kStrings, true},
                                           {"name", A::kString, true},
                                           {"serviceName", A::kString},
                                           {"serviceNamespace", A::kString},
                                           {"servicePort", A::kInt},
                                           {"path", A::kString},
                                           {"url", A::kString},
                                           {"webhookVersions", A::kStrings},
                                           {"admissionReviewVersions", A::kStrings, true},
                                           {"reinvocationPolicy", A::kString},
                                           {"patch", A::kString}};
constexpr ArgumentDefinition kWebhookConfiguration[] = {{"mutating", A::kBool, true}, {"name", A::kString}};
constexpr ArgumentDefinition kResource[] = {
    {"path", A::kString}, {"singular", A::kString}, {"shortName", A::kStrings}, {"categories", A::kStrings}, {"scope", A::kString}};
constexpr ArgumentDefinition kScale[] = {{"specpath", A::kString, true}, {"statuspath", A::kString, true}, {"selectorpath", A::kString}};
constexpr ArgumentDefinition kPrintColumn[] = {{"name", A::kString, true},  {"type", A::kString, true}, {"JSONPath", A::kString, true},
                                               {"description", A::kString}, {"format", A::kString},     {"priority", A::kInt}};
constexpr ArgumentDefinition kSelectable[] = {{"JSONPath", A::kString, true}};
constexpr ArgumentDefinition kDeprecated[] = {{"warning", A::kString}};
constexpr ArgumentDefinition kMetadata[] = {{"annotations", A::kStrings}, {"labels", A::kStrings}};
constexpr ArgumentDefinition kExternalDocs[] = {{"url", A::kString, true}, {"description", A::kString}};
constexpr ArgumentDefinition kXValidation[] = {{"rule", A::kString, true}, {"message", A::kString},   {"messageExpression", A::kString},
                                               {"reason", A::kString},     {"fieldPath", A::kString}, {"optionalOldSelf", A::kBool}};

constexpr unsigned kSchema = kOnType | kOnField;

constexpr MarkerDefinition Empty(std::string_view name, unsigned places, std::string_view help) {
  return {name, places, F::kEmpty, A::kNone, {}, false, false, help};
}
constexpr MarkerDefinition One(std::string_view name, unsigned places, A type, std::string_view help, bool repeatable = false) {
  return {name, places, F::kValue, type, {}, repeatable, false, help};
}
constexpr MarkerDefinition Named(std::string_view name, unsigned places, std::span<const ArgumentDefinition> arguments,
                                 std::string_view help, bool repeatable = false) {
  return {name, places, F::kNamed, A::kNone, arguments, repeatable, false, help};
}
// On fields, structs and aliases, and with `items:`.
constexpr MarkerDefinition Validation(std::string_view name, A type, std::string_view help) {
  return {name, kSchema, type == A::kNone ? F::kEmpty : F::kValue, type, {}, false, true, help};
}
constexpr MarkerDefinition Ignored(std::string_view name) {
  return {name, kEverywhere, F::kIgnored, A::kNone, {}, true, false, "no effect"};
}

constexpr auto kMarkers = std::to_array<MarkerDefinition>({
    One("default", kOnField, A::kJson, "the server's default, as JSON"),
    Ignored("genclient*"),
    One("groupName", kInFile, A::kString, "the API group of the kinds in this file"),
    Empty("k8s:enum", kOnAlias, "the constants named k<Alias>... are the allowed values"),
    Ignored("k8s:deepcopy-gen*"),
    Empty("k8s:immutable", kOnField, "the value cannot change once it is set"),
    One("k8s:listMapKey", kSchema, A::kString, "a key of a list of type map", true),
    One("k8s:listType", kSchema, A::kString, "how the list is merged: atomic, set or map"),
    One("k8s:maxItems", kOnField, A::kInt, "the most items of a list"),
    One("k8s:maximum", kOnField, A::kNumber, "the largest value"),
    One("k8s:minimum", kOnField, A::kNumber, "the smallest value"),
    Empty("k8s:optional", kOnField, "the field may be absent"),
    Empty("k8s:required", kOnField, "the field has to be there and must not be empty"),
    Empty("kube:inline", kOnField, "the fields of the struct are fields of this one"),
    One("kube:json", kOnField, A::kString, "the JSON name of the field"),
    One("kube:schema", kSchema, A::kJson, "keys of the schema that no other marker sets, as a JSON object; null removes one"),
    Ignored("kubebuilder:ac:*"),
    One("kubebuilder:default", kOnField, A::kAny, "the server's default"),
    Named("kubebuilder:deprecatedversion", kOnKind, kDeprecated, "the server warns clients that use this version"),
    One("kubebuilder:example", kOnField, A::kAny, "an example of a value"),
    Named("kubebuilder:externalDocs", kSchema, kExternalDocs, "where more is written about it"),
    Named("kubebuilder:metadata", kOnKind, kMetadata, "annotations and labels of the CRD", true),
    Ignored("kubebuilder:object:generate"),
    One("kubebuilder:object:root", kOnType, A::kBool, "false: a struct with ObjectMeta that is no kind"),
    Named("kubebuilder:printcolumn", kOnKind, kPrintColumn, "a column of kubectl get", true),
    Empty("kubebuilder:pruning:PreserveUnknownFields", kSchema, "unknown fields are stored"),
    Named("kubebuilder:rbac", kEverywhere | kInSource, kRbac, "a rule of the program's role", true),
    Named("kubebuilder:resource", kOnKind, kResource, "names and scope of the resource"),
    Named("kubebuilder:selectablefield", kOnKind, kSelectable, "a field for field selectors", true),
    Empty("kubebuilder:skip", kInFile, "the file has no kinds"),
    Empty("kubebuilder:skipversion", kOnKind, "this version is not part of the CRD"),
    Empty("kubebuilder:storageversion", kOnKind, "objects are stored in this version"),
    Named("kubebuilder:subresource:scale", kOnKind, kScale, "the resource can be scaled"),
    Empty("kubebuilder:subresource:status", kOnKind, "status is written on its own"),
    One("kubebuilder:title", kSchema, A::kString, "the title in the schema"),
    Empty("kubebuilder:unservedversion", kOnKind, "this version is not served"),
    One("kubebuilder:validation:AtLeastOneOf", kOnKind | kOnStruct, A::kStrings, "at least one of these fields is set", true),
    One("kubebuilder:validation:AtMostOneOf", kOnKind | kOnStruct, A::kStrings, "at most one of these fields is set", true),
    Empty("kubebuilder:validation:EmbeddedResource", kOnField, "the value is an object with apiVersion, kind and metadata"),
    Validation("kubebuilder:validation:Enum", A::kAnyList, "the allowed values"),
    One("kubebuilder:validation:ExactlyOneOf", kOnKind | kOnStruct, A::kStrings, "exactly one of these fields is set", true),
    Validation("kubebuilder:validation:ExclusiveMaximum", A::kBool, "the maximum itself is not allowed"),
    Validation("kubebuilder:validation:ExclusiveMinimum", A::kBool, "the minimum itself is not allowed"),
    Validation("kubebuilder:validation:Format", A::kString, "the format, such as date-time or ipv4"),
    Validation("kubebuilder:validation:MaxItems", A::kInt, "the most items of a list"),
    Validation("kubebuilder:validation:MaxLength", A::kInt, "the most characters of a string"),
    Validation("kubebuilder:validation:MaxProperties", A::kInt, "the most members of an object or map"),
    Validation("kubebuilder:validation:Maximum", A::kNumber, "the largest value"),
    Validation("kubebuilder:validation:MinItems", A::kInt, "the fewest items of a list"),
    Validation("kubebuilder:validation:MinLength", A::kInt, "the fewest characters of a string"),
    Validation("kubebuilder:validation:MinProperties", A::kInt, "the fewest members of an object or map"),
    Validation("kubebuilder:validation:Minimum", A::kNumber, "the smallest value"),
    Validation("kubebuilder:validation:MultipleOf", A::kNumber, "the value is a multiple of this one"),
    Empty("kubebuilder:validation:Optional", kInFile | kOnField, "the field may be absent; in the file: all fields"),
    Validation("kubebuilder:validation:Pattern", A::kString, "a regular expression (RE2)"),
    Empty("kubebuilder:validation:Required", kInFile | kOnField, "the field has to be there; in the file: all fields"),
    Empty("kubebuilder:validation:Schemaless", kOnField, "the field has no schema but that of its markers"),
    Validation("kubebuilder:validation:Type", A::kString, "the type in the schema, instead of that of the field"),
    Validation("kubebuilder:validation:UniqueItems", A::kBool, "no two items are equal"),
    Validation("kubebuilder:validation:XEmbeddedResource", A::kNone, "the value is an object with apiVersion, kind and metadata"),
    Validation("kubebuilder:validation:XIntOrString", A::kNone, "an integer or a string"),
    Validation("kubebuilder:validation:XPreserveUnknownFields", A::kNone, "unknown fields are stored"),
    MarkerDefinition{"kubebuilder:validation:XValidation", kSchema, F::kNamed, A::kNone, kXValidation, true, true, "a CEL rule"},
    Named("kubebuilder:webhook", kEverywhere | kInSource, kWebhook, "an admission webhook of the program", true),
    Named("kubebuilder:webhookconfiguration", kEverywhere | kInSource, kWebhookConfiguration, "the name of a webhook configuration", true),
    One("listMapKey", kSchema, A::kString, "a key of a list of type map", true),
    One("listType", kSchema, A::kString, "how the list is merged: atomic, set or map"),
    One("mapType", kSchema, A::kString, "how the map is merged: granular or atomic"),
    Empty("nullable", kOnField, "null is a value"),
    Empty("optional", kOnField, "the field may be absent"),
    Empty("required", kOnField, "the field has to be there"),
    One("structType", kSchema, A::kString, "how the struct is merged: granular or atomic"),
    One("versionName", kInFile, A::kString, "the API version of the kinds in this file"),
});

}  // namespace

std::span<const MarkerDefinition> AllMarkers() { return kMarkers; }

const MarkerDefinition* FindMarker(std::string_view name) {
  for (const MarkerDefinition& marker : kMarkers) {
    const bool prefix = marker.name.ends_with('*');
    if (prefix ? name.starts_with(marker.name.substr(0, marker.name.size() - 1)) : name == marker.name) return &marker;
  }
  return nullptr;
}

std::string_view NameOf(ArgumentType type) {
  switch (type) {
    case A::kNone:
      return "nothing";
    case A::kString:
      return "a string";
    case A::kInt:
      return "an integer";
    case A::kNumber:
      return "a number";
    case A::kBool:
      return "true or false";
    case A::kStrings:
      return "a list of strings";
    case A::kAnyList:
      return "a list";
    case A::kAny:
      return "a value";
    case A::kJson:
      return "a JSON value";
  }
  return "";
}

std::string NamePlaces(unsigned places) {
  std::vector<std::string_view> names;
  if ((places & kOnField) != 0) names.push_back("a field");
  if ((places & kOnKind) != 0)
    names.push_back((places & kOnStruct) != 0 ? "a struct" : "a kind (a struct with kube::meta::v1::ObjectMeta metadata)");
  if ((places & kOnAlias) != 0) names.push_back("an alias");
  if ((places & kInFile) != 0) names.push_back("the top of the file");
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) out += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + std::string(names[i]);
  return out;
}

}  // namespace kube::generate
