// What a workload gets, without any cluster.
#include "plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "children.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"
#include "ports.h"

namespace auto_expose {
namespace {

using kube::apps::v1::Deployment;
using kube::networking::v1::Ingress;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

Deployment MakeDeployment(std::string_view ports = "[{containerPort: 8080}]", std::string_view annotations = "{}") {
  std::string yaml = R"(apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, uid: "1", annotations: )";
  yaml.append(annotations).append(R"(}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, tier: front}}
    spec:
      containers:
      - name: main
        image: web:1
        ports: )");
  yaml.append(ports).append("\n");
  kube::Result<Deployment> made = kube::FromYaml<Deployment>(yaml);
  EXPECT_TRUE(made.ok()) << made.error().ToString();
  return made ? *made : Deployment();
}

Plan PlanWith(std::string_view annotations, const Settings& settings = {}) {
  return PlanFor(WorkloadOf(MakeDeployment("[{name: http, containerPort: 8080}]", annotations)), settings);
}

Settings WithDomain() {
  Settings settings;
  settings.domain = "example.com";
  return settings;
}

std::string Ports(const Plan& plan) {
  std::string text;
  if (!plan.service) return "no service";
  for (const auto& port : plan.service->spec.ports) {
    text.append(text.empty() ? "" : " ").append(port.name).append("=").append(std::to_string(port.port)).append(":");
    text.append(port.target_port.ToString()).append("/").append(port.protocol);
  }
  return text;
}

// ---- which

TEST(AutoExposePlan, EverythingIsExposedUnlessSettingsSayOptIn) {
  Settings settings;
  EXPECT_EQ(PlanWith("{}", settings).verdict, Plan::Verdict::kExpose);
  settings.opt_in = true;
  const Plan plan = PlanWith("{}", settings);
  EXPECT_EQ(plan.verdict, Plan::Verdict::kLeave);
  EXPECT_THAT(plan.why, HasSubstr("expose"));
  EXPECT_THAT(plan.problems, IsEmpty());
  EXPECT_EQ(PlanWith(R"({auto-expose.kubexx.dev/expose: "true"})", settings).verdict, Plan::Verdict::kExpose);
}

TEST(AutoExposePlan, FalseAlwaysOptsOut) {
  EXPECT_EQ(PlanWith(R"({auto-expose.kubexx.dev/expose: "false"})").verdict, Plan::Verdict::kLeave);
}

TEST(AutoExposePlan, AnotherWordThanTrueAndFalseChangesNothing) {
  const Plan plan = PlanWith(R"({auto-expose.kubexx.dev/expose: "yes"})");
  EXPECT_EQ(plan.verdict, Plan::Verdict::kKeep);
  ASSERT_EQ(plan.problems.size(), 1U);
  EXPECT_EQ(plan.problems[0],
            (Problem{"InvalidAnnotation", R"(annotation auto-expose.kubexx.dev/expose: "yes": allowed are true, false)"}));
}

TEST(AutoExposePlan, NamespacesAndSelectorsDecideFirst) {
  Settings settings;
  settings.namespaces = {"other"};
  EXPECT_EQ(PlanWith("{}", settings).verdict, Plan::Verdict::kIgnore);
  settings.namespaces = {"other", "shop"};
  EXPECT_EQ(PlanWith("{}", settings).verdict, Plan::Verdict::kExpose);
  settings.excluded_namespaces = {"shop"};
  EXPECT_EQ(PlanWith(R"({auto-expose.kubexx.dev/expose: "true"})", settings).verdict, Plan::Verdict::kIgnore);
  settings.excluded_namespaces = {};
  settings.selector = kube::Selector::Parse("team=a").value();
  EXPECT_EQ(PlanWith("{}", settings).verdict, Plan::Verdict::kLeave);
}

TEST(AutoExposePlan, KubeSystemIsLeftOutByDefault) {
  Deployment deployment = MakeDeployment();
  deployment.metadata.namespace_ = "kube-system";
  EXPECT_EQ(PlanFor(WorkloadOf(deployment), {}).verdict, Plan::Verdict::kIgnore);
}

// ---- Service

TEST(AutoExposePlan, ServiceSelectsThePodsAndKeepsNamesAndProtocols) {
  const Plan plan = PlanFor(
      WorkloadOf(MakeDeployment("[{name: http, containerPort: 8080}, {containerPort: 53, protocol: UDP}, {containerPort: 8080}]")), {});
  ASSERT_EQ(plan.verdict, Plan::Verdict::kExpose);
  EXPECT_EQ(plan.service->metadata.name, "web");
  EXPECT_EQ(plan.service->metadata.namespace_, "shop");
  EXPECT_EQ(plan.service->spec.selector, (kube::Map<kube::String>{{"app", "web"}}));
  EXPECT_EQ(plan.service->spec.type, "ClusterIP");
  EXPECT_EQ(Ports(plan), "http=8080:http/TCP udp-53=53:53/UDP");
}

TEST(AutoExposePlan, OnePortNeedsNoName) { EXPECT_EQ(Ports(PlanFor(WorkloadOf(MakeDeployment()), {})), "=8080:8080/TCP"); }

TEST(AutoExposePlan, OneNumberWithTwoProtocolsIsTwoPorts) {
  const Plan plan = PlanFor(WorkloadOf(MakeDeployment("[{containerPort: 53}, {containerPort: 53, protocol: UDP}]")), {});
  EXPECT_EQ(Ports(plan), "tcp-53=53:53/TCP udp-53=53:53/UDP");
}

TEST(AutoExposePlan, EqualNamesOfTwoContainersAreToldApart) {
  const Plan plan = PlanFor(WorkloadOf(MakeDeployment("[{name: http, containerPort: 80}, {name: http, containerPort: 81}]")), {});
  EXPECT_EQ(Ports(plan), "http=80:http/TCP tcp-81=81:http/TCP");
}

TEST(AutoExposePlan, NoPortIsAProblemThatSaysHowToMendIt) {
  const Plan plan = PlanFor(WorkloadOf(MakeDeployment("[]")), {});
  EXPECT_EQ(plan.verdict, Plan::Verdict::kLeave);
  ASSERT_EQ(plan.problems.size(), 1U);
  EXPECT_EQ(plan.problems[0].reason, "NoPort");
  EXPECT_THAT(plan.problems[0].message, HasSubstr("auto-expose.kubexx.dev/port"));
  EXPECT_EQ(Ports(PlanFor(WorkloadOf(MakeDeployment("[]", R"({auto-expose.kubexx.dev/port: "8080"})")), {})), "=8080:8080/TCP");
}

// There is room for very many in one Deployment: comparing each with each would take seconds, for which all other workloads wait.
TEST(AutoExposePlan, VeryManyPortsKeepNobodyWaiting) {
  Deployment deployment = MakeDeployment();
  kube::core::v1::Container& container = deployment.spec.template_.spec.containers[0];
  for (std::size_t i = container.ports.size(); i < kMaxPorts; ++i) {
    container.ports.push_back({.container_port = static_cast<std::int32_t>(1 + i % 8000), .protocol = i < 8000 ? "TCP" : "UDP"});
  }
  EXPECT_EQ(PlanFor(WorkloadOf(deployment), {}).service->spec.ports.size(), kMaxPorts);
  for (std::int32_t i = 1; i <= 60'000; ++i) container.ports.push_back({.container_port = i, .protocol = "SCTP"});
  EXPECT_EQ(DeclaredPorts(deployment.spec.template_.spec).size(), kMaxPorts + 1);
  const Plan plan = PlanFor(WorkloadOf(deployment), {});
  EXPECT_EQ(plan.verdict, Plan::Verdict::kKeep);
  EXPECT_FALSE(plan.service);
  ASSERT_EQ(plan.problems.size(), 1U);
  EXPECT_EQ(plan.problems[0].reason, "TooManyPorts");
  EXPECT_THAT(plan.problems[0].message, HasSubstr("auto-expose.kubexx.dev/port"));
  deployment.metadata.annotations["auto-expose.kubexx.dev/port"] = "8080";
  EXPECT_EQ(Ports(PlanFor(WorkloadOf(deployment), {})), "=8080:8080/TCP");
}

TEST(AutoExposePlan, SelectorsWithExpressionsTakeThePodsLabels) {
  Deployment deployment = MakeDeployment();
  kube::meta::v1::LabelSelector& selector = deployment.spec.selector.Mutable();
  selector.match_labels = {};
  kube::meta::v1::LabelSelectorRequirement tier;
  tier.key = "tier";
  tier.operator_ = "In";
  tier.values = {"front", "back"};
  selector.match_expressions.push_back(tier);
  const Plan plan = PlanFor(WorkloadOf(deployment), {});
  ASSERT_TRUE(plan.service);
  EXPECT_EQ(plan.service->spec.selector, (kube::Map<kube::String>{{"tier", "front"}}));
  selector.match_expressions[0].key = "absent";
  const Plan none = PlanFor(WorkloadOf(deployment), {});
  EXPECT_EQ(none.verdict, Plan::Verdict::kKeep);
  EXPECT_EQ(none.problems.at(0).reason, "NoSelector");
}

TEST(AutoExposePlan, PortAnnotation) {
  const auto ports = [](std::string_view text) {
    return Ports(PlanFor(WorkloadOf(MakeDeployment("[{name: http, containerPort: 8080}, {name: dns, containerPort: 53, protocol: UDP}]",
                                                   "{auto-expose.kubexx.dev/port: '" + std::string(text) + "'}")),
                         {}));
  };
  EXPECT_EQ(ports("http"), "http=8080:http/TCP");
  EXPECT_EQ(ports("80:http"), "http=80:http/TCP");
  EXPECT_EQ(ports("80:9090"), "=80:9090/TCP");
  EXPECT_EQ(ports("80:http, 443:8443"), "http=80:http/TCP tcp-443=443:8443/TCP");
  EXPECT_EQ(ports("dns"), "dns=53:dns/UDP");
  EXPECT_EQ(ports("5353:53/UDP"), "=5353:53/UDP");
  EXPECT_EQ(ports("80:http,81:http"), "http=80:http/TCP tcp-81=81:http/TCP");
}

class BadPort : public ::testing::TestWithParam<const char*> {};
TEST_P(BadPort, IsNamed) {
  const Plan plan = PlanWith("{auto-expose.kubexx.dev/port: '" + std::string(GetParam()) + "'}");
  EXPECT_EQ(plan.verdict, Plan::Verdict::kKeep);
  EXPECT_FALSE(plan.service);
  ASSERT_EQ(plan.problems.size(), 1U);
  EXPECT_EQ(plan.problems[0].reason, "InvalidAnnotation");
  EXPECT_THAT(plan.problems[0].message, StartsWith("annotation auto-expose.kubexx.dev/port"));
}
INSTANTIATE_TEST_SUITE_P(AutoExposePlan, BadPort,
                         ::testing::Values("", "0", "65536", "-1", "80:", ":80", "metrics", "http:80", "80:99999", "80,80", "80/tcp", "80,",
                                           "99999999999999999999", "80:http:1", "8 0"));

TEST(AutoExposePlan, TypeAndAffinity) {
  Settings settings;
  settings.allowed.service_types = {"NodePort"};
  const Plan plan =
      PlanWith(R"({auto-expose.kubexx.dev/service-type: NodePort, auto-expose.kubexx.dev/session-affinity: ClientIP})", settings);
  ASSERT_TRUE(plan.service);
  EXPECT_EQ(plan.service->spec.type, "NodePort");
  EXPECT_EQ(plan.service->spec.session_affinity, "ClientIP");
  const Plan bad = PlanWith(R"({auto-expose.kubexx.dev/service-type: nodeport, auto-expose.kubexx.dev/session-affinity: Client})");
  ASSERT_EQ(bad.problems.size(), 2U);
  EXPECT_THAT(bad.problems[0].message, HasSubstr("allowed are ClusterIP, NodePort, LoadBalancer"));
  EXPECT_THAT(bad.problems[1].message, HasSubstr("allowed are None, ClientIP"));
}

// ---- Ingress

TEST(AutoExposePlan, WithoutADomainThePathTellsWorkloadsApart) {
  const Plan plan = PlanWith("{}");
  ASSERT_TRUE(plan.ingress);
  ASSERT_EQ(plan.ingress->spec.rules.size(), 1U);
  const auto& rule = plan.ingress->spec.rules[0];
  EXPECT_EQ(rule.host, "");
  ASSERT_EQ(rule.http->paths.size(), 1U);
  EXPECT_EQ(rule.http->paths[0].path, "/shop/web");
  EXPECT_EQ(rule.http->paths[0].path_type, "Prefix");
  EXPECT_EQ(rule.http->paths[0].backend.service->name, "web");
  EXPECT_EQ(rule.http->paths[0].backend.service->port.number, 8080);
  EXPECT_EQ(plan.url, "/shop/web");
  EXPECT_THAT(plan.ingress->spec.tls, IsEmpty());
  EXPECT_FALSE(plan.ingress->spec.ingress_class_name);
}

TEST(AutoExposePlan, WithADomainTheHostDoes) {
  const Plan plan = PlanWith("{}", WithDomain());
  ASSERT_TRUE(plan.ingress);
  EXPECT_EQ(plan.ingress->spec.rules[0].host, "web.shop.example.com");
  EXPECT_EQ(plan.ingress->spec.rules[0].http->paths[0].path, "/");
  EXPECT_EQ(plan.url, "http://web.shop.example.com/");
}

TEST(AutoExposePlan, AnnotationsOverrideTheSettings) {
  Settings settings = WithDomain();
  settings.ingress_class = "nginx";
  settings.cluster_issuer = "letsencrypt";
  settings.ingress_annotations = {{"a.example.com/x", "cluster"}, {"a.example.com/y", "cluster"}};
  settings.allowed.ingress_classes = {"traefik"};
  settings.allowed.issuers = {"mine"};
  settings.allowed.ingress_annotations = {"a.example.com/*"};
  const Plan plan = PlanWith(R"({auto-expose.kubexx.dev/host: "shop.{domain}", auto-expose.kubexx.dev/path: "/{name}",
    auto-expose.kubexx.dev/path-type: Exact, auto-expose.kubexx.dev/ingress-class: traefik, auto-expose.kubexx.dev/issuer: mine,
    auto-expose.kubexx.dev/ingress-annotations: "a.example.com/y: own\na.example.com/z: 'true'"})",
                             settings);
  ASSERT_TRUE(plan.ingress) << (plan.problems.empty() ? "" : plan.problems[0].message);
  EXPECT_EQ(plan.ingress->spec.ingress_class_name, "traefik");
  EXPECT_EQ(plan.ingress->spec.rules[0].host, "shop.example.com");
  EXPECT_EQ(plan.ingress->spec.rules[0].http->paths[0].path, "/web");
  EXPECT_EQ(plan.ingress->spec.rules[0].http->paths[0].path_type, "Exact");
  EXPECT_EQ(
      plan.ingress->metadata.annotations,
      (kube::Map<kube::String>{
          {"a.example.com/x", "cluster"}, {"a.example.com/y", "own"}, {"a.example.com/z", "true"}, {"cert-manager.io/issuer", "mine"}}));
  ASSERT_EQ(plan.ingress->spec.tls.size(), 1U);
  EXPECT_EQ(plan.ingress->spec.tls[0].secret_name, "web-tls");
  EXPECT_THAT(plan.ingress->spec.tls[0].hosts, ElementsAre("shop.example.com"));
  EXPECT_EQ(plan.url, "https://shop.example.com/web");
}

TEST(AutoExposePlan, TlsSecretOfTheSettings) {
  Settings settings = WithDomain();
  settings.tls_secret = "{namespace}-wildcard";
  const Plan plan = PlanWith("{}", settings);
  ASSERT_TRUE(plan.ingress);
  EXPECT_EQ(plan.ingress->spec.tls[0].secret_name, "shop-wildcard");
  EXPECT_EQ(plan.url, "https://web.shop.example.com/");
}

TEST(AutoExposePlan, ServiceOnly) {
  EXPECT_FALSE(PlanWith(R"({auto-expose.kubexx.dev/ingress: none})").ingress);
  Settings settings;
  settings.exposure = Exposure::kNone;
  const Plan plan = PlanWith("{}", settings);
  EXPECT_TRUE(plan.service);
  EXPECT_FALSE(plan.ingress);
  EXPECT_FALSE(plan.claim);
  EXPECT_EQ(plan.url, "");
}

TEST(AutoExposePlan, IngressTakesThePortThatIsCalledHttp) {
  const Plan plan =
      PlanFor(WorkloadOf(MakeDeployment(
                  "[{name: dns, containerPort: 53, protocol: UDP}, {name: admin, containerPort: 9000}, {name: http, containerPort: 80}]")),
              {});
  ASSERT_TRUE(plan.ingress);
  EXPECT_EQ(plan.ingress->spec.rules[0].http->paths[0].backend.service->port.number, 80);
}

TEST(AutoExposePlan, UdpAloneGetsAServiceAndNoIngress) {
  const Plan plan = PlanFor(WorkloadOf(MakeDeployment("[{containerPort: 53, protocol: UDP}]")), {});
  EXPECT_TRUE(plan.service);
  EXPECT_FALSE(plan.ingress);
  EXPECT_FALSE(plan.claim);
}

class BadIngressAnnotation : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};
TEST_P(BadIngressAnnotation, IsNamedAndKeepsWhatWasThere) {
  const auto [name, value] = GetParam();
  const Plan plan = PlanWith("{auto-expose.kubexx.dev/" + std::string(name) + ": \"" + value + "\"}", WithDomain());
  EXPECT_EQ(plan.verdict, Plan::Verdict::kKeep);
  ASSERT_EQ(plan.problems.size(), 1U);
  EXPECT_THAT(plan.problems[0].message, StartsWith("annotation auto-expose.kubexx.dev/" + std::string(name)));
}
INSTANTIATE_TEST_SUITE_P(AutoExposePlan, BadIngressAnnotation,
                         ::testing::Values(std::pair("host", "Web.example.com"), std::pair("host", "a..b"), std::pair("path", "web"),
                                           std::pair("path", "//x"), std::pair("path-type", "prefix"), std::pair("ingress-class", "A"),
                                           std::pair("tls-secret", "no_underscores"), std::pair("ingress", "maybe"),
                                           std::pair("ingress-annotations", "[1]"), std::pair("ingress-annotations", "a: 1"),
                                           std::pair("ingress-annotations", "'a b': x"), std::pair("ingress-annotations", "{")));

