// New versions of objects decoded with a memory of the cached ones.
#include "cache/part_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>

#include "kube/api/core/v1.h"
#include "kube/cache/indexer.h"
#include "kube/codec/interner.h"
#include "kube/codec/protobuf.h"

namespace kube::internal {
namespace {

using core::v1::Container;
using core::v1::Pod;

Pod MakeVersion(int i, int version, int spec = 0, int status = 0, int incarnation = 0) {
  Pod pod;
  pod.metadata = {.name = String("pod-" + std::to_string(i)),
                  .namespace_ = "default",
                  .uid = String("uid-" + std::to_string(i) + "-" + std::to_string(incarnation)),
                  .resource_version = String(std::to_string(version))};
  Container container;
  container.name = "main";
  // A name that no other object has, so that no other object's part is found instead.
  container.image = "registry.example.com/app-" + std::to_string(i) + ":" + std::to_string(spec);
  pod.spec.containers = {container};
  pod.status.message = "a message of pod " + std::to_string(i) + " in state " + std::to_string(status);
  return pod;
}

class PartMemoryTest : public ::testing::Test {
 protected:
  std::shared_ptr<Pod> Decode(const Pod& pod) {
    auto decoded = std::make_shared<Pod>();
    const Result<void> read =
        DecodeProtobuf(Pod::kType, decoded.get(), ToProtobuf(pod).value(), {.interner = &interner_, .predecessors = &memory_});
    EXPECT_TRUE(read.ok()) << read.error().ToString();
    EXPECT_TRUE(*decoded == pod);
    return decoded;
  }
  void Store(const ObjectRef& object) {
    Store::Write write{.object = object};
    store_.Apply({&write, 1}, "1");
  }
  std::shared_ptr<Pod> DecodeAndStore(const Pod& pod) {
    std::shared_ptr<Pod> decoded = Decode(pod);
    Store(decoded);
    return decoded;
  }
  // Whether a version of which nothing but the metadata is there yet has an earlier one.
  bool HasEarlier(const Pod& pod) {
    PartHashes parts{};
    return memory_.Begin(&pod, parts) != nullptr;
  }
  static bool SharesSpec(const Pod& a, const Pod& b) { return a.spec.containers.data() == b.spec.containers.data(); }
  static bool SharesStatus(const Pod& a, const Pod& b) { return a.status.message.data() == b.status.message.data(); }

