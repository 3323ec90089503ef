// Strategic merge patch: two-way and three-way creation.
#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "codec/patch_test_types.h"
#include "kube/codec/patch.h"

namespace kube {
namespace {

using patch_test::Spec;

Value Parse(std::string_view text) {
  Result<Value> v = ParseJson(text);
  EXPECT_TRUE(v.ok()) << text << ": " << v.error().ToString();
  return v.value_or(Value());
}

// The patch, after a check that it does what it should.
std::string TwoWay(std::string_view original, std::string_view modified) {
  Result<Value> patch = CreateTwoWayMergePatch(Spec::kType, Parse(original), Parse(modified));
  if (!patch) return "ERROR " + patch.error().ToString();
  Result<Value> back = ApplyStrategicMergePatch(Spec::kType, Parse(original), *patch);
  EXPECT_TRUE(back.ok()) << ToJson(*patch) << ": " << back.error().ToString();
  if (back) {
    EXPECT_EQ(ToJson(*back), ToJson(Parse(modified))) << ToJson(*patch);
  }
  return ToJson(*patch);
}

TEST(TwoWayMergePatchTest, SaysNothingAboutEqualObjects) {
  EXPECT_EQ(TwoWay(R"({"containers":[{"name":"a"}],"policy":{"type":"x"}})", R"({"containers":[{"name":"a"}],"policy":{"type":"x"}})"),
            "{}");
}

TEST(TwoWayMergePatchTest, NamesMembers) {
  EXPECT_EQ(
      TwoWay(R"({"replicas":1,"paused":true,"selector":{"a":"1","b":"2"}})", R"({"replicas":2,"selector":{"a":"1","c":"3"},"weight":1.5})"),
      R"({"paused":null,"replicas":2,"selector":{"b":null,"c":"3"},"weight":1.5})");
  EXPECT_EQ(TwoWay(R"({"selector":{"a":"1"}})", R"({"selector":{}})"), R"({"selector":{"a":null}})");
}

TEST(TwoWayMergePatchTest, ReplacesByStrategy) {
  EXPECT_EQ(TwoWay(R"({"policy":{"type":"a","surge":1}})", R"({"policy":{"type":"b"}})"), R"({"policy":{"type":"b"}})");
}

TEST(TwoWayMergePatchTest, RetainsKeysByStrategy) {
  EXPECT_EQ(TwoWay(R"({"strategy":{"type":"a","surge":1}})", R"({"strategy":{"type":"b"}})"),
            R"({"strategy":{"$retainKeys":["type"],"surge":null,"type":"b"}})");
  EXPECT_EQ(
      TwoWay(R"({"volumes":[{"name":"v","file":{"path":"/x"}}]})", R"({"volumes":[{"name":"v","memory":{}}]})"),
      R"({"$setElementOrder/volumes":[{"name":"v"}],"volumes":[{"$retainKeys":["memory","name"],"file":null,"memory":{},"name":"v"}]})");
}

TEST(TwoWayMergePatchTest, MergesListsByKey) {
  EXPECT_EQ(TwoWay(R"({"containers":[{"name":"a","image":"1"},{"name":"b"},{"name":"c"}]})",
                   R"({"containers":[{"name":"d"},{"name":"c"},{"name":"a","image":"2"}]})"),
            R"({"$setElementOrder/containers":[{"name":"d"},{"name":"c"},{"name":"a"}],)"
            R"("containers":[{"name":"d"},{"image":"2","name":"a"},{"$patch":"delete","name":"b"}]})");
  EXPECT_EQ(TwoWay(R"({"containers":[{"name":"a"},{"name":"b"}]})", R"({"containers":[{"name":"b"},{"name":"a"}]})"),
            R"({"$setElementOrder/containers":[{"name":"b"},{"name":"a"}]})");
  EXPECT_EQ(TwoWay(R"({"containers":[{"name":"a"}]})", R"({"containers":[]})"), R"({"containers":[{"$patch":"delete","name":"a"}]})");
  EXPECT_EQ(TwoWay(R"({"containers":[]})", R"({"containers":[{"name":"b"},{"name":"a"}]})"),
            R"({"containers":[{"name":"b"},{"name":"a"}]})");
  EXPECT_EQ(TwoWay(R"({})", R"({"containers":[{"name":"b"}]})"), R"({"containers":[{"name":"b"}]})");
}

TEST(TwoWayMergePatchTest, MergesPlainValues) {
  EXPECT_EQ(TwoWay(R"({"tags":["a","b","c"]})", R"({"tags":["d","c","a"]})"),
            R"({"$deleteFromPrimitiveList/tags":["b"],"$setElementOrder/tags":["d","c","a"],"tags":["d"]})");
  EXPECT_EQ(TwoWay(R"({"tags":["a","b"]})", R"({"tags":["b","a"]})"), R"({"$setElementOrder/tags":["b","a"]})");
  EXPECT_EQ(TwoWay(R"({"numbers":[1,2]})", R"({"numbers":[]})"), R"({"$deleteFromPrimitiveList/numbers":[1,2]})");
  // Doubles vanish by uniting the list with what it has.
  EXPECT_EQ(TwoWay(R"({"tags":["a","b","a"]})", R"({"tags":["a","b"]})"), R"({"$setElementOrder/tags":["a","b"],"tags":["a"]})");
}

TEST(TwoWayMergePatchTest, ReplacesListsWithDoubleKeys) {
  EXPECT_EQ(TwoWay(R"({"containers":[{"name":"dns","ports":[{"port":53,"protocol":"TCP"}]}]})",
                   R"({"containers":[{"name":"dns","ports":[{"port":53,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]}]})"),
            R"({"$setElementOrder/containers":[{"name":"dns"}],"containers":[{"name":"dns",)"
            R"("ports":[{"$patch":"replace"},{"port":53,"protocol":"TCP"},{"port":53,"protocol":"UDP"}]}]})");
  TwoWay(R"({"containers":[{"name":"a","image":"1"},{"name":"a","image":"2"},{"name":"b"}]})",
         R"({"containers":[{"name":"b"},{"name":"a","image":"2"}]})");
}

TEST(TwoWayMergePatchTest, NullAsksForRemoval) {
  Result<Value> patch = CreateTwoWayMergePatch(Spec::kType, Parse(R"({"replicas":1})"), Parse(R"({"replicas":null,"paused":null})"));
  ASSERT_TRUE(patch.ok());
  EXPECT_EQ(ToJson(*patch), R"({"paused":null,"replicas":null})");
}

TEST(TwoWayMergePatchTest, RefusesWhatItCannotExpress) {
  EXPECT_EQ(TwoWay(R"({"containers":[{"name":"a"}]})", R"({"containers":[{"image":"a"}]})"),
            "ERROR containers[0]: the element has no `name`, the merge key of this list");
  EXPECT_EQ(TwoWay(R"({})", R"({"selector":{"$patch":"x"}})"),
            "ERROR selector.$patch: has the name of a directive, so a patch cannot set it");
  EXPECT_EQ(TwoWay(R"({"raw":{"l":[1]}})", R"({"raw":{"l":[{"$retainKeys":[]}]}})"),
            "ERROR raw.l[0].$retainKeys: has the name of a directive, so a patch cannot set it");
  EXPECT_EQ(TwoWay(R"({"selector":{"$patch":"x"}})", R"({"selector":{}})"),
            "ERROR selector.$patch: has the name of a directive, so a patch cannot remove it");
  EXPECT_EQ(TwoWay(R"({"keyless":[{"type":"a"}]})", R"({"keyless":[{"type":"b"}]})"),
            "ERROR keyless: objects cannot be merged without a merge key");
  EXPECT_EQ(TwoWay(R"([])", R"({})"), "ERROR only objects have strategic merge patches, not list");
  // What does not change does not matter.
  EXPECT_EQ(TwoWay(R"({"selector":{"$patch":"x"},"replicas":1})", R"({"selector":{"$patch":"x"},"replicas":2})"), R"({"replicas":2})");
}

// ---- random round trips ----

class RandomSpec {
 public:
  explicit RandomSpec(unsigned seed) : random_(seed) {}

