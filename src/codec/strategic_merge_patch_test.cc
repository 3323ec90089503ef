// Strategic merge patch: applying and creating, on the made-up kind of patch_test_types.h.
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "codec/patch_test_types.h"
#include "kube/codec/patch.h"

namespace kube {
namespace {

using patch_test::Spec;
using patch_test::Thing;

Value Parse(std::string_view text) {
  Result<Value> v = ParseJson(text);
  EXPECT_TRUE(v.ok()) << text << ": " << v.error().ToString();
  return v.value_or(Value());
}

// Works on a Spec, to keep the cases short.
std::string Apply(std::string_view original, std::string_view patch) {
  Result<Value> out = ApplyStrategicMergePatch(Spec::kType, Parse(original), Parse(patch));
  return out ? ToJson(*out) : "ERROR " + out.error().ToString();
}

// ---- objects ----

TEST(StrategicMergePatchTest, MergesObjects) {
  EXPECT_EQ(Apply(R"({"replicas":1,"selector":{"a":"1","b":"2"}})", R"({"replicas":2,"selector":{"b":null,"c":"3"}})"),
            R"({"replicas":2,"selector":{"a":"1","c":"3"}})");
  EXPECT_EQ(Apply(R"({"replicas":1})", R"({})"), R"({"replicas":1})");
  EXPECT_EQ(Apply(R"({"replicas":1})", R"(null)"), R"({"replicas":1})");
  EXPECT_EQ(Apply(R"(null)", R"({"replicas":1})"), R"({"replicas":1})");
}

TEST(StrategicMergePatchTest, NullOfWhatIsNotThereIsNothing) {
  EXPECT_EQ(Apply(R"({})", R"({"replicas":null,"strategy":{"type":"x","surge":null}})"), R"({"strategy":{"type":"x"}})");
}

TEST(StrategicMergePatchTest, AnotherTypeReplaces) {
  EXPECT_EQ(Apply(R"({"selector":{"a":"1"}})", R"({"selector":"all"})"), R"({"selector":"all"})");
  EXPECT_EQ(Apply(R"({"tags":null})", R"({"tags":["a"]})"), R"({"tags":["a"]})");
}

TEST(StrategicMergePatchTest, ReplaceStrategyReplacesAnObject) {
  EXPECT_EQ(Apply(R"({"policy":{"type":"a","surge":1}})", R"({"policy":{"type":"b","surge":null}})"), R"({"policy":{"type":"b"}})");
  EXPECT_EQ(Apply(R"({"policy":{"type":"a","surge":1}})", R"({"policy":{"$patch":"merge","type":"b"}})"),
            R"({"policy":{"surge":1,"type":"b"}})");
}

TEST(StrategicMergePatchTest, PatchDirectiveOfAnObject) {
  EXPECT_EQ(Apply(R"({"selector":{"a":"1","b":"2"}})", R"({"selector":{"$patch":"replace","c":"3"}})"), R"({"selector":{"c":"3"}})");
  EXPECT_EQ(Apply(R"({"selector":{"a":"1","b":"2"}})", R"({"selector":{"$patch":"delete"}})"), R"({"selector":{}})");
  EXPECT_EQ(Apply(R"({"selector":{"a":"1","b":"2"}})", R"({"selector":{"$patch":"merge","c":"3"}})"),
            R"({"selector":{"a":"1","b":"2","c":"3"}})");
  EXPECT_EQ(Apply(R"({"replicas":1,"paused":true})", R"({"$patch":"replace","replicas":2})"), R"({"replicas":2})");
  // If there is nothing to replace or delete, a server drops the whole object.
  EXPECT_EQ(Apply(R"({})", R"({"selector":{"$patch":"replace","c":"3"},"strategy":{"$patch":"delete"}})"), R"({})");
  EXPECT_EQ(Apply(R"({"selector":{}})", R"({"selector":{"$patch":"explode"}})"), "ERROR selector: unknown $patch directive \"explode\"");
  EXPECT_EQ(Apply(R"({"selector":{}})", R"({"selector":{"$patch":1}})"), "ERROR selector: unknown $patch directive");
}

TEST(StrategicMergePatchTest, ReplacedObjectsAreCleanedOfDirectives) {
  EXPECT_EQ(Apply(R"({"strategy":{"type":"a"}})", R"({"$patch":"replace","strategy":{"$retainKeys":["type"],"type":"b","surge":null}})"),
            R"({"strategy":{"type":"b"}})");
}

TEST(StrategicMergePatchTest, RetainsKeys) {
  EXPECT_EQ(Apply(R"({"strategy":{"type":"Rolling","surge":3}})", R"({"strategy":{"$retainKeys":["type"],"type":"Recreate"}})"),
            R"({"strategy":{"type":"Recreate"}})");
  EXPECT_EQ(Apply(R"({"strategy":{"type":"Rolling","surge":3}})", R"({"strategy":{"$retainKeys":["surge"],"type":null}})"),
            R"({"strategy":{"surge":3}})");
  EXPECT_EQ(Apply(R"({})", R"({"strategy":{"$retainKeys":["type"],"type":"Recreate"}})"), R"({"strategy":{"type":"Recreate"}})");
  EXPECT_EQ(Apply(R"({"strategy":{"surge":3}})", R"({"strategy":{"$retainKeys":["surge"],"type":"x"}})"),
            "ERROR strategy.$retainKeys: the patch sets \"type\", which is not listed here");
  EXPECT_EQ(Apply(R"({"strategy":{}})", R"({"strategy":{"$retainKeys":"type"}})"),
            "ERROR strategy.$retainKeys: expected a list of keys, got string");
  EXPECT_EQ(Apply(R"({"strategy":{}})", R"({"strategy":{"$retainKeys":[1]}})"),
            "ERROR strategy.$retainKeys: expected a list of keys, got integer");
}

TEST(StrategicMergePatchTest, GoesIntoMapsOfObjects) {
  EXPECT_EQ(Apply(R"({"byName":{"a":{"image":"x","ports":[{"port":1}]}}})", R"({"byName":{"a":{"ports":[{"port":2}]}}})"),
            R"({"byName":{"a":{"image":"x","ports":[{"port":2},{"port":1}]}}})");
}

TEST(StrategicMergePatchTest, MergesFieldsThatTheTableDoesNotKnow) {
  EXPECT_EQ(Apply(R"({"later":{"a":1,"l":[{"name":"x"}]}})", R"({"later":{"b":{"c":2},"l":[{"name":"y"}]}})"),
            R"({"later":{"a":1,"b":{"c":2},"l":[{"name":"y"}]}})");
  EXPECT_EQ(Apply(R"({"raw":{"a":{"x":1}}})", R"({"raw":{"a":{"y":2}}})"), R"({"raw":{"a":{"x":1,"y":2}}})");
}

// ---- lists of objects ----

TEST(StrategicMergePatchTest, MergesListsByKey) {
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a","image":"1"},{"name":"b","image":"1"}]})", R"({"containers":[{"name":"b","image":"2"}]})"),
            R"({"containers":[{"image":"1","name":"a"},{"image":"2","name":"b"}]})");
}

