// Mutating webhooks: their patches and their order.
#include "hook_server.h"
#include "texts.h"

namespace kube::contract {
namespace {

class WebhookPatchesContract : public HookTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WebhookPatchesContract);
INSTANTIATE_TEST_SUITE_P(Servers, WebhookPatchesContract, ::testing::ValuesIn(ServersToTest()), TestParamName);

const std::string kMaps = kConfigMaps;

constexpr const char* kEveryConfigMap = "{operations: ['*'], apiGroups: [''], apiVersions: [v1], resources: [configmaps]}";

// ---- Patches ----

TEST_P(WebhookPatchesContract, PatchIsAppliedAndBelongsToTheRequest) {
  On("/m", [](const Value& r) {
    return PatchWith(
        r, "[{op: add, path: /data/added, value: x}, {op: replace, path: /data/color, value: blue}, {op: remove, path: /data/size}]");
  });
  InstallMutating({Entry("m", "/m")});
  Answer made = Post(kMaps + "?fieldManager=me", kConfigMapA);
  EXPECT_BODY(made, 201, R"(
apiVersion: v1
data:
  added: x
  color: blue
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
)");
  EXPECT_MANAGED_FIELDS(made, R"(
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      .: {}
      f:color: {}
      f:size: {}
    f:metadata:
      f:labels:
        .: {}
        f:app: {}
        f:tier: {}
  manager: me
  operation: Update
  time: TIME
)");
}

TEST_P(WebhookPatchesContract, PatchOfAnUpdate) {
  EXPECT_CODE(Post(kMaps + "?fieldManager=me", kConfigMapA), 201);
  On("/m", [](const Value& r) { return PatchWith(r, "[{op: add, path: /metadata/labels/touched, value: 'yes'}]"); });
  Value m = Entry("m", "/m");
  m["rules"] = Rules(kEveryConfigMap);
  InstallMutating({m});
  Answer patched = Patch(kMaps + "/a?fieldManager=p", "merge", R"({"data":{"color":"blue"}})");
  EXPECT_BODY(patched, 200, R"(
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
    touched: "yes"
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
)");
  EXPECT_MANAGED_FIELDS(patched, R"(
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      .: {}
      f:size: {}
    f:metadata:
      f:labels:
        .: {}
        f:app: {}
        f:tier: {}
  manager: me
  operation: Update
  time: TIME
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      f:color: {}
  manager: p
  operation: Update
  time: TIME
)");
}

TEST_P(WebhookPatchesContract, DefaultsComeAfterAPatch) {
  On("/m", [](const Value& r) {
    return PatchWith(r, "[{op: add, path: /spec/containers/-, value: {name: sidecar, image: 'example.com/sidecar:1'}}]");
  });
  Value m = Entry("m", "/m");
  m["rules"] = Rules("{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}");
  InstallMutating({m});
  Answer made = Post(kPods, kPodA);
  EXPECT_CODE(made, 201);
  EXPECT_VALUE(made.body["spec"]["containers"], R"(
- image: example.com/web:1
  imagePullPolicy: IfNotPresent
  name: web
  ports:
  - containerPort: 8080
    protocol: TCP
  resources: {}
  terminationMessagePath: /dev/termination-log
  terminationMessagePolicy: File
- image: example.com/sidecar:1
  imagePullPolicy: IfNotPresent
  name: sidecar
  resources: {}
  terminationMessagePath: /dev/termination-log
  terminationMessagePolicy: File
)");
}

TEST_P(WebhookPatchesContract, MutatingWebhooksSeeWhatTheServerAdmits) {
  On("/m", Allow);
  Value m = Entry("m", "/m");
  m["rules"] = Rules("{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}");
  InstallMutating({m});
  EXPECT_CODE(Post(kPods, kPodA), 201);
  ASSERT_EQ(ReviewsOf("/m").size(), 1u);
  EXPECT_VALUE(ReviewsOf("/m")[0]["request"]["object"], R"(
apiVersion: v1
kind: Pod
metadata:
  labels:
    app: web
  name: a
  namespace: '{ns}'
spec:
  automountServiceAccountToken: false
  containers:
  - image: example.com/web:1
    imagePullPolicy: IfNotPresent
    name: web
    ports:
    - containerPort: 8080
      protocol: TCP
    resources: {}
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
  dnsPolicy: ClusterFirst
  enableServiceLinks: true
  preemptionPolicy: PreemptLowerPriority
  priority: 0
  restartPolicy: Always
  schedulerName: default-scheduler
  securityContext: {}
  terminationGracePeriodSeconds: 30
  tolerations:
  - effect: NoExecute
    key: node.kubernetes.io/not-ready
    operator: Exists
    tolerationSeconds: 300
  - effect: NoExecute
    key: node.kubernetes.io/unreachable
    operator: Exists
    tolerationSeconds: 300
status: {}
)");
}

TEST_P(WebhookPatchesContract, PatchOfWhatOnlyTheServerSets) {
  On("/uid", [](const Value& r) { return PatchWith(r, "[{op: add, path: /metadata/uid, value: mine}]"); });
  On("/name", [](const Value& r) { return PatchWith(r, "[{op: replace, path: /metadata/name, value: renamed}]"); });
  On("/ns", [](const Value& r) { return PatchWith(r, "[{op: replace, path: /metadata/namespace, value: kube-system}]"); });
  On("/rv", [](const Value& r) { return PatchWith(r, "[{op: add, path: /metadata/resourceVersion, value: '1'}]"); });
  std::vector<Value> entries;
  for (const char* what : {"uid", "name", "ns", "rv"}) {
    EXPECT_CODE(Post(kMaps, ConfigMapJson(what)), 201);
    Value entry = Entry(what, std::string("/") + what);
    entry["rules"] = Rules(kEveryConfigMap);
    entry["objectSelector"] = Value::Object({{"matchLabels", Value::Object({{"patch", what}})}});
    entries.push_back(std::move(entry));
  }
  InstallMutating(entries);
  const auto labelled = [](const std::string& what) { return R"({"metadata":{"labels":{"patch":")" + what + R"("}}})"; };
  EXPECT_STATUS(Patch(kMaps + "/uid", "merge", labelled("uid")), R"(
code: 422
details:
  causes:
  - field: metadata.uid
    message: 'Invalid value: "mine": field is immutable'
    reason: FieldValueInvalid
  - field: metadata.uid
    message: 'Invalid value: "mine": field is immutable'
    reason: FieldValueInvalid
  kind: ConfigMap
  name: uid
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Patch(kMaps + "/name", "merge", labelled("name")), R"(
code: 422
details:
  causes:
  - field: metadata.name
    message: 'Invalid value: "renamed": field is immutable'
    reason: FieldValueInvalid
  - field: metadata.name
    message: 'Invalid value: "renamed": field is immutable'
    reason: FieldValueInvalid
  kind: ConfigMap
  name: renamed
message: <of the causes>
reason: Invalid
)");
  EXPECT_STATUS(Patch(kMaps + "/ns", "merge", labelled("ns")), R"(
code: 400
message: the namespace of the provided object does not match the namespace sent on the request
reason: BadRequest
)");
  EXPECT_STATUS(Put(kMaps + "/rv", ConfigMapJson("rv", R"({"patch":"rv"})")), R"(
code: 409
details:
  kind: configmaps
  name: rv
message: 'Operation cannot be fulfilled on configmaps "rv": the object has been modified; please apply your changes to the latest version and try again'
reason: Conflict
)");
  Answer made = Post(kMaps, ConfigMapJson("new", R"({"patch":"uid"})"));
  EXPECT_CODE(made, 201);
  EXPECT_NE(made.uid(), "mine");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("other", R"({"patch":"ns"})")), R"(
code: 400
message: the namespace of the provided object does not match the namespace sent on the request
reason: BadRequest
)");
  EXPECT_EQ(Post(kMaps, ConfigMapJson("other", R"({"patch":"name"})")).body["metadata"]["name"], Value("renamed"));
}

