#include "apiserver/builtin/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/builtin/defaults.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/api/apps/v1.h"
#include "kube/api/batch/v1.h"
#include "kube/api/certificates/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/discovery/v1.h"
#include "kube/api/resource/v1alpha3.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

using namespace core::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Time kNow = Time::FromUnix(1'700'000'000);

template <typename T>
T Parsed(std::string_view json) {
  Result<T> object = FromJson<T>(json);
  EXPECT_TRUE(object.ok()) << object.error().ToString();
  ApplyDefaults(*object);
  object->metadata.name = "x";
  object->metadata.uid = "u1";
  return *object;
}

template <typename T>
Result<void> Create(T& object, ServiceAllocation* services = nullptr) {
  return PrepareForCreate(T::kType, &object, {.now = kNow, .services = services});
}
template <typename T>
Result<void> Update(T& object, const T& old, ServiceAllocation* services = nullptr) {
  return PrepareForUpdate(T::kType, &object, &old, {.now = kNow, .services = services});
}
template <typename T>
T Created(std::string_view json) {
  T object = Parsed<T>(json);
  Result<void> r = Create(object);
  EXPECT_TRUE(r.ok()) << r.error().ToString();
  return object;
}

TEST(StrategyTest, NewPodsArePendingAndHaveAQosClass) {
  Pod pod = Created<Pod>(R"({"status":{"phase":"Running"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(pod.status.phase, "Pending");
  EXPECT_EQ(pod.status.qos_class, "BestEffort");
  EXPECT_EQ(pod.metadata.generation, 1);
  auto qos = [](const char* resources) {
    return Created<Pod>(std::string(R"({"spec":{"containers":[{"name":"c","image":"i","resources":)") + resources + "}]}}")
        .status.qos_class;
  };
  EXPECT_EQ(qos(R"({"limits":{"cpu":"1","memory":"1Gi"}})"), "Guaranteed");
  EXPECT_EQ(qos(R"({"limits":{"cpu":"1"}})"), "Burstable");
  EXPECT_EQ(qos(R"({"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m"}})"), "Burstable");
  EXPECT_EQ(qos(R"({"requests":{"example.com/x":"1"}})"), "BestEffort");
}

TEST(StrategyTest, GatedPodsSaySo) {
  Pod pod = Created<Pod>(R"({"spec":{"schedulingGates":[{"name":"a"}],"containers":[]}})");
  ASSERT_EQ(pod.status.conditions.size(), 1u);
  EXPECT_EQ(std::as_const(pod.status.conditions)[0].reason, "SchedulingGated");
}

TEST(StrategyTest, LabelKeysGoIntoSelectors) {
  Pod pod = Parsed<Pod>(R"({"metadata":{"labels":{"app":"web"}},"spec":{"containers":[],"topologySpreadConstraints":[
      {"maxSkew":1,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule","matchLabelKeys":["app","none"],"labelSelector":{}}]}})");
  ASSERT_TRUE(Create(pod).ok());
  const auto& expressions = std::as_const(pod.spec.topology_spread_constraints)[0].label_selector->match_expressions;
  ASSERT_EQ(expressions.size(), 1u);
  EXPECT_THAT(expressions[0].values, ElementsAre(String("web")));
}

TEST(StrategyTest, NewNamespacesAreActive) {
  Namespace ns = Created<Namespace>(R"({"spec":{"finalizers":["a.b/c"]},"status":{"phase":"Terminating"}})");
  EXPECT_EQ(ns.status.phase, "Active");
  EXPECT_THAT(ns.spec.finalizers, ElementsAre(String("a.b/c"), String("kubernetes")));
  Namespace changed = ns;
  changed.spec.finalizers.clear();
  ASSERT_TRUE(Update(changed, ns).ok());
  EXPECT_EQ(changed.spec.finalizers.size(), 2u);
  PrepareSubresourceUpdate(Namespace::kType, "finalize", &changed, &ns, {});
  changed.spec.finalizers.clear();
  PrepareSubresourceUpdate(Namespace::kType, "finalize", &changed, &ns, {});
  EXPECT_TRUE(changed.spec.finalizers.empty());
}

TEST(StrategyTest, GenerationCountsChangesOfTheSpec) {
  auto d = Created<apps::v1::Deployment>(R"({"spec":{"replicas":1}})");
  EXPECT_EQ(d.metadata.generation, 1);
  auto changed = d;
  changed.metadata.generation = 77;  // a client cannot set it
  changed.metadata.labels.Set("a", "b");
  changed.status.replicas = 5;
  ASSERT_TRUE(Update(changed, d).ok());
  EXPECT_EQ(changed.metadata.generation, 1);
  EXPECT_EQ(changed.status.replicas, 0);
  changed.spec.replicas = 2;
  ASSERT_TRUE(Update(changed, d).ok());
  EXPECT_EQ(changed.metadata.generation, 2);
  changed = d;
  changed.metadata.annotations.Set("a", "b");  // counts for deployments only
  ASSERT_TRUE(Update(changed, d).ok());
  EXPECT_EQ(changed.metadata.generation, 2);
}

TEST(StrategyTest, StatusUpdatesChangeOnlyTheStatus) {
  auto d = Created<apps::v1::Deployment>(R"({"spec":{"replicas":1}})");
  auto changed = d;
  changed.spec.replicas = 3;
  changed.status.ready_replicas = 1;
  changed.metadata.labels.Set("a", "b");
  PrepareStatusUpdate(apps::v1::Deployment::kType, &changed, &d, {});
  EXPECT_EQ(changed.spec.replicas, 1);
  EXPECT_EQ(changed.status.ready_replicas, 1);
  EXPECT_EQ(changed.metadata.generation, 1);
  EXPECT_TRUE(changed.metadata.labels.empty());
}

TEST(StrategyTest, PodStatusKeepsWhatClientsForget) {
  Pod pod = Created<Pod>(R"({"spec":{"containers":[]}})");
  PodCondition ready;
  ready.type = "Ready";
  ready.observed_generation = 4;
  pod.status.conditions = {ready};
  pod.status.observed_generation = 4;
  Pod changed = pod;
  changed.status = {};
  ready.observed_generation = 0;
  ready.status = "True";
  changed.status.conditions = {ready};
  PrepareStatusUpdate(Pod::kType, &changed, &pod, {});
  EXPECT_EQ(changed.status.qos_class, "BestEffort");
  EXPECT_EQ(changed.status.observed_generation, 4);
  EXPECT_EQ(std::as_const(changed.status.conditions)[0].observed_generation, 4);
}

TEST(StrategyTest, EphemeralContainersAndResizeChangeOnlyTheirPart) {
  Pod pod = Created<Pod>(R"({"spec":{"containers":[{"name":"c","image":"i"}]}})");
  Pod changed = pod;
  changed.spec.hostname = "other";
  changed.spec.ephemeral_containers.push_back(EphemeralContainer{.name = "e", .image = "i"});
  PrepareSubresourceUpdate(Pod::kType, "ephemeralcontainers", &changed, &pod, {});
  EXPECT_TRUE(changed.spec.hostname.empty());
  EXPECT_EQ(changed.spec.ephemeral_containers.size(), 1u);
  EXPECT_EQ(changed.metadata.generation, 2);
  changed = pod;
  changed.spec.containers[0].image = "other";
  changed.spec.containers[0].resources.requests.Set("cpu", Quantity::FromInt64(1));
  PrepareSubresourceUpdate(Pod::kType, "resize", &changed, &pod, {});
  EXPECT_EQ(std::as_const(changed.spec.containers)[0].image, "i");
  EXPECT_EQ(std::as_const(changed.spec.containers)[0].resources.requests.Get("cpu").text(), "1");
}

TEST(StrategyTest, DaemonSetsCountTheirTemplate) {
  auto ds = Created<apps::v1::DaemonSet>(R"({"spec":{}})");
  const char* key = "deprecated.daemonset.template.generation";
  EXPECT_EQ(ds.metadata.annotations.Get(key), "1");
  auto changed = ds;
  changed.metadata.annotations.clear();
  changed.spec.template_.metadata.labels.Set("a", "b");
  ASSERT_TRUE(Update(changed, ds).ok());
  EXPECT_EQ(changed.metadata.annotations.Get(key), "2");
  EXPECT_EQ(changed.metadata.generation, 2);
}

TEST(StrategyTest, JobsGetASelector) {
  auto job = Created<batch::v1::Job>(R"({"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}})");
  const auto& labels = job.spec.template_.metadata.labels;
  EXPECT_EQ(labels.Get("job-name"), "x");
  EXPECT_EQ(labels.Get("batch.kubernetes.io/controller-uid"), "u1");
  EXPECT_EQ(job.spec.selector->match_labels.Get("batch.kubernetes.io/controller-uid"), "u1");
  EXPECT_EQ(job.metadata.labels, labels);  // it had no labels of its own
  auto own = Created<batch::v1::Job>(R"({"metadata":{"labels":{"q":"r"}},"spec":{"template":{}}})");
  EXPECT_EQ(own.metadata.labels.size(), 1u);
  EXPECT_FALSE(Created<batch::v1::Job>(R"({"spec":{"manualSelector":true,"template":{}}})").spec.selector.has_value());
}

TEST(StrategyTest, ClaimsAndVolumesArePending) {
  auto claim = Created<PersistentVolumeClaim>(R"({"spec":{"dataSource":{"kind":"K","name":"n"}},"status":{"phase":"Bound"}})");
  EXPECT_EQ(claim.status.phase, "Pending");
  EXPECT_EQ(claim.spec.data_source_ref->kind, "K");
  auto volume = Created<PersistentVolume>(R"({"spec":{}})");
  EXPECT_EQ(volume.status.phase, "Pending");
  EXPECT_EQ(volume.status.last_phase_transition_time, kNow);
  auto changed = volume;
  changed.status.phase = "Available";
  const Time later = kNow + Duration::FromNanoseconds(5'000'000'000);
  PrepareStatusUpdate(PersistentVolume::kType, &changed, &volume, {.now = later});
  EXPECT_EQ(changed.status.last_phase_transition_time, later);
}

TEST(StrategyTest, SigningRequestsRecordTheUser) {
  certificates::v1::CertificateSigningRequest csr;
  csr.spec.username = "somebody else";
  StrategyUser user;
  user.name = "alice";
  user.groups = {"g"};
  ASSERT_TRUE(PrepareForCreate(csr.kType, &csr, {.now = kNow, .user = &user}).ok());
  EXPECT_EQ(csr.spec.username, "alice");
  auto approved = csr;
  certificates::v1::CertificateSigningRequestCondition condition;
  condition.type = "Approved";
  condition.status = "True";
  approved.status.conditions.push_back(condition);
  approved.status.certificate = "x";
  PrepareSubresourceUpdate(csr.kType, "approval", &approved, &csr, {.now = kNow});
  EXPECT_EQ(std::as_const(approved.status.conditions)[0].last_update_time, kNow);
  EXPECT_TRUE(approved.status.certificate.empty());
  auto forgetful = approved;
  forgetful.status.conditions.clear();
  forgetful.status.certificate = "x";
  PrepareStatusUpdate(csr.kType, &forgetful, &approved, {.now = kNow});
  EXPECT_EQ(forgetful.status.conditions.size(), 1u);  // only /approval may take it away
  EXPECT_EQ(forgetful.status.certificate, "x");
}

TEST(StrategyTest, CrdsRecordStoredVersions) {
  auto crd = Created<apiextensions::v1::CustomResourceDefinition>(R"({"spec":{"versions":[{"name":"v1","storage":true}]}})");
  EXPECT_THAT(crd.status.stored_versions, ElementsAre(String("v1")));
  auto changed = crd;
  changed.spec.versions[0].name = "v2";
  ASSERT_TRUE(Update(changed, crd).ok());
  EXPECT_THAT(changed.status.stored_versions, ElementsAre(String("v1"), String("v2")));
}

TEST(StrategyTest, LabelsCountForEndpointSlices) {
  auto slice = Created<discovery::v1::EndpointSlice>(R"({"addressType":"IPv4","endpoints":[]})");
  auto changed = slice;
  changed.metadata.annotations.Set("a", "b");
  ASSERT_TRUE(Update(changed, slice).ok());
  EXPECT_EQ(changed.metadata.generation, 1);
  changed.metadata.labels.Set("a", "b");
  ASSERT_TRUE(Update(changed, slice).ok());
  EXPECT_EQ(changed.metadata.generation, 2);
}

TEST(StrategyTest, AnOptionalStatusIsResetAndKeptToo) {
  using resource::v1alpha3::ResourcePoolStatusRequest;
  ResourcePoolStatusRequest request;
  request.status.Mutable();
  ASSERT_TRUE(Create(request).ok());
  EXPECT_FALSE(request.status.has_value());
  ResourcePoolStatusRequest old = request;
  old.status.Mutable();
  ASSERT_TRUE(Update(request, old).ok());
  EXPECT_TRUE(request.status.has_value());
}

// ---- Services ----

TEST(ServiceStrategyTest, AllotsAddressesAndPorts) {
  ServiceAllocator allocator;
  ServiceAllocation allocation(allocator);
  Service s = Parsed<Service>(R"({"spec":{"type":"LoadBalancer","externalTrafficPolicy":"Local",
      "ports":[{"port":80,"name":"a"},{"port":80,"name":"b","protocol":"UDP"},{"port":81,"name":"c"}]}})");
  ASSERT_TRUE(Create(s, &allocation).ok());
  EXPECT_TRUE(allocator.Contains(s.spec.cluster_ip.str()));
  EXPECT_THAT(s.spec.cluster_ips, ElementsAre(s.spec.cluster_ip));
  EXPECT_THAT(s.spec.ip_families, ElementsAre(String("IPv4")));
  EXPECT_EQ(s.spec.ip_family_policy, String("SingleStack"));
  const auto& ports = std::as_const(s.spec.ports);
  EXPECT_GE(ports[0].node_port, 30000);
  EXPECT_EQ(ports[0].node_port, ports[1].node_port);  // one number, two protocols
  EXPECT_NE(ports[0].node_port, ports[2].node_port);
  EXPECT_NE(s.spec.health_check_node_port, 0);
}

