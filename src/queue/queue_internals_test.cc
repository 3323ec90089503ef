// The parts under a queue, each alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

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

}  // namespace
}  // namespace kube::internal
