// auto-expose and a tenant who may edit Deployments, and Services and Ingresses of his own namespace, and wants what belongs to others: the
// victim's host, path, class, certificate and traffic. On the embedded server and on real ones. docs/auto-expose.md, "Multi-tenant
// clusters", has what these cases hold it to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "attack_test_util.h"
#include "children.h"

namespace auto_expose {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSnippet = "nginx.ingress.kubernetes.io/server-snippet";

// ---- policy: what an annotation may not ask for

struct Demand {
  const char* annotations;
  const char* reason;
};
constexpr Demand kDemands[] = {
    {R"({auto-expose.kubexx.dev/host: "web.VICTIM.DOMAIN"})", "HostNotAllowed"},
    {R"({auto-expose.kubexx.dev/host: "VICTIM.DOMAIN"})", "HostNotAllowed"},
    {R"({auto-expose.kubexx.dev/host: "DOMAIN"})", "HostNotAllowed"},
    {R"({auto-expose.kubexx.dev/host: "*.DOMAIN"})", "HostNotAllowed"},
    {R"({auto-expose.kubexx.dev/host: "*.VICTIM.DOMAIN"})", "HostNotAllowed"},
    {R"({auto-expose.kubexx.dev/host: "bank.com"})", "HostNotAllowed"},
    {R"({auto-expose.kubexx.dev/host: "xEVIL.DOMAIN"})", "HostNotAllowed"},
    {R"({auto-expose.kubexx.dev/host: "EVIL.DOMAIN.bank.com"})", "HostNotAllowed"},
    {R"({auto-expose.kubexx.dev/host: ""})", "HostNotAllowed"},
    {R"({auto-expose.kubexx.dev/path: "/x;} location /y {"})", "PathNotAllowed"},
    {R"({auto-expose.kubexx.dev/path: "/x\n}\n"})", "PathNotAllowed"},
    {R"({auto-expose.kubexx.dev/path: "/x/../y"})", "PathNotAllowed"},
    {R"({auto-expose.kubexx.dev/path: '/(.*)', auto-expose.kubexx.dev/path-type: ImplementationSpecific})", "PathNotAllowed"},
    {R"({auto-expose.kubexx.dev/path: "/%2e%2e/"})", "PathNotAllowed"},
    {R"({auto-expose.kubexx.dev/ingress-class: internal})", "IngressClassNotAllowed"},
    {R"({auto-expose.kubexx.dev/ingress-class: ""})", "IngressClassNotAllowed"},
    {R"({auto-expose.kubexx.dev/issuer: ca})", "IssuerNotAllowed"},
    {R"({auto-expose.kubexx.dev/cluster-issuer: ca})", "IssuerNotAllowed"},
    {R"({auto-expose.kubexx.dev/tls-secret: bank-tls})", "TlsSecretNotAllowed"},
    {R"({auto-expose.kubexx.dev/ingress-annotations: "nginx.ingress.kubernetes.io/server-snippet: return 200;"})",
     "IngressAnnotationNotAllowed"},
    {R"({auto-expose.kubexx.dev/ingress-annotations: "kubernetes.io/ingress.class: internal"})", "IngressAnnotationNotAllowed"},
    {R"({auto-expose.kubexx.dev/ingress-annotations: "external-dns.alpha.kubernetes.io/hostname: bank.com"})",
     "IngressAnnotationNotAllowed"},
};

TEST_P(AutoExposeAttackTest, WhatTheOperatorDoesNotAllowIsRefused) {
  settings_.ingress_class = "public";
  Start();
  int number = 0;
  std::vector<std::string> names;
  for (const Demand& demand : kDemands) {
    std::string annotations = demand.annotations;
    for (const auto& [place, value] : {std::pair<std::string, std::string>{"VICTIM", victim_}, {"EVIL", evil_}, {"DOMAIN", domain_}}) {
      for (std::size_t at = 0; (at = annotations.find(place, at)) != std::string::npos;) annotations.replace(at, place.size(), value);
    }
    names.push_back("w" + std::to_string(number++));
    Evil([&] { Create(MakeDeployment(names.back(), annotations)); });
  }
  Evil([&] {
    for (std::size_t i = 0; i < names.size(); ++i) {
      SCOPED_TRACE(kDemands[i].annotations);
      EXPECT_TRUE(Told(names[i], std::string("Warning ") + kDemands[i].reason));
      ASSERT_TRUE(Appears<Service>(names[i]));
      EXPECT_EQ(Get<Service>(names[i])->spec.type, "ClusterIP");
      EXPECT_FALSE(Get<Ingress>(names[i]));
      for (const std::string& event : Events(names[i])) EXPECT_THAT(event, Not(HasSubstr("Exposed")));
    }
  });
  const std::string metrics = manager_->metrics()->Render();
  for (const Demand& demand : kDemands)
    EXPECT_THAT(metrics, HasSubstr(std::string("auto_expose_refusals_total{reason=\"") + demand.reason));
}

