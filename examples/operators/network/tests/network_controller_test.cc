#include "src/network_controller.h"

#include <kube/api/core/v1.h>
#include <kube/base/log.h>
#include <kube/client/wait.h>
#include <kube/meta/conditions.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "api/v1/network_types.h"
#include "src/fabric.h"
#include "tests/cluster.h"

using kube::core::v1::Event;
using samplecrd::v1::Network;

namespace {

// What the program logs while it exists.
class Log {
 public:
  Log() {
    kube::LogBackend::Default()->SetSink(kube::MakeTextSink([this](std::string_view line) {
      kube::MutexLock lock(mu_);
      text_ += line;
    }));
  }
  ~Log() { kube::LogBackend::Default()->SetSink(kube::MakeTextSink()); }
  std::string text() const {
    kube::MutexLock lock(mu_);
    return text_;
  }
  bool Has(std::string_view what) const { return text().find(what) != std::string::npos; }

 private:
  mutable kube::Mutex mu_;
  std::string text_ KUBE_GUARDED_BY(mu_);
};

// Fails for as long as the test wants.
class FailingFabric final : public Fabric {
 public:
  kube::Result<std::optional<FabricNetwork>> Get(const kube::Context& ctx, const kube::ObjectKey& key) override {
    return fabric_.Get(ctx, key);
  }
  kube::Result<void> Create(const kube::Context& ctx, const kube::ObjectKey& key, const FabricNetwork& network) override {
    if (fails) return kube::Error::Internal("no switch answers");
    return fabric_.Create(ctx, key, network);
  }
  kube::Result<void> Update(const kube::Context& ctx, const kube::ObjectKey& key, const FabricNetwork& network) override {
    return fabric_.Update(ctx, key, network);
  }
  kube::Result<void> Delete(const kube::Context& ctx, const kube::ObjectKey& key) override {
    if (fails) return kube::Error::Internal("no switch answers");
    return fabric_.Delete(ctx, key);
  }

  std::atomic<bool> fails = true;