TEST(AutoExposePlan, BothIssuersAreOneTooMany) {
  const Plan plan = PlanWith(R"({auto-expose.kubexx.dev/issuer: a, auto-expose.kubexx.dev/cluster-issuer: b})", WithDomain());
  EXPECT_EQ(plan.verdict, Plan::Verdict::kKeep);
}

TEST(AutoExposePlan, AHostThatFollowsFromANameMayBeNone) {
  Deployment deployment = MakeDeployment();
  deployment.metadata.name = std::string(70, 'a');
  const Plan plan = PlanFor(WorkloadOf(deployment), WithDomain());
  EXPECT_EQ(plan.verdict, Plan::Verdict::kKeep);
  EXPECT_THAT(plan.problems.at(0).message, HasSubstr("set this annotation"));
}

TEST(AutoExposePlan, TheClaimIsHostAndPathWhateverTheClass) {
  Settings settings = WithDomain();
  settings.allowed.ingress_classes = {"*"};
  const Plan plan = PlanWith(R"({auto-expose.kubexx.dev/host: "a.{namespace}.{domain}", auto-expose.kubexx.dev/path: /x})", settings);
  EXPECT_EQ(plan.claim, (Claim{"a.shop.example.com", "/x"}));
  EXPECT_TRUE(plan.claim->in_zone && plan.claim->given == Given::kByName);
  const Plan other = PlanWith(
      R"({auto-expose.kubexx.dev/host: a.shop.example.com, auto-expose.kubexx.dev/path: /x, auto-expose.kubexx.dev/ingress-class: other})",
      settings);
  EXPECT_EQ(plan.claim, other.claim);
}