TEST(ServiceStrategyTest, HeadlessServicesHaveNoAddress) {
  ServiceAllocator allocator;
  ServiceAllocation allocation(allocator);
  Service s = Parsed<Service>(R"({"spec":{"clusterIP":"None","selector":{"a":"b"}}})");
  ASSERT_TRUE(Create(s, &allocation).ok());
  EXPECT_THAT(s.spec.cluster_ips, ElementsAre(String("None")));
  EXPECT_EQ(s.spec.ip_family_policy, String("SingleStack"));
  Service bare = Parsed<Service>(R"({"spec":{"clusterIP":"None"}})");
  ASSERT_TRUE(Create(bare, &allocation).ok());
  EXPECT_EQ(bare.spec.ip_family_policy, String("RequireDualStack"));
  EXPECT_EQ(bare.spec.ip_families.size(), 2u);
}

TEST(ServiceStrategyTest, RefusesWhatItCannotGive) {
  ServiceAllocator allocator;
  ServiceAllocation allocation(allocator);
  Service s = Parsed<Service>(R"({"spec":{"clusterIP":"1.2.3.4","ports":[{"port":80}]}})");
  Result<void> r = Create(s, &allocation);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().message(),
            "Service \"x\" is invalid: spec.clusterIPs: Invalid value: [\"1.2.3.4\"]: failed to allocate IP 1.2.3.4: the provided network "
            "does not match the current range");
  Service port = Parsed<Service>(R"({"spec":{"type":"NodePort","ports":[{"port":80,"nodePort":80}]}})");
  r = Create(port, &allocation);
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.error().message(), HasSubstr("The range of valid ports is 30000-32767"));
  Service dual = Parsed<Service>(R"({"spec":{"ipFamilyPolicy":"RequireDualStack","ports":[{"port":80}]}})");
  r = Create(dual, &allocation);
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.error().message(), HasSubstr("this cluster is not configured for dual-stack services"));
}

