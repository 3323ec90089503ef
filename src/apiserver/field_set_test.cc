#include "apiserver/field_set.h"

#include <gtest/gtest.h>

#include "kube/codec/json.h"

namespace kube::apiserver {
namespace {

FieldSet Set(std::string_view text) {
  Result<Value> json = ParseJson(text);
  EXPECT_TRUE(json.ok()) << text;
  Result<FieldSet> set = FieldSet::FromFieldsV1(*json);
  EXPECT_TRUE(set.ok()) << text;
  return set ? *set : FieldSet();
}

std::string Paths(const FieldSet& set) {
  std::string out;
  set.ForEach([&](const FieldPath& path) { out += (out.empty() ? "" : " ") + PathToString(path); });
  return out;
}

TEST(FieldSetTest, ReadsAllKindsOfElements) {
  FieldSet set = Set(R"({"f:a":{},"f:l":{"k:{\"name\":\"x\",\"port\":80}":{".":{},"f:v":{}},"v:\"s\"":{},"v:1":{},"i:3":{}}})");
  EXPECT_EQ(Paths(set), R"(.a .l[name="x",port=80] .l[=1] .l[="s"] .l[3] .l[name="x",port=80].v)");
}

TEST(FieldSetTest, MemberAndParentAreDifferentThings) {
  FieldSet set = Set(R"({"f:a":{"f:b":{}},"f:c":{".":{},"f:d":{}}})");
  EXPECT_FALSE(set.Has({PathElement::Field("a")}));
  EXPECT_TRUE(set.Has({PathElement::Field("a"), PathElement::Field("b")}));
  EXPECT_TRUE(set.Has({PathElement::Field("c")}));
}

TEST(FieldSetTest, WritesTextInTheOrderOfGo) {
  // Numbers by amount and before strings, fields before keys before values before indexes, "." first.
  std::string_view text = R"({"f:a":{},"f:l":{".":{},"k:{\"p\":80}":{},"k:{\"p\":443}":{".":{},"f:x":{}},"v:2":{},)"
                          R"("v:10":{},"v:\"a\"":{},"v:true":{},"i:1":{}}})";
  EXPECT_EQ(Set(text).ToFieldsV1Text(), text);
  EXPECT_EQ(*ParseJson(Set(text).ToFieldsV1Text()), Set(text).ToFieldsV1());
}

TEST(FieldSetTest, EscapesValuesAsGoDoes) {
  PathElement key = PathElement::Key(Value::Object({{"name", "a<b>&\"c\n"}}));
  EXPECT_EQ(key.Serialize(), R"(k:{"name":"a\u003cb\u003e\u0026\"c\n"})");
  bool unknown = false;
  EXPECT_EQ(*PathElement::Parse(key.Serialize(), &unknown), key);
  EXPECT_EQ(PathElement::Field("a<b").Serialize(), "f:a<b");
  EXPECT_EQ(PathElement::OfValue(1.5).Serialize(), "v:1.5");
}

TEST(FieldSetTest, PrintsPathsAsGoDoes) {
  EXPECT_EQ(PathToString({PathElement::Field("spec"), PathElement::Field("ports"),
                          PathElement::Key(Value::Object({{"port", 80}, {"protocol", "TCP"}})), PathElement::Field("name")}),
            R"(.spec.ports[port=80,protocol="TCP"].name)");
  EXPECT_EQ(PathElement::OfValue("a\"b").ToString(), R"([="a\"b"])");
}

TEST(FieldSetTest, EqualNumbersAreOneElement) {
  FieldSet set = Set(R"({"f:l":{"k:{\"p\":80}":{}}})");
  EXPECT_TRUE(set.Has({PathElement::Field("l"), PathElement::Key(Value::Object({{"p", 80.0}}))}));
}

TEST(FieldSetTest, DropsUnknownKindsOfElements) { EXPECT_EQ(Paths(Set(R"({"z:new":{"f:a":{}},"f:b":{}})")), ".b"); }

TEST(FieldSetTest, RefusesWhatIsNoFieldsV1) {
  for (std::string_view bad : {R"({"a":{}})", R"({"fa":{}})", R"({"f:a":1})", R"([])", R"({"k:1":{}})", R"({"k:{":{}})", R"({"v:":{}})",
                               R"({"i:x":{}})", R"({"i:":{}})"}) {
    EXPECT_FALSE(FieldSet::FromFieldsV1(*ParseJson(bad)).ok()) << bad;
  }
}

TEST(FieldSetTest, UnionIntersectionDifference) {
  FieldSet a = Set(R"({"f:a":{},"f:b":{".":{},"f:x":{},"f:y":{}},"f:d":{"f:z":{}}})");
  FieldSet b = Set(R"({"f:b":{"f:x":{}},"f:c":{},"f:d":{}})");
  EXPECT_EQ(Paths(a.Union(b)), ".a .b .c .d .b.x .b.y .d.z");
  EXPECT_EQ(Paths(a.Intersection(b)), ".b.x");
  EXPECT_EQ(Paths(a.Difference(b)), ".a .b .b.y .d.z") << "children of a path in the other set stay";
  EXPECT_EQ(Paths(a.RecursiveDifference(b)), ".a .b .b.y");
  EXPECT_TRUE(a.Difference(a).Empty());
  EXPECT_EQ(a.Difference(a).ToFieldsV1Text(), "{}");
}

TEST(FieldSetTest, EmptyChildrenAreNotMembers) {
  FieldSet set;
  set.Descend(PathElement::Field("a"));
  EXPECT_TRUE(set.Empty());
  EXPECT_EQ(set.Size(), 0U);
  set.Insert({});
  EXPECT_TRUE(set.Empty()) << "the whole object is nobody's";
}

TEST(FieldSetTest, DeepSetsDoNotOverflow) {
  std::string text;
  for (int i = 0; i < 900; ++i) text += R"({"f:a":)";
  text += "{}";
  text.append(900, '}');
  FieldSet set = Set(text);
  EXPECT_EQ(set.Size(), 1U);
  EXPECT_EQ(set.ToFieldsV1Text(), text);
  EXPECT_TRUE(set.Difference(set).Empty());
  EXPECT_EQ(set.Union(set), set);
}

TEST(CompareValuesTest, OrdersKindsAndAmounts) {
  const Value sorted[] = {-1, 0.5, 1, 2, "", "a", "b", false, true, Value::Array(), Value::Array({1}), Value::Object(), Value()};
  for (std::size_t i = 0; i < std::size(sorted); ++i) {
    for (std::size_t j = 0; j < std::size(sorted); ++j) {
      EXPECT_EQ(CompareValues(sorted[i], sorted[j]), i < j ? -1 : (i > j ? 1 : 0)) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace kube::apiserver