// ---- policy

struct Refused {
  const char* annotations;
  const char* reason;
};
class RefusedByDefault : public ::testing::TestWithParam<Refused> {};
TEST_P(RefusedByDefault, TheServiceStaysAndNothingLeadsToIt) {
  const Plan plan = PlanWith(GetParam().annotations, WithDomain());
  EXPECT_EQ(plan.verdict, Plan::Verdict::kExpose);
  ASSERT_TRUE(plan.service);
  EXPECT_EQ(plan.service->spec.type, "ClusterIP");
  EXPECT_FALSE(plan.ingress);
  EXPECT_FALSE(plan.claim);
  EXPECT_EQ(plan.url, "");
  ASSERT_EQ(plan.problems.size(), 1U);
  EXPECT_EQ(plan.problems[0].reason, GetParam().reason);
  EXPECT_TRUE(plan.problems[0].refused);
  EXPECT_THAT(plan.problems[0].message, HasSubstr("is not allowed"));
}
INSTANTIATE_TEST_SUITE_P(
    AutoExposePlan, RefusedByDefault,
    ::testing::Values(Refused{R"({auto-expose.kubexx.dev/host: web.bank.example.com})", "HostNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/host: example.com})", "HostNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/host: "*.example.com"})", "HostNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/host: "xshop.example.com"})", "HostNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/host: "shop.example.com.evil.org"})", "HostNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/host: "xn--bank-0xa.example.com"})", "HostNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/host: ""})", "HostNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/path: "/a;}location /b"})", "PathNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/path: "/a\nb"})", "PathNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/path: "/a/../b"})", "PathNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/path: "/%2e%2e/b"})", "PathNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/path: '/(.*)'})", "PathNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/ingress-class: internal})", "IngressClassNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/issuer: ca})", "IssuerNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/cluster-issuer: ca})", "IssuerNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/tls-secret: bank-tls})", "TlsSecretNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/ingress-annotations: "nginx.ingress.kubernetes.io/server-snippet: x"})",
                              "IngressAnnotationNotAllowed"},
                      Refused{R"({auto-expose.kubexx.dev/ingress-annotations: "kubernetes.io/ingress.class: x"})",
                              "IngressAnnotationNotAllowed"}));

