// What programs need: rules, reviews, and what a manager makes of its parts.
#include "kube/control/access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "base/process_log_test_util.h"
#include "client/scripted_transport_test_util.h"
#include "kube/api/apps/v1.h"
#include "kube/api/authorization/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/rbac/v1.h"
#include "kube/base/fake_clock.h"
#include "kube/base/log.h"
#include "kube/base/thread.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"
#include "kube/config/client_config.h"
#include "kube/control/manager.h"

namespace kube {
namespace {

using apps::v1::Deployment;
using core::v1::ConfigMap;
using core::v1::Node;
using core::v1::Secret;
using core::v1::Service;
using internal::ProcessLog;
using internal::ScriptedTransport;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Context Soon() { return Context::Background().WithTimeout(std::chrono::seconds(60)); }

AccessNeed In(AccessNeed need, std::string ns) {
  need.ns = std::move(ns);
  return need;
}

// ---- Rules ----

TEST(RbacYamlTest, AlikeIsMergedAndEverythingIsSorted) {
  EXPECT_EQ(RbacYaml({Need<Service>({"watch", "list"}), Need<Deployment>({"patch"}, "", "status"), Need<ConfigMap>({"list"}),
                      Need<Deployment>({"watch", "list"}), Need<ConfigMap>({"watch", "list"}), Need<Service>({"create"})},
                     {.name = "web"}),
            "---\n"
            "apiVersion: rbac.authorization.k8s.io/v1\n"
            "kind: ClusterRole\n"
            "metadata:\n"
            "  name: web\n"
            "rules:\n"
            "- apiGroups:\n"
            "  - \"\"\n"
            "  resources:\n"
            "  - configmaps\n"
            "  verbs:\n"
            "  - list\n"
            "  - watch\n"
            "- apiGroups:\n"
            "  - \"\"\n"
            "  resources:\n"
            "  - services\n"
            "  verbs:\n"
            "  - create\n"
            "  - list\n"
            "  - watch\n"
            "- apiGroups:\n"
            "  - apps\n"
            "  resources:\n"
            "  - deployments\n"
            "  verbs:\n"
            "  - list\n"
            "  - watch\n"
            "- apiGroups:\n"
            "  - apps\n"
            "  resources:\n"
            "  - deployments/status\n"
            "  verbs:\n"
            "  - patch\n");
}

TEST(RbacYamlTest, ResourcesWithTheSameVerbsShareARule) {
  const std::string yaml = RbacYaml({Need<Secret>({"get"}), Need<ConfigMap>({"get"})});
  EXPECT_THAT(yaml, HasSubstr("  resources:\n  - configmaps\n  - secrets\n  verbs:\n  - get\n"));
}

TEST(RbacYamlTest, ANamespaceHasARoleOfItsOwnWithoutWhatIsAllowedEverywhere) {
  const std::string yaml =
      RbacYaml({Need<ConfigMap>({"list"}), In(Need<ConfigMap>({"list", "watch"}), "shop"), In(Need<Secret>({"get"}), "a")});
  const std::vector<Value> documents = ParseYaml(yaml).value();
  ASSERT_EQ(documents.size(), 3U);
  EXPECT_EQ(documents[0]["kind"].string_value(), "ClusterRole");
  EXPECT_EQ(documents[1]["metadata"]["namespace"].string_value(), "a");
  EXPECT_EQ(documents[2]["kind"].string_value(), "Role");
  EXPECT_EQ(documents[2]["metadata"]["namespace"].string_value(), "shop");
  EXPECT_EQ(documents[2]["rules"].list().size(), 1U);
  EXPECT_EQ(documents[2]["rules"].list()[0]["verbs"], Value::Array({"watch"}));
}

TEST(RbacYamlTest, ANameLimitsTheVerbsThatHaveOne) {
  const AccessNeed lease{
      .group = "coordination.k8s.io", .resource = "leases", .verbs = {"create", "get", "update"}, .ns = "web", .name = "leader"};
  const std::vector<Value> documents = ParseYaml(RbacYaml({lease})).value();
  ASSERT_EQ(documents.size(), 1U);
  const List<Value> rules = documents[0]["rules"].list();
  ASSERT_EQ(rules.size(), 2U);
  EXPECT_EQ(rules[0]["verbs"], Value::Array({"create"}));
  EXPECT_TRUE(rules[0]["resourceNames"].is_null());
  EXPECT_EQ(rules[1]["verbs"], Value::Array({"get", "update"}));
  EXPECT_EQ(rules[1]["resourceNames"], Value::Array({"leader"}));
  // Where all may be read, one of them may.
  AccessNeed all = lease;
  all.name.clear();
  all.verbs = {"get"};
  const std::vector<Value> merged = ParseYaml(RbacYaml({lease, all})).value();
  EXPECT_EQ(merged[0]["rules"].list()[1]["verbs"], Value::Array({"update"}));
}

TEST(RbacYamlTest, PathsAreNonResourceUrls) {
  const std::vector<Value> documents = ParseYaml(RbacYaml({{.verbs = {"get"}, .path = "/metrics"}})).value();
  EXPECT_EQ(documents[0]["rules"].list()[0],
            Value::Object({{"nonResourceURLs", Value::Array({"/metrics"})}, {"verbs", Value::Array({"get"})}}));
}

TEST(RbacYamlTest, TheProgramsOwnNamespaceIsLeftToKubectlOrTheAccounts) {
  const std::vector<AccessNeed> needs = {In(Need<Secret>({"get"}), std::string(kOwnNamespace)), Need<Node>({"list"})};
  const std::string bare = RbacYaml(needs);
  EXPECT_THAT(bare, HasSubstr("# For the namespace that the program runs in: kubectl apply -n NAMESPACE\n---\n"));
  EXPECT_THAT(bare, Not(HasSubstr("namespace: ")));
  EXPECT_THAT(bare, Not(HasSubstr("Binding")));

  const std::vector<Value> bound =
      ParseYaml(RbacYaml(needs, {.name = "r", .service_account = "bot", .service_account_namespace = "ops"})).value();
  ASSERT_EQ(bound.size(), 5U);
  EXPECT_EQ(bound[0]["kind"].string_value(), "ServiceAccount");
  EXPECT_EQ(bound[0]["metadata"], Value::Object({{"name", "bot"}, {"namespace", "ops"}}));
  EXPECT_EQ(bound[1]["kind"].string_value(), "ClusterRole");
  EXPECT_EQ(bound[2]["kind"].string_value(), "ClusterRoleBinding");
  EXPECT_EQ(bound[2]["subjects"].list()[0], Value::Object({{"kind", "ServiceAccount"}, {"name", "bot"}, {"namespace", "ops"}}));
  EXPECT_EQ(bound[3]["kind"].string_value(), "Role");
  EXPECT_EQ(bound[3]["metadata"], Value::Object({{"name", "r"}, {"namespace", "ops"}}));
  EXPECT_EQ(bound[4]["kind"].string_value(), "RoleBinding");
  EXPECT_EQ(bound[4]["roleRef"]["kind"].string_value(), "Role");
}

TEST(RbacYamlTest, NothingNeedsNoRole) { EXPECT_EQ(RbacYaml({}), ""); }

TEST(AccessReportTest, SaysWhatIsMissingAndWhichRulesWouldAllowIt) {
  AccessReport report;
  EXPECT_EQ(report.ToString(), "");
  EXPECT_THAT(report.Rules(), IsEmpty());
  AccessNeed services = Need<Service>({"list", "watch"});
  services.why = "controller web watches it";
  report.missing = {services, In(Need<Secret>({"get"}, "key"), "ops"), {.verbs = {"get"}, .path = "/metrics"}};
  EXPECT_EQ(report.Summary(),
            "list, watch services in all namespaces (controller web watches it); get secrets \"key\" in namespace ops; get /metrics");
  EXPECT_THAT(report.Rules(),
              ElementsAre("ClusterRole: {apiGroups: [''], resources: [services], verbs: [list, watch]}",
                          "ClusterRole: {nonResourceURLs: [/metrics], verbs: [get]}",
                          "Role in namespace ops: {apiGroups: [''], resources: [secrets], resourceNames: [key], verbs: [get]}"));
  EXPECT_THAT(report.ToString(), HasSubstr("not allowed: list, watch services"));
  EXPECT_THAT(report.ToString(), HasSubstr("kind: ClusterRole\n"));
  EXPECT_EQ(ParseYaml(report.ToString().substr(report.ToString().find("---"))).value().size(), 2U);
}

// ---- Reviews ----

class ReviewTest : public ::testing::Test {
 protected:
  // "list apps/deployments/status@ns name"
  static std::string TextOf(const HttpRequest& request) {
    const Value body = ParseJson(request.body).value();
    const Value& spec = body["spec"];
    if (const Value* path = spec.Find("nonResourceAttributes"))
      return (*path)["verb"].string_value().str() + " " + (*path)["path"].string_value().str();
    const Value& what = spec["resourceAttributes"];
    std::string text =
        what["verb"].string_value().str() + " " + what["group"].string_value().str() + "/" + what["resource"].string_value().str();
    if (!what["subresource"].string_value().empty()) text += "/" + what["subresource"].string_value().str();
    if (!what["namespace"].string_value().empty()) text += "@" + what["namespace"].string_value().str();
    if (!what["name"].string_value().empty()) text += " " + what["name"].string_value().str();
    return text;
  }
  static HttpResponse Json(int code, const Value& value) {
    HttpResponse response;
    response.code = code;
    response.headers.Add("Content-Type", "application/json");
    response.body = ToJson(value);
    return response;
  }
  // Everything is allowed but these.
  void Refuse(std::set<std::string> refused) {
    transport_->SetDefault([refused = std::move(refused)](const HttpRequest& request) -> Result<HttpResponse> {
      EXPECT_EQ(request.target, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
      Value review = ParseJson(request.body).value();
      review["status"]["allowed"] = refused.count(TextOf(request)) == 0;
      return Json(201, review);
    });
  }
  Client NewClient() const {
    ClientConfig config;
    config.host = "http://server.example";
    config.ns = "home";
    config.content_type = "application/json";
    config.qps = -1;
    return Client::FromConfig(config, {.transport = transport_}).value();
  }
  std::vector<std::string> asked() const {
    std::vector<std::string> out;
    for (const HttpRequest& request : transport_->requests()) out.push_back(TextOf(request));
    std::sort(out.begin(), out.end());
    return out;
  }

  const std::shared_ptr<ScriptedTransport> transport_ = std::make_shared<ScriptedTransport>();
};

TEST_F(ReviewTest, EachVerbResourceAndNamespaceIsAskedOnce) {
  Refuse({});
  const Result<AccessReport> report = ReviewAccess(Soon(), NewClient(),
                                                   {Need<Service>({"list", "watch"}),
                                                    Need<Service>({"list"}),
                                                    In(Need<Service>({"list"}), "shop"),
                                                    Need<Deployment>({"patch"}, "", "status"),
                                                    In(Need<Secret>({"get", "create"}, "key"), std::string(kOwnNamespace)),
                                                    {.verbs = {"get"}, .path = "/metrics"}});
  ASSERT_TRUE(report);
  EXPECT_THAT(asked(), ElementsAre("create /secrets@home", "get /metrics", "get /secrets@home key", "list /services", "list /services@shop",
                                   "patch apps/deployments/status", "watch /services"));
  EXPECT_EQ(report->asked, 7U);
  EXPECT_THAT(report->missing, IsEmpty());
  EXPECT_FALSE(report->unknown);
}

TEST_F(ReviewTest, WhatIsRefusedIsInTheReportForEveryOneWhoNeedsIt) {
  Refuse({"watch /services", "list apps/deployments"});
  AccessNeed first = Need<Service>({"list", "watch"}), second = Need<Service>({"watch"});
  first.why = "first";
  second.why = "second";
  const Result<AccessReport> report = ReviewAccess(Soon(), NewClient(), {first, second, Need<Deployment>({"list", "watch"})});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->Summary(),
            "watch services in all namespaces (first); watch services in all namespaces (second); list deployments.apps in all namespaces");
  EXPECT_THAT(report->Rules(), ElementsAre("ClusterRole: {apiGroups: [''], resources: [services], verbs: [watch]}",
                                           "ClusterRole: {apiGroups: [apps], resources: [deployments], verbs: [list]}"));
}

TEST_F(ReviewTest, AServerThatDoesNotKnowReviewsIsAskedNoFurther) {
  transport_->SetDefault([](const HttpRequest&) -> Result<HttpResponse> {
    return Json(404,
                Value::Object({{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"}, {"reason", "NotFound"}, {"code", 404}}));
  });
  std::vector<AccessNeed> many;
  for (int i = 0; i < 100; ++i) many.push_back({.resource = "r" + std::to_string(i), .verbs = {"list"}});
  const Result<AccessReport> report = ReviewAccess(Soon(), NewClient(), many, {.parallel = 2});
  ASSERT_TRUE(report);
  ASSERT_TRUE(report->unknown);
  EXPECT_THAT(report->unknown->ToString(), HasSubstr("the server has no SelfSubjectAccessReview"));
  EXPECT_THAT(report->missing, IsEmpty());
  EXPECT_LE(transport_->requests().size(), 4U);
}

TEST_F(ReviewTest, NoMoreThanTheBoundAtATime) {
  Mutex mu;
  CondVar changed;
  int now = 0, most = 0, waiting_for = 3;
  transport_->SetDefault([&](const HttpRequest& request) -> Result<HttpResponse> {
    {
      MutexLock lock(mu);
      most = std::max(most, ++now);
      if (now == waiting_for) waiting_for = 0;  // as many as may be are here: all may go
      changed.NotifyAll();
      while (waiting_for != 0) changed.Wait(mu);
      --now;
    }
    Value review = ParseJson(request.body).value();
    review["status"]["allowed"] = true;
    return Json(201, review);
  });
  std::vector<AccessNeed> many;
  for (int i = 0; i < 30; ++i) many.push_back({.resource = "r" + std::to_string(i), .verbs = {"list"}});
  const Result<AccessReport> report = ReviewAccess(Soon(), NewClient(), many, {.parallel = 3});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->asked, 30U);
  EXPECT_EQ(most, 3);
}

// A server that takes a request and does not answer it until the context stops.
class HangingTransport : public Transport {
 public:
  Result<HttpResponse> RoundTrip(const Context& ctx, HttpRequest) override {
    ctx.WaitUntilStopped();
    return *ctx.Err();
  }
};

TEST_F(ReviewTest, ASilentServerCostsTheTimeLimitAndNoMore) {
  const auto clock = std::make_shared<FakeClock>();
  const Context ctx = Context::Background(clock);
  ClientConfig config;
  config.host = "http://server.example";
  config.qps = -1;
  const Client client = Client::FromConfig(config, {.transport = std::make_shared<HangingTransport>(), .clock = clock}).value();
  std::optional<Result<AccessReport>> report;
  Thread asking("asking", [&] { report = ReviewAccess(ctx, client, {Need<Service>({"list"})}, {.timeout = std::chrono::seconds(10)}); });
  ASSERT_TRUE(clock->WaitForWaiters(1));
  clock->Advance(std::chrono::seconds(10));
  asking.Join();
  ASSERT_TRUE(report->ok());
  ASSERT_TRUE((*report)->unknown);
  EXPECT_THAT((*report)->unknown->ToString(), HasSubstr("no answer within 10 s"));

  auto [stoppable, stop] = ctx.WithCancel();
  Thread again("again", [&, stoppable = stoppable] { report = ReviewAccess(stoppable, client, {Need<Service>({"list"})}); });
  ASSERT_TRUE(clock->WaitForWaiters(1));
  stop.Cancel();
  again.Join();
  EXPECT_FALSE(report->ok());
  EXPECT_TRUE(IsCancelled(report->error()));
}

// ---- What a manager needs ----

Result<Action> Nothing(const Context&, const Request&) { return Action::Done(); }

class ManagerNeedsTest : public ReviewTest {
 protected:
  static std::string Rules(const Manager& manager) {
    std::string out;
    AccessReport report;
    report.missing = manager.needs();
    for (const std::string& rule : report.Rules()) out += rule + "\n";
    return out;
  }
};

TEST_F(ManagerNeedsTest, WatchesAndWhatControllersDeclare) {
  Manager manager(NewClient());
  ASSERT_TRUE(
      manager.Add(ControllerFor<Deployment>("web")
                      .Owns<Service>()
                      .Watches<Node>([](const Node&) { return std::vector<ObjectKey>(); })
                      .WatchesMetadata(GvrOf<Secret>(), [](const meta::v1::PartialObjectMetadata&) { return std::vector<ObjectKey>(); })
                      .MayWriteStatus()
                      .Reconcile(Nothing)));
  EXPECT_EQ(Rules(manager),
            "ClusterRole: {apiGroups: [''], resources: [nodes, secrets], verbs: [list, watch]}\n"
            "ClusterRole: {apiGroups: [''], resources: [services], verbs: [create, delete, get, list, patch, watch]}\n"
            "ClusterRole: {apiGroups: [apps], resources: [deployments], verbs: [get, list, watch]}\n"
            "ClusterRole: {apiGroups: [apps], resources: [deployments/finalizers], verbs: [update]}\n"
            "ClusterRole: {apiGroups: [apps], resources: [deployments/status], verbs: [patch]}\n");
}

TEST_F(ManagerNeedsTest, ChildrenOfKindsWithoutAStructAndThoseThatAreOnlyWatched) {
  Manager manager(NewClient());
  ASSERT_TRUE(manager.Add(ControllerFor("carts", {.gvr = {"shop.example.com", "v1", "carts"}, .kind = "Cart"})
                              .Owns(Gvr{"shop.example.com", "v1", "items"})
                              .WatchesOwned<Service>()
                              .Reconcile(Nothing)));
  EXPECT_EQ(Rules(manager),
            "ClusterRole: {apiGroups: [''], resources: [services], verbs: [list, watch]}\n"
            "ClusterRole: {apiGroups: [shop.example.com], resources: [carts], verbs: [list, watch]}\n"
            "ClusterRole: {apiGroups: [shop.example.com], resources: [carts/finalizers], verbs: [update]}\n"
            "ClusterRole: {apiGroups: [shop.example.com], resources: [items], verbs: [create, delete, get, list, patch, watch]}\n");
}

TEST_F(ManagerNeedsTest, ANamespaceOfTheManagerIsThatOfEverythingThatHasOne) {
  Manager manager(NewClient(), {.informers = {.ns = "shop"}});
  ASSERT_TRUE(manager.Add(ControllerFor<Deployment>("web")
                              .Watches<Node>([](const Node&) { return std::vector<ObjectKey>(); })
                              .Watches<Service>([](const Service&) { return std::vector<ObjectKey>(); }, {.informer = InformerOptions{}})
                              .MayWrite<Secret>({"create"})
                              .MayWriteFinalizers()
                              .Needs({.verbs = {"get"}, .path = "/metrics"})
                              .Reconcile(Nothing)));
  EXPECT_EQ(Rules(manager),
            "ClusterRole: {apiGroups: [''], resources: [nodes, services], verbs: [list, watch]}\n"
            "ClusterRole: {nonResourceURLs: [/metrics], verbs: [get]}\n"
            "Role in namespace shop: {apiGroups: [''], resources: [secrets], verbs: [create]}\n"
            "Role in namespace shop: {apiGroups: [apps], resources: [deployments], verbs: [get, list, patch, watch]}\n");
}

TEST_F(ManagerNeedsTest, WriteNamespacesNarrowAllButWatches) {
  Manager manager(NewClient(), {.write_namespaces = std::vector<std::string>{"blog", "shop"}});
  ASSERT_TRUE(manager.Add(ControllerFor<Deployment>("web")
                              .Watches<Node>([](const Node&) { return std::vector<ObjectKey>(); })
                              .MayApply<Service>()
                              .Needs({.resource = "nodes", .verbs = {"patch"}, .ns = ""})
                              .Needs({.verbs = {"get"}, .path = "/metrics"})
                              .Reconcile(Nothing)));
  EXPECT_EQ(Rules(manager),
            "ClusterRole: {apiGroups: [''], resources: [nodes], verbs: [list, patch, watch]}\n"
            "ClusterRole: {apiGroups: [''], resources: [services], verbs: [list]}\n"
            "ClusterRole: {apiGroups: [apps], resources: [deployments], verbs: [list, watch]}\n"
            "ClusterRole: {nonResourceURLs: [/metrics], verbs: [get]}\n"
            "Role in namespace blog: {apiGroups: [''], resources: [services], verbs: [create, delete, get, patch]}\n"
            "Role in namespace blog: {apiGroups: [apps], resources: [deployments/finalizers], verbs: [update]}\n"
            "Role in namespace shop: {apiGroups: [''], resources: [services], verbs: [create, delete, get, patch]}\n"
            "Role in namespace shop: {apiGroups: [apps], resources: [deployments/finalizers], verbs: [update]}\n");
}

TEST_F(ManagerNeedsTest, WithoutWriteNamespacesNothingIsWritten) {
  Manager manager(NewClient(), {.write_namespaces = std::vector<std::string>{}});
  ASSERT_TRUE(manager.Add(ControllerFor<Deployment>("web").MayApply<Service>().Reconcile(Nothing)));
  EXPECT_EQ(Rules(manager),
            "ClusterRole: {apiGroups: [''], resources: [services], verbs: [list]}\n"
            "ClusterRole: {apiGroups: [apps], resources: [deployments], verbs: [list, watch]}\n");
}

TEST_F(ManagerNeedsTest, LeaderElectionEventsInformersAndTheMetricsServer) {
  Manager manager(
      NewClient(),
      {.leader_election = LeaderElectionOptions{.name = "web"}, .metrics_bind_address = ":8443", .metrics_authorization = true});
  (void)manager.events("web");
  manager.Needs(In(Need<ConfigMap>({"get"}, "settings"), "ops"));
  const SharedInformer<Secret> secrets = manager.informers().For<Secret>();
  EXPECT_EQ(
      Rules(manager),
      "ClusterRole: {apiGroups: [''], resources: [secrets], verbs: [list, watch]}\n"
      "ClusterRole: {apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}\n"
      "ClusterRole: {apiGroups: [authorization.k8s.io], resources: [subjectaccessreviews], verbs: [create]}\n"
      "ClusterRole: {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}\n"
      "Role in its own namespace: {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}\n"
      "Role in its own namespace: {apiGroups: [coordination.k8s.io], resources: [leases], resourceNames: [web], verbs: [get, update]}\n"
      "Role in namespace ops: {apiGroups: [''], resources: [configmaps], resourceNames: [settings], verbs: [get]}\n");
}

TEST_F(ManagerNeedsTest, WithoutAMetricsServerNobodyIsReviewed) {
  for (const char* none : {"", "0"}) {
    const Manager manager(NewClient(), {.metrics_bind_address = none, .metrics_authorization = true});
    EXPECT_THAT(manager.needs(), IsEmpty());
  }
}

TEST_F(ManagerNeedsTest, PrintRbacPrintsAndEndsWithoutAServer) {
  Manager manager(NewClient(), {.print_rbac = RbacOptions{.name = "web"}});
  ASSERT_TRUE(manager.Add(ControllerFor<ConfigMap>("web").Reconcile(Nothing)));
  ::testing::internal::CaptureStdout();
  const Result<void> ran = manager.Run(Context::Background());
  const std::string printed = ::testing::internal::GetCapturedStdout();
  EXPECT_TRUE(ran);
  EXPECT_EQ(printed, manager.RbacYaml({.name = "web"}));
  EXPECT_THAT(printed, HasSubstr("  - configmaps\n"));
  EXPECT_THAT(transport_->requests(), IsEmpty());
  const Result<rbac::v1::ClusterRole> role = FromYaml<rbac::v1::ClusterRole>(printed, {.strict = true});
  ASSERT_TRUE(role) << role.error().ToString();
  EXPECT_EQ(role->metadata.name, "web");
}

TEST_F(ManagerNeedsTest, PreflightFailsWithTheRulesWhereItIsToldTo) {
  Refuse({"watch /configmaps"});
  Manager manager(NewClient(), {.preflight = Preflight::kFail});
  ASSERT_TRUE(manager.Add(ControllerFor<ConfigMap>("maps").Reconcile(Nothing)));
  const Result<void> ran = manager.Run(Soon());
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind(), ErrorKind::kConfig);
  EXPECT_THAT(ran.error().ToString(),
              HasSubstr("pre-flight: not allowed: watch configmaps in all namespaces (controller maps watches it)\n"));
  EXPECT_THAT(ran.error().ToString(), HasSubstr("  resources:\n  - configmaps\n  verbs:\n  - watch\n"));
  EXPECT_THAT(asked(), ElementsAre("list /configmaps", "watch /configmaps"));  // and no cache was started
}

// Runs it until `until` holds.
template <typename Condition>
Result<void> RunUntil(Manager& manager, Condition until) {
  auto [ctx, cancel] = Context::Background().WithCancel();
  Result<void> ran;
  Thread runner("runner", [&, ctx = ctx] { ran = manager.Run(ctx); });
  const Context patient = Soon();
  while (!until() && patient.SleepFor(std::chrono::milliseconds(1))) {
  }
  EXPECT_TRUE(until());
  cancel.Cancel();
  runner.Join();
  return ran;
}

TEST_F(ManagerNeedsTest, PreflightWarnsAndGoesOnByDefault) {
  transport_->SetDefault([](const HttpRequest& request) -> Result<HttpResponse> {
    if (request.target.find("selfsubjectaccessreviews") == std::string::npos)
      return Json(403,
                  Value::Object({{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"}, {"reason", "Forbidden"}, {"code", 403}}));
    Value review = ParseJson(request.body).value();
    review["status"]["allowed"] = false;
    return Json(201, review);
  });
  const ProcessLog logged;
  Manager manager(NewClient());
  ASSERT_TRUE(manager.Add(ControllerFor<ConfigMap>("maps").Reconcile(Nothing)));
  EXPECT_TRUE(RunUntil(manager, [&] { return transport_->requests().size() > 2; }));  // the cache is started all the same
  EXPECT_THAT(logged.text(), HasSubstr("This program lacks permissions that it needs"));
  EXPECT_THAT(logged.text(), HasSubstr("ClusterRole: {apiGroups: [''], resources: [configmaps], verbs: [list, watch]}"));
}

TEST_F(ManagerNeedsTest, WhereTheServerCannotSayItGoesOnEvenIfToldToFail) {
  transport_->SetDefault([](const HttpRequest&) -> Result<HttpResponse> {
    return Json(404,
                Value::Object({{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"}, {"reason", "NotFound"}, {"code", 404}}));
  });
  const ProcessLog logged;
  Manager manager(NewClient(), {.preflight = Preflight::kFail});
  std::atomic<bool> ran = false;
  ASSERT_TRUE(manager.Add(ControllerFor<ConfigMap>("maps").Reconcile(Nothing)));
  ASSERT_TRUE(manager.Add(Runnable{.name = "r", .run = [&](const Context& ctx) -> Result<void> {
                                     ran = true;
                                     ctx.WaitUntilStopped();
                                     return {};
                                   }}));
  EXPECT_TRUE(RunUntil(manager, [&] { return ran.load(); }));
  EXPECT_THAT(logged.text(), HasSubstr("Could not check the permissions of this program"));
}

TEST_F(ManagerNeedsTest, SkippedMeansNobodyIsAsked) {
  Refuse({});
  Manager manager(NewClient(), {.preflight = Preflight::kSkip});
  std::atomic<bool> ran = false;
  manager.Needs(Need<Secret>({"get"}));
  ASSERT_TRUE(manager.Add(Runnable{.name = "r", .run = [&](const Context& ctx) -> Result<void> {
                                     ran = true;
                                     ctx.WaitUntilStopped();
                                     return {};
                                   }}));
  EXPECT_TRUE(RunUntil(manager, [&] { return ran.load(); }));
  EXPECT_THAT(transport_->requests(), IsEmpty());
}

}  // namespace
}  // namespace kube
