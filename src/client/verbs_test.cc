#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/handwritten_kind_test_util.h"
#include "client/protobuf_refusals.h"
#include "client/scripted_transport_test_util.h"
#include "kube/api/apps/v1.h"
#include "kube/api/authentication/v1.h"
#include "kube/api/core/v1.h"
#include "kube/base/fake_clock.h"
#include "kube/client/client.h"
#include "kube/codec/json.h"
#include "kube/codec/protobuf.h"
#include "kube/config/client_config.h"
#include "kube/transport/transport_errors.h"

namespace kube::internal {
namespace {

using apps::v1::Deployment;
using core::v1::Node;
using core::v1::Pod;
using meta::v1::PartialObjectMetadata;
using ::testing::HasSubstr;

constexpr char kProtobuf[] = "application/vnd.kubernetes.protobuf";
constexpr char kPodJson[] = R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"default","uid":"u"}})";

class VerbsTest : public ::testing::Test {
 protected:
  VerbsTest() : client_(Make({})) {}

  Client Make(ClientConfig config) {
    config.qps = -1;
    return Client::FromConfig(config, {.transport = transport_}).value();
  }
  // "GET /api/v1/pods?x Accept=... Content-Type=..."
  std::string Sent() const {
    const HttpRequest request = transport_->last();
    std::string out = request.method + " " + request.target + " accept:" + std::string(request.headers.Get("accept"));
    if (request.headers.Has("content-type")) out += " type:" + std::string(request.headers.Get("content-type"));
    return out;
  }

  const Context ctx_ = Context::Background();
  const std::shared_ptr<ScriptedTransport> transport_ = std::make_shared<ScriptedTransport>();
  Client client_;
};
using Contract09Requests = VerbsTest;
using Contract09Preflight = VerbsTest;
using Contract09Errors = VerbsTest;
using Contract10Negotiation = VerbsTest;
using Contract14Dynamic = VerbsTest;
using Contract14Metadata = VerbsTest;
using Contract15Apply = VerbsTest;

TEST_F(Contract09Requests, GetAsksForProtobufFirst) {
  transport_->Answer(200, ToProtobuf(Pod{.metadata = {.name = "web", .uid = "u"}}).value(), kProtobuf);
  const Result<Pod> pod = client_.Get<Pod>(ctx_, {"default", "web"});
  ASSERT_TRUE(pod) << pod.error().ToString();
  EXPECT_EQ(pod->metadata.uid, "u");
  EXPECT_EQ(Sent(), "GET /api/v1/namespaces/default/pods/web accept:application/vnd.kubernetes.protobuf,application/json");
  EXPECT_EQ(transport_->last().verb, "get");
  EXPECT_EQ(transport_->last().url_template, "/api/v1/namespaces/{namespace}/pods/{name}");
  EXPECT_FALSE(transport_->last().streaming);
}

TEST_F(Contract09Requests, GetAtAResourceVersion) {
  transport_->Answer(200, kPodJson);
  ASSERT_TRUE(client_.Get<Pod>(ctx_, {"default", "web"}, {.resource_version = "0"}));
  EXPECT_THAT(Sent(), HasSubstr("/pods/web?resourceVersion=0 "));
}

TEST_F(Contract10Negotiation, AProtobufClientUnderstandsJson) {
  transport_->Answer(200, kPodJson, "application/json; charset=utf-8");
  EXPECT_EQ(client_.Get<Pod>(ctx_, {"default", "web"}).value().metadata.name, "web");
}

TEST_F(Contract10Negotiation, AConfigCanAskForJson) {
  const Client json = Make({.content_type = "application/json"});
  transport_->Answer(200, kPodJson);
  ASSERT_TRUE(json.Get<Pod>(ctx_, {"default", "web"}));
  EXPECT_EQ(Sent(), "GET /api/v1/namespaces/default/pods/web accept:application/json, */*");
  transport_->Answer(201, kPodJson);
  ASSERT_TRUE(json.Create(ctx_, Pod{.metadata = {.name = "web", .namespace_ = "default"}}));
  EXPECT_EQ(Sent(), "POST /api/v1/namespaces/default/pods accept:application/json, */* type:application/json");
}