  Value Make() {
    Value spec = Value::Object();
    if (Coin()) spec["replicas"] = static_cast<int>(random_() % 3);
    if (Coin())
      spec["containers"] = Elements(3, [&](Value& c) {
        if (Coin()) c["image"] = Word();
        if (Coin()) c["args"] = Words(3, false);
        if (Coin()) c["ports"] = Ports();
        if (Coin()) c["limits"] = Object();
      });
    if (Coin()) spec["volumes"] = Elements(3, [&](Value& v) { v[Coin() ? "file" : "memory"] = Value::Object({{"path", Word()}}); });
    if (Coin()) spec["strategy"] = Object();
    if (Coin()) spec["policy"] = Object();
    if (Coin()) spec["tags"] = Words(4, true);
    if (Coin()) spec["selector"] = Object();
    if (Coin()) spec["raw"] = Object();
    if (Coin()) spec["later"] = Value::Object({{"x", Object()}, {"l", Words(2, false)}});
    return spec;
  }

 private:
  std::mt19937 random_;
  bool Coin() { return random_() % 2 == 0; }
  std::string Word() { return std::string(1, static_cast<char>('a' + random_() % 4)); }
  Value Object() {
    Value out = Value::Object();
    for (std::size_t i = random_() % 3; i > 0; --i) out[Word()] = Word();
    return out;
  }
  Value Words(std::size_t most, bool unique) {
    List<Value> out;
    for (std::size_t i = random_() % (most + 1); i > 0; --i) {
      Value word = Word();
      if (!unique || std::find(out.cbegin(), out.cend(), word) == out.cend()) out.push_back(word);
    }
    return out;
  }
  Value Ports() {  // now and then with the same port twice
    List<Value> out;
    for (std::size_t i = random_() % 4; i > 0; --i)
      out.push_back(Value::Object({{"port", static_cast<int>(random_() % 4)}, {"protocol", Word()}}));
    return out;
  }
  template <typename F>
  Value Elements(std::size_t most, F fill) {
    List<Value> out;
    Value names = Words(most, true);
    for (const Value& name : std::as_const(names).list()) {
      out.push_back(Value::Object({{"name", name}}));
      fill(out.back());
    }
    return out;
  }
};

TEST(TwoWayMergePatchTest, RoundTripsRandomObjects) {
  RandomSpec make(7);
  for (int i = 0; i < 3000; ++i) {
    Value original = make.Make();
    Value modified = make.Make();
    Result<Value> patch = CreateTwoWayMergePatch(Spec::kType, original, modified);
    ASSERT_TRUE(patch.ok()) << ToJson(original) << " " << ToJson(modified) << ": " << patch.error().ToString();
    Result<Value> back = ApplyStrategicMergePatch(Spec::kType, original, *patch);
    ASSERT_TRUE(back.ok()) << ToJson(original) << " " << ToJson(*patch) << ": " << back.error().ToString();
    ASSERT_EQ(*back, modified) << ToJson(original) << "\n" << ToJson(modified) << "\n" << ToJson(*patch) << "\n" << ToJson(*back);
  }
}

// ---- three-way ----

std::string ThreeWay(std::string_view original, std::string_view modified, std::string_view current, bool overwrite = true) {
  Result<Value> patch = CreateThreeWayMergePatch(Spec::kType, Parse(original), Parse(modified), Parse(current), overwrite);
  if (!patch) return "ERROR " + patch.error().ToString();
  Result<Value> out = ApplyStrategicMergePatch(Spec::kType, Parse(current), *patch);
  EXPECT_TRUE(out.ok()) << ToJson(*patch) << ": " << out.error().ToString();
  return out ? ToJson(*patch) + " => " + ToJson(*out) : "";
}

TEST(ThreeWayMergePatchTest, KeepsWhatOthersAdded) {
  EXPECT_EQ(ThreeWay(R"({"replicas":1})", R"({"replicas":2})", R"({"replicas":1,"paused":true})"),
            R"({"replicas":2} => {"paused":true,"replicas":2})");
  EXPECT_EQ(ThreeWay(R"({"containers":[{"name":"a","image":"1"}]})", R"({"containers":[{"name":"a","image":"2"}]})",
                     R"({"containers":[{"name":"side"},{"name":"a","image":"1","args":["x"]}]})"),
            R"({"$setElementOrder/containers":[{"name":"a"}],"containers":[{"image":"2","name":"a"}]} => )"
            R"({"containers":[{"name":"side"},{"args":["x"],"image":"2","name":"a"}]})");
}

TEST(ThreeWayMergePatchTest, RemovesWhatWasDropped) {
  EXPECT_EQ(ThreeWay(R"({"replicas":1,"paused":true})", R"({"replicas":1})", R"({"replicas":1,"paused":true,"weight":1.5})"),
            R"({"paused":null} => {"replicas":1,"weight":1.5})");
  EXPECT_EQ(ThreeWay(R"({"containers":[{"name":"a"},{"name":"b"}]})", R"({"containers":[{"name":"a","image":"2"}]})",
                     R"({"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]})"),
            R"({"$setElementOrder/containers":[{"name":"a"}],"containers":[{"image":"2","name":"a"},{"$patch":"delete","name":"b"}]} => )"
            R"({"containers":[{"image":"2","name":"a"},{"name":"c"}]})");
  EXPECT_EQ(ThreeWay(R"({"tags":["a","b"]})", R"({"tags":["b","d"]})", R"({"tags":["a","b","c"]})"),
            R"({"$deleteFromPrimitiveList/tags":["a"],"$setElementOrder/tags":["b","d"],"tags":["d"]} => {"tags":["b","d","c"]})");
}

