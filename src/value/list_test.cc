#include "kube/value/list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "value/test_types.h"

namespace kube {
namespace {

using ::testing::ElementsAre;
using testing::FullNode;
using testing::InThreads;
using testing::kLongText;
using testing::kOtherLongText;
using testing::Leaf;
using testing::Node;

static_assert(sizeof(List<String>) == sizeof(void*) && sizeof(List<Leaf>) == sizeof(void*));

template <typename T>
const T& Const(const T& value) {
  return value;
}

// An equal node that shares no block with the original.
Node FromScratch(const Node& node) {
  Node out = node;
  for (Leaf& leaf : out.leaves) leaf.name = String(leaf.name);
  out.box.Mutable();
  for (const auto& [key, value] : Map<String>(out.labels)) out.labels[key] = value;
  for (const auto& [key, value] : Map<Leaf>(out.leaf_by_name)) out.leaf_by_name[key] = value;
  for (Leaf& leaf : out.child.Mutable().leaves) leaf.name = String(leaf.name);
  return out;
}

TEST(ListTest, IsEmptyByDefaultAndAllZeroBytes) {
  List<String> list;
  unsigned char zero[sizeof list] = {};
  EXPECT_EQ(std::memcmp(&list, zero, sizeof list), 0);
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.size(), 0u);
  EXPECT_EQ(list.begin(), list.end());
  EXPECT_EQ(std::memcmp(&list, zero, sizeof list), 0);  // reading allocates nothing
  EXPECT_EQ(list, List<String>());
}

TEST(ListTest, IsMadeFromElementsAndRanges) {
  EXPECT_THAT(Const(List<std::int32_t>{1, 2, 3}), ElementsAre(1, 2, 3));
  std::vector<std::string> source{"a", std::string(kLongText)};
  EXPECT_THAT(Const(List<String>(source.begin(), source.end())), ElementsAre("a", kLongText));
  EXPECT_TRUE(List<String>({}).empty());
}

TEST(ListTest, GrowsByPushBack) {
  List<String> list;
  for (int i = 0; i < 1000; ++i) list.push_back(String(std::string(kLongText) + std::to_string(i)));
  ASSERT_EQ(list.size(), 1000u);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(Const(list)[i], std::string(kLongText) + std::to_string(i));
  EXPECT_EQ(list.front(), std::string(kLongText) + "0");
  EXPECT_EQ(list.back(), std::string(kLongText) + "999");
}

TEST(ListTest, EmplaceBackReturnsTheNewElement) {
  List<Leaf> list;
  list.emplace_back(Leaf{.name = "a"}).port = 80;
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(Const(list)[0].port, 80);
}

TEST(ListTest, InsertsAndErasesAnywhere) {
  List<String> list{"b", "d"};
  list.insert(0, "a");
  list.insert(2, kLongText);
  list.insert(4, "e");
  EXPECT_THAT(Const(list), ElementsAre("a", "b", kLongText, "d", "e"));
  list.erase(2);
  list.erase(0);
  list.erase(2);
  EXPECT_THAT(Const(list), ElementsAre("b", "d"));
  EXPECT_EQ(list.erase_if([](const String& s) { return s == "x"; }), 0u);
  EXPECT_EQ(list.erase_if([](const String& s) { return s == "b"; }), 1u);
  EXPECT_THAT(Const(list), ElementsAre("d"));
}

TEST(ListTest, EraseIfDropsManyAndKeepsTheOrder) {
  List<std::int32_t> list;
  for (int i = 0; i < 10; ++i) list.push_back(i);
  List<std::int32_t> copy = list;
  EXPECT_EQ(copy.erase_if([](int i) { return i % 3 == 0; }), 4u);
  EXPECT_THAT(Const(copy), ElementsAre(1, 2, 4, 5, 7, 8));
  EXPECT_EQ(list.size(), 10u);
}

TEST(ListTest, CopiesShareUntilOneIsWritten) {
  List<Leaf> a{Leaf{.name = kLongText}, Leaf{.name = "b", .port = 2}};
  List<Leaf> b = a;
  EXPECT_TRUE(a.SharesWith(b));
  EXPECT_EQ(Const(a).data(), Const(b).data());
  b[1].port = 3;
  EXPECT_FALSE(a.SharesWith(b));
  EXPECT_EQ(Const(a)[1].port, 2);
  EXPECT_EQ(Const(b)[1].port, 3);
  EXPECT_TRUE(Const(a)[0].name.SharesTextWith(Const(b)[0].name));  // what was not written stays shared
}

TEST(ListTest, EveryWayToWriteDetaches) {
  const List<String> original{"a", kLongText, "c"};
  const auto unchanged = ElementsAre("a", kLongText, "c");
  auto check = [&](auto write) {
    List<String> copy = original;
    write(copy);
    EXPECT_FALSE(copy.SharesWith(original));
    EXPECT_THAT(original, unchanged);
    return copy;
  };
  EXPECT_EQ(check([](List<String>& l) { l.push_back("d"); }).size(), 4u);
  EXPECT_EQ(check([](List<String>& l) { l.emplace_back("d"); }).size(), 4u);
  EXPECT_THAT(Const(check([](List<String>& l) { l[0] = "x"; })), ElementsAre("x", kLongText, "c"));
  EXPECT_THAT(Const(check([](List<String>& l) { l.front() = "x"; })), ElementsAre("x", kLongText, "c"));
  EXPECT_THAT(Const(check([](List<String>& l) { l.back() = "x"; })), ElementsAre("a", kLongText, "x"));
  EXPECT_THAT(Const(check([](List<String>& l) { l.insert(1, "x"); })), ElementsAre("a", "x", kLongText, "c"));
  EXPECT_THAT(Const(check([](List<String>& l) { l.erase(1); })), ElementsAre("a", "c"));
  EXPECT_THAT(Const(check([](List<String>& l) { l.erase_if([](const String& s) { return s == "a"; }); })), ElementsAre(kLongText, "c"));
  EXPECT_TRUE(check([](List<String>& l) { l.clear(); }).empty());
  check([](List<String>& l) {
    for (String& s : l) s = "y";
  });
  check([](List<String>& l) { l.reserve(100); });
}

TEST(ListTest, ReadingThroughConstKeepsSharing) {
  List<String> a{"a", "b"};
  List<String> b = a;
  std::size_t total = 0;
  for (const String& s : std::as_const(b)) total += s.size();
  total += Const(b)[0].size() + Const(b).front().size() + Const(b).back().size();
  EXPECT_EQ(total, 5u);
  EXPECT_TRUE(a.SharesWith(b));
}

TEST(ListTest, SurvivesSelfAssignmentSelfMoveAndSwap) {
  List<String> list{"a", kLongText};
  const List<String>& alias = list;
  list = alias;
  EXPECT_THAT(Const(list), ElementsAre("a", kLongText));
  List<String>& same = list;
  list = std::move(same);
  EXPECT_THAT(Const(list), ElementsAre("a", kLongText));
  List<String> other{"x"};
  list.swap(other);
  EXPECT_THAT(Const(list), ElementsAre("x"));
  EXPECT_THAT(Const(other), ElementsAre("a", kLongText));
}

TEST(ListTest, TakesItsOwnElementsAsArguments) {
  List<String> list{kLongText};
  for (int i = 0; i < 20; ++i) list.push_back(Const(list)[0]);  // grows several times
  list.push_back(list[0]);
  list.insert(0, list.back());
  list.emplace_back(list[3]);
  EXPECT_EQ(list.size(), 24u);
  for (const String& s : Const(list)) EXPECT_EQ(s, kLongText);

  List<Leaf> leaves{Leaf{.name = kLongText, .port = 1}};
  List<Leaf> shared = leaves;
  for (int i = 0; i < 20; ++i) leaves.push_back(leaves[0]);
  leaves[5] = leaves[6];
  EXPECT_EQ(leaves.size(), 21u);
  EXPECT_EQ(Const(leaves)[20], Const(shared)[0]);
}

TEST(ListTest, ElementAssignedFromACopyOfItsOwnList) {
  List<List<String>> nested{List<String>{"a"}};
  List<List<String>> copy = nested;
  nested[0] = Const(copy)[0];
  nested[0].push_back("b");
  EXPECT_THAT(Const(copy)[0], ElementsAre("a"));
  EXPECT_THAT(Const(nested)[0], ElementsAre("a", "b"));
}

TEST(ListTest, MovedFromIsEmpty) {
  List<String> a{"a"};
  List<String> b = std::move(a);
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move): the contract
  a.push_back("again");
  EXPECT_THAT(Const(a), ElementsAre("again"));
  EXPECT_THAT(Const(b), ElementsAre("a"));
}

