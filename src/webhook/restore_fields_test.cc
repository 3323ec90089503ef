// The text of annotations, and what becomes of any text.
#include <gmock/gmock.h>

#include <chrono>

#include "kube/codec/json.h"
#include "webhook/conversion_test_types.h"
#include "webhook/lost_fields.h"

namespace kube::internal {
namespace {

using nets::v2::Network;

Network Parse(std::string_view json) { return FromJson<Network>(json).value(); }
std::string Lost(const Network& object, const Network& back) { return LostFields(Network::kType, &object, &back); }
Network Restored(Network object, std::string_view lost, bool readable = true) {
  EXPECT_EQ(RestoreFields(Network::kType, &object, lost), readable) << lost;
  return object;
}
// `back` gets what `object` has.
void ExpectReturns(std::string_view object, std::string_view back) {
  const std::string lost = Lost(Parse(object), Parse(back));
  EXPECT_EQ(Restored(Parse(back), lost), Parse(object)) << lost;
}

TEST(LostFieldsTest, AreNothingIfNothingIsLost) {
  const Network same = Parse(R"({"spec":{"tags":["a"],"limits":{"cpu":"1"},"unknown":1}})");
  EXPECT_EQ(Lost(same, same), "");
  EXPECT_EQ(Lost(Parse(R"({"spec":{"limits":{"cpu":"1000m"}}})"), Parse(R"({"spec":{"limits":{"cpu":"1"}}})")), "");
}

TEST(LostFieldsTest, AreSmallText) {
  EXPECT_EQ(Lost(Parse(R"({"spec":{"gateway":"g","mtu":0}})"), Network()), R"({"spec":{"gateway":["g"],"mtu":[0]}})");
  EXPECT_EQ(Lost(Parse(R"({"spec":{"rules":[{"name":"a","priority":5},{"name":"b"}]}})"),
                 Parse(R"({"spec":{"rules":[{"name":"a"},{"name":"b"}]}})")),
            R"({"spec":{"rules":{"keys":{"a":{"priority":[5]}}}}})");
}

TEST(LostFieldsTest, HashesDoNotChangeWithTheBuild) {
  // These are stored: another hash would make all annotations stale.
  EXPECT_EQ(Lost(Network(), Parse(R"({"spec":{"gateway":"g","tags":["a"]}})")),
            R"({"spec":{"gateway":[null,"1c9778d8b55e887d",0],"tags":[null,"a477fe199dea9440",0]}})");
}

TEST(LostFieldsTest, Return) {
  ExpectReturns(R"({"spec":{"gateway":"g"}})", "{}");
  ExpectReturns("{}", R"({"spec":{"gateway":"g","tags":["a"],"backup":{},"zones":{"a":{}},"unknown":[1]}})");
  ExpectReturns(R"({"spec":{"gateway":"a","mode":1}})", R"({"spec":{"gateway":"b","mode":2}})");
  ExpectReturns(R"({"spec":{"tags":["a","b"]}})", R"({"spec":{"tags":["b"]}})");
  ExpectReturns(R"({"spec":{"extra":{"n":[1.50,12345678901234567890,1e400]}}})", R"({"spec":{"extra":{"n":1}}})");
  ExpectReturns(R"({"spec":{"a/b\"c":12345678901234567890,"z":null}})", R"({"spec":{"y":1}})");
  ExpectReturns(R"({"spec":{"u":null}})", R"({"spec":{"u":1,"v":null}})");
  ExpectReturns(R"({"spec":{"limits":{"":"1","b":"2"}}})", R"({"spec":{"limits":{"a":"1","b":"3"}}})");
  ExpectReturns(R"({"spec":{"matrix":{"a":[],"b":["1"]}}})", R"({"spec":{"matrix":{"a":["x"],"c":[]}}})");
  ExpectReturns(R"({"spec":{"zones":{"a":{"a":"1","weight":1.5},"b":{}}}})", R"({"spec":{"zones":{"a":{"a":"1"},"c":{}}}})");
  ExpectReturns(R"({"spec":{"backup":{}}})", "{}");
  ExpectReturns(R"({"spec":{"backup":{"host":"a","retries":1}}})", R"({"spec":{"backup":{"host":"a"}}})");
  ExpectReturns(R"({"metadata":{"labels":{"a":"1"}}})", R"({"metadata":{"labels":{"b":"1"}}})");
  // Lists of structs: with keys, in another order, too many and too few; without usable keys.
  ExpectReturns(R"({"spec":{"rules":[{"name":"a","priority":1},{"name":"b"},{"name":"c","port":3}]}})",
                R"({"spec":{"rules":[{"name":"made up"},{"name":"c"},{"name":"a"}]}})");
  ExpectReturns(R"({"spec":{"rules":[{"name":"a","priority":1},{"name":"a","priority":2}]}})",
                R"({"spec":{"rules":[{"name":"a"},{"name":"b"}]}})");
  ExpectReturns(R"({"spec":{"rules":[{"priority":1}]}})", R"({"spec":{"rules":[{}]}})");
  ExpectReturns(R"({"spec":{"steps":[{"run":"a","retries":1},{"run":"b"}]}})", R"({"spec":{"steps":[{"run":"a"},{"run":"b"}]}})");
  ExpectReturns(R"({"spec":{"steps":[{"retries":1},{"retries":2}]}})", R"({"spec":{"steps":[{},{}]}})");
  ExpectReturns(R"({"spec":{"steps":[{"run":"a"},{"run":"b"}]}})", R"({"spec":{"steps":[{"run":"a"}]}})");
  ExpectReturns(R"({"spec":{"rules":[{"name":"a"}]}})", "{}");
  ExpectReturns("{}", R"({"spec":{"rules":[{"name":"a"}]}})");
}

