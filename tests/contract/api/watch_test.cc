// Watching: events, bookmarks, initial events, selectors, expired versions.
#include <set>

#include "contract.h"
#include "texts.h"

namespace kube::contract {
namespace {

CONTRACT_SUITE(WatchContract);

TEST_P(WatchContract, TellsWhatHappensAfterAVersion) {
  const std::string rv = Get(kConfigMaps).rv();
  auto watch = Watch(std::string(kConfigMaps) + "?watch=1&resourceVersion=" + rv);
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  Answer changed = Patch(std::string(kConfigMaps) + "/a", "merge", R"({"data":{"color":"blue"}})");
  EXPECT_CODE(Delete(std::string(kConfigMaps) + "/a"), 200);
  EXPECT_VALUE(watch->Next(), R"(
object:
  apiVersion: v1
  data:
    color: red
    size: "3"
  kind: ConfigMap
  metadata:
    creationTimestamp: TIME
    labels:
      app: web
      tier: front
    name: a
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
type: ADDED
)");
  EXPECT_VALUE(watch->Next(), R"(
object:
  apiVersion: v1
  data:
    color: blue
    size: "3"
  kind: ConfigMap
  metadata:
    creationTimestamp: TIME
    labels:
      app: web
      tier: front
    name: a
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
type: MODIFIED
)");
  Value deleted = watch->Next();
  EXPECT_VALUE(deleted, R"(
object:
  apiVersion: v1
  data:
    color: blue
    size: "3"
  kind: ConfigMap
  metadata:
    creationTimestamp: TIME
    labels:
      app: web
      tier: front
    name: a
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
type: DELETED
)");
  // The last state, at the version of the deletion.
  EXPECT_GT(std::stoll(deleted["object"]["metadata"]["resourceVersion"].string_value().str()), std::stoll(changed.rv()));
}

TEST_P(WatchContract, IsAStreamOfJson) {
  auto watch = Watch(std::string(kConfigMaps) + "?watch=1&timeoutSeconds=1");
  EXPECT_EQ(watch->Code(), 200);
  EXPECT_TRUE(watch->Ends());
}

TEST_P(WatchContract, WithoutAVersionStartsWithWhatIsThere) {
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("a")), 201);
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("b")), 201);
  for (const char* version : {"", "&resourceVersion=0"}) {
    auto watch = Watch(std::string(kConfigMaps) + "?watch=1" + version);
    Value first = watch->Next();
    Value second = watch->Next();
    EXPECT_EQ(first["type"], Value("ADDED"));
    EXPECT_EQ(second["type"], Value("ADDED"));
    // In any order: the API does not define one, and 1.26 has none.
    const std::set<std::string> names = {first["object"]["metadata"]["name"].string_value().str(),
                                         second["object"]["metadata"]["name"].string_value().str()};
    EXPECT_EQ(names, (std::set<std::string>{"a", "b"}));
  }
}

TEST_P(WatchContract, EndsAfterItsTimeout) {
  auto watch = Watch(std::string(kConfigMaps) + "?watch=1&timeoutSeconds=1");
  EXPECT_TRUE(watch->Ends());
}

TEST_P(WatchContract, SendsABookmarkBeforeItEnds) {
  if (server().oldest()) GTEST_SKIP() << "1.26 sends them once a minute, whenever the watch ends";
  const std::string rv = Get(kConfigMaps).rv();
  auto watch = Watch(std::string(kConfigMaps) + "?watch=1&allowWatchBookmarks=true&timeoutSeconds=6&resourceVersion=" + rv);
  // kube-apiserver sends no bookmark for the version that a watch began with, and "a" may be that version: it may have been there before
  // the server opened the watch. "b" was not: the watch had answered by then.
  for (const char* name : {"a", "b"}) {
    EXPECT_CODE(Post(kConfigMaps, ConfigMapJson(name)), 201);
    EXPECT_EQ(watch->Next()["object"]["metadata"]["name"], Value(name));
  }
  const Value bookmark = watch->Next();
  EXPECT_VALUE(bookmark, R"(
object:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    resourceVersion: RV
type: BOOKMARK
)");
}

TEST_P(WatchContract, InitialEventsEndWithAMarkedBookmark) {
  if (server().oldest()) GTEST_SKIP() << "1.26 does not know sendInitialEvents";
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("a")), 201);
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("b")), 201);
  auto watch = Watch(std::string(kConfigMaps) +
                     "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan&resourceVersion=");
  EXPECT_EQ(watch->Next()["object"]["metadata"]["name"], Value("a"));
  EXPECT_EQ(watch->Next()["object"]["metadata"]["name"], Value("b"));
  EXPECT_VALUE(watch->Next(), R"(
object:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    annotations:
      k8s.io/initial-events-end: "true"
    resourceVersion: RV
type: BOOKMARK
)");
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("c")), 201);
  EXPECT_EQ(watch->NextOf("ADDED")["object"]["metadata"]["name"], Value("c"));
}

