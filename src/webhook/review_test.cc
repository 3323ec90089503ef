// From AdmissionReviews to functions and back.
#include "webhook/review.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "kube/api/admission/v1.h"
#include "kube/api/core/v1.h"
#include "kube/codec/json.h"
#include "kube/webhook/try_webhook.h"
#include "kube/webhook/webhook.h"

namespace kube {
namespace {

using core::v1::Pod;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What an API server sends: with what clients and servers write for nothing, and with fields of a newer server.
constexpr const char* kPod = R"({
  "kind": "Pod", "apiVersion": "v1",
  "metadata": {"name": "web", "namespace": "default", "creationTimestamp": null, "labels": {}, "future": [1]},
  "spec": {"containers": [{"name": "web", "image": "web:1", "resources": {}, "shiny": true}], "volumes": null, "beam": {"on": 1.5}},
  "status": {}
})";

std::string Review(const std::string& operation, const std::string& object, const std::string& old = "null",
                   const std::string& version = "admission.k8s.io/v1") {
  return R"({"kind":"AdmissionReview","apiVersion":")" + version +
         R"(","request":{"uid":"705ab4f5","kind":{"group":"","version":"v1","kind":"Pod"},)" +
         R"("resource":{"group":"","version":"v1","resource":"pods"},"requestKind":{"group":"","version":"v1","kind":"Pod"},)" +
         R"("requestResource":{"group":"","version":"v1","resource":"pods"},"name":"web","namespace":"default","operation":")" + operation +
         R"(","userInfo":{"username":"ann","groups":["dev"]},"dryRun":true,"options":{"kind":"CreateOptions"},"object":)" + object +
         R"(,"oldObject":)" + old + "}}";
}

// The one endpoint of a spec, called.
admission::v1::AdmissionResponse Ask(const WebhookSpec& spec, const std::string& review, std::size_t endpoint = 0) {
  const WebhookAnswer answer = spec.endpoints.at(endpoint).serve(Context::Background(), review);
  EXPECT_EQ(answer.code, 200) << answer.body;
  Result<admission::v1::AdmissionReview> out = FromJson<admission::v1::AdmissionReview>(answer.body);
  if (!out || !out->response) {
    ADD_FAILURE() << answer.body;
    return {};
  }
  EXPECT_EQ(out->response->uid, "705ab4f5");
  return *out->response;
}

TEST(ReviewTest, FunctionsSeeTheRequest) {
  AdmissionRequest seen;
  const WebhookSpec spec =
      WebhookFor<Pod>("pods.example.com").Validate([&](const AdmissionRequest& request, const Pod* old, const Pod* pod) {
        seen = request;
        EXPECT_EQ(old, nullptr);
        EXPECT_EQ(pod->spec.containers[0].image, "web:1");
      });
  EXPECT_TRUE(Ask(spec, Review("CREATE", kPod)).allowed);
  EXPECT_EQ(seen.operation, AdmissionOperation::kCreate);
  EXPECT_EQ(seen.kind, (Gvk{"", "v1", "Pod"}));
  EXPECT_EQ(seen.resource, (Gvr{"", "v1", "pods"}));
  EXPECT_EQ(seen.request_resource, (Gvr{"", "v1", "pods"}));
  EXPECT_EQ(seen.key, (ObjectKey{"default", "web"}));
  EXPECT_EQ(seen.user.username, "ann");
  EXPECT_TRUE(seen.dry_run);
  EXPECT_EQ(seen.options.text(), R"({"kind":"CreateOptions"})");
}

TEST(ReviewTest, AFunctionThatChangesNothingSendsNoPatch) {
  const WebhookSpec spec = WebhookFor<Pod>("pods.example.com").Default([](Pod& pod) {
    pod.metadata.labels["a"] = "b";
    pod.metadata.labels.Erase("a");
    pod.spec.containers[0].image = String("web:1");
  });
  const auto response = Ask(spec, Review("CREATE", kPod));
  EXPECT_TRUE(response.allowed);
  EXPECT_TRUE(response.patch.empty()) << response.patch.view();
  EXPECT_FALSE(response.patch_type);
}

