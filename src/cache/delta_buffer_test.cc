#include "cache/delta_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kube/api/core/v1.h"

namespace kube::internal {
namespace {

using core::v1::Pod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

ObjectRef MakePod(const std::string& name, const std::string& version = "1") {
  auto pod = std::make_shared<Pod>();
  pod->metadata.namespace_ = "default";
  pod->metadata.name = name;
  pod->metadata.resource_version = version;
  return pod;
}

std::string Describe(const ObjectRef& object) {
  const auto& pod = *static_cast<const Pod*>(object.get());
  return pod.metadata.name.str() + "@" + pod.metadata.resource_version.str();
}

class Recorder : public DeltaConsumer {
 public:
  void Changed(std::span<const Delta> deltas, bool initial) override {
    batches.push_back(deltas.size());
    for (const Delta& delta : deltas) {
      said.push_back(std::string(ToString(delta.type)) + " " + Describe(delta.object) + (initial ? " initial" : ""));
    }
  }
  void Replaced(std::vector<ObjectRef> objects, const std::string& resource_version, bool initial,
                std::vector<UndecodableObject> undecodable) override {
    std::string text = "Replaced";
    for (const ObjectRef& object : objects) text += " " + Describe(object);
    for (const UndecodableObject& object : undecodable) text += " but " + object.key.ToString();
    said.push_back(text + " at " + resource_version + (initial ? " initial" : ""));
    if (buffer != nullptr) synced_inside = buffer->HasSynced();
  }
  void Undecodable(UndecodableObject object, bool deleted) override {
    said.push_back("Undecodable " + object.key.ToString() + (deleted ? " deleted" : ""));
  }
  void Resynced() override { said.emplace_back("Sync"); }
  void Bookmarked(const std::string& resource_version) override { said.push_back("Bookmark " + resource_version); }
  void Synced() override { said.emplace_back("synced"); }

