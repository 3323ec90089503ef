// Custom resources: schema validation, pruning, defaults, subresources, versions, columns, selectable fields.
#include "contract.h"
#include "kube/base/context.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(CrdContract);

const std::string kWidget = std::string(kWidgets) + "/a";

// A widget with this spec.
std::string WidgetWith(const std::string& spec, const std::string& name = "a") {
  return R"({"apiVersion":"{w}.example.com/v1","kind":"Widget","metadata":{"name":")" + name + R"("},"spec":)" + spec + "}";
}
std::string OwnWidgetWith(const std::string& spec, const std::string& name = "a") { return Own(WidgetWith(spec, name)); }

// A definition with this schema of `spec`, in one version.
std::string SmallCrd(const std::string& schema, const std::string& more = "") {
  return R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.{id}.example.com}
spec:
  group: {id}.example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: )" +
         schema + "}}}\n" + more;
}

TEST_P(CrdContract, DefinitionIsDefaulted) {
  Answer made = Post(kCrds, SmallCrd("{type: object}"));
  Cleanup(std::string(kCrds) + "/widgets.{id}.example.com");
  EXPECT_CODE(made, 201);
  EXPECT_VALUE(made.body["spec"], R"(
conversion:
  strategy: None
group: '{id}.example.com'
names:
  kind: Widget
  listKind: WidgetList
  plural: widgets
  singular: widget
scope: Namespaced
versions:
- name: v1
  schema:
    openAPIV3Schema:
      properties:
        spec:
          type: object
      type: object
  served: true
  storage: true
)");
  EXPECT_VALUE(made.body["status"]["storedVersions"], R"(
- v1
)");
}

TEST_P(CrdContract, DefinitionBecomesEstablished) {
  CreateCrd(SmallCrd("{type: object}"));
  Answer got = GetUntil(std::string(kCrds) + "/widgets.{id}.example.com",
                        [](const Answer& a) { return a.body["status"]["conditions"].list().size() >= 2; });
  EXPECT_VALUE(got.body["status"], R"(
acceptedNames:
  kind: Widget
  listKind: WidgetList
  plural: widgets
  singular: widget
conditions:
- lastTransitionTime: TIME
  message: no conflicts found
  reason: NoConflicts
  status: "True"
  type: NamesAccepted
- lastTransitionTime: TIME
  message: the initial names have been accepted
  reason: InitialNamesAccepted
  status: "True"
  type: Established
storedVersions:
- v1
)");
}

