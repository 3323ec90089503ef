// The reflector against the embedded API server, with faults: whatever happens on the way, the sink ends equal to the server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "cache/reflector.h"
#include "cache/scripted_source_test_util.h"
#include "kube/base/thread.h"
#include "kube/client/client.h"
#include "kube/config/kubeconfig.h"
#include "kube/config/load.h"
#include "kube/testing/api_server.h"
#include "kube/transport/transport_errors.h"

namespace kube::internal {
namespace {

using core::v1::Pod;
using testing::ApiServer;
using testing::Fault;
using testing::FaultKind;

// One server, one reflector, and what the server should have.
class ReflectorServerFixture : public ::testing::Test {
 protected:
  using Content = std::map<std::string, std::string>;

  void SetUp() override {
    Result<std::unique_ptr<ApiServer>> started = ApiServer::Start();
    ASSERT_TRUE(started) << started.error().ToString();
    server_ = *std::move(started);
    ClientConfig config = ToClientConfig(Kubeconfig::Parse(server_->Kubeconfig()).value()).value();
    config.qps = -1;
    client_ = std::make_unique<Client>(Client::FromConfig(config).value());
    for (int i = 0; i < 20; ++i) Create("pod-" + std::to_string(i));
  }
  void TearDown() override {
    stop_.second.Cancel();
    if (thread_.joinable()) thread_.Join();
  }

  void StartReflector(bool streamed) {
    ReflectorOptions options;
    options.form = &ObjectForm::Of<Pod>();
    options.what = "pods";
    options.watch_list = streamed;
    options.backoff = {
        .duration = std::chrono::milliseconds(1), .factor = 2, .jitter = 1, .steps = 5, .cap = std::chrono::milliseconds(20)};
    options.log = Logger("cache.reflector", std::make_shared<LogBackend>(log_, LogSettings{.everything = {.verbosity = 9}}));
    const ResourceTarget target{.gvr = GvrOf<Pod>(), .gvk = GvkOf<Pod>(), .type = &Pod::kType, .namespaced = true};
    reflector_ =
        std::make_unique<Reflector>(MakeClientSource(client_->shared_core(), target, ObjectForm::Of<Pod>()), sink_, std::move(options));
    thread_ = Thread("reflector", [this] { reflector_->Run(stop_.first); });
  }
  ::testing::AssertionResult EndsEqual() {
    if (sink_.WaitForContent(model_)) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "the sink has " << sink_.content().size() << " objects, the server " << model_.size() << "\n"
                                         << log_->text();
  }

  // Connections may be cut at any time here; a call that never reached the server is made again.
  template <typename Call>
  auto Insist(Call call) {
    auto result = call();
    for (int i = 0; i < 5 && !result && IsProbableEof(result.error()); ++i) result = call();
    EXPECT_TRUE(result) << result.error().ToString();
    return result;
  }
  void Note(const Pod& pod) { model_["default/" + pod.metadata.name.str()] = pod.metadata.resource_version.str(); }
  void Create(const std::string& name) {
    Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = "default";
    pod.spec.containers = {{.name = "app", .image = "x"}};
    Note(Insist([&] { return client_->Create(Context::Background(), pod); }).value());
  }
  void Touch(const std::string& name) {
    const Patch patch = Patch::Merge(R"({"metadata":{"labels":{"touched":")" + std::to_string(++touched_) + R"("}}})");
    Note(Insist([&] { return client_->Patch<Pod>(Context::Background(), {"default", name}, patch); }).value());
  }
  void Delete(const std::string& name) {
    (void)Insist([&] { return client_->Delete<Pod>(Context::Background(), {"default", name}, {.grace_period_seconds = 0}); });
    model_.erase("default/" + name);
  }

