// Selectable fields, conversion between versions, the form in which a server writes objects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/builtin/catalogue.h"
#include "apiserver/builtin/convert.h"
#include "apiserver/builtin/selectable_fields.h"
#include "apiserver/builtin/server_form.h"
#include "kube/api/apps/v1.h"
#include "kube/api/batch/v1.h"
#include "kube/api/core/v1.h"
#include "kube/api/events/v1.h"
#include "kube/api/resource/v1.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

using namespace core::v1;

TEST(SelectableFieldsTest, PodsHaveMany) {
  Pod pod = *FromJson<Pod>(R"({"metadata":{"name":"p","namespace":"n"},"spec":{"nodeName":"node1","hostNetwork":true,"containers":[]},
      "status":{"phase":"Running","podIPs":[{"ip":"1.2.3.4"}]}})");
  Map<String> fields = SelectableFields(Pod::kType, &pod);
  EXPECT_EQ(fields.Get("metadata.name"), "p");
  EXPECT_EQ(fields.Get("metadata.namespace"), "n");
  EXPECT_EQ(fields.Get("spec.nodeName"), "node1");
  EXPECT_EQ(fields.Get("spec.hostNetwork"), "true");
  EXPECT_EQ(fields.Get("status.phase"), "Running");
  EXPECT_EQ(fields.Get("status.podIP"), "1.2.3.4");
}

TEST(SelectableFieldsTest, EventsAreNamedByTheirVersion) {
  Event old = *FromJson<Event>(R"({"involvedObject":{"kind":"Pod","name":"p"},"reportingComponent":"c"})");
  EXPECT_EQ(SelectableFields(Event::kType, &old).Get("involvedObject.name"), "p");
  EXPECT_EQ(SelectableFields(Event::kType, &old).Get("source"), "c");
  events::v1::Event now = *FromJson<events::v1::Event>(R"({"regarding":{"kind":"Pod","name":"p"}})");
  EXPECT_EQ(SelectableFields(events::v1::Event::kType, &now).Get("regarding.name"), "p");
  // One object in both groups: it is found by either name, whichever it was written by.
  EXPECT_EQ(SelectableFields(Event::kType, &old).Get("regarding.name"), "p");
  EXPECT_EQ(SelectableFields(Event::kType, &old).Get("reportingController"), "c");
  EXPECT_EQ(SelectableFields(events::v1::Event::kType, &now).Get("involvedObject.name"), "p");
}

TEST(SelectableFieldsTest, RefusesOthersInTheWordsOfTheKind) {
  auto message = [](const TypeInfo& type, std::string_view label) {
    Result<void> r = CheckSelectableField(type, label);
    return r.ok() ? std::string("fine") : r.error().message();
  };
  EXPECT_EQ(message(Pod::kType, "spec.nodeName"), "fine");
  EXPECT_EQ(message(Pod::kType, "foo"), "field label not supported: foo");
  EXPECT_EQ(message(ConfigMap::kType, "metadata.name"), "fine");
  EXPECT_EQ(message(ConfigMap::kType, "foo"), R"("foo" is not a known field selector: only "metadata.name", "metadata.namespace")");
  EXPECT_EQ(message(batch::v1::Job::kType, "foo"), R"(field label "foo" not supported for Job)");
  EXPECT_EQ(message(resource::v1::ResourceSlice::kType, "foo"),
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: foo");
  EXPECT_EQ(message(Node::kType, "metadata.namespace"), "field label not supported: metadata.namespace");
  EXPECT_EQ(message(PersistentVolume::kType, "metadata.namespace"), "fine");
}

TEST(ConvertTest, EventsGoBothWays) {
  const BuiltinResource& r = *FindBuiltin("events.k8s.io", "v1", "events");
  Value event = *ParseJson(R"({"apiVersion":"events.k8s.io/v1","kind":"Event","metadata":{"name":"e"},"note":"n","regarding":{"name":"p"},
      "reportingController":"c","deprecatedCount":3,"series":{"count":2,"lastObservedTime":"2020-01-01T00:00:00.000000Z"}})");
  Value stored = ConvertForStorage(r, event);
  EXPECT_EQ(std::as_const(stored)["apiVersion"].string_value(), "v1");
  EXPECT_EQ(std::as_const(stored)["message"].string_value(), "n");
  EXPECT_EQ(std::as_const(stored)["involvedObject"]["name"].string_value(), "p");
  EXPECT_EQ(std::as_const(stored)["count"].int_value(), 3);
  Value back = ConvertFromStorage(r, stored);
  EXPECT_EQ(std::as_const(back)["note"].string_value(), "n");
  EXPECT_EQ(std::as_const(back)["reportingController"].string_value(), "c");
  EXPECT_EQ(std::as_const(back)["series"]["count"].int_value(), 2);
}