TEST_F(Contract10Negotiation, AnObjectWithMembersThatProtobufCannotSayGoesAsJson) {
  transport_->Answer(200, kPodJson);
  Result<Pod> pod = FromJson<Pod>(R"({"metadata":{"name":"web","namespace":"default"},"spec":{"fromTheFuture":1}})");
  ASSERT_TRUE(pod);
  ASSERT_TRUE(client_.Update(ctx_, *pod));
  EXPECT_THAT(Sent(), HasSubstr("type:application/json"));
  EXPECT_THAT(transport_->last().body, HasSubstr("fromTheFuture"));
}

TEST_F(Contract10Negotiation, AHandWrittenKindTravelsAsJsonWhateverItsNumbersSay) {
  transport_->Answer(201, R"({"kind":"Backup","apiVersion":"handwritten.example.com/v1"})");
  Backup backup;
  backup.metadata = {.name = "nightly", .namespace_ = "default"};
  ASSERT_TRUE(client_.Create(ctx_, backup));
  EXPECT_EQ(Sent(), "POST /apis/handwritten.example.com/v1/namespaces/default/backups accept:application/json, */* type:application/json");
}

constexpr char kRefused[] = R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"UnsupportedMediaType","code":415})";
constexpr char kNotAcceptable[] = R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotAcceptable","code":406})";

TEST_F(Contract10Negotiation, ABodyThatIsRefusedIsSentAgainInJsonAndTheResourceRemembered) {
  const Pod pod{.metadata = {.name = "web", .namespace_ = "default"}};
  transport_->Answer(415, kRefused);
  transport_->Answer(201, kPodJson);
  const Result<Pod> made = client_.Create(ctx_, pod, {.field_manager = "me"});
  ASSERT_TRUE(made) << made.error().ToString();
  EXPECT_EQ(made->metadata.uid, "u");
  ASSERT_EQ(transport_->requests().size(), 2U);
  EXPECT_EQ(Sent(), "POST /api/v1/namespaces/default/pods?fieldManager=me accept:application/json type:application/json");
  EXPECT_EQ(FromJson<Pod>(transport_->last().body).value(), pod);
  transport_->Answer(200, kPodJson);
  ASSERT_TRUE(client_.Update(ctx_, pod));
  EXPECT_EQ(transport_->requests().size(), 3U);
  EXPECT_EQ(Sent(), "PUT /api/v1/namespaces/default/pods/web accept:application/json, */* type:application/json");
  // Another resource may be another server's.
  transport_->Answer(200, R"({"kind":"Deployment","apiVersion":"apps/v1"})");
  ASSERT_TRUE(client_.Update(ctx_, Deployment{.metadata = {.name = "web", .namespace_ = "default"}}));
  EXPECT_THAT(Sent(), ::testing::EndsWith("type:application/vnd.kubernetes.protobuf"));
}

TEST_F(Contract10Negotiation, AnAnswerThatIsRefusedIsAskedForAgainInJsonAndTheResourceRemembered) {
  transport_->Answer(406, kNotAcceptable);
  transport_->Answer(200, kPodJson);
  ASSERT_TRUE(client_.Get<Pod>(ctx_, {"default", "web"}));
  EXPECT_EQ(Sent(), "GET /api/v1/namespaces/default/pods/web accept:application/json");
  transport_->Answer(200, "");
  ASSERT_TRUE(client_.Watch<Pod>(ctx_));
  EXPECT_THAT(Sent(), ::testing::EndsWith("accept:application/json, */*"));
  EXPECT_EQ(transport_->requests().size(), 3U);
}