TEST(StrategicMergePatchTest, NewElementsStandFirstUnlessThePatchPlacesThem) {
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a"},{"name":"b"}]})", R"({"containers":[{"name":"c","image":null}]})"),
            R"({"containers":[{"name":"c"},{"name":"a"},{"name":"b"}]})");
  // The patch's own order holds; other elements keep their place if the old order determines it.
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]})", R"({"containers":[{"name":"c"},{"name":"x"}]})"),
            R"({"containers":[{"name":"a"},{"name":"b"},{"name":"c"},{"name":"x"}]})");
}

TEST(StrategicMergePatchTest, MergesNumericKeys) {
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a","ports":[{"port":80},{"port":443}]}]})",
                  R"({"containers":[{"name":"a","ports":[{"port":443,"name":"tls"}]}]})"),
            R"({"containers":[{"name":"a","ports":[{"port":80},{"name":"tls","port":443}]}]})");
}

TEST(StrategicMergePatchTest, ReplacesListsWithoutStrategy) {
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a","args":["x","y"]}]})", R"({"containers":[{"name":"a","args":["z"]}]})"),
            R"({"containers":[{"args":["z"],"name":"a"}]})");
}

TEST(StrategicMergePatchTest, DeletesElements) {
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a"},{"name":"b"},{"name":"a"}]})", R"({"containers":[{"name":"a","$patch":"delete"}]})"),
            R"({"containers":[{"name":"b"}]})");
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a"}]})", R"({"containers":[{"name":"z","$patch":"delete"}]})"),
            R"({"containers":[{"name":"a"}]})");
  EXPECT_EQ(Apply(R"({})", R"({"containers":[{"name":"z","$patch":"delete"},{"name":"a"}]})"), R"({"containers":[{"name":"a"}]})");
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a"}]})", R"({"containers":[{"$patch":"delete"}]})"),
            "ERROR containers[0]: the element has no `name`, the merge key of this list");
}

