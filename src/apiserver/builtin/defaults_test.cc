#include "apiserver/builtin/defaults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/builtin/image_reference.h"
#include "kube/api/admissionregistration/v1.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/api/apps/v1.h"
#include "kube/api/autoscaling/v2.h"
#include "kube/api/batch/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/networking/v1.h"
#include "kube/api/rbac/v1.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

using namespace core::v1;
using ::testing::ElementsAre;

template <typename T>
T Defaulted(std::string_view json) {
  Result<T> object = FromJson<T>(json);
  EXPECT_TRUE(object.ok()) << object.error().ToString();
  ApplyDefaults(*object);
  return *object;
}

TEST(DefaultsTest, FillsAPod) {
  Pod pod = Defaulted<Pod>(R"({"spec":{"containers":[{"name":"c","image":"nginx","ports":[{"containerPort":80}],
      "livenessProbe":{"httpGet":{"port":80}},"env":[{"name":"A","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}]}})");
  EXPECT_EQ(pod.spec.dns_policy, "ClusterFirst");
  EXPECT_EQ(pod.spec.restart_policy, "Always");
  EXPECT_EQ(pod.spec.scheduler_name, "default-scheduler");
  EXPECT_EQ(pod.spec.termination_grace_period_seconds, 30);
  EXPECT_EQ(pod.spec.enable_service_links, true);
  EXPECT_TRUE(pod.spec.security_context.has_value());
  const Container& c = std::as_const(pod.spec.containers)[0];
  EXPECT_EQ(c.image_pull_policy, "Always");
  EXPECT_EQ(c.termination_message_path, "/dev/termination-log");
  EXPECT_EQ(c.termination_message_policy, "File");
  EXPECT_EQ(c.ports[0].protocol, "TCP");
  EXPECT_EQ(c.liveness_probe->period_seconds, 10);
  EXPECT_EQ(c.liveness_probe->failure_threshold, 3);
  EXPECT_EQ(c.liveness_probe->http_get->path, "/");
  EXPECT_EQ(c.liveness_probe->http_get->scheme, "HTTP");
  EXPECT_EQ(c.env[0].value_from->field_ref->api_version, "v1");
}

TEST(DefaultsTest, KeepsWhatIsSetAndIsIdempotent) {
  Pod pod = Defaulted<Pod>(R"({"spec":{"restartPolicy":"Never","terminationGracePeriodSeconds":0,
      "containers":[{"name":"c","image":"nginx:1.25","imagePullPolicy":"Never"}]}})");
  EXPECT_EQ(pod.spec.restart_policy, "Never");
  EXPECT_EQ(pod.spec.termination_grace_period_seconds, 0);
  EXPECT_EQ(std::as_const(pod.spec.containers)[0].image_pull_policy, "Never");
  Pod again = pod;
  ApplyDefaults(again);
  EXPECT_EQ(again, pod);
}

TEST(DefaultsTest, LeavesOtherCopiesAlone) {
  Pod pod = *FromJson<Pod>(R"({"spec":{"containers":[{"name":"c","image":"i","livenessProbe":{"exec":{"command":["x"]}}}]}})");
  const Pod copy = pod;  // shares its lists and boxes
  ApplyDefaults(pod);
  EXPECT_TRUE(copy.spec.containers[0].image_pull_policy.empty());
  EXPECT_EQ(copy.spec.containers[0].liveness_probe->period_seconds, 0);
  EXPECT_EQ(std::as_const(pod.spec.containers)[0].liveness_probe->period_seconds, 10);
}

TEST(DefaultsTest, RequestsFollowLimitsInPodsButNotInTemplates) {
  const char* resources = R"("resources":{"limits":{"cpu":"1","memory":"1Gi"},"requests":{"cpu":"500m"}})";
  Pod pod = Defaulted<Pod>(std::string(R"({"spec":{"containers":[{"name":"c","image":"i",)") + resources + "}]}}");
  const auto& requests = std::as_const(pod.spec.containers)[0].resources.requests;
  EXPECT_EQ(requests.Get("cpu").text(), "500m");
  EXPECT_EQ(requests.Get("memory").text(), "1Gi");
  auto d = Defaulted<apps::v1::Deployment>(
      std::string(
          R"({"spec":{"template":{"spec":{"hostNetwork":true,"containers":[{"name":"c","image":"i","ports":[{"containerPort":5}],)") +
      resources + "}]}}}}");
  const Container& c = std::as_const(d.spec.template_.spec.containers)[0];
  EXPECT_FALSE(c.resources.requests.contains("memory"));
  EXPECT_EQ(c.ports[0].host_port, 0);
}

TEST(DefaultsTest, HostNetworkOpensHostPorts) {
  Pod pod = Defaulted<Pod>(R"({"spec":{"hostNetwork":true,"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}]}]}})");
  EXPECT_EQ(std::as_const(pod.spec.containers)[0].ports[0].host_port, 80);
}