TEST_F(Contract10Negotiation, PatchesAndMetadataAreAskedForAgainToo) {
  transport_->Answer(406, kNotAcceptable);
  transport_->Answer(200, kPodJson);
  ASSERT_TRUE(client_.Patch<Pod>(ctx_, {"default", "web"}, Patch::Json("[]")));
  EXPECT_EQ(Sent(), "PATCH /api/v1/namespaces/default/pods/web accept:application/json type:application/json-patch+json");
  EXPECT_EQ(transport_->last().body, "[]");
  transport_->Answer(406, kNotAcceptable);
  transport_->Answer(200, R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","uid":"u"}})");
  ASSERT_TRUE(client_.Metadata<Node>().Get(ctx_, {"", "a"}));
  EXPECT_EQ(Sent(), "GET /api/v1/nodes/a accept:application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
  EXPECT_EQ(transport_->requests().size(), 4U);
}

TEST_F(Contract10Negotiation, ARefusalOfJsonIsTheErrorAndIsNotRemembered) {
  const Pod pod{.metadata = {.name = "web", .namespace_ = "default"}};
  transport_->Answer(415, kRefused);
  transport_->Answer(415, kRefused);
  const Result<Pod> made = client_.Create(ctx_, pod);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().http_code(), 415);
  EXPECT_EQ(transport_->requests().size(), 2U);
  transport_->Answer(201, kPodJson);
  ASSERT_TRUE(client_.Create(ctx_, pod));
  EXPECT_THAT(Sent(), ::testing::EndsWith("type:application/vnd.kubernetes.protobuf"));
  // A patch of an unknown type is not about protobuf.
  transport_->Answer(415, kRefused);
  EXPECT_FALSE(client_.Patch<Pod>(ctx_, {"default", "web"}, Patch::Json("[]")));
  EXPECT_EQ(transport_->requests().size(), 4U);
}

TEST(ProtobufRefusalsTest, ForgetsTheOldestBeyondItsBound) {
  ProtobufRefusals refusals;
  const auto gvr = [](std::size_t i) { return Gvr{"example.com", "v1", String("kinds" + std::to_string(i))}; };
  EXPECT_FALSE(refusals.Has(gvr(0)));
  for (std::size_t i = 0; i <= ProtobufRefusals::kMost; ++i) EXPECT_TRUE(refusals.Add(gvr(i)));
  EXPECT_FALSE(refusals.Add(gvr(1)));
  EXPECT_FALSE(refusals.Has(gvr(0)));
  EXPECT_TRUE(refusals.Has(gvr(1)));
  EXPECT_TRUE(refusals.Has(gvr(ProtobufRefusals::kMost)));
}

TEST_F(Contract10Negotiation, ContentTypesThatAreNoApiAreExplained) {
  transport_->Answer(200, "<html>login</html>", "text/html");
  const Result<Pod> pod = client_.Get<Pod>(ctx_, {"default", "web"});
  ASSERT_FALSE(pod);
  EXPECT_EQ(pod.error().kind(), ErrorKind::kDecode);
  EXPECT_EQ(
      pod.error().ToString(),
      "get pods default/web: the server answered with content type \"text/html\", which is neither JSON nor Kubernetes protobuf; is this "
      "the address of an API server? The answer begins: <html>login</html>");
}

TEST_F(Contract09Requests, CreateSendsProtobufAndGivesWhatTheServerStored) {
  transport_->Answer(201, ToProtobuf(Pod{.metadata = {.name = "web", .uid = "new"}}).value(), kProtobuf);
  const Result<Pod> pod = client_.Create(ctx_, Pod{.metadata = {.name = "web", .namespace_ = "default"}},
                                         {.dry_run = true, .field_manager = "me", .field_validation = "Strict"});
  ASSERT_TRUE(pod) << pod.error().ToString();
  EXPECT_EQ(pod->metadata.uid, "new");
  EXPECT_EQ(Sent(),
            "POST /api/v1/namespaces/default/pods?dryRun=All&fieldManager=me&fieldValidation=Strict "
            "accept:application/vnd.kubernetes.protobuf,application/json type:application/vnd.kubernetes.protobuf");
  EXPECT_EQ(FromProtobuf<Pod>(transport_->last().body).value().metadata.name, "web");
}

