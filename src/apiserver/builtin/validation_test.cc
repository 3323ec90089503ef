#include "apiserver/builtin/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/builtin/cron.h"
#include "apiserver/builtin/defaults.h"
#include "kube/api/apiextensions/v1.h"
#include "kube/api/apps/v1.h"
#include "kube/api/autoscaling/v2.h"
#include "kube/api/batch/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/networking/v1.h"
#include "kube/api/policy/v1.h"
#include "kube/api/rbac/v1.h"
#include "kube/api/scheduling/v1.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

using namespace core::v1;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

template <typename T>
T Parsed(const std::string& json) {
  Result<T> object = FromJson<T>(json);
  EXPECT_TRUE(object.ok()) << object.error().ToString();
  ApplyDefaults(*object);
  return *object;
}

std::vector<std::string> Texts(const std::vector<FieldError>& errors) {
  std::vector<std::string> out;
  for (const FieldError& e : errors) out.push_back(e.ToString());
  return out;
}

// The errors of a new object.
template <typename T>
std::vector<std::string> Check(const std::string& json) {
  T object = Parsed<T>(json);
  return Texts(Validate(T::kType, &object, nullptr));
}

// The errors of a change.
template <typename T>
std::vector<std::string> CheckChange(const std::string& before, const std::string& after) {
  T old = Parsed<T>(before), object = Parsed<T>(after);
  return Texts(Validate(T::kType, &object, &old));
}

std::string PodWith(const std::string& container, const std::string& spec = "") {
  return R"({"metadata":{"name":"p"},"spec":{)" + spec + R"("containers":[{"name":"c","image":"i")" + container + "}]}}";
}

TEST(PodValidationTest, AGoodPodHasNoErrors) {
  EXPECT_THAT(Check<Pod>(PodWith(R"(,"ports":[{"containerPort":80,"name":"http"}],"env":[{"name":"A","value":"b"}],
      "livenessProbe":{"httpGet":{"port":"http"}},"volumeMounts":[{"name":"v","mountPath":"/v"}])",
                                 R"("volumes":[{"name":"v","emptyDir":{}}],)")),
              IsEmpty());
}

TEST(PodValidationTest, ContainersNeedNamesAndImages) {
  EXPECT_THAT(Check<Pod>(R"({"spec":{}})"), ElementsAre("spec.containers: Required value"));
  EXPECT_THAT(Check<Pod>(R"({"spec":{"containers":[{}]}})"),
              ElementsAre("spec.containers[0].name: Required value", "spec.containers[0].image: Required value"));
  EXPECT_THAT(Check<Pod>(R"({"spec":{"containers":[{"name":"c","image":"i"},{"name":"c","image":" i"}]}})"),
              ElementsAre("spec.containers[1].name: Duplicate value: \"c\"",
                          "spec.containers[1].image: Invalid value: \" i\": must not have leading or trailing whitespace"));
  EXPECT_THAT(Check<Pod>(R"({"spec":{"containers":[{"name":"A_b","image":"i"}]}})"),
              ElementsAre(StartsWith("spec.containers[0].name: Invalid value: \"A_b\": a lowercase RFC 1123 label must consist of")));
}

TEST(PodValidationTest, ChecksPorts) {
  EXPECT_THAT(Check<Pod>(PodWith(R"(,"ports":[{"containerPort":0},{"containerPort":70000,"protocol":"X"}])")),
              ElementsAre("spec.containers[0].ports[0].containerPort: Required value",
                          "spec.containers[0].ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
                          "spec.containers[0].ports[1].protocol: Unsupported value: \"X\": supported values: \"SCTP\", \"TCP\", \"UDP\""));
  EXPECT_THAT(Check<Pod>(PodWith(R"(,"ports":[{"containerPort":80,"hostPort":8080},{"containerPort":81,"hostPort":8080}])")),
              ElementsAre("spec.containers[0].ports[1].hostPort: Duplicate value: \"TCP//8080\""));
  EXPECT_THAT(Check<Pod>(PodWith(R"(,"ports":[{"containerPort":80,"name":"1"}])")),
              ElementsAre("spec.containers[0].ports[0].name: Invalid value: \"1\": must contain at least one letter (a-z)"));
}