TEST(ThreeWayMergePatchTest, ListsThatOthersRemovedOrReplacedComeBack) {
  EXPECT_EQ(
      ThreeWay(R"({"tags":["x","y"]})", R"({"tags":["z","y","y"]})", R"({})"),
      R"({"$deleteFromPrimitiveList/tags":["x"],"$setElementOrder/tags":["z","y","y"],"tags":["z","y","y"]} => {"tags":["z","y","y"]})");
  EXPECT_EQ(ThreeWay(R"({"tags":["x","y"]})", R"({"tags":["z"]})", R"({"tags":{}})"),
            R"({"$deleteFromPrimitiveList/tags":["x","y"],"$setElementOrder/tags":["z"],"tags":["z"]} => {"tags":["z"]})");
}

TEST(ThreeWayMergePatchTest, RemovesFieldsInElements) {
  EXPECT_EQ(ThreeWay(R"({"containers":[{"name":"a","image":"1","args":["x"]}]})", R"({"containers":[{"name":"a","image":"2"}]})",
                     R"({"containers":[{"name":"a","image":"1","args":["x"],"limits":{"cpu":"1"}}]})"),
            R"({"$setElementOrder/containers":[{"name":"a"}],"containers":[{"args":null,"image":"2","name":"a"}]} => )"
            R"({"containers":[{"image":"2","limits":{"cpu":"1"},"name":"a"}]})");
}