TEST_F(Contract09Requests, UpdateAndItsStatus) {
  transport_->Answer(200, R"({"kind":"Deployment","apiVersion":"apps/v1"})");
  const Deployment deployment{.metadata = {.name = "web", .namespace_ = "default"}};
  ASSERT_TRUE(client_.Update(ctx_, deployment));
  EXPECT_THAT(Sent(), ::testing::StartsWith("PUT /apis/apps/v1/namespaces/default/deployments/web accept:"));
  transport_->Answer(200, R"({"kind":"Deployment","apiVersion":"apps/v1"})");
  ASSERT_TRUE(client_.UpdateStatus(ctx_, deployment));
  EXPECT_THAT(Sent(), ::testing::StartsWith("PUT /apis/apps/v1/namespaces/default/deployments/web/status accept:"));
}

TEST_F(Contract09Requests, PatchesHaveTheirContentTypes) {
  const std::pair<Patch, std::string> patches[] = {{Patch::Json("[]"), "application/json-patch+json"},
                                                   {Patch::Merge(Value::Object({{"a", 1}})), "application/merge-patch+json"},
                                                   {Patch::Strategic("{}"), "application/strategic-merge-patch+json"}};
  for (const auto& [patch, type] : patches) {
    transport_->Answer(200, kPodJson);
    ASSERT_TRUE(client_.Patch<Pod>(ctx_, {"default", "web"}, patch, {.field_manager = "me"}));
    EXPECT_EQ(Sent(),
              "PATCH /api/v1/namespaces/default/pods/web?fieldManager=me accept:application/vnd.kubernetes.protobuf,application/json "
              "type:" +
                  type);
    EXPECT_EQ(transport_->last().body, patch.body);
  }
}

TEST_F(Contract15Apply, SendsJsonAsAnApplyPatch) {
  transport_->Answer(200, R"({"kind":"Deployment","apiVersion":"apps/v1"})");
  Deployment deployment{.metadata = {.name = "web", .namespace_ = "default"}};
  deployment.spec.replicas = 3;
  ASSERT_TRUE(client_.Apply(ctx_, deployment, {.field_manager = "me", .force = true}));
  EXPECT_EQ(Sent(),
            "PATCH /apis/apps/v1/namespaces/default/deployments/web?fieldManager=me&force=true "
            "accept:application/vnd.kubernetes.protobuf,application/json type:application/apply-patch+yaml");
  const Value body = ParseJson(transport_->last().body).value();
  EXPECT_EQ(body["apiVersion"].string_value(), "apps/v1");
  EXPECT_EQ(body["kind"].string_value(), "Deployment");
  EXPECT_EQ(body["spec"]["replicas"].int_value(), 3);
}

TEST_F(Contract15Apply, NeedsAManagerAndAName) {
  const Deployment named{.metadata = {.name = "web", .namespace_ = "default"}};
  EXPECT_THAT(client_.Apply(ctx_, named, {}).error().ToString(), HasSubstr("needs a field manager"));
  EXPECT_THAT(client_.Apply(ctx_, Deployment{}, {.field_manager = "me"}).error().ToString(), HasSubstr("resource name may not be empty"));
  EXPECT_TRUE(transport_->requests().empty());
}

TEST_F(Contract14Dynamic, ApplyRefusesObjectsWithManagedFields) {
  DynamicObject object({"apps", "v1", "Deployment"}, {"default", "web"});
  object["metadata"]["managedFields"] = Value::Array({Value::Object()});
  const auto applied = client_.Resource(Gvr{"apps", "v1", "deployments"}).Apply(ctx_, object, {.field_manager = "me"});
  ASSERT_FALSE(applied);
  EXPECT_THAT(applied.error().message(), HasSubstr("managed fields"));
  EXPECT_TRUE(transport_->requests().empty());
}

