#include "kube/value/map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "value/test_types.h"

namespace kube {
namespace {

using ::testing::ElementsAre;
using testing::InThreads;
using testing::kLongText;
using testing::kOtherLongText;
using testing::Leaf;

static_assert(sizeof(Map<String>) == sizeof(void*));

template <typename T>
const T& Const(const T& value) {
  return value;
}

std::vector<std::string> Keys(const Map<String>& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key.str());
  return keys;
}

TEST(MapTest, IsEmptyByDefaultAndAllZeroBytes) {
  Map<String> map;
  unsigned char zero[sizeof map] = {};
  EXPECT_EQ(std::memcmp(&map, zero, sizeof map), 0);
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.Find("a"), nullptr);
  EXPECT_EQ(map.Get("a"), "");
  EXPECT_FALSE(map.contains("a"));
  EXPECT_FALSE(map.Erase("a"));
  EXPECT_EQ(std::memcmp(&map, zero, sizeof map), 0);  // reading allocates nothing
}

TEST(MapTest, KeepsKeysSortedAndUnique) {
  Map<String> map{{"b", "1"}, {"c", "2"}, {"a", "3"}, {"b", "4"}};
  EXPECT_THAT(Keys(map), ElementsAre("a", "b", "c"));
  EXPECT_EQ(Const(map)["b"], "4");
  map[""] = "empty key";
  map[kLongText] = kLongText;
  EXPECT_THAT(Keys(map), ElementsAre("", "a", kLongText, "b", "c"));
}

TEST(MapTest, FindsSetsAndErases) {
  Map<String> map;
  map["app"] = "web";
  map.Set("tier", kLongText);
  ASSERT_NE(map.Find("app"), nullptr);
  EXPECT_EQ(*map.Find("app"), "web");
  EXPECT_EQ(map.Find("ap"), nullptr);
  EXPECT_EQ(map.Find("app2"), nullptr);
  EXPECT_EQ(map.Get("tier"), kLongText);
  map.Set("app", "db");
  EXPECT_EQ(map.Get("app"), "db");
  EXPECT_TRUE(map.Erase("app"));
  EXPECT_FALSE(map.Erase("app"));
  EXPECT_THAT(Keys(map), ElementsAre("tier"));
  map.clear();
  EXPECT_TRUE(map.empty());
}

TEST(MapTest, ConstSubscriptNeverInserts) {
  Map<String> map{{"a", "1"}};
  EXPECT_EQ(Const(map)["missing"], "");
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(map["missing"], "");  // non-const does
  EXPECT_EQ(map.size(), 2u);
}

TEST(MapTest, AgreesWithStdMapUnderRandomUse) {
  std::mt19937 random(7);
  Map<String> map;
  std::map<std::string, std::string> model;
  std::vector<std::pair<Map<String>, std::map<std::string, std::string>>> snapshots;
  for (int i = 0; i < 3000; ++i) {
    std::string key = "key-" + std::to_string(random() % 60);
    switch (random() % 4) {
      case 0:
        EXPECT_EQ(map.Erase(key), model.erase(key) == 1);
        break;
      case 1:
        if (i % 100 == 1) snapshots.emplace_back(map, model);
        break;
      default: {
        std::string value = std::string(kLongText) + std::to_string(i);
        map[key] = value;
        model[key] = value;
      }
    }
  }
  snapshots.emplace_back(map, model);
  for (const auto& [snapshot, expected] : snapshots) {
    ASSERT_EQ(snapshot.size(), expected.size());
    auto it = expected.begin();
    for (const auto& [key, value] : snapshot) {
      EXPECT_EQ(key, it->first);
      EXPECT_EQ(value, it->second);
      ++it;
    }
  }
}

TEST(MapTest, EveryWayToWriteDetaches) {
  const Map<String> original{{"a", "1"}, {"b", kLongText}};
  auto check = [&](auto write) {
    Map<String> copy = original;
    EXPECT_TRUE(copy.SharesWith(original));
    write(copy);
    EXPECT_FALSE(copy.SharesWith(original));
    EXPECT_EQ(original, (Map<String>{{"a", "1"}, {"b", kLongText}}));
    EXPECT_NE(copy, original);
  };
  check([](Map<String>& m) { m["a"] = "x"; });
  check([](Map<String>& m) { m["new"] = "x"; });
  check([](Map<String>& m) { m.Set("b", "x"); });
  check([](Map<String>& m) { m.Erase("a"); });
  check([](Map<String>& m) { m.clear(); });
}

TEST(MapTest, FailedEraseAndReadsKeepSharing) {
  Map<String> a{{"a", "1"}};
  Map<String> b = a;
  EXPECT_FALSE(b.Erase("x"));
  EXPECT_EQ(Const(b)["a"], "1");
  EXPECT_TRUE(b.contains("a"));
  for (const auto& entry : b) EXPECT_EQ(entry.key, "a");
  EXPECT_TRUE(a.SharesWith(b));
}

TEST(MapTest, SurvivesSelfAssignmentAndAliasedArguments) {
  Map<String> map{{kLongText, "1"}, {"b", kOtherLongText}};
  const Map<String>& alias = map;
  map = alias;
  EXPECT_EQ(map.size(), 2u);
  map[map.begin()->key] = map.Get("b");
  EXPECT_EQ(map.Get(kLongText), kOtherLongText);
  map.Set(map.Get("b"), map.Get("b"));  // key and value come from the map itself
  EXPECT_EQ(map.Get(kOtherLongText), kOtherLongText);
  EXPECT_TRUE(map.Erase(map.begin()->key));
  EXPECT_EQ(map.size(), 2u);
}

TEST(MapTest, HoldsStructsAndMaps) {
  Map<Leaf> leaves;
  leaves["x"].name = kLongText;
  leaves["x"].port = 80;
  Map<Leaf> copy = leaves;
  copy["x"].port = 81;
  EXPECT_EQ(leaves.Get("x").port, 80);
  EXPECT_EQ(copy.Get("x").port, 81);
  EXPECT_FALSE(leaves.Get("missing").port.has_value());
  Map<Map<String>> nested;
  nested["a"]["b"] = "c";
  Map<Map<String>> nested_copy = nested;
  nested_copy["a"]["b"] = "d";
  EXPECT_EQ(Const(nested)["a"]["b"], "c");
}

TEST(MapTest, EqualityIgnoresTheOrderOfInsertion) {
  EXPECT_EQ((Map<String>{{"a", "1"}, {"b", "2"}}), (Map<String>{{"b", "2"}, {"a", "1"}}));
  EXPECT_NE((Map<String>{{"a", "1"}}), (Map<String>{{"a", "2"}}));
  EXPECT_NE((Map<String>{{"a", "1"}}), (Map<String>{{"b", "1"}}));
  EXPECT_NE((Map<String>{{"a", "1"}}), Map<String>());
}

TEST(MapTest, CopiesMayBeReadWrittenAndDroppedFromManyThreads) {
  const Map<String> shared{{"a", kLongText}, {"b", "2"}};
  InThreads([&](int i) {
    for (int round = 0; round < 500; ++round) {
      Map<String> mine = shared;
      if (i % 2 == 0) mine["a"] = "mine";
      if (i % 2 == 1) mine["z"] = kOtherLongText;
      ASSERT_EQ(mine.Get("b"), "2");
    }
  });
  EXPECT_EQ(shared, (Map<String>{{"a", kLongText}, {"b", "2"}}));
}

}  // namespace
}  // namespace kube