TEST(ThreeWayMergePatchTest, RetainsKeys) {
  EXPECT_EQ(ThreeWay(R"({"strategy":{"type":"a"}})", R"({"strategy":{"type":"b"}})", R"({"strategy":{"type":"a","surge":1}})"),
            R"({"strategy":{"$retainKeys":["type"],"type":"b"}} => {"strategy":{"type":"b"}})");
  EXPECT_EQ(ThreeWay(R"({"strategy":{"type":"a","surge":1}})", R"({"strategy":{"type":"b"}})", R"({"strategy":{"type":"a","surge":1}})"),
            R"({"strategy":{"$retainKeys":["type"],"surge":null,"type":"b"}} => {"strategy":{"type":"b"}})");
}

TEST(ThreeWayMergePatchTest, RestoresWhatOthersRemoved) {
  EXPECT_EQ(ThreeWay(R"({"replicas":1})", R"({"replicas":1})", R"({})"), R"({"replicas":1} => {"replicas":1})");
}

TEST(ThreeWayMergePatchTest, EmptyWhereNothingIsToBeDone) {
  EXPECT_EQ(
      ThreeWay(R"({"containers":[{"name":"a"}]})", R"({"containers":[{"name":"a"}]})", R"({"containers":[{"name":"a","image":"x"}]})"),
      R"({} => {"containers":[{"image":"x","name":"a"}]})");
}