TEST(ListTest, ReserveKeepsElementsAndAvoidsMoving) {
  List<String> list{"a"};
  list.reserve(50);
  const String* data = Const(list).data();
  for (int i = 0; i < 49; ++i) list.push_back("x");
  EXPECT_EQ(Const(list).data(), data);
  EXPECT_EQ(Const(list)[0], "a");
}

TEST(ListTest, ComparesElementByElement) {
  EXPECT_EQ((List<String>{"a", kLongText}), (List<String>{"a", kLongText}));
  EXPECT_NE((List<String>{"a"}), (List<String>{"a", "b"}));
  EXPECT_NE((List<String>{"a"}), (List<String>{"b"}));
  EXPECT_EQ((List<Leaf>{Leaf{.name = "a"}}), (List<Leaf>{Leaf{.name = "a"}}));
  EXPECT_NE((List<Leaf>{Leaf{.name = "a"}}), (List<Leaf>{Leaf{.name = "a", .port = 0}}));
  List<String> cleared{"a"};
  cleared.erase(0);
  EXPECT_EQ(cleared, List<String>());
}

TEST(ListTest, HoldsBoolsOneByOne) {
  List<bool> list{true, false};
  list.push_back(true);
  list[0] = false;
  EXPECT_THAT(Const(list), ElementsAre(false, false, true));
}

