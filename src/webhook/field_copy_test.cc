#include "webhook/field_copy.h"

#include <gmock/gmock.h>

#include "kube/codec/json.h"
#include "webhook/conversion_test_types.h"

namespace kube::internal {
namespace {

namespace v1 = nets::v1;
namespace v2 = nets::v2;

template <typename To, typename From>
To CopyTo(const From& from) {
  To to;
  FieldCopy(From::kType, To::kType).Copy(&from, &to);
  return to;
}

template <typename T>
T Parse(std::string_view json) {
  return FromJson<T>(json).value();
}

TEST(FieldCopyTest, CopiesWhatIsEqualInNameAndType) {
  const v1::Network from = Parse<v1::Network>(R"({"metadata":{"name":"a","labels":{"l":"1"}},"spec":{"cidr":"x","gateway":"g","mtu":0,
      "rules":[{"name":"a","port":1,"comment":"c"}],"steps":[{"run":"r","note":"n"}],"tags":["t"],"limits":{"cpu":"1"},
      "zones":{"z":{"a":"1","b":true}},"backup":{"host":"h","at":"2026-01-01T00:00:00Z"},"extra":{"any":1},"shared":{"a":"s"},"mode":"fast"},
      "status":{"phase":"Ready"}})");
  EXPECT_EQ(CopyTo<v2::Network>(from), Parse<v2::Network>(R"({"metadata":{"name":"a","labels":{"l":"1"}},"spec":{"gateway":"g","mtu":0,
      "rules":[{"name":"a","port":1}],"steps":[{"run":"r"}],"tags":["t"],"limits":{"cpu":"1"},"zones":{"z":{"a":"1"}},"backup":{"host":"h"},
      "extra":{"any":1},"shared":{"a":"s"}},"status":{"phase":"Ready"}})"));
}

TEST(FieldCopyTest, SharesPartsOfOneType) {
  v1::Network from;
  from.spec.tags = {"a tag of more than fifteen bytes"};
  const v2::Network to = CopyTo<v2::Network>(from);
  EXPECT_TRUE(to.spec.tags.SharesWith(from.spec.tags));
}

TEST(FieldCopyTest, AnAbsentBoxStaysAbsentAndAnEmptyOneEmpty) {
  v1::Network from;
  EXPECT_FALSE(CopyTo<v2::Network>(from).spec.backup);
  from.spec.backup.Mutable();
  EXPECT_TRUE(CopyTo<v2::Network>(from).spec.backup);
}

TEST(FieldCopyTest, UnknownFieldsSurviveUnlessTheOtherTypeKnowsTheName) {
  const v1::Network from = Parse<v1::Network>(
      R"({"top":1,"spec":{"new":{"a":[1.50,12345678901234567890]},"matrix":"of another type","rules":[{"name":"a","deep":true}]}})");
  const v2::Network to = CopyTo<v2::Network>(from);
  EXPECT_EQ(to.unknown_fields.json(), R"("top":1)");
  EXPECT_EQ(to.spec.unknown_fields.json(), R"("new":{"a":[1.50,12345678901234567890]})");
  EXPECT_EQ(to.spec.rules[0].unknown_fields.json(), R"("deep":true)");
}

// ---- Inlined structs, lists of lists ----

struct Inner {
  String a{};
  String b{};
  KUBE_TABLE(Inner);
};
KUBE_DEFINE_TABLE(Inner, "test.Inner", KUBE_FIELD(Inner, a), KUBE_FIELD(Inner, b));
struct Other {
  String b{};
  std::int32_t c = 0;
  KUBE_TABLE(Other);
};
KUBE_DEFINE_TABLE(Other, "test.Other", KUBE_FIELD(Other, b), KUBE_FIELD(Other, c));
struct Inlines {
  std::int32_t first = 0;
  Inner inner{};
  List<List<Inner>> nested{};
  Box<Map<Inner>> boxed{};
  List<Inlines> children{};
  KUBE_TABLE(Inlines);
};
KUBE_DEFINE_TABLE(Inlines, "test.Inlines", KUBE_FIELD(Inlines, first), KUBE_FIELD(Inlines, inner, .inlined = true),
                  KUBE_FIELD(Inlines, nested), KUBE_FIELD(Inlines, boxed), KUBE_FIELD(Inlines, children));
struct Flat {
  String b{};
  std::int64_t first = 0;  // of another type
  List<List<Other>> nested{};
  Box<Map<Other>> boxed{};
  List<Flat> children{};
  KUBE_TABLE(Flat);
};
KUBE_DEFINE_TABLE(Flat, "test.Flat", KUBE_FIELD(Flat, b), KUBE_FIELD(Flat, first), KUBE_FIELD(Flat, nested), KUBE_FIELD(Flat, boxed),
                  KUBE_FIELD(Flat, children));

TEST(FieldCopyTest, GoesIntoInlinedStructsNestedListsAndRecursion) {
  const Inlines from = Parse<Inlines>(R"({"first":1,"a":"x","b":"y","nested":[[{"a":"1","b":"2"}],[]],"boxed":{"k":{"b":"3"}},
      "children":[{"b":"child","children":[{"b":"grandchild"}]}]})");
  const Flat to = CopyTo<Flat>(from);
  EXPECT_EQ(
      to, Parse<Flat>(
              R"({"b":"y","nested":[[{"b":"2"}],[]],"boxed":{"k":{"b":"3"}},"children":[{"b":"child","children":[{"b":"grandchild"}]}]})"));
  EXPECT_EQ(CopyTo<Inlines>(to).inner.b, "y");
}

}  // namespace
}  // namespace kube::internal