TEST_P(AutoExposeAttackTest, ALoadBalancerIsRefusedAndTakenAwayWhenNoLongerAllowed) {
  settings_.allowed.service_types = {"NodePort", "LoadBalancer"};
  Start();
  Create(MakeDeployment("web", R"({auto-expose.kubexx.dev/service-type: LoadBalancer})"));
  ASSERT_TRUE(Appears<Service>("web", [](const Service& s) { return s.spec.type == "LoadBalancer"; }));
  End();
  settings_.allowed.service_types = {};
  Start();
  EXPECT_TRUE(Told("web", "Warning ServiceTypeNotAllowed"));
  EXPECT_TRUE(Appears<Service>("web", [](const Service& s) { return s.spec.type == "ClusterIP"; }));
}

TEST_P(AutoExposeAttackTest, WhatWasAllowedOnceIsRemoved) {
  settings_.allowed.ingress_annotations = {"*"};
  settings_.allowed.hosts = {"**"};
  Start();
  Create(MakeDeployment("snippet", "{auto-expose.kubexx.dev/ingress-annotations: \"" + std::string(kSnippet) + ": x\"}"));
  Create(MakeDeployment("host", R"({auto-expose.kubexx.dev/host: bank.com})"));
  ASSERT_TRUE(Appears<Ingress>("snippet", [](const Ingress& i) { return i.metadata.annotations.Find(kSnippet) != nullptr; }));
  ASSERT_TRUE(Appears<Ingress>("host"));
  End();
  settings_.allowed = {};
  Start();
  EXPECT_TRUE(Goes<Ingress>("snippet"));
  EXPECT_TRUE(Goes<Ingress>("host"));
  EXPECT_TRUE(Get<Service>("snippet"));
}

// The tenant makes his annotations unreadable, so that his earlier objects stay untouched.
TEST_P(AutoExposeAttackTest, AMalformedAnnotationDoesNotSaveWhatIsNotAllowed) {
  settings_.allowed.ingress_annotations = {"*"};
  settings_.allowed.hosts = {"**"};
  settings_.allowed.ingress_classes = {"*"};
  settings_.allowed.tls_secrets = {"*"};
  settings_.allowed.service_types = {"NodePort"};
  Start();
  const std::pair<const char*, std::string> kinds[] = {
      {"snippet", "{auto-expose.kubexx.dev/ingress-annotations: \"" + std::string(kSnippet) + ": x\"}"},
      {"host", "{auto-expose.kubexx.dev/host: bank.com}"},
      {"class", "{auto-expose.kubexx.dev/ingress-class: internal}"},
      {"secret", "{auto-expose.kubexx.dev/tls-secret: bank-tls}"},
      {"type", "{auto-expose.kubexx.dev/service-type: NodePort}"},
      {"good", "{}"}};
  for (const auto& [name, annotations] : kinds) {
    Create(MakeDeployment(name, annotations));
    ASSERT_TRUE(Appears<Ingress>(name)) << name;
  }
  End();
  for (const auto& [name, annotations] : kinds) Patch<Deployment>(name, Annotation("port", "nonsense"));
  Patch<Ingress>("good", R"({"metadata":{"annotations":{"example.org/mine":"yes"}}})");  // by an allowed user
  const String uid = Get<Ingress>("good")->metadata.uid;
  settings_.allowed = {};
  Start();
  for (const auto& [name, annotations] : kinds) {
    EXPECT_TRUE(Told(name, "Warning InvalidAnnotation")) << name;
    EXPECT_TRUE(std::string(name) == "good" || Goes<Ingress>(name)) << name;
  }
  EXPECT_TRUE(Goes<Service>("type"));
  ASSERT_TRUE(Reconciled("good"));
  ASSERT_TRUE(Get<Ingress>("good"));
  EXPECT_EQ(Get<Ingress>("good")->metadata.uid, uid);
}

