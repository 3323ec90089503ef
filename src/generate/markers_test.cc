// Each marker once as it should be and once misused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "generate/generate_test_util.h"
#include "generate/marker_values.h"
#include "kube/codec/json.h"

namespace kube::generate {
namespace {

// Where a row's marker stands. The field has the given type.
struct Row {
  std::string_view marker;  // the name in the table, for the check that none is missing
  unsigned place;
  std::string_view type;
  std::string_view good;
  std::string_view bad;
  std::string_view error;  // behind "x.h:LINE:COLUMN: "
};

std::string HeaderWith(const Row& row, std::string_view marker) {
  const std::string line = "// " + std::string(marker) + "\n";
  const std::string field = std::string(row.type.empty() ? "kube::String" : row.type) + " a{};";
  const std::string other = "  kube::String b{};\n";
  if (row.place == kOnField) return ThingHeader("  " + line + "  " + field + "\n" + other);
  if (row.place == kOnKind) {
    std::string header = ThingHeader("  " + field + "\n" + other, line,
                                     "struct ThingStatus {\n  std::int32_t replicas{};\n\n  KUBE_TABLE(ThingStatus);\n};\n\n");
    const std::string spec = "  ThingSpec spec{};\n";
    return header.insert(header.find(spec) + spec.size(), "  ThingStatus status{};\n");
  }
  if (row.place == kOnStruct) return ThingHeader("  " + field + "\n" + other, "", line);
  if (row.place == kOnAlias) {
    return ThingHeader("  Name a{};\n" + other, "",
                       line + "using Name = " + std::string(row.type.empty() ? "kube::String" : row.type) +
                           ";\ninline constexpr std::string_view kNameOne = \"one\";\n\n");
  }
  return line + "\n" + ThingHeader("  " + field + "\n" + other);
}

const Row kRows[] = {
    {"default", kOnField, "std::optional<std::int32_t>", "+default=5", "+default=five",
     "marker +default: expected JSON, such as 5, true or \"text\""},
    {"k8s:enum", kOnAlias, "", "+k8s:enum", "+k8s:enum=a", "marker +k8s:enum: it has no value; leave out what follows the name"},
    {"k8s:immutable", kOnField, "", "+k8s:immutable", "+k8s:imutable", "unknown marker +k8s:imutable; did you mean +k8s:immutable?"},
    {"k8s:listMapKey", kOnField, "kube::List<kube::meta::v1::Condition>", "+k8s:listType=map\n// +k8s:listMapKey=type",
     "+k8s:listMapKey=type", "marker +k8s:listMapKey needs +listType=map"},
    {"k8s:listType", kOnField, "kube::List<kube::String>", "+k8s:listType=set", "+k8s:listType=bag",
     "marker +k8s:listType: no list type bag; write map, set or atomic"},
    {"k8s:maxItems", kOnField, "kube::List<kube::String>", "+k8s:maxItems=5 # why", "+k8s:maxItems=many",
     "marker +k8s:maxItems: expected an integer"},
    {"k8s:maximum", kOnField, "std::int32_t", "+k8s:maximum=5", "+k8s:maximum=5.5",
     "marker +k8s:maximum: 5.5 is no integer, but the type is"},
    {"k8s:minimum", kOnField, "std::int32_t", "+k8s:minimum=-5",
     "+k8s:minimum=", "marker +k8s:minimum: a value is missing; write +k8s:minimum=... with a number"},
    {"k8s:optional", kOnField, "", "+k8s:optional", "+k8s:optionall", "unknown marker +k8s:optionall; did you mean +k8s:optional?"},
    {"k8s:required", kOnField, "", "+k8s:required", "+k8s:required=no",
     "marker +k8s:required: it has no value; leave out what follows the name"},
    {"kube:inline", kOnField, "kube::core::v1::LocalObjectReference", "+kube:inline", "+kube:inlined",
     "unknown marker +kube:inlined; did you mean +kube:inline?"},
    {"kube:json", kOnField, "", "+kube:json=podCIDR", "+kube:json",
     "marker +kube:json: a value is missing; write +kube:json=... with a string"},
    {"kubebuilder:default", kOnField, "", "+kubebuilder:default=\"x\"", "+kubebuilder:default=5",
     "marker +kubebuilder:default: 5 is an integer, which field a of type kube::String cannot hold"},
    {"kubebuilder:deprecatedversion", kOnKind, "", "+kubebuilder:deprecatedversion:warning=\"use v2\"",
     "+kubebuilder:deprecatedversion:warnin=\"use v2\"",
     "marker +kubebuilder:deprecatedversion: unknown argument warnin; did you mean warning?"},
    {"kubebuilder:example", kOnField, "", "+kubebuilder:example=x", "+kubebuilder:example",
     "marker +kubebuilder:example: a value is missing; write +kubebuilder:example=... with a value"},
    {"kubebuilder:externalDocs", kOnField, "", "+kubebuilder:externalDocs:url=\"https://example.com\",description=more",
     "+kubebuilder:externalDocs:description=more", "marker +kubebuilder:externalDocs: argument url is missing"},
    {"kubebuilder:metadata", kOnKind, "", "+kubebuilder:metadata:annotations=\"a=b\",labels=\"c=d\"", "+kubebuilder:metadata:labels=c",
     "marker +kubebuilder:metadata: c has no value; write labels=\"NAME=VALUE\""},
    {"kubebuilder:object:root", kOnKind, "", "+kubebuilder:object:root=true", "+kubebuilder:object:root=yes",
     "marker +kubebuilder:object:root: expected true or false"},
    {"kubebuilder:printcolumn", kOnKind, "",
     "+kubebuilder:printcolumn:name=A,type=string,JSONPath=`.spec.a`,description=d,format=f,priority=1",
     "+kubebuilder:printcolumn:name=A,type=string,JSONPath=.spec.c",
     "marker +kubebuilder:printcolumn: JSONPath=.spec.c: .spec has no field c"},
    {"kubebuilder:pruning:PreserveUnknownFields", kOnField, "kube::RawJson", "+kubebuilder:pruning:PreserveUnknownFields",
     "+kubebuilder:pruning:PreserveUnknownField",
     "unknown marker +kubebuilder:pruning:PreserveUnknownField; did you mean +kubebuilder:pruning:PreserveUnknownFields?"},
    {"kubebuilder:rbac", kInFile, "", "+kubebuilder:rbac:groups=\"\",resources=pods,verbs=get;list",
     "+kubebuilder:rbac:groups=apps,resources=deployments", "marker +kubebuilder:rbac: argument verbs is missing"},
    {"kubebuilder:resource", kOnKind, "", "+kubebuilder:resource:path=stuff,singular=piece,shortName={th,ti},categories=all,scope=Cluster",
     "+kubebuilder:resource:scope=Everywhere", "marker +kubebuilder:resource: no scope Everywhere; write Namespaced or Cluster"},
    {"kubebuilder:selectablefield", kOnKind, "", "+kubebuilder:selectablefield:JSONPath=.spec.a",
     "+kubebuilder:selectablefield:JSONPath=spec.a",
     "marker +kubebuilder:selectablefield: JSONPath=spec.a: a path begins with a dot: .spec.name"},
    {"kubebuilder:storageversion", kOnKind, "", "+kubebuilder:storageversion", "+kubebuilder:storageVersion",
     "unknown marker +kubebuilder:storageVersion; did you mean +kubebuilder:storageversion?"},
    {"kubebuilder:subresource:scale", kOnKind, "std::int32_t",
     "+kubebuilder:subresource:scale:specpath=.spec.a,statuspath=.status.replicas", "+kubebuilder:subresource:scale:specpath=.spec.a",
     "marker +kubebuilder:subresource:scale: argument statuspath is missing"},
    {"kubebuilder:subresource:status", kOnKind, "", "+kubebuilder:subresource:status", "+kubebuilder:subresource:statu",
     "unknown marker +kubebuilder:subresource:statu; did you mean +kubebuilder:subresource:status?"},
    {"kubebuilder:title", kOnField, "", "+kubebuilder:title=\"A title\"", "+kubebuilder:titel=x",
     "unknown marker +kubebuilder:titel; did you mean +kubebuilder:title?"},
    {"kubebuilder:unservedversion", kOnKind, "", "+kubebuilder:unservedversion\n// +kubebuilder:skipversion",
     "+kubebuilder:unservedversion", "kind Thing is served in no version; leave one +kubebuilder:unservedversion out"},
    {"kubebuilder:validation:AtLeastOneOf", kOnStruct, "", "+kubebuilder:validation:AtLeastOneOf=a;b",
     "+kubebuilder:validation:AtLeastOneOf=a;c", "marker +kubebuilder:validation:AtLeastOneOf: ThingSpec has no field c"},
    {"kubebuilder:validation:AtMostOneOf", kOnStruct, "", "+kubebuilder:validation:AtMostOneOf={a,b}",
     "+kubebuilder:validation:AtMostOneOf={a,b", "marker +kubebuilder:validation:AtMostOneOf: expected , or } in a list"},
    {"kubebuilder:validation:EmbeddedResource", kOnField, "kube::RawJson",
     "+kubebuilder:validation:EmbeddedResource\n// +kubebuilder:validation:Type=object", "+kubebuilder:validation:EmbeddedResources",
     "unknown marker +kubebuilder:validation:EmbeddedResources; did you mean +kubebuilder:validation:EmbeddedResource?"},
    {"kubebuilder:validation:Enum", kOnField, "", "+kubebuilder:validation:Enum=a;\"b c\"", "+kubebuilder:validation:Enum=\"a",
     "marker +kubebuilder:validation:Enum: string without a closing \" on the line of the marker"},
    {"kubebuilder:validation:ExactlyOneOf", kOnStruct, "", "+kubebuilder:validation:ExactlyOneOf=a;b",
     "+kubebuilder:validation:ExactlyOneOf",
     "marker +kubebuilder:validation:ExactlyOneOf: a value is missing; write +kubebuilder:validation:ExactlyOneOf=... with a list of "
     "strings"},
    {"kubebuilder:validation:ExclusiveMaximum", kOnField, "std::int32_t",
     "+kubebuilder:validation:Maximum=5\n// +kubebuilder:validation:ExclusiveMaximum=true", "+kubebuilder:validation:ExclusiveMaximum=5",
     "marker +kubebuilder:validation:ExclusiveMaximum: expected true or false"},
    {"kubebuilder:validation:ExclusiveMinimum", kOnField, "std::int32_t",
     "+kubebuilder:validation:Minimum=5\n// +kubebuilder:validation:ExclusiveMinimum=true", "+kubebuilder:validation:ExclusiveMinimum",
     "marker +kubebuilder:validation:ExclusiveMinimum: a value is missing; write +kubebuilder:validation:ExclusiveMinimum=... with true or "
     "false"},
    {"kubebuilder:validation:Format", kOnField, "", "+kubebuilder:validation:Format=ipv4", "+kubebuilder:validation:Format=a,b",
     "marker +kubebuilder:validation:Format: unexpected ,b behind the value; quote strings that have a comma or a semicolon"},
    {"kubebuilder:validation:MaxItems", kOnField, "kube::List<bool>", "+kubebuilder:validation:MaxItems=5",
     "+kubebuilder:validation:MaxItems=x", "marker +kubebuilder:validation:MaxItems: expected an integer"},
    {"kubebuilder:validation:MaxLength", kOnField, "", "+kubebuilder:validation:MaxLength=5", "+kubebuilder:validation:MaxLength=five",
     "marker +kubebuilder:validation:MaxLength: expected an integer"},
    {"kubebuilder:validation:MaxProperties", kOnField, "kube::Map<bool>", "+kubebuilder:validation:MaxProperties=5",
     "+kubebuilder:validation:MaxProperties=0.5", "marker +kubebuilder:validation:MaxProperties: expected an integer"},
    {"kubebuilder:validation:Maximum", kOnField, "std::optional<std::int64_t>", "+kubebuilder:validation:Maximum=1e3",
     "+kubebuilder:validation:Maximum=5x",
     "marker +kubebuilder:validation:Maximum: unexpected x behind the value; quote strings that have a comma or a semicolon"},
    {"kubebuilder:validation:MinItems", kOnField, "kube::List<bool>", "+kubebuilder:validation:MinItems=1",
     "+kubebuilder:validation:MinItems",
     "marker +kubebuilder:validation:MinItems: a value is missing; write +kubebuilder:validation:MinItems=... with an integer"},
    {"kubebuilder:validation:MinLength", kOnAlias, "", "+kubebuilder:validation:MinLength=1", "+kubebuilder:validation:MinLength=\"1\"",
     "marker +kubebuilder:validation:MinLength: expected an integer"},
    {"kubebuilder:validation:MinProperties", kOnStruct, "", "+kubebuilder:validation:MinProperties=1",
     "+kubebuilder:validation:MinProperties=x", "marker +kubebuilder:validation:MinProperties: expected an integer"},
    {"kubebuilder:validation:Minimum", kOnField, "std::int32_t", "+kubebuilder:validation:Minimum=-1",
     "+kubebuilder:validation:Minimum=0.5", "marker +kubebuilder:validation:Minimum: 0.5 is no integer, but the type is"},
    {"kubebuilder:validation:MultipleOf", kOnField, "std::int32_t", "+kubebuilder:validation:MultipleOf=5",
     "+kubebuilder:validation:MultipleOf=true", "marker +kubebuilder:validation:MultipleOf: expected a number"},
    {"kubebuilder:validation:Optional", kOnField, "", "+kubebuilder:validation:Optional", "+kubebuilder:validation:optional",
     "unknown marker +kubebuilder:validation:optional; did you mean +kubebuilder:validation:Optional?"},
    {"kubebuilder:validation:Pattern", kOnField, "", "+kubebuilder:validation:Pattern=`^a,b;c$`", "+kubebuilder:validation:Pattern=`a",
     "marker +kubebuilder:validation:Pattern: string without a closing ` on the line of the marker"},
    {"kube:schema", kOnField, "", "+kube:schema={\"oneOf\":[{\"format\":\"ipv4\"},{\"format\":\"ipv6\"}],\"type\":\"string\"}",
     "+kube:schema=[]", "marker +kube:schema: expected a JSON object, such as {\"minLength\": 1}"},
    {"kubebuilder:validation:Required", kOnField, "", "+kubebuilder:validation:Required", "+kubebuilder:Required",
     "unknown marker +kubebuilder:Required; did you mean +kubebuilder:validation:Required?"},
    {"kubebuilder:validation:Schemaless", kOnField, "", "+kubebuilder:validation:Schemaless\n// +kubebuilder:pruning:PreserveUnknownFields",
     "+kubebuilder:validation:SchemaLess",
     "unknown marker +kubebuilder:validation:SchemaLess; did you mean +kubebuilder:validation:Schemaless?"},
    {"kubebuilder:validation:Type", kOnField, "kube::RawJson", "+kubebuilder:validation:Type=object", "+kubebuilder:validation:Type=struct",
     "marker +kubebuilder:validation:Type: no type struct; write string, integer, number, boolean, object or array"},
    {"kubebuilder:validation:UniqueItems", kOnField, "kube::List<bool>", "+kubebuilder:validation:UniqueItems=false",
     "+kubebuilder:validation:UniqueItems=0", "marker +kubebuilder:validation:UniqueItems: expected true or false"},
    {"kubebuilder:validation:XEmbeddedResource", kOnField, "kube::RawJson",
     "+kubebuilder:validation:XEmbeddedResource\n// +kubebuilder:validation:Type=object", "+kubebuilder:validation:XEmbeddedResource=no",
     "marker +kubebuilder:validation:XEmbeddedResource: it has no value; leave out what follows the name"},
    {"kubebuilder:validation:XIntOrString", kOnField, "kube::IntOrString", "+kubebuilder:validation:XIntOrString",
     "+kubebuilder:validation:IntOrString",
     "unknown marker +kubebuilder:validation:IntOrString; did you mean +kubebuilder:validation:XIntOrString?"},
    {"kubebuilder:validation:XPreserveUnknownFields", kOnField, "kube::RawJson", "+kubebuilder:validation:XPreserveUnknownFields",
     "+kubebuilder:validation:XPreserveUnknownFields=no",
     "marker +kubebuilder:validation:XPreserveUnknownFields: it has no value; leave out what follows the name"},
    {"kubebuilder:validation:XValidation", kOnField, "",
     "+kubebuilder:validation:XValidation:rule=\"self != 'x'\",message=\"no x, please\",reason=FieldValueInvalid",
     "+kubebuilder:validation:XValidation:rule=\"self != 'x'\",reason=Because",
     "marker +kubebuilder:validation:XValidation: reason Because; write one of FieldValueRequired, FieldValueInvalid, FieldValueForbidden, "
     "FieldValueDuplicate"},
    {"kubebuilder:webhook", kInFile, "",
     "+kubebuilder:webhook:mutating=true,failurePolicy=fail,sideEffects=None,groups=a,resources=b,verbs=create;update,versions=v1,name=n."
     "example.com,path=/x,admissionReviewVersions=v1",
     "+kubebuilder:webhook:mutating=true", "marker +kubebuilder:webhook: argument failurePolicy is missing"},
    {"kubebuilder:webhookconfiguration", kInFile, "", "+kubebuilder:webhookconfiguration:mutating=true,name=n",
     "+kubebuilder:webhookconfiguration:name=n", "marker +kubebuilder:webhookconfiguration: argument mutating is missing"},
    {"kubebuilder:skip", kInFile, "", "+kubebuilder:skip", "+kubebuilder:skip=it",
     "marker +kubebuilder:skip: it has no value; leave out what follows the name"},
    {"kubebuilder:skipversion", kOnKind, "", "+kubebuilder:skipversion", "+kubebuilder:skipVersion",
     "unknown marker +kubebuilder:skipVersion; did you mean +kubebuilder:skipversion?"},
    {"groupName", kInFile, "", "+kubebuilder:rbac:verbs=get", "+groupName=other.example.com",
     "marker +groupName stands twice; the first one is in line 1"},
    {"versionName", kOnField, "", "+optional", "+versionName=v1",
     "marker +versionName does not belong here; write it above the first declaration of the file, in a comment of its own"},
    {"listMapKey", kOnField, "kube::List<kube::meta::v1::Condition>", "+listType=map\n// +listMapKey=type",
     "+listMapKey=", "marker +listMapKey: a value is missing; write +listMapKey=... with a string"},
    {"listType", kOnField, "kube::List<kube::String>", "+listType=atomic", "+lisType=atomic",
     "unknown marker +lisType; did you mean +listType?"},
    {"mapType", kOnField, "kube::Map<kube::String>", "+mapType=atomic", "+mapType=set",
     "marker +mapType: no map type set; write granular or atomic"},
    {"nullable", kOnField, "", "+nullable", "+nullabel", "unknown marker +nullabel; did you mean +nullable?"},
    {"optional", kOnField, "", "+optional", "+optional\n// +required", "field a is marked +optional and +required; leave one out"},
    {"required", kOnField, "", "+required", "+requird", "unknown marker +requird; did you mean +required?"},
    {"structType", kOnField, "kube::core::v1::LocalObjectReference", "+structType=atomic", "+structType=map",
     "marker +structType: no struct type map; write granular or atomic"},
    {"", kOnField, "", "+kube:json=\"a b\"", "+kube:json=\"a\\x00b\"", "marker +kube:json: the name has a zero byte"},
    {"", kOnField, "", "+kubebuilder:default:=\"x\"", "+kubebuilder:default:=5",
     "marker +kubebuilder:default: 5 is an integer, which field a of type kube::String cannot hold"},
    {"", kOnField, "kube::Duration", "+kubebuilder:default=\"1h30m\"", "+kubebuilder:default=soon",
     "marker +kubebuilder:default: \"soon\" is a string, which field a of type kube::Duration cannot hold"},
    {"", kOnField, "", "+kubebuilder:title=\"\\u00e9\"", "+kubebuilder:title=\"\\xe9\"",
     "marker +kubebuilder:title: string with an escape that Go does not know, or that makes no character; write it between backquotes"},
    {"", kOnField, "", "+kubebuilder:title=\"\\xc3\\xa9\"", "+kubebuilder:title=\"\\ud83d\"",
     "marker +kubebuilder:title: string with an escape that Go does not know, or that makes no character; write it between backquotes"},
    {"", kOnStruct, "", "+kubebuilder:validation:AtMostOneOf=a;b", "+kubebuilder:validation:AtMostOneOf={}",
     "marker +kubebuilder:validation:AtMostOneOf: no fields; write +kubebuilder:validation:AtMostOneOf=a;b"},
    {"", kOnStruct, "", "+kubebuilder:validation:XValidation:rule=\"true\",fieldPath=.a",
     "+kubebuilder:validation:XValidation:rule=\"true\",fieldPath=.c",
     "field spec of Thing: marker +kubebuilder:validation:XValidation: a server would refuse the CRD: "
     "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].fieldPath: Invalid value: \".c\": must be a valid path; "
     "change this marker, or leave it out"},
    {"", kOnKind, "", "+kubebuilder:metadata:annotations=\"A.example.com/b=any value\"", "+kubebuilder:metadata:annotations=\"a b=c\"",
     "marker +kubebuilder:metadata: a server would refuse the CRD: metadata.annotations: a b: name part must consist of alphanumeric "
     "characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
     "regex "
     "used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
    {"", kOnKind, "", "+kubebuilder:metadata:labels=\"a=\"", "+kubebuilder:metadata:labels=\"a=b c\"",
     "marker +kubebuilder:metadata: a server would refuse the CRD: metadata.labels: value of a: a valid label must be an empty string or "
     "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
     "'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
    // Places.
    {"", kOnField, "", "+optional", "+kubebuilder:storageversion",
     "marker +kubebuilder:storageversion does not belong here; write it above a kind (a struct with kube::meta::v1::ObjectMeta metadata)"},
    {"", kOnKind, "", "+kubebuilder:object:root=true", "+required", "marker +required does not belong here; write it above a field"},
    {"", kOnStruct, "", "+kubebuilder:title=x", "+kubebuilder:subresource:status",
     "marker +kubebuilder:subresource:status does not belong here; write it above a kind (a struct with kube::meta::v1::ObjectMeta "
     "metadata)"},
    {"", kOnField, "", "+optional", "+k8s:enum", "marker +k8s:enum does not belong here; write it above an alias"},
    {"", kOnField, "", "+optional", "+kubebuilder:validation:ExactlyOneOf=a",
     "marker +kubebuilder:validation:ExactlyOneOf does not belong here; write it above a struct"},
    // Types.
    {"", kOnField, "std::int32_t", "+optional", "+kubebuilder:validation:MaxLength=5",
     "marker +kubebuilder:validation:MaxLength needs a string; the type is integer"},
    {"", kOnField, "kube::Map<bool>", "+optional", "+kubebuilder:validation:MaxItems=5",
     "marker +kubebuilder:validation:MaxItems needs a list; the type is object"},
    {"", kOnField, "kube::List<bool>", "+optional", "+kubebuilder:validation:MinLength=1",
     "marker +kubebuilder:validation:MinLength needs a string; the type is array"},
    {"", kOnAlias, "", "+kubebuilder:validation:MinLength=1", "+kubebuilder:validation:Minimum=1",
     "marker +kubebuilder:validation:Minimum needs a number; the type is string"},
    {"", kOnStruct, "", "+kubebuilder:title=x", "+kubebuilder:validation:Pattern=x",
     "marker +kubebuilder:validation:Pattern needs a string; the type is object"},
    // Items.
    {"", kOnField, "kube::List<kube::String>", "+kubebuilder:validation:items:MaxLength=5", "+kubebuilder:validation:items:Maximum=5",
     "marker +kubebuilder:validation:Maximum needs a number; the type is string"},
    {"", kOnField, "", "+optional", "+kubebuilder:validation:items:MaxLength=5",
     "marker +kubebuilder:validation:items:MaxLength needs a list; the field is none"},
    {"", kOnField, "kube::List<kube::String>", "+kubebuilder:validation:items:XValidation:rule=\"self != ''\"",
     "+kubebuilder:validation:items:MaxLenght=5",
     "unknown marker +kubebuilder:validation:items:MaxLenght; did you mean +kubebuilder:validation:items:MaxLength?"},
};

TEST(MarkersTest, EachIsAcceptedOnceAndRefusedOnce) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.good);
    const TestRun good = RunHeader(HeaderWith(row, row.good));
    EXPECT_EQ(good.text(), "");
    const TestRun bad = RunHeader(HeaderWith(row, row.bad));
    const std::vector<Problem> problems = bad.problems.Sorted();
    ASSERT_EQ(problems.size(), 1U) << bad.text();
    EXPECT_EQ(problems[0].text, row.error);
    EXPECT_GT(problems[0].at.line, 0);
  }
}

// Whether a line of the text is this marker, with or without arguments.
bool Uses(std::string_view text, std::string_view marker) {
  const std::string line = "+" + std::string(marker);
  for (std::size_t at = 0; (at = text.find(line, at)) != std::string_view::npos; ++at) {
    const char next = at + line.size() < text.size() ? text[at + line.size()] : '\n';
    if (next == '\n' || next == '=' || next == ':') return true;
  }
  return false;
}

TEST(MarkersTest, EachHasARowThatUsesItAndOneThatMisusesIt) {
  std::set<std::string_view> used, misused;
  for (const Row& row : kRows) {
    if (Uses(HeaderWith(row, row.good), row.marker)) used.insert(row.marker);
    // A misspelt marker is misused, too, if it is the one that the error suggests.
    if (Uses(row.bad, row.marker) || row.error.ends_with("did you mean +" + std::string(row.marker) + "?")) misused.insert(row.marker);
  }
  for (const MarkerDefinition& marker : AllMarkers()) {
    EXPECT_FALSE(marker.help.empty()) << marker.name;
    if (marker.form == MarkerForm::kIgnored) continue;
    EXPECT_TRUE(used.contains(marker.name)) << marker.name << " has no row that uses it";
    EXPECT_TRUE(misused.contains(marker.name)) << marker.name << " has no row that misuses it";
  }
}

// The reference page: a row for each marker, `| `NAME` | MEANING | `EXAMPLE` |`.
TEST(MarkersTest, EachStandsInTheDocsWithAnExample) {
  std::ifstream page("docs/markers.md");
  ASSERT_TRUE(page) << "tests run in the folder of the sources";
  std::set<std::string> documented;
  for (std::string line; std::getline(page, line);) {
    const std::size_t end = line.find("` | "), example = line.find(" | `+");
    if (!line.starts_with("| `") || end == std::string::npos || example == std::string::npos) continue;
    const std::string name = line.substr(3, end - 3);
    const std::string text = line.substr(example + 4, line.rfind('`') - example - 4);
    SCOPED_TRACE(line);
    const MarkerDefinition* marker = FindMarker(name);
    if (marker == nullptr) {
      ADD_FAILURE() << "no such marker";
      continue;
    }
    Problems problems;
    const std::optional<Marker> read = ParseMarker(text, {}, marker->places & ~(marker->places - 1), {}, problems);
    EXPECT_EQ(read ? read->name : "", name);
    EXPECT_TRUE(problems.Sorted().empty());
    EXPECT_TRUE(documented.insert(name).second) << "stands twice";
  }
  for (const MarkerDefinition& marker : AllMarkers()) {
    if (marker.form == MarkerForm::kIgnored) continue;
    EXPECT_TRUE(documented.contains(std::string(marker.name))) << marker.name << " is not in docs/markers.md";
  }
}

// Those without effect take any arguments, anywhere.
TEST(MarkersTest, IgnoredOnesAreAccepted) {
  for (const MarkerDefinition& marker : AllMarkers()) {
    if (marker.form != MarkerForm::kIgnored) continue;
    std::string line = "+" + std::string(marker.name);
    if (line.ends_with('*')) line.back() = 'x';
    for (unsigned place : {kInFile, kOnKind, kOnStruct, kOnAlias, kOnField}) {
      const Row row{marker.name, place, "", "", "", ""};
      for (const char* arguments : {"", "=true"}) EXPECT_EQ(RunHeader(HeaderWith(row, line + arguments)).text(), "") << line;
    }
  }
}

TEST(MarkersTest, LenientRunsWarn) {
  const TestRun run =
      ReadOnly("struct S {\n  // +kubebuilder:nonsense\n  bool a{};\n  KUBE_TABLE(S);\n};\n", {.markers = {.lenient = true}});
  EXPECT_EQ(run.text(), "x.h:2:6: warning: unknown marker +kubebuilder:nonsense; see the table of markers in docs/markers.md\n");
}

TEST(MarkersTest, OtherToolsHaveMarkersToo) {
  const TestRun run = ReadOnly(
      "// +patchStrategy=merge\n// +genclient:nonNamespaced\n// +k8s:deepcopy-gen:interfaces=x\n// +protobuf.nullable=true\nstruct S {\n  "
      "KUBE_TABLE(S);\n};\n");
  EXPECT_EQ(run.text(), "");
}

// ---- Values ----

std::string ReadAs(ArgumentType type, std::string_view text) {
  MarkerScanner scanner(text);
  const Value value = scanner.Read(type);
  if (!scanner.error().empty()) return "error: " + scanner.error();
  return ToJson(value) + (scanner.AtEnd() ? "" : " rest: " + std::string(scanner.rest()));
}

TEST(MarkerValuesTest, GuessesTypesAsControllerGenDoes) {
  const std::pair<const char*, const char*> cases[] = {
      {"5", "5"},
      {"-5", "-5"},
      {"1.5", "1.5"},
      {"true", "true"},
      {"truest", "\"truest\""},
      {"\"5\"", "\"5\""},
      {"`a\\b`", "\"a\\\\b\""},
      {"100Mi", "\"100Mi\""},
      {"2024-01-15", "\"2024-01-15\""},
      {"087", "\"087\""},
      {"0755", "755"},
      {"08.5", "8.5"},
      {"a;1;true", "[\"a\",\"1\",\"true\"]"},
      {"{v1, 2, {x: 1}}", "[\"v1\",\"2\",\"{x: 1\"] rest: }"},
      {"{1,a}", "error: expected a number"},
      {"{{a,1},{2,b}}", "error: expected a number"},
      {"{x: {a,1}, y: {1,2}}", "{\"x\":[\"a\",\"1\"],\"y\":[1,2]}"},
      {"some words", "\"some words\""},
      {"a;b", "[\"a\",\"b\"]"},
      {"1;2", "[1,2]"},
      {"{a,b}", "[\"a\",\"b\"]"},
      {"{}", "{}"},
      {"{\"a\": 1, b: x}", "{\"a\":1,\"b\":\"x\"}"},
      {"{a: {b: {1,2}}}", "{\"a\":{\"b\":[1,2]}}"},
      {"[1,{\"a\":[]}]", "[1,{\"a\":[]}]"},
      {"{{1,2},{3}}", "[[1,2],[3]]"},
      {"\"a;b\"", "\"a;b\""},
  };
  for (const auto& [text, json] : cases) EXPECT_EQ(ReadAs(ArgumentType::kAny, text), json) << text;
}

TEST(MarkerValuesTest, ReadsTypedValues) {
  EXPECT_EQ(ReadAs(ArgumentType::kString, "true"), "\"true\"");
  EXPECT_EQ(ReadAs(ArgumentType::kString, "a b ,c"), "\"a b\" rest: ,c");
  EXPECT_EQ(ReadAs(ArgumentType::kString, "self.x == \"a,b\",c"), "\"self.x == \\\"a,b\\\"\" rest: ,c");
  EXPECT_EQ(ReadAs(ArgumentType::kStrings, "a;\"b;c\",d"), "[\"a\",\"b;c\"] rest: ,d");
  EXPECT_EQ(ReadAs(ArgumentType::kInt, "1.5"), "error: expected an integer");
  EXPECT_EQ(ReadAs(ArgumentType::kNumber, "1e3"), "1000");
  EXPECT_EQ(ReadAs(ArgumentType::kJson, "{\"a\": [1]}"), "{\"a\":[1]}");
  EXPECT_EQ(ReadAs(ArgumentType::kAny, std::string(100000, '{')), "error: lists nested too deeply");
}

}  // namespace
}  // namespace kube::generate