TEST_F(Contract09Requests, DeleteWithAndWithoutOptions) {
  transport_->Answer(200, R"({"kind":"Status","apiVersion":"v1","status":"Success"})");
  ASSERT_TRUE(client_.Delete<Pod>(ctx_, {"default", "web"}));
  EXPECT_EQ(Sent(), "DELETE /api/v1/namespaces/default/pods/web accept:application/vnd.kubernetes.protobuf,application/json");
  EXPECT_EQ(transport_->last().body, "");
  transport_->Answer(200, kPodJson);
  ASSERT_TRUE(client_.Delete<Pod>(ctx_, {"default", "web"}, {.propagation = "Orphan"}));
  EXPECT_THAT(Sent(), HasSubstr("type:application/json"));
  EXPECT_THAT(transport_->last().body, HasSubstr("\"propagationPolicy\":\"Orphan\""));
}

TEST_F(Contract09Requests, DeleteCollectionSelects) {
  transport_->Answer(200, R"({"kind":"Status","apiVersion":"v1","status":"Success"})");
  ASSERT_TRUE(client_.DeleteCollection<Pod>(ctx_, {.ns = "default", .label_selector = "app=web"}));
  EXPECT_THAT(Sent(), ::testing::StartsWith("DELETE /api/v1/namespaces/default/pods?labelSelector=app%3Dweb accept:"));
  EXPECT_FALSE(client_.DeleteCollection<Pod>(ctx_, {}));
}

TEST_F(Contract09Requests, ListsDecodeInBothFormats) {
  transport_->Answer(
      200,
      R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"c"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]})");
  Result<ObjectList<Pod>> pods = client_.List<Pod>(ctx_, {.ns = "default", .label_selector = "app=web", .limit = 2});
  ASSERT_TRUE(pods) << pods.error().ToString();
  EXPECT_EQ(Sent(),
            "GET /api/v1/namespaces/default/pods?labelSelector=app%3Dweb&limit=2 "
            "accept:application/vnd.kubernetes.protobuf,application/json");
  EXPECT_EQ(pods->metadata.resource_version, "7");
  EXPECT_EQ(pods->metadata.continue_, "c");
  ASSERT_EQ(pods->size(), 2U);
  EXPECT_EQ(std::as_const(pods->items)[1].metadata.name, "b");

  core::v1::PodList list{.metadata = {.resource_version = "8"}};
  list.items.push_back({.metadata = {.name = "x"}});
  transport_->Answer(200, ToProtobuf(list).value(), kProtobuf);
  pods = client_.List<Pod>(ctx_);
  ASSERT_TRUE(pods) << pods.error().ToString();
  EXPECT_EQ(pods->metadata.resource_version, "8");
  ASSERT_EQ(pods->size(), 1U);
  EXPECT_EQ(pods->begin()->metadata.name, "x");
  EXPECT_THAT(Sent(), ::testing::StartsWith("GET /api/v1/pods accept:"));
}

TEST_F(Contract09Requests, AWatchStreams) {
  transport_->Answer(200, R"({"type":"ADDED","object":)" + std::string(kPodJson) + "}\n");
  Result<Watcher<Pod>> watcher = client_.Watch<Pod>(ctx_, {.ns = "default", .resource_version = "5"});
  ASSERT_TRUE(watcher) << watcher.error().ToString();
  EXPECT_EQ(Sent(),
            "GET /api/v1/namespaces/default/pods?allowWatchBookmarks=true&resourceVersion=5&watch=true "
            "accept:application/vnd.kubernetes.protobuf,application/json");
  EXPECT_TRUE(transport_->last().streaming);
  EXPECT_EQ(transport_->last().verb, "watch");
  EXPECT_EQ((*watcher->Next(ctx_).value()).object.metadata.name, "web");
}

