// auto-expose at work, on the embedded server and on real ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "client/server_test_util.h"
#include "control/desired_test_util.h"
#include "control/late_watch_test_util.h"
#include "exposer.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/api/events/v1.h"
#include "kube/base/thread.h"
#include "kube/codec/yaml.h"
#include "kube/control/manager.h"
#include "kube/meta/owner_reference.h"
#include "plan.h"

namespace auto_expose {
namespace {

using kube::Client;
using kube::Context;
using kube::ObjectKey;
using kube::Result;
using kube::String;
using kube::apps::v1::Deployment;
using kube::core::v1::Namespace;
using kube::core::v1::Service;
using kube::networking::v1::Ingress;
using ::testing::HasSubstr;

std::int32_t Port(const Service& service) { return service.spec.ports.empty() ? 0 : service.spec.ports[0].port; }
std::string Host(const Ingress& ingress) { return ingress.spec.rules.empty() ? "" : ingress.spec.rules[0].host.str(); }
// The Service and the port that the first rule leads to.
std::pair<std::string, std::int32_t> Backend(const Ingress& ingress) {
  if (ingress.spec.rules.empty() || !ingress.spec.rules[0].http || ingress.spec.rules[0].http->paths.empty()) return {};
  const auto& service = ingress.spec.rules[0].http->paths[0].backend.service;
  return service ? std::pair(service->name.str(), service->port.number) : std::pair<std::string, std::int32_t>();
}

class AutoExposeServerTest : public kube::internal::ServerTest {
 protected:
  void SetUp() override {
    ServerTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    client_.emplace(NewClient());
    Namespace ns;
    ns.metadata.generate_name = "expose-";
    const Result<Namespace> made = client_->Create(Patient(), ns);
    ASSERT_TRUE(made) << made.error().ToString();
    ns_ = made->metadata.name.str();
    settings_.namespaces = {ns_};
    settings_.domain = "example.com";
  }
  void TearDown() override {
    End();
    if (client_ && !ns_.empty()) (void)client_->Delete<Namespace>(Patient(), {"", String(ns_)});
  }

  // Starts auto-expose; its requests are counted.
  void Start() {
    End();
    kube::ManagerOptions options;
    options.informers.ns = ns_;
    options.preflight = kube::Preflight::kSkip;
    const auto wrap = [requests = requests_, gate = gate_](std::shared_ptr<kube::Transport> next) -> std::shared_ptr<kube::Transport> {
      return std::make_shared<kube::LateWatches>(std::make_shared<kube::internal::CountingTransport>(std::move(next), requests), gate);
    };
    manager_ = std::make_unique<kube::Manager>(NewClient({.wrap_transport = wrap}), options);
    const Result<void> added = AddExposer(*manager_, {.settings = settings_, .workers = 2});
    ASSERT_TRUE(added) << added.error().ToString();
    auto running = Context::Background().WithCancel();
    cancel_.emplace(std::move(running.second));
    thread_ = kube::Thread("auto-expose", [this, run = running.first] { ran_ = manager_->Run(run); });
  }
  void End() {
    if (manager_ == nullptr) return;
    cancel_->Cancel();
    thread_.Join();
    EXPECT_TRUE(ran_) << ran_.error().ToString();
    manager_.reset();
  }

  static bool Eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(90);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  // A pass over this workload has ended, and no other one waits.
  bool Reconciled(const std::string& name) {
    return Eventually([&] {
      const kube::ControllerStatus status = manager_->controller("auto-expose-deployments")->status(1000);
      for (const auto& entry : status.queue.entries) {
        if (entry.key == Key(name)) return false;
      }
      for (const kube::KeyReport& report : status.recent) {
        if (report.key == Key(name)) return true;
      }
      return false;
    });
  }

