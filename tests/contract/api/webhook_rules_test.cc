// Admission webhooks: which requests they are for, and how these look.
#include "hook_server.h"
#include "texts.h"

namespace kube::contract {
namespace {

class WebhookRulesContract : public HookTest {
 protected:
  static Value Labels(const std::string& key, const std::string& value) {
    return Value::Object({{"matchLabels", Value::Object({{key, value}})}});
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WebhookRulesContract);
INSTANTIATE_TEST_SUITE_P(Servers, WebhookRulesContract, ::testing::ValuesIn(ServersToTest()), TestParamName);

const std::string kMaps = kConfigMaps;

// ---- Selectors ----

TEST_P(WebhookRulesContract, ObjectSelectorLooksAtOldAndNew) {
  On("/no", [](const Value& r) { return Respond(r, "allowed: false"); });
  EXPECT_CODE(Post(kMaps, ConfigMapJson("with", R"({"guard":"on"})")), 201);
  EXPECT_CODE(Post(kMaps, ConfigMapJson("without")), 201);
  Value entry = Entry("no", "/no");
  entry["rules"] = Rules("{operations: ['*'], apiGroups: [''], apiVersions: [v1], resources: [configmaps]}");
  entry["objectSelector"] = Labels("guard", "on");
  InstallValidating({entry});
  EXPECT_CODE(Patch(kMaps + "/with", "merge", R"({"metadata":{"labels":null}})"), 400);
  EXPECT_CODE(Patch(kMaps + "/without", "merge", R"({"metadata":{"labels":{"guard":"on"}}})"), 400);
  EXPECT_CODE(Patch(kMaps + "/without", "merge", R"({"data":{"k":"w"}})"), 200);
  EXPECT_CODE(Delete(kMaps + "/with"), 400);
  EXPECT_CODE(Delete(kMaps + "/without"), 200);
  EXPECT_CODE(Post(kMaps, ConfigMapJson("new", R"({"guard":"on"})")), 400);
}

TEST_P(WebhookRulesContract, NamespaceSelectorLooksAtTheNamespace) {
  On("/no", [](const Value& r) { return Respond(r, "allowed: false"); });
  Value entry = Entry("no", "/no");
  entry["namespaceSelector"] = Labels("guard", id());
  InstallValidating({entry});
  EXPECT_CODE(Post(kMaps, ConfigMapJson("a")), 201);
  EXPECT_CODE(Patch("/api/v1/namespaces/{ns}", "merge", R"({"metadata":{"labels":{"guard":"{id}"}}})"), 200);
  GetUntil("/api/v1/namespaces/{ns}", [&](const Answer&) { return Post(kMaps + "?dryRun=All", ConfigMapJson("b")).code == 400; });
  EXPECT_CODE(Post(kMaps, ConfigMapJson("b")), 400);
}

TEST_P(WebhookRulesContract, NamespacesAreSelectedByTheirOwnLabels) {
  On("/v", [](const Value& r) { return Respond(r, "{allowed: false, status: {message: guarded}}"); });
  Value entry = Entry("v", "/v");
  entry["namespaceSelector"] = Labels("guard", id());
  entry["rules"] = Rules("{operations: [CREATE, UPDATE], apiGroups: [''], apiVersions: [v1], resources: [namespaces]}");
  InstallValidating({entry});
  EXPECT_STATUS(Post(kNamespaces, R"({"metadata":{"name":"{id}-guarded","labels":{"guard":"{id}"}}})"), R"(
code: 400
message: 'admission webhook "v.{id}.example.com" denied the request: guarded'
)");
  ASSERT_EQ(ReviewsOf("/v").size(), 1u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/v")[0]), R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: false
  kind:
    group: ""
    kind: Namespace
    version: v1
  name: '{id}-guarded'
  namespace: '{id}-guarded'
  object:
    apiVersion: v1
    kind: Namespace
    metadata:
      creationTimestamp: TIME
      labels:
        guard: '{id}'
        kubernetes.io/metadata.name: '{id}-guarded'
      name: '{id}-guarded'
      uid: UID
    spec:
      finalizers:
      - kubernetes
    status:
      phase: Active
  oldObject: null
  operation: CREATE
  options:
    apiVersion: meta.k8s.io/v1
    kind: CreateOptions
  requestKind:
    group: ""
    kind: Namespace
    version: v1
  requestResource:
    group: ""
    resource: namespaces
    version: v1
  resource:
    group: ""
    resource: namespaces
    version: v1
)");
  EXPECT_CODE(Patch("/api/v1/namespaces/{ns}", "merge", R"({"metadata":{"labels":{"guard":"{id}"}}})"), 400);
  EXPECT_CODE(Patch("/api/v1/namespaces/{ns}", "merge", R"({"metadata":{"labels":{"other":"x"}}})"), 200);
}

TEST_P(WebhookRulesContract, ClusterWideObjectsPassTheNamespaceSelector) {
  On("/v", [](const Value& r) { return Respond(r, "{allowed: false}"); });
  Value entry = Entry("v", "/v");
  entry["objectSelector"] = Labels("case", id());
  entry["rules"] = Rules("{operations: [CREATE], apiGroups: [scheduling.k8s.io], apiVersions: [v1], resources: [priorityclasses]}");
  InstallValidating({entry});
  EXPECT_CODE(Post("/apis/scheduling.k8s.io/v1/priorityclasses", R"({"metadata":{"name":"{id}","labels":{"case":"{id}"}},"value":7})"),
              400);
  ASSERT_EQ(ReviewsOf("/v").size(), 1u);
  EXPECT_EQ(ReviewsOf("/v")[0]["request"].Find("namespace"), nullptr);
}

TEST_P(WebhookRulesContract, ScopeOfARule) {
  On("/cluster", [](const Value& r) { return Respond(r, "{allowed: true, warnings: [cluster]}"); });
  On("/namespaced", [](const Value& r) { return Respond(r, "{allowed: true, warnings: [namespaced]}"); });
  Value cluster = Entry("cluster", "/cluster"), namespaced = Entry("namespaced", "/namespaced");
  for (Value* entry : {&cluster, &namespaced}) {
    (*entry)["namespaceSelector"] = Value::Object();
    (*entry)["objectSelector"] = Labels("case", id());
  }
  cluster["rules"] = Rules("{operations: [CREATE], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], scope: Cluster}");
  namespaced["rules"] = Rules("{operations: [CREATE], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], scope: Namespaced}");
  InstallValidating({cluster, namespaced});
  EXPECT_EQ(Post(kMaps + "?dryRun=All", ConfigMapJson("a", R"({"case":"{id}"})")).Warnings(), std::vector<std::string>{"namespaced"});
  EXPECT_EQ(Post("/api/v1/namespaces?dryRun=All", R"({"metadata":{"name":"{id}-x","labels":{"case":"{id}"}}})").Warnings(),
            std::vector<std::string>{"cluster"});
}

// ---- Subresources ----

TEST_P(WebhookRulesContract, SubresourcesAreAskedForByName) {
  EXPECT_CODE(Post(kPods, kPodA), 201);
  On("/plain", Allow);
  On("/status", Allow);
  On("/any", Allow);
  Value plain = Entry("plain", "/plain"), status = Entry("status", "/status"), any = Entry("any", "/any");
  plain["rules"] = Rules("{operations: [UPDATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}");
  status["rules"] = Rules("{operations: [UPDATE], apiGroups: [''], apiVersions: [v1], resources: [pods/status]}");
  any["rules"] = Rules("{operations: [UPDATE], apiGroups: [''], apiVersions: [v1], resources: ['pods/*']}");
  InstallMutating({plain, status, any});
  EXPECT_CODE(Patch(std::string(kPods) + "/a/status", "merge", R"({"status":{"phase":"Running"}})"), 200);
  EXPECT_EQ(ReviewsOf("/plain").size(), 0u);
  ASSERT_EQ(ReviewsOf("/status").size(), 1u);
  EXPECT_EQ(ReviewsOf("/any").size(), 1u);
  Value review = PlainReview(ReviewsOf("/status")[0]);
  for (const char* object : {"object", "oldObject"}) {
    EXPECT_EQ(review["request"][object]["kind"], Value("Pod"));
    review["request"].MutableObject().Erase(object);
  }
  EXPECT_VALUE(review, R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: false
  kind:
    group: ""
    kind: Pod
    version: v1
  name: a
  namespace: '{ns}'
  operation: UPDATE
  options:
    apiVersion: meta.k8s.io/v1
    kind: UpdateOptions
  requestKind:
    group: ""
    kind: Pod
    version: v1
  requestResource:
    group: ""
    resource: pods
    version: v1
  requestSubResource: status
  resource:
    group: ""
    resource: pods
    version: v1
  subResource: status
)");
  EXPECT_CODE(Patch(std::string(kPods) + "/a", "merge", R"({"metadata":{"labels":{"x":"y"}}})"), 200);
  EXPECT_EQ(ReviewsOf("/plain").size(), 1u);
  EXPECT_EQ(ReviewsOf("/status").size(), 1u);
  EXPECT_EQ(ReviewsOf("/any").size(), 2u) << "pods/* is pods, too";
}

TEST_P(WebhookRulesContract, ConnectIsAskedWithItsOptions) {
  On("/v", [](const Value& r) { return Respond(r, "{allowed: false, status: {code: 403, message: hands off}}"); });
  Value v = Entry("v", "/v");
  v["rules"] = Rules("{operations: [CONNECT], apiGroups: [''], apiVersions: [v1], resources: [pods/exec, pods/attach, pods/portforward]}");
  InstallValidating({v});
  EXPECT_CODE(Post(kPods, kPodA), 201);
  EXPECT_STATUS(Post(std::string(kPods) + "/a/exec?command=ls&command=-l&stdout=true&container=web", ""), R"(
code: 403
message: 'admission webhook "v.{id}.example.com" denied the request: hands off'
)");
  EXPECT_CODE(Get(std::string(kPods) + "/none/attach?stdin=true"), 403);
  EXPECT_CODE(Post(std::string(kPods) + "/a/portforward?ports=80", ""), 403);
  ASSERT_EQ(ReviewsOf("/v").size(), 3u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/v")[0]), R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: false
  kind:
    group: ""
    kind: PodExecOptions
    version: v1
  name: a
  namespace: '{ns}'
  object:
    apiVersion: v1
    command:
    - ls
    - -l
    container: web
    kind: PodExecOptions
    stdout: true
  oldObject: null
  operation: CONNECT
  options: null
  requestKind:
    group: ""
    kind: PodExecOptions
    version: v1
  requestResource:
    group: ""
    resource: pods
    version: v1
  requestSubResource: exec
  resource:
    group: ""
    resource: pods
    version: v1
  subResource: exec
)");
  EXPECT_VALUE(ReviewsOf("/v")[1]["request"]["object"], R"(
apiVersion: v1
kind: PodAttachOptions
stdin: true
)");
  EXPECT_VALUE(ReviewsOf("/v")[2]["request"]["object"], R"(
apiVersion: v1
kind: PodPortForwardOptions
ports:
- 80
)");
}

TEST_P(WebhookRulesContract, ConnectCanBeChanged) {
  On("/m", [](const Value& r) { return PatchWith(r, "[{op: add, path: /container, value: other}]"); });
  On("/labels", [](const Value& r) { return PatchWith(r, "[{op: add, path: /metadata/labels/x, value: y}]"); });
  Value m = Entry("m", "/m"), labels = Entry("labels", "/labels");
  m["rules"] = Rules("{operations: [CONNECT], apiGroups: [''], apiVersions: [v1], resources: [pods/exec]}");
  labels["rules"] = Rules("{operations: [CONNECT], apiGroups: [''], apiVersions: [v1], resources: [pods/attach]}");
  InstallMutating({m, labels});
  EXPECT_CODE(Post(kPods, kPodA), 201);
  EXPECT_STATUS(Post(std::string(kPods) + "/a/exec?command=ls&container=web", ""), R"(
code: 400
message: container other is not valid for pod a
reason: BadRequest
)");
  EXPECT_STATUS(Post(std::string(kPods) + "/a/attach", ""), R"(
code: 500
details:
  causes:
  - message: 'add operation does not apply: doc is missing path: "/metadata/labels/x": missing value'
message: 'Internal error occurred: add operation does not apply: doc is missing path: "/metadata/labels/x": missing value'
reason: InternalError
)");
}

TEST_P(WebhookRulesContract, ScaleIsAskedAsAScale) {
  EXPECT_CODE(Post(kDeployments, kDeploymentA), 201);
  On("/v", [](const Value& r) {
    return r["request"]["object"]["spec"]["replicas"].int_value() > 5 ? Respond(r, "{allowed: false, status: {message: too many}}")
                                                                      : Allow(r);
  });
  On("/plain", Allow);
  Value v = Entry("v", "/v"), plain = Entry("plain", "/plain");
  v["rules"] = Rules("{operations: ['*'], apiGroups: [apps], apiVersions: [v1], resources: [deployments/scale]}");
  plain["rules"] = Rules("{operations: ['*'], apiGroups: [apps], apiVersions: [v1], resources: [deployments]}");
  InstallValidating({v, plain});
  EXPECT_CODE(Patch(std::string(kDeployments) + "/a/scale", "merge", R"({"spec":{"replicas":3}})"), 200);
  EXPECT_STATUS(Patch(std::string(kDeployments) + "/a/scale", "merge", R"({"spec":{"replicas":9}})"), R"(
code: 400
message: 'admission webhook "v.{id}.example.com" denied the request: too many'
)");
  EXPECT_EQ(Get(std::string(kDeployments) + "/a").body["spec"]["replicas"], Value(3));
  EXPECT_EQ(ReviewsOf("/plain").size(), 0u);
  ASSERT_EQ(ReviewsOf("/v").size(), 2u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/v")[0]), R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: false
  kind:
    group: autoscaling
    kind: Scale
    version: v1
  name: a
  namespace: '{ns}'
  object:
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
      replicas: 0
      selector: app=web
  oldObject:
    apiVersion: autoscaling/v1
    kind: Scale
    metadata:
      creationTimestamp: TIME
      name: a
      namespace: '{ns}'
      resourceVersion: RV
      uid: UID
    spec:
      replicas: 2
    status:
      replicas: 0
      selector: app=web
  operation: UPDATE
  options:
    apiVersion: meta.k8s.io/v1
    kind: UpdateOptions
  requestKind:
    group: autoscaling
    kind: Scale
    version: v1
  requestResource:
    group: apps
    resource: deployments
    version: v1
  requestSubResource: scale
  resource:
    group: apps
    resource: deployments
    version: v1
  subResource: scale
)");
}

TEST_P(WebhookRulesContract, ScaleCanBeChanged) {
  EXPECT_CODE(Post(kDeployments, kDeploymentA), 201);
  On("/m", [](const Value& r) { return PatchWith(r, "[{op: replace, path: /spec/replicas, value: 4}]"); });
  Value m = Entry("m", "/m");
  m["rules"] = Rules("{operations: [UPDATE], apiGroups: [apps], apiVersions: [v1], resources: [deployments/scale]}");
  InstallMutating({m});
  EXPECT_EQ(Patch(std::string(kDeployments) + "/a/scale", "merge", R"({"spec":{"replicas":9}})").body["spec"]["replicas"], Value(4));
}

TEST_P(WebhookRulesContract, EvictionIsNoDeletion) {
  On("/v", Allow);
  On("/delete", Allow);
  Value v = Entry("v", "/v"), deletes = Entry("delete", "/delete");
  v["rules"] = Rules("{operations: [CREATE], apiGroups: ['*'], apiVersions: ['*'], resources: [pods/eviction]}");
  deletes["rules"] = Rules("{operations: [DELETE], apiGroups: [''], apiVersions: [v1], resources: [pods]}");
  InstallValidating({v, deletes});
  EXPECT_CODE(Post(kPods, kPodA), 201);
  EXPECT_CODE(Post(std::string(kPods) + "/a/eviction", R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a"}})"), 201);
  ASSERT_EQ(ReviewsOf("/v").size(), 1u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/v")[0]), R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: false
  kind:
    group: policy
    kind: Eviction
    version: v1
  name: a
  namespace: '{ns}'
  object:
    apiVersion: policy/v1
    kind: Eviction
    metadata:
      name: a
      namespace: '{ns}'
  oldObject: null
  operation: CREATE
  options:
    apiVersion: meta.k8s.io/v1
    kind: CreateOptions
  requestKind:
    group: policy
    kind: Eviction
    version: v1
  requestResource:
    group: ""
    resource: pods
    version: v1
  requestSubResource: eviction
  resource:
    group: ""
    resource: pods
    version: v1
  subResource: eviction
)");
  EXPECT_EQ(ReviewsOf("/delete").size(), 0u);
}

TEST_P(WebhookRulesContract, BindingIsAsked) {
  On("/v", [](const Value& r) { return Respond(r, "{allowed: false, status: {message: not there}}"); });
  Value v = Entry("v", "/v");
  v["rules"] = Rules("{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods/binding]}");
  InstallValidating({v});
  EXPECT_CODE(Post(kPods, kPodA), 201);
  EXPECT_STATUS(Post(std::string(kPods) + "/a/binding",
                     R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"a"},"target":{"kind":"Node","name":"n"}})"),
                R"(
code: 400
message: 'admission webhook "v.{id}.example.com" denied the request: not there'
)");
  ASSERT_EQ(ReviewsOf("/v").size(), 1u);
  EXPECT_VALUE(ReviewsOf("/v")[0]["request"]["object"], R"(
apiVersion: v1
kind: Binding
metadata:
  name: a
  namespace: '{ns}'
target:
  kind: Node
  name: "n"
)");
}

TEST_P(WebhookRulesContract, DeletionOfAPodCarriesItsGracePeriod) {
  EXPECT_CODE(Post(kPods, R"({"metadata":{"name":"a"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}})"), 201);
  On("/v", Allow);
  Value v = Entry("v", "/v");
  v["rules"] = Rules("{operations: [DELETE], apiGroups: [''], apiVersions: [v1], resources: [pods]}");
  InstallValidating({v});
  EXPECT_CODE(Delete(std::string(kPods) + "/a"), 200);
  ASSERT_GE(ReviewsOf("/v").size(), 1u);
  EXPECT_VALUE(ReviewsOf("/v")[0]["request"]["options"], R"(
apiVersion: meta.k8s.io/v1
gracePeriodSeconds: 30
kind: DeleteOptions
)");
  EXPECT_CODE(Delete(std::string(kPods) + "/a", R"({"gracePeriodSeconds":0})"), 200);
}

// ---- Kinds ----

TEST_P(WebhookRulesContract, EquivalentVersionsMatch) {
  const char* const v1 = "/apis/autoscaling/v1/namespaces/{ns}/horizontalpodautoscalers";
  const std::string scaler =
      R"({"metadata":{"name":"a"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"d","apiVersion":"apps/v1"},"maxReplicas":3,)"
      R"("targetCPUUtilizationPercentage":70}})";
  On("/m", [](const Value& r) { return PatchWith(r, "[{op: replace, path: /spec/maxReplicas, value: 5}]"); });
  On("/exact", Allow);
  Value m = Entry("m", "/m"), exact = Entry("exact", "/exact");
  m["rules"] = exact["rules"] =
      Rules("{operations: [CREATE], apiGroups: [autoscaling], apiVersions: [v2], resources: [horizontalpodautoscalers]}");
  exact["matchPolicy"] = "Exact";
  InstallMutating({m, exact});
  EXPECT_EQ(Post(v1, scaler).body["spec"]["maxReplicas"], Value(5));
  EXPECT_EQ(ReviewsOf("/exact").size(), 0u);
  ASSERT_EQ(ReviewsOf("/m").size(), 1u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/m")[0]), R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: false
  kind:
    group: autoscaling
    kind: HorizontalPodAutoscaler
    version: v2
  name: a
  namespace: '{ns}'
  object:
    apiVersion: autoscaling/v2
    kind: HorizontalPodAutoscaler
    metadata:
      name: a
      namespace: '{ns}'
    spec:
      maxReplicas: 3
      metrics:
      - resource:
          name: cpu
          target:
            averageUtilization: 70
            type: Utilization
        type: Resource
      minReplicas: 1
      scaleTargetRef:
        apiVersion: apps/v1
        kind: Deployment
        name: d
    status:
      currentMetrics: null
      desiredReplicas: 0
  oldObject: null
  operation: CREATE
  options:
    apiVersion: meta.k8s.io/v1
    kind: CreateOptions
  requestKind:
    group: autoscaling
    kind: HorizontalPodAutoscaler
    version: v1
  requestResource:
    group: autoscaling
    resource: horizontalpodautoscalers
    version: v1
  resource:
    group: autoscaling
    resource: horizontalpodautoscalers
    version: v2
)");
}

TEST_P(WebhookRulesContract, ReviewsOfAccessAreAsked) {
  On("/v", Allow);
  Value v = Entry("v", "/v");
  v["rules"] =
      Rules("{operations: [CREATE], apiGroups: [authorization.k8s.io], apiVersions: [v1], resources: [localsubjectaccessreviews]}");
  InstallValidating({v});
  EXPECT_CODE(
      Post(
          "/apis/authorization.k8s.io/v1/namespaces/{ns}/localsubjectaccessreviews",
          R"({"metadata":{"namespace":"{ns}"},"spec":{"user":"me","resourceAttributes":{"namespace":"{ns}","verb":"get","resource":"pods"}}})"),
      201);
  ASSERT_EQ(ReviewsOf("/v").size(), 1u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/v")[0])["request"]["kind"], R"(
group: authorization.k8s.io
kind: LocalSubjectAccessReview
version: v1
)");
  EXPECT_VALUE(ReviewsOf("/v")[0]["request"]["object"]["spec"], R"(
resourceAttributes:
  namespace: '{ns}'
  resource: pods
  verb: get
user: me
)");
}

TEST_P(WebhookRulesContract, ConfigurationsAreExempt) {
  On("/no", [](const Value& r) { return Respond(r, "allowed: false"); });
  Value no = Entry("no", "/no");
  no["objectSelector"] = Labels("case", id());
  no["rules"] = Rules("{operations: ['*'], apiGroups: [admissionregistration.k8s.io], apiVersions: ['*'], resources: ['*/*']}");
  InstallValidating({no});
  InstallMutating({no});
  const std::string path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/{id}";
  EXPECT_CODE(Patch(path, "merge", R"({"metadata":{"labels":{"case":"{id}"}}})"), 200);
  EXPECT_CODE(Delete(path), 200);
  EXPECT_EQ(ReviewsOf("/no").size(), 0u);
}

TEST_P(WebhookRulesContract, DefinitionsCanBeDenied) {
  On("/no", [](const Value& r) { return Respond(r, "{allowed: false, status: {message: no more kinds}}"); });
  Value no = Entry("no", "/no");
  no["objectSelector"] = Labels("case", id());
  no["rules"] =
      Rules("{operations: [CREATE], apiGroups: [apiextensions.k8s.io], apiVersions: [v1], resources: [customresourcedefinitions]}");
  InstallValidating({no});
  EXPECT_STATUS(Post(kCrds, R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.{id}.example.com, labels: {case: '{id}'}}
spec:
  group: '{id}.example.com'
  scope: Namespaced
  names: {plural: things, kind: Thing}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
)"),
                R"(
code: 400
message: 'admission webhook "no.{id}.example.com" denied the request: no more kinds'
)");
}

TEST_P(WebhookRulesContract, WebhookThatAsksTheServer) {
  EXPECT_CODE(Post(kMaps, ConfigMapJson("policy")), 201);
  const std::string url = server().url + Expand(kMaps + "/policy");
  Result<HttpIdentity> self = server().user("the-webhook", {"system:masters"});
  ASSERT_TRUE(self.ok());
  On("/v", [self = *self, url](const Value& r) {
    HttpCaller caller(self);
    Result<HttpAnswer> policy = caller.Do({.method = "GET", .url = url, .headers = {{"Accept", "application/json"}}, .body = ""});
    return Respond(r, std::string("{allowed: false, status: {message: 'asked and got ") +
                          (policy ? std::to_string(policy->status) : "nothing") + "'}}");
  });
  Value v = Entry("v", "/v");
  v["rules"] = Rules("{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}");
  InstallValidating({v});
  EXPECT_STATUS(Post(kPods, kPodA), R"(
code: 400
message: 'admission webhook "v.{id}.example.com" denied the request: asked and got 200'
)");
}

// ---- Match conditions ----

// The embedded server refuses them: webhook_configurations_test.cc. Kubernetes 1.26 has none.
TEST_P(WebhookRulesContract, MatchConditionsMustAllHold) {
  if (server().embedded() || server().oldest()) GTEST_SKIP() << "no CEL";
  On("/v", [](const Value& r) { return Respond(r, "{allowed: false, status: {message: asked}}"); });
  Value v = Entry("v", "/v");
  v["rules"] = Rules("{operations: ['*'], apiGroups: [''], apiVersions: [v1], resources: [configmaps]}");
  const auto condition = [](const char* name, const char* expression) {
    return Value::Object({{"name", name}, {"expression", expression}});
  };
  v["matchConditions"] = Value::Array({condition("not-deleted", "request.operation != 'DELETE'"),
                                       condition("red", "has(object.data) && object.data.color == 'red'"),
                                       condition("not-red-before", "oldObject == null || oldObject.data.color != 'red'"),
                                       condition("by-people", "!request.userInfo.username.startsWith('system:node:')")});
  InstallValidating({v});
  const auto map = [](const char* name, const char* color) {
    return std::string(R"({"metadata":{"name":")") + name + R"("},"data":{"color":")" + color + R"("}})";
  };
  EXPECT_STATUS(Post(kMaps, map("a", "red")), R"(
code: 400
message: 'admission webhook "v.{id}.example.com" denied the request: asked'
)");
  EXPECT_CODE(Post(kMaps, map("a", "blue")), 201);
  EXPECT_CODE(Post(kMaps, R"({"metadata":{"name":"b"}})"), 201);
  EXPECT_EQ(ReviewsOf("/v").size(), 1u);
  EXPECT_STATUS(Patch(kMaps + "/a", "merge", R"({"data":{"color":"red"}})"), R"(
code: 400
message: 'admission webhook "v.{id}.example.com" denied the request: asked'
)");
  EXPECT_CODE(Patch(kMaps + "/a", "merge", R"({"data":{"color":"green"}})"), 200);
  EXPECT_CODE(Delete(kMaps + "/a"), 200);
  EXPECT_EQ(ReviewsOf("/v").size(), 2u);
}

// What cannot be evaluated is a failure of the webhook: its failure policy decides. A condition that is false decides before that.
TEST_P(WebhookRulesContract, MatchConditionsThatCannotBeEvaluated) {
  if (server().embedded() || server().oldest()) GTEST_SKIP() << "no CEL";
  On("/fails", Allow);
  On("/ignores", Allow);
  Value fails = Entry("fails", "/fails"), ignores = Entry("ignores", "/ignores");
  const Value condition = Value::Object({{"name", "red"}, {"expression", "object.data.color == 'red'"}});
  const Value guard = Value::Object({{"name", "not-exempt"}, {"expression", "object.metadata.name != 'exempt'"}});
  fails["matchConditions"] = Value::Array({condition, guard});
  ignores["matchConditions"] = Value::Array({condition});
  ignores["failurePolicy"] = "Ignore";
  InstallMutating({fails, ignores});
  EXPECT_STATUS(Post(kMaps, R"({"metadata":{"name":"a"}})"), R"(
code: 403
details:
  kind: configmaps
  name: a
message: 'configmaps "a" is forbidden: expression ''object.data.color == ''red'''' resulted in error: no such key: data'
reason: Forbidden
)");
  EXPECT_CODE(Post(kMaps, R"({"metadata":{"name":"exempt"}})"), 201);
  EXPECT_EQ(ReviewsOf("/fails").size(), 0u);
  EXPECT_EQ(ReviewsOf("/ignores").size(), 0u);
  EXPECT_CODE(Post(kMaps, R"({"metadata":{"name":"a"},"data":{"color":"red"}})"), 201);
  EXPECT_EQ(ReviewsOf("/fails").size(), 1u);
  EXPECT_EQ(ReviewsOf("/ignores").size(), 1u);
}

// ---- Custom resources ----

TEST_P(WebhookRulesContract, CustomResources) {
  On("/m",
     [](const Value& r) { return PatchWith(r, "[{op: add, path: /spec/name, value: blue}, {op: add, path: /spec/nothing, value: x}]"); });
  On("/v", [](const Value& r) {
    return r["request"]["operation"].string_value() == "DELETE" ? Respond(r, "{allowed: false, status: {message: stays}}") : Allow(r);
  });
  Value m = Entry("m", "/m"), v = Entry("v", "/v");
  m["rules"] = Rules(Expand("{operations: [CREATE], apiGroups: ['{w}.example.com'], apiVersions: ['*'], resources: [widgets]}"));
  v["rules"] =
      Rules(Expand("{operations: ['*'], apiGroups: ['{w}.example.com'], apiVersions: ['*'], resources: [widgets, widgets/status]}"));
  InstallMutating({m});
  InstallValidating({v});
  const std::string widgets = "/apis/{w}.example.com/v1/namespaces/{ns}/widgets";
  Answer made = Post(widgets, R"({"apiVersion":"{w}.example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"size":"small"}})");
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
  name: blue
  nested:
    mode: auto
  replicas: 1
  size: small
)");
  ASSERT_EQ(ReviewsOf("/m").size(), 1u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/m")[0]), R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: false
  kind:
    group: '{w}.example.com'
    kind: Widget
    version: v1
  name: a
  namespace: '{ns}'
  object:
    apiVersion: '{w}.example.com/v1'
    kind: Widget
    metadata:
      name: a
      namespace: '{ns}'
    spec:
      nested:
        mode: auto
      replicas: 1
      size: small
  oldObject: null
  operation: CREATE
  options:
    apiVersion: meta.k8s.io/v1
    kind: CreateOptions
  requestKind:
    group: '{w}.example.com'
    kind: Widget
    version: v1
  requestResource:
    group: '{w}.example.com'
    resource: widgets
    version: v1
  resource:
    group: '{w}.example.com'
    resource: widgets
    version: v1
)");
  ASSERT_EQ(ReviewsOf("/v").size(), 1u);
  EXPECT_VALUE(ReviewsOf("/v")[0]["request"]["object"], R"(
apiVersion: '{w}.example.com/v1'
kind: Widget
metadata:
  creationTimestamp: TIME
  generation: 1
  name: a
  namespace: '{ns}'
  uid: UID
spec:
  name: blue
  nested:
    mode: auto
  nothing: x
  replicas: 1
  size: small
)");
  EXPECT_CODE(Patch(widgets + "/a/status", "merge", R"({"status":{"replicas":2}})"), 200);
  ASSERT_EQ(ReviewsOf("/v").size(), 2u);
  EXPECT_EQ(ReviewsOf("/v")[1]["request"]["subResource"], Value("status"));
  EXPECT_STATUS(Delete(widgets + "/a"), R"(
code: 400
message: 'admission webhook "v.{id}.example.com" denied the request: stays'
)");
}

}  // namespace
}  // namespace kube::contract