TEST(RestoreFieldsTest, ElementsThatWereAddedOrRemovedSinceDecideTheList) {
  const std::string lost =
      Lost(Parse(R"({"spec":{"rules":[{"name":"a","priority":1},{"name":"b"}]}})"), Parse(R"({"spec":{"rules":[{"name":"a"}]}})"));
  EXPECT_EQ(Restored(Parse(R"({"spec":{"rules":[{"name":"c"},{"name":"a","port":5}]}})"), lost),
            Parse(R"({"spec":{"rules":[{"name":"c"},{"name":"a","port":5,"priority":1}]}})"));
  EXPECT_EQ(Restored(Network(), lost), Network());
}

TEST(RestoreFieldsTest, AMadeUpElementThatWasChangedStays) {
  const std::string lost =
      Lost(Parse(R"({"spec":{"rules":[{"name":"a"}]}})"), Parse(R"({"spec":{"rules":[{"name":"a"},{"name":"default","port":1}]}})"));
  EXPECT_EQ(Restored(Parse(R"({"spec":{"rules":[{"name":"a"},{"name":"default","port":2}]}})"), lost),
            Parse(R"({"spec":{"rules":[{"name":"a"},{"name":"default","port":2}]}})"));
}

TEST(RestoreFieldsTest, TextThatIsNoObjectIsUnreadable) {
  for (const char* text : {"", "x", "1", "[]", "{", "{}{}", R"({"a")", R"({"a":})", R"({"spec":{"gateway":["g"]})", "\xff"})
    EXPECT_EQ(Restored(Network(), text, false), Network());
}

TEST(RestoreFieldsTest, WhatDoesNotFitIsLeftOut) {
  for (const char* text : {"{}",
                           R"({"spec":null})",
                           R"({"spec":[]})",
                           R"({"spec":[{"gateway":"g"}]})",
                           R"({"spec":{"gateway":"g"}})",
                           R"({"spec":{"gateway":[1]}})",
                           R"({"spec":{"gateway":["g","0"]}})",
                           R"({"spec":{"gateway":["g",0]}})",
                           R"({"spec":{"gateway":["g",null,0]}})",
                           R"({"spec":{"gateway":["g","1c9778d8b55e887d",0]}})",
                           R"({"spec":{"gateway":["g","x"]}})",
                           R"({"spec":{"gateway":[null]}})",
                           R"({"spec":{"gateway":{"a":["g"]}}})",
                           R"({"spec":{"mtu":["1"]}})",
                           R"({"spec":{"mtu":[99999999999]}})",
                           R"({"spec":{"limits":["a"]}})",
                           R"({"spec":{"limits":{"a":["b"]}}})",
                           R"({"spec":{"zones":{"a":{"a":["1"]}}}})",
                           R"({"spec":{"zones":{"a":["1"]}}})",
                           R"({"spec":{"backup":{"host":["h"]}}})",
                           R"({"spec":{"rules":{"keys":{"a":[{}]}}}})",
                           R"({"spec":{"rules":{"keys":1,"order":1}}})",
                           R"({"spec":{"rules":{"keys":{},"order":[1,2]}}})",
                           R"({"spec":{"rules":{"order":[[],[]]}}})",
                           R"({"spec":{"steps":{"content":[]}}})",
                           R"({"spec":{"steps":{"content":{"":{}}}}})",
                           R"({"spec":{"steps":{"keys":{"a":[{}]}}}})",
                           R"({"unknown":{"a":1}})",
                           R"({"kind":["Pod"]})"}) {
    EXPECT_EQ(Restored(Network(), text), Network()) << text;
    const Network full = Parse(R"({"spec":{"gateway":"x","limits":{"a":"1"},"zones":{"a":{}},"backup":{"host":"x"},"rules":[{"name":"a"}],
                                   "steps":[{"run":"1"}],"mtu":7}})");
    const Network restored = Restored(full, text);
    EXPECT_EQ(restored.spec.gateway, "x") << text;
    EXPECT_EQ(restored.spec.rules.size(), 1U) << text;
  }
}