  std::unique_ptr<ApiServer> server_;
  std::unique_ptr<Client> client_;
  Content model_;
  int touched_ = 0;
  RecordingSink sink_;
  std::shared_ptr<RecordingLog> log_ = std::make_shared<RecordingLog>();
  std::unique_ptr<Reflector> reflector_;
  std::pair<Context, CancelSource> stop_ = Context::Background().WithCancel();
  Thread thread_;
};

struct FaultCase {
  const char* name;
  Fault fault;
};

class ReflectorFaultTest : public ReflectorServerFixture, public ::testing::WithParamInterface<std::tuple<bool, FaultCase>> {};

TEST_P(ReflectorFaultTest, TheSinkEndsEqualToTheServer) {
  const auto& [streamed, fault_case] = GetParam();
  // From the start.
  const int first = server_->AddFault(fault_case.fault);
  StartReflector(streamed);
  Touch("pod-0");
  if (fault_case.fault.kind == FaultKind::kStall) server_->RemoveFault(first);
  ASSERT_TRUE(EndsEqual());

  // While watching: the next watch meets the fault, and the server changes meanwhile.
  const int second = server_->AddFault(fault_case.fault);
  server_->CloseConnections();
  Create("late");
  Touch("pod-3");
  Touch("late");
  Delete("pod-7");
  Delete("pod-8");
  Create("pod-8");
  if (fault_case.fault.kind == FaultKind::kStall) server_->RemoveFault(second);
  ASSERT_TRUE(EndsEqual());
  Touch("pod-1");
  ASSERT_TRUE(EndsEqual());
}

const FaultCase kFaults[] = {
    {"None", {.verb = "none"}},
    {"WatchGone", {.verb = "watch", .kind = FaultKind::kGone, .times = 3}},
    {"ListGone", {.verb = "list", .kind = FaultKind::kGone}},
    {"WatchTooManyRequests", {.verb = "watch", .kind = FaultKind::kStatus, .status = 429, .times = 3}},
    {"WatchRetryAfter", {.verb = "watch", .kind = FaultKind::kStatus, .status = 429, .retry_after_seconds = 1}},
    {"ListRetryAfter", {.verb = "list", .kind = FaultKind::kStatus, .status = 429, .retry_after_seconds = 1}},
    {"WatchInternalError", {.verb = "watch", .kind = FaultKind::kStatus, .status = 500, .times = 3}},
    {"WatchForbidden", {.verb = "watch", .kind = FaultKind::kStatus, .status = 403, .times = 3}},
    {"WatchCutAtOnce", {.verb = "watch", .kind = FaultKind::kCut, .bytes = 10, .times = 3}},
    {"WatchCutInTheMiddle", {.verb = "watch", .kind = FaultKind::kCut, .bytes = 1500, .times = 3}},
    {"ListCut", {.verb = "list", .kind = FaultKind::kCut, .bytes = 1500}},
    {"WatchDropped", {.verb = "watch", .kind = FaultKind::kDrop}},
    {"ListDropped", {.verb = "list", .kind = FaultKind::kDrop}},
    {"WatchStalls", {.verb = "watch", .kind = FaultKind::kStall}},
    {"ListStalls", {.verb = "list", .kind = FaultKind::kStall}},
};

INSTANTIATE_TEST_SUITE_P(Faults, ReflectorFaultTest, ::testing::Combine(::testing::Bool(), ::testing::ValuesIn(kFaults)),
                         [](const ::testing::TestParamInfo<ReflectorFaultTest::ParamType>& test) {
                           return std::string(std::get<1>(test.param).name) + (std::get<0>(test.param) ? "Streamed" : "Listed");
                         });

class ReflectorServerTest : public ReflectorServerFixture, public ::testing::WithParamInterface<bool> {};

TEST_P(ReflectorServerTest, SurvivesACompaction) {
  StartReflector(GetParam());
  ASSERT_TRUE(EndsEqual());
  server_->CloseConnections();
  Delete("pod-2");
  Create("late");
  server_->Compact();
  server_->CloseConnections();
  ASSERT_TRUE(EndsEqual());
}

TEST_P(ReflectorServerTest, SurvivesAServerThatLosesEverything) {
  StartReflector(GetParam());
  ASSERT_TRUE(EndsEqual());
  ASSERT_TRUE(server_->Restart(false));
  model_.clear();
  ASSERT_TRUE(EndsEqual());
  Create("after");
  ASSERT_TRUE(EndsEqual());
}

TEST_P(ReflectorServerTest, ARefusingServerIsOneWarningAndNoList) {
  StartReflector(GetParam());
  ASSERT_TRUE(EndsEqual());
  ASSERT_TRUE(log_->WaitFor("to=\"watching\""));
  Touch("pod-0");  // a watch without an event would be a very short one
  ASSERT_TRUE(EndsEqual());
  const std::uint64_t lists = reflector_->status().lists;
  server_->Refuse();
  server_->CloseConnections();
  ASSERT_TRUE(log_->WaitFor("\"Waiting\"", 5)) << log_->text();
  EXPECT_EQ(log_->Count("W "), 1U) << log_->text();
  ASSERT_TRUE(server_->Accept());
  Touch("pod-1");
  ASSERT_TRUE(EndsEqual());
  EXPECT_EQ(log_->Count("works again"), 1U) << log_->text();
  EXPECT_EQ(reflector_->status().lists, lists) << "it went on where it was";
}

TEST_P(ReflectorServerTest, SharesEqualParts) {
  StartReflector(GetParam());
  ASSERT_TRUE(EndsEqual());
  ASSERT_TRUE(log_->WaitFor("to=\"watching\""));
  EXPECT_GT(reflector_->sharing().lookups, 0U);
}

TEST_P(ReflectorServerTest, StopsPromptlyWhileItWatches) {
  StartReflector(GetParam());
  ASSERT_TRUE(EndsEqual());
  ASSERT_TRUE(log_->WaitFor("to=\"watching\""));
  const auto before = std::chrono::steady_clock::now();
  stop_.second.Cancel();
  thread_.Join();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::minutes(2));  // a watch ends by itself after five at the earliest
  EXPECT_EQ(reflector_->status().state, ReflectorState::kStopped);
}

INSTANTIATE_TEST_SUITE_P(Modes, ReflectorServerTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& test) { return std::string(test.param ? "Streamed" : "Listed"); });

}  // namespace
}  // namespace kube::internal