TEST(DefaultsTest, AmountsFinerThanAThousandthAreRoundedUp) {
  Pod pod = Defaulted<Pod>(R"({"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"100u","memory":"1Gi"}}}]}})");
  EXPECT_EQ(std::as_const(pod.spec.containers)[0].resources.requests.Get("cpu").text(), "1m");
  EXPECT_EQ(std::as_const(pod.spec.containers)[0].resources.requests.Get("memory").text(), "1Gi");
}

TEST(DefaultsTest, VolumesHaveModesAndASource) {
  Pod pod = Defaulted<Pod>(R"({"spec":{"containers":[],"volumes":[{"name":"a"},{"name":"b","secret":{"secretName":"s"}},
      {"name":"c","hostPath":{"path":"/x"}},{"name":"d","projected":{"sources":[{"serviceAccountToken":{"path":"t"}}]}}]}})");
  const auto& volumes = std::as_const(pod.spec.volumes);
  EXPECT_TRUE(volumes[0].empty_dir.has_value());
  EXPECT_EQ(volumes[1].secret->default_mode, 0644);
  EXPECT_FALSE(volumes[1].empty_dir.has_value());
  EXPECT_EQ(volumes[2].host_path->type, String(""));
  EXPECT_EQ(volumes[3].projected->sources[0].service_account_token->expiration_seconds, 3600);
}

TEST(DefaultsTest, OldFieldsFollowNewOnes) {
  Pod pod = Defaulted<Pod>(R"({"spec":{"serviceAccount":"old","containers":[]},"status":{"podIP":"1.2.3.4"}})");
  EXPECT_EQ(pod.spec.service_account_name, "old");
  ASSERT_EQ(pod.status.pod_ips.size(), 1u);
  EXPECT_EQ(std::as_const(pod.status.pod_ips)[0].ip, "1.2.3.4");
  Secret secret = Defaulted<Secret>(R"({"stringData":{"a":"new"},"data":{"a":"b2xk","b":"eA=="}})");
  EXPECT_EQ(secret.data.Get("a"), "new");
  EXPECT_EQ(secret.data.Get("b"), "x");
  EXPECT_TRUE(secret.string_data.empty());
  EXPECT_EQ(secret.type, "Opaque");
  Node node = Defaulted<Node>(R"({"spec":{"podCIDR":"10.1.0.0/24"},"status":{"capacity":{"cpu":"4"}}})");
  EXPECT_THAT(node.spec.pod_cidrs, ElementsAre(String("10.1.0.0/24")));
  EXPECT_EQ(node.status.allocatable.Get("cpu").text(), "4");
}

TEST(DefaultsTest, FillsAService) {
  Service s = Defaulted<Service>(
      R"({"spec":{"type":"LoadBalancer","sessionAffinity":"ClientIP","ports":[{"port":80},{"port":81,"targetPort":"x"}]}})");
  EXPECT_EQ(s.spec.session_affinity_config->client_ip->timeout_seconds, 10800);
  EXPECT_EQ(std::as_const(s.spec.ports)[0].target_port, IntOrString(80));
  EXPECT_EQ(std::as_const(s.spec.ports)[1].target_port, IntOrString("x"));
  EXPECT_EQ(s.spec.external_traffic_policy, "Cluster");
  EXPECT_EQ(s.spec.internal_traffic_policy, String("Cluster"));
  EXPECT_EQ(s.spec.allocate_load_balancer_node_ports, true);
  EXPECT_FALSE(Defaulted<Service>(R"({"spec":{"type":"ExternalName"}})").spec.internal_traffic_policy.has_value());
}