TEST(StrategicMergePatchTest, ReplacesAMergingList) {
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a"},{"name":"b"}]})", R"({"containers":[{"name":"c","image":null},{"$patch":"replace"}]})"),
            R"({"containers":[{"name":"c"}]})");
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a"}]})", R"({"containers":[{"$patch":"replace"}]})"), R"({"containers":[]})");
  EXPECT_EQ(Apply(R"({})", R"({"containers":[{"$patch":"replace"},{"name":"a"}]})"), R"({"containers":[{"name":"a"}]})");
}

TEST(StrategicMergePatchTest, MergeDirectiveInAListIsWhatHappensAnyway) {
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a"}]})", R"({"containers":[{"$patch":"merge"},{"name":"a","image":"x"}]})"),
            R"({"containers":[{"image":"x","name":"a"}]})");
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a"}]})", R"({"containers":[{"$patch":"burn"}]})"),
            "ERROR containers[0]: unknown $patch directive");
}

TEST(StrategicMergePatchTest, ElementsNeedTheirKey) {
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a"}]})", R"({"containers":[{"name":"a"},{"image":"x"}]})"),
            "ERROR containers[1]: the element has no `name`, the merge key of this list");
  EXPECT_EQ(Apply(R"({"containers":[{"image":"x"}]})", R"({"containers":[{"name":"a"}]})"),
            "ERROR containers[0]: the element has no `name`, the merge key of this list");
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a","ports":[{"port":1}]}]})", R"({"containers":[{"name":"a","ports":[{"name":"x"}]}]})"),
            "ERROR containers[0].ports[0]: the element has no `port`, the merge key of this list");
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a"}]})", R"({"containers":[{"name":{}}]})"),
            "ERROR containers[0]: the merge key `name` is no plain value but object");
  EXPECT_EQ(Apply(R"({"keyless":[{"type":"a"}]})", R"({"keyless":[{"type":"b"}]})"),
            "ERROR keyless: objects cannot be merged without a merge key");
}

TEST(StrategicMergePatchTest, RefusesMixedLists) {
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a"}]})", R"({"containers":["a"]})"),
            "ERROR containers: a list that is merged has elements of different types: object and string");
  EXPECT_EQ(Apply(R"({"tags":["a"]})", R"({"tags":[["b"]]})"), "ERROR tags: lists of lists cannot be merged");
  EXPECT_EQ(Apply(R"({"tags":["a"]})", R"({"tags":[null]})"), "ERROR tags: a list that is merged has a null element");
}

TEST(StrategicMergePatchTest, RetainsKeysOfElements) {
  EXPECT_EQ(Apply(R"({"volumes":[{"name":"v","file":{"path":"/x"}}]})",
                  R"({"volumes":[{"name":"v","$retainKeys":["name","memory"],"memory":{"path":"m"}}]})"),
            R"({"volumes":[{"memory":{"path":"m"},"name":"v"}]})");
  // In an element that is new the directive has nothing to do, and is not stored.
  EXPECT_EQ(Apply(R"({"volumes":[{"name":"v"}]})", R"({"volumes":[{"name":"w","$retainKeys":["name","memory"],"memory":{}}]})"),
            R"({"volumes":[{"memory":{},"name":"w"},{"name":"v"}]})");
}