TEST_P(CrdContract, NameOfADefinitionIsPluralAndGroup) {
  EXPECT_STATUS(Post(kCrds, R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: other.{id}.example.com}
spec:
  group: {id}.example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
)"),
                R"(
code: 422
details:
  causes:
  - field: metadata.name
    message: 'Invalid value: "other.{id}.example.com": must be spec.names.plural+"."+spec.group'
    reason: FieldValueInvalid
  group: apiextensions.k8s.io
  kind: CustomResourceDefinition
  name: other.{id}.example.com
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CrdContract, BadDefinitionsAreRefused) {
  EXPECT_STATUS(Post(kCrds, R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.{id}.example.com}
spec:
  group: {id}.example.com
  scope: Somewhere
  names: {plural: widgets, kind: Widget}
  versions: [{name: v1, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}]
)"),
                R"(
code: 422
details:
  causes:
  - field: spec.scope
    message: 'Unsupported value: "Somewhere": supported values: "Cluster", "Namespaced"'
    reason: FieldValueNotSupported
  - field: spec.versions
    message: 'Invalid value: [{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]: must have exactly one version marked as storage version'
    reason: FieldValueInvalid
  - field: status.storedVersions
    message: 'Invalid value: null: must have at least one stored version'
    reason: FieldValueInvalid
  group: apiextensions.k8s.io
  kind: CustomResourceDefinition
  name: widgets.{id}.example.com
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CrdContract, SchemaMustBeStructural) {
  EXPECT_STATUS_ANY_ORDER(Post(kCrds, SmallCrd("{type: object, properties: {a: {}, b: {type: array}, c: {type: string, default: 3}}}")), R"(
code: 422
details:
  causes:
  - field: spec.validation.openAPIV3Schema.properties[spec].properties[a].type
    message: 'Required value: must not be empty for specified object fields'
    reason: FieldValueRequired
  - field: spec.validation.openAPIV3Schema.properties[spec].properties[b].items
    message: 'Required value: must be specified'
    reason: FieldValueRequired
  group: apiextensions.k8s.io
  kind: CustomResourceDefinition
  name: widgets.{id}.example.com
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CrdContract, DefaultsAreFilledIn) {
  Answer made = Post(kWidgets, kWidgetA);
  EXPECT_BODY(made, 201, R"(
apiVersion: '{w}.example.com/v1'
kind: Widget
metadata:
  creationTimestamp: TIME
  generation: 1
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
spec:
  nested:
    mode: auto
  replicas: 1
  size: small
)");
  Answer ports =
      Post(kWidgets, WidgetWith(R"({"size":"large","ports":[{"name":"x"},{"name":"w","protocol":"UDP"}],"nested":{"ratio":0.5}})", "b"));
  EXPECT_VALUE(ports.body["spec"], R"(
nested:
  mode: auto
  ratio: 0.5
ports:
- name: x
  protocol: TCP
- name: w
  protocol: UDP
replicas: 1
size: large
)");
}

TEST_P(CrdContract, UnknownFieldsArePruned) {
  Answer made = Post(kWidgets, WidgetWith(R"({"size":"small","unknown":1,"free":{"kept":{"as":"is"}},"labels":{"any":"thing"}})"));
  EXPECT_CODE(made, 201);
  EXPECT_VALUE(made.body["spec"], R"(
free:
  kept:
    as: is
labels:
  any: thing
nested:
  mode: auto
replicas: 1
size: small
)");
}

// A kind without a status gets none, also if only metadata changes.
TEST_P(CrdContract, APatchOfMetadataAddsNoStatus) {
  CreateCrd(SmallCrd("{type: object, properties: {size: {type: integer}}}"));
  EXPECT_CODE(Post(Own(kWidgets), OwnWidgetWith(R"({"size":1})")), 201);
  Answer patched = Patch(Own(kWidget), "merge", R"({"metadata":{"labels":{"color":"red"}}})");
  EXPECT_CODE(patched, 200);
  EXPECT_EQ(patched.body.Find("status"), nullptr) << patched.raw.body;
  EXPECT_EQ(patched.body["metadata"]["generation"].int_value(), 1);
}

TEST_P(CrdContract, SchemaIsEnforced) {
  EXPECT_STATUS_ANY_ORDER(
      Post(kWidgets, WidgetWith(R"({"size":"medium","replicas":11,"name":"X","tags":["a","b","c","d"],"ports":[{"port":1}]})")), R"(
code: 422
details:
  causes:
  - field: spec.name
    message: 'Invalid value: "X": spec.name in body should be at least 2 chars long'
    reason: FieldValueInvalid
  - field: spec.ports[0].name
    message: Required value
    reason: FieldValueRequired
  - field: spec.replicas
    message: 'Invalid value: 11: spec.replicas in body should be less than or equal to 10'
    reason: FieldValueInvalid
  - field: spec.size
    message: 'Unsupported value: "medium": supported values: "small", "large"'
    reason: FieldValueNotSupported
  - field: spec.tags
    message: 'Too many: 4: must have at most 3 items'
    reason: FieldValueTooMany
  group: '{w}.example.com'
  kind: Widget
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CrdContract, TypesAreEnforced) {
  EXPECT_STATUS_ANY_ORDER(Post(kWidgets, WidgetWith(R"({"size":3,"replicas":"two","tags":"x","labels":{"k":1}})")), R"(
code: 422
details:
  causes:
  - field: .spec.replicas
    message: 'Invalid value: 0: .spec.replicas accessor error: two is of the type string, expected int64'
    reason: FieldValueInvalid
  - field: spec.labels.k
    message: 'Invalid value: "integer": spec.labels.k in body must be of type string: "integer"'
    reason: FieldValueTypeInvalid
  - field: spec.replicas
    message: 'Invalid value: "string": spec.replicas in body must be of type integer: "string"'
    reason: FieldValueTypeInvalid
  - field: spec.size
    message: 'Invalid value: "integer": spec.size in body must be of type string: "integer"'
    reason: FieldValueTypeInvalid
  - field: spec.size
    message: 'Unsupported value: 3: supported values: "small", "large"'
    reason: FieldValueNotSupported
  - field: spec.tags
    message: 'Invalid value: "string": spec.tags in body must be of type array: "string"'
    reason: FieldValueTypeInvalid
  group: '{w}.example.com'
  kind: Widget
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CrdContract, RequiredFieldsAreRequired) {
  EXPECT_STATUS(Post(kWidgets, R"({"apiVersion":"{w}.example.com/v1","kind":"Widget","metadata":{"name":"a"}})"), R"(
code: 422
details:
  causes:
  - field: spec
    message: Required value
    reason: FieldValueRequired
  group: '{w}.example.com'
  kind: Widget
  name: a
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Post(kWidgets, WidgetWith("{}")), R"(
code: 422
details:
  causes:
  - field: spec.size
    message: Required value
    reason: FieldValueRequired
  group: '{w}.example.com'
  kind: Widget
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CrdContract, SetsAndMapsHaveNoDuplicates) {
  EXPECT_STATUS_ANY_ORDER(Post(kWidgets, WidgetWith(R"({"size":"small","tags":["a","a"],"ports":[{"name":"p"},{"name":"p"}]})")), R"(
code: 422
details:
  causes:
  - field: spec.ports[1]
    message: 'Duplicate value: {"name":"p"}'
    reason: FieldValueDuplicate
  - field: spec.tags[1]
    message: 'Duplicate value: "a"'
    reason: FieldValueDuplicate
  group: '{w}.example.com'
  kind: Widget
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CrdContract, IntOrStringTakesBoth) {
  EXPECT_CODE(Post(kWidgets, WidgetWith(R"({"size":"small","either":1})", "a")), 201);
  EXPECT_CODE(Post(kWidgets, WidgetWith(R"({"size":"small","either":"50%"})", "b")), 201);
  EXPECT_STATUS(Post(kWidgets, WidgetWith(R"({"size":"small","either":true})", "c")), R"(
code: 422
details:
  causes:
  - field: spec.either
    message: 'Invalid value: "boolean": spec.either in body must be of type integer,string: "boolean"'
    reason: FieldValueTypeInvalid
  group: '{w}.example.com'
  kind: Widget
  name: c
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CrdContract, NullIsForNullableFieldsOnly) {
  Answer made = Post(kWidgets, WidgetWith(R"({"size":"small","maybe":null,"replicas":null})"));
  EXPECT_CODE(made, 201);
  EXPECT_VALUE(made.body["spec"], R"(
maybe: null
nested:
  mode: auto
replicas: 1
size: small
)");
}

TEST_P(CrdContract, KindAndVersionMustBeTheirs) {
  EXPECT_STATUS(Post(kWidgets, R"({"apiVersion":"{w}.example.com/v1","kind":"Gadget","metadata":{"name":"a"},"spec":{"size":"small"}})"),
                R"(
code: 422
details:
  causes:
  - field: kind
    message: 'Invalid value: "Gadget": must be Widget'
    reason: FieldValueInvalid
  group: '{w}.example.com'
  kind: Gadget
  name: a
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Post(kWidgets, R"({"apiVersion":"v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":"small"}})"), R"(
code: 400
message: the API version in the data (v1) does not match the expected API version ({w}.example.com/v1)
reason: BadRequest
)");
  EXPECT_STATUS(Post(kWidgets, R"({"metadata":{"name":"a"},"spec":{"size":"small"}})"), R"(
code: 400
message: 'the object provided is unrecognized (must be of type Widget): Object ''Kind'' is missing in ''{"metadata":{"name":"a"},"spec":{"size":"small"}}'' ({"metadata":{"name":"a"},"spec ...)'
reason: BadRequest
)");
}

TEST_P(CrdContract, MetadataIsChecked) {
  EXPECT_STATUS(
      Post(kWidgets, R"({"apiVersion":"{w}.example.com/v1","kind":"Widget","metadata":{"name":"Bad_Name"},"spec":{"size":"small"}})"), R"(
code: 422
details:
  causes:
  - field: metadata.name
    message: 'Invalid value: "Bad_Name": <not a subdomain>'
    reason: FieldValueInvalid
  group: '{w}.example.com'
  kind: Widget
  name: Bad_Name
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(
      Post(kWidgets,
           R"({"apiVersion":"{w}.example.com/v1","kind":"Widget","metadata":{"name":"a","labels":{"k":1}},"spec":{"size":"small"}})"),
      R"(
code: 400
message: 'Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string'
reason: BadRequest
)");
}

TEST_P(CrdContract, StatusIsASubresource) {
  Answer made = Post(kWidgets, R"(
apiVersion: {w}.example.com/v1
kind: Widget
metadata: {name: a}
spec: {size: small}
status: {phase: Ready}
)");
  EXPECT_EQ(made.body["status"], Value());
  Answer status = Patch(kWidget + "/status", "merge",
                        R"({"status":{"phase":"Ready","unknown":1},"spec":{"size":"large"},"metadata":{"labels":{"a":"b"}}})");
  EXPECT_BODY(status, 200, R"(
apiVersion: '{w}.example.com/v1'
kind: Widget
metadata:
  creationTimestamp: TIME
  generation: 1
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
spec:
  nested:
    mode: auto
  replicas: 1
  size: small
status:
  phase: Ready
)");
  Answer spec = Patch(kWidget, "merge", R"({"status":{"phase":"Broken"},"spec":{"size":"large"}})");
  EXPECT_EQ(spec.body["status"]["phase"], Value("Ready"));
  EXPECT_EQ(spec.body["metadata"]["generation"], Value(2));
  EXPECT_STATUS(Patch(kWidget + "/status", "merge", R"({"status":{"replicas":"x"}})"), R"(
code: 422
details:
  causes:
  - field: status.replicas
    message: 'Invalid value: "string": replicas in body must be of type integer: "string"'
    reason: FieldValueTypeInvalid
  - field: .status.replicas
    message: 'Invalid value: 0: .status.replicas accessor error: x is of the type string, expected int64'
    reason: FieldValueInvalid
  group: '{w}.example.com'
  kind: Widget
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CrdContract, GenerationCountsChangesOfTheSpec) {
  EXPECT_EQ(Post(kWidgets, kWidgetA).body["metadata"]["generation"], Value(1));
  EXPECT_EQ(Patch(kWidget, "merge", R"({"metadata":{"labels":{"a":"b"}}})").body["metadata"]["generation"], Value(1));
  EXPECT_EQ(Patch(kWidget, "merge", R"({"spec":{"replicas":2}})").body["metadata"]["generation"], Value(2));
  EXPECT_EQ(Patch(kWidget + "/status", "merge", R"({"status":{"phase":"x"}})").body["metadata"]["generation"], Value(2));
}

TEST_P(CrdContract, ScaleIsASubresource) {
  EXPECT_CODE(Post(kWidgets, WidgetWith(R"({"size":"small","replicas":3})")), 201);
  EXPECT_CODE(Patch(kWidget + "/status", "merge", R"({"status":{"replicas":2,"selector":"app=web"}})"), 200);
  EXPECT_BODY(Get(kWidget + "/scale"), 200, R"(
apiVersion: autoscaling/v1
kind: Scale
metadata:
  creationTimestamp: TIME
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
spec:
  replicas: 3
status:
  replicas: 2
  selector: app=web
)");
  Answer scaled = Patch(kWidget + "/scale", "merge", R"({"spec":{"replicas":5}})");
  EXPECT_CODE(scaled, 200);
  EXPECT_VALUE(scaled.body["spec"], R"(
replicas: 5
)");
  EXPECT_EQ(Get(kWidget).body["spec"]["replicas"], Value(5));
  EXPECT_STATUS(Patch(kWidget + "/scale", "merge", R"({"spec":{"replicas":-1}})"), R"(
code: 422
details:
  causes:
  - field: spec.replicas
    message: 'Invalid value: -1: spec.replicas in body should be greater than or equal to 0'
    reason: FieldValueInvalid
  - field: .spec.replicas
    message: 'Invalid value: -1: should be a non-negative integer'
    reason: FieldValueInvalid
  group: '{w}.example.com'
  kind: Widget
  name: a
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Patch(kWidget + "/scale", "merge", R"({"spec":{"replicas":50}})"), R"(
code: 422
details:
  causes:
  - field: spec.replicas
    message: 'Invalid value: 50: spec.replicas in body should be less than or equal to 10'
    reason: FieldValueInvalid
  group: '{w}.example.com'
  kind: Widget
  name: a
message: <of the causes>
reason: Invalid
)");
}

TEST_P(CrdContract, PrinterColumnsMakeTheTable) {
  EXPECT_CODE(Post(kWidgets, WidgetWith(R"({"size":"small","replicas":3})")), 201);
  Answer table = Get(kWidgets, {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  EXPECT_CODE(table, 200);
  EXPECT_VALUE(table.body["columnDefinitions"], R"(
- format: name
  name: Name
  priority: 0
  type: string
- format: ""
  name: Size
  priority: 0
  type: string
- format: ""
  name: Replicas
  priority: 1
  type: integer
- format: ""
  name: Age
  priority: 0
  type: date
)");
  Value cells = table.body["rows"].list()[0]["cells"];
  ASSERT_EQ(cells.list().size(), 4U);
  cells.MutableList()[3] = "AGE";
  EXPECT_VALUE(cells, R"(
- a
- small
- 3
- AGE
)");
}

TEST_P(CrdContract, WithoutColumnsTheTableHasNameAndAge) {
  CreateCrd(SmallCrd("{type: object}"));
  Answer table = Get(Own(kWidgets), {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  EXPECT_VALUE(table.body["columnDefinitions"], R"(
- format: name
  name: Name
  priority: 0
  type: string
- format: ""
  name: Age
  priority: 0
  type: date
)");
}

TEST_P(CrdContract, VersionsShowTheSameObject) {
  CreateCrd(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.{id}.example.com}
spec:
  group: {id}.example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}, b: {type: string}}}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}, c: {type: string, default: see}}}}}}}
  - {name: v3, served: false, storage: false, schema: {openAPIV3Schema: {type: object}}}
)");
  EXPECT_CODE(Post(Own(kWidgets), OwnWidgetWith(R"({"a":"1","b":"2"})")), 201);
  EXPECT_BODY(Get("/apis/{id}.example.com/v2/namespaces/{ns}/widgets/a"), 200, R"(
apiVersion: '{id}.example.com/v2'
kind: Widget
metadata:
  creationTimestamp: TIME
  generation: 1
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
spec:
  a: "1"
)");
  EXPECT_CODE(Get("/apis/{id}.example.com/v3/namespaces/{ns}/widgets/a"), 404);
  Answer made = Post("/apis/{id}.example.com/v2/namespaces/{ns}/widgets",
                     R"({"apiVersion":"{id}.example.com/v2","kind":"Widget","metadata":{"name":"b"},"spec":{"a":"1","c":"3"}})");
  EXPECT_CODE(made, 201);
  EXPECT_VALUE(Get(Own(kWidgets) + "/b").body["spec"], R"(
a: "1"
)");
}

TEST_P(CrdContract, DeprecatedVersionsWarn) {
  CreateCrd(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.{id}.example.com}
spec:
  group: {id}.example.com
  scope: Cluster
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, deprecated: true, schema: {openAPIV3Schema: {type: object}}}
  - {name: v2, served: true, storage: false, deprecated: true, deprecationWarning: use v3, schema: {openAPIV3Schema: {type: object}}}
)");
  EXPECT_EQ(Get("/apis/{id}.example.com/v1/widgets").Warnings(),
            (std::vector<std::string>{Expand("{id}.example.com/v1 Widget is deprecated")}));
  EXPECT_EQ(Get("/apis/{id}.example.com/v2/widgets").Warnings(), (std::vector<std::string>{"use v3"}));
}