TEST(ReviewTest, ThePatchIsWhatTheFunctionChanged) {
  const WebhookSpec spec = WebhookFor<Pod>("pods.example.com").Default([](const AdmissionRequest&, Pod& pod) -> Result<void> {
    pod.metadata.labels["tier"] = "front";
    pod.spec.containers[0].image = "mirror/web:1";
    pod.spec.node_selector["zone"] = "a/b";
    pod.spec.containers.push_back({.name = "proxy"});
    return {};
  });
  const auto response = Ask(spec, Review("CREATE", kPod));
  EXPECT_EQ(response.patch_type, String("JSONPatch"));
  EXPECT_EQ(response.patch.view(), R"([{"op":"replace","path":"/metadata/labels","value":{"tier":"front"}},)"
                                   R"({"op":"replace","path":"/spec/containers/0/image","value":"mirror/web:1"},)"
                                   R"({"op":"add","path":"/spec/containers/1","value":{"name":"proxy"}},)"
                                   R"({"op":"add","path":"/spec/nodeSelector","value":{"zone":"a/b"}}])");
}

TEST(ReviewTest, UnknownFieldsSurviveWhereTheFunctionChangesTheirNeighbours) {
  const WebhookSpec spec = WebhookFor<Pod>("pods.example.com").Default([](Pod& pod) { pod.spec.containers[0].name = "other"; });
  const Result<Pod> pod = FromJson<Pod>(kPod);
  ASSERT_TRUE(pod.ok());
  AdmissionRequest request;
  request.operation = AdmissionOperation::kCreate;
  request.object = RawJson(String(kPod));
  const Result<TriedAdmission> tried = TryWebhook(spec, request);
  ASSERT_TRUE(tried.ok()) << tried.error().ToString();
  Result<Value> wanted = ParseJson(kPod);
  (*wanted)["spec"]["containers"].MutableList()[0]["name"] = "other";
  EXPECT_EQ(ToJson(tried->json), ToJson(*wanted));
}

TEST(ReviewTest, DynamicObjectsArePatchedToo) {
  const WebhookSpec spec =
      WebhookFor("carts.example.com", {.gvr = {"shop.example.com", "v1", "carts"}, .kind = "Cart"}).Default([](DynamicObject& cart) {
        cart["spec"]["size"] = 3;
      });
  EXPECT_EQ(spec.endpoints.at(0).path, "/mutate-shop-example-com-v1-cart");
  const std::string cart = R"({"apiVersion":"shop.example.com/v1","kind":"Cart","metadata":{"name":"c"},"spec":{"x":null}})";
  EXPECT_EQ(Ask(spec, Review("UPDATE", cart, cart)).patch.view(), R"([{"op":"add","path":"/spec/size","value":3}])");
}

TEST(ReviewTest, ValidationSeesOldAndNewByOperation) {
  std::vector<std::string> seen;
  constexpr auto kAll = AdmissionOperation::kCreate | AdmissionOperation::kUpdate | AdmissionOperation::kDelete;
  const WebhookSpec spec = WebhookFor<Pod>("pods.example.com")
                               .Validate(
                                   [&](const AdmissionRequest& request, const Pod* old, const Pod* pod) {
                                     seen.push_back(std::string(ToString(request.operation)) + (old ? " old" : "") + (pod ? " new" : ""));
                                   },
                                   kAll);
  EXPECT_TRUE(Ask(spec, Review("CREATE", kPod)).allowed);
  EXPECT_TRUE(Ask(spec, Review("UPDATE", kPod, kPod)).allowed);
  EXPECT_TRUE(Ask(spec, Review("DELETE", "null", kPod)).allowed);
  EXPECT_THAT(seen, ElementsAre("CREATE new", "UPDATE old new", "DELETE old"));
  // A review that lacks what the operation always has does not reach the function.
  for (const std::string& review :
       {Review("CREATE", "null"), Review("UPDATE", kPod), Review("UPDATE", "null", kPod), Review("DELETE", "null")}) {
    const auto response = Ask(spec, review);
    EXPECT_FALSE(response.allowed);
    EXPECT_EQ(response.status->code, 400);
  }
  EXPECT_EQ(seen.size(), 3U);
}

TEST(ReviewTest, OperationsWithoutAFunctionAreAllowed) {
  bool called = false;
  const WebhookSpec spec =
      WebhookFor<Pod>("pods.example.com").Default([&](Pod&) { called = true; }).Validate([&](const Pod*, const Pod*) { called = true; });
  for (const std::size_t endpoint : {0U, 1U}) {
    EXPECT_TRUE(Ask(spec, Review("DELETE", "null", kPod), endpoint).allowed);
    EXPECT_TRUE(Ask(spec, Review("CONNECT", kPod), endpoint).allowed);
  }
  EXPECT_FALSE(called);
}