TEST(AutoExposePlan, ARefusedServiceTypeBecomesClusterIp) {
  for (const char* type : {"NodePort", "LoadBalancer"}) {
    const Plan plan = PlanWith(std::string("{auto-expose.kubexx.dev/service-type: ") + type + "}", WithDomain());
    ASSERT_TRUE(plan.service);
    EXPECT_EQ(plan.service->spec.type, "ClusterIP");
    EXPECT_TRUE(plan.ingress);
    ASSERT_EQ(plan.problems.size(), 1U);
    EXPECT_EQ(plan.problems[0].reason, "ServiceTypeNotAllowed");
  }
  Settings settings = WithDomain();
  settings.service_type = "LoadBalancer";
  EXPECT_EQ(PlanWith("{}", settings).service->spec.type, "LoadBalancer");
  EXPECT_THAT(PlanWith("{auto-expose.kubexx.dev/service-type: ClusterIP}", settings).problems, IsEmpty());
}

TEST(AutoExposePlan, WhatTheSettingsSayAnywayIsNoDemand) {
  Settings settings = WithDomain();
  settings.ingress_class = "nginx";
  settings.cluster_issuer = "letsencrypt";
  settings.tls_secret = "{name}-cert";
  settings.ingress_annotations = {{"a.example.com/x", "1"}};
  const Plan plan = PlanWith(
      R"({auto-expose.kubexx.dev/host: "{name}.{namespace}.{domain}", auto-expose.kubexx.dev/ingress-class: nginx,
          auto-expose.kubexx.dev/cluster-issuer: letsencrypt, auto-expose.kubexx.dev/tls-secret: web-cert,
          auto-expose.kubexx.dev/ingress-annotations: "a.example.com/x: '1'"})",
      settings);
  EXPECT_THAT(plan.problems, IsEmpty());
  EXPECT_TRUE(plan.ingress);
  // Another value of the operator's own annotation is.
  EXPECT_FALSE(PlanWith(R"({auto-expose.kubexx.dev/ingress-annotations: "a.example.com/x: '2'"})", settings).ingress);
}

