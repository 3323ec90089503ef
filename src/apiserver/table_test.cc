#include "apiserver/table.h"

#include <string>
#include <utility>
#include <vector>

#include "apiserver/crd.h"
#include "gtest/gtest.h"
#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

ResourcePtr Custom(std::string_view columns, std::string_view version = "v1") {
  std::string text = R"({"metadata":{"name":"crontabs.stable.example.com"},"spec":{"group":"stable.example.com","scope":"Namespaced",
    "names":{"plural":"crontabs","singular":"crontab","kind":"CronTab","listKind":"CronTabList"},
    "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},
                 "additionalPrinterColumns":)" +
                     std::string(columns) + R"(}, {"name":"v2","served":true,"storage":false,
                 "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})";
  for (const ResourcePtr& r : ResourcesOf(*ParseJson(text))) {
    if (r->version == version) return r;
  }
  return nullptr;
}

ObjectPtr Stored(std::string_view json) {
  auto out = std::make_shared<StoredObject>();
  out->json = std::make_shared<const std::string>(json);
  return out;
}

const Time kNow = *Time::Parse("2026-11-15T11:35:00Z");

ObjectPtr One() {
  return Stored(R"({"apiVersion":"stable.example.com/v1","kind":"CronTab",
    "metadata":{"name":"one","namespace":"default","resourceVersion":"7","creationTimestamp":"2026-11-15T11:34:00Z","labels":{"a":"b"}},
    "spec":{"cronSpec":"a * *","replicas":3,"images":["x","y"],"when":"2020-01-01T00:00:00Z"},
    "status":{"conditions":[{"type":"Ready","status":"True"}]}})");
}
ObjectPtr Two() {
  return Stored(R"({"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"two","resourceVersion":"5"},"spec":{}})");
}

TEST(TableTest, ColumnsOfACrdPrintWhatTheirPathsFind) {
  ResourcePtr r = Custom(R"([{"name":"Spec","type":"string","description":"The cron spec","jsonPath":".spec.cronSpec"},
    {"name":"Replicas","type":"integer","jsonPath":".spec.replicas"},
    {"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"},
    {"name":"Images","type":"string","jsonPath":".spec.images","priority":1},
    {"name":"When","type":"date","jsonPath":".spec.when"},
    {"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}])");
  std::vector<ObjectPtr> objects = {One(), Two()};
  const Value table = TableOf(*r, objects, {.include_object = "None", .now = kNow});
  EXPECT_EQ(table["kind"].string_value(), "Table");
  EXPECT_EQ(table["apiVersion"].string_value(), "meta.k8s.io/v1");
  const List<Value>& columns = table["columnDefinitions"].list();
  ASSERT_EQ(columns.size(), 7u);
  EXPECT_EQ(columns[0]["name"].string_value(), "Name");
  EXPECT_EQ(columns[0]["format"].string_value(), "name");
  EXPECT_EQ(columns[1]["description"].string_value(), "The cron spec");
  EXPECT_EQ(columns[2]["description"].string_value(), "Custom resource definition column (in JSONPath format): .spec.replicas");
  EXPECT_EQ(columns[4]["priority"].int_value(), 1);
  EXPECT_EQ(ToJson(table["rows"]), R"([{"cells":["one","a * *",3,"True","[\"x\",\"y\"]","6y320d","60s"],"object":null},)"
                                   R"({"cells":["two",null,null,null,null,null,null],"object":null}])");
}

TEST(TableTest, ACrdWithoutColumnsShowsNameAndAge) {
  ResourcePtr r = Custom("[]");
  std::vector<ObjectPtr> objects = {One()};
  const Value table = TableOf(*r, objects, {.include_object = "None", .now = kNow});
  ASSERT_EQ(table["columnDefinitions"].list().size(), 2u);
  EXPECT_EQ(table["columnDefinitions"].list()[1]["name"].string_value(), "Age");
  EXPECT_EQ(table["columnDefinitions"].list()[1]["type"].string_value(), "date");
  EXPECT_EQ(ToJson(table["rows"].list()[0]["cells"]), R"(["one","60s"])");
  EXPECT_EQ(table["metadata"]["resourceVersion"].string_value(), "7");
}