TEST(ReviewTest, ConnectCarriesTheOptions) {
  const WebhookSpec spec = WebhookFor<core::v1::PodExecOptions>("exec.example.com")
                               .For({"", "v1", "pods"}, "exec")
                               .Validate(
                                   [](const AdmissionRequest&, const core::v1::PodExecOptions* old, const core::v1::PodExecOptions* exec) {
                                     EXPECT_EQ(old, nullptr);
                                     return exec->command.size() > 1 ? Admission::Deny("one word") : Admission::Allow();
                                   },
                                   AdmissionOperation::kConnect);
  ASSERT_FALSE(spec.problem) << spec.problem->ToString();
  EXPECT_THAT(spec.entries.at(0).rules.at(0).resources, ElementsAre("pods/exec"));
  EXPECT_FALSE(Ask(spec, Review("CONNECT", R"({"kind":"PodExecOptions","apiVersion":"v1","command":["rm","-r"]})")).allowed);
  EXPECT_TRUE(Ask(spec, Review("CONNECT", R"({"kind":"PodExecOptions","apiVersion":"v1","command":["ls"]})")).allowed);
}

TEST(ReviewTest, DenialsWarningsAndAuditAnnotationsAreSent) {
  const WebhookSpec spec = WebhookFor<Pod>("pods.example.com").Validate([](const Pod*, const Pod* pod) {
    Admission answer;
    answer.Warn("careful").Audit("seen", "yes");
    if (pod->spec.node_name.empty()) answer.Required("spec.nodeName");
    return answer;
  });
  const auto response = Ask(spec, Review("CREATE", kPod));
  EXPECT_FALSE(response.allowed);
  EXPECT_EQ(response.status->code, 422);
  EXPECT_EQ(response.status->reason, "Invalid");
  EXPECT_EQ(response.status->details->name, "web");
  EXPECT_EQ(response.status->details->causes[0].field, "spec.nodeName");
  EXPECT_THAT(response.warnings, ElementsAre(String("careful")));
  EXPECT_EQ(response.audit_annotations["seen"], "yes");
}

TEST(ReviewTest, WhatAFunctionThrowsIsADenialWith500) {
  const WebhookSpec spec = WebhookFor<Pod>("pods.example.com").Default([](Pod&) { throw std::runtime_error("boom"); });
  const WebhookAnswer answer = spec.endpoints.at(0).serve(Context::Background(), Review("CREATE", kPod));
  EXPECT_TRUE(answer.threw);
  const auto response = Ask(spec, Review("CREATE", kPod));
  EXPECT_FALSE(response.allowed);
  EXPECT_EQ(response.status->code, 500);
  EXPECT_THAT(response.status->message.str(), HasSubstr("boom"));
  // Result::value() is the same as returning the error.
  const WebhookSpec returns =
      WebhookFor<Pod>("pods.example.com").Validate([](const Pod*, const Pod*) { Result<void>(Error::Invalid("no")).value(); });
  EXPECT_EQ(Ask(returns, Review("CREATE", kPod)).status->code, 403);
}

TEST(ReviewTest, ObjectsThatCannotBeDecodedAreDeniedWith400) {
  const WebhookSpec spec = WebhookFor<Pod>("pods.example.com").Default([](Pod&) {}).Validate([](const Pod*, const Pod*) {});
  for (const char* object :
       {R"({"kind":"Pod","apiVersion":"v1","spec":{"containers":[{"name":7}]}})", R"({"kind":"Node","apiVersion":"v1"})", "[1]", "\"x\""}) {
    for (const std::size_t endpoint : {0U, 1U}) {
      const auto response = Ask(spec, Review("CREATE", object), endpoint);
      EXPECT_FALSE(response.allowed) << object;
      EXPECT_EQ(response.status->code, 400);
    }
  }
}

TEST(ReviewTest, WhatIsNoReviewFailsTheCall) {
  const WebhookSpec spec = WebhookFor<Pod>("pods.example.com").Default([](Pod&) {});
  std::string no_uid = Review("CREATE", kPod);
  no_uid.replace(no_uid.find("705ab4f5"), 8, "");
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("{}"), std::string("[]"),
        std::string(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"})"),
        Review("CREATE", kPod, "null", "admission.k8s.io/v2"), Review("create", kPod), Review("CREATE", "{"), no_uid}) {
    EXPECT_EQ(spec.endpoints.at(0).serve(Context::Background(), body).code, 400) << body;
  }
}

TEST(ReviewTest, ReviewsOfV1beta1AreAnsweredInKind) {
  const WebhookSpec spec = WebhookFor<Pod>("pods.example.com").Validate([](const Pod*, const Pod*) {});
  const WebhookAnswer answer =
      spec.endpoints.at(0).serve(Context::Background(), Review("CREATE", kPod, "null", "admission.k8s.io/v1beta1"));
  EXPECT_EQ(answer.body,
            R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","response":{"uid":"705ab4f5","allowed":true}})");
}

