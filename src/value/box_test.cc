#include "kube/value/box.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "kube/value/any_object.h"
#include "value/test_types.h"

namespace kube {
namespace {

using testing::FullNode;
using testing::InThreads;
using testing::kLongText;
using testing::kOtherLongText;
using testing::Leaf;
using testing::Node;

static_assert(sizeof(Box<Leaf>) == sizeof(void*));

TEST(BoxTest, IsAbsentByDefaultAndAllZeroBytes) {
  Box<Leaf> box;
  unsigned char zero[sizeof box] = {};
  EXPECT_EQ(std::memcmp(&box, zero, sizeof box), 0);
  EXPECT_FALSE(box.has_value());
  EXPECT_FALSE(box);
  EXPECT_EQ(box->name, "");
  EXPECT_FALSE((*box).port.has_value());
  EXPECT_FALSE(box.has_value());  // reading does not make it present
}

TEST(BoxTest, ReadsThroughAbsentBoxesOfBoxes) {
  Node node;
  EXPECT_EQ(node.child->child->child->leaf.name, "");
  EXPECT_TRUE(node.child->child->labels.empty());
  EXPECT_FALSE(node.child.has_value());
}

TEST(BoxTest, MutableMakesItPresent) {
  Box<Leaf> box;
  box.Mutable();
  EXPECT_TRUE(box.has_value());
  box.Mutable().name = kLongText;
  EXPECT_EQ(box->name, kLongText);
  box.reset();
  EXPECT_FALSE(box.has_value());
  box = Leaf{.name = "a", .port = 1};
  EXPECT_EQ(box->port, 1);
}

TEST(BoxTest, CopiesShareUntilOneIsWritten) {
  Box<Leaf> a = Leaf{.name = kLongText, .port = 1};
  Box<Leaf> b = a;
  EXPECT_TRUE(a.SharesWith(b));
  EXPECT_EQ(&*a, &*b);
  b.Mutable().port = 2;
  EXPECT_FALSE(a.SharesWith(b));
  EXPECT_EQ(a->port, 1);
  EXPECT_EQ(b->port, 2);
  EXPECT_TRUE(a->name.SharesTextWith(b->name));
}

TEST(BoxTest, MutableOfASoleOwnerStaysInPlace) {
  Box<Leaf> box = Leaf{.name = "a"};
  const Leaf* before = &*box;
  box.Mutable().port = 1;
  EXPECT_EQ(&*box, before);
  { Box<Leaf> copy = box; }
  box.Mutable().port = 2;
  EXPECT_EQ(&*box, before);
}

TEST(BoxTest, SurvivesSelfAssignmentAndAssignmentFromInside) {
  Box<Node> box;
  box.Mutable().child.Mutable().text = kLongText;
  const Box<Node>& alias = box;
  box = alias;
  Box<Node>& same = box;
  box = std::move(same);
  EXPECT_EQ(box->child->text, kLongText);
  box = box->child;  // the old content is released only after the new one is held
  EXPECT_EQ(box->text, kLongText);
  box.Mutable().child = box;  // no cycle: the child is the state before
  EXPECT_EQ(box->child->text, kLongText);
  EXPECT_FALSE(box->child->child.has_value());
}

TEST(BoxTest, AbsentIsNotTheSameAsDefault) {
  Box<Leaf> absent, present;
  present.Mutable();
  EXPECT_NE(absent, present);
  EXPECT_EQ(absent, Box<Leaf>());
  Box<Leaf> other;
  other.Mutable();
  EXPECT_EQ(present, other);
  other.Mutable().port = 0;
  EXPECT_NE(present, other);
}

TEST(BoxTest, CopiesMayBeReadWrittenAndDroppedFromManyThreads) {
  const Box<Node> shared = FullNode();
  InThreads([&](int i) {
    for (int round = 0; round < 200; ++round) {
      Box<Node> mine = shared;
      ASSERT_EQ(mine->text, kLongText);
      if (i % 2 == 0) {
        mine.Mutable().labels["round"] = kOtherLongText;
        mine.Mutable().child.Mutable().number = round;
        ASSERT_EQ(mine->child->number, round);
      }
      Box<Node> again = std::move(mine);
      ASSERT_EQ(again->leaves.size(), 2u);
    }
  });
  EXPECT_EQ(*shared, FullNode());
}

// ---- The engines over the tables ----

TEST(ObjectsTest, AllZeroBytesAreTheDefaultOfEveryField) {
  Node node;
  unsigned char zero[sizeof(Node)] = {};
  const Node& from_zero = *reinterpret_cast<const Node*>(zero);
  EXPECT_TRUE(EqualObjects(Node::kType, &node, &from_zero));
  EXPECT_TRUE(IsEmptyObject(Node::kType, zero));
  EXPECT_TRUE(IsEmptyObject(Node::kType, &node));
  EXPECT_FALSE(from_zero.optional_text.has_value());
  EXPECT_FALSE(from_zero.optional_quantity.has_value());
  EXPECT_TRUE(from_zero.time.IsZero());
  EXPECT_FALSE(from_zero.int_or_string.is_string());
  EXPECT_EQ(from_zero.quantity.text(), "0");
}

TEST(ObjectsTest, CopyIsEqualAndIndependent) {
  Node original = FullNode();
  Box<Node> box = original;
  Box<Node> copy = box;
  Node& written = copy.Mutable();  // copies by the table
  EXPECT_EQ(written, original);
  written.text = "x";
  written.leaf.name = "x";
  written.optional_text = String("x");
  written.optional_quantity.reset();
  written.box.Mutable().name = "x";
  written.texts[0] = "x";
  written.numbers[0] = 9;
  written.leaves[0].name = "x";
  written.labels["app"] = "x";
  written.limits["cpu"] = Quantity();
  written.leaf_by_name["x"].port = 9;
  written.child.Mutable().text = "x";
  written.unknown_fields.clear();
  EXPECT_EQ(*box, original);
  EXPECT_EQ(original, FullNode());
  EXPECT_NE(written, original);
}

TEST(ObjectsTest, EqualityAndEmptinessSeeEveryField) {
  const Node full = FullNode();
  const Node empty;
  for (const FieldInfo& field : Node::kType) {
    // A table with this one field only.
    TypeInfo one{.name = "one", .fields = &field, .field_count = 1, .size = sizeof(Node)};
    EXPECT_FALSE(EqualObjects(one, &full, &empty)) << field.json_name;
    EXPECT_TRUE(EqualObjects(one, &full, &full)) << field.json_name;
    Node again = FullNode();
    EXPECT_TRUE(EqualObjects(one, &full, &again)) << field.json_name;
    EXPECT_FALSE(IsEmptyObject(one, &full)) << field.json_name;
    EXPECT_TRUE(IsEmptyObject(one, &empty)) << field.json_name;
  }
  TypeInfo only_unknown{.name = "none", .size = sizeof(Node), .unknown_offset = offsetof(Node, unknown_fields)};
  EXPECT_FALSE(EqualObjects(only_unknown, &full, &empty));
  EXPECT_FALSE(IsEmptyObject(only_unknown, &full));
}

TEST(ObjectsTest, EqualityComparesQuantitiesByAmount) {
  Node a, b;
  a.quantity = *Quantity::Parse("1Gi");
  b.quantity = *Quantity::Parse("1073741824");
  a.limits["x"] = *Quantity::Parse("1");
  b.limits["x"] = *Quantity::Parse("1000m");
  EXPECT_EQ(a, b);
  b.limits["x"] = *Quantity::Parse("1001m");
  EXPECT_NE(a, b);
}

TEST(ObjectsTest, EmptyListAndNoListAreEqual) {
  Node a, b;
  a.texts.push_back("x");
  a.texts.erase(0);
  a.leaves.reserve(3);
  EXPECT_EQ(a, b);
  EXPECT_TRUE(IsEmptyObject(Node::kType, &a));
}

TEST(AnyObjectTest, HoldsAnyTypeAndDetaches) {
  AnyObject a(Node::kType);
  static_cast<Node*>(a.mutable_data())->text = kLongText;
  a.Settle();  // the pointer is not used again
  AnyObject b = a;
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.data(), b.data());
  static_cast<Node*>(b.mutable_data())->text = "b";
  EXPECT_NE(a, b);
  ASSERT_NE(a.As<Node>(), nullptr);
  EXPECT_EQ(a.As<Node>()->text, kLongText);
  EXPECT_EQ(a.As<Leaf>(), nullptr);
  AnyObject moved = std::move(b);
  EXPECT_FALSE(b);  // NOLINT(bugprone-use-after-move): the contract
  EXPECT_EQ(moved.As<Node>()->text, "b");
  EXPECT_NE(moved, AnyObject(Leaf::kType));
  EXPECT_EQ(AnyObject(), AnyObject());
}

}  // namespace
}  // namespace kube