TEST(ThreeWayMergePatchTest, ReplacesListsWithDoubleKeys) {
  std::string_view both = R"({"containers":[{"name":"d","ports":[{"port":53,"protocol":"T"},{"port":53,"protocol":"U"}]}]})";
  // Nothing to do, although the server has filled in a field.
  EXPECT_EQ(
      ThreeWay(both, both, R"({"containers":[{"name":"d","ports":[{"nodePort":1,"port":53,"protocol":"T"},{"port":53,"protocol":"U"}]}]})"),
      R"({} => {"containers":[{"name":"d","ports":[{"nodePort":1,"port":53,"protocol":"T"},{"port":53,"protocol":"U"}]}]})");
  // One of the two is dropped.
  EXPECT_EQ(
      ThreeWay(both, R"({"containers":[{"name":"d","ports":[{"port":53,"protocol":"U"}]}]})", both),
      R"({"$setElementOrder/containers":[{"name":"d"}],"containers":[{"name":"d","ports":[{"$patch":"replace"},{"port":53,"protocol":"U"}]}]} => )"
      R"({"containers":[{"name":"d","ports":[{"port":53,"protocol":"U"}]}]})");
  // One is changed.
  EXPECT_EQ(ThreeWay(both, R"({"containers":[{"name":"d","ports":[{"port":53,"protocol":"T"},{"port":53,"protocol":"S"}]}]})", both),
            R"({"$setElementOrder/containers":[{"name":"d"}],)"
            R"("containers":[{"name":"d","ports":[{"$patch":"replace"},{"port":53,"protocol":"T"},{"port":53,"protocol":"S"}]}]} => )"
            R"({"containers":[{"name":"d","ports":[{"port":53,"protocol":"T"},{"port":53,"protocol":"S"}]}]})");
  // Another port is dropped, which has nothing to do with the two.
  EXPECT_EQ(ThreeWay(R"({"containers":[{"name":"d","ports":[{"port":53,"protocol":"T"},{"port":53,"protocol":"U"},{"port":80}]}]})", both,
                     R"({"containers":[{"name":"d","ports":[{"port":53,"protocol":"T"},{"port":53,"protocol":"U"},{"port":80}]}]})"),
            R"({"$setElementOrder/containers":[{"name":"d"}],"containers":[{"name":"d","ports":[{"$patch":"delete","port":80}]}]} => )" +
                std::string(both));
}

