#include "apiserver/builtin/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/builtin/catalogue.h"
#include "kube/api/apps/v1.h"
#include "kube/api/autoscaling/v2.h"
#include "kube/api/batch/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/discovery/v1.h"
#include "kube/api/networking/v1.h"
#include "kube/api/rbac/v1.h"
#include "kube/codec/json.h"
#include "kube/value/any_object.h"

namespace kube::apiserver {
namespace {

using namespace core::v1;

const Time kNow = Time::Parse("2024-01-02T00:00:00Z").value();

// The cells as texts, divided by " | ".
template <typename T>
std::string Row(const std::string& json) {
  Result<T> object = FromJson<T>(json);
  EXPECT_TRUE(object.ok()) << object.error().ToString();
  object->metadata.creation_timestamp = Time::Parse("2024-01-01T00:00:00Z").value();
  std::string out;
  for (const Value& cell : RowOf(T::kType, &*object, kNow)) {
    if (!out.empty()) out += " | ";
    out += cell.is_string() ? cell.string_value().str() : ToJson(cell);
  }
  return out;
}

std::string PodStatus(const std::string& status, const std::string& spec = R"("containers":[{"name":"a"},{"name":"b"}])") {
  const std::string row = Row<Pod>(R"({"metadata":{"name":"p"},"spec":{)" + spec + R"(},"status":{)" + status + "}}");
  return row.substr(4, row.find(" | 24h") - 4);
}

TEST(HumanDurationTest, HasAtMostTwoUnits) {
  auto text = [](std::int64_t seconds) { return HumanDuration(Duration::FromNanoseconds(seconds * 1'000'000'000)); };
  EXPECT_EQ(text(-5), "<invalid>");
  EXPECT_EQ(text(-1), "0s");
  EXPECT_EQ(text(119), "119s");
  EXPECT_EQ(text(120), "2m");
  EXPECT_EQ(text(3 * 60 + 20), "3m20s");
  EXPECT_EQ(text(10 * 60 + 20), "10m");
  EXPECT_EQ(text(3 * 3600), "3h");
  EXPECT_EQ(text(7 * 3600 + 59 * 60), "7h59m");
  EXPECT_EQ(text(47 * 3600 + 1), "47h");
  EXPECT_EQ(text(49 * 3600), "2d1h");
  EXPECT_EQ(text(9 * 86400 + 3600), "9d");
  EXPECT_EQ(text(std::int64_t{800} * 86400), "2y70d");
  EXPECT_EQ(text(std::int64_t{3650} * 86400), "10y");
}

TEST(TablesTest, PodStatusFollowsTheContainers) {
  EXPECT_EQ(PodStatus(R"("phase":"Pending")"), "0/2 | Pending | 0");
  EXPECT_EQ(PodStatus(R"("phase":"Failed","reason":"Evicted")"), "0/2 | Evicted | 0");
  EXPECT_EQ(PodStatus(R"("phase":"Running","containerStatuses":[{"name":"a","ready":true,"state":{"running":{}}},
      {"name":"b","ready":true,"state":{"running":{}}}])"),
            "2/2 | Running | 0");
  EXPECT_EQ(
      PodStatus(R"("phase":"Running","containerStatuses":[{"name":"a","restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}},
      "lastState":{"terminated":{"exitCode":1,"finishedAt":"2024-01-01T23:55:00Z"}}}])"),
      "0/2 | CrashLoopBackOff | 4 (5m ago)");
  EXPECT_EQ(
      PodStatus(R"("phase":"Succeeded","containerStatuses":[{"name":"a","state":{"terminated":{"exitCode":0,"reason":"Completed"}}}])"),
      "0/2 | Completed | 0");
  EXPECT_EQ(PodStatus(R"("phase":"Running","containerStatuses":[{"name":"a","state":{"terminated":{"exitCode":0,"signal":9}}}])"),
            "0/2 | Signal:9 | 0");
  EXPECT_EQ(PodStatus(R"("phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[
      {"name":"a","state":{"terminated":{"exitCode":0,"reason":"Completed"}}},{"name":"b","ready":true,"state":{"running":{}}}])"),
            "1/2 | Running | 0");
  EXPECT_EQ(PodStatus(R"("phase":"Running","containerStatuses":[
      {"name":"a","state":{"terminated":{"exitCode":0,"reason":"Completed"}}},{"name":"b","ready":true,"state":{"running":{}}}])"),
            "1/2 | NotReady | 0");
}