// ---- lists of plain values ----

TEST(StrategicMergePatchTest, UnitesPlainValues) {
  EXPECT_EQ(Apply(R"({"tags":["a","b"]})", R"({"tags":["c","a"]})"), R"({"tags":["c","a","b"]})");
  EXPECT_EQ(Apply(R"({"numbers":[1,2,2]})", R"({"numbers":[3]})"), R"({"numbers":[3,1,2]})");
}

TEST(StrategicMergePatchTest, DeletesPlainValues) {
  EXPECT_EQ(Apply(R"({"tags":["a","b","c","b"]})", R"({"$deleteFromPrimitiveList/tags":["b","z"]})"), R"({"tags":["a","c"]})");
  EXPECT_EQ(Apply(R"({"numbers":[1,2]})", R"({"$deleteFromPrimitiveList/numbers":[1,2]})"), R"({"numbers":[]})");
  EXPECT_EQ(Apply(R"({})", R"({"$deleteFromPrimitiveList/tags":["b"]})"), R"({})");
  // Added first, then deleted.
  EXPECT_EQ(Apply(R"({"tags":["a"]})", R"({"tags":["b","c"],"$deleteFromPrimitiveList/tags":["a","b"]})"), R"({"tags":["c"]})");
  EXPECT_EQ(Apply(R"({"tags":["a"]})", R"({"$deleteFromPrimitiveList/tags":"a"})"),
            "ERROR $deleteFromPrimitiveList/tags: expected a list of values, got string");
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a"}]})", R"({"$deleteFromPrimitiveList/containers":[{"name":"a"}]})"),
            "ERROR $deleteFromPrimitiveList/containers: only plain values are removed in this way");
}

// ---- order ----

TEST(StrategicMergePatchTest, OrdersElements) {
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]})",
                  R"({"$setElementOrder/containers":[{"name":"c"},{"name":"x"},{"name":"a"}],"containers":[{"name":"x"}]})"),
            R"({"containers":[{"name":"b"},{"name":"c"},{"name":"x"},{"name":"a"}]})");
  EXPECT_EQ(Apply(R"({"tags":["a","b","c"]})", R"({"$setElementOrder/tags":["c","a"]})"), R"({"tags":["b","c","a"]})");
  EXPECT_EQ(Apply(R"({"tags":["a","b","c"]})", R"({"$setElementOrder/tags":["d","a"],"tags":["d"],"$deleteFromPrimitiveList/tags":["c"]})"),
            R"({"tags":["d","a","b"]})");
}

TEST(StrategicMergePatchTest, ElementsThatTakeTheRoomOfRemovedOnesFollowTheOthers) {
  EXPECT_EQ(
      Apply(R"({"containers":[{"name":"c"},{"name":"a"},{"name":"b"}]})",
            R"({"$setElementOrder/containers":[{"name":"e"},{"name":"c"}],"containers":[{"name":"e"},{"name":"b","$patch":"delete"}]})"),
      R"({"containers":[{"name":"a"},{"name":"e"},{"name":"c"}]})");
  EXPECT_EQ(Apply(R"({"containers":[{"name":"c"},{"name":"a"}]})",
                  R"({"$setElementOrder/containers":[{"name":"e"},{"name":"c"}],"containers":[{"name":"e"}]})"),
            R"({"containers":[{"name":"e"},{"name":"c"},{"name":"a"}]})");
}

TEST(StrategicMergePatchTest, OrderOfListsThatAreNotThere) {
  EXPECT_EQ(Apply(R"({})", R"({"$setElementOrder/tags":["a"]})"), R"({})");
  EXPECT_EQ(Apply(R"({"tags":[]})", R"({"$setElementOrder/tags":["a"]})"), R"({"tags":[]})");
  EXPECT_EQ(Apply(R"({})", R"({"$setElementOrder/tags":["b","a"],"tags":["b","a"]})"), R"({"tags":["b","a"]})");
  EXPECT_EQ(Apply(R"({"tags":{"a":"b"}})", R"({"$setElementOrder/tags":["a"],"tags":["a"],"$deleteFromPrimitiveList/tags":["b"]})"),
            R"({"tags":["a"]})");
  EXPECT_EQ(Apply(R"({})", R"({"strategy":{"$setElementOrder/x":["b"],"type":"t"}})"), R"({"strategy":{"type":"t"}})");
}