TEST_P(AutoExposeAttackTest, ANamespaceGivesHostsAndTakesThemAway) {
  settings_.ingress_class = "public";
  Start();
  Evil([&] {
    Create(MakeDeployment("web", HostYaml("vanity")));
    EXPECT_TRUE(Told("web", "Warning HostNotAllowed"));
  });
  const auto allow = [&](const std::string& value) {
    const Result<Namespace> patched = client_->Patch<Namespace>(
        Patient(), {"", String(evil_)},
        kube::Patch::Merge(R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/allow-hosts":)" + value + "}}}"));
    ASSERT_TRUE(patched) << patched.error().ToString();
  };
  allow("\"vanity." + domain_ + "\"");
  EXPECT_TRUE(Evil([&] { return Appears<Ingress>("web"); }));
  // The victim's namespace may not because this one may.
  Create(MakeDeployment("other", HostYaml("vanity")));
  EXPECT_TRUE(Told("other", "Warning HostNotAllowed"));
  allow("null");
  EXPECT_TRUE(Evil([&] { return Goes<Ingress>("web"); }));
}

// An upgrade with the role of an earlier version: the Namespace's settings exist, but cannot be read.
TEST_P(AutoExposeAttackTest, WhileNamespacesCannotBeListedNoHostIsRefused) {
  settings_.ingress_class = "public";
  const Result<Namespace> patched = client_->Patch<Namespace>(
      Patient(), {"", String(victim_)},
      kube::Patch::Merge(R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/allow-hosts":"*.)" + domain_ + R"("}}})"));
  ASSERT_TRUE(patched) << patched.error().ToString();
  Start();
  const String uid = Victim("vanity");
  forbidden_ = "/api/v1/namespaces";
  Start();  // restart
  EXPECT_TRUE(Told("web", "Warning Failed", "Namespaces cannot be listed"));
  ASSERT_TRUE(Reconciled("web"));
  EXPECT_TRUE(Stands(uid));
  // A host that may be allowed is not given either; the rest is.
  Create(MakeDeployment("other", HostYaml("second")));
  EXPECT_TRUE(Appears<Service>("other"));
  EXPECT_TRUE(Told("other", "Warning Failed", "Namespaces cannot be listed"));
  EXPECT_FALSE(Get<Ingress>("other"));
  Create(MakeDeployment("plain"));
  EXPECT_TRUE(Appears<Ingress>("plain"));
  // Not even while the annotations cannot be understood.
  Patch<Deployment>("web", Annotation("port", "nonsense"));
  EXPECT_TRUE(Told("web", "Warning InvalidAnnotation"));
  ASSERT_TRUE(Reconciled("web"));
  EXPECT_TRUE(Stands(uid));
  // What no namespace can allow is removed.
  Patch<Deployment>("web",
                    R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/port":null,"auto-expose.kubexx.dev/ingress-class":"x"}}})");
  EXPECT_TRUE(Goes<Ingress>("web"));
}

TEST_P(AutoExposeAttackTest, WithoutADomainPathsOfOthersAreRefused) {
  settings_.domain = "";
  Start();
  Create(MakeDeployment("web"));
  ASSERT_TRUE(Appears<Ingress>("web"));
  Evil([&] {
    const std::string paths[] = {"/", "/" + victim_, "/" + victim_ + "/web", "/" + victim_ + "/web/admin", "/" + evil_ + "/../" + victim_};
    int number = 0;
    for (const std::string& path : paths) {
      const std::string name = "w" + std::to_string(number++);
      Create(MakeDeployment(name, "{auto-expose.kubexx.dev/path: \"" + path + "\"}"));
      EXPECT_TRUE(Told(name, "Warning PathNotAllowed")) << path;
      EXPECT_FALSE(Get<Ingress>(name)) << path;
    }
    Create(MakeDeployment("good", "{auto-expose.kubexx.dev/path: \"/" + evil_ + "/x\"}"));
    EXPECT_TRUE(Appears<Ingress>("good"));
  });
}

// Ingress controllers that compare texts would send requests for "/EVIL-b/..." to it.
TEST_P(AutoExposeAttackTest, APathTypeDoesNotReachNamespacesThatBeginAlike) {
  settings_.domain = "";
  Start();
  Evil([&] {
    const std::string path = "auto-expose.kubexx.dev/path: \"/" + evil_ + "\"";
    Create(MakeDeployment("loose", "{" + path + ", auto-expose.kubexx.dev/path-type: ImplementationSpecific}"));
    EXPECT_TRUE(Told("loose", "Warning PathNotAllowed"));
    EXPECT_FALSE(Get<Ingress>("loose"));
    Create(MakeDeployment("good", "{" + path + "}"));
    ASSERT_TRUE(Appears<Ingress>("good"));
    // What is there is judged by its type, too, while the annotations are malformed.
    Patch<Deployment>("good", Annotation("port", "nonsense"));
    ASSERT_TRUE(Told("good", "Warning InvalidAnnotation"));
    ASSERT_TRUE(Reconciled("good"));
    Ingress edited = *Get<Ingress>("good");
    edited.spec.rules[0].http.Mutable().paths[0].path_type = std::string(kImplementationSpecific);
    const Result<Ingress> updated = client_->Update(Patient(), edited, {.field_manager = "somebody"});
    ASSERT_TRUE(updated) << updated.error().ToString();
    EXPECT_TRUE(Goes<Ingress>("good"));
  });
}