TEST(TableTest, AColumnThatCannotBeReadEndsTheTable) {
  ResourcePtr r = Custom(R"([{"name":"Good","type":"integer","jsonPath":".spec.replicas"},{"name":"Bad","type":"string","jsonPath":".a[x]"},
                             {"name":"Lost","type":"string","jsonPath":".spec.cronSpec"}])");
  std::vector<ObjectPtr> objects = {One()};
  const Value table = TableOf(*r, objects, {.include_object = "None", .now = kNow});
  EXPECT_EQ(ToJson(table["rows"].list()[0]["cells"]), R"(["one",3])");
}

TEST(TableTest, TheObjectOfARowIsWhatTheClientAskedFor) {
  ResourcePtr r = Custom("[]", "v2");
  std::vector<ObjectPtr> objects = {One()};
  const Value metadata = TableOf(*r, objects, {.version = "v1beta1", .now = kNow});
  const Value& partial = metadata["rows"].list()[0]["object"];
  EXPECT_EQ(partial["kind"].string_value(), "PartialObjectMetadata");
  EXPECT_EQ(partial["apiVersion"].string_value(), "meta.k8s.io/v1beta1");
  EXPECT_EQ(partial["metadata"]["labels"]["a"].string_value(), "b");
  EXPECT_EQ(partial.object().size(), 3u);
  EXPECT_EQ(metadata["rows"], TableOf(*r, objects, {.version = "v1beta1", .include_object = "Metadata", .now = kNow})["rows"]);
  const Value whole = TableOf(*r, objects, {.include_object = "Object", .now = kNow});
  EXPECT_EQ(whole["rows"].list()[0]["object"]["apiVersion"].string_value(), "stable.example.com/v2");
  EXPECT_EQ(whole["rows"].list()[0]["object"]["spec"]["replicas"].int_value(), 3);
}

TEST(TableTest, TheBookmarkThatEndsInitialEventsKeepsItsMetadata) {
  ResourcePtr r = Custom("[]");
  std::vector<ObjectPtr> objects = {Stored(R"({"metadata":{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}})")};
  const Value table = TableOf(*r, objects, {.include_object = "None", .now = kNow, .no_headers = true});
  EXPECT_EQ(table["rows"].list()[0]["object"]["metadata"]["resourceVersion"].string_value(), "9");
  EXPECT_TRUE(table["columnDefinitions"].is_null());
  EXPECT_NE(table.Find("columnDefinitions"), nullptr);
}

TEST(TableTest, BuiltInKindsHaveTheirOwnColumns) {
  ResourcePtr r = Resources::Builtin(false)->Find("", "v1", "pods");
  std::vector<ObjectPtr> objects = {
      Stored(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"default","creationTimestamp":"2026-11-15T11:34:00Z"},
        "spec":{"containers":[{"name":"c","image":"i"}],"nodeName":"n1"},
        "status":{"phase":"Running","podIP":"10.0.0.1","containerStatuses":[{"name":"c","ready":true,"restartCount":0,
          "state":{"running":{"startedAt":"2026-11-15T11:34:00Z"}}}]}})")};
  const Value table = TableOf(*r, objects, {.now = kNow});
  ASSERT_EQ(table["columnDefinitions"].list().size(), 9u);
  const List<Value>& cells = table["rows"].list()[0]["cells"].list();
  ASSERT_EQ(cells.size(), 9u);
  EXPECT_EQ(cells[0].string_value(), "web");
  EXPECT_EQ(cells[1].string_value(), "1/1");
  EXPECT_EQ(cells[2].string_value(), "Running");
  EXPECT_EQ(cells[4].string_value(), "60s");
  EXPECT_EQ(table["rows"].list()[0]["object"]["metadata"]["name"].string_value(), "web");
}

TEST(TableTest, AnEmptyListHasColumnsAndNoRows) {
  ResourcePtr r = Custom("[]");
  const Value table = TableOf(*r, {}, {.now = kNow});
  EXPECT_EQ(ToJson(table["rows"]), "[]");
  EXPECT_EQ(table["columnDefinitions"].list().size(), 2u);
}

TEST(TableTest, RefusesAnUnknownIncludeObject) {
  EXPECT_TRUE(CheckIncludeObject(""));
  EXPECT_TRUE(CheckIncludeObject("Object"));
  Result<void> bad = CheckIncludeObject("Bad");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().http_code(), 400);
  EXPECT_EQ(
      bad.error().message(),
      "Unable to convert to Table as requested: includeObject: Invalid value: \"Bad\": must be 'Metadata', 'Object', 'None', or empty");
}

}  // namespace
}  // namespace kube::apiserver
