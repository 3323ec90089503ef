#include "kube/codec/footprint.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codec/patch_test_types.h"
#include "kube/codec/interner.h"
#include "kube/codec/json.h"
#include "value/test_types.h"

namespace kube {
namespace {

using patch_test::Thing;
using testing::FullNode;
using testing::kLongText;
using testing::kOtherLongText;
using testing::Leaf;
using testing::Node;

constexpr std::size_t kTextHeader = 4;
constexpr std::size_t kArrayHeader = 16;
constexpr std::size_t kBoxHeader = 8;

std::size_t LogicalBytes(const Value& value) {
  Footprint f;
  f.Add(value);
  EXPECT_EQ(f.logical_bytes(), f.real_bytes());
  return f.logical_bytes();
}
template <Described T>
std::size_t LogicalBytes(const T& object) {
  Footprint f;
  f.Add(object);
  EXPECT_EQ(f.logical_bytes(), f.real_bytes());
  return f.logical_bytes();
}

TEST(FootprintTest, AnEmptyObjectIsItsStruct) {
  EXPECT_EQ(Footprint().logical_bytes(), 0U);
  EXPECT_EQ(Footprint().real_bytes(), 0U);
  EXPECT_EQ(LogicalBytes(Node()), sizeof(Node));
  EXPECT_EQ(LogicalBytes(Thing()), sizeof(Thing));
  EXPECT_EQ(LogicalBytes(Value()), sizeof(Value));
  EXPECT_EQ(LogicalBytes(Value(7)), sizeof(Value));
}

TEST(FootprintTest, EveryKindOfBlockCounts) {
  const std::size_t text = kTextHeader + kLongText.size();
  const std::size_t other = kTextHeader + kOtherLongText.size();
  auto extra = [](auto set) {
    Node n;
    set(n);
    return LogicalBytes(n) - sizeof(Node);
  };
  EXPECT_EQ(extra([](Node& n) { n.text = "short"; }), 0U);
  EXPECT_EQ(extra([](Node& n) { n.text = kLongText; }), text);
  EXPECT_EQ(extra([](Node& n) { n.bytes = kLongText; }), text);
  EXPECT_EQ(extra([](Node& n) { n.raw = kOtherLongText; }), other);
  EXPECT_EQ(extra([](Node& n) { n.int_or_string = kLongText; }), text);
  EXPECT_EQ(extra([](Node& n) { n.leaf.name = kLongText; }), text);
  EXPECT_EQ(extra([](Node& n) { n.optional_text = String(kLongText); }), text);
  EXPECT_EQ(extra([](Node& n) { n.optional_text = "short"; }), 0U);
  EXPECT_EQ(extra([](Node& n) { n.quantity = Quantity::Parse("123456789123456789123").value(); }), kTextHeader + 21);
  EXPECT_EQ(extra([](Node& n) { n.box.Mutable().name = kLongText; }), kBoxHeader + sizeof(Leaf) + text);
  EXPECT_EQ(extra([](Node& n) { n.numbers.reserve(5); }), kArrayHeader + 5 * sizeof(std::int32_t));
  EXPECT_EQ(extra([](Node& n) { n.texts = {"short", kLongText}; }), kArrayHeader + 2 * sizeof(String) + text);
  EXPECT_EQ(extra([](Node& n) { n.leaves = {Leaf{.name = kLongText}}; }), kArrayHeader + sizeof(Leaf) + text);
  // Maps that are written entry by entry have room for four.
  EXPECT_EQ(extra([](Node& n) { n.labels = {{kOtherLongText, kLongText}}; }), kArrayHeader + 4 * sizeof(MapEntry<String>) + other + text);
  EXPECT_EQ(extra([](Node& n) { n.leaf_by_name["x"].name = kLongText; }), kArrayHeader + 4 * sizeof(MapEntry<Leaf>) + text);
  EXPECT_EQ(extra([](Node& n) { n.unknown_fields.set_json(kLongText); }), 40 + text);
  EXPECT_EQ(extra([](Node& n) { n.child.Mutable().child.Mutable().text = kLongText; }), 2 * (kBoxHeader + sizeof(Node)) + text);
}

TEST(FootprintTest, ValuesCountTheirListsObjectsAndTexts) {
  EXPECT_EQ(LogicalBytes(Value(kLongText)), sizeof(Value) + kTextHeader + kLongText.size());
  Value list = Value::Array({1, "short"});
  EXPECT_EQ(LogicalBytes(list), sizeof(Value) + kArrayHeader + 2 * sizeof(Value));
  Value object = Value::Object();
  object[kLongText] = Value::Array({kOtherLongText});
  EXPECT_EQ(LogicalBytes(object), sizeof(Value) + kArrayHeader + 4 * sizeof(MapEntry<Value>) + kTextHeader + kLongText.size() +
                                      kArrayHeader + sizeof(Value) + kTextHeader + kOtherLongText.size());
}

TEST(FootprintTest, WhereNothingIsSharedLogicalIsReal) {
  Footprint f;
  std::vector<Node> nodes;
  for (int i = 0; i < 10; ++i) nodes.push_back(FullNode());
  for (const Node& node : nodes) f.Add(node);
  EXPECT_EQ(f.logical_bytes(), f.real_bytes());
  EXPECT_EQ(f.logical_bytes(), 10 * LogicalBytes(nodes[0]));
}

TEST(FootprintTest, CopiesShareAllButTheStruct) {
  Node one = FullNode();
  const std::size_t whole = LogicalBytes(one);
  Node two = one;
  Footprint f;
  f.Add(one);
  f.Add(two);
  EXPECT_EQ(f.logical_bytes(), 2 * whole);
  EXPECT_EQ(f.real_bytes(), whole + sizeof(Node));
  // A write makes one block private; what is inside of it stays shared.
  two.leaves[1].port = 5;
  Footprint again;
  again.Add(one);
  again.Add(two);
  EXPECT_EQ(again.logical_bytes(), 2 * whole);
  EXPECT_EQ(again.real_bytes(), whole + sizeof(Node) + kArrayHeader + 2 * sizeof(Leaf));
}

TEST(FootprintTest, SharedValuesCountOnce) {
  Value one = Value::Object({{"spec", Value::Array({kLongText, kOtherLongText})}});
  const std::size_t whole = LogicalBytes(one);
  Value two = one;
  Footprint f;
  f.Add(one);
  f.Add(two);
  EXPECT_EQ(f.logical_bytes(), 2 * whole);
  EXPECT_EQ(f.real_bytes(), whole + sizeof(Value));
}

TEST(FootprintTest, TheSameObjectTwiceIsOneInMemory) {
  Node node = FullNode();
  const std::size_t whole = LogicalBytes(node);
  Footprint f;
  f.Add(node);
  f.Add(node);
  EXPECT_EQ(f.logical_bytes(), 2 * whole);
  EXPECT_EQ(f.real_bytes(), whole);
}

TEST(FootprintTest, WhatOneObjectHoldsTwiceIsSharedToo) {
  Node node;
  node.text = kLongText;
  node.optional_text = node.text;
  Footprint f;
  f.Add(node);
  EXPECT_EQ(f.logical_bytes(), sizeof(Node) + 2 * (kTextHeader + kLongText.size()));
  EXPECT_EQ(f.real_bytes(), sizeof(Node) + kTextHeader + kLongText.size());
}

TEST(FootprintTest, UnknownFieldsAreShared) {
  Node one;
  one.unknown_fields.set_json(R"("a":"a text that is long enough")");
  one.unknown_fields.set_protobuf("0123456789abcdef0123456789");
  const std::size_t whole = LogicalBytes(one);
  Node two = one;
  Footprint f;
  f.Add(one);
  f.Add(two);
  EXPECT_EQ(f.real_bytes(), whole + sizeof(Node));
  EXPECT_EQ(f.logical_bytes(), 2 * whole);
}

TEST(FootprintTest, ObjectsDecodedWithAnInternerShare) {
  auto decode = [](Interner* interner) {
    std::vector<Thing> things;
    for (int i = 0; i < 100; ++i) {
      std::string text = R"({"metadata":{"name":"a-thing-with-a-long-name-)" + std::to_string(i) +
                         R"(","labels":{"app.kubernetes.io/name":"the-application"}},"spec":{"containers":[{"name":"main",)"
                         R"("image":"registry.example.com/application:v1","args":["--with-a-long-argument=yes"]}]}})";
      Result<Thing> thing = FromJson<Thing>(text, {.interner = interner});
      EXPECT_TRUE(thing.ok()) << thing.error().ToString();
      things.push_back(*std::move(thing));
    }
    Footprint f;
    for (const Thing& thing : things) f.Add(thing);
    return std::pair(f.logical_bytes(), f.real_bytes());
  };
  Interner interner;
  auto alone = decode(nullptr);
  auto shared = decode(&interner);
  EXPECT_EQ(alone.first, alone.second);
  EXPECT_EQ(shared.first, alone.first);
  // All but the first two (a part stays with its second sighting) hold no more than their struct and their name.
  EXPECT_LT(shared.second, 100 * (sizeof(Thing) + kTextHeader + 28) + 2 * (alone.second / 100));
}

}  // namespace
}  // namespace kube