TEST_P(WebhookPatchesContract, PatchThatBreaksTheObject) {
  On("/type", [](const Value& r) { return PatchWith(r, "[{op: add, path: /data, value: text}]"); });
  On("/invalid", [](const Value& r) { return PatchWith(r, "[{op: add, path: /data, value: {'bad key': x}}]"); });
  On("/unknown", [](const Value& r) { return PatchWith(r, "[{op: add, path: /nothing, value: {a: 1}}]"); });
  On("/fields", [](const Value& r) { return PatchWith(r, "[{op: add, path: /metadata/managedFields, value: [{operation: Bogus}]}]"); });
  std::vector<Value> entries;
  for (const char* what : {"type", "invalid", "unknown", "fields"}) {
    Value entry = Entry(what, std::string("/") + what);
    entry["objectSelector"] = Value::Object({{"matchLabels", Value::Object({{"patch", what}})}});
    entries.push_back(std::move(entry));
  }
  InstallMutating(entries);
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"patch":"type"})")), R"(
code: 500
details:
  causes:
  - message: 'json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string'
message: 'Internal error occurred: json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"patch":"invalid"})")), R"(
code: 422
details:
  causes:
  - field: data[bad key]
    message: 'Invalid value: "bad key": <not a key>'
    reason: FieldValueInvalid
  kind: ConfigMap
  name: a
message: <of the causes>
reason: Invalid
)");
  Answer unknown = Post(kMaps, ConfigMapJson("a", R"({"patch":"unknown"})"));
  EXPECT_BODY(unknown, 201, R"(
apiVersion: v1
data:
  k: v
kind: ConfigMap
metadata:
  creationTimestamp: TIME
  labels:
    patch: unknown
  name: a
  namespace: '{ns}'
  resourceVersion: RV
  uid: UID
)");
  Answer fields = Post(kMaps + "?fieldManager=me", ConfigMapJson("b", R"({"patch":"fields"})"));
  EXPECT_MANAGED_FIELDS(fields, R"(
- apiVersion: v1
  fieldsType: FieldsV1
  fieldsV1:
    f:data:
      .: {}
      f:k: {}
    f:metadata:
      f:labels:
        .: {}
        f:patch: {}
  manager: me
  operation: Update
  time: TIME
)");
  ASSERT_EQ(fields.Warnings().size(), 1u);
  EXPECT_TRUE(
      fields.Warnings()[0].starts_with(".metadata.managedFields was in an invalid state after admission; this could be caused by an "
                                       "outdated mutating admission controller; please fix your requests: "))
      << fields.Warnings()[0];
}