TEST(ReviewTest, RawHandlersSeeJsonAndMayPatch) {
  const WebhookSpec spec =
      RawWebhook({.mutating = true, .name = "all.example.com", .rules = {{.groups = {"*"}, .versions = {"*"}, .resources = {"*"}}}},
                 [](const Context&, const AdmissionRequest& request) {
                   Admission answer;
                   if (request.object.text().view().find("\"beam\"") != std::string_view::npos)
                     answer.Patch(Value::Array({Value::Object({{"op", "remove"}, {"path", "/spec/beam"}})}));
                   return answer;
                 });
  ASSERT_FALSE(spec.problem) << spec.problem->ToString();
  EXPECT_EQ(spec.entries.at(0).path, "/all.example.com");
  EXPECT_EQ(Ask(spec, Review("CREATE", kPod)).patch.view(), R"([{"op":"remove","path":"/spec/beam"}])");
  EXPECT_TRUE(Ask(spec, Review("DELETE", "null", kPod)).patch.empty());
}

TEST(ReviewTest, TheContextReachesTheFunction) {
  auto [ctx, cancel] = Context::Background().WithCancel();
  cancel.Cancel();
  bool stopped = false;
  const WebhookSpec spec =
      WebhookFor<Pod>("pods.example.com").Default([&](const Context& c, const AdmissionRequest&, Pod&) { stopped = c.stopped(); });
  (void)spec.endpoints.at(0).serve(ctx, Review("CREATE", kPod));
  EXPECT_TRUE(stopped);
}

TEST(WebhookForTest, MistakesAreProblems) {
  const auto nothing = [](const Pod*, const Pod*) {};
  const auto problem = [](const WebhookSpec& spec) { return spec.problem ? spec.problem->ToString() : ""; };
  EXPECT_EQ(problem(WebhookFor<Pod>("pods.example.com").Validate(nothing)), "");
  EXPECT_THAT(problem(WebhookFor<Pod>("pods.example.com")), HasSubstr("neither Default nor Validate"));
  for (const char* name : {"", "pods", "example.com", "Pods.example.com", "..", "a..b.c", "a.b."})
    EXPECT_THAT(problem(WebhookFor<Pod>(name).Validate(nothing)), HasSubstr("at least three parts")) << name;
  for (const char* path : {"validate", "/", "//x", "/x/", "/X", "/x?y", "/-x"})
    EXPECT_THAT(problem(WebhookFor<Pod>("pods.example.com").Validate(nothing).ValidateAt(path)), HasSubstr("is no path")) << path;
  EXPECT_THAT(problem(WebhookFor<Pod>("pods.example.com").Validate(nothing).Timeout(std::chrono::seconds(31))), HasSubstr("timeout"));
  EXPECT_THAT(problem(WebhookFor<core::v1::PodExecOptions>("exec.example.com").Validate([](const auto*, const auto*) {})),
              HasSubstr("For()"));
}

TEST(TryWebhookTest, RunsMutationBeforeValidation) {
  const WebhookSpec spec = WebhookFor<Pod>("pods.example.com")
                               .Default([](Pod& pod) {
                                 if (pod.spec.priority_class_name.empty()) pod.spec.priority_class_name = "normal";
                               })
                               .Validate([](const AdmissionRequest& request, const Pod* old, const Pod* pod) {
                                 Admission answer;
                                 if (old != nullptr && old->spec.priority_class_name != pod->spec.priority_class_name)
                                   answer.Forbidden("spec.priorityClassName", "is immutable");
                                 if (request.dry_run) answer.Warn("a dry run");
                                 return answer;
                               });
  Pod pod;
  pod.metadata.name = "web";
  const auto created = TryCreate(spec, pod, {.dry_run = true});
  ASSERT_TRUE(created.ok()) << created.error().ToString();
  EXPECT_EQ(created->ToString(), "allowed");
  EXPECT_EQ(created->object.spec.priority_class_name, "normal");
  EXPECT_THAT(created->warnings, ElementsAre("a dry run"));
  Pod changed = created->object;
  changed.spec.priority_class_name = "high";
  const auto updated = TryUpdate(spec, created->object, changed);
  ASSERT_TRUE(updated.ok());
  EXPECT_EQ(updated->ToString(), "denied: Pod \"web\" is invalid: spec.priorityClassName: Forbidden: is immutable");
  EXPECT_TRUE(TryDelete(spec, pod)->allowed());
}

}  // namespace
}  // namespace kube