  std::vector<std::string> said;
  std::vector<std::size_t> batches;
  const DeltaBuffer* buffer = nullptr;
  bool synced_inside = false;
};

struct Fixture {
  Fixture() { consumer.buffer = &buffer; }
  Recorder consumer;
  DeltaBuffer buffer{consumer};
};

TEST(DeltaBufferTest, UndecodableObjectsKeepTheirPlace) {
  Fixture f;
  f.buffer.Replace({MakePod("a")}, "1", {{.key = {"default", "x"}}});
  f.buffer.Add(MakePod("b"));
  f.buffer.Undecodable({.key = {"default", "a"}}, false);
  f.buffer.Update(MakePod("a", "2"));
  f.buffer.Undecodable({.key = {"default", "a"}}, true);
  f.buffer.Flush();
  EXPECT_THAT(f.consumer.said, ElementsAre("Replaced a@1 but default/x at 1 initial", "synced", "Added b@1", "Undecodable default/a",
                                           "Updated a@2", "Undecodable default/a deleted"));
}

TEST(DeltaBufferTest, NothingHappensBeforeFlush) {
  Fixture f;
  f.buffer.Add(MakePod("a"));
  EXPECT_THAT(f.consumer.said, IsEmpty());
  EXPECT_EQ(f.buffer.size(), 1U);
  f.buffer.Flush();
  EXPECT_EQ(f.buffer.size(), 0U);
  f.buffer.Flush();
  EXPECT_THAT(f.consumer.said, ElementsAre("synced", "Added a@1"));
}

TEST(DeltaBufferTest, KeepsTheOrderOfAllThings) {
  Fixture f;
  f.buffer.Replace({MakePod("a", "3")}, "4");
  f.buffer.Add(MakePod("b", "5"));
  f.buffer.Update(MakePod("a", "6"));
  f.buffer.Bookmark("7");
  ASSERT_TRUE(f.buffer.Resync());
  f.buffer.Delete(MakePod("a", "8"));
  f.buffer.Replace({}, "9");
  f.buffer.Flush();
  EXPECT_THAT(f.consumer.said, ElementsAre("Replaced a@3 at 4 initial", "synced", "Added b@5", "Updated a@6", "Bookmark 7", "Sync",
                                           "Deleted a@8", "Replaced at 9"));
}

TEST(DeltaBufferTest, EveryChangeIsDelivered) {
  Fixture f;
  f.buffer.Add(MakePod("a", "1"));
  f.buffer.Update(MakePod("a", "2"));
  f.buffer.Update(MakePod("a", "3"));
  f.buffer.Delete(MakePod("a", "4"));
  f.buffer.Add(MakePod("a", "5"));
  f.buffer.Flush();
  EXPECT_THAT(f.consumer.said, ElementsAre("synced", "Added a@1", "Updated a@2", "Updated a@3", "Deleted a@4", "Added a@5"));
}

TEST(DeltaBufferTest, AddingAgainMovesNobodyForward) {
  Fixture f;
  f.buffer.Add(MakePod("a", "1"));
  f.buffer.Add(MakePod("b", "2"));
  f.buffer.Add(MakePod("c", "3"));
  f.buffer.Update(MakePod("b", "4"));
  f.buffer.Flush();
  EXPECT_THAT(f.consumer.said, ElementsAre("synced", "Added a@1", "Added b@2", "Added c@3", "Updated b@4"));
}

TEST(DeltaBufferTest, DeletesOfUnknownObjectsAreQueued) {
  Fixture f;
  f.buffer.Delete(MakePod("a"));
  f.buffer.Flush();
  EXPECT_THAT(f.consumer.said, ElementsAre("synced", "Deleted a@1"));
}

TEST(DeltaBufferTest, BatchesAreBounded) {
  Fixture f;
  for (int i = 0; i < 2500; ++i) f.buffer.Add(MakePod("p" + std::to_string(i)));
  f.buffer.Flush();
  EXPECT_THAT(f.consumer.batches, ElementsAre(1000, 1000, 500));
  EXPECT_EQ(f.consumer.said.size(), 2501U);
}

TEST(DeltaBufferTest, BatchesEndAtReplacementsAndBookmarks) {
  Fixture f;
  f.buffer.Add(MakePod("a"));
  f.buffer.Add(MakePod("b"));
  f.buffer.Bookmark("3");
  f.buffer.Add(MakePod("c"));
  f.buffer.Flush();
  EXPECT_THAT(f.consumer.batches, ElementsAre(2, 1));
}

TEST(DeltaBufferTest, WhatIsQueuedMeanwhileWaitsForTheNextFlush) {
  struct Greedy : Recorder {
    void Bookmarked(const std::string& version) override {
      Recorder::Bookmarked(version);
      if (version == "1") target->Bookmark("2");
    }
    DeltaBuffer* target = nullptr;
  } consumer;
  DeltaBuffer buffer(consumer);
  consumer.target = &buffer;
  buffer.Bookmark("1");
  buffer.Flush();
  EXPECT_THAT(consumer.said, ElementsAre("Bookmark 1"));
  buffer.Flush();
  EXPECT_THAT(consumer.said, ElementsAre("Bookmark 1", "Bookmark 2"));
}

// ---- Contract 12: HasSynced ----

TEST(Contract12_HasSynced, FalseAtTheStart) {
  Fixture f;
  EXPECT_FALSE(f.buffer.HasSynced());
  f.buffer.Flush();
  EXPECT_FALSE(f.buffer.HasSynced());
}

TEST(Contract12_HasSynced, StaysFalseWhileTheFirstListIsWorkedOn) {
  Fixture f;
  f.consumer.synced_inside = true;
  f.buffer.Replace({MakePod("a"), MakePod("b")}, "2");
  EXPECT_FALSE(f.buffer.HasSynced());
  f.buffer.Flush();
  EXPECT_FALSE(f.consumer.synced_inside);
  EXPECT_TRUE(f.buffer.HasSynced());
  EXPECT_THAT(f.consumer.said, ElementsAre("Replaced a@1 b@1 at 2 initial", "synced"));
}

TEST(Contract12_HasSynced, AnEmptyFirstListHasToBeWorkedOnToo) {
  Fixture f;
  f.buffer.Replace({}, "2");
  EXPECT_FALSE(f.buffer.HasSynced());
  f.buffer.Flush();
  EXPECT_TRUE(f.buffer.HasSynced());
}

TEST(Contract12_HasSynced, AChangeBeforeAnyListMeansSynced) {
  for (int what = 0; what < 3; ++what) {
    Fixture f;
    if (what == 0) f.buffer.Add(MakePod("a"));
    if (what == 1) f.buffer.Update(MakePod("a"));
    if (what == 2) f.buffer.Delete(MakePod("a"));
    f.buffer.Flush();
    EXPECT_TRUE(f.buffer.HasSynced()) << what;
  }
}

TEST(Contract12_HasSynced, BookmarksAndResyncsMeanNothing) {
  Fixture f;
  f.buffer.Bookmark("2");
  ASSERT_TRUE(f.buffer.Resync());
  f.buffer.Flush();
  EXPECT_FALSE(f.buffer.HasSynced());
}

TEST(Contract12_HasSynced, ALaterListIsNotInitial) {
  Fixture f;
  f.buffer.Replace({MakePod("a")}, "2");
  f.buffer.Flush();
  f.buffer.Replace({MakePod("a", "3")}, "4");
  f.buffer.Flush();
  EXPECT_THAT(f.consumer.said, ElementsAre("Replaced a@1 at 2 initial", "synced", "Replaced a@3 at 4"));
}

// ---- Contract 11 ----

TEST(Contract11_ReplaceAfterDelete, TheNewObjectStillComes) {
  Fixture f;
  f.buffer.Replace({MakePod("a", "1")}, "1");
  f.buffer.Delete(MakePod("a", "2"));
  f.buffer.Replace({MakePod("a", "3")}, "3");
  f.buffer.Flush();
  EXPECT_THAT(f.consumer.said, ElementsAre("Replaced a@1 at 1 initial", "synced", "Deleted a@2", "Replaced a@3 at 3"));
}

TEST(DeltaTypeTest, HasNames) {
  EXPECT_EQ(ToString(DeltaType::kAdded), "Added");
  EXPECT_EQ(ToString(DeltaType::kUpdated), "Updated");
  EXPECT_EQ(ToString(DeltaType::kDeleted), "Deleted");
  EXPECT_EQ(ToString(DeltaType::kReplaced), "Replaced");
  EXPECT_EQ(ToString(DeltaType::kSync), "Sync");
  EXPECT_EQ(ToString(DeltaType::kBookmark), "Bookmark");
}

}  // namespace
}  // namespace kube::internal
