#include "apiserver/managed_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/structural_schema.h"
#include "kube/api/apps/v1.h"
#include "kube/api/core/v1.h"
#include "kube/codec/json.h"

// Expectations were recorded from a real server (1.36), or are those of a comparison with it over random sequences.

namespace kube::apiserver {
namespace {

using ::testing::HasSubstr;

Value Json(std::string_view text) {
  Result<Value> v = ParseJson(text);
  EXPECT_TRUE(v.ok()) << text;
  return v ? *v : Value();
}

FieldManagerTarget ConfigMapTarget() { return {.schema = SchemaOf(core::v1::ConfigMap::kType), .api_version = "v1", .kind = "ConfigMap"}; }

Value ConfigMap(std::string_view data) {
  return Json(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"},"data":)" + std::string(data) + "}");
}

ManagerInfo By(std::string manager, std::int64_t second = 0, std::string subresource = "") {
  return {.manager = std::move(manager), .subresource = std::move(subresource), .now = Time::FromUnix(1700000000 + second)};
}

// What the store would make of an object: it gets a UID.
Value Stored(Value object) {
  object["metadata"]["uid"] = "u";
  return object;
}

// "m1 Apply v1: {...}; ..." in order.
std::string Owners(const Value& object) {
  std::string out;
  for (const Value& e : object["metadata"]["managedFields"].list()) {
    if (!out.empty()) out += "; ";
    out += e["manager"].string_value().str() + " " + e["operation"].string_value().str();
    if (e.Find("subresource") != nullptr) out += "/" + e["subresource"].string_value().str();
    out += ": " + ToJson(e["fieldsV1"]);
  }
  return out;
}

TEST(UpdateManagedFieldsTest, CreationGivesAllFieldsToTheCreator) {
  Value created = UpdateManagedFields(ConfigMapTarget(), Value(), ConfigMap(R"({"k":"v"})"), By("me"));
  EXPECT_EQ(ToJson(created["metadata"]["managedFields"]),
            R"([{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:k":{}}},"manager":"me","operation":"Update",)"
            R"("time":"2023-11-14T22:13:20Z"}])");
}

TEST(UpdateManagedFieldsTest, DeploymentIsTrackedAsOnARealServer) {
  Value deployment = Json(R"({"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"default"},"spec":{"replicas":1,
    "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","ports":
    [{"containerPort":80,"protocol":"TCP"}],"resources":{},"terminationMessagePath":"/dev/termination-log",
    "terminationMessagePolicy":"File",
    "imagePullPolicy":"Always"}],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst",
    "securityContext":{},
    "schedulerName":"default-scheduler"}},"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":"25%"}},
    "revisionHistoryLimit":10,"progressDeadlineSeconds":600},"status":{}})");
  FieldManagerTarget target{.schema = SchemaOf(apps::v1::Deployment::kType),
                            .api_version = "apps/v1",
                            .kind = "Deployment",
                            .reset_fields = ResetFieldsOf("apps", "deployments", "")};
  EXPECT_EQ(
      Owners(UpdateManagedFields(target, Value(), deployment, By("u"))),
      R"(u Update: {"f:spec":{"f:progressDeadlineSeconds":{},"f:replicas":{},"f:revisionHistoryLimit":{},"f:selector":{},)"
      R"("f:strategy":{"f:rollingUpdate":{".":{},"f:maxSurge":{},"f:maxUnavailable":{}},"f:type":{}},"f:template":{"f:metadata":)"
      R"({"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:imagePullPolicy":{},)"
      R"("f:name":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}},)"
      R"("f:resources":{},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:restartPolicy":{},)"
      R"("f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{}}}}})");
}

