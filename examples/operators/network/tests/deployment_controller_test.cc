#include "src/deployment_controller.h"

#include <kube/api/apps/v1.h>
#include <kube/api/core/v1.h>
#include <kube/client/wait.h>
#include <kube/meta/owner_reference.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "api/v1/network_types.h"
#include "tests/cluster.h"

using kube::apps::v1::Deployment;
using kube::core::v1::Event;
using samplecrd::v1::Network;

namespace {

class DeploymentControllerTest : public ClusterTest {
 protected:
  Deployment Create(std::string_view name) const {
    Deployment deployment;
    deployment.metadata = {.name = name, .namespace_ = "default"};
    deployment.spec.selector.Mutable().match_labels["app"] = name;
    deployment.spec.template_.metadata.labels["app"] = name;
    deployment.spec.template_.spec.containers.push_back({.name = "web", .image = "example.com/web:1.0.0"});
    return client().Create(ctx(), deployment).value();
  }
  Network WaitForNetworkOf(const Deployment& deployment) const {
    return kube::WaitFor<Network>(client().Resource<Network>(), ctx(), kube::KeyOf(deployment),
                                  [&](const Network& network) { return kube::IsControlledBy(network, deployment); })
        .value();
  }
  bool HasEvent(std::string_view name, std::string_view reason) const {
    const auto events = client().List<Event>(ctx(), {.ns = "default"}).value();
    return std::any_of(events.begin(), events.end(),
                       [&](const Event& event) { return event.involved_object.name == name && event.reason == reason; });
  }
};

TEST_F(DeploymentControllerTest, GivesEachDeploymentANetworkOfItsOwn) {
  Run(SetupDeploymentController);
  const Deployment first = Create("base-1"), second = Create("base-2");
  const Network one = WaitForNetworkOf(first), two = WaitForNetworkOf(second);
  const kube::String cidrs[] = {std::min(one.spec.cidr.str(), two.spec.cidr.str()), std::max(one.spec.cidr.str(), two.spec.cidr.str())};
  EXPECT_EQ(cidrs[0], "10.0.0.0/24");
  EXPECT_EQ(cidrs[1], "10.0.1.0/24");
  EXPECT_EQ(one.spec.gateway.str() + "/", one.spec.cidr.str().substr(0, one.spec.cidr.str().find("0/24")) + "1/");
  EXPECT_TRUE(Eventually([&] { return HasEvent("base-1", "NetworkCreated") && HasEvent("base-2", "NetworkCreated"); }));
}

TEST_F(DeploymentControllerTest, KeepsWhatTheUserEditsAndRecreatesWhatTheUserDeletes) {
  Run(SetupDeploymentController);
  Deployment deployment = Create("base-1");
  Network network = WaitForNetworkOf(deployment);
  network.spec = {.cidr = "172.16.0.0/24", .gateway = "172.16.0.1"};
  client().Update(ctx(), network).value();
  // Another change of the Deployment, which the controller has seen when it gives the next Deployment its Network.
  deployment.spec.replicas = 3;
  client().Update(ctx(), deployment).value();
  WaitForNetworkOf(Create("base-2"));
  EXPECT_EQ(client().Get<Network>(ctx(), kube::KeyOf(deployment)).value().spec.cidr, "172.16.0.0/24");

  client().Delete<Network>(ctx(), kube::KeyOf(deployment)).value();
  EXPECT_NE(WaitForNetworkOf(deployment).metadata.uid, network.metadata.uid);
}

TEST_F(DeploymentControllerTest, LeavesNetworksOfOthersAlone) {
  Network other;
  other.metadata = {.name = "base-1", .namespace_ = "default"};
  other.spec = {.cidr = "10.0.0.0/16", .gateway = "10.0.0.1"};
  other = client().Create(ctx(), other).value();
  Run(SetupDeploymentController);
  const Deployment deployment = Create("base-1");
  EXPECT_TRUE(Eventually([&] { return HasEvent("base-1", "NetworkExists"); }));
  EXPECT_EQ(client().Get<Network>(ctx(), kube::KeyOf(deployment)).value().metadata.resource_version, other.metadata.resource_version);
  // Ranges of others are not given away either.
  EXPECT_EQ(WaitForNetworkOf(Create("base-2")).spec.cidr, "10.1.0.0/24");

  client().Delete<Network>(ctx(), kube::KeyOf(deployment)).value();
  EXPECT_EQ(WaitForNetworkOf(deployment).spec.cidr, "10.0.0.0/24");
}

TEST_F(DeploymentControllerTest, DeletesTheNetworkWithItsDeployment) {
  Run(SetupDeploymentController);
  const Deployment deployment = Create("base-1");
  WaitForNetworkOf(deployment);
  client().Delete<Deployment>(ctx(), kube::KeyOf(deployment)).value();
  // A real control plane without kube-controller-manager collects no garbage: the test deletes the Network in its place.
  const char* const cluster = std::getenv("CLUSTER");
  if (cluster != nullptr && std::string_view(cluster) == "real") client().Delete<Network>(ctx(), kube::KeyOf(deployment)).value();
  EXPECT_TRUE(kube::WaitForDeletion(client().Resource<Network>(), ctx(), kube::KeyOf(deployment)));
  // It is not recreated.
  WaitForNetworkOf(Create("base-2"));
  EXPECT_EQ(client().List<Network>(ctx()).value().size(), 1U);
}

}  // namespace