TEST_P(WebhookPatchesContract, PatchThatDoesNotApply) {
  const std::map<std::string, const char*> patches = {{"replace", "[{op: replace, path: /no/deep, value: 1}]"},
                                                      {"key", "[{op: replace, path: /no, value: 1}]"},
                                                      {"remove", "[{op: remove, path: /no}]"},
                                                      {"test", "[{op: test, path: /metadata/name, value: other}]"},
                                                      {"op", "[{op: frob, path: /no}]"},
                                                      {"add", "[{op: add, path: /no/deep, value: 1}]"}};
  std::vector<Value> entries;
  for (const auto& [what, patch] : patches) {
    On("/" + what, [patch = patch](const Value& r) { return PatchWith(r, patch); });
    Value entry = Entry(what, "/" + what);
    entry["objectSelector"] = Value::Object({{"matchLabels", Value::Object({{"patch", what}})}});
    entry["failurePolicy"] = "Ignore";  // which is about other failures
    entries.push_back(std::move(entry));
  }
  InstallMutating(entries);
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"patch":"replace"})")), R"(
code: 500
details:
  causes:
  - message: 'replace operation does not apply: doc is missing path: /no/deep: missing value'
message: 'Internal error occurred: replace operation does not apply: doc is missing path: /no/deep: missing value'
reason: InternalError
)");
  EXPECT_CODE(Post(kMaps + "?dryRun=All", ConfigMapJson("a", R"({"patch":"key"})")), 201);
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"patch":"remove"})")), R"(
code: 500
details:
  causes:
  - message: 'error in remove for path: ''/no'': Unable to remove nonexistent key: no: missing value'
message: 'Internal error occurred: error in remove for path: ''/no'': Unable to remove nonexistent key: no: missing value'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"patch":"test"})")), R"(
code: 500
details:
  causes:
  - message: 'testing value /metadata/name failed: test failed'
message: 'Internal error occurred: testing value /metadata/name failed: test failed'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"patch":"op"})")), R"(
code: 500
details:
  causes:
  - message: 'Unexpected kind: frob'
message: 'Internal error occurred: Unexpected kind: frob'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"patch":"add"})")), R"(
code: 500
details:
  causes:
  - message: 'add operation does not apply: doc is missing path: "/no/deep": missing value'
message: 'Internal error occurred: add operation does not apply: doc is missing path: "/no/deep": missing value'
reason: InternalError
)");
}