TEST(ListTest, CopiesMayBeReadWrittenAndDroppedFromManyThreads) {
  const List<String> shared{"a", kLongText, "c"};
  const List<Leaf> shared_leaves{Leaf{.name = kLongText, .port = 1}, Leaf{.name = "b"}};
  InThreads([&](int i) {
    for (int round = 0; round < 500; ++round) {
      List<String> mine = shared;
      List<Leaf> leaves = shared_leaves;
      if (i % 2 == 0) {
        mine[1] = kOtherLongText;
        leaves[0].port = round;
        ASSERT_EQ(Const(leaves)[0].port, round);
      } else {
        mine.push_back(mine[1]);
        leaves.erase(0);
      }
      List<String> again = mine;
      mine.clear();
      ASSERT_EQ(Const(again)[0], "a");
    }
  });
  EXPECT_THAT(shared, ElementsAre("a", kLongText, "c"));
  EXPECT_EQ(shared_leaves[0].port, 1);
}

TEST(ListTest, LastOwnerOnAnotherThreadDestroysTheElements) {
  for (int round = 0; round < 200; ++round) {
    List<Leaf> original{Leaf{.name = kLongText}};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([copy = original]() mutable {
        copy[0].port = 1;
        ASSERT_EQ(Const(copy)[0].name, kLongText);
      });
    }
    original[0].port = 7;
    original.clear();
    for (std::thread& thread : threads) thread.join();
  }
}

// The promise of README: a copy never changes when the original does.
TEST(LentTest, AReferenceTakenBeforeACopyDoesNotWriteIntoIt) {
  Node node = FullNode();
  Leaf& leaf = node.leaves[0];
  Leaf& boxed = node.box.Mutable();
  String& label = node.labels["app"];
  Leaf& mapped = node.leaf_by_name["a"];
  List<Leaf>& inner = node.child.Mutable().leaves;
  inner.push_back({.name = "first"});
  Leaf& deep = inner.back();
  const Node before = node;
  const Node expected = FromScratch(node);
  leaf.name = boxed.name = label = mapped.name = deep.name = "changed";
  EXPECT_EQ(before, expected);
  EXPECT_EQ(Const(node).leaves[0].name, "changed");
  EXPECT_EQ(Const(node).child->leaves.back().name, "changed");
}

