// auto-expose at work, on the embedded server and on real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "exposer_test_util.h"

namespace auto_expose {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_P(AutoExposeServerTest, ADeploymentGetsServiceAndIngressAndIsTold) {
  Start();
  const Deployment web = Create(MakeDeployment("web"));
  ASSERT_TRUE(Appears<Service>("web"));
  ASSERT_TRUE(Appears<Ingress>("web"));
  const Service service = *Get<Service>("web");
  EXPECT_TRUE(kube::IsControlledBy(service, web));
  EXPECT_EQ(service.spec.selector, (kube::Map<String>{{"app", "web"}}));
  EXPECT_EQ(Port(service), 8080);
  const Ingress ingress = *Get<Ingress>("web");
  EXPECT_TRUE(kube::IsControlledBy(ingress, web));
  EXPECT_EQ(Host(ingress), "web." + ns_ + ".example.com");
  EXPECT_EQ(Backend(ingress), std::pair(std::string("web"), 8080));
  EXPECT_TRUE(Told("web", "Normal Exposed", "http://web." + ns_ + ".example.com/"));
  const Deployment now = *Get<Deployment>("web");
  EXPECT_EQ(now.spec, web.spec);
  EXPECT_EQ(now.metadata.annotations.Get("auto-expose.kubexx.dev/expose"), "");
}

TEST_P(AutoExposeServerTest, WhatWasThereBeforeItIsExposedToo) {
  Create(MakeDeployment("early"));
  Start();
  EXPECT_TRUE(Appears<Ingress>("early"));
}

TEST_P(AutoExposeServerTest, DriftIsRepaired) {
  Start();
  Create(MakeDeployment("web"));
  ASSERT_TRUE(Appears<Ingress>("web"));
  Patch<Service>("web", R"({"spec":{"selector":{"app":"other"}}})");
  EXPECT_TRUE(Appears<Service>("web", [](const Service& s) { return s.spec.selector.Get("app") == "web"; }));
  Patch<Ingress>("web", R"({"spec":{"rules":[{"host":"evil.example.com"}]}})");
  EXPECT_TRUE(
      Appears<Ingress>("web", [&](const Ingress& i) { return i.spec.rules.size() == 1 && Host(i) == "web." + ns_ + ".example.com"; }));
}

TEST_P(AutoExposeServerTest, DeletedChildrenComeBack) {
  Start();
  Create(MakeDeployment("web"));
  ASSERT_TRUE(Appears<Ingress>("web"));
  const String service = Get<Service>("web")->metadata.uid;
  const String ingress = Get<Ingress>("web")->metadata.uid;
  ASSERT_TRUE(client_->Delete<Service>(Patient(), Key("web")));
  EXPECT_TRUE(Appears<Service>("web", [&](const Service& s) { return s.metadata.uid != service; }));
  ASSERT_TRUE(client_->Delete<Ingress>(Patient(), Key("web")));
  EXPECT_TRUE(Appears<Ingress>("web", [&](const Ingress& i) { return i.metadata.uid != ingress; }));
}

// The watch of children is ahead of that of workloads: for a moment the Service looks as if it alone had been deleted.
TEST_P(AutoExposeServerTest, WhatWasDeletedWithItsWorkloadDoesNotComeBack) {
  Start();
  ASSERT_TRUE(client_->Create(Patient(), MakeDeployment("web")));
  ASSERT_TRUE(Told("web", "Normal Exposed"));  // its last write
  ASSERT_TRUE(Reconciled("web"));
  gate_->Close("deployments");
  requests_->Take();
  const auto runs = [&] { return manager_->controller("auto-expose-deployments")->status(0).runs; };
  const std::uint64_t before = runs();
  ASSERT_TRUE(client_->Delete<Deployment>(Patient(), Key("web")));
  (void)client_->Delete<Service>(Patient(), Key("web"));  // if there is no garbage collector, or before it runs
  EXPECT_TRUE(Eventually([&] { return runs() > before; }));
  EXPECT_TRUE(Reconciled("web"));
  EXPECT_EQ(requests_->TakeWrites(), 0);
  EXPECT_TRUE(kube::IsNotFound(client_->Get<Service>(Patient(), Key("web")).error()));
  gate_->Open();
}

TEST_P(AutoExposeServerTest, ChangesOfPortAndAnnotationsAreFollowed) {
  settings_.allowed.hosts = {"shop.example.com"};
  settings_.allowed.service_types = {"NodePort"};
  Start();
  Create(MakeDeployment("web"));
  ASSERT_TRUE(Appears<Ingress>("web"));
  Patch<Deployment>("web",
                    R"({"spec":{"template":{"spec":{"containers":[{"name":"main","image":"web:2","ports":[{"containerPort":9090}]}]}}}})");
  EXPECT_TRUE(Appears<Service>("web", [](const Service& s) { return s.spec.ports.size() == 1 && Port(s) == 9090; }));
  EXPECT_TRUE(Appears<Ingress>("web", [](const Ingress& i) { return Backend(i).second == 9090; }));
  Patch<Deployment>(
      "web",
      R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/host":"shop.example.com","auto-expose.kubexx.dev/service-type":"NodePort"}}})");
  EXPECT_TRUE(Appears<Ingress>("web", [](const Ingress& i) { return Host(i) == "shop.example.com"; }));
  EXPECT_TRUE(Appears<Service>("web", [](const Service& s) { return s.spec.type == "NodePort"; }));
  EXPECT_TRUE(Told("web", "Normal Exposed", "http://shop.example.com/"));
}

TEST_P(AutoExposeServerTest, OptingOutRemovesTheChildren) {
  Start();
  Create(MakeDeployment("web"));
  ASSERT_TRUE(Appears<Ingress>("web"));
  Patch<Deployment>("web", R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/expose":"false"}}})");
  EXPECT_TRUE(Goes<Service>("web"));
  EXPECT_TRUE(Goes<Ingress>("web"));
  EXPECT_TRUE(Told("web", "Normal Withdrawn"));
  Patch<Deployment>("web", R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/expose":null}}})");
  EXPECT_TRUE(Appears<Service>("web"));
}

TEST_P(AutoExposeServerTest, OptInExposesOnlyWhoAsks) {
  settings_.opt_in = true;
  Start();
  Create(MakeDeployment("quiet"));
  Create(MakeDeployment("loud", R"({auto-expose.kubexx.dev/expose: "true"})"));
  ASSERT_TRUE(Appears<Ingress>("loud"));
  ASSERT_TRUE(Reconciled("quiet"));
  EXPECT_FALSE(Get<Service>("quiet"));
}

TEST_P(AutoExposeServerTest, IngressCanBeLeftOut) {
  Start();
  Create(MakeDeployment("web"));
  ASSERT_TRUE(Appears<Ingress>("web"));
  Patch<Deployment>("web", R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/ingress":"none"}}})");
  EXPECT_TRUE(Goes<Ingress>("web"));
  EXPECT_TRUE(Get<Service>("web"));
}

TEST_P(AutoExposeServerTest, WithoutAPortThereIsAnEventThatHelps) {
  Start();
  Create(MakeDeployment("mute", "{}", "[]"));
  EXPECT_TRUE(Told("mute", "Warning NoPort", "auto-expose.kubexx.dev/port"));
  EXPECT_FALSE(Get<Service>("mute"));
  Patch<Deployment>("mute", R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/port":"80:8080"}}})");
  EXPECT_TRUE(Appears<Service>("mute", [](const Service& s) { return Port(s) == 80; }));
}

TEST_P(AutoExposeServerTest, ABadAnnotationIsNamedAndTheChildrenStay) {
  Start();
  Create(MakeDeployment("web"));
  ASSERT_TRUE(Appears<Ingress>("web"));
  Patch<Deployment>("web", R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/service-type":"Nodeport"}}})");
  EXPECT_TRUE(Told("web", "Warning InvalidAnnotation", "allowed are ClusterIP, NodePort, LoadBalancer"));
  EXPECT_EQ(Get<Service>("web")->spec.type, "ClusterIP");
  EXPECT_TRUE(Get<Ingress>("web"));
}

TEST_P(AutoExposeServerTest, SomebodyElsesServiceIsNotTouched) {
  Service foreign = kube::internal::MakeService(ns_, "web");
  const Result<Service> made = client_->Create(Patient(), foreign);
  ASSERT_TRUE(made) << made.error().ToString();
  Start();
  Create(MakeDeployment("web"));
  EXPECT_TRUE(Told("web", "Warning NameConflict"));
  ASSERT_TRUE(Reconciled("web"));
  // No Ingress leads to a foreign Service, and no event says so.
  EXPECT_FALSE(Get<Ingress>("web"));
  for (const std::string& event : Events("web")) EXPECT_THAT(event, ::testing::Not(HasSubstr("Exposed")));
  EXPECT_EQ(Get<Service>("web")->metadata.resource_version, made->metadata.resource_version);
  EXPECT_THAT(manager_->metrics()->Render(), HasSubstr(R"(auto_expose_changes_total{kind="Service",outcome="conflict"})"));
  // When it is deleted, there is room.
  ASSERT_TRUE(client_->Delete<Service>(Patient(), Key("web")));
  EXPECT_TRUE(Appears<Service>(
      "web", [](const Service& s) { return s.spec.selector.Get("app") == "web" && !s.metadata.owner_references.empty(); }));
  EXPECT_TRUE(Appears<Ingress>("web"));
}

TEST_P(AutoExposeServerTest, OfTwoThatWantAHostTheOlderHasIt) {
  settings_.allowed.hosts = {"*.example.com"};
  const std::string host = R"({auto-expose.kubexx.dev/host: shared.example.com})";
  const Deployment older = Create(MakeDeployment("older", host));
  ASSERT_TRUE(Eventually([&] { return kube::Time::Now() > older.metadata.creation_timestamp; }));  // times are whole seconds
  Create(MakeDeployment("a-younger", host));
  Start();
  EXPECT_TRUE(Told("a-younger", "Warning HostConflict", "Deployment " + ns_ + "/older"));
  ASSERT_TRUE(Appears<Ingress>("older"));
  ASSERT_TRUE(Appears<Service>("a-younger"));
  EXPECT_FALSE(Get<Ingress>("a-younger"));
  // The older one takes another host: now it is free.
  Patch<Deployment>("older", R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/host":"own.example.com"}}})");
  EXPECT_TRUE(Appears<Ingress>("a-younger"));
}

TEST_P(AutoExposeServerTest, WhenAllIsInPlaceNothingIsWritten) {
  for (int i = 0; i < 5; ++i) Create(MakeDeployment("web-" + std::to_string(i)));
  Start();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Appears<Ingress>("web-" + std::to_string(i)));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Told("web-" + std::to_string(i), "Normal Exposed"));
  End();
  requests_->Take();
  Start();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Reconciled("web-" + std::to_string(i)));
  End();
  EXPECT_EQ(requests_->TakeWrites(), 0);
}

