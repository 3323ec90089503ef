// The parts under a queue, each alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kube/queue/work_queue.h"
#include "queue/indexed_heap.h"
#include "queue/node_pool.h"
#include "queue/node_table.h"
#include "queue/ready_list.h"

namespace kube::internal {
namespace {

struct IntNode : WorkNode {
  explicit IntNode(int k) : key(k) {}
  int key;
};

constexpr KeyOps kOps{
    sizeof(IntNode), alignof(IntNode),
    [](const WorkNode& node, const void* key) { return static_cast<const IntNode&>(node).key == *static_cast<const int*>(key); },
    [](void* memory, const void* key) -> WorkNode* { return ::new (memory) IntNode(*static_cast<const int*>(key)); },
    [](WorkNode* node) { static_cast<IntNode*>(node)->~IntNode(); }};

// Against a set, with few distinct hashes, so that there are long chains to break.
TEST(NodeTableTest, FindsWhatIsThereAndNothingElse) {
  for (const std::size_t hashes : {1u, 7u, 1000000u}) {
    NodeTable table(kOps);
    std::vector<std::unique_ptr<IntNode>> nodes;
    for (int i = 0; i < 600; ++i) {
      nodes.push_back(std::make_unique<IntNode>(i));
      nodes.back()->hash = NodeTable::Mix(static_cast<std::size_t>(i) % hashes);
    }
    std::set<int> there;
    std::mt19937 random(1);
    for (int step = 0; step < 5000; ++step) {
      const int i = static_cast<int>(random() % 600);
      IntNode* node = nodes[static_cast<std::size_t>(i)].get();
      if (there.erase(i) == 1) {
        table.Erase(node);
      } else {
        there.insert(i);
        table.MakeRoom();
        table.Insert(node);
      }
      ASSERT_EQ(table.size(), there.size());
      const int probe = static_cast<int>(random() % 600);
      const WorkNode* found = table.Find(&probe, nodes[static_cast<std::size_t>(probe)]->hash);
      ASSERT_EQ(found != nullptr, there.count(probe) == 1) << step;
    }
    std::set<int> visited;
    table.ForEach([&](const WorkNode* node) { visited.insert(static_cast<const IntNode*>(node)->key); });
    EXPECT_EQ(visited, there);
  }
}

TEST(NodeTableTest, GivesMemoryBack) {
  NodeTable table(kOps);
  std::vector<std::unique_ptr<IntNode>> nodes;
  for (int i = 0; i < 10000; ++i) {
    nodes.push_back(std::make_unique<IntNode>(i));
    nodes.back()->hash = NodeTable::Mix(static_cast<std::size_t>(i));
    table.MakeRoom();
    table.Insert(nodes.back().get());
  }
  EXPECT_GE(table.capacity(), 13334u);
  for (const std::unique_ptr<IntNode>& node : nodes) table.Erase(node.get());
  EXPECT_EQ(table.size(), 0u);
  EXPECT_LE(table.capacity(), 64u);
}

struct Number {
  int value;
  std::size_t heap_index = 0;
};
struct Less {
  bool operator()(const Number& a, const Number& b) const { return a.value < b.value; }
};

TEST(IndexedHeapTest, IsAlwaysLedByTheFirst) {
  std::mt19937 random(2);
  IndexedHeap<Number, Less> heap;
  std::vector<std::unique_ptr<Number>> all;
  for (int step = 0; step < 4000; ++step) {
    const unsigned choice = random() % 4;
    if (choice < 2 || all.empty()) {
      all.push_back(std::make_unique<Number>(Number{static_cast<int>(random() % 1000)}));
      heap.Push(all.back().get());
    } else {
      const std::size_t i = random() % all.size();
      if (choice == 2) {
        all[i]->value = static_cast<int>(random() % 1000);
        heap.Update(all[i].get());
      } else {
        heap.Remove(all[i].get());
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    ASSERT_EQ(heap.size(), all.size());
    if (all.empty()) continue;
    int smallest = 1000;
    for (const std::unique_ptr<Number>& number : all) smallest = std::min(smallest, number->value);
    ASSERT_EQ(heap.top()->value, smallest) << step;
  }
}

TEST(NodePoolTest, UsesMemoryAgain) {
  NodePool pool(kOps);
  int key = 5;
  WorkNode* first = pool.Make(&key);
  pool.Destroy(first);
  key = 6;
  WorkNode* second = pool.Make(&key);
  EXPECT_EQ(first, second);
  EXPECT_EQ(static_cast<IntNode*>(second)->key, 6);
  EXPECT_FALSE(second->queued);
  std::vector<WorkNode*> many{second};
  for (int i = 0; i < 3000; ++i) many.push_back(pool.Make(&i));
  for (WorkNode* node : many) pool.Destroy(node);  // more than it keeps
}

TEST(NodePoolTest, AKeyThatCannotBeCopiedLeavesNothingBehind) {
  constexpr KeyOps kThrows{sizeof(IntNode), alignof(IntNode), kOps.equal, [](void*, const void*) -> WorkNode* { throw std::string("no"); },
                           kOps.destroy};
  NodePool pool(kThrows);
  EXPECT_THROW(pool.Make(nullptr), std::string);
}

TEST(ReadyListTest, ForgetsPrioritiesThatAreNotUsed) {
  ReadyList list(std::chrono::milliseconds(100));
  std::vector<std::unique_ptr<IntNode>> nodes;
  for (int i = 0; i < 1000; ++i) {
    nodes.push_back(std::make_unique<IntNode>(i));
    list.Push(nodes.back().get(), i, Clock::TimePoint{});
  }
  for (int i = 999; i >= 500; --i) EXPECT_EQ(static_cast<IntNode*>(list.Pop())->key, i);
  for (int i = 0; i < 500; i += 2) list.Remove(nodes[static_cast<std::size_t>(i)].get());
  for (int i = 499; i > 0; i -= 2) EXPECT_EQ(static_cast<IntNode*>(list.Pop())->key, i);
  EXPECT_TRUE(list.empty());
}

TEST(HashTextsTest, TellsTextsApart) {
  std::set<std::size_t> hashes;
  const std::string text(64, 'x');
  for (std::size_t n = 0; n <= 64; ++n) {
    hashes.insert(HashTexts(std::string_view(text).substr(0, n), {}));
    hashes.insert(HashTexts({}, std::string_view(text).substr(0, n)));
  }
  EXPECT_EQ(hashes.size(), 129u);
  hashes.clear();
  for (std::size_t n = 1; n <= 40; ++n) {
    for (std::size_t i = 0; i < n; ++i) {  // each byte counts
      std::string changed(n, 'a');
      changed[i] = 'b';
      hashes.insert(HashTexts("default", changed));
    }
  }
  EXPECT_EQ(hashes.size(), 820u);
  EXPECT_NE(HashTexts("ab", "c"), HashTexts("a", "bc"));
  EXPECT_EQ(HashTexts("default", "web"), HashTexts(std::string("default"), std::string("web")));
}

// Each name begins with eight bytes that made a factor of the hash 0 while its constants were in the source: all had one hash, and a
// queue of n of them needed n * n comparisons.
TEST(HashTextsTest, NobodyCanChooseNamesThatCollide) {
  const std::string zero("\x2f\x64\xbd\x78\x64\x1d\x76\xa0", 8);
  std::set<std::size_t> hashes;
  for (int i = 0; i < 1000; ++i) hashes.insert(HashTexts("default", zero + std::to_string(10000000 + i)));
  EXPECT_EQ(hashes.size(), 1000U);
}

// Names that share the low bits of their former hash, which any user could have found: they fell into one slot of the
// table.
TEST(HashTextsTest, OrdinaryNamesCannotBeChosenEither) {
  // The hash of that time, of names with 9 to 16 characters in one namespace, and NodeTable::Mix.
  const auto old_hash = [](std::string_view name) {
    __extension__ using Wide = unsigned __int128;
    const auto fold = [](std::uint64_t x, std::uint64_t y) {
      const Wide product = static_cast<Wide>(x) * y;
      return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    };
    constexpr std::uint64_t kOne = 0xa0761d6478bd642f, kTwo = 0xe7037ed1a0b428db, kThree = 0x8ebc6af09c88c6e3;
    std::uint64_t first = 0, last = 0;
    std::memcpy(&first, name.data(), 8);
    std::memcpy(&last, name.data() + name.size() - 8, 8);
    const std::uint64_t mine = fold(first ^ kOne, last ^ (kThree ^ name.size() * kOne));
    return NodeTable::Mix(fold(fold(kOne, kTwo), mine));
  };
  std::vector<std::string> chosen;
  for (int i = 0; chosen.size() < 64; ++i) {
    std::string name = "web-" + std::to_string(100000000 + i);
    if ((old_hash(name) & 1023) == 7) chosen.push_back(std::move(name));
  }
  std::set<std::size_t> places;
  for (const std::string& name : chosen) places.insert(NodeTable::Mix(HashTexts({}, name)) & 1023);
  EXPECT_GT(places.size(), 32U);  // 62 of random ones
}

TEST(WorkHashTest, TextsHaveTheKeyedHash) {
  EXPECT_EQ(WorkHash<std::string>()("web"), HashTexts({}, "web"));
  EXPECT_EQ(WorkHash<String>()(String("web")), HashTexts({}, "web"));
  EXPECT_EQ(WorkHash<std::string_view>()("web"), HashTexts({}, "web"));
  EXPECT_EQ(WorkHash<ObjectKey>()({"default", "web"}), HashTexts("default", "web"));
  EXPECT_EQ(WorkHash<int>()(7), std::hash<int>()(7));
}

}  // namespace
}  // namespace kube::internal