TEST(DefaultsTest, FillsWorkloads) {
  auto d = Defaulted<apps::v1::Deployment>(R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  EXPECT_EQ(d.spec.replicas, 1);
  EXPECT_EQ(d.spec.strategy.rolling_update->max_surge, IntOrString("25%"));
  EXPECT_EQ(d.spec.progress_deadline_seconds, 600);
  EXPECT_EQ(d.spec.template_.spec.dns_policy, "ClusterFirst");
  auto s = Defaulted<apps::v1::StatefulSet>(R"({"spec":{"volumeClaimTemplates":[{"spec":{}}]}})");
  EXPECT_EQ(s.spec.update_strategy.rolling_update->partition, 0);
  EXPECT_EQ(s.spec.persistent_volume_claim_retention_policy->when_scaled, "Retain");
  EXPECT_EQ(std::as_const(s.spec.volume_claim_templates)[0].status.phase, "Pending");
  auto ds = Defaulted<apps::v1::DaemonSet>(R"({"spec":{}})");
  EXPECT_EQ(ds.spec.update_strategy.rolling_update->max_unavailable, IntOrString(1));
  auto job =
      Defaulted<batch::v1::Job>(R"({"spec":{"backoffLimitPerIndex":1,"parallelism":3,"template":{"metadata":{"labels":{"a":"b"}}}}})");
  EXPECT_FALSE(job.spec.completions.has_value());
  EXPECT_EQ(job.spec.backoff_limit, 2147483647);
  EXPECT_EQ(job.metadata.labels.Get("a"), "b");
  auto cron = Defaulted<batch::v1::CronJob>(R"({"spec":{"jobTemplate":{"spec":{"template":{"spec":{"containers":[]}}}}}})");
  EXPECT_EQ(cron.spec.concurrency_policy, "Allow");
  EXPECT_FALSE(cron.spec.job_template.spec.completions.has_value());  // a job's defaults come with the job
  EXPECT_EQ(cron.spec.job_template.spec.template_.spec.restart_policy, "Always");
  auto hpa = Defaulted<autoscaling::v2::HorizontalPodAutoscaler>(R"({"spec":{"behavior":{"scaleDown":{"stabilizationWindowSeconds":5}}}})");
  EXPECT_EQ(std::as_const(hpa.spec.metrics)[0].resource->target.average_utilization, 80);
  EXPECT_EQ(hpa.spec.behavior->scale_down->stabilization_window_seconds, 5);
  EXPECT_EQ(hpa.spec.behavior->scale_up->policies.size(), 2u);
}

TEST(DefaultsTest, FillsOtherKinds) {
  auto np = Defaulted<networking::v1::NetworkPolicy>(R"({"spec":{"egress":[{"ports":[{"port":53}]}]}})");
  EXPECT_THAT(np.spec.policy_types, ElementsAre(String("Ingress"), String("Egress")));
  EXPECT_EQ(std::as_const(np.spec.egress)[0].ports[0].protocol, String("TCP"));
  auto rb = Defaulted<rbac::v1::RoleBinding>(
      R"({"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"u"},{"kind":"ServiceAccount","name":"s"}]})");
  EXPECT_EQ(rb.role_ref.api_group, "rbac.authorization.k8s.io");
  EXPECT_EQ(std::as_const(rb.subjects)[0].api_group, "rbac.authorization.k8s.io");
  EXPECT_TRUE(std::as_const(rb.subjects)[1].api_group.empty());
  auto hooks = Defaulted<admissionregistration::v1::MutatingWebhookConfiguration>(
      R"({"webhooks":[{"name":"a","clientConfig":{"service":{"name":"s","namespace":"n"}},"rules":[{"operations":["CREATE"]}]}]})");
  const auto& hook = std::as_const(hooks.webhooks)[0];
  EXPECT_EQ(hook.failure_policy, String("Fail"));
  EXPECT_EQ(hook.reinvocation_policy, String("Never"));
  EXPECT_EQ(hook.client_config.service->port, 443);
  EXPECT_EQ(hook.rules[0].scope, String("*"));
  auto crd = Defaulted<apiextensions::v1::CustomResourceDefinition>(
      R"({"spec":{"group":"g","names":{"kind":"FooBar","plural":"foobars"},"versions":[{"name":"v1","storage":true}]}})");
  EXPECT_EQ(crd.spec.names.singular, "foobar");
  EXPECT_EQ(crd.spec.names.list_kind, "FooBarList");
  EXPECT_EQ(crd.spec.conversion->strategy, "None");
  EXPECT_THAT(crd.status.stored_versions, ElementsAre(String("v1")));
  auto limits = Defaulted<LimitRange>(R"({"spec":{"limits":[{"type":"Container","max":{"cpu":"2"},"min":{"memory":"1Mi"}}]}})");
  EXPECT_EQ(std::as_const(limits.spec.limits)[0].default_request.Get("cpu").text(), "2");
  EXPECT_EQ(std::as_const(limits.spec.limits)[0].default_request.Get("memory").text(), "1Mi");
}

TEST(ImageReferenceTest, FindsTheTag) {
  EXPECT_EQ(ImageTag("nginx"), "latest");
  EXPECT_EQ(ImageTag("nginx:1.25"), "1.25");
  EXPECT_EQ(ImageTag("localhost:5000/a/b"), "latest");
  EXPECT_EQ(ImageTag("registry.example.com:5000/a/b:v1"), "v1");
  EXPECT_EQ(ImageTag("a@sha256:" + std::string(64, 'a')), "");
  EXPECT_EQ(ImageTag("a:x@sha256:" + std::string(64, 'a')), "x");
  EXPECT_EQ(ImageTag(""), "");
  EXPECT_EQ(ImageTag("Upper"), "");
  EXPECT_EQ(ImageTag("Host/path"), "latest");
  EXPECT_EQ(ImageTag("a:"), "");
  EXPECT_EQ(ImageTag("a//b"), "");
  EXPECT_EQ(ImageTag(std::string(64, 'a')), "");
  EXPECT_EQ(ImageTag("[::1]:5000/a"), "latest");
}

}  // namespace
}  // namespace kube::apiserver