TEST(UpdateManagedFieldsTest, ChangedFieldsChangeHands) {
  FieldManagerTarget target = ConfigMapTarget();
  Value live = Stored(UpdateManagedFields(target, Value(), ConfigMap(R"({"a":"1","b":"1"})"), By("m1")));
  Value next = Stored(UpdateManagedFields(target, live, Stored(ConfigMap(R"({"a":"2","b":"1","c":"1"})")), By("m2", 5)));
  EXPECT_EQ(Owners(next), R"(m1 Update: {"f:data":{".":{},"f:b":{}}}; m2 Update: {"f:data":{"f:a":{},"f:c":{}}})");
  next = UpdateManagedFields(target, next, Stored(ConfigMap(R"({"a":"2"})")), By("m3", 6));
  EXPECT_EQ(Owners(next), R"(m1 Update: {"f:data":{}}; m2 Update: {"f:data":{"f:a":{}}})") << "who removes owns nothing by that";
}

TEST(UpdateManagedFieldsTest, NothingChangedNothingWritten) {
  FieldManagerTarget target = ConfigMapTarget();
  Value live = Stored(UpdateManagedFields(target, Value(), ConfigMap(R"({"a":"1"})"), By("m1")));
  EXPECT_EQ(UpdateManagedFields(target, live, live, By("m2", 9)), live);
}

TEST(UpdateManagedFieldsTest, EmptyListClearsTrackingUntilTheNextApply) {
  FieldManagerTarget target = ConfigMapTarget();
  Value live = Stored(UpdateManagedFields(target, Value(), ConfigMap(R"({"a":"1"})"), By("m1")));
  for (std::string_view reset : {"[]", "[{}]"}) {
    Value request = live;
    request["metadata"]["managedFields"] = Json(reset);
    Value cleared = UpdateManagedFields(target, live, request, By("m2"));
    EXPECT_EQ(std::as_const(cleared)["metadata"].Find("managedFields"), nullptr) << reset;
    cleared = UpdateManagedFields(target, cleared, Stored(ConfigMap(R"({"a":"2"})")), By("m3"));
    EXPECT_EQ(std::as_const(cleared)["metadata"].Find("managedFields"), nullptr) << "updates alone do not start it again";
    Result<Value> applied = ApplyConfiguration(target, cleared, ConfigMap(R"({"b":"1"})"), By("m4"), false);
    ASSERT_TRUE(applied.ok());
    EXPECT_EQ(Owners(*applied), R"(m4 Apply: {"f:data":{"f:b":{}}}; before-first-apply Update: {"f:data":{".":{},"f:a":{}}})");
  }
}

TEST(UpdateManagedFieldsTest, RequestMayChangeEntries) {
  FieldManagerTarget target = ConfigMapTarget();
  Value live = Stored(UpdateManagedFields(target, Value(), ConfigMap(R"({"a":"1"})"), By("m1")));
  Value request = live;
  request["metadata"]["managedFields"] =
      Json(R"([{"manager":"other","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}])");
  EXPECT_EQ(Owners(UpdateManagedFields(target, live, request, By("m2"))), R"(other Update: {"f:data":{"f:a":{}}})");
  request["metadata"]["managedFields"] = Json(R"([{"manager":"other","operation":"Nonsense"}])");
  EXPECT_EQ(Owners(UpdateManagedFields(target, live, request, By("m2"))), Owners(live)) << "what makes no sense is ignored";
}

