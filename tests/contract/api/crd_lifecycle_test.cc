// What happens to a custom resource when its definition changes, conflicts with another or is deleted.
#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(CrdLifecycleContract);

constexpr const char* kOwn = "/apis/{id}.example.com/v1/namespaces/{ns}/widgets";
const std::string kCrd = std::string(kCrds) + "/widgets.{id}.example.com";

std::string Definition(const std::string& plural, const std::string& names) {
  return R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: )" +
         plural + R"(.{id}.example.com}
spec:
  group: {id}.example.com
  scope: Namespaced
  names: {plural: )" +
         plural + ", " + names + R"(}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
)";
}

std::string Object(const std::string& name, const std::string& finalizers = "[]") {
  return R"({"apiVersion":"{id}.example.com/v1","kind":"Widget","metadata":{"name":")" + name + R"(","finalizers":)" + finalizers + "}}";
}

const Value& ConditionOf(const Answer& crd, std::string_view type) {
  for (const Value& condition : crd.body["status"]["conditions"].list()) {
    if (condition["type"].string_value() == type) return condition;
  }
  return crd.body["nothing"];
}

TEST_P(CrdLifecycleContract, WatchesEndWhenTheDefinitionChanges) {
  CreateCrd(Definition("widgets", "kind: Widget"));
  auto watch = Watch(std::string(kOwn) + "?watch=1");
  EXPECT_EQ(watch->Code(), 200);
  // Metadata and status of the definition do not count.
  EXPECT_CODE(Patch(kCrd, "merge", R"({"metadata":{"labels":{"a":"b"}}})"), 200);
  EXPECT_CODE(Post(kOwn, Object("a")), 201);
  EXPECT_EQ(watch->Next()["object"]["metadata"]["name"], Value("a"));
  EXPECT_CODE(Patch(kCrd, "json", R"([{"op":"add","path":"/spec/versions/0/additionalPrinterColumns",
      "value":[{"name":"X","type":"string","jsonPath":".spec.x"}]}])"),
              200);
  EXPECT_TRUE(watch->Ends());
  // A new one works.
  GetUntil(kOwn, [](const Answer& a) { return a.code == 200; });
  EXPECT_EQ(Watch(std::string(kOwn) + "?watch=1")->Next()["object"]["metadata"]["name"], Value("a"));
}

TEST_P(CrdLifecycleContract, WatchesEndWithTheDefinition) {
  CreateCrd(Definition("widgets", "kind: Widget"));
  auto watch = Watch(std::string(kOwn) + "?watch=1");
  EXPECT_EQ(watch->Code(), 200);
  EXPECT_CODE(Delete(kCrd), 200);
  GetUntilGone(kCrd);
  EXPECT_TRUE(watch->Ends());
}