TEST(TablesTest, PodStatusWhileInitializing) {
  const char* spec = R"("containers":[{"name":"c"}],"initContainers":[{"name":"i"},{"name":"s","restartPolicy":"Always"}])";
  EXPECT_EQ(PodStatus(R"("phase":"Pending","initContainerStatuses":[{"name":"i","state":{"running":{}}}])", spec), "0/2 | Init:0/2 | 0");
  EXPECT_EQ(
      PodStatus(R"("phase":"Pending","initContainerStatuses":[{"name":"i","restartCount":2,"state":{"terminated":{"exitCode":3}}}])", spec),
      "0/2 | Init:ExitCode:3 | 2");
  EXPECT_EQ(PodStatus(R"("phase":"Pending","initContainerStatuses":[{"name":"i","state":{"waiting":{"reason":"ErrImagePull"}}}])", spec),
            "0/2 | Init:ErrImagePull | 0");
  EXPECT_EQ(PodStatus(R"("phase":"Running","initContainerStatuses":[{"name":"i","state":{"terminated":{"exitCode":0}}},
      {"name":"s","started":true,"ready":true,"state":{"running":{}}}],"containerStatuses":[{"name":"c","ready":true,"state":{"running":{}}}])",
                      spec),
            "2/2 | Running | 0");
}

TEST(TablesTest, DeletedPodsAreTerminating) {
  EXPECT_EQ(Row<Pod>(R"({"metadata":{"name":"p","deletionTimestamp":"2024-01-01T00:00:00Z"},"spec":{"containers":[{"name":"a"}]},
      "status":{"phase":"Running"}})"),
            "p | 0/1 | Terminating | 0 | 24h | <none> | <none> | <none> | <none>");
}

TEST(TablesTest, EndedPodsHaveACondition) {
  Pod pod;
  EXPECT_TRUE(RowConditionsOf(Pod::kType, &pod).is_null());
  pod.status.phase = "Succeeded";
  Value conditions = RowConditionsOf(Pod::kType, &pod);
  ASSERT_EQ(conditions.list().size(), 1u);
  EXPECT_EQ(conditions.list()[0]["message"].string_value(), "The pod has completed successfully.");
}

TEST(TablesTest, PrintsWorkloads) {
  EXPECT_EQ(Row<apps::v1::Deployment>(R"({"metadata":{"name":"d"},"spec":{"replicas":3,"selector":{"matchLabels":{"a":"b"}},
      "template":{"spec":{"containers":[{"name":"c","image":"i"},{"name":"d","image":"j"}]}}},"status":{"readyReplicas":1,"updatedReplicas":2}})"),
            "d | 1/3 | 2 | 0 | 24h | c,d | i,j | a=b");
  EXPECT_EQ(Row<apps::v1::DaemonSet>(R"({"metadata":{"name":"d"},"spec":{"template":{"spec":{"nodeSelector":{"x":"y"}}}}})"),
            "d | 0 | 0 | 0 | 0 | 0 | x=y | 24h |  |  | <none>");
  EXPECT_EQ(Row<batch::v1::Job>(R"({"metadata":{"name":"j"},"spec":{"completions":2,"template":{}},"status":{"succeeded":2,
      "startTime":"2024-01-01T00:00:00Z","completionTime":"2024-01-01T00:01:00Z","conditions":[{"type":"Complete","status":"True"}]}})"),
            "j | Complete | 2/2 | 60s | 24h |  |  | <none>");
  EXPECT_EQ(Row<batch::v1::CronJob>(R"({"metadata":{"name":"c"},"spec":{"schedule":"* * * * *","suspend":false,"jobTemplate":{}}})"),
            "c | * * * * * | <none> | False | 0 | <none> | 24h |  |  | <none>");
  EXPECT_EQ(Row<autoscaling::v2::HorizontalPodAutoscaler>(R"({"metadata":{"name":"h"},"spec":{"minReplicas":1,"maxReplicas":3,
      "scaleTargetRef":{"kind":"Deployment","name":"d"},"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":80}}}]}})"),
            "h | Deployment/d | cpu: <unknown>/80% | 1 | 3 | 0 | 24h");
}