TEST(UpdateManagedFieldsTest, SubresourceHasEntriesOfItsOwn) {
  FieldManagerTarget target{
      .schema = SchemaOf(core::v1::Pod::kType), .api_version = "v1", .kind = "Pod", .reset_fields = ResetFieldsOf("", "pods", "")};
  Value pod = Json(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  Value live = Stored(UpdateManagedFields(target, Value(), pod, By("m1")));
  Value with_status = live;
  with_status["status"] = Json(R"({"phase":"Running","conditions":[{"type":"Ready","status":"True"}]})");
  target.reset_fields = ResetFieldsOf("", "pods", "status");
  Value next = UpdateManagedFields(target, live, with_status, By("kubelet", 1, "status"));
  EXPECT_THAT(Owners(next), HasSubstr(R"(; kubelet Update/status: {"f:status":{"f:conditions":{".":{},"k:{\"type\":\"Ready\"}":{".":{},)"
                                      R"("f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:phase":{}}})"));
}

TEST(UpdateManagedFieldsTest, OldUpdatersAreJoined) {
  FieldManagerTarget target = ConfigMapTarget();
  Value live;
  std::string data;
  for (int i = 0; i < 12; ++i) {
    data += std::string(data.empty() ? "{" : ",") + "\"k" + std::to_string(i) + "\":\"v\"";
    Value next = ConfigMap(data + "}");
    if (!live.is_null()) next["metadata"]["uid"] = "u";
    live = Stored(UpdateManagedFields(target, live, next, By("m" + std::to_string(i), i)));
  }
  ASSERT_EQ(live["metadata"]["managedFields"].list().size(), 10U);
  EXPECT_EQ(ToJson(live["metadata"]["managedFields"].list()[0]),
            R"({"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:k0":{},"f:k1":{},"f:k2":{}}},)"
            R"("manager":"ancient-changes","operation":"Update","time":"2023-11-14T22:13:22Z"})");
}

TEST(ApplyConfigurationTest, CreatesAndOwnsWhatItSets) {
  Result<Value> out = ApplyConfiguration(ConfigMapTarget(), Value(), ConfigMap(R"({"k":"v"})"), By("m1"), false);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(Owners(*out), R"(m1 Apply: {"f:data":{"f:k":{}}})");
  EXPECT_EQ(ToJson((*out)["data"]), R"({"k":"v"})");
}

TEST(ApplyConfigurationTest, ThreeManagers) {
  FieldManagerTarget target = ConfigMapTarget();
  Value live = Stored(*ApplyConfiguration(target, Value(), ConfigMap(R"({"k":"v","own":"1"})"), By("m1"), false));
  // The same value: shared, without a time, because the object did not change.
  Result<Value> shared = ApplyConfiguration(target, live, ConfigMap(R"({"k":"v"})"), By("m2", 2), false);
  ASSERT_TRUE(shared.ok());
  EXPECT_EQ(Owners(*shared), R"(m2 Apply: {"f:data":{"f:k":{}}}; m1 Apply: {"f:data":{"f:k":{},"f:own":{}}})");
  EXPECT_EQ((*shared)["metadata"]["managedFields"].list()[0].Find("time"), nullptr);
  live = Stored(*shared);

  Result<Value> conflict = ApplyConfiguration(target, live, ConfigMap(R"({"k":"w","z":"1"})"), By("m3", 3), false);
  ASSERT_FALSE(conflict.ok());
  EXPECT_TRUE(IsConflict(conflict.error()));
  EXPECT_EQ(conflict.error().message(),
            "Apply failed with 2 conflicts: conflicts with \"m1\":\n- .data.k\nconflicts with \"m2\":\n- .data.k");
  ASSERT_EQ(conflict.error().causes().size(), 2U);
  EXPECT_EQ(conflict.error().causes()[0].reason, "FieldManagerConflict");
  EXPECT_EQ(conflict.error().causes()[0].message, "conflict with \"m1\"");
  EXPECT_EQ(conflict.error().causes()[0].field, ".data.k");

  Result<Value> forced = ApplyConfiguration(target, live, ConfigMap(R"({"k":"w","z":"1"})"), By("m3", 3), true);
  ASSERT_TRUE(forced.ok());
  EXPECT_EQ(Owners(*forced), R"(m1 Apply: {"f:data":{"f:own":{}}}; m3 Apply: {"f:data":{"f:k":{},"f:z":{}}})");
  EXPECT_EQ(ToJson((*forced)["data"]), R"({"k":"w","own":"1","z":"1"})");
}

TEST(ApplyConfigurationTest, ConflictWithAnUpdaterNamesItsVersion) {
  FieldManagerTarget target = ConfigMapTarget();
  Value live = Stored(UpdateManagedFields(target, Value(), ConfigMap(R"({"k":"v"})"), By("curl")));
  Result<Value> conflict = ApplyConfiguration(target, live, ConfigMap(R"({"k":"w"})"), By("m"), false);
  ASSERT_FALSE(conflict.ok());
  EXPECT_EQ(conflict.error().message(), "Apply failed with 1 conflict: conflict with \"curl\" using v1: .data.k");
  EXPECT_EQ(conflict.error().http_code(), 409);
}

TEST(ApplyConfigurationTest, FieldsNoLongerAppliedGo) {
  FieldManagerTarget target = ConfigMapTarget();
  Value live = Stored(*ApplyConfiguration(target, Value(), ConfigMap(R"({"a":"1","b":"1","c":"1"})"), By("m1"), false));
  live = Stored(*ApplyConfiguration(target, live, ConfigMap(R"({"b":"1"})"), By("m2"), false));
  live = Stored(UpdateManagedFields(
      target, live,
      [&] {
        Value v = live;
        v["data"]["d"] = "1";
        return v;
      }(),
      By("m3")));
  live = Stored(*ApplyConfiguration(target, live, ConfigMap(R"({"c":"1"})"), By("m1", 7), false));
  EXPECT_EQ(ToJson(std::as_const(live)["data"]), R"({"b":"1","c":"1","d":"1"})") << "b is m2's, d is m3's";
  EXPECT_EQ(Owners(live), R"(m2 Apply: {"f:data":{"f:b":{}}}; m1 Apply: {"f:data":{"f:c":{}}}; m3 Update: {"f:data":{"f:d":{}}})");
}

TEST(ApplyConfigurationTest, RepeatedApplyChangesNothing) {
  FieldManagerTarget target = ConfigMapTarget();
  Value live = Stored(*ApplyConfiguration(target, Value(), ConfigMap(R"({"a":"1"})"), By("m1"), false));
  Result<Value> again = ApplyConfiguration(target, live, ConfigMap(R"({"a":"1"})"), By("m1", 100), false);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, live) << "times included";
}

TEST(ApplyConfigurationTest, ItemsOfListsAreOwnedByKey) {
  FieldManagerTarget target{.schema = SchemaOf(core::v1::Pod::kType), .api_version = "v1", .kind = "Pod"};
  auto pod = [](std::string_view containers) {
    return Json(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":)" + std::string(containers) + "}}");
  };
  Value live =
      Stored(*ApplyConfiguration(target, Value(), pod(R"([{"name":"a","image":"1","ports":[{"containerPort":80}]}])"), By("m1"), false));
  live = Stored(*ApplyConfiguration(target, live, pod(R"([{"name":"b","image":"1"}])"), By("m2"), false));
  EXPECT_EQ(ToJson(std::as_const(live)["spec"]["containers"]),
            R"([{"image":"1","name":"a","ports":[{"containerPort":80}]},{"image":"1","name":"b"}])");
  EXPECT_EQ(Owners(live), R"(m1 Apply: {"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{},"f:name":{},"f:ports":)"
                          R"({"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}}; )"
                          R"(m2 Apply: {"f:spec":{"f:containers":{"k:{\"name\":\"b\"}":{".":{},"f:image":{},"f:name":{}}}}})");
  live = *ApplyConfiguration(target, live, pod(R"([{"name":"c","image":"1"}])"), By("m1"), false);
  EXPECT_EQ(ToJson(std::as_const(live)["spec"]["containers"]), R"([{"image":"1","name":"b"},{"image":"1","name":"c"}])");
}