TEST(ThreeWayMergePatchTest, FindsConflicts) {
  EXPECT_EQ(ThreeWay(R"({"replicas":1})", R"({"replicas":2})", R"({"replicas":3})", false),
            "ERROR replicas: changed by another client since the last configuration, and differently by this one");
  EXPECT_EQ(ThreeWay(R"({"containers":[{"name":"a","image":"1"}]})", R"({"containers":[{"name":"a","image":"2"}]})",
                     R"({"containers":[{"name":"a","image":"3"}]})", false),
            "ERROR containers[name=a].image: changed by another client since the last configuration, and differently by this one");
  EXPECT_EQ(ThreeWay(R"({"selector":{"a":"1"}})", R"({"selector":{"a":"2"}})", R"({"selector":{}})", false).substr(0, 17),
            "ERROR selector.a:");
  EXPECT_EQ(ThreeWay(R"({"containers":[{"name":"a","args":["x"]}]})", R"({"containers":[{"name":"a","args":["y"]}]})",
                     R"({"containers":[{"name":"a","args":["z"]}]})", false)
                .substr(0, 30),
            "ERROR containers[name=a].args:");
  Result<Value> out =
      CreateThreeWayMergePatch(Spec::kType, Parse(R"({"replicas":1})"), Parse(R"({"replicas":2})"), Parse(R"({"replicas":3})"), false);
  ASSERT_FALSE(out.ok());
  EXPECT_TRUE(IsPatchConflict(out.error()));
  EXPECT_FALSE(IsPatchConflict(Error::Invalid("x")));
}

TEST(ThreeWayMergePatchTest, OverwritesConflictsWhenTold) {
  EXPECT_EQ(ThreeWay(R"({"replicas":1})", R"({"replicas":2})", R"({"replicas":3})"), R"({"replicas":2} => {"replicas":2})");
}

TEST(ThreeWayMergePatchTest, ChangesInDifferentPlacesAreNoConflict) {
  EXPECT_EQ(
      ThreeWay(R"({"containers":[{"name":"a","image":"1"}],"tags":["x"]})", R"({"containers":[{"name":"a","image":"2"}],"tags":["x","y"]})",
               R"({"containers":[{"name":"a","image":"1","args":["q"]},{"name":"b"}],"tags":["z","x"]})", false)
          .substr(0, 5),
      "{\"$se");
  // Both came to the same result.
  EXPECT_EQ(ThreeWay(R"({"replicas":1})", R"({"replicas":2})", R"({"replicas":2})", false), R"({} => {"replicas":2})");
}

TEST(ThreeWayMergePatchTest, BringsRandomObjectsToWhatIsWanted) {
  RandomSpec make(11);
  for (int i = 0; i < 2000; ++i) {
    Value original = make.Make();
    Value modified = make.Make();
    // If no other client interfered, a three-way patch does what a two-way patch does.
    Result<Value> patch = CreateThreeWayMergePatch(Spec::kType, original, modified, original, true);
    ASSERT_TRUE(patch.ok()) << ToJson(original) << " " << ToJson(modified) << ": " << patch.error().ToString();
    Result<Value> out = ApplyStrategicMergePatch(Spec::kType, original, *patch);
    ASSERT_TRUE(out.ok()) << ToJson(*patch) << ": " << out.error().ToString();
    ASSERT_EQ(*out, modified) << ToJson(original) << "\n" << ToJson(modified) << "\n" << ToJson(*patch) << "\n" << ToJson(*out);
    // Whatever others did, applying again changes nothing.
    Value current = make.Make();
    patch = CreateThreeWayMergePatch(Spec::kType, original, modified, current, true);
    ASSERT_TRUE(patch.ok());
    out = ApplyStrategicMergePatch(Spec::kType, current, *patch);
    ASSERT_TRUE(out.ok()) << ToJson(current) << "\n" << ToJson(*patch) << ": " << out.error().ToString();
    Result<Value> again = CreateThreeWayMergePatch(Spec::kType, modified, modified, *out, true);
    ASSERT_TRUE(again.ok());
    ASSERT_EQ(*ApplyStrategicMergePatch(Spec::kType, *out, *again), *out) << ToJson(original) << "\n"
                                                                          << ToJson(modified) << "\n"
                                                                          << ToJson(current) << "\n"
                                                                          << ToJson(*patch) << "\n"
                                                                          << ToJson(*out) << "\n"
                                                                          << ToJson(*again);
  }
}

}  // namespace
}  // namespace kube
