// Admission webhooks: what they are asked, and what comes of a no.
#include "hook_server.h"
#include "texts.h"

namespace kube::contract {
namespace {

class WebhookReviewsContract : public HookTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(WebhookReviewsContract);
INSTANTIATE_TEST_SUITE_P(Servers, WebhookReviewsContract, ::testing::ValuesIn(ServersToTest()), TestParamName);

const std::string kMaps = kConfigMaps;

constexpr const char* kEveryConfigMap = "{operations: ['*'], apiGroups: [''], apiVersions: [v1], resources: [configmaps]}";

// ---- No ----

TEST_P(WebhookReviewsContract, DeniesWithoutExplanation) {
  On("/no", [](const Value& r) { return Respond(r, "allowed: false"); });
  InstallValidating({Entry("no", "/no")});
  EXPECT_STATUS(Post(kMaps, kConfigMapA), R"(
code: 400
message: admission webhook "no.{id}.example.com" denied the request without explanation
)");
  EXPECT_CODE(Get(kMaps + "/a"), 404);
}

TEST_P(WebhookReviewsContract, DeniesWithTheStatusOfTheWebhook) {
  On("/no", [](const Value& r) {
    return Respond(r, R"(
allowed: false
status:
  code: 422
  reason: Invalid
  message: on sundays
  details:
    name: x
    group: example.com
    kind: Things
    causes: [{field: data, message: is closed, reason: FieldValueInvalid}]
)");
  });
  InstallValidating({Entry("no", "/no")});
  EXPECT_STATUS(Post(kMaps, kConfigMapA), R"(
code: 422
details:
  causes:
  - field: data
    message: is closed
    reason: FieldValueInvalid
  group: example.com
  kind: Things
  name: x
message: 'admission webhook "no.{id}.example.com" denied the request: on sundays'
reason: Invalid
)");
}

TEST_P(WebhookReviewsContract, DeniesWithAReasonAlone) {
  On("/no", [](const Value& r) { return Respond(r, "{allowed: false, status: {reason: Because, code: 200}}"); });
  InstallMutating({Entry("no", "/no")});
  EXPECT_STATUS(Post(kMaps, kConfigMapA), R"(
code: 400
message: 'admission webhook "no.{id}.example.com" denied the request: Because'
reason: Because
)");
}

TEST_P(WebhookReviewsContract, DeniesUpdatesAndDeletions) {
  On("/no", [](const Value& r) { return Respond(r, "{allowed: false, status: {message: stays as it is}}"); });
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  Value entry = Entry("no", "/no");
  entry["rules"] = Rules("{operations: [UPDATE, DELETE], apiGroups: [''], apiVersions: [v1], resources: [configmaps]}");
  InstallValidating({entry});
  EXPECT_STATUS(Patch(kMaps + "/a", "merge", R"({"data":{"color":"blue"}})"), R"(
code: 400
message: 'admission webhook "no.{id}.example.com" denied the request: stays as it is'
)");
  EXPECT_STATUS(Put(kMaps + "/a", kConfigMapA), R"(
code: 400
message: 'admission webhook "no.{id}.example.com" denied the request: stays as it is'
)");
  EXPECT_STATUS(Apply(kMaps + "/a", "me", kConfigMapA, "&force=true"), R"(
code: 400
message: 'admission webhook "no.{id}.example.com" denied the request: stays as it is'
)");
  EXPECT_STATUS(Delete(kMaps + "/a"), R"(
code: 400
message: 'admission webhook "no.{id}.example.com" denied the request: stays as it is'
)");
  EXPECT_STATUS(Delete(kMaps), R"(
code: 400
message: 'admission webhook "no.{id}.example.com" denied the request: stays as it is'
)");
  EXPECT_EQ(Get(kMaps + "/a").body["data"]["color"], Value("red"));
  EXPECT_CODE(Post(kMaps, ConfigMapJson("b")), 201);
}

TEST_P(WebhookReviewsContract, ServerChecksBeforeValidatingAndAfterMutating) {
  On("/m", Allow);
  On("/v", Allow);
  InstallMutating({Entry("m", "/m")});
  InstallValidating({Entry("v", "/v")});
  EXPECT_CODE(Post(kMaps, R"({"metadata":{"name":"Bad_"}})"), 422);
  EXPECT_EQ(ReviewsOf("/m").size(), 1u);
  EXPECT_EQ(ReviewsOf("/v").size(), 0u);
}

// ---- Reviews ----

TEST_P(WebhookReviewsContract, ReviewOfACreate) {
  On("/m", Allow);
  On("/v", Allow);
  InstallMutating({Entry("m", "/m")});
  InstallValidating({Entry("v", "/v")});
  EXPECT_CODE(Post(kMaps + "?fieldManager=me&fieldValidation=Strict", kConfigMapA), 201);
  ASSERT_EQ(ReviewsOf("/m").size(), 1u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/m")[0]), R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: false
  kind:
    group: ""
    kind: ConfigMap
    version: v1
  name: a
  namespace: '{ns}'
  object:
    apiVersion: v1
    data:
      color: red
      size: "3"
    kind: ConfigMap
    metadata:
      labels:
        app: web
        tier: front
      name: a
      namespace: '{ns}'
  oldObject: null
  operation: CREATE
  options:
    apiVersion: meta.k8s.io/v1
    fieldManager: me
    fieldValidation: Strict
    kind: CreateOptions
  requestKind:
    group: ""
    kind: ConfigMap
    version: v1
  requestResource:
    group: ""
    resource: configmaps
    version: v1
  resource:
    group: ""
    resource: configmaps
    version: v1
)");
  ASSERT_EQ(ReviewsOf("/v").size(), 1u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/v")[0]), R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: false
  kind:
    group: ""
    kind: ConfigMap
    version: v1
  name: a
  namespace: '{ns}'
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
      uid: UID
  oldObject: null
  operation: CREATE
  options:
    apiVersion: meta.k8s.io/v1
    fieldManager: me
    fieldValidation: Strict
    kind: CreateOptions
  requestKind:
    group: ""
    kind: ConfigMap
    version: v1
  requestResource:
    group: ""
    resource: configmaps
    version: v1
  resource:
    group: ""
    resource: configmaps
    version: v1
)");
  EXPECT_NE(ReviewsOf("/v")[0]["request"]["uid"], ReviewsOf("/m")[0]["request"]["uid"]);
  EXPECT_FALSE(ReviewsOf("/v")[0]["request"]["userInfo"]["username"].string_value().empty());
}

TEST_P(WebhookReviewsContract, ReviewOfAnUpdate) {
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  On("/m", Allow);
  On("/v", Allow);
  Value m = Entry("m", "/m"), v = Entry("v", "/v");
  m["rules"] = v["rules"] = Rules(kEveryConfigMap);
  InstallMutating({m});
  InstallValidating({v});
  EXPECT_CODE(Put(kMaps + "/a", R"({"metadata":{"name":"a"},"data":{"color":"blue"}})"), 200);
  ASSERT_EQ(ReviewsOf("/m").size(), 1u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/m")[0]), R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: false
  kind:
    group: ""
    kind: ConfigMap
    version: v1
  name: a
  namespace: '{ns}'
  object:
    apiVersion: v1
    data:
      color: blue
    kind: ConfigMap
    metadata:
      name: a
      namespace: '{ns}'
  oldObject:
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
  operation: UPDATE
  options:
    apiVersion: meta.k8s.io/v1
    kind: UpdateOptions
  requestKind:
    group: ""
    kind: ConfigMap
    version: v1
  requestResource:
    group: ""
    resource: configmaps
    version: v1
  resource:
    group: ""
    resource: configmaps
    version: v1
)");
  ASSERT_EQ(ReviewsOf("/v").size(), 1u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/v")[0]), R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: false
  kind:
    group: ""
    kind: ConfigMap
    version: v1
  name: a
  namespace: '{ns}'
  object:
    apiVersion: v1
    data:
      color: blue
    kind: ConfigMap
    metadata:
      creationTimestamp: TIME
      name: a
      namespace: '{ns}'
      resourceVersion: RV
      uid: UID
  oldObject:
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
  operation: UPDATE
  options:
    apiVersion: meta.k8s.io/v1
    kind: UpdateOptions
  requestKind:
    group: ""
    kind: ConfigMap
    version: v1
  requestResource:
    group: ""
    resource: configmaps
    version: v1
  resource:
    group: ""
    resource: configmaps
    version: v1
)");
  EXPECT_CODE(Patch(kMaps + "/a?fieldManager=p", "merge", R"({"data":{"color":"green"}})"), 200);
  ASSERT_EQ(ReviewsOf("/m").size(), 2u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/m")[1]), R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: false
  kind:
    group: ""
    kind: ConfigMap
    version: v1
  name: a
  namespace: '{ns}'
  object:
    apiVersion: v1
    data:
      color: green
    kind: ConfigMap
    metadata:
      creationTimestamp: TIME
      name: a
      namespace: '{ns}'
      resourceVersion: RV
      uid: UID
  oldObject:
    apiVersion: v1
    data:
      color: blue
    kind: ConfigMap
    metadata:
      creationTimestamp: TIME
      name: a
      namespace: '{ns}'
      resourceVersion: RV
      uid: UID
  operation: UPDATE
  options:
    apiVersion: meta.k8s.io/v1
    fieldManager: p
    kind: UpdateOptions
  requestKind:
    group: ""
    kind: ConfigMap
    version: v1
  requestResource:
    group: ""
    resource: configmaps
    version: v1
  resource:
    group: ""
    resource: configmaps
    version: v1
)");
  EXPECT_CODE(Patch(kMaps + "/a", "merge", R"({"data":{"color":"green"}})"), 200);
  EXPECT_EQ(ReviewsOf("/v").size(), 3u) << "also for a patch that changes nothing";
}

TEST_P(WebhookReviewsContract, ReviewOfAnApply) {
  On("/v", Allow);
  Value v = Entry("v", "/v");
  v["rules"] = Rules(kEveryConfigMap);
  InstallValidating({v});
  EXPECT_CODE(Apply(kMaps + "/a", "me", kConfigMapA), 201);
  EXPECT_CODE(Apply(kMaps + "/a", "me", kConfigMapA, "&force=true"), 200);
  ASSERT_EQ(ReviewsOf("/v").size(), 2u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/v")[0]), R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: false
  kind:
    group: ""
    kind: ConfigMap
    version: v1
  name: a
  namespace: '{ns}'
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
      uid: UID
  oldObject: null
  operation: CREATE
  options:
    apiVersion: meta.k8s.io/v1
    fieldManager: me
    kind: CreateOptions
  requestKind:
    group: ""
    kind: ConfigMap
    version: v1
  requestResource:
    group: ""
    resource: configmaps
    version: v1
  resource:
    group: ""
    resource: configmaps
    version: v1
)");
  EXPECT_VALUE(PlainReview(ReviewsOf("/v")[1])["request"]["options"], R"(
apiVersion: meta.k8s.io/v1
fieldManager: me
kind: UpdateOptions
)");
}

TEST_P(WebhookReviewsContract, ReviewOfADelete) {
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  On("/m", Allow);
  On("/v", Allow);
  Value m = Entry("m", "/m"), v = Entry("v", "/v");
  m["rules"] = v["rules"] = Rules(kEveryConfigMap);
  InstallMutating({m});
  InstallValidating({v});
  EXPECT_CODE(Delete(kMaps + "/a?dryRun=All&propagationPolicy=Background"), 200);
  ASSERT_EQ(ReviewsOf("/m").size(), 1u);
  ASSERT_EQ(ReviewsOf("/v").size(), 1u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/m")[0]), R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: true
  kind:
    group: ""
    kind: ConfigMap
    version: v1
  name: a
  namespace: '{ns}'
  object: null
  oldObject:
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
  operation: DELETE
  options:
    apiVersion: meta.k8s.io/v1
    dryRun:
    - All
    kind: DeleteOptions
    propagationPolicy: Background
  requestKind:
    group: ""
    kind: ConfigMap
    version: v1
  requestResource:
    group: ""
    resource: configmaps
    version: v1
  resource:
    group: ""
    resource: configmaps
    version: v1
)");
  EXPECT_EQ(PlainReview(ReviewsOf("/v")[0]), PlainReview(ReviewsOf("/m")[0]));
  EXPECT_CODE(Delete(kMaps + "/a", R"({"gracePeriodSeconds":0,"orphanDependents":false})"), 200);
  ASSERT_EQ(ReviewsOf("/v").size(), 2u);
  EXPECT_VALUE(ReviewsOf("/v")[1]["request"]["options"], R"(
apiVersion: meta.k8s.io/v1
gracePeriodSeconds: 0
kind: DeleteOptions
orphanDependents: false
)");
  EXPECT_CODE(Delete(kMaps + "/a"), 404);
  EXPECT_EQ(ReviewsOf("/v").size(), 2u);
}

TEST_P(WebhookReviewsContract, ReviewsOfACollection) {
  EXPECT_CODE(Post(kMaps, kConfigMapA), 201);
  EXPECT_CODE(Post(kMaps, ConfigMapJson("b")), 201);
  On("/v", Allow);
  Value v = Entry("v", "/v");
  v["rules"] = Rules(kEveryConfigMap);
  InstallValidating({v});
  EXPECT_CODE(Delete(kMaps + "?labelSelector=app%3Dweb"), 200);
  ASSERT_EQ(ReviewsOf("/v").size(), 1u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/v")[0]), R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: false
  kind:
    group: ""
    kind: ConfigMap
    version: v1
  namespace: '{ns}'
  object: null
  oldObject:
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
  operation: DELETE
  options:
    apiVersion: meta.k8s.io/v1
    kind: DeleteOptions
  requestKind:
    group: ""
    kind: ConfigMap
    version: v1
  requestResource:
    group: ""
    resource: configmaps
    version: v1
  resource:
    group: ""
    resource: configmaps
    version: v1
)");
}

TEST_P(WebhookReviewsContract, ReviewOfAGeneratedName) {
  On("/m", Allow);
  On("/v", Allow);
  InstallMutating({Entry("m", "/m")});
  InstallValidating({Entry("v", "/v")});
  Answer made = Post(kMaps + "?dryRun=All", R"({"metadata":{"generateName":"a-","uid":"mine"}})");
  EXPECT_CODE(made, 201);
  ASSERT_EQ(ReviewsOf("/m").size(), 1u);
  EXPECT_VALUE(PlainReview(ReviewsOf("/m")[0]), R"(
apiVersion: admission.k8s.io/v1
kind: AdmissionReview
request:
  dryRun: true
  kind:
    group: ""
    kind: ConfigMap
    version: v1
  namespace: '{ns}'
  object:
    apiVersion: v1
    kind: ConfigMap
    metadata:
      generateName: a-
      namespace: '{ns}'
  oldObject: null
  operation: CREATE
  options:
    apiVersion: meta.k8s.io/v1
    dryRun:
    - All
    kind: CreateOptions
  requestKind:
    group: ""
    kind: ConfigMap
    version: v1
  requestResource:
    group: ""
    resource: configmaps
    version: v1
  resource:
    group: ""
    resource: configmaps
    version: v1
)");
  ASSERT_EQ(ReviewsOf("/v").size(), 1u);
  EXPECT_EQ(ReviewsOf("/v")[0]["request"]["name"], made.body["metadata"]["name"]);
  EXPECT_EQ(ReviewsOf("/v")[0]["request"]["object"]["metadata"]["uid"], made.body["metadata"]["uid"]);
}

TEST_P(WebhookReviewsContract, OldReviewVersion) {
  On("/v", [](const Value& review) {
    EXPECT_EQ(review["apiVersion"], Value("admission.k8s.io/v1beta1"));
    // These answers are not compared with the request.
    return HookAnswer{.body = R"({"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview","response":{"allowed":false}})"};
  });
  Value v = Entry("v", "/v");
  v["admissionReviewVersions"] = Value::Array({"v9", "v1beta1", "v1"});
  // It is the one that says when the server has read the configuration, too.
  InstallValidating({v});
  EXPECT_STATUS(Post(kMaps, kConfigMapA), R"(
code: 400
message: admission webhook "v.{id}.example.com" denied the request without explanation
)");
}

}  // namespace
}  // namespace kube::contract