TEST_P(WebhookPatchesContract, PatchThatIsNone) {
  const std::map<std::string, const char*> answers = {
      {"no-type", "{allowed: true, patch: W10=}"},
      {"type-only", "{allowed: true, patchType: JSONPatch}"},
      {"empty-type", "{allowed: true, patchType: '', patch: W10=}"},
      {"other-type", "{allowed: true, patchType: Merge, patch: W3sib3AiOiJ0ZXN0IiwicGF0aCI6Ii94In1d}"},
      {"not-base64", "{allowed: true, patchType: JSONPatch, patch: '!'}"},
      {"no-list", "{allowed: true, patchType: JSONPatch, patch: e30=}"},
      {"empty", "{allowed: true, patchType: JSONPatch, patch: W10=}"}};
  std::vector<Value> entries;
  for (const auto& [what, answer] : answers) {
    On("/" + what, [answer = answer](const Value& r) { return Respond(r, answer); });
    Value entry = Entry(what, "/" + what);
    entry["objectSelector"] = Value::Object({{"matchLabels", Value::Object({{"patch", what}})}});
    entries.push_back(std::move(entry));
  }
  InstallMutating(entries);
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"patch":"no-type"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "no-type.{id}.example.com": received invalid webhook response: webhook returned response.patch but not response.patchType'
message: 'Internal error occurred: failed calling webhook "no-type.{id}.example.com": received invalid webhook response: webhook returned response.patch but not response.patchType'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"patch":"type-only"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "type-only.{id}.example.com": received invalid webhook response: webhook returned response.patchType but not response.patch'
message: 'Internal error occurred: failed calling webhook "type-only.{id}.example.com": received invalid webhook response: webhook returned response.patchType but not response.patch'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"patch":"empty-type"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "empty-type.{id}.example.com": received invalid webhook response: webhook returned invalid response.patchType of ""'
message: 'Internal error occurred: failed calling webhook "empty-type.{id}.example.com": received invalid webhook response: webhook returned invalid response.patchType of ""'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"patch":"other-type"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "other-type.{id}.example.com": unsupported patch type "Merge"'
message: 'Internal error occurred: failed calling webhook "other-type.{id}.example.com": unsupported patch type "Merge"'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"patch":"not-base64"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "not-base64.{id}.example.com": failed to call webhook: illegal base64 data at input byte 0'
message: 'Internal error occurred: failed calling webhook "not-base64.{id}.example.com": failed to call webhook: illegal base64 data at input byte 0'
reason: InternalError
)");
  EXPECT_STATUS(Post(kMaps, ConfigMapJson("a", R"({"patch":"no-list"})")), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "no-list.{id}.example.com": received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch'
message: 'Internal error occurred: failed calling webhook "no-list.{id}.example.com": received undecodable patch in webhook response: json: cannot unmarshal object into Go value of type jsonpatch.Patch'
reason: InternalError
)");
  EXPECT_CODE(Post(kMaps, ConfigMapJson("a", R"({"patch":"empty"})")), 201);
}

