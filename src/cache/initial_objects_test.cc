#include "cache/initial_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "cache/store_test_util.h"

namespace kube::internal {
namespace {

using cache_test::MakePod;
using cache_test::Pod;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(InitialObjectsTest, GivesThemInTheOrderInWhichTheyCame) {
  InitialObjects objects(ObjectForm::Of<Pod>());
  const ObjectRef b = MakePod({.name = "b"});
  const ObjectRef a = MakePod({.name = "a"});
  const ObjectRef newer = MakePod({.name = "b", .version = "2"});
  objects.Set(b);
  objects.Set(a);
  objects.Set(newer);
  EXPECT_THAT(std::move(objects).Take(), ElementsAre(newer, a));
}

TEST(InitialObjectsTest, WhatIsErasedMayComeAgain) {
  InitialObjects objects(ObjectForm::Of<Pod>());
  const ObjectRef pod = MakePod({.name = "a"});
  objects.Erase(pod.get());  // nothing is there
  objects.Set(pod);
  objects.Erase(MakePod({.name = "b"}).get());
  objects.Erase(MakePod({.name = "a", .version = "2"}).get());
  const ObjectRef again = MakePod({.name = "a", .version = "3"});
  objects.Set(again);
  EXPECT_THAT(std::move(objects).Take(), ElementsAre(again));
}

TEST(InitialObjectsTest, EmptyOnesGiveNothing) {
  InitialObjects objects(ObjectForm::Of<Pod>());
  EXPECT_THAT(std::move(objects).Take(), IsEmpty());
}

TEST(InitialObjectsTest, IsAsAMapOverManyChanges) {
  std::mt19937 random(7);
  InitialObjects objects(ObjectForm::Of<Pod>());
  std::map<std::string, ObjectRef> expected;
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = "pod-" + std::to_string(random() % 3000);
    const ObjectRef pod = MakePod({.name = name});
    if (const unsigned dice = random() % 4; dice == 0) {
      if (random() % 2 == 0) {
        objects.Erase(pod.get());
      } else {
        objects.Erase(ObjectForm::Of<Pod>().Key(pod.get()));
      }
      expected.erase(name);
    } else {
      objects.Set(pod);
      expected[name] = pod;
    }
  }
  const std::vector<ObjectRef> all = std::move(objects).Take();
  ASSERT_EQ(all.size(), expected.size());
  for (const ObjectRef& object : all) EXPECT_EQ(expected[static_cast<const Pod*>(object.get())->metadata.name.str()], object);
}

}  // namespace
}  // namespace kube::internal