// An empty value is a demand, too: it would switch off the operator's TLS.
TEST(AutoExposePlan, AnEmptyValueDoesNotDropWhatTheOperatorSets) {
  struct Case {
    const char* annotations;
    std::string Settings::*setting;
    const char* reason;
  };
  for (const Case& one : {Case{R"({auto-expose.kubexx.dev/cluster-issuer: ""})", &Settings::cluster_issuer, "IssuerNotAllowed"},
                          Case{R"({auto-expose.kubexx.dev/issuer: ""})", &Settings::cluster_issuer, "IssuerNotAllowed"},
                          Case{R"({auto-expose.kubexx.dev/cluster-issuer: ""})", &Settings::issuer, "IssuerNotAllowed"},
                          Case{R"({auto-expose.kubexx.dev/issuer: ""})", &Settings::issuer, "IssuerNotAllowed"},
                          Case{R"({auto-expose.kubexx.dev/tls-secret: ""})", &Settings::tls_secret, "TlsSecretNotAllowed"},
                          Case{R"({auto-expose.kubexx.dev/ingress-class: ""})", &Settings::ingress_class, "IngressClassNotAllowed"}}) {
    SCOPED_TRACE(one.annotations);
    Settings settings = WithDomain();
    EXPECT_TRUE(PlanWith(one.annotations, settings).ingress);
    settings.*one.setting = "corp";
    const Plan plan = PlanWith(one.annotations, settings);
    EXPECT_FALSE(plan.ingress);
    ASSERT_EQ(plan.problems.size(), 1U);
    EXPECT_EQ(plan.problems[0].reason, one.reason);
    EXPECT_TRUE(plan.problems[0].refused);
    settings.allowed.cluster_issuers = settings.allowed.issuers = settings.allowed.tls_secrets = settings.allowed.ingress_classes = {"*"};
    EXPECT_TRUE(PlanWith(one.annotations, settings).ingress);
  }
  // With a certificate of the operator's issuer, the secret still is not the operator's.
  Settings settings = WithDomain();
  settings.tls_secret = "corp";
  settings.cluster_issuer = "ca";
  EXPECT_FALSE(PlanWith(R"({auto-expose.kubexx.dev/tls-secret: ""})", settings).ingress);
  settings.allowed.tls_secrets = {"{name}-tls"};
  EXPECT_TRUE(PlanWith(R"({auto-expose.kubexx.dev/tls-secret: ""})", settings).ingress);
}