TEST(RestoreFieldsTest, CopiesOfTheObjectStayAsTheyAre) {
  const Network back = Parse(R"({"spec":{"rules":[{"name":"a"}],"steps":[{"run":"1"}],"zones":{"a":{"a":"1"}},"backup":{"host":"h"}}})");
  const Network object = Parse(
      R"({"spec":{"rules":[{"name":"a","priority":1}],"steps":[{"run":"1","retries":1}],"zones":{"a":{"a":"1","weight":2.0}},"backup":{"host":"h","retries":1}}})");
  const Network copy = back;
  EXPECT_EQ(Restored(back, Lost(object, back)), object);
  EXPECT_EQ(copy, back);
  EXPECT_FALSE(copy == object);
}

// What an annotation can be made to say, for an object that is small.
TEST(RestoreFieldsTest, AKeyThatIsOrderedTwiceIsForged) {
  const Network object = Parse(R"({"spec":{"rules":[{"name":"a"}]}})");
  EXPECT_EQ(Restored(object, R"({"spec":{"rules":{"keys":{"x":[{"name":"x"}]},"order":[["x","a"],["a"]]}}})").spec.rules.size(), 2U);
  EXPECT_EQ(Restored(object, R"({"spec":{"rules":{"keys":{"x":[{"name":"x"}]},"order":[["x","x","a"],["a"]]}}})"), object);
}

TEST(RestoreFieldsTest, EqualElementsDoNotMultiplyAText) {
  const auto steps = [](std::size_t count, const std::string& run) {
    Network out;
    for (std::size_t i = 0; i < count; ++i) out.spec.steps.push_back({.run = String(run)});
    return out;
  };
  const std::string large(100'000, 'x');
  const std::string lost = Lost(steps(2, large), steps(2, ""));
  EXPECT_THAT(lost, ::testing::StartsWith(R"({"spec":{"steps":{"content":)"));
  EXPECT_EQ(Restored(steps(5, ""), lost), steps(5, large));
  std::size_t bytes = 0;
  for (const auto& step : Restored(steps(1000, ""), lost).spec.steps) bytes += step.run.size();
  EXPECT_LE(bytes, kMostRepeatedBytes + large.size());
  // An object that has so much keeps it as one value, so nothing is lost.
  const std::string whole = Lost(steps(100, large), steps(100, ""));
  EXPECT_THAT(whole, ::testing::StartsWith(R"({"spec":{"steps":[[{"run":"xxx)"));
  EXPECT_EQ(Restored(steps(100, ""), whole), steps(100, large));
}

TEST(RestoreFieldsTest, LargeTextsCostNoMoreThanTheirSize) {
  // Many unknown members, each with a change: looked up, not searched for.
  std::string members, lost = R"({"spec":{)";
  for (int i = 0; i < 20000; ++i) {
    members += (i == 0 ? "\"u" : ",\"u") + std::to_string(i) + "\":1";
    lost += (i == 0 ? "\"v" : ",\"v") + std::to_string(i) + "\":[1]";
  }
  Network object;
  object.spec.unknown_fields.set_json(members);
  const auto start = std::chrono::steady_clock::now();
  const Network restored = Restored(object, lost + "}}");
  EXPECT_GT(restored.spec.unknown_fields.json().size(), 2 * members.size() - 10);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));  // quadratic: minutes under a sanitizer
}

}  // namespace
}  // namespace kube::internal
