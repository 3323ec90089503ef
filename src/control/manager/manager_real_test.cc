// A manager with nothing but the permissions that it asks for, on real servers (and on the embedded one, which allows everything).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <string>

#include "client/server_test_util.h"
#include "control/manager/manager_test_util.h"
#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/events/v1.h"
#include "kube/client/subresources.h"
#include "kube/control/desired_state.h"
#include "kube/control/finalizers.h"
#include "kube/control/manager.h"
#include "kube/control/status.h"

namespace kube::internal {
namespace {

using apps::v1::Deployment;
using core::v1::ConfigMap;
using core::v1::Secret;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ManagerRealTest : public ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (server_.kubectl.empty()) GTEST_SKIP() << "no kubectl: run make control-plane";
    static int count = 0;
    ns_ = "rbac-" + std::string(GetParam()) + "-" + std::to_string(++count);
    admin_ = std::make_unique<Client>(NewClient());
    core::v1::Namespace ns;
    ns.metadata.name = ns_;
    ASSERT_TRUE(admin_->Create(Patience(), ns));
  }
  std::string TokenOf(const std::string& account) const {
    core::v1::ServiceAccount wanted;
    wanted.metadata.name = account;
    wanted.metadata.namespace_ = ns_;
    const Result<core::v1::ServiceAccount> made = admin_->Create(Patience(), wanted);
    EXPECT_TRUE(made || IsAlreadyExists(made.error()));
    return CreateServiceAccountToken(Patience(), *admin_, {String(ns_), String(account)}).value().status.token.str();
  }
  Client ClientOf(const std::string& token) const {
    ClientConfig config;
    config.host = Config().host;
    config.tls.ca_data = Config().tls.ca_data;
    config.tls.ca_file = Config().tls.ca_file;
    config.token = SecretString(token);
    config.ns = ns_;
    config.qps = -1;
    return Client::FromConfig(config).value();
  }
  void Apply(const std::string& yaml) const {
    std::ofstream(dir() + "/manifest.yaml") << yaml;
    (void)Kubectl("apply -f '" + dir() + "/manifest.yaml'");
  }
  bool embedded() const { return std::string(GetParam()) == "embedded"; }

  std::string ns_;
  std::unique_ptr<Client> admin_;
};

// Each Deployment with the label `copy` has a Secret, a finalizer, a condition in its status, and an event.
ControllerSpec CopyController(const Client& client, Manager& manager, std::atomic<int>& done) {
  const Lister<Deployment> deployments = manager.informers().For<Deployment>().lister();
  const EventRecorder events = manager.events("copier");
  return ControllerFor<Deployment>("copier").Owns<Secret>().MayWriteStatus().MayWriteFinalizers().Reconcile(
      [client, deployments, events, &done](const Context& ctx, const Request& request) -> Result<Action> {
        const Result<Ptr<Deployment>> found = deployments.Get(request.key);
        if (!found || (*found)->metadata.labels.Get("copy") != "yes") return Action::Done();
        static const Finalizers<Deployment> finalizers =
            Finalizers<Deployment>().Add("test.example.com/copy", [](const Context&, const Deployment&) { return Result<void>(); });
        Deployment deployment = **found;
        Result<FinalizerResult> finalized = finalizers.Run(ctx, client.Resource<Deployment>(), deployment);
        if (!finalized) return finalized.error();
        if (!finalized->proceed) return Action::Done();
        Secret secret;
        secret.metadata.name = deployment.metadata.name.str() + "-copy";
        secret.data["a"] = "b";
        Result<Changes> changes = DesiredState(client, deployment, {.field_manager = "copier", .name = "copy"}).Want(secret).Apply(ctx);
        if (!changes) return changes.error();
        if (Result<void> good = changes->ToResult(); !good) return good.error();
        StatusWriter<Deployment> status(client, deployment);
        status->observed_generation = deployment.metadata.generation;
        if (Result<bool> written = status.Write(ctx); !written) return written.error();
        events.Event(deployment, EventType::kNormal, "Copied", "Copy", "made a secret");
        ++done;
        return Action::Done();
      });
}

template <typename T>
bool IsGone(const Result<T>& read) {
  return !read && IsNotFound(read.error());
}

ManagerOptions Options(const std::string& ns, Preflight preflight) {
  return {.leader_election = LeaderElectionOptions{.name = "copier", .ns = ns, .retry_period = milliseconds(100)},
          .metrics_bind_address = "127.0.0.1:0",
          .preflight = preflight,
          .metrics_authorization = true};
}