TEST_P(WebhookPatchesContract, OnlyMutatingWebhooksPatch) {
  On("/v", [](const Value& r) { return PatchWith(r, "[{op: add, path: /data/x, value: y}]"); });
  InstallValidating({Entry("v", "/v")});
  EXPECT_STATUS(Post(kMaps, kConfigMapA), R"(
code: 500
details:
  causes:
  - message: 'failed calling webhook "v.{id}.example.com": received invalid webhook response: validating webhook may not return response.patch'
message: 'Internal error occurred: failed calling webhook "v.{id}.example.com": received invalid webhook response: validating webhook may not return response.patch'
reason: InternalError
)");
}

TEST_P(WebhookPatchesContract, DeletionCannotBePatched) {
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  On("/m", [](const Value& r) { return PatchWith(r, "[{op: add, path: /data/x, value: y}]"); });
  Value m = Entry("m", "/m");
  m["rules"] = Rules("{operations: [DELETE], apiGroups: [''], apiVersions: [v1], resources: [configmaps]}");
  InstallMutating({m});
  EXPECT_STATUS(Delete(kMaps + "/a"), R"(
code: 500
details:
  causes:
  - message: admission webhook "m.{id}.example.com" attempted to modify the object, which is not supported for this operation
message: 'Internal error occurred: admission webhook "m.{id}.example.com" attempted to modify the object, which is not supported for this operation'
reason: InternalError
)");
  EXPECT_CODE(Get(kMaps + "/a"), 200);
}

// ---- Order ----

TEST_P(WebhookPatchesContract, MutatingWebhooksRunInOrder) {
  const auto append = [](const char* what) {
    return [what](const Value& r) {
      const std::string so_far = r["request"]["object"]["data"]["order"].string_value().str();
      return PatchWith(r, "[{op: add, path: /data/order, value: '" + so_far + what + "'}]");
    };
  };
  On("/a", append("a"));
  On("/b", append("b"));
  On("/c", append("c"));
  Install(true, {Entry("z", "/b"), Entry("y", "/c")}, "-2");
  Install(true, {Entry("x", "/a")}, "-1");
  EXPECT_EQ(Post(kMaps, kConfigMapA).body["data"]["order"], Value("abc"));
}

TEST_P(WebhookPatchesContract, WebhooksAreAskedAgainAfterLaterChanges) {
  On("/one", Allow);
  On("/two", [](const Value& r) {
    return r["request"]["object"]["data"].Find("two") == nullptr ? PatchWith(r, "[{op: add, path: /data/two, value: x}]") : Allow(r);
  });
  On("/three", Allow);
  Value one = Entry("one", "/one"), two = Entry("two", "/two"), three = Entry("three", "/three"), never = Entry("never", "/never");
  On("/never", Allow);
  one["reinvocationPolicy"] = two["reinvocationPolicy"] = three["reinvocationPolicy"] = "IfNeeded";
  InstallMutating({one, never, two, three});
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  ASSERT_EQ(ReviewsOf("/one").size(), 2u);
  EXPECT_EQ(ReviewsOf("/one")[1]["request"]["object"]["data"]["two"], Value("x"));
  EXPECT_EQ(ReviewsOf("/never").size(), 1u);
  EXPECT_EQ(ReviewsOf("/two").size(), 1u);
  EXPECT_EQ(ReviewsOf("/three").size(), 1u);
}

TEST_P(WebhookPatchesContract, WebhooksAreAskedAgainOnce) {
  const auto count = [](const char* what) {
    return [what](const Value& r) {
      const std::string path = std::string("/data/") + what;
      const std::string so_far = r["request"]["object"]["data"][what].string_value().str();
      return PatchWith(r, "[{op: add, path: " + path + ", value: '" + so_far + "x'}]");
    };
  };
  On("/one", count("one"));
  On("/two", count("two"));
  Value one = Entry("one", "/one"), two = Entry("two", "/two");
  one["reinvocationPolicy"] = two["reinvocationPolicy"] = "IfNeeded";
  InstallMutating({one, two});
  EXPECT_VALUE(Post(kMaps, kConfigMapA).body["data"], R"(
color: red
one: xx
size: "3"
two: xx
)");
}

}  // namespace
}  // namespace kube::contract