  Deployment MakeDeployment(const std::string& name, const std::string& annotations = "{}",
                            const std::string& ports = "[{containerPort: 8080}]") {
    const std::string yaml = "metadata: {name: " + name + ", namespace: " + ns_ + ", annotations: " + annotations + R"(}
spec:
  replicas: 1
  selector: {matchLabels: {app: )" +
                             name + R"(}}
  template:
    metadata: {labels: {app: )" +
                             name + R"(}}
    spec:
      containers:
      - name: main
        image: web:1
        ports: )" + ports + "\n";
    Result<Deployment> made = kube::FromYaml<Deployment>(yaml);
    EXPECT_TRUE(made) << made.error().ToString();
    return made ? *made : Deployment();
  }
  Deployment Create(const Deployment& deployment) {
    Result<Deployment> made = client_->Create(Patient(), deployment);
    EXPECT_TRUE(made) << made.error().ToString();
    return made ? *made : Deployment();
  }
  template <typename T>
  void Patch(const std::string& name, const std::string& merge) {
    const Result<T> patched = client_->Patch<T>(Patient(), Key(name), kube::Patch::Merge(merge), {.field_manager = "somebody"});
    ASSERT_TRUE(patched) << patched.error().ToString();
  }
  ObjectKey Key(const std::string& name) const { return {String(ns_), String(name)}; }
  template <typename T>
  std::optional<T> Get(const std::string& name) const {
    Result<T> found = client_->Get<T>(Patient(), Key(name));
    if (found) return *found;
    EXPECT_TRUE(kube::IsNotFound(found.error())) << found.error().ToString();
    return std::nullopt;
  }
  template <typename T>
  bool Appears(
      const std::string& name, const std::function<bool(const T&)>& as = [](const T&) { return true; }) const {
    return Eventually([&] {
      const std::optional<T> found = Get<T>(name);
      return found && found->metadata.deletion_timestamp.IsZero() && as(*found);
    });
  }
  template <typename T>
  bool Goes(const std::string& name) const {
    return Eventually([&] { return !Get<T>(name); });
  }
  // "Warning NoPort ..." about the object.
  std::vector<std::string> Events(const std::string& name) const {
    std::vector<std::string> texts;
    const auto events = client_->List<kube::events::v1::Event>(Patient(), {.ns = ns_});
    EXPECT_TRUE(events) << events.error().ToString();
    for (const kube::events::v1::Event& event : events->items) {
      if (event.regarding.name == name) texts.push_back(event.type.str() + " " + event.reason.str() + " " + event.note.str());
    }
    return texts;
  }
  bool Told(const std::string& name, const std::string& beginning, const std::string& part = "") const {
    const bool told = Eventually([&] {
      for (const std::string& text : Events(name)) {
        if (text.starts_with(beginning) && text.find(part) != std::string::npos) return true;
      }
      return false;
    });
    if (!told) {
      for (const std::string& text : Events(name)) ADD_FAILURE() << "event: " << text;
    }
    return told;
  }

  Settings settings_;
  std::string ns_;
  std::optional<Client> client_;
  std::shared_ptr<kube::internal::RequestCount> requests_ = std::make_shared<kube::internal::RequestCount>();
  std::shared_ptr<kube::WatchGate> gate_ = std::make_shared<kube::WatchGate>();
  std::unique_ptr<kube::Manager> manager_;
  std::optional<kube::CancelSource> cancel_;
  kube::Thread thread_;
  Result<void> ran_;
};

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

// The watch of children is ahead of that of workloads: for a moment all looks as if somebody had deleted the Service alone.
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
  (void)client_->Delete<Service>(Patient(), Key("web"));  // where nobody collects garbage, or before it does
  EXPECT_TRUE(Eventually([&] { return runs() > before; }));
  EXPECT_TRUE(Reconciled("web"));
  EXPECT_EQ(requests_->TakeWrites(), 0);
  EXPECT_TRUE(kube::IsNotFound(client_->Get<Service>(Patient(), Key("web")).error()));
  gate_->Open();
}

TEST_P(AutoExposeServerTest, ChangesOfPortAndAnnotationsAreFollowed) {
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
  ASSERT_TRUE(Appears<Ingress>("web"));
  EXPECT_EQ(Get<Service>("web")->metadata.resource_version, made->metadata.resource_version);
  EXPECT_THAT(manager_->metrics()->Render(), HasSubstr(R"(auto_expose_changes_total{kind="Service",outcome="conflict"})"));
  // When it goes, there is room.
  ASSERT_TRUE(client_->Delete<Service>(Patient(), Key("web")));
  EXPECT_TRUE(Appears<Service>(
      "web", [](const Service& s) { return s.spec.selector.Get("app") == "web" && !s.metadata.owner_references.empty(); }));
}

TEST_P(AutoExposeServerTest, OfTwoThatWantAHostTheOlderHasIt) {
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