// Nor does an Ingress without TLS outlive the operator's decision for it behind malformed annotations.
TEST(AutoExposePlan, AnIngressWithoutTlsIsRefusedIfTheSettingsHaveIt) {
  Settings settings = WithDomain();
  const Workload workload = WorkloadOf(MakeDeployment());
  const Plan plan = PlanFor(workload, settings);
  ASSERT_TRUE(plan.ingress);
  const kube::DynamicObject live = kube::ToDynamic(*plan.ingress).value();
  EXPECT_THAT(RefusedOf(*plan.ingress, live, workload, settings, {}, false), IsEmpty());
  settings.cluster_issuer = "corp-ca";
  const std::vector<Problem> refused = RefusedOf(*plan.ingress, live, workload, settings, {}, false);
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].reason, "TlsSecretNotAllowed");
  settings.allowed.cluster_issuers = {"*"};
  EXPECT_THAT(RefusedOf(*plan.ingress, live, workload, settings, {}, false), IsEmpty());
}

// A regular expression in an HTTPRoute that was edited by hand may match the paths of namespaces whose names begin alike.
TEST(AutoExposePlan, ARouteIsJudgedByTheTypesOfItsPaths) {
  const Settings settings;
  const Workload workload = WorkloadOf(MakeDeployment());
  const auto refused = [&](std::string_view type) {
    const std::string path = "/" + workload.metadata.namespace_.str();
    const std::string match = type.empty() ? "" : R"("type":")" + std::string(type) + R"(",)";
    const auto route = kube::FromJson<kube::DynamicObject>(
        R"({"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","spec":{"rules":[{"matches":[{"path":{)" + match +
        R"("value":")" + path + R"("}}]}]}})");
    return RefusedOf(route.value(), workload, settings, {}).size();
  };
  EXPECT_EQ(refused(""), 0U);
  EXPECT_EQ(refused("PathPrefix"), 0U);
  EXPECT_EQ(refused("Exact"), 0U);
  EXPECT_EQ(refused("RegularExpression"), 1U);
  EXPECT_EQ(refused("Another"), 1U);
}