TEST(ApplyConfigurationTest, RefusesWhatTheServerRefuses) {
  FieldManagerTarget target = ConfigMapTarget();
  auto fail = [&](std::string_view config) {
    Result<Value> r = ApplyConfiguration(target, Value(), Json(config), By("m"), true);
    return r ? "" : std::to_string(r.error().http_code()) + " " + r.error().reason() + " " + r.error().message();
  };
  EXPECT_EQ(fail(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","managedFields":[]}})"),
            "400 BadRequest metadata.managedFields must be nil");
  EXPECT_EQ(fail(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}})"), "400 BadRequest invalid object type: /v1, Kind=Secret");
  EXPECT_EQ(fail(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"bogus":1})"),
            "500  failed to create typed patch object (/a; /v1, Kind=ConfigMap): .bogus: field not declared in schema");
}

TEST(ApplyConfigurationTest, CustomResourceAsOnARealServer) {
  auto schema =
      StructuralSchema::Make(Json(R"({"type":"object","properties":{"spec":{"type":"object","properties":{"replicas":{"type":"integer",
    "default":1},"mode":{"type":"string"},"items":{"type":"array","x-kubernetes-list-type":"map",
    "x-kubernetes-list-map-keys":["name"],"items":
    {"type":"object","required":["name"],"properties":{"name":{"type":"string"},"v":{"type":"integer"}}}}}},"status":{"type":"object",
    "properties":{"ready":{"type":"boolean"}}}}})"));
  FieldManagerTarget target{
      .schema = schema->ToApplySchema(), .api_version = "g.example.com/v1", .kind = "Widget", .reset_fields = ResetFields({"status"})};
  Value widget = Json(R"({"apiVersion":"g.example.com/v1","kind":"Widget","metadata":{"name":"x"},"spec":{"mode":"a","replicas":1,
    "items":[{"name":"a","v":1}]}})");
  Value live = Stored(UpdateManagedFields(target, Value(), widget, By("u")));
  const std::string updater =
      R"(u Update: {"f:spec":{".":{},"f:items":{".":{},"k:{\"name\":\"a\"}":{".":{},"f:name":{},"f:v":{}}},"f:mode":{},"f:replicas":{}}})";
  EXPECT_EQ(Owners(live), updater);
  Value config = Json(R"({"apiVersion":"g.example.com/v1","kind":"Widget","spec":{"items":[{"name":"b"}]}})");
  live = Stored(*ApplyConfiguration(target, live, config, By("ap"), false));
  EXPECT_EQ(Owners(live), R"(ap Apply: {"f:spec":{"f:items":{"k:{\"name\":\"b\"}":{".":{},"f:name":{}}}}}; )" + updater);
  EXPECT_EQ(ToJson(std::as_const(live)["spec"]["items"]), R"([{"name":"a","v":1},{"name":"b"}])");
  config = Json(R"({"apiVersion":"g.example.com/v1","kind":"Widget"})");
  live = Stored(*ApplyConfiguration(target, live, config, By("ap"), false));
  EXPECT_EQ(Owners(live), updater);
  EXPECT_EQ(ToJson(std::as_const(live)["spec"]["items"]), R"([{"name":"a","v":1}])");
  target.reset_fields = ResetFields({"metadata", "spec"});
  config = Json(R"({"apiVersion":"g.example.com/v1","kind":"Widget","status":{"ready":true}})");
  live = *ApplyConfiguration(target, live, config, By("st", 1, "status"), false);
  EXPECT_EQ(Owners(live), R"(st Apply/status: {"f:status":{"f:ready":{}}}; )" + updater);
}