TEST_F(Contract09Requests, AWatchThatCannotBeOpenedBecauseConnectionsBreakIsEmpty) {
  const Client impatient = Client::FromConfig({.qps = -1}, {.max_retries = 0, .transport = transport_}).value();
  transport_->Fail(TransportError(transport_reason::kUnexpectedEof, "cut"));
  Result<Watcher<Pod>> watcher = impatient.Watch<Pod>(ctx_);
  ASSERT_TRUE(watcher) << watcher.error().ToString();
  EXPECT_FALSE(watcher->Next(ctx_).value());
  transport_->Fail(TransportError(transport_reason::kConnectionRefused, "nobody"));
  watcher = impatient.Watch<Pod>(ctx_);
  ASSERT_FALSE(watcher);
  EXPECT_TRUE(IsConnectionRefused(watcher.error()));
}

TEST_F(Contract09Requests, TheLimitIsFiveASecondUnlessSaidOtherwise) {
  const auto clock = std::make_shared<FakeClock>();
  const Context ctx = Context::Background(clock);
  const auto sent_at_once = [&](ClientConfig config) {
    const auto transport = std::make_shared<ScriptedTransport>();
    for (int i = 0; i < 100; ++i) transport->Answer(200, kPodJson);
    const Client client = Client::FromConfig(config, {.transport = transport, .clock = clock}).value();
    for (int i = 0; i < 50; ++i) {
      // A deadline that comes before the next token: refused at once.
      if (!client.Get<Pod>(ctx.WithTimeout(std::chrono::milliseconds(1)), {"default", "web"})) break;
    }
    return transport->requests().size();
  };
  EXPECT_EQ(sent_at_once({}), 10U);
  EXPECT_EQ(sent_at_once({.qps = 3, .burst = 7}), 7U);
  EXPECT_EQ(sent_at_once({.qps = -1}), 50U);
  EXPECT_EQ(Client::FromConfig({.qps = 3}, {.transport = transport_}).error().kind(), ErrorKind::kConfig);
}

TEST_F(Contract09Requests, ATimeoutIsSentInGosWords) {
  const Client bounded = Make({.timeout = std::chrono::milliseconds(90500)});
  transport_->Answer(200, kPodJson);
  ASSERT_TRUE(bounded.Get<Pod>(ctx_, {"default", "web"}));
  EXPECT_THAT(Sent(), HasSubstr("/pods/web?timeout=1m30.5s "));
}