TEST_P(AutoExposeAttackTest, ManyPassesAreOneEvent) {
  Start();
  Evil([&] {
    Create(MakeDeployment("web", R"({auto-expose.kubexx.dev/host: bank.com})"));
    ASSERT_TRUE(Told("web", "Warning HostNotAllowed"));
    const auto runs = [&] { return manager_->controller("auto-expose-deployments")->status(0).runs; };
    for (int i = 0; i < 20; ++i) {
      const std::uint64_t before = runs();
      Patch<Deployment>("web", R"({"metadata":{"labels":{"n":")" + std::to_string(i) + R"("}}})");
      ASSERT_TRUE(Eventually([&] { return runs() > before; }));
    }
    const std::vector<std::string> events = Events("web");
    EXPECT_EQ(std::count_if(events.begin(), events.end(), [](const std::string& e) { return e.starts_with("Warning HostNotAllowed"); }), 1);
  });
}

// A refused claim blocks no other, so its changes enqueue no other workload: each was a pass over all workloads below it.
TEST_P(AutoExposeAttackTest, ARefusedHostWakesNobody) {
  Start();
  constexpr int kVictims = 20, kChanges = 20;
  for (int i = 0; i < kVictims; ++i) Create(MakeDeployment("v" + std::to_string(i)));
  for (int i = 0; i < kVictims; ++i) ASSERT_TRUE(Appears<Ingress>("v" + std::to_string(i)));
  Evil([&] { Create(MakeDeployment("wild", HostYaml("*"))); });
  ASSERT_TRUE(Evil([&] { return Told("wild", "Warning HostNotAllowed"); }));
  const kube::Controller& controller = *manager_->controller("auto-expose-deployments");
  const auto idle = [&] {
    const kube::ControllerStatus status = controller.status(1000);
    const auto& entries = status.queue.entries;
    return status.active == 0 &&
           std::all_of(entries.begin(), entries.end(), [](const auto& e) { return e.state == kube::KeyState::kWaiting; });
  };
  ASSERT_TRUE(Eventually(idle));
  const std::uint64_t before = controller.status(0).runs;
  for (int i = 0; i < kChanges; ++i) {
    const std::uint64_t now = controller.status(0).runs;
    Evil([&] { Patch<Deployment>("wild", R"({"metadata":{"labels":{"n":")" + std::to_string(i) + R"("}}})"); });
    ASSERT_TRUE(Eventually([&] { return controller.status(0).runs > now && idle(); }));
  }
  EXPECT_LT(controller.status(0).runs - before, kChanges * kVictims / 4);
}

// ---- claims

struct Grab {
  const char* host;   // below the domain
  const char* extra;  // further annotations, as JSON
};
constexpr Grab kGrabs[] = {
    {"v", ""},
    {"v", R"(,"auto-expose.kubexx.dev/path":"/longer/path")"},
    {"v", R"(,"auto-expose.kubexx.dev/path":"/","auto-expose.kubexx.dev/path-type":"Exact")"},
    {"v", R"(,"auto-expose.kubexx.dev/ingress-class":"another")"},
    {"v", R"(,"auto-expose.kubexx.dev/path-type":"ImplementationSpecific")"},
    {"*", ""},
    {"*", R"(,"auto-expose.kubexx.dev/path":"/x")"},
    {"x.w", ""},
    {"y.x.w", ""},
    {"*.x.w", ""},
    {"*.w", ""},
    {"*.w", R"(,"auto-expose.kubexx.dev/ingress-class":"another")"},
};