TEST_P(ManagerRealTest, WithThePrintedRolesItWorksAndWithoutThemItSaysWhatIsMissing) {
  const std::string token = TokenOf("copier");
  const Client client = ClientOf(token);
  std::atomic<int> done = 0;
  std::string roles;
  {
    Manager manager(client, Options(ns_, Preflight::kFail));
    ASSERT_TRUE(manager.Add(CopyController(client, manager, done)));
    roles = manager.RbacYaml({.name = ns_ + "-copier", .service_account = "copier", .service_account_namespace = ns_});
    if (!embedded()) {
      const Result<void> ran = manager.Run(Patience());
      ASSERT_FALSE(ran);
      EXPECT_THAT(ran.error().ToString(), HasSubstr("list, watch deployments.apps in all namespaces (controller copier watches it)"));
      EXPECT_THAT(ran.error().ToString(), HasSubstr("get, update leases.coordination.k8s.io \"copier\" in namespace " + ns_));
      EXPECT_THAT(ran.error().ToString(), HasSubstr("  - deployments/status\n  verbs:\n  - patch\n"));
    }
  }
  Apply(roles);

  Manager manager(client, Options(ns_, Preflight::kFail));
  ASSERT_TRUE(manager.Add(CopyController(client, manager, done)));
  // The server's authorizer learns of roles by a watch of its own.
  ASSERT_TRUE(Eventually([&] {
    const Result<AccessReport> report = ReviewAccess(Patience(), client, manager.needs());
    return report && !report->unknown && report->missing.empty();
  }));
  RunningManager running(manager);
  Deployment deployment = FromJson<Deployment>(R"({"metadata": {"name": "web", "labels": {"copy": "yes"}},
      "spec": {"selector": {"matchLabels": {"app": "web"}},
               "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web"}]}}}})")
                              .value();
  deployment.metadata.namespace_ = ns_;
  ASSERT_TRUE(admin_->Create(Patience(), deployment));
  EXPECT_TRUE(Eventually([&] { return done > 0; })) << manager.DebugJson();
  EXPECT_TRUE(admin_->Get<Secret>(Patience(), {String(ns_), "web-copy"}));
  const Deployment now = admin_->Get<Deployment>(Patience(), {String(ns_), "web"}).value();
  EXPECT_EQ(now.status.observed_generation, 1);
  EXPECT_EQ(now.metadata.finalizers.size(), 1U);
  EXPECT_TRUE(Eventually([&] {
    const ObjectList<events::v1::Event> written = admin_->List<events::v1::Event>(Patience(), {.ns = ns_}).value();
    for (const events::v1::Event& event : written.items) {
      if (event.reason == "Copied") return true;
    }
    return false;
  }));

  // ---- Access to /metrics ----
  const auto transport = PlainTo(manager.metrics_port());
  EXPECT_EQ(AskServer(transport, "GET", "/metrics"), "401 Unauthorized\n");
  EXPECT_EQ(AskServer(transport, "GET", "/metrics", "not-a-token"), "401 Unauthorized\n");
  const std::string scraper = TokenOf("scraper"), stranger = TokenOf("stranger");
  Apply("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: " + ns_ +
        "-reader}\nrules:\n- nonResourceURLs: [/metrics]\n  verbs: [get]\n---\n"
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: " +
        ns_ + "-reader}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: " + ns_ +
        "-reader}\nsubjects:\n- {kind: ServiceAccount, name: scraper, namespace: " + ns_ + "}\n");
  const Client as_scraper = ClientOf(scraper);
  ASSERT_TRUE(Eventually([&] {
    const Result<AccessReport> report = ReviewAccess(Patience(), as_scraper, {{.verbs = {"get"}, .path = "/metrics"}});
    return report && report->missing.empty();
  }));
  EXPECT_THAT(AskServer(transport, "GET", "/metrics", scraper), HasSubstr("200 # HELP"));
  if (!embedded()) {
    EXPECT_EQ(AskServer(transport, "GET", "/metrics", stranger),
              "403 Authorization denied for user system:serviceaccount:" + ns_ + ":stranger\n");
    EXPECT_EQ(AskServer(transport, "GET", "/debug/controllers", scraper),
              "403 Authorization denied for user system:serviceaccount:" + ns_ + ":scraper\n");
  }

  // Its finalizer is taken off again, or the namespace could never go.
  ASSERT_TRUE(admin_->Delete<Deployment>(Patience(), {String(ns_), "web"}));
  EXPECT_TRUE(Eventually([&] {
    const Result<Deployment> gone = admin_->Get<Deployment>(Patience(), {String(ns_), "web"});
    return !gone && IsNotFound(gone.error());
  }));
  EXPECT_TRUE(running.Stop());
  EXPECT_THAT(manager.StillRunning(), IsEmpty());
}