TEST(StrategicMergePatchTest, RefusesOrdersThatDoNotFit) {
  EXPECT_EQ(Apply(R"({"tags":["a"]})", R"({"$setElementOrder/tags":["a","b","c"],"tags":["c","b"]})"),
            "ERROR tags[1]: the order of the list in the patch is not that of its $setElementOrder");
  EXPECT_EQ(Apply(R"({"tags":["a"]})", R"({"$setElementOrder/tags":["a"],"tags":["x"]})"),
            "ERROR tags[0]: the order of the list in the patch is not that of its $setElementOrder");
  EXPECT_EQ(Apply(R"({"tags":["a"]})", R"({"$setElementOrder/tags":"a"})"), "ERROR $setElementOrder/tags: expected a list, got string");
  EXPECT_EQ(Apply(R"({"tags":"a"})", R"({"$setElementOrder/tags":["a"]})"), "ERROR tags: expected a list, got string");
  EXPECT_EQ(Apply(R"({"tags":["a"]})", R"({"$setElementOrder/tags":["a"],"tags":null})"), "ERROR tags: expected a list, got null");
  EXPECT_EQ(Apply(R"({"containers":[{"name":"a"}]})", R"({"$setElementOrder/containers":[{"image":"a"}]})"),
            "ERROR containers[0]: the element has no `name`, the merge key of this list");
  EXPECT_EQ(Apply(R"({"keyless":[{"type":"a"}]})", R"({"$setElementOrder/keyless":[{"type":"a"}]})"),
            "ERROR keyless: objects cannot be ordered without a merge key");
}

TEST(StrategicMergePatchTest, PatchesObjectsOnly) {
  EXPECT_EQ(Apply("[]", "{}"), "ERROR only an object can be patched, not list");
  EXPECT_EQ(Apply("{}", "[]"), "ERROR a strategic merge patch is an object, not list");
}

TEST(StrategicMergePatchTest, LeavesTheInputAlone) {
  Value original = Parse(R"({"containers":[{"name":"a","ports":[{"port":1}]}]})");
  Value patch = Parse(R"({"containers":[{"name":"a","ports":[{"port":2}]},{"name":"b","$patch":"delete"}]})");
  ASSERT_TRUE(ApplyStrategicMergePatch(Spec::kType, original, patch).ok());
  EXPECT_EQ(ToJson(original), R"({"containers":[{"name":"a","ports":[{"port":1}]}]})");
  EXPECT_EQ(ToJson(patch), R"({"containers":[{"name":"a","ports":[{"port":2}]},{"$patch":"delete","name":"b"}]})");
}

// ---- typed ----

TEST(StrategicMergePatchTest, PatchesTypedObjects) {
  Thing thing;
  thing.spec.containers.push_back({.name = "web", .image = "web:1"});
  thing.spec.containers.push_back({.name = "log", .image = "log:1"});
  Result<Thing> out = ApplyStrategicMergePatch(thing, R"({"spec":{"containers":[{"name":"web","image":"web:2"}]}})");
  ASSERT_TRUE(out.ok()) << out.error().ToString();
  ASSERT_EQ(out->spec.containers.size(), 2U);
  EXPECT_EQ(out->spec.containers[0].image, "web:2");
  EXPECT_EQ(thing.spec.containers[0].image, "web:1");
  Result<Value> patch = CreateTwoWayMergePatch(thing, *out);
  ASSERT_TRUE(patch.ok());
  EXPECT_EQ(ToJson(*patch),
            R"({"spec":{"$setElementOrder/containers":[{"name":"web"},{"name":"log"}],"containers":[{"image":"web:2","name":"web"}]}})");
}

}  // namespace
}  // namespace kube
