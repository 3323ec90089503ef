// Copies that run out of memory half-way: nothing leaks, and the original is as it was.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "kube/value/any_object.h"
#include "kube/value/value.h"
#include "value/field_access.h"
#include "value/test_types.h"

namespace {

// Per thread: the number of allocations before one fails (negative: none fails), and the number of blocks not freed yet.
thread_local int allocations_left = -1;
thread_local int live_blocks = 0;

void* Allocate(std::size_t size) {
  if (allocations_left == 0) throw std::bad_alloc();
  if (allocations_left > 0) --allocations_left;
  void* block = std::malloc(size == 0 ? 1 : size);  // NOLINT(cppcoreguidelines-no-malloc)
  if (block == nullptr) throw std::bad_alloc();
  ++live_blocks;
  return block;
}
void Free(void* block) noexcept {
  if (block != nullptr) --live_blocks;
  std::free(block);  // NOLINT(cppcoreguidelines-no-malloc)
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void operator delete(void* block) noexcept { Free(block); }
void operator delete[](void* block) noexcept { Free(block); }
void operator delete(void* block, std::size_t) noexcept { Free(block); }
void operator delete[](void* block, std::size_t) noexcept { Free(block); }

namespace kube {
namespace {

using testing::FullNode;
using testing::kLongText;
using testing::Leaf;
using testing::Node;

// Runs `copy` with one allocation, then two ... until it has enough. Gives the number of times that it failed.
template <typename F>
int FailAtEachAllocation(F copy) {
  for (int most = 0;; ++most) {
    const int before = live_blocks;
    allocations_left = most;
    bool failed = false;
    try {
      copy();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    allocations_left = -1;
    EXPECT_EQ(live_blocks, before) << "with " << most << " allocations";
    if (!failed) return most;
  }
}

// A Node whose blocks cannot be shared, since references into them are out.
Node LentNode() {
  Node node = FullNode();
  node.leaves.push_back({.name = kLongText});
  (void)node.leaves[0];
  (void)node.texts[0];
  node.labels["new"] = kLongText;
  node.limits["new"] = Quantity::FromInt64(7);
  for (const char* name : {"a", "b", "c"}) node.leaf_by_name[name].name = kLongText;
  (void)node.box.Mutable();
  Node& child = node.child.Mutable();
  child.leaves.push_back({.name = kLongText});
  (void)child.leaves[0];
  child.leaf_by_name["deep"].name = kLongText;
  return node;
}

TEST(OutOfMemoryTest, ACopyOfALentObjectLeaksNothing) {
  const Node node = LentNode();
  EXPECT_GE(FailAtEachAllocation([&] { const Node copy(node); }), 8);
  EXPECT_EQ(node, LentNode());
}

TEST(OutOfMemoryTest, AListOfLentObjectsLeaksNothing) {
  List<Node> nodes;
  for (int i = 0; i < 3; ++i) nodes.push_back(LentNode());
  for (std::size_t i = 0; i < nodes.size(); ++i) (void)nodes[i].leaves[0];
  EXPECT_GE(FailAtEachAllocation([&] { const List<Node> copy(nodes); }), 20);
}

TEST(OutOfMemoryTest, ABoxThatIsMadePrivateLeaksNothing) {
  Box<Node> box(LentNode());
  const Box<Node> other = box;
  EXPECT_GE(FailAtEachAllocation([&] {
              Box<Node> mine = other;
              (void)mine.Mutable();
            }),
            1);
}

TEST(OutOfMemoryTest, AnAnyObjectThatIsMadePrivateLeaksNothing) {
  AnyObject object(Node::kType);
  *static_cast<Node*>(object.mutable_data()) = LentNode();
  EXPECT_GE(FailAtEachAllocation([&] {
              AnyObject mine = object;
              (void)mine.mutable_data();
            }),
            1);
}

// The memory of a copy that failed is a default object: it may be a field of an object that lives on.
TEST(OutOfMemoryTest, AFailedCopyLeavesADefaultObject) {
  const Node node = LentNode();
  alignas(Node) char memory[sizeof(Node)];
  std::memset(memory, 0x5a, sizeof memory);
  allocations_left = 3;
  EXPECT_THROW(internal::CopyObject(Node::kType, memory, &node), std::bad_alloc);
  allocations_left = -1;
  EXPECT_TRUE(IsEmptyObject(Node::kType, memory));
  internal::DestroyObject(Node::kType, memory);
}

}  // namespace
}  // namespace kube
