// A real control plane is started here: these tests are skipped where its programs are not on the machine.
#include "kube/testing/control_plane.h"

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/helper_test_util.h"
#include "kube/codec/json.h"
#include "testing/assets.h"
#include "testing/http.h"
#include "testing/temporary_directory.h"

namespace kube::testing {
namespace {

using internal::HttpAnswer;
using internal::HttpCaller;
using internal::HttpIdentity;
using ::testing::HasSubstr;
using Part = ControlPlane::Part;

Context Soon() { return Context::Background().WithTimeout(std::chrono::minutes(2)); }

#define SKIP_WITHOUT_PROGRAMS(...)                                               \
  if (Result<std::string> found = FindControlPlaneAssets(__VA_ARGS__); !found) { \
    GTEST_SKIP() << found.error().message();                                     \
  }

HttpIdentity IdentityOf(const std::string& kubeconfig) {
  Result<internal::ExistingCluster> read = internal::ReadKubeconfig(kubeconfig, "/");
  EXPECT_TRUE(read) << read.error().ToString();
  return read ? read->identity : HttpIdentity{};
}

int CodeOf(const ControlPlane& plane, const HttpIdentity& who, const std::string& path, const std::string& method = "GET",
           const std::string& body = "") {
  HttpCaller caller(who);
  Result<HttpAnswer> answer = caller.Do({.method = method,
                                         .url = plane.url() + path,
                                         .headers = {{"Content-Type", "application/json"}},
                                         .body = body,
                                         .timeout = std::chrono::seconds(10)});
  return answer ? answer->status : 0;
}

bool IsAlive(int pid) { return pid > 0 && (kill(pid, 0) == 0 || errno != ESRCH); }

// Waits until it has exited, or is dead and not yet reaped by its new parent.
bool WaitUntilDead(int pid) {
  for (int i = 0; i < 2000; ++i) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    if (!std::getline(stat, text)) return true;
    if (text.compare(text.rfind(')') + 2, 1, "Z") == 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

constexpr const char* kConfigMap = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kept"}})";

// One control plane for most of these tests, for starting one takes seconds.
class ControlPlaneTest : public ::testing::Test {
 protected:
  static void TearDownTestSuite() {
    if (plane_ == nullptr) return;
    const std::string directory = plane_->directory();
    std::vector<int> pids;
    for (Part part : {Part::kEtcd, Part::kApiServer}) pids.push_back(plane_->pid(part));
    plane_.reset();
    EXPECT_FALSE(std::filesystem::exists(directory));
    for (int pid : pids) EXPECT_FALSE(IsAlive(pid));
  }
  void SetUp() override {
    SKIP_WITHOUT_PROGRAMS();
    if (plane_ == nullptr) {
      Result<std::unique_ptr<ControlPlane>> started =
          ControlPlane::Start(Soon(), {.progress = [](std::string_view line) { progress_ += std::string(line) + "\n"; }});
      ASSERT_TRUE(started) << started.error().ToString();
      plane_ = std::move(*started);
    }
    admin_ = IdentityOf(plane_->AdminKubeconfig());
  }
  void TearDown() override {
    if (HasFailure() && plane_ != nullptr) std::cout << plane_->Logs();
  }

  static std::unique_ptr<ControlPlane> plane_;
  static std::string progress_;
  HttpIdentity admin_;
};
std::unique_ptr<ControlPlane> ControlPlaneTest::plane_;
std::string ControlPlaneTest::progress_;

TEST_F(ControlPlaneTest, StartsAndServes) {
  EXPECT_THAT(plane_->url(), HasSubstr("https://127.0.0.1:"));
  EXPECT_THAT(plane_->version(), HasSubstr("v1."));
  EXPECT_FALSE(plane_->existing());
  EXPECT_TRUE(plane_->running(Part::kEtcd));
  EXPECT_TRUE(plane_->running(Part::kApiServer));
  EXPECT_FALSE(plane_->running(Part::kControllerManager));
  EXPECT_THAT(progress_, HasSubstr("kube-apiserver: ready after"));
  EXPECT_EQ(CodeOf(*plane_, admin_, "/api/v1/namespaces/default"), 200);
  EXPECT_THAT(plane_->Log(Part::kApiServer), HasSubstr("Serving securely"));
  EXPECT_THAT(plane_->Logs(), HasSubstr("the end of the log of etcd"));
}

TEST_F(ControlPlaneTest, PodsAreAcceptedWithoutAControllerManager) {
  const std::string pod = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"i"}]}})";
  EXPECT_EQ(CodeOf(*plane_, admin_, "/api/v1/namespaces/default/pods", "POST", pod), 201);
}

TEST_F(ControlPlaneTest, UsersMayWhatRbacAllows) {
  Result<std::string> stranger = plane_->UserKubeconfig("jane", {"team-a"});
  ASSERT_TRUE(stranger) << stranger.error().ToString();
  EXPECT_EQ(CodeOf(*plane_, IdentityOf(*stranger), "/api/v1/namespaces"), 403);
  Result<std::string> master = plane_->UserKubeconfig("joe", {"team-a", "system:masters"});
  ASSERT_TRUE(master);
  EXPECT_EQ(CodeOf(*plane_, IdentityOf(*master), "/api/v1/namespaces"), 200);
  EXPECT_EQ(CodeOf(*plane_, {.ca_pem = plane_->ca_pem()}, "/api/v1/namespaces"), 403);
}