TEST(LentTest, IteratorsAndEmplacedElementsCountToo) {
  List<String> list = {"a", "b"};
  auto it = list.begin();
  const List<String> first = list;
  *it = "x";
  String& last = list.emplace_back("c");
  const List<String> second = list;
  last = "y";
  EXPECT_THAT(first, ElementsAre("a", "b"));
  EXPECT_THAT(second, ElementsAre("x", "b", "c"));
}

TEST(LentTest, ACopyOfWhatWasLentIsCheapAgain) {
  List<Leaf> list = {{.name = "a"}};
  list[0].name = "b";
  const List<Leaf> copy = list;
  EXPECT_FALSE(copy.SharesWith(list));
  const List<Leaf> again = copy;
  EXPECT_TRUE(again.SharesWith(copy));
}

TEST(LentTest, WritesThatGiveOutNoReferenceKeepSharing) {
  List<Leaf> list;
  list.push_back({.name = "a"});
  list.insert(0, {.name = "b"});
  list.erase(1);
  list.Replace(0, {.name = "c"});
  EXPECT_TRUE(List<Leaf>(list).SharesWith(list));
  Map<Leaf> map;
  map.Set("a", {.name = "a"});
  map.Set("a", {.name = "b"});
  map.Append("b", {.name = "c"});
  map.Erase("a");
  EXPECT_TRUE(Map<Leaf>(map).SharesWith(map));
  const Box<Leaf> box = Leaf{.name = "a"};
  EXPECT_TRUE(Box<Leaf>(box).SharesWith(box));
}

// The block of the outer list is another one after it has grown, that of the inner list is not.
TEST(LentTest, AReferenceIntoAnElementOutlivesTheGrowthOfItsList) {
  List<Node> nodes = {Node{}};
  Node& node = nodes[0];
  node.texts.push_back("a");
  String& text = node.texts[0];
  for (int i = 0; i < 20; ++i) nodes.push_back({});
  const List<Node> before = nodes;
  text = "changed";
  EXPECT_EQ(before[0].texts[0], "a");
}

TEST(LentTest, AReferenceIntoAMovedElementCountsToo) {
  Node node;
  node.texts.push_back("a");
  String& text = node.texts[0];
  List<Node> nodes;
  nodes.push_back(std::move(node));
  Map<List<Node>> map;
  map.Set("nodes", std::move(nodes));
  const Map<List<Node>> before = map;
  text = "changed";
  EXPECT_EQ(before["nodes"][0].texts[0], "a");
  Node other;
  String& label = other.labels["app"];
  const Box<Node> box = std::move(other);
  const Box<Node> copy = box;
  label = "changed";
  EXPECT_EQ(copy->labels["app"], "");
}

TEST(LentTest, SettleMakesCopiesShareAtEveryDepth) {
  Node node = FullNode();
  node.child.Mutable().leaves.emplace_back().name = "a";
  node.leaf_by_name["a"].name = "b";
  EXPECT_TRUE(internal::HoldsLent(node));
  internal::Settle(node);
  EXPECT_FALSE(internal::HoldsLent(node));
  const Node copy = node;
  EXPECT_TRUE(copy.child.SharesWith(node.child));
  EXPECT_TRUE(copy.leaf_by_name.SharesWith(node.leaf_by_name));
  EXPECT_FALSE(Const(node).child->leaves.HoldsLent());
}

TEST(LentTest, UnlentForgetsOnlyWhatItsOwnScopeLent) {
  Node node;
  {
    internal::Unlent unlent(node);
    node.labels["a"] = "b";
  }
  EXPECT_FALSE(internal::HoldsLent(node));
  String& label = node.labels["a"];
  {
    internal::Unlent unlent(node);
    node.labels["c"] = "d";
  }
  const Node before = node;
  label = "changed";
  EXPECT_EQ(before.labels["a"], "b");
}

}  // namespace
}  // namespace kube