// All of them are older than the victim. That took the host away from it once.
TEST_P(AutoExposeAttackTest, AnOlderWorkloadTakesNoHostThatIsInUse) {
  OpenPolicy();
  const int count = static_cast<int>(std::size(kGrabs));
  for (int i = 0; i < count; ++i) {
    Evil([&] { Create(MakeDeployment("w" + std::to_string(i), R"({auto-expose.kubexx.dev/expose: "false"})")); });
  }
  Sleeper("last");
  Start();
  const String uid = Victim("v");
  Create(MakeDeployment("wild", HostYaml("*.w")));
  ASSERT_TRUE(Appears<Ingress>("wild"));
  const String wild = Get<Ingress>("wild")->metadata.uid;
  Evil([&] {
    for (int i = 0; i < count; ++i) {
      Patch<Deployment>("w" + std::to_string(i),
                        R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/expose":"true","auto-expose.kubexx.dev/host":")" +
                            std::string(kGrabs[i].host) + "." + domain_ + "\"" + kGrabs[i].extra + "}}}");
    }
    for (int i = 0; i < count; ++i) {
      SCOPED_TRACE(std::string(kGrabs[i].host) + kGrabs[i].extra);
      const std::string name = "w" + std::to_string(i);
      EXPECT_TRUE(Told(name, "Warning HostConflict"));
      EXPECT_FALSE(Get<Ingress>(name));
      for (const std::string& event : Events(name)) {
        EXPECT_THAT(event, Not(HasSubstr(victim_ + "/")));  // a tenant does not learn the holder
        EXPECT_THAT(event, Not(HasSubstr("Exposed")));
      }
    }
  });
  EXPECT_TRUE(Stands(uid));
  EXPECT_EQ(Get<Ingress>("wild")->metadata.uid, wild);
}

// With {name}-{namespace}, name "web-expose" in namespace "x" has the host of name "web" in namespace "expose-x".
TEST_P(AutoExposeAttackTest, ANameThatImitatesAnotherNamespaceGetsNothing) {
  settings_.host = "{name}-{namespace}.{domain}";
  Sleeper("web-expose");
  Start();
  Create(MakeDeployment("web"));
  ASSERT_TRUE(Appears<Ingress>("web"));
  const String uid = Get<Ingress>("web")->metadata.uid;
  Evil([&] {
    Patch<Deployment>("web-expose", Annotation("expose", "true"));
    EXPECT_TRUE(Told("web-expose", "Warning HostConflict"));
    EXPECT_FALSE(Get<Ingress>("web-expose"));
  });
  EXPECT_TRUE(Stands(uid));
}

TEST_P(AutoExposeAttackTest, ATypoReleasesNoClaimAlsoAfterARestart) {
  OpenPolicy();
  Sleeper("old");
  Start();
  const String uid = Victim("v");
  Patch<Deployment>("web", Annotation("host", "v.." + domain_));
  EXPECT_TRUE(Told("web", "Warning InvalidAnnotation"));
  Wake("old", "v." + domain_);
  EXPECT_TRUE(Evil([&] { return Told("old", "Warning HostConflict"); }));
  EXPECT_TRUE(Stands(uid));
  Start();  // restart
  ASSERT_TRUE(Evil([&] { return Reconciled("old"); }));
  EXPECT_TRUE(Stands(uid));
  EXPECT_FALSE(Evil([&] { return Get<Ingress>("old"); }));
}

TEST_P(AutoExposeAttackTest, ARestartKeepsTheHolder) {
  OpenPolicy();
  Sleeper("old");
  Start();
  const String uid = Victim("v");
  End();
  Wake("old", "v." + domain_);
  Start();
  EXPECT_TRUE(Evil([&] { return Told("old", "Warning HostConflict"); }));
  EXPECT_TRUE(Stands(uid));
  EXPECT_FALSE(Evil([&] { return Get<Ingress>("old"); }));
}

// Another client deletes the victim's Ingress, and an older workload waits for just that.
TEST_P(AutoExposeAttackTest, ADeletedIngressComesBackToItsHolder) {
  OpenPolicy();
  Sleeper("old");
  Start();
  const String uid = Victim("v");
  Wake("old", "v." + domain_);
  ASSERT_TRUE(Evil([&] { return Told("old", "Warning HostConflict"); }));
  ASSERT_TRUE(client_->Delete<Ingress>(Patient(), Key("web")));
  EXPECT_TRUE(Appears<Ingress>("web", [&](const Ingress& i) { return i.metadata.uid != uid; }));
  ASSERT_TRUE(Evil([&] { return Reconciled("old"); }));
  EXPECT_FALSE(Evil([&] { return Get<Ingress>("old"); }));
  // When the victim lets go, it is the other's turn.
  Patch<Deployment>("web", Annotation("expose", "false"));
  EXPECT_TRUE(Evil([&] { return Appears<Ingress>("old"); }));
}

