#include "apiserver/builtin/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/api/core/v1.h"
#include "kube/api/networking/v1.h"
#include "kube/api/scheduling/v1.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

using namespace core::v1;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A cluster that has the given objects, whatever is asked for.
AdmissionContext With(std::initializer_list<const char*> objects) {
  std::vector<Value> values;
  for (const char* o : objects) values.push_back(*ParseJson(o));
  AdmissionContext context;
  context.list = [values](std::string_view, std::string_view, std::string_view) { return values; };
  return context;
}

template <typename T>
Result<void> AdmitNew(T& object, const AdmissionContext& context = {}) {
  return Admit(T::kType, &object, nullptr, context);
}

Pod OnePod() {
  Pod pod;
  pod.metadata.name = "p";
  pod.metadata.namespace_ = "ns";
  pod.spec.containers = {Container{.name = "c", .image = "i"}};
  return pod;
}

TEST(AdmissionTest, PodsGetPriorityAndTolerations) {
  Pod pod = OnePod();
  ASSERT_TRUE(AdmitNew(pod).ok());
  EXPECT_EQ(pod.spec.priority, 0);
  EXPECT_EQ(pod.spec.preemption_policy, String("PreemptLowerPriority"));
  ASSERT_EQ(pod.spec.tolerations.size(), 2u);
  EXPECT_EQ(std::as_const(pod.spec.tolerations)[1].key, "node.kubernetes.io/unreachable");
  EXPECT_EQ(std::as_const(pod.spec.tolerations)[1].toleration_seconds, 300);
}

TEST(AdmissionTest, OwnTolerationsAreKept) {
  Pod pod = OnePod();
  Toleration all;
  all.operator_ = "Exists";
  pod.spec.tolerations = {all};
  ASSERT_TRUE(AdmitNew(pod).ok());
  EXPECT_EQ(pod.spec.tolerations.size(), 1u);
}

TEST(AdmissionTest, PriorityComesFromTheClass) {
  auto context = With({R"({"metadata":{"name":"high"},"value":7,"preemptionPolicy":"Never"})",
                       R"({"metadata":{"name":"usual"},"value":3,"globalDefault":true})"});
  Pod pod = OnePod();
  ASSERT_TRUE(AdmitNew(pod, context).ok());
  EXPECT_EQ(pod.spec.priority_class_name, "usual");
  EXPECT_EQ(pod.spec.priority, 3);
  pod = OnePod();
  pod.spec.priority_class_name = "high";
  ASSERT_TRUE(AdmitNew(pod, context).ok());
  EXPECT_EQ(pod.spec.priority, 7);
  EXPECT_EQ(pod.spec.preemption_policy, String("Never"));
  pod = OnePod();
  pod.spec.priority_class_name = "system-node-critical";
  ASSERT_TRUE(AdmitNew(pod, context).ok());
  EXPECT_EQ(pod.spec.priority, 2000001000);
  pod = OnePod();
  pod.spec.priority_class_name = "none";
  Result<void> r = AdmitNew(pod, context);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.error().message(), "pods \"p\" is forbidden: no PriorityClass with name none was found");
  pod = OnePod();
  pod.spec.priority = 5;
  EXPECT_TRUE(IsForbidden(AdmitNew(pod, context).error()));
}

TEST(AdmissionTest, UpdatesKeepThePriority) {
  Pod old = OnePod();
  old.spec.priority = 9;
  Pod pod = OnePod();
  ASSERT_TRUE(Admit(Pod::kType, &pod, &old, {}).ok());
  EXPECT_EQ(pod.spec.priority, 9);
}