TEST_F(ControlPlaneTest, ServiceAccountsGetTokens) {
  Result<std::string> robot = plane_->ServiceAccountKubeconfig(Soon(), "default", "robot");
  ASSERT_TRUE(robot) << robot.error().ToString();
  HttpCaller caller(IdentityOf(*robot));
  Result<HttpAnswer> answer = caller.Do({.url = plane_->url() + "/api/v1/namespaces/default/pods"});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 403);
  EXPECT_THAT(answer->body, HasSubstr("system:serviceaccount:default:robot"));
  Result<std::string> nowhere = plane_->ServiceAccountToken(Soon(), "no-such-namespace", "robot");
  ASSERT_FALSE(nowhere);
  EXPECT_TRUE(IsNotFound(nowhere.error())) << nowhere.error().ToString();
}

TEST_F(ControlPlaneTest, SurvivesKill9OfEtcd) {
  CodeOf(*plane_, admin_, "/api/v1/namespaces/default/configmaps", "POST", kConfigMap);
  const int pid = plane_->pid(Part::kEtcd);
  ASSERT_TRUE(plane_->Kill(Part::kEtcd));
  EXPECT_FALSE(IsAlive(pid));
  EXPECT_FALSE(plane_->running(Part::kEtcd));
  EXPECT_TRUE(plane_->running(Part::kApiServer));
  Result<void> restarted = plane_->Restart(Soon(), Part::kEtcd);
  ASSERT_TRUE(restarted) << restarted.error().ToString();
  ASSERT_TRUE(plane_->WaitReady(Soon()));
  EXPECT_EQ(CodeOf(*plane_, admin_, "/api/v1/namespaces/default/configmaps/kept"), 200);
}

TEST_F(ControlPlaneTest, SurvivesKill9OfTheApiServer) {
  CodeOf(*plane_, admin_, "/api/v1/namespaces/default/configmaps", "POST", kConfigMap);
  const std::string url = plane_->url();
  ASSERT_TRUE(plane_->Kill(Part::kApiServer));
  EXPECT_EQ(CodeOf(*plane_, admin_, "/readyz"), 0);
  Result<void> restarted = plane_->Restart(Soon(), Part::kApiServer);
  ASSERT_TRUE(restarted) << restarted.error().ToString();
  EXPECT_EQ(plane_->url(), url);
  EXPECT_EQ(CodeOf(*plane_, admin_, "/api/v1/namespaces/default/configmaps/kept"), 200);
}

TEST_F(ControlPlaneTest, PausedServerAnswersAfterItsRest) {
  ASSERT_TRUE(plane_->Pause(Part::kApiServer));
  HttpCaller caller(admin_);
  Result<HttpAnswer> nothing = caller.Do({.url = plane_->url() + "/readyz", .timeout = std::chrono::milliseconds(300)});
  EXPECT_FALSE(nothing);
  ASSERT_TRUE(plane_->Resume(Part::kApiServer));
  EXPECT_TRUE(plane_->WaitReady(Soon()));
}

TEST_F(ControlPlaneTest, StopsInGoodOrder) {
  ASSERT_TRUE(plane_->Stop(Part::kApiServer));
  EXPECT_FALSE(plane_->running(Part::kApiServer));
  EXPECT_EQ(plane_->pid(Part::kApiServer), 0);
  ASSERT_TRUE(plane_->Restart(Soon(), Part::kApiServer));
  EXPECT_TRUE(plane_->running(Part::kApiServer));
}

TEST_F(ControlPlaneTest, PartsThatWereNotAskedForCannotBeStopped) {
  Result<void> stopped = plane_->Stop(Part::kControllerManager);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().kind(), ErrorKind::kInvalid);
  EXPECT_FALSE(plane_->Restart(Soon(), Part::kControllerManager));
}

TEST_F(ControlPlaneTest, StorageCanBeCompacted) { EXPECT_TRUE(plane_->CompactStorage(Soon())); }

TEST_F(ControlPlaneTest, ExistingClusterIsUsed) {
  const std::string file = plane_->directory() + "/existing.kubeconfig";
  ASSERT_TRUE(internal::WriteFile(file, plane_->AdminKubeconfig()));
  setenv("USE_EXISTING_CLUSTER", "true", 1);
  setenv("KUBECONFIG", file.c_str(), 1);
  Result<std::unique_ptr<ControlPlane>> existing = ControlPlane::Start(Soon());
  unsetenv("USE_EXISTING_CLUSTER");
  unsetenv("KUBECONFIG");
  ASSERT_TRUE(existing) << existing.error().ToString();
  EXPECT_TRUE((*existing)->existing());
  EXPECT_EQ((*existing)->url(), plane_->url());
  EXPECT_EQ((*existing)->version(), plane_->version());
  EXPECT_EQ((*existing)->AdminKubeconfig(), plane_->AdminKubeconfig());
  EXPECT_FALSE((*existing)->Kill(Part::kEtcd));
  EXPECT_FALSE((*existing)->UserKubeconfig("jane"));
  EXPECT_TRUE((*existing)->ServiceAccountToken(Soon(), "default", "robot2"));
}