TEST(TablesTest, PrintsServicesAndEndpoints) {
  EXPECT_EQ(Row<Service>(R"({"metadata":{"name":"s"},"spec":{"type":"LoadBalancer","clusterIPs":["10.0.0.1"],
      "ports":[{"port":80,"nodePort":30080,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]}})"),
            "s | LoadBalancer | 10.0.0.1 | <pending> | 80:30080/TCP,53/UDP | 24h | <none>");
  EXPECT_EQ(Row<Service>(R"({"metadata":{"name":"s"},"spec":{"type":"ExternalName","externalName":"a.b"}})"),
            "s | ExternalName | <none> | a.b | <none> | 24h | <none>");
  EXPECT_EQ(Row<Endpoints>(R"({"metadata":{"name":"e"},"subsets":[{"addresses":[{"ip":"1.1.1.1"},{"ip":"1.1.1.2"}],
      "ports":[{"port":80},{"port":81}]}]})"),
            "e | 1.1.1.1:80,1.1.1.2:80,1.1.1.1:81 + 1 more... | 24h");
  EXPECT_EQ(Row<discovery::v1::EndpointSlice>(R"({"metadata":{"name":"e"},"addressType":"IPv4","endpoints":[{"addresses":["1.1.1.1"]}]})"),
            "e | IPv4 | <unset> | 1.1.1.1 | 24h");
  EXPECT_EQ(Row<networking::v1::Ingress>(
                R"({"metadata":{"name":"i"},"spec":{"rules":[{"host":"a"},{"host":"b"},{"host":"c"},{"host":"d"}],"tls":[{}]}})"),
            "i | <none> | a,b,c + 1 more... |  | 80, 443 | 24h");
}

TEST(TablesTest, PrintsOthers) {
  EXPECT_EQ(Row<Node>(R"({"metadata":{"name":"n","labels":{"node-role.kubernetes.io/control-plane":""}},"spec":{"unschedulable":true},
      "status":{"conditions":[{"type":"Ready","status":"True"}],"nodeInfo":{"kubeletVersion":"v1","kernelVersion":"6","architecture":"amd64"}}})"),
            "n | Ready,SchedulingDisabled | control-plane | 24h | v1 | <none> | <none> | <unknown> | 6 (amd64) | <unknown>");
  EXPECT_EQ(Row<PersistentVolumeClaim>(R"({"metadata":{"name":"c"},"spec":{"volumeName":"v","storageClassName":"s","volumeMode":"Block"},
      "status":{"phase":"Bound","capacity":{"storage":"1Gi"},"accessModes":["ReadWriteMany","ReadWriteOnce"]}})"),
            "c | Bound | v | 1Gi | RWO,RWX | s | <unset> | 24h | Block");
  EXPECT_EQ(
      Row<Event>(R"({"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p"},"type":"Normal","reason":"R","message":" m \n",
      "source":{"component":"c","host":"h"},"lastTimestamp":"2024-01-01T23:59:00Z","firstTimestamp":"2024-01-01T23:00:00Z"})"),
      "60s | Normal | R | pod/p |  | c, h | m | 60m | 1 | e");
  EXPECT_EQ(
      Row<rbac::v1::RoleBinding>(R"({"metadata":{"name":"r"},"roleRef":{"kind":"Role","name":"x"},"subjects":[{"kind":"User","name":"u"},
      {"kind":"ServiceAccount","name":"s","namespace":"n"}]})"),
      "r | Role/x | 24h | u |  | n/s");
  EXPECT_EQ(Row<ConfigMap>(R"({"metadata":{"name":"c"},"data":{"a":"b"},"binaryData":{"c":"AA=="}})"), "c | 2 | 24h");
  EXPECT_EQ(Row<rbac::v1::Role>(R"({"metadata":{"name":"r"}})"), "r | 2024-01-01T00:00:00Z");
}

TEST(TablesTest, RowsFitTheirColumns) {
  for (const BuiltinResource& r : Catalogue()) {
    if (!r.HasVerb("list") || r.resource == "ipaddresses") continue;  // a real server also has one cell too many there
    AnyObject object(*r.type);
    EXPECT_EQ(RowOf(*r.type, object.data(), kNow).size(), ColumnsOf(r.type).size()) << r.resource;
  }
  EXPECT_EQ(ColumnsOf(nullptr).size(), 2u);
}

}  // namespace
}  // namespace kube::apiserver