// The tenant asks for as much as an object has room for. No other workload waits for it, and not every port causes an event.
TEST_P(AutoExposeAttackTest, VeryManyPortsAndKeysCostOthersNothing) {
  Start();
  std::string ports = "[{containerPort: 1}", keys;
  for (int i = 2; i <= 3000; ++i) ports += ", {containerPort: " + std::to_string(i) + "}";
  for (int i = 1000; i < 2000; ++i) keys += "example.com/k" + std::to_string(i) + ": x\\n";
  Evil([&] {
    Create(MakeDeployment("ports", "{}", ports + "]"));
    Create(MakeDeployment("keys", "{auto-expose.kubexx.dev/ingress-annotations: \"" + keys + "\"}"));
    EXPECT_TRUE(Told("ports", "Warning TooManyPorts"));
    EXPECT_FALSE(Get<Service>("ports"));
    EXPECT_TRUE(Told("keys", "Warning IngressAnnotationNotAllowed", "992 more keys"));
    EXPECT_LE(Events("keys").size(), 9U);
  });
  Create(MakeDeployment("web"));
  EXPECT_TRUE(Told("web", "Normal Exposed"));
}

// The tenant edits the Ingress that auto-expose made for him: it shows the victim's host, and his annotation asks for it, too.
TEST_P(AutoExposeAttackTest, AnEditedIngressIsNoClaim) {
  OpenPolicy();
  Sleeper("old");
  Start();
  Wake("old", "mine." + domain_);
  ASSERT_TRUE(Evil([&] { return Appears<Ingress>("old"); }));
  const String uid = Victim("v");
  Evil([&] {
    Patch<Deployment>("old", Annotation("port", "nonsense"));  // so that auto-expose does not repair it meanwhile
    ASSERT_TRUE(Told("old", "Warning InvalidAnnotation"));
    const std::string rule = R"({"host":"v.)" + domain_ + R"(","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":)" +
                             R"({"name":"old","port":{"number":8080}}}}]}})";
    Patch<Ingress>("old", R"({"spec":{"rules":[)" + rule + "]}}");
    Patch<Deployment>(
        "old", R"({"metadata":{"annotations":{"auto-expose.kubexx.dev/port":null,"auto-expose.kubexx.dev/host":"v.)" + domain_ + R"("}}})");
    EXPECT_TRUE(Told("old", "Warning HostConflict"));
    EXPECT_TRUE(Goes<Ingress>("old"));
  });
  EXPECT_TRUE(Stands(uid));
}

TEST_P(AutoExposeAttackTest, AHandMadeIngressHoldsItsHost) {
  OpenPolicy();
  ASSERT_TRUE(client_->Create(Patient(), MakeIngress(victim_, "by-hand", "v." + domain_, "/deep")));
  Start();
  Evil([&] {
    Create(MakeDeployment("web", HostYaml("v")));
    EXPECT_TRUE(Told("web", "Warning HostConflict"));
    EXPECT_FALSE(Get<Ingress>("web"));
  });
  ASSERT_TRUE(client_->Delete<Ingress>(Patient(), Key("by-hand")));
  EXPECT_TRUE(Evil([&] { return Appears<Ingress>("web"); }));
}

// A hand-made copy takes nothing from the holder of the host, and an event reports it.
TEST_P(AutoExposeAttackTest, AHandMadeCopyTakesNothing) {
  OpenPolicy();
  Start();
  const String uid = Victim("v");
  ASSERT_TRUE(client_->Create(Patient(), MakeIngress(evil_, "copy", "v." + domain_)));
  EXPECT_TRUE(Told("web", "Warning HostContested"));
  EXPECT_TRUE(Stands(uid));
  Start();
  ASSERT_TRUE(Reconciled("web"));
  EXPECT_TRUE(Stands(uid));
}

// No Ingress made by hand, of a class that no controller serves, blocks another namespace's own hosts.
TEST_P(AutoExposeAttackTest, AHandMadeIngressHoldsNoHostOfAnothersZone) {
  Ingress hostage = MakeIngress(evil_, "hostage", "web." + victim_ + "." + domain_);
  hostage.spec.ingress_class_name = "no-such-class";
  ASSERT_TRUE(client_->Create(Patient(), hostage));
  Start();
  Create(MakeDeployment("web"));
  EXPECT_TRUE(Appears<Ingress>("web"));
  EXPECT_TRUE(Told("web", "Warning HostContested"));
}