TEST(ConvertTest, AutoscalersKeepWhatV1CannotSay) {
  const BuiltinResource& v1 = *FindBuiltin("autoscaling", "v1", "horizontalpodautoscalers");
  Value stored = *ParseJson(R"({"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"h"},"spec":{
      "maxReplicas":3,"scaleTargetRef":{"kind":"D","name":"d"},"behavior":{"scaleDown":{"selectPolicy":"Min"}},"metrics":[
      {"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}},
      {"type":"Pods","pods":{"metric":{"name":"m"},"target":{"type":"AverageValue","averageValue":"5"}}}]},
      "status":{"currentReplicas":1,"conditions":[{"type":"AbleToScale","status":"True"}],
      "currentMetrics":[{"type":"Resource","resource":{"name":"cpu","current":{"averageUtilization":40,"averageValue":"1m"}}}]}})");
  Value old = ConvertFromStorage(v1, stored);
  EXPECT_EQ(std::as_const(old)["apiVersion"].string_value(), "autoscaling/v1");
  EXPECT_EQ(std::as_const(old)["spec"]["targetCPUUtilizationPercentage"].int_value(), 50);
  EXPECT_EQ(std::as_const(old)["status"]["currentCPUUtilizationPercentage"].int_value(), 40);
  EXPECT_NE(std::as_const(old)["metadata"]["annotations"].Find("autoscaling.alpha.kubernetes.io/metrics"), nullptr);
  Value back = ConvertForStorage(v1, old);
  const Value& spec = std::as_const(back)["spec"];
  ASSERT_EQ(spec["metrics"].list().size(), 2u);
  EXPECT_EQ(spec["metrics"].list()[0]["pods"]["metric"]["name"].string_value(), "m");
  EXPECT_EQ(spec["behavior"]["scaleDown"]["selectPolicy"].string_value(), "Min");
  EXPECT_EQ(std::as_const(back)["status"]["conditions"].list().size(), 1u);
  EXPECT_EQ(std::as_const(back)["metadata"].Find("annotations"), nullptr);
}

TEST(ServerFormTest, WritesEmptyStructs) {
  auto d = *FromJson<apps::v1::Deployment>(R"({"metadata":{"name":"d"},"spec":{"template":{"spec":{"containers":[{"name":"c"}]}}}})");
  Value value = *ToServerValue(apps::v1::Deployment::kType, &d);
  const Value& v = value;
  EXPECT_EQ(v["kind"].string_value(), "Deployment");
  EXPECT_TRUE(v["status"].is_object());
  EXPECT_TRUE(v["spec"]["strategy"].is_object());
  EXPECT_TRUE(v["spec"]["template"]["metadata"].is_object());
  EXPECT_EQ(v["spec"]["template"]["metadata"].Find("creationTimestamp"), nullptr);
  EXPECT_TRUE(v["spec"]["template"]["spec"]["containers"].list()[0]["resources"].is_object());
}

TEST(ServerFormTest, WritesUnsetTimesAndListsAsNull) {
  Event e;
  Value event = *ToServerValue(Event::kType, &e);
  ASSERT_NE(event.Find("eventTime"), nullptr);
  EXPECT_TRUE(event.Find("eventTime")->is_null());
  EXPECT_EQ(event.Find("series"), nullptr);
  Pod pod;
  PodCondition condition;
  condition.type = "Ready";
  pod.status.conditions.push_back(condition);
  Value written = *ToServerValue(Pod::kType, &pod);
  EXPECT_TRUE(std::as_const(written)["status"]["conditions"].list()[0].Find("lastProbeTime")->is_null());
  EXPECT_TRUE(std::as_const(written)["spec"].Find("containers")->is_null());
}

TEST(ServerFormTest, RequiredFieldsOfEmptyStructsAreThere) {
  Node node;
  Value value = *ToServerValue(Node::kType, &node);
  EXPECT_EQ(std::as_const(value)["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"].int_value(), 0);
  EXPECT_NE(std::as_const(value)["status"]["nodeInfo"].Find("kubeletVersion"), nullptr);
  EXPECT_EQ(std::as_const(value)["status"]["nodeInfo"].Find("apiVersion"), nullptr);
}

TEST(ServerFormTest, ClaimTemplatesSayWhatTheyAre) {
  auto s = *FromJson<apps::v1::StatefulSet>(R"({"spec":{"volumeClaimTemplates":[{"metadata":{"name":"v"}}]}})");
  Value value = *ToServerValue(apps::v1::StatefulSet::kType, &s);
  const Value& claim = std::as_const(value)["spec"]["volumeClaimTemplates"].list()[0];
  EXPECT_EQ(claim["kind"].string_value(), "PersistentVolumeClaim");
  EXPECT_EQ(claim["apiVersion"].string_value(), "v1");
}

}  // namespace
}  // namespace kube::apiserver