TEST(PodValidationTest, ChecksEnvironmentAndMounts) {
  EXPECT_THAT(Check<Pod>(PodWith(R"(,"env":[{"name":""},{"name":"a=b"}])")),
              ElementsAre("spec.containers[0].env[0].name: Required value",
                          "spec.containers[0].env[1].name: Invalid value: \"a=b\": a valid environment variable name must consist only of "
                          "printable ASCII characters other than '='"));
  EXPECT_THAT(Check<Pod>(PodWith(R"(,"volumeMounts":[{"name":"nope","mountPath":"/x"}])")),
              ElementsAre("spec.containers[0].volumeMounts[0].name: Not found: \"nope\""));
  EXPECT_THAT(Check<Pod>(PodWith("", R"("volumes":[{"name":"v","secret":{}},{"name":"w","emptyDir":{},"configMap":{"name":"c"}}],)")),
              ElementsAre("spec.volumes[0].secret.secretName: Required value",
                          "spec.volumes[1].configMap: Forbidden: may not specify more than 1 volume type"));
}

TEST(PodValidationTest, ChecksResourcesAndEnums) {
  EXPECT_THAT(
      Check<Pod>(PodWith(R"(,"resources":{"limits":{"cpu":"1"},"requests":{"cpu":"2","foo":"1"}})")),
      ElementsAre("spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
                  "spec.containers[0].resources.requests[foo]: Invalid value: \"foo\": must be a standard resource type or fully qualified",
                  "spec.containers[0].resources.requests[foo]: Invalid value: \"foo\": must be a standard resource for containers"));
  EXPECT_THAT(Check<Pod>(PodWith("", R"("restartPolicy":"X","dnsPolicy":"Y",)")),
              ElementsAre("spec.restartPolicy: Unsupported value: \"X\": supported values: \"Always\", \"OnFailure\", \"Never\"",
                          "spec.dnsPolicy: Unsupported value: \"Y\": supported values: \"ClusterFirstWithHostNet\", \"ClusterFirst\", "
                          "\"Default\", \"None\""));
}

TEST(PodValidationTest, ChecksProbes) {
  EXPECT_THAT(Check<Pod>(PodWith(R"(,"livenessProbe":{})")),
              ElementsAre("spec.containers[0].livenessProbe: Required value: must specify a handler type"));
  EXPECT_THAT(Check<Pod>(PodWith(R"(,"readinessProbe":{"tcpSocket":{"port":1},"exec":{"command":["x"]},"periodSeconds":-1})")),
              ElementsAre("spec.containers[0].readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
                          "spec.containers[0].readinessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0"));
}

TEST(PodValidationTest, OnlyImagesAndAFewOthersMayChange) {
  EXPECT_THAT(CheckChange<Pod>(PodWith(""), PodWith(R"(,"imagePullPolicy":"Always")")), IsEmpty());
  EXPECT_THAT(CheckChange<Pod>(PodWith(R"(,"imagePullPolicy":"Never")"),
                               R"({"spec":{"containers":[{"name":"c","image":"other","imagePullPolicy":"Never"}]}})"),
              IsEmpty());
  EXPECT_THAT(CheckChange<Pod>(PodWith(""), PodWith("", R"("hostname":"h",)")),
              ElementsAre(StartsWith("spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
                                     "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
                                     "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
                                     "previously negative)\n")));
  EXPECT_THAT(CheckChange<Pod>(PodWith(""), R"({"spec":{"containers":[]}})"),
              Contains("spec.containers: Forbidden: pod updates may not add or remove containers"));
  EXPECT_THAT(CheckChange<Pod>(PodWith("", R"("tolerations":[{"key":"a","operator":"Exists"}],)"), PodWith("")),
              Contains("spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"));
}

