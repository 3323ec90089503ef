// A kind whose table is written as `kubexx generate` writes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/codec/diff.h"
#include "kube/codec/json.h"
#include "kube/codec/yaml.h"
#include "kube/meta/resource.h"
#include "meta/network_test_types.h"

namespace samplecrd::v1 {
namespace {

static_assert(kube::Resource<Network>);
static_assert(std::is_aggregate_v<NetworkSpec>);

Network MakeNetwork() {
  return {.metadata = {.name = "blue", .namespace_ = "default"},
          .spec = {.cidr = "10.0.0.0/16",
                   .pod_cidr = "10.0.8.0/24",
                   .mtu = 1500,
                   .description = "",
                   .ca_bundle = "pem",
                   .routes = {{"north", {{.destination = "10.1.0.0/16", .port = 80}, {.destination = "10.2.0.0/16", .port = "https"}}}},
                   .vlan_ranges = {{1, 100}, {200, 300}},
                   .limits = {{"in", {{"rate", kube::Quantity::FromMilli(500)}}}},
                   .dns_servers = kube::List<kube::String>(),
                   .placement = {.zone = "north"}},
          .status = {.phase = kPhaseReady, .conditions = {{.type = "Ready", .status = "True"}}}};
}

TEST(GeneratedKindTest, ItIsAKindLikeAnyOther) {
  EXPECT_EQ(kube::GvkOf<Network>().ToString(), (kube::Gvk{"samplecrd.k8s.io", "v1", "Network"}).ToString());
  EXPECT_EQ(kube::GvrOf<Network>().resource, "networks");
  EXPECT_TRUE(kube::IsNamespaced<Network>());
  EXPECT_EQ(kube::KeyOf(MakeNetwork()), (kube::ObjectKey{"default", "blue"}));
  EXPECT_EQ(kube::internal::TableProblem(Network::kType), "");
}

TEST(GeneratedKindTest, YamlReadsAsUsersWriteIt) {
  const kube::Result<Network> network = kube::FromYaml<Network>(R"(
apiVersion: samplecrd.k8s.io/v1
kind: Network
metadata: {name: blue, namespace: default}
spec:
  cidr: 10.0.0.0/16
  podCIDR: 10.0.8.0/24
  mtu: 1500
  description: ""
  caBundle: cGVt
  routes:
    north:
    - {destination: 10.1.0.0/16, port: 80}
    - {destination: 10.2.0.0/16, port: https}
  vlanRanges: [[1, 100], [200, 300]]
  limits: {in: {rate: 500m}}
  dnsServers: []
  zone: north
status:
  phase: READY
  conditions:
  - {type: Ready, status: "True"}
)",
                                                                {.strict = true});
  ASSERT_TRUE(network.ok()) << network.error().ToString();
  EXPECT_EQ(*network, MakeNetwork()) << kube::ToString(kube::Diff(MakeNetwork(), *network));
  EXPECT_EQ(kube::FromJson<Network>(kube::ToJson(*network).value()).value(), *network);
}

TEST(GeneratedKindTest, ListTypesOfTheTableNameElements) {
  Network after = MakeNetwork();
  after.status.conditions[0].status = "False";
  after.spec.routes["north"][1].port = 443;
  EXPECT_EQ(kube::ToString(kube::Diff(MakeNetwork(), after)),
            "~ spec.routes[north][1].port: \"https\" -> 443\n"
            "~ status.conditions[type=Ready].status: \"True\" -> \"False\"\n");
}

TEST(GeneratedKindTest, RequiredFieldsAreWrittenEvenIfEmpty) {
  EXPECT_THAT(kube::ToJson(Network{.spec = {.mtu = 1}}).value(), ::testing::HasSubstr(R"("spec":{"cidr":"","mtu":1})"));
}

}  // namespace
}  // namespace samplecrd::v1
