// auto-expose, killed (-9) at random moments while 500 Deployments come, change and go and strangers edit and delete their children. At the
// end each Deployment has just the children that its plan says, and nothing is left over: no orphan, no duplicate.
//
// KUBEXX_AUTO_EXPOSE: the program. KUBEXX_CHAOS_SECONDS: how long (45). KUBEXX_SEED: another sequence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/process.h"
#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/networking/v1.h"
#include "kube/base/log.h"
#include "kube/base/thread.h"
#include "kube/client/client.h"
#include "kube/codec/yaml.h"
#include "kube/config/kubeconfig.h"
#include "kube/config/load.h"
#include "kube/testing/api_server.h"
#include "kube/testing/control_plane.h"
#include "kube/transport/decorators.h"
#include "plan.h"
#include "testing/temporary_directory.h"

namespace auto_expose {
namespace {

using kube::Client;
using kube::Context;
using kube::ObjectKey;
using kube::Patch;
using kube::Result;
using kube::String;
using kube::apps::v1::Deployment;
using kube::core::v1::Service;
using kube::networking::v1::Ingress;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kDeployments = 500;
constexpr const char* kNamespace = "chaos";

int Setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

std::string NameOf(unsigned i) { return "d" + std::to_string(i); }

Deployment MakeDeployment(const std::string& name, int port) {
  return kube::FromYaml<Deployment>("metadata: {name: " + name + ", namespace: " + kNamespace + R"(}
spec:
  replicas: 0
  selector: {matchLabels: {app: )" + name +
                                    R"(}}
  template:
    metadata: {labels: {app: )" + name +
                                    R"(}}
    spec: {containers: [{name: main, image: example.com/none, ports: [{containerPort: )" +
                                    std::to_string(port) + "}]}]}\n")
      .value();
}

class AutoExposeChaosTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    kube::LogBackend::Default()->SetSettings(kube::LogSettings::Parse("error").value());
    const char* program = std::getenv("KUBEXX_AUTO_EXPOSE");
    ASSERT_NE(program, nullptr) << "KUBEXX_AUTO_EXPOSE does not say where the program is";
    program_ = program;
    scratch_ = kube::testing::internal::TemporaryDirectory::Create("auto-expose-chaos").value();
    std::string kubeconfig;
    if (std::string(GetParam()) == "real") {
      Result<std::unique_ptr<kube::testing::ControlPlane>> started = kube::testing::ControlPlane::Start(
          Context::Background(),
          {.controller_manager = true,
           .service_account_admission = false,
           .controller_manager_flags = {"--controllers=garbage-collector-controller", "--kube-api-qps=300", "--kube-api-burst=500"}});
      if (!started && started.error().kind() == kube::ErrorKind::kConfig) GTEST_SKIP() << started.error().ToString();
      ASSERT_TRUE(started) << started.error().ToString();
      plane_ = *std::move(started);
      if (plane_->existing()) GTEST_SKIP() << "no chaos in a cluster that was there before";
      kubeconfig = plane_->AdminKubeconfig();
    } else {
      server_ = kube::testing::ApiServer::Start({}).value();
      kubeconfig = server_->Kubeconfig();
    }
    std::ofstream(Path("kubeconfig")) << kubeconfig;
    std::filesystem::permissions(Path("kubeconfig"), std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    kube::ClientConfig config = ToClientConfig(kube::Kubeconfig::Parse(kubeconfig).value()).value();
    config.qps = -1;
    client_ = std::make_unique<Client>(Client::FromConfig(config, {.warning_handler = [](const kube::ApiWarning&) {}}).value());
    kube::core::v1::Namespace ns;
    ns.metadata.name = kNamespace;
    ASSERT_TRUE(client_->Create(Patient(), ns));
    settings_.domain = "example.com";
  }
  void TearDown() override {
    if (process_) End();
    if (HasFailure() && scratch_) {
      std::ifstream log(Path("auto-expose.log"));
      std::vector<std::string> lines;
      for (std::string line; std::getline(log, line);) lines.push_back(line);
      for (std::size_t i = lines.size() > 60 ? lines.size() - 60 : 0; i < lines.size(); ++i) std::printf("%s\n", lines[i].c_str());
    }
  }

  static steady_clock::time_point Soon() { return steady_clock::now() + seconds(60); }
  static Context Patient() { return Context::Background().WithTimeout(seconds(120)); }
  std::string Path(const std::string& file) const { return scratch_->path() + "/" + file; }

  void Start() {
    Result<std::unique_ptr<kube::internal::Process>> started = kube::internal::Process::Start(
        {.argv = {program_, "--kubeconfig", Path("kubeconfig"), "--domain=example.com", "--health-probe-bind-address=0"},
         .log_file = Path("auto-expose.log")});
    ASSERT_TRUE(started) << started.error().ToString();
    process_ = *std::move(started);
  }
  void Kill() {
    EXPECT_FALSE(process_->exit()) << "it ended by itself";
    process_->Signal(SIGKILL);
    EXPECT_TRUE(process_->Wait(Soon()));
    process_.reset();
  }
  void End() {
    process_->Signal(SIGTERM);
    const std::optional<kube::internal::ProcessExit> exit = process_->Wait(Soon());
    EXPECT_TRUE(exit && exit->code == 0 && exit->signal == 0) << (exit ? exit->ToString() : "it does not end");
    process_.reset();
  }

  // One change by another client, which may or may not succeed.
  bool Meddle(const Context& ctx, std::minstd_rand& random) const {
    const std::string name = NameOf(static_cast<unsigned>(random() % kDeployments));
    const ObjectKey key{kNamespace, String(name)};
    const int what = static_cast<int>(random() % 100), port = 1000 + static_cast<int>(random() % 1000);
    const auto change = [&](const std::string& patch) { return client_->Patch<Deployment>(ctx, key, Patch::Json(patch)).ok(); };
    const auto annotate = [&](const std::string& annotations) {
      return client_->Patch<Deployment>(ctx, key, Patch::Merge(R"({"metadata":{"annotations":)" + annotations + "}}")).ok();
    };
    if (what < 25) return client_->Create(ctx, MakeDeployment(name, port)).ok();
    if (what < 33) return client_->Delete<Deployment>(ctx, key).ok();
    if (what < 38) return client_->Delete<Deployment>(ctx, key).ok() && client_->Create(ctx, MakeDeployment(name, port)).ok();
    if (what < 55) {
      return change(R"([{"op":"replace","path":"/spec/template/spec/containers/0/ports/0/containerPort","value":)" + std::to_string(port) +
                    "}]");
    }
    if (what < 63) return annotate(R"({"auto-expose.kubexx.dev/expose":"false"})");
    if (what < 71) return annotate(R"({"auto-expose.kubexx.dev/expose":null})");
    if (what < 76) return annotate(R"({"auto-expose.kubexx.dev/ingress":"none"})");
    if (what < 80) return annotate(R"({"auto-expose.kubexx.dev/ingress":null})");
    if (what < 85) return client_->Delete<Service>(ctx, key).ok();
    if (what < 90) return client_->Delete<Ingress>(ctx, key).ok();
    if (what < 95) {
      return client_->Patch<Service>(ctx, key, Patch::Json(R"([{"op":"replace","path":"/spec/ports/0/port","value":4321}])")).ok();
    }
    return client_->Patch<Ingress>(ctx, key, Patch::Json(R"([{"op":"replace","path":"/spec/rules/0/host","value":"x.example.org"}])")).ok();
  }

  // What is not as it should be; empty if all is.
  std::string Differences() const {
    const auto deployments = client_->List<Deployment>(Patient(), {.ns = kNamespace});
    const auto services = client_->List<Service>(Patient(), {.ns = kNamespace});
    const auto ingresses = client_->List<Ingress>(Patient(), {.ns = kNamespace});
    if (!deployments || !services || !ingresses) return "cannot list";
    std::string out;
    std::map<std::string, std::string> wanted_services, wanted_ingresses;
    for (const Deployment& deployment : *deployments) {
      const Plan plan = PlanFor(WorkloadOf(deployment), settings_);
      const std::string name = deployment.metadata.name.str(), uid = deployment.metadata.uid.str();
      if (plan.service) wanted_services[name] = uid + " " + std::to_string(plan.service->spec.ports[0].port);
      if (plan.ingress) wanted_ingresses[name] = uid + " " + plan.ingress->spec.rules[0].host.str();
    }
    const auto owner = [](const auto& object) {
      const auto& references = object.metadata.owner_references;
      return references.size() == 1 ? references[0].uid.str() : std::to_string(references.size()) + " owners";
    };
    std::map<std::string, std::string> live_services, live_ingresses;
    for (const Service& service : *services) {
      std::string ports;
      for (const auto& port : service.spec.ports) ports += " " + std::to_string(port.port);
      live_services[service.metadata.name.str()] = owner(service) + ports;
    }
    for (const Ingress& ingress : *ingresses) {
      live_ingresses[ingress.metadata.name.str()] = owner(ingress) + " " + ingress.spec.rules[0].host.str();
    }
    const auto compare = [&](const char* kind, const auto& wanted, const auto& live) {
      for (const auto& [name, text] : wanted) {
        const auto found = live.find(name);
        if (found == live.end()) {
          out += std::string(kind) + " " + name + " is missing\n";
        } else if (found->second != text) {
          out += std::string(kind) + " " + name + " is " + found->second + ", not " + text + "\n";
        }
      }
      for (const auto& [name, text] : live) {
        if (wanted.count(name) == 0) out += std::string(kind) + " " + name + " (" + text + ") is left over\n";
      }
    };
    compare("Service", wanted_services, live_services);
    compare("Ingress", wanted_ingresses, live_ingresses);
    return out.substr(0, 2000);
  }
  std::string WaitUntilSettled() const {
    const auto until = steady_clock::now() + seconds(180);
    for (;;) {
      std::string differences = Differences();
      if (differences.empty() || steady_clock::now() > until) return differences;
      (void)Context::Background().SleepFor(milliseconds(200));
    }
  }

  std::string program_;
  Settings settings_;
  std::unique_ptr<kube::testing::internal::TemporaryDirectory> scratch_;
  std::unique_ptr<kube::testing::ControlPlane> plane_;
  std::unique_ptr<kube::testing::ApiServer> server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<kube::internal::Process> process_;
};

TEST_P(AutoExposeChaosTest, KilledAtAnyMomentItConverges) {
  const auto seed = static_cast<unsigned>(Setting("KUBEXX_SEED", 1));
  std::printf("seed %u (KUBEXX_SEED)\n", seed);
  for (unsigned i = 0; i < kDeployments; ++i) ASSERT_TRUE(client_->Create(Patient(), MakeDeployment(NameOf(i), 8080)));
  int changes = 0, kills = 0;
  {
    auto [changing, stop] = Context::Background().WithCancel();
    const kube::Thread writer("churn", [&, ctx = changing] {
      std::minstd_rand random(seed);
      while (!ctx.stopped()) {
        changes += Meddle(ctx.WithTimeout(seconds(5)), random) ? 1 : 0;
        (void)ctx.SleepFor(milliseconds(5));
      }
    });
    std::minstd_rand random(seed + 1);
    const auto until = steady_clock::now() + seconds(Setting("KUBEXX_CHAOS_SECONDS", 45));
    while (steady_clock::now() < until && !HasFailure()) {
      Start();
      (void)Context::Background().SleepFor(milliseconds(random() % 3000));
      Kill();
      ++kills;
    }
    stop.Cancel();
  }
  Start();
  const auto end = steady_clock::now();
  EXPECT_EQ(WaitUntilSettled(), "");
  std::printf("%d changes, killed %d times; right after %.1f s\n", changes, kills,
              std::chrono::duration<double>(steady_clock::now() - end).count());
  End();
}

INSTANTIATE_TEST_SUITE_P(Server, AutoExposeChaosTest, ::testing::Values("embedded", "real"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace auto_expose