TEST_P(WatchContract, InitialEventsNeedTheirParameters) {
  if (server().oldest()) GTEST_SKIP() << "1.26 does not know sendInitialEvents";
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?watch=1&sendInitialEvents=true"), R"(
code: 422
details:
  causes:
  - field: resourceVersionMatch
    message: 'Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'
    reason: FieldValueForbidden
  group: meta.k8s.io
  kind: ListOptions
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?sendInitialEvents=true"), R"(
code: 422
details:
  causes:
  - field: sendInitialEvents
    message: 'Forbidden: sendInitialEvents is forbidden for list'
    reason: FieldValueForbidden
  group: meta.k8s.io
  kind: ListOptions
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?watch=1&resourceVersion=1&resourceVersionMatch=NotOlderThan"), R"(
code: 422
details:
  causes:
  - field: resourceVersionMatch
    message: 'Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided'
    reason: FieldValueForbidden
  group: meta.k8s.io
  kind: ListOptions
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?watch=1&sendInitialEvents=true&resourceVersionMatch=Exact&allowWatchBookmarks=true"), R"(
code: 422
details:
  causes:
  - field: resourceVersionMatch
    message: 'Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'
    reason: FieldValueForbidden
  - field: resourceVersionMatch
    message: 'Unsupported value: "Exact": supported values: "NotOlderThan"'
    reason: FieldValueNotSupported
  group: meta.k8s.io
  kind: ListOptions
message: <of the causes>
reason: Invalid
)");
}

TEST_P(WatchContract, SelectorTurnsChangesIntoComingAndGoing) {
  const std::string rv = Get(kConfigMaps).rv();
  auto watch = Watch(std::string(kConfigMaps) + "?watch=1&labelSelector=app=web&resourceVersion=" + rv);
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("a", R"({"app":"db"})")), 201);
  EXPECT_CODE(Patch(std::string(kConfigMaps) + "/a", "merge", R"({"metadata":{"labels":{"app":"web"}}})"), 200);
  EXPECT_CODE(Patch(std::string(kConfigMaps) + "/a", "merge", R"({"data":{"k":"w"}})"), 200);
  Answer left = Patch(std::string(kConfigMaps) + "/a", "merge", R"({"metadata":{"labels":{"app":"db"}}})");
  EXPECT_VALUE(watch->Next(), R"(
object:
  apiVersion: v1
  data:
    k: v
  kind: ConfigMap
  metadata:
    creationTimestamp: TIME
    labels:
      app: web
    name: a
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
type: ADDED
)");
  EXPECT_VALUE(watch->Next(), R"(
object:
  apiVersion: v1
  data:
    k: w
  kind: ConfigMap
  metadata:
    creationTimestamp: TIME
    labels:
      app: web
    name: a
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
type: MODIFIED
)");
  Value gone = watch->Next();
  // Its last state that matched, at the version of the change.
  EXPECT_VALUE(gone, R"(
object:
  apiVersion: v1
  data:
    k: w
  kind: ConfigMap
  metadata:
    creationTimestamp: TIME
    labels:
      app: web
    name: a
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
type: DELETED
)");
  EXPECT_EQ(gone["object"]["metadata"]["resourceVersion"].string_value().str(), left.rv());
}

TEST_P(WatchContract, FieldSelectorWatchesOneObject) {
  const std::string rv = Get(kConfigMaps).rv();
  auto watch = Watch(std::string(kConfigMaps) + "?watch=1&fieldSelector=metadata.name=b&resourceVersion=" + rv);
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("a")), 201);
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("b")), 201);
  EXPECT_EQ(watch->Next()["object"]["metadata"]["name"], Value("b"));
}

TEST_P(WatchContract, OneObjectIsWatchedByTheOldFormOfItsPathOnly) {
  Answer made = Post(kConfigMaps, ConfigMapJson("a"));
  Answer got = Get(std::string(kConfigMaps) + "/a?watch=1&resourceVersion=" + made.rv());
  EXPECT_EQ(got.body, made.body);
  auto watch = Watch("/api/v1/watch/namespaces/{ns}/configmaps/a?resourceVersion=" + made.rv());
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("b")), 201);
  EXPECT_CODE(Delete(std::string(kConfigMaps) + "/a"), 200);
  Value event = watch->Next();
  EXPECT_EQ(event["type"], Value("DELETED"));
  EXPECT_EQ(event["object"]["metadata"]["name"], Value("a"));
}

TEST_P(WatchContract, OldFormOfThePathWorks) {
  const std::string rv = Get(kConfigMaps).rv();
  auto watch = Watch("/api/v1/watch/namespaces/{ns}/configmaps?resourceVersion=" + rv);
  auto all = Watch("/api/v1/watch/configmaps?fieldSelector=metadata.namespace={ns}&resourceVersion=" + rv);
  EXPECT_CODE(Post(kConfigMaps, ConfigMapJson("a")), 201);
  EXPECT_EQ(watch->Next()["type"], Value("ADDED"));
  EXPECT_EQ(all->Next()["type"], Value("ADDED"));
}

