// Tables that `kubexx generate` writes, compiled: objects of the kinds in testdata survive a round trip through JSON.
#include <gtest/gtest.h>

#include "cron/types.h"
#include "gadgets_v1/types.h"
#include "gadgets_v1alpha1/types.h"
#include "kube/codec/json.h"
#include "names/types.h"
#include "networks/types.h"
#include "widgets/types.h"

namespace {

using kube::FieldInfo;

// Decodes and encodes again.
template <typename T>
std::string RoundTrip(std::string_view json) {
  kube::Result<T> object = kube::FromJson<T>(json);
  if (!object) return object.error().ToString();
  return kube::ToJson(*object).value();
}

const FieldInfo& FieldOf(const kube::TypeInfo& type, std::string_view json) {
  for (const FieldInfo& field : type) {
    if (field.json_name == json) return field;
  }
  ADD_FAILURE() << "no field " << json;
  return *type.begin();
}

TEST(GeneratedTablesTest, KindsHaveTheirNames) {
  const kube::KindInfo& widget = *shop::v1::Widget::kType.kind;
  EXPECT_EQ(widget.group, "shop.example.com");
  EXPECT_EQ(widget.version, "v1");
  EXPECT_EQ(widget.kind, "Widget");
  EXPECT_EQ(widget.resource, "widgets");
  EXPECT_TRUE(widget.namespaced);
  EXPECT_FALSE(shop::gadgets::v1::Gadget::kType.kind->namespaced);
  EXPECT_EQ(shop::gadgets::v1::Gadget::kType.kind->resource, "gadgetry");
  EXPECT_EQ(names::v1::NetworkPolicy::kType.kind->resource, "networkpolicies");
  EXPECT_EQ(samplecrd::v1::Network::kType.kind->resource, "networks");
  EXPECT_EQ(shop::v1::WidgetSpec::kType.kind, nullptr);
}

TEST(GeneratedTablesTest, ObjectsRoundTrip) {
  const std::string widget =
      R"({"kind":"Widget","apiVersion":"shop.example.com/v1","metadata":{"name":"w","namespace":"n"},"spec":{"zone":"z",)"
      R"("labels":{"a":"b"},"size":0,"color":"red","palette":["blue"],"phase":"DONE","fill":7,"parts":[{"name":"p","weight":3}],)"
      R"("limits":{"cpu":"500m"},"routes":{"a":["x"],"b":[]},"grid":[[1,2],[]],"nested":{"a":{"b":{"name":"q"}}},"class":"",)"
      R"("title":"t","ports":[80,"http"],"timeout":"1m30s","data":"aGk=","anything":{"any":[1]},"free":{"name":""},"on":false,)"
      R"("sources":[{"url":""}],"ref":{"name":"r"}},"status":{"conditions":[{"type":"Ready","status":"True","reason":"",)"
      R"("message":""}],"replicas":2}})";
  kube::Result<shop::v1::Widget> object = kube::FromJson<shop::v1::Widget>(widget);
  ASSERT_TRUE(object) << object.error().ToString();
  EXPECT_EQ(object->spec.common.zone, "z");
  EXPECT_EQ(object->spec.size, 0);
  EXPECT_EQ(object->spec.data, "hi");
  EXPECT_EQ(object->spec.nested.Find("a")->Find("b")->name, "q");
  EXPECT_EQ(kube::ToJson(*object).value(), widget);
}

TEST(GeneratedTablesTest, BuiltInStructsRoundTrip) {
  const std::string cron =
      R"({"kind":"CronThing","apiVersion":"cron.example.com/v1","metadata":{"name":"c"},"spec":{"schedule":"* * * * *",)"
      R"("jobTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"a","image":"b"}]}}}},)"
      R"("selector":{"matchLabels":{"a":"b"}},"resources":{"limits":{"cpu":"1"}}}})";
  EXPECT_EQ(RoundTrip<cron::v1::CronThing>(cron), cron);
}

TEST(GeneratedTablesTest, UnknownFieldsSurvive) {
  const std::string gadget =
      R"({"kind":"Gadget","apiVersion":"shop.example.com/v1","metadata":{"name":"g"},"spec":{"wheels":0,"wings":2}})";
  EXPECT_EQ(RoundTrip<shop::gadgets::v1::Gadget>(gadget), gadget);
}

TEST(GeneratedTablesTest, MarkersAreInTheTable) {
  const kube::TypeInfo& spec = shop::v1::WidgetSpec::kType;
  EXPECT_EQ(FieldOf(spec, "parts").extra->list_type, kube::ListType::kMap);
  EXPECT_EQ(FieldOf(spec, "parts").extra->map_keys, "name,protocol");
  EXPECT_EQ(FieldOf(spec, "limits").extra->atomic, true);
  EXPECT_EQ(FieldOf(spec, "size").extra->default_json, "5");
  EXPECT_EQ(FieldOf(spec, "phase").extra->enum_values, "PENDING,DONE,RUNNING");
}

}  // namespace