TEST(PodValidationTest, StatusKeepsItsQosClass) {
  Pod old = Parsed<Pod>(PodWith("")), pod = old;
  old.status.qos_class = "Burstable";
  pod.status.qos_class = "Guaranteed";
  EXPECT_THAT(Texts(ValidateSubresource(Pod::kType, "status", &pod, &old)),
              ElementsAre("status.qosClass: Invalid value: \"Guaranteed\": field is immutable"));
}

const char* const kTemplate = R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}})";
std::string Workload(const std::string& spec) { return R"({"metadata":{"name":"w"},"spec":{)" + spec + kTemplate + "}}"; }
const char* const kSelector = R"("selector":{"matchLabels":{"a":"b"}},)";

TEST(WorkloadValidationTest, SelectorsMustFit) {
  using apps::v1::Deployment;
  EXPECT_THAT(Check<Deployment>(Workload(kSelector)), IsEmpty());
  EXPECT_THAT(Check<Deployment>(Workload("")),
              ElementsAre("spec.selector: Required value",
                          "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`"));
  EXPECT_THAT(Check<Deployment>(Workload(R"("selector":{"matchLabels":{"a":"c"}},)")),
              ElementsAre("spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`"));
  EXPECT_THAT(Check<Deployment>(Workload(R"("selector":{},)")),
              ElementsAre("spec.selector: Invalid value: {}: empty selector is invalid for deployment"));
  EXPECT_THAT(CheckChange<Deployment>(Workload(kSelector), Workload(R"("selector":{"matchLabels":{"a":"c"}},)")),
              Contains("spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"c\"}}: field is immutable"));
}

TEST(WorkloadValidationTest, ChecksDeployments) {
  using apps::v1::Deployment;
  EXPECT_THAT(Check<Deployment>(Workload(std::string(kSelector) + R"("replicas":-1,"strategy":{"type":"X"},)")),
              ElementsAre("spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                          "spec.strategy: Unsupported value: {\"Type\":\"X\",\"RollingUpdate\":null}: supported values: \"Recreate\", "
                          "\"RollingUpdate\""));
  EXPECT_THAT(Check<Deployment>(Workload(std::string(kSelector) + R"("strategy":{"rollingUpdate":{"maxSurge":0,"maxUnavailable":0}},)")),
              ElementsAre("spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when `maxSurge` is 0"));
}

TEST(WorkloadValidationTest, StatefulSetsMountTheirClaims) {
  const std::string mounts = R"({"metadata":{"name":"w"},"spec":{"selector":{"matchLabels":{"a":"b"}},"serviceName":"s",
      "volumeClaimTemplates":[{"metadata":{"name":"data"}}],"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[
      {"name":"c","image":"i","volumeMounts":[{"name":"data","mountPath":"/d"},{"name":"other","mountPath":"/o"}]}]}}}})";
  EXPECT_THAT(Check<apps::v1::StatefulSet>(mounts),
              ElementsAre("spec.template.spec.containers[0].volumeMounts[1].name: Not found: \"other\""));
  EXPECT_THAT(CheckChange<apps::v1::StatefulSet>(Workload(kSelector), Workload(std::string(kSelector) + R"("serviceName":"s",)")),
              ElementsAre(StartsWith("spec: Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals'")));
}

TEST(WorkloadValidationTest, JobsAreNotRestartedForEver) {
  EXPECT_THAT(
      Check<batch::v1::Job>(R"({"spec":{"manualSelector":true,"selector":{"matchLabels":{"a":"b"}},)" + std::string(kTemplate) + "}}"),
      ElementsAre("spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\""));
}