TEST(ControlPlaneStartTest, KeptDataIsTakenUpAgain) {
  SKIP_WITHOUT_PROGRAMS();
  auto scratch = internal::TemporaryDirectory::Create("kubexx-data-test");
  ASSERT_TRUE(scratch);
  const ControlPlaneOptions options{.data_dir = (*scratch)->path() + "/cluster"};
  std::string kubeconfig;
  {
    Result<std::unique_ptr<ControlPlane>> first = ControlPlane::Start(Soon(), options);
    ASSERT_TRUE(first) << first.error().ToString();
    EXPECT_EQ(CodeOf(**first, IdentityOf((*first)->AdminKubeconfig()), "/api/v1/namespaces/default/configmaps", "POST", kConfigMap), 201);
    kubeconfig = (*first)->AdminKubeconfig();
    Result<std::unique_ptr<ControlPlane>> second = ControlPlane::Start(Soon(), options);
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message(), HasSubstr("in use"));
  }
  EXPECT_TRUE(std::filesystem::exists(options.data_dir));
  Result<std::unique_ptr<ControlPlane>> again = ControlPlane::Start(Soon(), options);
  ASSERT_TRUE(again) << again.error().ToString();
  // The same certificates, at another port.
  EXPECT_EQ(CodeOf(**again, IdentityOf(kubeconfig), "/api/v1/namespaces/default/configmaps/kept"), 200);
}

TEST(ControlPlaneStartTest, ControllerManagerMakesServiceAccounts) {
  SKIP_WITHOUT_PROGRAMS({.controller_manager = true});
  Result<std::unique_ptr<ControlPlane>> plane = ControlPlane::Start(Soon(), {.controller_manager = true});
  ASSERT_TRUE(plane) << plane.error().ToString();
  EXPECT_TRUE((*plane)->running(Part::kControllerManager));
  const HttpIdentity admin = IdentityOf((*plane)->AdminKubeconfig());
  EXPECT_EQ(CodeOf(**plane, admin, "/api/v1/namespaces/default/serviceaccounts/default"), 200);
  const std::string pod = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"a","image":"i"}]}})";
  EXPECT_EQ(CodeOf(**plane, admin, "/api/v1/namespaces/default/pods", "POST", pod), 201);
  ASSERT_TRUE((*plane)->Restart(Soon(), Part::kControllerManager));
}

TEST(ControlPlaneStartTest, FailureShowsTheLog) {
  SKIP_WITHOUT_PROGRAMS();
  Result<std::unique_ptr<ControlPlane>> plane = ControlPlane::Start(Soon(), {.apiserver_flags = {"--no-such-flag"}});
  ASSERT_FALSE(plane);
  EXPECT_THAT(plane.error().message(), HasSubstr("kube-apiserver: ended by itself: exit code 1"));
  EXPECT_THAT(plane.error().message(), HasSubstr("unknown flag: --no-such-flag"));
}

TEST(ControlPlaneStartTest, MissingProgramsSayWhatToDo) {
  Result<std::unique_ptr<ControlPlane>> plane = ControlPlane::Start(Soon(), {.assets = "/nowhere"});
  ASSERT_FALSE(plane);
  EXPECT_EQ(plane.error().kind(), ErrorKind::kConfig);
}

TEST(ControlPlaneStartTest, StartEndsWithItsContext) {
  SKIP_WITHOUT_PROGRAMS();
  auto [ctx, cancel] = Context::Background().WithCancel();
  cancel.Cancel();
  Result<std::unique_ptr<ControlPlane>> plane = ControlPlane::Start(ctx);
  ASSERT_FALSE(plane);
  EXPECT_TRUE(IsCancelled(plane.error())) << plane.error().ToString();
}

TEST(ControlPlaneStartTest, NothingIsLeftWhenTheTestIsKilled) {
  SKIP_WITHOUT_PROGRAMS();
  const kube::internal::Helper other = kube::internal::StartHelper({"testing_test_helper", "control-plane"});
  ASSERT_NE(other.process, nullptr);
  std::istringstream words(other.line);
  std::string directory;
  int etcd = 0;
  int apiserver = 0;
  words >> directory >> etcd >> apiserver;
  EXPECT_TRUE(IsAlive(etcd));
  EXPECT_TRUE(IsAlive(apiserver));
  EXPECT_TRUE(std::filesystem::exists(directory + "/etcd"));
  kill(other.process->pid(), SIGKILL);
  EXPECT_TRUE(WaitUntilDead(etcd));
  EXPECT_TRUE(WaitUntilDead(apiserver));
  for (int i = 0; i < 2000 && std::filesystem::exists(directory); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(std::filesystem::exists(directory));
}

}  // namespace
}  // namespace kube::testing