TEST(ServiceStrategyTest, WhatARequestTookComesBackUnlessItIsCommitted) {
  ServiceAllocator allocator;
  const char* json = R"({"spec":{"clusterIP":"10.0.9.9","type":"NodePort","ports":[{"port":80,"nodePort":30009}]}})";
  {
    ServiceAllocation failed(allocator);
    Service s = Parsed<Service>(json);
    ASSERT_TRUE(Create(s, &failed).ok());
  }
  ServiceAllocation kept(allocator);
  Service s = Parsed<Service>(json);
  ASSERT_TRUE(Create(s, &kept).ok());
  kept.Commit();
  ServiceAllocation other(allocator);
  Service again = Parsed<Service>(json);
  Result<void> r = Create(again, &other);
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.error().message(), HasSubstr("provided IP is already allocated"));
  ReleaseAllocations(Service::kType, &s, allocator);
  EXPECT_TRUE(Create(again, &other).ok());
}

TEST(ServiceStrategyTest, UpdatesKeepWhatWasAllotted) {
  ServiceAllocator allocator;
  ServiceAllocation allocation(allocator);
  Service old = Parsed<Service>(R"({"spec":{"type":"NodePort","ports":[{"port":80}]}})");
  ASSERT_TRUE(Create(old, &allocation).ok());
  Service s = Parsed<Service>(R"({"spec":{"type":"NodePort","ports":[{"port":81}]}})");
  ASSERT_TRUE(Update(s, old, &allocation).ok());
  EXPECT_EQ(s.spec.cluster_ip, old.spec.cluster_ip);
  EXPECT_EQ(std::as_const(s.spec.ports)[0].node_port, std::as_const(old.spec.ports)[0].node_port);
  Service external = old;
  external.spec.type = "ExternalName";
  ASSERT_TRUE(Update(external, old, &allocation).ok());
  EXPECT_TRUE(external.spec.cluster_ip.empty());
  EXPECT_TRUE(external.spec.ip_families.empty());
  EXPECT_EQ(std::as_const(external.spec.ports)[0].node_port, 0);
  allocation.Commit();
  EXPECT_TRUE(allocator.ClaimAddress(old.spec.cluster_ip.str()).ok());  // released
}

TEST(ServiceAllocatorTest, GivesOutEachAddressOnce) {
  ServiceAllocator allocator({.network = "192.168.7.0/29", .first_port = 30000, .last_port = 30002});
  std::set<std::string> seen;
  for (int i = 0; i < 6; ++i) seen.insert(allocator.TakeAddress());
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_TRUE(seen.contains("192.168.7.1"));
  EXPECT_TRUE(seen.contains("192.168.7.6"));
  EXPECT_EQ(allocator.TakeAddress(), "");
  allocator.ReleaseAddress("192.168.7.3");
  EXPECT_EQ(allocator.TakeAddress(), "192.168.7.3");
  std::set<int> ports;
  for (int i = 0; i < 3; ++i) ports.insert(allocator.TakePort());
  EXPECT_EQ(ports, (std::set<int>{30000, 30001, 30002}));
  EXPECT_EQ(allocator.TakePort(), 0);
  EXPECT_FALSE(allocator.Contains("192.168.7.0"));
  EXPECT_FALSE(allocator.Contains("192.168.7.7"));
}

}  // namespace
}  // namespace kube::apiserver