TEST(CronTest, FindsWhatIsWrong) {
  for (const char* good : {"* * * * *", "*/5 0-6 1,15 jan-mar MON", "@hourly", "@every 5m", "0 0 1/2 * ?"})
    EXPECT_EQ(CronProblem(good), "") << good;
  EXPECT_EQ(CronProblem("* * * *"), "expected exactly 5 fields, found 4: [* * * *]");
  EXPECT_EQ(CronProblem("60 * * * *"), "end of range (60) above maximum (59): 60");
  EXPECT_EQ(CronProblem("* * 0 * *"), "beginning of range (0) below minimum (1): 0");
  EXPECT_EQ(CronProblem("5-1 * * * *"), "beginning of range (5) beyond end of range (1): 5-1");
  EXPECT_EQ(CronProblem("*/0 * * * *"), "step of range should be a positive number: */0");
  EXPECT_EQ(CronProblem("a * * * *"), "failed to parse int from a: strconv.Atoi: parsing \"a\": invalid syntax");
  EXPECT_EQ(CronProblem("@foo"), "unrecognized descriptor: @foo");
}

TEST(ServiceValidationTest, ChecksPortsAndTypes) {
  EXPECT_THAT(Check<Service>(R"({"spec":{"ports":[{"port":80}]}})"), IsEmpty());
  EXPECT_THAT(Check<Service>(R"({"spec":{}})"), ElementsAre("spec.ports: Required value"));
  EXPECT_THAT(
      Check<Service>(R"({"spec":{"ports":[{"port":0},{"port":81}]}})"),
      ElementsAre("spec.ports[0].name: Required value", "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                  "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive",
                  "spec.ports[1].name: Required value"));
  EXPECT_THAT(
      Check<Service>(R"({"spec":{"type":"X","ports":[{"port":80}]}})"),
      ElementsAre(
          "spec.type: Unsupported value: \"X\": supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\""));
  EXPECT_THAT(Check<Service>(R"({"spec":{"ports":[{"port":80,"nodePort":30000}]}})"),
              ElementsAre("spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"));
}

TEST(ServiceValidationTest, AddressesDoNotChange) {
  const char* before = R"({"spec":{"clusterIP":"10.0.0.1","clusterIPs":["10.0.0.1"],"ports":[{"port":80}]}})";
  const char* after = R"({"spec":{"clusterIP":"10.0.0.2","clusterIPs":["10.0.0.2"],"ports":[{"port":80}]}})";
  EXPECT_THAT(CheckChange<Service>(before, after),
              ElementsAre("spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"));
}

TEST(ConfigValidationTest, KeysAndFrozenObjects) {
  EXPECT_THAT(Check<ConfigMap>(R"({"data":{"a b":"x"}})"),
              ElementsAre(StartsWith("data[a b]: Invalid value: \"a b\": a valid config key")));
  EXPECT_THAT(CheckChange<ConfigMap>(R"({"data":{"a":"b"},"immutable":true})", R"({"data":{"a":"c"}})"),
              ElementsAre("immutable: Forbidden: field is immutable when `immutable` is set",
                          "data: Forbidden: field is immutable when `immutable` is set"));
  EXPECT_THAT(Check<Secret>(R"({"type":"kubernetes.io/tls"})"),
              ElementsAre("data[tls.crt]: Required value", "data[tls.key]: Required value"));
  EXPECT_THAT(CheckChange<Secret>("{}", R"({"type":"x"})"), ElementsAre("type: Invalid value: \"x\": field is immutable"));
}