TEST_F(Contract09Preflight, WhatCannotBeRightIsNotSent) {
  EXPECT_EQ(client_.Get<Pod>(ctx_, {"", "web"}).error().ToString(),
            "get pods web: an empty namespace may not be set when a resource name is provided");
  EXPECT_EQ(client_.Get<Pod>(ctx_, {"default", ""}).error().ToString(), "get pods in namespace default: resource name may not be empty");
  EXPECT_EQ(client_.Create(ctx_, Pod{}).error().ToString(), "create pods: an empty namespace may not be set during creation");
  EXPECT_EQ(client_.Get<Node>(ctx_, {"default", "n"}).error().ToString(),
            "get nodes default/n: nodes are not namespaced, but the key names the namespace \"default\"");
  EXPECT_EQ(client_.List<Node>(ctx_, {.ns = "x"}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(client_.Delete<Pod>(ctx_, {"default", "../../nodes"}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(client_.Update(ctx_, Pod{.metadata = {.namespace_ = "default"}}).error().kind(), ErrorKind::kInvalid);
  EXPECT_TRUE(transport_->requests().empty());
}

TEST_F(Contract09Errors, AStatusKeepsItsWords) {
  transport_->Answer(
      404,
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"pods \"web\" not found","reason":"NotFound","details":{"name":"web","kind":"pods"},"code":404})");
  const Result<Pod> pod = client_.Get<Pod>(ctx_, {"default", "web"});
  ASSERT_FALSE(pod);
  EXPECT_TRUE(IsNotFound(pod.error()));
  EXPECT_EQ(pod.error().message(), "pods \"web\" not found");
  EXPECT_EQ(pod.error().ToString(), "get pods default/web: pods \"web\" not found");
}

TEST_F(Contract09Errors, AFailureInsideOfA200IsAnError) {
  const std::string failure = R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":"Forbidden","code":403})";
  transport_->Answer(200, failure);
  EXPECT_TRUE(IsForbidden(client_.Get<Pod>(ctx_, {"default", "web"}).error()));
  transport_->Answer(200, failure);
  EXPECT_TRUE(IsForbidden(client_.List<Pod>(ctx_).error()));
  transport_->Answer(200, failure);
  EXPECT_TRUE(IsForbidden(client_.Resource(Gvr{"", "v1", "pods"}).Get(ctx_, {"default", "web"}).error()));
  transport_->Answer(200, failure);
  EXPECT_TRUE(IsForbidden(client_.Metadata<Pod>().Get(ctx_, {"default", "web"}).error()));
  meta::v1::Status status{.status = "Failure", .message = "no", .reason = "Forbidden"};
  status.code = 403;
  transport_->Answer(200, ToProtobuf(status).value(), kProtobuf);
  EXPECT_TRUE(IsForbidden(client_.Get<Pod>(ctx_, {"default", "web"}).error()));
}

TEST_F(Contract09Errors, AnEmptyBodyIsAnError) {
  transport_->Answer(200, "");
  const Result<Pod> pod = client_.Get<Pod>(ctx_, {"default", "web"});
  ASSERT_FALSE(pod);
  EXPECT_EQ(pod.error().ToString(), "get pods default/web: the server's response is empty, expected an object");
}

TEST_F(Contract09Errors, AnotherKindThanAskedForIsAnError) {
  transport_->Answer(200, R"({"kind":"Service","apiVersion":"v1","metadata":{"name":"web"}})");
  const Result<Pod> pod = client_.Get<Pod>(ctx_, {"default", "web"});
  ASSERT_FALSE(pod);
  EXPECT_EQ(pod.error().kind(), ErrorKind::kDecode);
}

TEST_F(Contract14Dynamic, JsonOnly) {
  transport_->Answer(200, R"({"kind":"At","apiVersion":"cnat.example.com/v1","metadata":{"name":"x"},"spec":{"schedule":"now"}})");
  const auto at = client_.Resource(Gvr{"cnat.example.com", "v1", "ats"}).Get(ctx_, {"default", "x"});
  ASSERT_TRUE(at) << at.error().ToString();
  EXPECT_EQ(at->NestedString({"spec", "schedule"}), "now");
  EXPECT_EQ(Sent(), "GET /apis/cnat.example.com/v1/namespaces/default/ats/x accept:application/json");
  transport_->Answer(201, R"({"kind":"At","apiVersion":"cnat.example.com/v1"})");
  ASSERT_TRUE(client_.Resource(Gvr{"cnat.example.com", "v1", "ats"}).Create(ctx_, *at));
  EXPECT_EQ(Sent(), "POST /apis/cnat.example.com/v1/ats accept:application/json type:application/json");
}

TEST_F(Contract14Dynamic, ListsGiveTheirItemsAKind) {
  transport_->Answer(200,
                     R"({"kind":"AtList","apiVersion":"x.io/v1","metadata":{"resourceVersion":"3"},"items":[{"metadata":{"name":"a"}}]})");
  const auto list = client_.Resource(Gvr{"x.io", "v1", "ats"}).List(ctx_);
  ASSERT_TRUE(list) << list.error().ToString();
  EXPECT_EQ(list->metadata.resource_version, "3");
  ASSERT_EQ(list->size(), 1U);
  EXPECT_EQ(list->items[0].kind(), "At");
  transport_->Answer(200, R"({"kind":"At","apiVersion":"x.io/v1"})");
  EXPECT_THAT(client_.Resource(Gvr{"x.io", "v1", "ats"}).List(ctx_).error().ToString(), HasSubstr("has no items"));
}

TEST_F(Contract14Metadata, AsksForPartialObjects) {
  transport_->Answer(200, ToProtobuf(PartialObjectMetadata{.metadata = {.name = "web", .uid = "u"}}).value(), kProtobuf);
  const auto got = client_.Metadata<Pod>().Get(ctx_, {"default", "web"});
  ASSERT_TRUE(got) << got.error().ToString();
  EXPECT_EQ(got->metadata.uid, "u");
  EXPECT_EQ(Sent(),
            "GET /api/v1/namespaces/default/pods/web "
            "accept:application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
  transport_->Answer(
      200,
      R"({"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"4"},"items":[{"metadata":{"name":"a"}}]})");
  const auto list = client_.Metadata(Gvr{"", "v1", "pods"}).List(ctx_);
  ASSERT_TRUE(list) << list.error().ToString();
  EXPECT_EQ(list->size(), 1U);
  EXPECT_THAT(Sent(), HasSubstr("as=PartialObjectMetadataList"));
}

TEST_F(Contract14Metadata, ServersThatSendTheWholeObjectAreUnderstood) {
  transport_->Answer(200, kPodJson);
  EXPECT_EQ(client_.Metadata<Pod>().Get(ctx_, {"default", "web"}).value().metadata.uid, "u");
  transport_->Answer(200,
                     R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"4"},"items":[)" + std::string(kPodJson) + "]}");
  const auto list = client_.Metadata<Pod>().List(ctx_);
  ASSERT_TRUE(list) << list.error().ToString();
  EXPECT_EQ(list->metadata.resource_version, "4");
  EXPECT_EQ(list->begin()->metadata.uid, "u");
  transport_->Answer(200, R"({"kind":"Thing","apiVersion":"v1","spec":{}})");
  EXPECT_THAT(client_.Metadata<Pod>().Get(ctx_, {"default", "web"}).error().ToString(), HasSubstr("no object metadata"));
}