TEST_P(AutoExposeAttackTest, AHandMadeHttpRouteHoldsItsHost) {
  const auto crd = kube::FromYaml<kube::apiextensions::v1::CustomResourceDefinition>(R"(
metadata: {name: httproutes.gateway.networking.k8s.io, annotations: {api-approved.kubernetes.io: unapproved for a test}}
spec:
  group: gateway.networking.k8s.io
  names: {kind: HTTPRoute, listKind: HTTPRouteList, plural: httproutes, singular: httproute}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
)");
  ASSERT_TRUE(crd) << crd.error().ToString();
  ASSERT_TRUE(client_->Create(Patient(), *crd));
  const auto routes = client_->Resource(kHttpRoutes);
  const auto route = kube::FromYaml<kube::DynamicObject>(
      "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r, namespace: " + victim_ + "}\nspec: {hostnames: [V." +
      domain_ + ".]}\n");
  ASSERT_TRUE(route) << route.error().ToString();
  EXPECT_TRUE(Eventually([&] { return routes.Create(Patient(), *route).ok(); }));
  OpenPolicy();
  Start();
  Evil([&] {
    Create(MakeDeployment("web", HostYaml("v")));
    EXPECT_TRUE(Told("web", "Warning HostConflict"));
    EXPECT_FALSE(Get<Ingress>("web"));
  });
  EXPECT_TRUE(routes.Delete(Patient(), {String(victim_), "r"}));
  EXPECT_TRUE(Evil([&] { return Appears<Ingress>("web"); }));
  End();
  EXPECT_TRUE(client_->Delete<kube::apiextensions::v1::CustomResourceDefinition>(Patient(), {"", crd->metadata.name}));
}

// ---- what a workload leaves behind

// kubectl delete --cascade=orphan: the garbage collector takes the owner references away, and the workload goes.
TEST_P(AutoExposeAttackTest, OrphansDoNotOutliveThePolicy) {
  OpenPolicy();
  Start();
  Victim("v");
  End();
  for (const char* kind : {"service", "ingress"}) {
    const std::string no_owner = R"({"metadata":{"ownerReferences":null}})";
    kind == std::string("service") ? Patch<Service>("web", no_owner) : Patch<Ingress>("web", no_owner);
  }
  ASSERT_TRUE(client_->Delete<Deployment>(Patient(), Key("web")));
  settings_.allowed = {};
  Start();
  EXPECT_TRUE(Goes<Ingress>("web"));
  EXPECT_TRUE(Goes<Service>("web"));
}

TEST_P(AutoExposeAttackTest, OrphansAreAdoptedAndHoldNothing) {
  OpenPolicy();
  Start();
  const String uid = Victim("v");
  const String service = Get<Service>("web")->metadata.uid;
  // While it runs, and its workload exists.
  const auto controlled = [&](const auto& child) { return IsControlledBy(child.metadata, Get<Deployment>("web")->metadata.uid); };
  Patch<Ingress>("web", R"({"metadata":{"ownerReferences":null}})");
  EXPECT_TRUE(Appears<Ingress>("web", controlled));
  EXPECT_TRUE(Stands(uid));
  End();
  // Beside a new workload of that name, which asks for another host.
  Patch<Ingress>("web", R"({"metadata":{"ownerReferences":null}})");
  Patch<Service>("web", R"({"metadata":{"ownerReferences":null}})");
  ASSERT_TRUE(client_->Delete<Deployment>(Patient(), Key("web")));
  ASSERT_TRUE(Goes<Deployment>("web"));
  Create(MakeDeployment("web", HostYaml("w")));
  Start();
  EXPECT_TRUE(Appears<Ingress>("web", [&](const Ingress& i) { return controlled(i) && Host(i) == "w." + domain_; }));
  EXPECT_TRUE(Stands(uid));
  EXPECT_TRUE(Appears<Service>("web", controlled));
  EXPECT_EQ(Get<Service>("web")->metadata.uid, service);
  // Or one that wants none at all.
  End();
  Patch<Ingress>("web", R"({"metadata":{"ownerReferences":null}})");
  Patch<Deployment>("web", Annotation("ingress", "none"));
  Start();
  EXPECT_TRUE(Goes<Ingress>("web"));
}

// A hand-made object stays, whatever its label says.
TEST_P(AutoExposeAttackTest, ALabelMakesNoOrphan) {
  Ingress own = MakeIngress(victim_, "own", "own." + domain_);
  own.metadata.labels["kubexx.dev/set"] = "auto-expose";
  ASSERT_TRUE(client_->Create(Patient(), own));
  Start();
  ASSERT_TRUE(Reconciled("own"));
  EXPECT_TRUE(Get<Ingress>("own"));
}

// ---- what is not ours