TEST_P(AutoExposeServerTest, StatefulSetsAndDaemonSetsWhereAsked) {
  settings_.stateful_sets = settings_.daemon_sets = true;
  Start();
  const Deployment like = MakeDeployment("db");
  kube::apps::v1::StatefulSet set;
  set.metadata = like.metadata;
  set.spec.selector = like.spec.selector;
  set.spec.template_ = like.spec.template_;
  set.spec.service_name = "db-pods";
  ASSERT_TRUE(client_->Create(Patient(), set));
  kube::apps::v1::DaemonSet daemons;
  daemons.metadata = like.metadata;
  daemons.metadata.name = "agent";
  daemons.spec.selector = like.spec.selector;
  daemons.spec.template_ = like.spec.template_;
  ASSERT_TRUE(client_->Create(Patient(), daemons));
  EXPECT_TRUE(Appears<Ingress>("db"));
  EXPECT_TRUE(Appears<Ingress>("agent"));
}

TEST_P(AutoExposeServerTest, OneNameForTwoKindsIsAConflictOfTheSecond) {
  settings_.stateful_sets = true;
  Start();
  const Deployment web = Create(MakeDeployment("web"));
  ASSERT_TRUE(Appears<Ingress>("web"));
  kube::apps::v1::StatefulSet set;
  set.metadata.name = "web";
  set.metadata.namespace_ = ns_;
  set.spec.selector = web.spec.selector;
  set.spec.template_ = MakeDeployment("web").spec.template_;
  ASSERT_TRUE(client_->Create(Patient(), set));
  EXPECT_TRUE(Told("web", "Warning NameConflict"));
  EXPECT_TRUE(kube::IsControlledBy(*Get<Service>("web"), web));
}