TEST_P(WatchContract, VersionThatIsGoneIsAnErrorEvent) {
  // A kind that was added to the server later than version 1, so that a real one cannot have that in memory either.
  Expand(kWidgets);
  ASSERT_TRUE(server().compact());
  auto watch = Watch(std::string(kWidgets) + "?watch=1&resourceVersion=1");
  EXPECT_EQ(watch->Code(), 200);
  Value event = watch->Next();
  EXPECT_EQ(event["type"], Value("ERROR"));
  Value status = event["object"];
  const std::string message = status["message"].string_value().str();
  EXPECT_EQ(message.substr(0, 29), "too old resource version: 1 (");
  status["message"] = "";
  EXPECT_VALUE(status, R"(
apiVersion: v1
code: 410
kind: Status
message: ""
metadata: {}
reason: Expired
status: Failure
)");
  EXPECT_TRUE(watch->Ends());
}

TEST_P(WatchContract, BrokenVersionIsRefused) {
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?watch=1&resourceVersion=abc"), R"(
code: 500
message: 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
)");
}

TEST_P(WatchContract, BrokenSelectorIsRefused) {
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?watch=1&labelSelector=a+in+b"), R"(
code: 400
message: 'unable to parse requirement: found ''b'' expected: ''('''
reason: BadRequest
)");
  EXPECT_STATUS(Get(std::string(kConfigMaps) + "?watch=1&fieldSelector=data.k=v"), R"(
code: 400
message: '"data.k" is not a known field selector: only "metadata.name", "metadata.namespace"'
reason: BadRequest
)");
}

TEST_P(WatchContract, DeletionWithFinalizersIsAChangeFirst) {
  EXPECT_CODE(Post(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["example.com/hold"]}})"), 201);
  const std::string rv = Get(kConfigMaps).rv();
  auto watch = Watch(std::string(kConfigMaps) + "?watch=1&resourceVersion=" + rv);
  EXPECT_CODE(Delete(std::string(kConfigMaps) + "/a"), 200);
  EXPECT_CODE(Patch(std::string(kConfigMaps) + "/a", "merge", R"({"metadata":{"finalizers":null}})"), 200);
  EXPECT_VALUE(watch->Next(), R"(
object:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    creationTimestamp: TIME
    deletionGracePeriodSeconds: 0
    deletionTimestamp: TIME
    finalizers:
    - example.com/hold
    name: a
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
type: MODIFIED
)");
  EXPECT_VALUE(watch->Next(), R"(
object:
  apiVersion: v1
  kind: ConfigMap
  metadata:
    creationTimestamp: TIME
    deletionGracePeriodSeconds: 0
    deletionTimestamp: TIME
    finalizers:
    - example.com/hold
    name: a
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
type: DELETED
)");
}

TEST_P(WatchContract, CustomResourcesAreWatched) {
  const std::string rv = Get(kWidgets).rv();
  auto watch = Watch(std::string(kWidgets) + "?watch=1&resourceVersion=" + rv);
  EXPECT_CODE(Post(kWidgets, kWidgetA), 201);
  EXPECT_CODE(Patch(std::string(kWidgets) + "/a/status", "merge", R"({"status":{"phase":"Ready"}})"), 200);
  EXPECT_VALUE(watch->Next(), R"(
object:
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
type: ADDED
)");
  EXPECT_VALUE(watch->Next(), R"(
object:
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
type: MODIFIED
)");
}

TEST_P(WatchContract, TablesAreWatched) {
  const std::string rv = Get(kConfigMaps).rv();
  auto watch =
      Watch(std::string(kConfigMaps) + "?watch=1&resourceVersion=" + rv, {{"Accept", "application/json;as=Table;v=v1;g=meta.k8s.io"}});
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_CODE(Patch(std::string(kConfigMaps) + "/a", "merge", R"({"data":{"more":"1"}})"), 200);
  Value first = watch->Next();
  EXPECT_EQ(first["object"]["columnDefinitions"].list().size(), 3U);
  Value second = watch->Next();
  EXPECT_VALUE(second["object"]["columnDefinitions"], R"()");
  EXPECT_VALUE(second["object"]["rows"].list()[0]["object"], R"(
apiVersion: meta.k8s.io/v1
kind: PartialObjectMetadata
metadata:
  creationTimestamp: TIME
  labels:
    app: web
    tier: front
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
)");
  EXPECT_VALUE(second["object"]["rows"].list()[0]["cells"].list()[1], R"(
3
)");
}

TEST_P(WatchContract, MetadataAloneIsWatched) {
  const std::string rv = Get(kConfigMaps).rv();
  auto watch = Watch(std::string(kConfigMaps) + "?watch=1&resourceVersion=" + rv,
                     {{"Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}});
  EXPECT_CODE(Post(kConfigMaps, kConfigMapA), 201);
  EXPECT_VALUE(watch->Next(), R"(
object:
  apiVersion: meta.k8s.io/v1
  kind: PartialObjectMetadata
  metadata:
    creationTimestamp: TIME
    labels:
      app: web
      tier: front
    name: a
    namespace: '{ns}'
    resourceVersion: RV
    uid: UID
type: ADDED
)");
}

}  // namespace
}  // namespace kube::contract