TEST(ApplyConfigurationTest, KubectlTakesOverFromItsClientSidePast) {
  FieldManagerTarget target = ConfigMapTarget();
  Value object = ConfigMap(R"({"k":"v"})");
  object["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"default"},"data":{"k":"v"}})";
  Value live = Stored(UpdateManagedFields(target, Value(), object, By("kubectl-client-side-apply")));
  EXPECT_FALSE(ApplyConfiguration(target, live, ConfigMap(R"({"k":"w"})"), By("other"), false).ok());
  Result<Value> taken = ApplyConfiguration(target, live, ConfigMap(R"({"k":"w"})"), By("kubectl"), false);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(
      (*taken)["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"].string_value(),
      "{\"apiVersion\":\"v1\",\"data\":{\"k\":\"w\"},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":\"default\"}}\n");
}

TEST(ApplyConfigurationTest, OtherVersionsAreConvertedOrForgotten) {
  FieldManagerTarget v1 = ConfigMapTarget();
  Value live = Stored(*ApplyConfiguration(v1, Value(), ConfigMap(R"({"a":"1"})"), By("m1"), false));
  FieldManagerTarget v2 = v1;
  v2.api_version = "v2";
  Value config = ConfigMap(R"({"b":"1"})");
  config["apiVersion"] = "v2";
  EXPECT_EQ(Owners(*ApplyConfiguration(v2, live, config, By("m2"), false)), R"(m2 Apply: {"f:data":{"f:b":{}}})");
  v2.convert = [&](const Value& object, std::string_view version) -> std::optional<VersionedObject> {
    if (version != "v1" && version != "v2") return {};
    Value converted = object;
    converted["apiVersion"] = version;
    return VersionedObject{v1.schema, converted};
  };
  EXPECT_EQ(Owners(*ApplyConfiguration(v2, live, config, By("m2"), false)),
            R"(m1 Apply: {"f:data":{"f:a":{}}}; m2 Apply: {"f:data":{"f:b":{}}})");
  config["data"] = Json(R"({"a":"2"})");
  EXPECT_FALSE(ApplyConfiguration(v2, live, config, By("m2"), false).ok()) << "also across versions";
}

TEST(KeepTimestampsTest, OnlyWhereNothingElseChanged) {
  Value live = Stored(*ApplyConfiguration(ConfigMapTarget(), Value(), ConfigMap(R"({"a":"1"})"), By("m1"), false));
  Value later = live;
  later["metadata"]["managedFields"].MutableList()[0]["time"] = "2030-01-01T00:00:00Z";
  EXPECT_EQ(KeepTimestampsIfUnchanged(live, later), live);
  later["data"]["a"] = "2";
  EXPECT_EQ(KeepTimestampsIfUnchanged(live, later), later);
}

TEST(ValidateManagedFieldsTest, NamesTheProblem) {
  auto why = [](std::string_view entries) {
    Result<void> r = ValidateManagedFields(Json(entries));
    return r ? "" : r.error().message();
  };
  EXPECT_EQ(why(R"([])"), "");
  EXPECT_EQ(why(R"([{"operation":"X"}])"), "operation must be `Apply` or `Update`");
  EXPECT_EQ(why(R"([{"operation":"Apply"}])"), "apiVersion must not be empty");
  EXPECT_EQ(why(R"([{"operation":"Apply","apiVersion":"v1"}])"), "missing fieldsType in managed fields entry 0");
  EXPECT_EQ(why(R"([{"operation":"Apply","apiVersion":"v1","fieldsType":"V2"}])"), "invalid fieldsType \"V2\" in managed fields entry 0");
}

TEST(ScaleManagedFieldsTest, ReplicasGoThereAndBack) {
  std::vector<ScalePath> paths = {{"apps/v1", {PathElement::Field("spec"), PathElement::Field("replicas")}}};
  Value parent =
      Json(R"([{"manager":"a","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{},
    "f:paused":{}}}},{"manager":"b","operation":"Update","apiVersion":"apps/v1","fieldsType":"FieldsV1",
    "fieldsV1":{"f:spec":{"f:paused":{}}}}])");
  Result<Value> scale = ManagedFieldsToScale(parent, paths);
  ASSERT_TRUE(scale.ok());
  EXPECT_EQ(ToJson(*scale), R"([{"apiVersion":"autoscaling/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}},)"
                            R"("manager":"a","operation":"Apply"}])");
  Value changed = Json(R"([{"manager":"c","operation":"Update","apiVersion":"autoscaling/v1","fieldsType":"FieldsV1","subresource":"scale",
    "fieldsV1":{"f:spec":{"f:replicas":{}}}}])");
  Result<Value> back = ManagedFieldsFromScale(parent, changed, paths, "apps/v1");
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(Owners(Value::Object({{"metadata", Value::Object({{"managedFields", *back}})}})),
            R"(a Apply: {"f:spec":{"f:paused":{}}}; b Update: {"f:spec":{"f:paused":{}}}; c Update/scale: {"f:spec":{"f:replicas":{}}})");
}

}  // namespace
}  // namespace kube::apiserver
