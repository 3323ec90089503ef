#include "rotation_cluster.h"

#include <cstdio>
#include <fstream>
#include <sstream>

#include "kube/api/admissionregistration/v1.h"
#include "kube/api/core/v1.h"
#include "kube/base/log.h"
#include "kube/config/kubeconfig.h"
#include "kube/config/load.h"
#include "kube/transport/decorators.h"
#include "kube/transport/transport.h"
#include "kube/value/time.h"

namespace kube::rotation {

using admissionregistration::v1::MutatingWebhookConfiguration;
using admissionregistration::v1::ValidatingWebhookConfiguration;
using core::v1::ConfigMap;
using core::v1::Namespace;
using core::v1::Secret;
using internal::CaState;
using internal::Patience;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::ControlPlane;

namespace {

constexpr int kReplicas = 3;
constexpr milliseconds kHandshakePause(50);

}  // namespace

double MillisSince(steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(steady_clock::now() - begin).count();
}

void RotationCluster::SetUp() {
  LogBackend::Default()->SetSettings(LogSettings::Parse("error").value());
  scratch_ = testing::internal::TemporaryDirectory::Create("kubexx-rotation").value();
  std::string kubeconfig;
  if (embedded()) {
    server_ = apiserver::ApiServer::Start().value();
    kubeconfig = server_->Kubeconfig();
  } else {
    Result<std::unique_ptr<ControlPlane>> started =
        ControlPlane::Start(Context::Background(), {.version = GetParam(), .log_dir = scratch_->path()});
    if (!started && started.error().kind() == ErrorKind::kConfig) GTEST_SKIP() << started.error().ToString();
    ASSERT_TRUE(started) << started.error().ToString();
    plane_ = *std::move(started);
    kubeconfig = plane_->AdminKubeconfig();
  }
  std::ofstream(scratch_->path() + "/kubeconfig") << kubeconfig;
  config_ = ToClientConfig(Kubeconfig::Parse(kubeconfig).value()).value();
  config_.qps = -1;
  admin_ = std::make_unique<Client>(NewClient());
  Namespace ns;
  ns.metadata.name = ns_;
  ns.metadata.labels["hooks"] = ns_;
  ASSERT_TRUE(admin_->Create(Patience(), ns));
}

void RotationCluster::TearDown() {
  if (HasFailure() && replicas_) std::printf("%s", replicas_->Logs(40).c_str());
  if (HasFailure() && plane_) std::printf("%s\n", plane_->Logs(20).c_str());
  replicas_.reset();
}

Client RotationCluster::NewClient() const {
  return Client::FromConfig(config_, {.warning_handler = [](const ApiWarning&) {}, .max_retries = 0}).value();
}

void RotationCluster::StartReplicas(const WebhookCertificateTimes& times) {
  const auto time = [](std::chrono::nanoseconds value) { return Duration(value).ToString(); };
  const auto began = steady_clock::now();
  replicas_ = std::make_unique<Replicas>(kReplicas, scratch_->path(),
                                         std::vector<std::string>{
                                             "--kubeconfig",
                                             scratch_->path() + "/kubeconfig",
                                             "--own-namespace",
                                             ns_,
                                             "--url",
                                             proxy_.url(),
                                             "--webhook-name",
                                             ns_,
                                             "--webhook-port",
                                             "0",
                                             "--ca-lifetime",
                                             time(times.ca_lifetime),
                                             "--leaf-lifetime",
                                             time(times.leaf_lifetime),
                                             "--injection-wait",
                                             time(times.injection_wait),
                                             "--clock-skew",
                                             time(times.clock_skew),
                                             "--ready-wait",
                                             time(times.ready_wait),
                                             "--webhook-install",
                                             "--webhook-bind-address=127.0.0.1",
                                             "--health-probe-bind-address=127.0.0.1:0",
                                         },
                                         proxy_);
  ASSERT_TRUE(WaitFor([&] { return replicas_->first_port().has_value() || !replicas_->tally().mistakes.empty(); }));
  ASSERT_TRUE(replicas_->first_port()) << replicas_->Logs(20);
  const double serving = std::chrono::duration<double, std::milli>(*replicas_->first_port() - began).count();
  ASSERT_TRUE(WaitFor([&] { return CreateMap(*admin_, ns_, "first").empty(); }));
  const double called = MillisSince(began);
  ASSERT_TRUE(WaitFor([&] { return replicas_->AllReady(); })) << replicas_->Logs(20);
  std::printf("from start on an empty cluster: port %.0f ms, first call %.0f ms, all three ready %.0f ms\n", serving, called,
              MillisSince(began));
  EXPECT_LT(called, 20'000);
}

void RotationCluster::EndReplicas() {
  replicas_->Finish();
  replicas_.reset();
  ASSERT_TRUE(DeleteSecret());
  ASSERT_TRUE(admin_->Delete<ValidatingWebhookConfiguration>(Patience(), {"", String(ns_)}));
  ASSERT_TRUE(admin_->Delete<MutatingWebhookConfiguration>(Patience(), {"", String(ns_)}));
}

bool RotationCluster::WaitFor(const std::function<bool()>& condition) const {
  const Context ctx = Context::Background().WithTimeout(std::chrono::minutes(10));
  while (!condition()) {
    if (!ctx.SleepFor(milliseconds(10))) return false;
  }
  return true;
}

void RotationCluster::PutCa(const WebhookCertificateTimes& times, std::chrono::nanoseconds age) const {
  const auto made_at = Clock::Real()->WallNow() - std::chrono::duration_cast<Clock::WallTime::duration>(age);
  Secret secret;
  secret.metadata.namespace_ = ns_;
  secret.metadata.name = ns_ + "-webhook-ca";
  secret.data["ca.json"] = CaState::Create(ns_, times, made_at).value().ToJson();
  ASSERT_TRUE(admin_->Create(Patience(), secret));
}

Result<CaState> RotationCluster::Ca() const {
  const Result<Secret> secret = admin_->Get<Secret>(Patience(), {String(ns_), String(ns_ + "-webhook-ca")});
  if (!secret) return secret.error();
  const auto* const json = secret->data.Find("ca.json");
  return CaState::Parse(json == nullptr ? "" : json->view());
}

Result<void> RotationCluster::DeleteSecret() const {
  return admin_->Delete<Secret>(Patience(), {String(ns_), String(ns_ + "-webhook-ca")});
}

std::string RotationCluster::Bundle() const {
  const auto now = admin_->Get<ValidatingWebhookConfiguration>(Patience(), {"", String(ns_)});
  return !now || now->webhooks.empty() ? "" : std::string(now->webhooks[0].client_config.ca_bundle.view());
}

std::string RotationCluster::CreateMap(const Client& client, const std::string& ns, const std::string& name) const {
  ConfigMap map;
  map.metadata.name = name;
  map.metadata.namespace_ = ns;
  map.data["a"] = "b";
  const Result<ConfigMap> made = client.Create(Patience(), map, {.dry_run = true});
  if (!made) return made.error().ToString();
  return made->data.Find("defaulted") == nullptr ? "it was not defaulted" : "";
}

std::unique_ptr<Load> RotationCluster::StartCreates(int threads) {
  std::vector<Client> clients;
  for (int i = 0; i < threads; ++i) clients.push_back(NewClient());
  return std::make_unique<Load>(threads, [this, clients](const Context&, int thread) {
    return CreateMap(clients[static_cast<std::size_t>(thread)], ns_, "load-" + std::to_string(thread));
  });
}

std::unique_ptr<Load> RotationCluster::StartHandshakes() const {
  auto count = std::make_shared<std::atomic<int>>(0);
  return std::make_unique<Load>(2, [this, count](const Context& ctx, int) -> std::string {
    (void)ctx.SleepFor(kHandshakePause);
    ClientConfig config;
    config.host = proxy_.url();
    config.tls.ca_data = Bundle();
    if (++*count % 2 == 0) config.tls.server_name = ns_ + "-webhook." + ns_ + ".svc";
    const Result<Client> client = Client::FromConfig(config, {.max_retries = 0});
    if (!client) return client.error().ToString();
    HttpRequest request;
    request.target = "/";
    const Result<HttpResponse> answer = client->transport()->RoundTrip(Patience(), std::move(request));
    return answer ? "" : answer.error().ToString();
  });
}

RotationCluster::AdmissionCalls RotationCluster::CountedByServer() const {
  AdmissionCalls out;
  if (embedded()) return out;
  HttpRequest request;
  request.target = "/metrics";
  const Result<HttpResponse> answer = admin_->Raw(Patience(), std::move(request));
  if (!answer) return out;
  std::istringstream lines(answer->body);
  const std::string own = "." + ns_ + ".example.com\"";
  for (std::string line; std::getline(lines, line);) {
    if (line.find(own) == std::string::npos) continue;
    const double value = std::strtod(line.c_str() + line.rfind(' '), nullptr);
    if (line.rfind("apiserver_admission_webhook_request_total{", 0) == 0) out.calls += value;
    if (line.rfind("apiserver_admission_webhook_rejection_count{", 0) == 0) out.failed += value;
  }
  return out;
}

int RotationCluster::LoggedByServer(const std::vector<std::string>& words) const {
  if (!plane_) return 0;
  int count = 0;
  std::istringstream lines(plane_->Log(ControlPlane::Part::kApiServer, 10'000'000));
  for (std::string line; std::getline(lines, line);) {
    bool all = true;
    for (const std::string& word : words) all = all && line.find(word) != std::string::npos;
    if (all && ++count <= 3) std::printf("kube-apiserver: %s\n", line.c_str());
  }
  return count;
}

}  // namespace kube::rotation
