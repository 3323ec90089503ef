// ClusterTest: a test with an API server that has the CRDs of config/crd.
//
// The server is embedded in the test's process and starts in milliseconds. With CLUSTER=real in the environment it is a real control plane
// (etcd and kube-apiserver), which `make control-plane` in kubexx' checkout builds.
#pragma once

#include <gtest/gtest.h>
#include <kube/base/fake_clock.h>
#include <kube/base/thread.h>
#include <kube/client/client.h>
#include <kube/config/load.h>
#include <kube/control/crds.h>
#include <kube/control/manager.h>
#include <kube/testing/api_server.h>
#include <kube/testing/control_plane.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

class ClusterTest : public ::testing::Test {
 protected:
  // Stops after two minutes: what a test waits for has happened by then, or never does.
  const kube::Context& ctx() const { return ctx_; }
  const kube::Client& client() const { return *client_; }

  // Waits until `holds` is true; false if it never is. For an object in the cluster kube::WaitFor (kube/client/wait.h) is quicker.
  bool Eventually(const std::function<bool()>& holds) const {
    while (!holds()) {
      if (!ctx_.SleepFor(std::chrono::milliseconds(10))) return holds();
    }
    return true;
  }

  // The one of Run.
  kube::Manager& manager() const { return *manager_; }

  // Runs what `setup` adds to a manager until the test ends. With options.clock a kube::FakeClock, the test moves the manager's time.
  void Run(const std::function<kube::Result<void>(kube::Manager&)>& setup, const kube::ManagerOptions& options = {}) {
    manager_ = std::make_unique<kube::Manager>(client(), options);
    setup(*manager_).value();
    stop_ = (options.clock == nullptr ? kube::Context::Background() : kube::Context::Background(options.clock)).WithCancel();
    runs_ = kube::Thread("manager", [this] {
      if (const kube::Result<void> ran = manager_->Run(stop_.first); !ran) ADD_FAILURE() << ran.error().ToString();
    });
  }

  void StartCluster() {
    const char* const cluster = std::getenv("CLUSTER");
    if (cluster != nullptr && std::string_view(cluster) == "real") {
      plane_ = kube::testing::ControlPlane::Start(ctx_).value();
      kube::ClientConfig admin = kube::ToClientConfig(kube::Kubeconfig::Parse(plane_->AdminKubeconfig()).value()).value();
      admin.qps = -1;  // no limit, as in a manager: a limit would wait by the clock of the test
      client_ = kube::Client::FromConfig(admin).value();
    } else {
      server_ = kube::testing::ApiServer::Start().value();
      client_ = server_->NewClient().value();
    }
  }
  // Those of the project, and of kinds of other projects.
  void InstallCrds() {
    for (const char* const folder : {"config/crd", "tests/crd"}) {
      if (std::filesystem::exists(folder)) kube::InstallCrds(ctx_, client(), kube::ReadCrds({folder}).value()).value();
    }
  }

  void SetUp() override {
    StartCluster();
    InstallCrds();
  }
  void TearDown() override {
    stop_.second.Cancel();
    if (runs_.joinable()) runs_.Join();
  }

 private:
  const kube::Context ctx_ = kube::Context::Background().WithTimeout(std::chrono::minutes(2));
  std::pair<kube::Context, kube::CancelSource> stop_ = kube::Context::Background().WithCancel();
  std::unique_ptr<kube::testing::ControlPlane> plane_;
  std::unique_ptr<kube::testing::ApiServer> server_;
  std::optional<kube::Client> client_;
  std::unique_ptr<kube::Manager> manager_;
  kube::Thread runs_;
};
