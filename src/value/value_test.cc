#include "kube/value/value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "value/test_types.h"

namespace kube {
namespace {

using testing::InThreads;
using testing::kLongText;

static_assert(sizeof(Value) == 24);

template <typename T>
const T& Const(const T& value) {
  return value;
}

TEST(ValueTest, IsNullByDefaultAndAllZeroBytes) {
  Value v;
  EXPECT_TRUE(v.is_null());
  unsigned char zero[sizeof v] = {};
  EXPECT_TRUE(reinterpret_cast<const Value*>(zero)->is_null());
  EXPECT_EQ(v, *reinterpret_cast<const Value*>(zero));
}

TEST(ValueTest, HoldsEveryKind) {
  EXPECT_TRUE(Value(true).is_bool());
  EXPECT_TRUE(Value(true).bool_value());
  EXPECT_EQ(Value(7).int_value(), 7);
  EXPECT_EQ(Value(std::numeric_limits<std::int64_t>::min()).int_value(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(Value(0.5).double_value(), 0.5);
  EXPECT_EQ(Value(kLongText).string_value(), kLongText);
  EXPECT_EQ(Value("abc").string_value(), "abc");
  EXPECT_EQ(Value::Array({1, "b"}).list().size(), 2u);
  EXPECT_EQ(Value::Object({{"a", 1}}).object().size(), 1u);
  EXPECT_EQ(Value("x").kind_name(), "string");
  EXPECT_EQ(Value().kind_name(), "null");
  EXPECT_EQ(Value(1).kind_name(), "integer");
  EXPECT_EQ(Value(1.5).kind_name(), "number");
}

TEST(ValueTest, ReadingAsAnotherKindGivesTheDefault) {
  Value v("text");
  EXPECT_EQ(v.int_value(), 0);
  EXPECT_EQ(v.double_value(), 0);
  EXPECT_FALSE(v.bool_value());
  EXPECT_TRUE(v.list().empty());
  EXPECT_TRUE(v.object().empty());
  EXPECT_EQ(Value(1).string_value(), "");
  EXPECT_EQ(Value(2.9).int_value(), 2);
  EXPECT_EQ(Value(1e300).int_value(), 0);
  EXPECT_EQ(Value(std::nan("")).int_value(), 0);
  EXPECT_EQ(Value(3).double_value(), 3.0);
}

TEST(ValueTest, WritingMakesWhatIsMissing) {
  Value v;
  v["spec"]["replicas"] = 3;
  v["spec"]["template"]["labels"]["app"] = "web";
  EXPECT_EQ(Const(v)["spec"]["replicas"].int_value(), 3);
  EXPECT_TRUE(Const(v)["spec"]["missing"]["deeper"].is_null());
  EXPECT_EQ(v.Find("missing"), nullptr);
  EXPECT_EQ(Const(v)["spec"].object().size(), 2u);
  v["list"].MutableList().push_back(1);
  EXPECT_EQ(Const(v)["list"].list().size(), 1u);
}

TEST(ValueTest, CopyIsIndependentAtEveryDepth) {
  Value a;
  a["spec"]["containers"].MutableList().push_back(Value::Object({{"name", kLongText}}));
  Value b = a;
  b["spec"]["containers"].MutableList()[0]["name"] = "b";
  EXPECT_EQ(Const(a)["spec"]["containers"].list()[0]["name"].string_value(), kLongText);
  EXPECT_EQ(Const(b)["spec"]["containers"].list()[0]["name"].string_value(), "b");
}

TEST(ValueTest, MayBeAssignedAPartOfItself) {
  Value v;
  v["a"]["b"] = kLongText;
  Value copy = v;
  v = Const(v)["a"];
  EXPECT_EQ(Const(v)["b"].string_value(), kLongText);
  v = std::move(v["b"]);
  EXPECT_EQ(v.string_value(), kLongText);
  const Value& alias = v;
  v = alias;
  EXPECT_EQ(v.string_value(), kLongText);
  copy["a"]["self"] = copy;  // the state before; no cycle
  EXPECT_TRUE(Const(copy)["a"]["self"]["a"]["self"].is_null());
}

TEST(ValueTest, ComparesByContent) {
  EXPECT_EQ(Value(1), Value(1.0));
  EXPECT_NE(Value(1), Value(true));
  EXPECT_NE(Value(1), Value("1"));
  EXPECT_NE(Value(), Value(0));
  EXPECT_EQ(Value::Object({{"a", 1}, {"b", Value::Array({1, 2})}}), Value::Object({{"b", Value::Array({1, 2})}, {"a", 1}}));
  EXPECT_NE(Value::Array({1, 2}), Value::Array({2, 1}));
}

TEST(ValueTest, CopiesMayBeReadWrittenAndDroppedFromManyThreads) {
  Value shared;
  shared["a"]["b"] = kLongText;
  const Value& source = shared;
  InThreads([&](int i) {
    for (int round = 0; round < 300; ++round) {
      Value mine = source;
      if (i % 2 == 0) mine["a"]["b"] = round;
      if (i % 2 == 1) mine["a"]["c"] = kLongText;
      ASSERT_FALSE(Const(mine)["a"]["b"].is_null());
    }
  });
  EXPECT_EQ(source["a"]["b"].string_value(), kLongText);
}

TEST(ValueTest, AReferenceTakenBeforeACopyDoesNotWriteIntoIt) {
  Value value = Value::Object({{"spec", Value::Object({{"items", Value::Array({1, 2})}})}});
  Value& replicas = value["spec"]["replicas"];
  Value& first = value["spec"]["items"].MutableList()[0];
  const Value before = value;
  replicas = 3;
  first = "changed";
  EXPECT_TRUE(before["spec"]["replicas"].is_null());
  EXPECT_EQ(before["spec"]["items"], Value::Array({1, 2}));
  EXPECT_EQ(std::as_const(value)["spec"]["items"], Value::Array({"changed", 2}));
  value.Settle();
  EXPECT_TRUE(Value(value).object().SharesWith(std::as_const(value).object()));
}

}  // namespace
}  // namespace kube