// The program of the README: Owns<U>() is all that it declares.
TEST_P(ManagerRealTest, OwnsDeclaresAllThatDesiredStateNeeds) {
  const Client client = ClientOf(TokenOf("greeter"));
  Manager manager(client, {.preflight = Preflight::kFail});
  const auto greet = [cached = manager.cached()](const Context& ctx, const core::v1::Namespace& ns) -> Result<Action> {
    ConfigMap welcome;
    welcome.metadata.name = "welcome";
    welcome.metadata.namespace_ = ns.metadata.name;
    if (ns.metadata.labels.Get("quiet") != "yes") welcome.data["text"] = "Hello " + ns.metadata.name.str();
    DesiredState desired(cached, ns, "greeter");
    desired.Manage<ConfigMap>();
    if (ns.metadata.labels.Get("greet") == "yes") desired.Want(welcome);
    auto changes = desired.Apply(ctx);
    if (!changes) return changes.error();
    return Action::Done();
  };
  ASSERT_TRUE(manager.Add(ControllerFor<core::v1::Namespace>("greeter")
                              .For({.when = MatchesLabels("mine=" + ns_)})  // servers are shared with other tests
                              .Owns<ConfigMap>()
                              .Reconcile(greet)));
  Apply(manager.RbacYaml({.name = ns_ + "-greeter", .service_account = "greeter", .service_account_namespace = ns_}));
  ASSERT_TRUE(Eventually([&] {
    const Result<AccessReport> report = ReviewAccess(Patience(), client, manager.needs());
    return report && !report->unknown && report->missing.empty();
  }));
  const auto label = [&](const std::string& labels) {
    const Patch patch = Patch::Merge(R"({"metadata":{"labels":{"mine":")" + ns_ + R"(",)" + labels + "}}}");
    ASSERT_TRUE(admin_->Patch<core::v1::Namespace>(Patience(), {"", String(ns_)}, patch));
  };
  const auto text = [&]() -> std::string {
    const Result<ConfigMap> map = admin_->Get<ConfigMap>(Patience(), {String(ns_), "welcome"});
    return map ? map->data.Get("text").str() : IsNotFound(map.error()) ? "none" : map.error().ToString();
  };
  label(R"("greet":"yes")");
  RunningManager running(manager);
  EXPECT_TRUE(Eventually([&] { return text() == "Hello " + ns_; })) << manager.DebugJson();
  label(R"("quiet":"yes")");
  EXPECT_TRUE(Eventually([&] { return text().empty(); })) << "applied: " << manager.DebugJson();
  label(R"("greet":"no")");
  EXPECT_TRUE(Eventually([&] { return text() == "none"; })) << "pruned: " << manager.DebugJson();
  EXPECT_TRUE(manager.controller("greeter")->status().failing.empty()) << manager.DebugJson();
  EXPECT_TRUE(running.Stop());
}