TEST_P(AutoExposeAttackTest, NothingLeadsToAServiceThatWasTakenOver) {
  Start();
  Create(MakeDeployment("web"));
  ASSERT_TRUE(Appears<Ingress>("web"));
  ASSERT_TRUE(Told("web", "Normal Exposed"));
  kube::core::v1::ConfigMap owner;
  owner.metadata.name = "owner";
  owner.metadata.namespace_ = ns_;
  const Result<kube::core::v1::ConfigMap> made = client_->Create(Patient(), owner);
  ASSERT_TRUE(made) << made.error().ToString();
  Patch<Service>("web",
                 R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","controller":true,"uid":")" +
                     made->metadata.uid.str() + R"("}]}})");
  EXPECT_TRUE(Goes<Ingress>("web"));
  EXPECT_TRUE(Told("web", "Warning NameConflict"));
  EXPECT_TRUE(Get<Service>("web"));
}

TEST_P(AutoExposeAttackTest, NothingLeadsToAServiceThatReplacedOurs) {
  Start();
  Create(MakeDeployment("web"));
  ASSERT_TRUE(Appears<Ingress>("web"));
  ASSERT_TRUE(Told("web", "Normal Exposed"));
  ASSERT_TRUE(Reconciled("web"));
  gate_->Close("services");
  ASSERT_TRUE(client_->Delete<Service>(Patient(), Key("web")));
  ASSERT_TRUE(client_->Create(Patient(), kube::internal::MakeService(ns_, "web")));
  gate_->Open();
  EXPECT_TRUE(Goes<Ingress>("web"));
  EXPECT_TRUE(Told("web", "Warning NameConflict"));
}

TEST_P(AutoExposeAttackTest, NorWhileTheAnnotationsAreMalformed) {
  Start();
  Create(MakeDeployment("web"));
  ASSERT_TRUE(Appears<Ingress>("web"));
  Patch<Deployment>("web", Annotation("port", "nonsense"));
  ASSERT_TRUE(Told("web", "Warning InvalidAnnotation"));
  ASSERT_TRUE(client_->Delete<Service>(Patient(), Key("web")));
  EXPECT_TRUE(Goes<Ingress>("web"));
}

TEST_P(AutoExposeAttackTest, AForeignIngressOfTheSameNameIsLeftAlone) {
  ASSERT_TRUE(client_->Create(Patient(), MakeIngress(victim_, "web", "other." + domain_)));
  const String version = Get<Ingress>("web")->metadata.resource_version;
  Start();
  Create(MakeDeployment("web"));
  EXPECT_TRUE(Told("web", "Warning NameConflict"));
  ASSERT_TRUE(Reconciled("web"));
  EXPECT_EQ(Get<Ingress>("web")->metadata.resource_version, version);
  for (const std::string& event : Events("web")) EXPECT_THAT(event, Not(HasSubstr("Exposed")));
}

// A workload that cannot be exposed at all does not keep a host from others, however old.
TEST_P(AutoExposeAttackTest, SquattingWithoutAServiceBlocksNobody) {
  OpenPolicy();
  Evil([&] { ASSERT_TRUE(client_->Create(Patient(), kube::internal::MakeService(evil_, "old"))); });
  Sleeper("old");
  Wake("old", "v." + domain_);
  Start();
  ASSERT_TRUE(Evil([&] { return Told("old", "Warning NameConflict"); }));
  Create(MakeDeployment("web", HostYaml("v")));
  EXPECT_TRUE(Appears<Ingress>("web"));
}

// ---- a role for one namespace

// Namespaces and what others have are not seen: claims reach as far as the namespace, and the rest of the policy as ever.
TEST_P(AutoExposeAttackTest, InOneNamespaceItWorksAndClaimsReachAsFar) {
  OpenPolicy();
  settings_.allowed.hosts = {"v." + domain_};
  watched_ = victim_;
  ASSERT_TRUE(client_->Create(Patient(), MakeIngress(evil_, "unseen", "v." + domain_)));
  Start();
  Create(MakeDeployment("web", HostYaml("v")));
  ASSERT_TRUE(Appears<Ingress>("web"));
  Create(MakeDeployment("second", HostYaml("v")));
  EXPECT_TRUE(Told("second", "Warning HostConflict", "Deployment " + victim_ + "/web"));
  Create(MakeDeployment("third", R"({auto-expose.kubexx.dev/host: bank.com})"));
  EXPECT_TRUE(Told("third", "Warning HostNotAllowed"));
  for (const kube::AccessNeed& need : manager_->needs()) {
    EXPECT_NE(need.resource, "namespaces");
    EXPECT_NE(need.resource, "ingressclasses");
  }
}

INSTANTIATE_SERVERS(AutoExposeAttackTest);

}  // namespace
}  // namespace auto_expose