TEST(OtherValidationTest, ChecksRbac) {
  EXPECT_THAT(Check<rbac::v1::Role>(R"({"rules":[{"verbs":[]}]})"),
              ElementsAre("rules[0].verbs: Required value: verbs must contain at least one value",
                          "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                          "rules[0].resources: Required value: resource rules must supply at least one resource"));
  EXPECT_THAT(CheckChange<rbac::v1::RoleBinding>(R"({"roleRef":{"kind":"Role","name":"a"}})", R"({"roleRef":{"kind":"Role","name":"b"}})"),
              ElementsAre("roleRef: Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"Role\",\"Name\":\"b\"}: cannot "
                          "change roleRef"));
}

TEST(OtherValidationTest, ChecksIngresses) {
  EXPECT_THAT(Check<networking::v1::Ingress>(R"({"spec":{}})"),
              ElementsAre("spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"));
  EXPECT_THAT(Check<networking::v1::Ingress>(
                  R"({"spec":{"rules":[{"host":"1.2.3.4","http":{"paths":[{"path":"x","pathType":"Prefix","backend":{}}]}}]}})"),
              ElementsAre("spec.rules[0].host: Invalid value: \"1.2.3.4\": must be a DNS name, not an IP address",
                          "spec.rules[0].http.paths[0].path: Invalid value: \"x\": must be an absolute path",
                          "spec.rules[0].http.paths[0].backend: Invalid value: \"\": resource or service backend is required"));
}

TEST(OtherValidationTest, ChecksBudgetsAutoscalersAndClasses) {
  EXPECT_THAT(Check<policy::v1::PodDisruptionBudget>(R"({"spec":{"minAvailable":1,"maxUnavailable":"5%"}})"),
              ElementsAre("spec: Invalid value: {\"MinAvailable\":1,\"Selector\":null,\"MaxUnavailable\":\"5%\","
                          "\"UnhealthyPodEvictionPolicy\":null}: minAvailable and maxUnavailable cannot be both set"));
  EXPECT_THAT(Check<autoscaling::v2::HorizontalPodAutoscaler>(
                  R"({"spec":{"minReplicas":5,"maxReplicas":3,"scaleTargetRef":{"kind":"D","name":"d","apiVersion":"apps/v1"}}})"),
              ElementsAre("spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"));
  EXPECT_THAT(Check<scheduling::v1::PriorityClass>(R"({"metadata":{"name":"system-x"},"value":1})"),
              ElementsAre(HasSubstr("priority class names with 'system-' prefix are reserved")));
}

TEST(OtherValidationTest, ChecksClaims) {
  EXPECT_THAT(
      Check<PersistentVolumeClaim>(R"({"spec":{}})"),
      ElementsAre("spec.accessModes: Required value: at least 1 access mode is required", "spec.resources[storage]: Required value"));
  const char* before = R"({"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})";
  const char* after = R"({"spec":{"accessModes":["ReadWriteMany"],"resources":{"requests":{"storage":"1Gi"}}}})";
  EXPECT_THAT(CheckChange<PersistentVolumeClaim>(before, after),
              ElementsAre(StartsWith("spec: Forbidden: spec is immutable after creation except resources.requests and")));
}

TEST(OtherValidationTest, ChecksCrds) {
  using apiextensions::v1::CustomResourceDefinition;
  auto crd = [](const std::string& names, const std::string& version) {
    return R"({"metadata":{"name":"foos.ex.com"},"spec":{"group":"ex.com","scope":"Namespaced","names":)" + names + R"(,"versions":[)" +
           version + "]}}";
  };
  const std::string good_names = R"({"plural":"foos","kind":"Foo"})";
  const std::string good_version = R"({"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}})";
  EXPECT_THAT(Check<CustomResourceDefinition>(crd(good_names, good_version)), IsEmpty());
  EXPECT_THAT(Check<CustomResourceDefinition>(crd(R"({"plural":"bars","kind":"Bar","listKind":"Bar"})", good_version)),
              ElementsAre("metadata.name: Invalid value: \"foos.ex.com\": must be spec.names.plural+\".\"+spec.group",
                          "spec.names.listKind: Invalid value: \"Bar\": kind and listKind may not be the same"));
  EXPECT_THAT(Check<CustomResourceDefinition>(crd(good_names, R"({"name":"v1","served":true,"storage":true})")),
              ElementsAre("spec.versions[0].schema.openAPIV3Schema: Required value"));
}

TEST(ValidationTest, KindsWithoutRulesAreFine) {
  LimitRange limits;
  EXPECT_THAT(Validate(LimitRange::kType, &limits, nullptr), IsEmpty());
}

}  // namespace
}  // namespace kube::apiserver