TEST(AutoExposePlan, WithoutADomainPathsStayBelowTheNamespace) {
  const auto ingress = [](std::string_view annotations) { return PlanWith(annotations).ingress.has_value(); };
  EXPECT_TRUE(ingress(R"({auto-expose.kubexx.dev/path: /shop/other})"));
  EXPECT_TRUE(ingress(R"({auto-expose.kubexx.dev/path: /shop})"));
  EXPECT_FALSE(ingress(R"({auto-expose.kubexx.dev/path: /})"));
  EXPECT_FALSE(ingress(R"({auto-expose.kubexx.dev/path: /bank/web})"));
  EXPECT_FALSE(ingress(R"({auto-expose.kubexx.dev/path: /shopping})"));
  EXPECT_FALSE(ingress(R"({auto-expose.kubexx.dev/path: /shop/../bank})"));
  // "/shop" is the beginning of "/shop-b/web", too, for a controller that compares texts.
  EXPECT_FALSE(ingress(R"({auto-expose.kubexx.dev/path: /shop, auto-expose.kubexx.dev/path-type: ImplementationSpecific})"));
  EXPECT_TRUE(ingress(R"({auto-expose.kubexx.dev/path: /shop/, auto-expose.kubexx.dev/path-type: ImplementationSpecific})"));
  EXPECT_TRUE(ingress(R"({auto-expose.kubexx.dev/path-type: ImplementationSpecific})"));
  EXPECT_FALSE(ingress(R"({auto-expose.kubexx.dev/host: a.example.com})"));
}

TEST(AutoExposePlan, OnOneHostForAllPathsStayBelowTheNamespace) {
  Settings settings = WithDomain();
  settings.host = "apps.{domain}";
  EXPECT_EQ(PlanWith("{}", settings).claim, (Claim{"apps.example.com", "/shop/web"}));
  EXPECT_FALSE(PlanWith(R"({auto-expose.kubexx.dev/path: /bank/web})", settings).ingress);
  EXPECT_FALSE(PlanWith(R"({auto-expose.kubexx.dev/path: /})", settings).ingress);
  settings.path = "/{namespace}";
  const char* loose = R"({auto-expose.kubexx.dev/path-type: ImplementationSpecific})";
  EXPECT_TRUE(PlanWith("{}", settings).ingress);
  EXPECT_FALSE(PlanWith(loose, settings).ingress);
  settings.path_type = "ImplementationSpecific";
  EXPECT_TRUE(PlanWith(loose, settings).ingress);
  settings.path = "/x/{name}(/|$)(.*)";  // the operator may
  EXPECT_EQ(PlanWith("{}", settings).claim, (Claim{"apps.example.com", "/x/web(/|$)(.*)"}));
}

TEST(AutoExposePlan, TheNamespaceMayAllowMore) {
  const NamespacePolicy policy = NamespacePolicy::Of({{"auto-expose.kubexx.dev/allow-hosts", "shop.org, *.shop.org"}});
  const auto plan = [&](std::string_view host, const Settings& settings) {
    return PlanFor(WorkloadOf(MakeDeployment("[{containerPort: 80}]", "{auto-expose.kubexx.dev/host: \"" + std::string(host) + "\"}")),
                   settings, policy);
  };
  EXPECT_TRUE(plan("shop.org", WithDomain()).ingress);
  EXPECT_TRUE(plan("www.shop.org", WithDomain()).ingress);
  EXPECT_FALSE(plan("*.shop.org", WithDomain()).ingress);
  EXPECT_FALSE(plan("bank.org", WithDomain()).ingress);
  Settings settings = WithDomain();
  settings.allowed.hosts_of_namespaces = false;
  EXPECT_FALSE(plan("shop.org", settings).ingress);
}

TEST(AutoExposePlan, LongAnnotationsAreNotRead) {
  for (const std::string name :
       {"port", "host", "path", "ingress-class", "tls-secret", "issuer", "cluster-issuer", "ingress-annotations"}) {
    Deployment deployment = MakeDeployment();
    const std::size_t most = name == "ingress-annotations" ? 32768 : 4096;
    deployment.metadata.annotations["auto-expose.kubexx.dev/" + name] = std::string(most + 1, '/');
    const Plan plan = PlanFor(WorkloadOf(deployment), WithDomain());
    EXPECT_EQ(plan.verdict, Plan::Verdict::kKeep);
    ASSERT_EQ(plan.problems.size(), 1U) << name;
    EXPECT_EQ(plan.problems[0].reason, "InvalidAnnotation");
    EXPECT_THAT(plan.problems[0].message, HasSubstr("longer than " + std::to_string(most) + " bytes")) << name;
  }
}

// Each problem is an event: of very many that are alike, a few are enough.
TEST(AutoExposePlan, VeryManyRefusedKeysAreFewProblems) {
  Deployment deployment = MakeDeployment();
  kube::String& text = deployment.metadata.annotations["auto-expose.kubexx.dev/ingress-annotations"];
  std::string keys;
  for (int i = 1000; i < 2000; ++i) keys += "example.com/k" + std::to_string(i) + ": x\n";
  text = keys;
  const Plan plan = PlanFor(WorkloadOf(deployment), WithDomain());
  EXPECT_FALSE(plan.ingress);
  ASSERT_EQ(plan.problems.size(), 9U);
  for (const Problem& problem : plan.problems) EXPECT_EQ(problem.reason, "IngressAnnotationNotAllowed");
  EXPECT_THAT(plan.problems[0].message, HasSubstr("example.com/k1000"));
  EXPECT_THAT(plan.problems[8].message, HasSubstr("\"992 more keys\" is not allowed"));
}