  // Declared before what reads it.
  internal::Store store_{ObjectForm::Of<Pod>()};
  Interner interner_;
  PartMemory memory_{store_};
};

// A part may displace another one of the same object, depending on the secret of the process: of eight objects, most share all that they
// can.
TEST_F(PartMemoryTest, ANewVersionSharesWhatDidNotChange) {
  int all_shared = 0;
  for (int i = 1; i <= 8; ++i) {
    const auto first = DecodeAndStore(MakeVersion(i, 1));
    const auto second = DecodeAndStore(MakeVersion(i, 2));
    const auto third = DecodeAndStore(MakeVersion(i, 3, 0, 1));
    EXPECT_FALSE(SharesStatus(*second, *third));
    const auto fourth = DecodeAndStore(MakeVersion(i, 4, 1, 1));
    EXPECT_FALSE(SharesSpec(*third, *fourth));
    if (SharesSpec(*first, *second) && SharesStatus(*first, *second) && SharesSpec(*second, *third) && SharesStatus(*third, *fourth))
      ++all_shared;
  }
  EXPECT_GE(all_shared, 4);
}

// Two changes in one batch: the second is decoded before the first is in the store.
TEST_F(PartMemoryTest, TheVersionInTheStoreCountsAndNoOther) {
  const auto first = DecodeAndStore(MakeVersion(1, 1, 0, 0));
  const auto second = Decode(MakeVersion(1, 2, 1, 1));
  const auto third = Decode(MakeVersion(1, 3, 1, 1));
  EXPECT_FALSE(SharesSpec(*first, *third));
  Store(second);
  Store(third);
  EXPECT_TRUE(SharesSpec(*third, *Decode(MakeVersion(1, 4, 1, 1))));
}

TEST_F(PartMemoryTest, NothingIsKnownOfAnotherObjectOfThatName) {
  DecodeAndStore(MakeVersion(1, 1, 0, 0, 0));
  EXPECT_TRUE(HasEarlier(MakeVersion(1, 2, 0, 0, 0)));
  EXPECT_FALSE(HasEarlier(MakeVersion(1, 2, 0, 0, 1))) << "it has another uid";
  EXPECT_FALSE(HasEarlier(MakeVersion(2, 2)));
  const auto reborn = DecodeAndStore(MakeVersion(1, 2, 0, 0, 1));
  EXPECT_TRUE(SharesSpec(*reborn, *Decode(MakeVersion(1, 3, 0, 0, 1))));
}

TEST_F(PartMemoryTest, NothingIsTakenFromAnObjectThatSomebodyElsePutThere) {
  const auto first = DecodeAndStore(MakeVersion(1, 1));
  auto changed = std::make_shared<Pod>(*first);  // the same uid and version
  changed->spec.containers = {};
  Store(changed);
  EXPECT_EQ(Decode(MakeVersion(1, 2))->spec.containers.size(), 1U);
}

TEST_F(PartMemoryTest, ObjectsWithoutUidOrVersionAreLeftAlone) {
  Pod pod = MakeVersion(1, 1);
  pod.metadata.uid = "";
  DecodeAndStore(pod);
  EXPECT_FALSE(HasEarlier(pod));
  pod = MakeVersion(2, 1);
  pod.metadata.resource_version = "";
  DecodeAndStore(pod);
  EXPECT_FALSE(HasEarlier(pod));
  EXPECT_EQ(memory_.size(), 0U);
}

// Nothing is known of the parts of the newest version; what was known of an older one must not be taken for it.
TEST_F(PartMemoryTest, AVersionWithoutPartsReplacesWhatWasKnown) {
  const auto first = DecodeAndStore(MakeVersion(1, 1));
  Pod bare = MakeVersion(1, 2);
  bare.spec = {};
  bare.status = {};
  DecodeAndStore(bare);
  PartHashes parts{1, 1};
  EXPECT_NE(memory_.Begin(&bare, parts), nullptr);
  EXPECT_EQ(parts, PartHashes{});
}

TEST_F(PartMemoryTest, HelpsWhereThereIsASpecOrAStatus) {
  EXPECT_TRUE(PartMemory::Helps(&Pod::kType));
  EXPECT_TRUE(PartMemory::Helps(&core::v1::Node::kType));
  EXPECT_FALSE(PartMemory::Helps(&core::v1::ConfigMap::kType));
  EXPECT_FALSE(PartMemory::Helps(&meta::v1::PartialObjectMetadata::kType));
  EXPECT_FALSE(PartMemory::Helps(nullptr));
}

// The first list comes before anything is in the store.
TEST_F(PartMemoryTest, GrowsWithTheFirstList) {
  std::vector<ObjectRef> objects;
  for (int i = 0; i < 5000; ++i) objects.push_back(Decode(MakeVersion(i, i)));
  EXPECT_GE(memory_.size(), 4990U);  // hashes of 31 bits may be equal
  EXPECT_EQ(memory_.capacity(), 8192U);
  store_.Replace(objects, "5000");
  int shared = 0;
  for (int i = 0; i < 5000; ++i) {
    const Pod& old = *static_cast<const Pod*>(objects[static_cast<std::size_t>(i)].get());
    if (SharesSpec(old, *DecodeAndStore(MakeVersion(i, 5000 + i)))) ++shared;
  }
  EXPECT_GE(shared, 4980) << "of 5000";
}

TEST_F(PartMemoryTest, RemembersWhatIsThereWhileOthersComeAndGo) {
  for (int i = 0; i < 100; ++i) DecodeAndStore(MakeVersion(i, 1));
  for (int i = 1000; i < 5000; ++i) Decode(MakeVersion(i, i));
  EXPECT_EQ(memory_.capacity(), 256U);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(HasEarlier(MakeVersion(i, 2))) << i;
}

TEST_F(PartMemoryTest, StaysSmallWhileObjectsComeAndGo) {
  DecodeAndStore(MakeVersion(0, 1));
  for (int i = 1; i < 5000; ++i) {
    DecodeAndStore(MakeVersion(i, i));
    Store::Write deletion{.key = {"default", String("pod-" + std::to_string(i))}};
    store_.Apply({&deletion, 1}, std::to_string(i));
  }
  EXPECT_LE(memory_.capacity(), 16U);
}

// Whatever happens, what comes out is what the bytes say (Decode looks).
TEST_F(PartMemoryTest, RandomVersionsAreWhatTheirBytesSay) {
  std::mt19937 random(7);
  const auto draw = [&random](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  std::map<int, Pod> now;
  std::vector<ObjectRef> pending;
  for (int version = 1; version < 20000; ++version) {
    const int i = draw(40);
    const auto known = now.find(i);
    Pod pod = MakeVersion(i, version, draw(3), draw(3), draw(50) == 0 ? version : 0);
    if (known != now.end() && draw(3) == 0) pod.spec = known->second.spec;
    if (known != now.end() && draw(3) == 0) pod.status = known->second.status;
    if (draw(10) == 0) pod.spec = {};
    if (draw(10) == 0) pod.status = {};
    now[i] = pod;
    pending.push_back(Decode(pod));
    if (draw(4) != 0) continue;
    for (const ObjectRef& object : pending) {
      if (draw(20) != 0) Store(object);
    }
    pending.clear();
    if (draw(50) == 0) store_.Replace({}, std::to_string(version));
  }
  EXPECT_GT(interner_.stats().hits, 1000U);
}

}  // namespace
}  // namespace kube::internal