 private:
  MemoryFabric fabric_;
};

class NetworkControllerTest : public ClusterTest {
 protected:
  void RunWith(const std::shared_ptr<Fabric>& fabric) {
    Run([fabric](kube::Manager& manager) { return AddNetworkController(manager, fabric); });
  }
  Network Create(std::string_view name, std::string_view cidr, std::string_view gateway) const {
    Network network;
    network.metadata = {.name = name, .namespace_ = "default"};
    network.spec = {.cidr = cidr, .gateway = gateway};
    return client().Create(ctx(), network).value();
  }
  // Whether the status says so of the newest spec.
  kube::Result<Network> WaitForReady(const kube::ObjectKey& key, std::string_view status, std::string_view reason) const {
    return kube::WaitFor<Network>(client().Resource<Network>(), ctx(), key, [&](const Network& seen) {
      const auto* ready = kube::FindStatusCondition(seen.status.conditions, "Ready");
      return ready != nullptr && ready->status == status && ready->reason == reason &&
             ready->observed_generation == seen.metadata.generation;
    });
  }
  std::string MessageOf(const Network& network) const {
    const auto* ready = kube::FindStatusCondition(network.status.conditions, "Ready");
    return ready == nullptr ? "" : ready->message.str();
  }
  bool HasEvent(std::string_view name, std::string_view reason) const {
    const auto events = client().List<Event>(ctx(), {.ns = "default"}).value();
    return std::any_of(events.begin(), events.end(),
                       [&](const Event& event) { return event.involved_object.name == name && event.reason == reason; });
  }
  std::optional<FabricNetwork> InFabric(Fabric& fabric, std::string_view name) const {
    return fabric.Get(ctx(), {"default", name}).value();
  }
};

TEST_F(NetworkControllerTest, FollowsTheNetworkOfTheDocument) {
  Log log;
  const auto fabric = std::make_shared<MemoryFabric>();
  RunWith(fabric);
  const kube::ObjectKey key{"default", "example-network"};
  Create("example-network", "192.168.0.0/16", "192.168.0.1");
  Network network = WaitForReady(key, "True", "Reconciled").value();
  EXPECT_EQ(InFabric(*fabric, "example-network"), (FabricNetwork{"192.168.0.0/16", "192.168.0.1"}));
  EXPECT_TRUE(log.Has(R"("Creating a network" logger="network" object="default/example-network" cidr="192.168.0.0/16")")) << log.text();

  network.spec = {.cidr = "192.168.1.0/16", .gateway = "192.168.1.1"};
  client().Update(ctx(), network).value();
  WaitForReady(key, "True", "Reconciled").value();
  EXPECT_EQ(InFabric(*fabric, "example-network"), (FabricNetwork{"192.168.1.0/16", "192.168.1.1"}));
  EXPECT_TRUE(log.Has(R"("Updating a network" logger="network" object="default/example-network" cidr="192.168.1.0/16")")) << log.text();

  client().Delete<Network>(ctx(), key).value();
  EXPECT_TRUE(Eventually([&] { return !InFabric(*fabric, "example-network"); }));
  EXPECT_TRUE(log.Has(R"("Deleting a network" logger="network" object="default/example-network")")) << log.text();
}

TEST_F(NetworkControllerTest, ReportsASpecThatMakesNoSense) {
  const auto fabric = std::make_shared<MemoryFabric>();
  RunWith(fabric);
  Create("no-range", "192.168.0.0", "192.168.0.1");
  EXPECT_EQ(MessageOf(WaitForReady({"default", "no-range"}, "False", "InvalidSpec").value()),
            "spec.cidr: expected a range such as 192.168.0.0/16, got \"192.168.0.0\"");
  EXPECT_TRUE(Eventually([&] { return HasEvent("no-range", "InvalidSpec"); }));

  Create("outside", "192.168.0.0/16", "10.0.0.1");
  Network network = WaitForReady({"default", "outside"}, "False", "InvalidSpec").value();
  EXPECT_EQ(MessageOf(network), "spec.gateway: expected an address of 192.168.0.0/16, got \"10.0.0.1\"");
  EXPECT_EQ(InFabric(*fabric, "outside"), std::nullopt);

  network.spec.cidr = "10.0.0.0/24";
  client().Update(ctx(), network).value();
  WaitForReady({"default", "outside"}, "True", "Reconciled").value();
  EXPECT_EQ(InFabric(*fabric, "outside"), (FabricNetwork{"10.0.0.0/24", "10.0.0.1"}));
}

TEST_F(NetworkControllerTest, TriesAgainIfTheFabricFails) {
  const auto fabric = std::make_shared<FailingFabric>();
  RunWith(fabric);
  const kube::ObjectKey key{"default", "example-network"};
  Create("example-network", "192.168.0.0/16", "192.168.0.1");
  EXPECT_NE(MessageOf(WaitForReady(key, "False", "FabricFailed").value()).find("no switch answers"), std::string::npos);
  fabric->fails = false;
  EXPECT_TRUE(WaitForReady(key, "True", "Reconciled"));

  fabric->fails = true;
  client().Delete<Network>(ctx(), key).value();
  EXPECT_TRUE(Eventually([&] { return !manager().controller("network")->status().failing.empty(); }));
  EXPECT_NE(InFabric(*fabric, "example-network"), std::nullopt);
  fabric->fails = false;
  EXPECT_TRUE(Eventually([&] { return !InFabric(*fabric, "example-network"); }));
}

// A second program, as after a restart: its fabric is empty, and nothing is deleted that it never made.
TEST_F(NetworkControllerTest, CreatesTheNetworksThatAreThereAlready) {
  Create("early", "192.168.0.0/16", "192.168.0.1");
  const auto fabric = std::make_shared<MemoryFabric>();
  RunWith(fabric);
  EXPECT_TRUE(WaitForReady({"default", "early"}, "True", "Reconciled"));
  EXPECT_EQ(InFabric(*fabric, "early"), (FabricNetwork{"192.168.0.0/16", "192.168.0.1"}));
}

class NetworkStartTest : public NetworkControllerTest {
 protected:
  void SetUp() override { StartCluster(); }
};

TEST_F(NetworkStartTest, BeginsBeforeItsKindExists) {
  Log log;
  Run(SetupNetworkController);
  for (const std::string_view line :
       {"\"Setting up event handlers\"", "\"Starting Network control loop\"", "\"Waiting for informer caches to sync\"",
        "networks.samplecrd.k8s.io: the server could not find the requested resource"}) {
    EXPECT_TRUE(Eventually([&] { return log.Has(line); })) << line << "\n" << log.text();
  }
  EXPECT_FALSE(log.Has("\"Starting workers\""));

  InstallCrds();
  EXPECT_TRUE(Eventually([&] { return log.Has("\"Starting workers\""); })) << log.text();
  Create("example-network", "192.168.0.0/16", "192.168.0.1");
  EXPECT_TRUE(WaitForReady({"default", "example-network"}, "True", "Reconciled")) << log.text();
}

}  // namespace
