#include "cache/store_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "cache/store_test_util.h"

namespace kube::internal {
namespace {

using cache_test::MakePod;
using cache_test::Pod;
using cache_test::Texts;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pointee;
using testing::UnorderedElementsAre;

TEST(EntryTableTest, FindsByNamespaceAndName) {
  EntryTable table(ObjectForm::Of<Pod>());
  EXPECT_EQ(table.Find("default", "web"), kNoEntry);
  const EntryId id = table.Set(MakePod({.name = "web"})).id;
  EXPECT_EQ(table.Find("default", "web"), id);
  EXPECT_EQ(table.Find("", "web"), kNoEntry);
  EXPECT_EQ(table.Find("default", "we"), kNoEntry);
  EXPECT_EQ(table.Find("web", "default"), kNoEntry);
}

TEST(EntryTableTest, KeepsTheIdOfAnObjectThatIsReplaced) {
  EntryTable table(ObjectForm::Of<Pod>());
  const ObjectRef first = MakePod({.name = "web"});
  const EntryId id = table.Set(first).id;
  const EntryTable::Put put = table.Set(MakePod({.name = "web", .version = "2"}));
  EXPECT_EQ(put.id, id);
  EXPECT_EQ(put.before, first);
  EXPECT_EQ(table.size(), 1u);
}

TEST(EntryTableTest, UsesIdsAgain) {
  EntryTable table(ObjectForm::Of<Pod>());
  for (int round = 0; round < 100; ++round) {
    const EntryId a = table.Set(MakePod({.name = "a" + std::to_string(round)})).id;
    const EntryId b = table.Set(MakePod({.name = "b" + std::to_string(round)})).id;
    table.Erase(a);
    table.Erase(b);
  }
  EXPECT_EQ(table.size(), 0u);
  EXPECT_LE(table.limit(), 2u);
}

// Searching and taking out in a table that is nearly full is where open addressing goes wrong.
TEST(EntryTableTest, AgreesWithAMapUnderRandomChanges) {
  std::mt19937 random(7);
  EntryTable table(ObjectForm::Of<Pod>());
  std::map<std::string, EntryId> model;
  for (int step = 0; step < 20000; ++step) {
    const std::string name = "p" + std::to_string(random() % 600);
    if (random() % 100 < (step / 4000 % 2 == 0 ? 70u : 30u)) {
      const EntryId id = table.Set(MakePod({.name = name})).id;
      const auto [it, fresh] = model.try_emplace(name, id);
      ASSERT_EQ(it->second, id);
    } else if (const auto it = model.find(name); it != model.end()) {
      ASSERT_NE(table.Erase(it->second), nullptr);
      model.erase(it);
    }
    ASSERT_EQ(table.size(), model.size());
    if (step % 500 != 0) continue;
    for (int i = 0; i < 600; ++i) {
      const std::string each = "p" + std::to_string(i);
      const auto it = model.find(each);
      ASSERT_EQ(table.Find("default", each), it == model.end() ? kNoEntry : it->second) << each;
    }
  }
}

TEST(IdIndexTest, RepeatedValuesCountOnce) {
  IdIndex index;
  const String values[] = {"a", "b", "a", "a"};
  index.Set(3, values);
  EXPECT_THAT(index.Find("a"), Pointee(ElementsAre(3u)));
  EXPECT_THAT(index.Find("b"), Pointee(ElementsAre(3u)));
}

TEST(IdIndexTest, EmptyBucketsGo) {
  IdIndex index;
  const String a[] = {"a"};
  const String ab[] = {"a", "b"};
  index.Set(1, a);
  index.Set(2, ab);
  index.Erase(2);
  EXPECT_EQ(index.Find("b"), nullptr);
  EXPECT_THAT(Texts(index.Values()), ElementsAre("a"));
  index.Erase(1);
  EXPECT_THAT(index.Values(), IsEmpty());
  index.Erase(1);
  index.Erase(100);
}

TEST(IdIndexTest, AgreesWithAMapUnderRandomChanges) {
  std::mt19937 random(11);
  IdIndex index;
  std::map<EntryId, std::set<std::string>> model;
  for (int step = 0; step < 20000; ++step) {
    const auto id = static_cast<EntryId>(random() % 50);
    std::vector<String> values;
    std::set<std::string> wanted;
    for (auto n = random() % 5; n > 0; --n) {
      const std::string value = "a value that is not inline " + std::to_string(random() % 8);
      values.emplace_back(value);
      wanted.insert(value);
    }
    index.Set(id, values);
    model[id] = wanted;
    if (step % 50 != 0) continue;
    std::map<std::string, std::set<EntryId>> buckets;
    for (const auto& [each, all] : model) {
      for (const std::string& value : all) buckets[value].insert(each);
    }
    ASSERT_EQ(index.Values().size(), buckets.size());
    for (const auto& [value, ids] : buckets) {
      ASSERT_NE(index.Find(value), nullptr);
      ASSERT_THAT(*index.Find(value), testing::UnorderedElementsAreArray(ids));
    }
  }
}

}  // namespace
}  // namespace kube::internal