// The same for children in other namespaces and cluster-scoped ones: with OwnsAnywhere<U>() as the only declaration they are made,
// repaired, pruned, and deleted before their owner.
TEST_P(ManagerRealTest, OwnsAnywhereDeclaresAllThatDesiredStateNeeds) {
  using core::v1::Namespace;
  const Client client = ClientOf(TokenOf("copier"));
  Manager manager(client, {.informers = {.ns = ns_}, .preflight = Preflight::kFail});  // owners of one namespace only
  const std::string other = ns_ + "-other";
  Namespace target;
  target.metadata.name = other;
  ASSERT_TRUE(admin_->Create(Patience(), target));
  const auto copy = [cached = manager.cached(), other](const Context& ctx, const Secret& source) -> Result<Action> {
    DesiredState desired(cached, source, "copier");
    desired.Anywhere().Manage<ConfigMap>();
    if (source.data.contains("text")) {
      ConfigMap child;
      child.metadata.name = "copy";
      child.metadata.namespace_ = other;
      child.data["text"] = source.data.Get("text").str();
      Namespace cluster_scoped;
      cluster_scoped.metadata.name = other + "-child";
      desired.Want(child).Want(cluster_scoped);
    }
    if (Result<Changes> changes = desired.Apply(ctx); !changes) return changes.error();
    return Action::Done();
  };
  ASSERT_TRUE(manager.Add(ControllerFor<Secret>("copier").OwnsAnywhere<ConfigMap>().OwnsAnywhere<Namespace>().Reconcile(copy)));
  Apply(manager.RbacYaml({.name = ns_ + "-copier", .service_account = "copier", .service_account_namespace = ns_}));
  ASSERT_TRUE(Eventually([&] {
    const Result<AccessReport> report = ReviewAccess(Patience(), client, manager.needs());
    return report && !report->unknown && report->missing.empty();
  }));
  Secret source;
  source.metadata.name = "source";
  source.metadata.namespace_ = ns_;
  source.data["text"] = "one";
  ASSERT_TRUE(admin_->Create(Patience(), source));
  const auto text = [&]() -> std::string {
    const Result<ConfigMap> map = admin_->Get<ConfigMap>(Patience(), {String(other), "copy"});
    return map ? map->data.Get("text").str() : IsNotFound(map.error()) ? "none" : map.error().ToString();
  };
  RunningManager running(manager);
  EXPECT_TRUE(Eventually([&] { return text() == "one"; })) << manager.DebugJson();
  EXPECT_TRUE(Eventually([&] { return admin_->Get<Namespace>(Patience(), {"", String(other + "-child")}).ok(); })) << manager.DebugJson();
  ASSERT_TRUE(admin_->Patch<ConfigMap>(Patience(), {String(other), "copy"}, Patch::Merge(R"({"data":{"text":"edited"}})")));
  EXPECT_TRUE(Eventually([&] { return text() == "one"; })) << "repaired: " << manager.DebugJson();
  ASSERT_TRUE(admin_->Delete<ConfigMap>(Patience(), {String(other), "copy"}));
  EXPECT_TRUE(Eventually([&] { return text() == "one"; })) << "recreated: " << manager.DebugJson();
  ASSERT_TRUE(admin_->Delete<Secret>(Patience(), {String(ns_), "source"}));
  EXPECT_TRUE(Eventually([&] { return IsGone(admin_->Get<Secret>(Patience(), {String(ns_), "source"})); })) << manager.DebugJson();
  EXPECT_EQ(text(), "none");
  const Result<Namespace> child = admin_->Get<Namespace>(Patience(), {"", String(other + "-child")});
  EXPECT_TRUE(IsGone(child) || !child->metadata.deletion_timestamp.IsZero());
  EXPECT_TRUE(manager.controller("copier")->status().failing.empty()) << manager.DebugJson();
  EXPECT_TRUE(running.Stop());
}

TEST_P(ManagerRealTest, WhatIsGrantedLateIsUsedWithoutARestart) {
  const Client client = ClientOf(TokenOf("late"));
  std::atomic<int> runs = 0;
  Manager manager(client, {.informers = {.ns = ns_}, .health_probe_bind_address = "127.0.0.1:0"});
  ASSERT_TRUE(manager.Add(ControllerFor<ConfigMap>("maps").Reconcile([&](const Context&, const Request&) -> Result<Action> {
    ++runs;
    return Action::Done();
  })));
  ConfigMap map;
  map.metadata.name = "a";
  map.metadata.namespace_ = ns_;
  ASSERT_TRUE(admin_->Create(Patience(), map));
  RunningManager running(manager);
  ASSERT_TRUE(Eventually([&] { return manager.health_port() != 0; }));
  if (!embedded()) {
    EXPECT_TRUE(Eventually([&] {
      return AskServer(PlainTo(manager.health_port()), "GET", "/readyz").find("configmaps is forbidden") != std::string::npos;
    })) << AskServer(PlainTo(manager.health_port()), "GET", "/readyz");
    EXPECT_EQ(runs, 0);
  }
  Apply(manager.RbacYaml({.name = "late", .service_account = "late", .service_account_namespace = ns_}));
  EXPECT_TRUE(Eventually([&] { return runs > 0; }));
  EXPECT_TRUE(Eventually([&] { return AskServer(PlainTo(manager.health_port()), "GET", "/readyz") == "200 ok"; }));
  EXPECT_TRUE(running.Stop());
}

INSTANTIATE_SERVERS(ManagerRealTest);

}  // namespace
}  // namespace kube::internal