TEST_P(CrdContract, SelectableFieldsSelect) {
  if (server().oldest()) GTEST_SKIP() << "1.26 does not know selectableFields";
  CreateCrd(SmallCrd("{type: object, properties: {color: {type: string}, size: {type: integer}}}", R"(
    selectableFields: [{jsonPath: .spec.color}, {jsonPath: .spec.size}]
)"));
  EXPECT_CODE(Post(Own(kWidgets), OwnWidgetWith(R"({"color":"red","size":1})", "a")), 201);
  EXPECT_CODE(Post(Own(kWidgets), OwnWidgetWith(R"({"color":"blue","size":1})", "b")), 201);
  Answer red = Get(Own(kWidgets) + "?fieldSelector=spec.color=red");
  ASSERT_EQ(red.body["items"].list().size(), 1U) << red.raw.body;
  EXPECT_EQ(red.body["items"].list()[0]["metadata"]["name"], Value("a"));
  EXPECT_EQ(Get(Own(kWidgets) + "?fieldSelector=spec.size=1,spec.color!=red").body["items"].list().size(), 1U);
  EXPECT_STATUS(Get(Own(kWidgets) + "?fieldSelector=spec.other=1"), R"(
code: 400
message: 'field label not supported: spec.other'
reason: BadRequest
)");
}

TEST_P(CrdContract, ClusterScopedResourcesHaveNoNamespace) {
  CreateCrd(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.{id}.example.com}
spec:
  group: {id}.example.com
  scope: Cluster
  names: {plural: widgets, kind: Widget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
)");
  EXPECT_BODY(Post("/apis/{id}.example.com/v1/widgets",
                   R"({"apiVersion":"{id}.example.com/v1","kind":"Widget","metadata":{"name":"a"},"any":[1,2.5,{"x":null}]})"),
              201, R"(
any:
- 1
- 2.5
- x: null
apiVersion: '{id}.example.com/v1'
kind: Widget
metadata:
  creationTimestamp: TIME
  generation: 1
  name: a
  resourceVersion: RV
  uid: UID
)");
  EXPECT_CODE(Get("/apis/{id}.example.com/v1/namespaces/default/widgets"), 404);
}

TEST_P(CrdContract, DefinitionTakesItsObjectsAlong) {
  CreateCrd(Own(kWidgetCrd));
  EXPECT_CODE(Post(Own(kWidgets), Own(kWidgetA)), 201);
  EXPECT_CODE(Delete(std::string(kCrds) + "/widgets.{id}.example.com"), 200);
  GetUntilGone(std::string(kCrds) + "/widgets.{id}.example.com");
  GetUntilGone(Own(kWidgets));
}

TEST_P(CrdContract, SchemaMayChange) {
  CreateCrd(SmallCrd("{type: object, properties: {a: {type: string}}}"));
  EXPECT_CODE(
      Patch(
          std::string(kCrds) + "/widgets.{id}.example.com", "json",
          R"([{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/b","value":{"type":"string","default":"new"}}])"),
      200);
  int number = 0;
  // The new schema serves a moment after it is stored.
  Context ctx = Context::Background().WithTimeout(std::chrono::seconds(30));
  while (true) {
    Answer made = Post(Own(kWidgets), OwnWidgetWith(R"({"a":"1"})", "a" + std::to_string(number++)));
    EXPECT_CODE(made, 201);
    if (made.body["spec"]["b"] == Value("new")) break;
    ASSERT_TRUE(ctx.SleepFor(std::chrono::milliseconds(50)));
  }
  // And for objects that existed before.
  EXPECT_EQ(Get(Own(kWidgets) + "/a0").body["spec"]["b"], Value("new"));
}

}  // namespace
}  // namespace kube::contract