TEST_P(CrdLifecycleContract, NothingIsCreatedWhileTheDefinitionIsDeleted) {
  CreateCrd(Definition("widgets", "kind: Widget"));
  EXPECT_CODE(Post(kOwn, Object("a", R"(["example.com/hold"])")), 201);
  Answer deleted = Delete(kCrd);
  EXPECT_CODE(deleted, 200);
  EXPECT_VALUE(deleted.body["metadata"], R"(
creationTimestamp: TIME
deletionTimestamp: TIME
finalizers:
- customresourcecleanup.apiextensions.k8s.io
generation: 1
name: widgets.{id}.example.com
resourceVersion: RV
uid: UID
)");
  EXPECT_VALUE(ConditionOf(deleted, "Terminating"), R"(
lastTransitionTime: TIME
message: CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon
reason: InstanceDeletionPending
status: "True"
type: Terminating
)");
  // Until its objects are deleted.
  Answer waiting =
      GetUntil(kCrd, [](const Answer& a) { return ConditionOf(a, "Terminating")["reason"] == Value("InstanceDeletionInProgress"); });
  EXPECT_VALUE(ConditionOf(waiting, "Terminating"), R"(
lastTransitionTime: TIME
message: CustomResource deletion is in progress
reason: InstanceDeletionInProgress
status: "True"
type: Terminating
)");
  EXPECT_VALUE(ConditionOf(waiting, "Established")["status"], R"(
"True"
)");
  GetUntil(std::string(kOwn) + "/a", [](const Answer& a) { return !a.body["metadata"]["deletionTimestamp"].is_null(); });
  EXPECT_STATUS(Post(kOwn, Object("b")), R"(
code: 403
details:
  group: '{id}.example.com'
  kind: widgets
  name: b
message: 'widgets.{id}.example.com "b" is forbidden: create not allowed while custom resource definition is terminating'
reason: Forbidden
)");
  EXPECT_STATUS(Post(std::string(kOwn) + "?dryRun=All", Object("b")), R"(
code: 403
details:
  group: '{id}.example.com'
  kind: widgets
  name: b
message: 'widgets.{id}.example.com "b" is forbidden: create not allowed while custom resource definition is terminating'
reason: Forbidden
)");
  if (server().oldest()) {
    // 1.26 looks at the verb alone: an apply creates the object, which would then keep the definition for a minute.
    EXPECT_CODE(Apply(std::string(kOwn) + "/b", "m", Object("b")), 201);
    EXPECT_CODE(Delete(std::string(kOwn) + "/b"), 200);
  } else {
    EXPECT_STATUS(Apply(std::string(kOwn) + "/b", "m", Object("b")), R"(
code: 403
details:
  group: '{id}.example.com'
  kind: widgets
  name: b
message: 'widgets.{id}.example.com "b" is forbidden: create not allowed while custom resource definition is terminating'
reason: Forbidden
)");
  }
  // Existing objects may change.
  EXPECT_CODE(Patch(std::string(kOwn) + "/a", "merge", R"({"spec":{"x":1}})"), 200);
  EXPECT_CODE(Apply(std::string(kOwn) + "/a", "m", R"({"apiVersion":"{id}.example.com/v1","kind":"Widget","spec":{"y":1}})"), 200);
  // A second delete changes nothing.
  EXPECT_CODE(Delete(kCrd), 200);
  EXPECT_CODE(Patch(std::string(kOwn) + "/a", "merge", R"({"metadata":{"finalizers":null}})"), 200);
  GetUntilGone(kCrd);
}

TEST_P(CrdLifecycleContract, ConflictOfNamesEndsWithTheOtherDefinition) {
  CreateCrd(Definition("widgets", "kind: Widget, singular: widget, shortNames: [wd]"));
  const std::string other = std::string(kCrds) + "/gadgets.{id}.example.com";
  Answer made = Post(kCrds, Definition("gadgets", "kind: Widget, singular: widget, shortNames: [wd, gd]"));
  Cleanup(other);
  EXPECT_CODE(made, 201);
  Answer got = GetUntil(other, [](const Answer& a) { return !ConditionOf(a, "Established").is_null(); });
  EXPECT_VALUE(got.body["status"], R"(
acceptedNames:
  kind: ""
  plural: gadgets
conditions:
- lastTransitionTime: TIME
  message: '"WidgetList" is already in use'
  reason: ListKindConflict
  status: "False"
  type: NamesAccepted
- lastTransitionTime: TIME
  message: not all names are accepted
  reason: NotAccepted
  status: "False"
  type: Established
storedVersions:
- v1
)");
  EXPECT_CODE(Get("/apis/{id}.example.com/v1/namespaces/{ns}/gadgets"), 404);
  EXPECT_CODE(Delete(kCrd), 200);
  Answer healed = GetUntil(other, [](const Answer& a) { return ConditionOf(a, "Established")["status"] == Value("True"); });
  EXPECT_VALUE(healed.body["status"], R"(
acceptedNames:
  kind: Widget
  listKind: WidgetList
  plural: gadgets
  shortNames:
  - wd
  - gd
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
  GetUntil("/apis/{id}.example.com/v1/namespaces/{ns}/gadgets", [](const Answer& a) { return a.code == 200; });
}

TEST_P(CrdLifecycleContract, DefinitionThatWasNeverAcceptedIsDeleted) {
  CreateCrd(Definition("widgets", "kind: Widget"));
  const std::string other = std::string(kCrds) + "/gadgets.{id}.example.com";
  EXPECT_CODE(Post(kCrds, Definition("gadgets", "kind: Widget")), 201);
  GetUntil(other, [](const Answer& a) { return !ConditionOf(a, "Established").is_null(); });
  EXPECT_CODE(Delete(other), 200);
  GetUntilGone(other);
  EXPECT_CODE(Get(kOwn), 200);
}

}  // namespace
}  // namespace kube::contract