TEST(AutoExposePlan, AnIngressOfVeryManyRefusedHostsIsFewProblems) {
  Ingress ingress;
  kube::networking::v1::IngressTLS tls;
  for (int i = 0; i < 1000; ++i) {
    const std::string host = "h" + std::to_string(i) + ".bank.com";
    ingress.spec.rules.push_back({.host = host});
    tls.secret_name = host;
    ingress.spec.tls.push_back(tls);
    ingress.metadata.annotations["example.com/" + host] = "x";
  }
  const kube::Result<kube::DynamicObject> live = kube::ToDynamic(ingress);
  ASSERT_TRUE(live);
  std::map<std::string, int> reasons;
  for (const Problem& problem : RefusedOf(ingress, *live, WorkloadOf(MakeDeployment()), WithDomain(), {}, false)) ++reasons[problem.reason];
  EXPECT_THAT(reasons, ElementsAre(Pair("HostNotAllowed", 8), Pair("IngressAnnotationNotAllowed", 8), Pair("TlsSecretNotAllowed", 8)));
}

TEST(AutoExposePlan, PlacesAreFilledInWhereverTheyAre) {
  Settings settings = WithDomain();
  settings.allowed.hosts = {"**"};
  const auto path = [&](std::string_view text) {
    const Plan plan = PlanWith("{auto-expose.kubexx.dev/path: '" + std::string(text) + "'}", settings);
    return plan.ingress ? plan.ingress->spec.rules[0].http->paths[0].path.str() : plan.problems.at(0).reason;
  };
  EXPECT_EQ(path("/{name}{namespace}/x{name}y/{domain}"), "/webshop/xweby/example.com");
  EXPECT_EQ(path("/{nam}"), "PathNotAllowed");
  EXPECT_EQ(path("/{{name}"), "PathNotAllowed");
  EXPECT_EQ(path("/{name"), "PathNotAllowed");
}

TEST(AutoExposePlan, ALongValueIsCutInTheMessage) {
  const Plan plan = PlanWith("{auto-expose.kubexx.dev/path: \"/" + std::string(100000, '(') + "\"}", WithDomain());
  ASSERT_EQ(plan.problems.size(), 1U);
  EXPECT_LT(plan.problems[0].message.size(), 1000U);
}

// ---- Gateway

TEST(AutoExposePlan, GatewayMakesAnHttpRoute) {
  Settings settings = WithDomain();
  settings.exposure = Exposure::kGateway;
  settings.gateway = "public";
  settings.gateway_namespace = "infra";
  const Plan plan = PlanWith("{}", settings);
  EXPECT_FALSE(plan.ingress);
  ASSERT_TRUE(plan.route);
  EXPECT_EQ(kube::ToJson(*plan.route).value(),
            R"({"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute",)"
            R"("metadata":{"labels":{"app.kubernetes.io/managed-by":"auto-expose"},"name":"web","namespace":"shop"},)"
            R"("spec":{"hostnames":["web.shop.example.com"],"parentRefs":[{"name":"public","namespace":"infra"}],)"
            R"("rules":[{"backendRefs":[{"name":"web","port":8080}],"matches":[{"path":{"type":"PathPrefix","value":"/"}}]}]}})");
}

// ---- names, kinds

TEST(AutoExposePlan, NamesThatAServiceCannotHaveAreMadeFit) {
  EXPECT_EQ(ChildName("web"), "web");
  EXPECT_THAT(ChildName("api.v2"), StartsWith("api-v2-"));
  EXPECT_NE(ChildName("api.v2"), ChildName("api-v2"));
  EXPECT_THAT(ChildName("2048"), StartsWith("w-2048-"));
  const std::string longest = ChildName(std::string(253, 'a'));
  EXPECT_EQ(longest.size(), 63U);
  EXPECT_NE(longest, ChildName(std::string(252, 'a')));
}

TEST(AutoExposePlan, StatefulSetsAndDaemonSetsToo) {
  const Deployment deployment = MakeDeployment();
  kube::apps::v1::StatefulSet stateful;
  stateful.metadata = deployment.metadata;
  stateful.spec.selector = deployment.spec.selector;
  stateful.spec.template_ = deployment.spec.template_;
  kube::apps::v1::DaemonSet daemons;
  daemons.metadata = deployment.metadata;
  daemons.spec.selector = deployment.spec.selector;
  daemons.spec.template_ = deployment.spec.template_;
  EXPECT_EQ(WorkloadOf(stateful).gvk.kind, "StatefulSet");
  EXPECT_EQ(WorkloadOf(daemons).gvk.kind, "DaemonSet");
  EXPECT_EQ(*PlanFor(WorkloadOf(stateful), {}).service, *PlanFor(WorkloadOf(deployment), {}).service);
  EXPECT_EQ(*PlanFor(WorkloadOf(daemons), {}).ingress, *PlanFor(WorkloadOf(deployment), {}).ingress);
}

}  // namespace
}  // namespace auto_expose