TEST_F(Contract14Metadata, CannotCreateOrUpdate) {
  EXPECT_EQ(client_.Metadata<Pod>().Create(ctx_, {}).error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(client_.Metadata<Pod>().Update(ctx_, {}).error().kind(), ErrorKind::kInvalid);
  EXPECT_TRUE(transport_->requests().empty());
}

TEST_F(VerbsTest, SubresourcesWithKindsOfTheirOwn) {
  using authentication::v1::TokenRequest;
  TokenRequest answer;
  answer.status.token = "t";
  transport_->Answer(201, ToProtobuf(answer).value(), kProtobuf);
  const Result<TokenRequest> token = client_.Resource<core::v1::ServiceAccount>().PostSubresource<TokenRequest>(
      ctx_, {"default", "robot"}, "token", TokenRequest{.spec = {.audiences = {"api"}}});
  ASSERT_TRUE(token) << token.error().ToString();
  EXPECT_EQ(token->status.token, "t");
  EXPECT_THAT(Sent(), ::testing::StartsWith("POST /api/v1/namespaces/default/serviceaccounts/robot/token accept:"));
}

TEST_F(VerbsTest, RawRequestsGoThroughTheSameDoor) {
  transport_->Answer(200, "ok", "text/plain");
  EXPECT_EQ(client_.Raw(ctx_, {.target = "/healthz?verbose"}).value().body, "ok");
  transport_->Answer(503, "down", "text/plain");
  const Result<HttpResponse> down = client_.Raw(ctx_, {.target = "/healthz?token=secret"});
  ASSERT_FALSE(down);
  EXPECT_EQ(down.error().http_code(), 503);
  EXPECT_THAT(down.error().ToString(), ::testing::StartsWith("GET /healthz: "));
}

}  // namespace
}  // namespace kube::internal