TEST(AdmissionTest, ServiceAccountsAreAnOption) {
  Pod pod = OnePod();
  ASSERT_TRUE(AdmitNew(pod).ok());
  EXPECT_TRUE(pod.spec.service_account_name.empty());
  AdmissionContext context = With({R"({"metadata":{"name":"default","namespace":"ns"},"imagePullSecrets":[{"name":"s"}]})"});
  context.service_accounts = true;
  context.name_suffix = [] { return std::string("abcde"); };
  pod = OnePod();
  // The list holds an object without a value, which is no priority class that counts.
  ASSERT_TRUE(AdmitNew(pod, context).ok());
  EXPECT_EQ(pod.spec.service_account_name, "default");
  ASSERT_EQ(pod.spec.volumes.size(), 1u);
  EXPECT_EQ(std::as_const(pod.spec.volumes)[0].name, "kube-api-access-abcde");
  EXPECT_EQ(std::as_const(pod.spec.volumes)[0].projected->sources.size(), 3u);
  const VolumeMount& mount = std::as_const(pod.spec.containers)[0].volume_mounts[0];
  EXPECT_EQ(mount.mount_path, "/var/run/secrets/kubernetes.io/serviceaccount");
  EXPECT_TRUE(mount.read_only);
  EXPECT_EQ(std::as_const(pod.spec.image_pull_secrets)[0].name, "s");
  pod = OnePod();
  pod.spec.automount_service_account_token = false;
  ASSERT_TRUE(AdmitNew(pod, context).ok());
  EXPECT_TRUE(pod.spec.volumes.empty());
  pod = OnePod();
  pod.spec.service_account_name = "other";
  Result<void> r = AdmitNew(pod, context);
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.error().message(), HasSubstr("error looking up service account ns/other: serviceaccount \"other\" not found"));
}

TEST(AdmissionTest, TheNewestDefaultClassWins) {
  auto context = With({R"({"metadata":{"name":"old","creationTimestamp":"2020-01-01T00:00:00Z",
                          "annotations":{"storageclass.kubernetes.io/is-default-class":"true"}}})",
                       R"({"metadata":{"name":"new","creationTimestamp":"2021-01-01T00:00:00Z",
                          "annotations":{"storageclass.kubernetes.io/is-default-class":"true"}}})",
                       R"({"metadata":{"name":"other","creationTimestamp":"2022-01-01T00:00:00Z"}})"});
  PersistentVolumeClaim claim;
  ASSERT_TRUE(AdmitNew(claim, context).ok());
  EXPECT_EQ(claim.spec.storage_class_name, String("new"));
  EXPECT_THAT(claim.metadata.finalizers, ElementsAre(String("kubernetes.io/pvc-protection")));
  PersistentVolumeClaim none;
  none.spec.storage_class_name = "";
  ASSERT_TRUE(AdmitNew(none, context).ok());
  EXPECT_EQ(none.spec.storage_class_name, String(""));
  networking::v1::Ingress ingress;
  ASSERT_TRUE(AdmitNew(ingress, context).ok());
  EXPECT_FALSE(ingress.spec.ingress_class_name.has_value());
}

TEST(AdmissionTest, NewNodesAreNotReady) {
  Node node;
  ASSERT_TRUE(AdmitNew(node).ok());
  ASSERT_EQ(node.spec.taints.size(), 1u);
  EXPECT_EQ(std::as_const(node.spec.taints)[0].key, "node.kubernetes.io/not-ready");
  Node again = node;
  ASSERT_TRUE(AdmitNew(again).ok());
  EXPECT_EQ(again.spec.taints.size(), 1u);
}

TEST(AdmissionTest, OnlyOneDefaultPriorityClass) {
  auto context = With({R"({"metadata":{"name":"usual"},"value":3,"globalDefault":true})"});
  scheduling::v1::PriorityClass c;
  c.metadata.name = "second";
  EXPECT_TRUE(AdmitNew(c, context).ok());
  c.global_default = true;
  Result<void> r = AdmitNew(c, context);
  ASSERT_FALSE(r.ok());
  EXPECT_THAT(r.error().message(), HasSubstr("PriorityClass usual is already marked as default"));
}

}  // namespace
}  // namespace kube::apiserver