TEST_P(AutoExposeServerTest, DryRunSaysWhatWouldBeDoneAndDoesNothing) {
  Create(MakeDeployment("web"));
  Create(MakeDeployment("mute", "{}", "[]"));
  std::ostringstream out;
  const Result<int> count = DryRun(Patient(), *client_, settings_, out);
  ASSERT_TRUE(count) << count.error().ToString();
  EXPECT_EQ(*count, 2) << out.str();
  EXPECT_THAT(out.str(), HasSubstr("Deployment " + ns_ + "/web  http://web." + ns_ + ".example.com/"));
  EXPECT_THAT(out.str(), HasSubstr("Service " + ns_ + "/web"));
  EXPECT_THAT(out.str(), HasSubstr("NoPort"));
  EXPECT_FALSE(Get<Service>("web"));
}

// Annotations are a tenant's, and the operator reads this in a terminal.
TEST_P(AutoExposeServerTest, DryRunPrintsNothingThatATerminalObeys) {
  Create(MakeDeployment("web", R"({auto-expose.kubexx.dev/host: "\e[2Jx\nDeployment bank/web\n  deleted"})"));
  std::ostringstream out;
  const Result<int> count = DryRun(Patient(), *client_, settings_, out);
  ASSERT_TRUE(count) << count.error().ToString();
  EXPECT_THAT(out.str(), HasSubstr(R"("\x1b[2Jx\nDeployment bank/web\n  deleted")"));
  EXPECT_THAT(out.str(), Not(HasSubstr("\x1b")));
}

TEST_P(AutoExposeServerTest, DryRunSaysWhatBecomesOfOrphans) {
  Start();
  for (const char* name : {"stays", "goes"}) {
    Create(MakeDeployment(name));
    ASSERT_TRUE(Appears<Ingress>(name));
  }
  End();
  for (const char* name : {"stays", "goes"}) {
    Patch<Ingress>(name, R"({"metadata":{"ownerReferences":null}})");
    Patch<Service>(name, R"({"metadata":{"ownerReferences":null}})");
    ASSERT_TRUE(client_->Delete<Deployment>(Patient(), Key(name)));
    ASSERT_TRUE(Goes<Deployment>(name));
  }
  Create(MakeDeployment("stays"));
  // Orphans hold no host.
  Create(MakeDeployment("heir", "{auto-expose.kubexx.dev/host: goes." + ns_ + ".example.com}"));
  std::ostringstream out;
  const Result<int> count = DryRun(Patient(), *client_, settings_, out);
  ASSERT_TRUE(count) << count.error().ToString();
  EXPECT_EQ(*count, 4) << out.str();
  for (const char* kind : {"Ingress ", "Service "}) {
    EXPECT_THAT(out.str(), HasSubstr(kind + ns_ + "/goes\n  deleted"));
    EXPECT_THAT(out.str(), HasSubstr(kind + ns_ + "/stays: adopted"));
  }
  EXPECT_THAT(out.str(), Not(HasSubstr("HostConflict")));
  EXPECT_THAT(out.str(), Not(HasSubstr("has no controller")));
  EXPECT_TRUE(Get<Ingress>("goes"));
  EXPECT_TRUE(Get<Ingress>("stays")->metadata.owner_references.empty());
}

TEST_P(AutoExposeServerTest, DryRunRefusesNoHostWhileNamespacesCannotBeListed) {
  settings_.ingress_class = "public";
  settings_.allowed.hosts = {"*.example.com"};
  Start();
  Create(MakeDeployment("web", "{auto-expose.kubexx.dev/host: vanity-" + ns_ + ".example.com}"));
  ASSERT_TRUE(Appears<Ingress>("web"));
  End();
  settings_.allowed.hosts = {};
  const auto dry_run = [&](const std::string& forbidden) {
    const Client client = NewClient({.wrap_transport = [&](std::shared_ptr<kube::Transport> next) -> std::shared_ptr<kube::Transport> {
      return std::make_shared<ForbiddingTransport>(std::move(next), forbidden);
    }});
    std::ostringstream out;
    const Result<int> count = DryRun(Patient(), client, settings_, out);
    EXPECT_TRUE(count) << count.error().ToString();
    return out.str();
  };
  const std::string unlisted = dry_run("/api/v1/namespaces");
  EXPECT_THAT(unlisted, HasSubstr("Namespaces cannot be listed"));
  EXPECT_THAT(unlisted, Not(HasSubstr("Ingress " + ns_ + "/web")));
  EXPECT_THAT(dry_run("/apis/networking.k8s.io/v1/ingresses"), HasSubstr("HostNotAllowed"));
  const std::string listed = dry_run("/none");
  EXPECT_THAT(listed, HasSubstr("HostNotAllowed"));
  EXPECT_THAT(listed, HasSubstr("Ingress " + ns_ + "/web"));
}

TEST_P(AutoExposeServerTest, NamesThatAServiceCannotHave) {
  Start();
  Create(MakeDeployment("api.v2"));
  const std::string child = ChildName("api.v2");
  EXPECT_TRUE(Appears<Service>(child));
  EXPECT_TRUE(Appears<Ingress>(child));
}

TEST_P(AutoExposeServerTest, TwoPortsTwoProtocols) {
  Start();
  Create(MakeDeployment("dns", "{}", "[{name: dns, containerPort: 53, protocol: UDP}, {name: http, containerPort: 8080}]"));
  ASSERT_TRUE(Appears<Service>("dns"));
  const Service service = *Get<Service>("dns");
  ASSERT_EQ(service.spec.ports.size(), 2U);
  EXPECT_EQ(service.spec.ports[0].protocol, "UDP");
  ASSERT_TRUE(Appears<Ingress>("dns"));
  EXPECT_EQ(Backend(*Get<Ingress>("dns")).second, 8080);
}

INSTANTIATE_SERVERS(AutoExposeServerTest);

}  // namespace
}  // namespace auto_expose
