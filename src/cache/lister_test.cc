#include "kube/cache/lister.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/store_test_util.h"

namespace kube {
namespace {

using cache_test::Labels;
using cache_test::MakePod;
using cache_test::NamesOf;
using cache_test::Pod;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Indexer<Pod> Some() {
  Indexer<Pod> pods;
  pods.Add(MakePod({.ns = "a", .name = "1", .labels = {{"app", "web"}}}));
  pods.Add(MakePod({.ns = "a", .name = "2", .labels = {{"app", "db"}}}));
  pods.Add(MakePod({.ns = "b", .name = "1", .labels = {{"app", "web"}}}));
  return pods;
}

TEST(ListerTest, GetsByKey) {
  const Lister<Pod> lister(Some(), {"", "pods"});
  const Result<Ptr<Pod>> found = lister.Get({"a", "1"});
  ASSERT_TRUE(found);
  EXPECT_EQ((*found)->metadata.name, "1");
}

TEST(ListerTest, MissIsNotFoundWithTheResource) {
  const Lister<Pod> lister(Some(), {"apps", "deployments"});
  const Result<Ptr<Pod>> missing = lister.Get({"a", "3"});
  ASSERT_FALSE(missing);
  EXPECT_TRUE(IsNotFound(missing.error()));
  EXPECT_EQ(missing.error().payload().resource_group, "apps");
  EXPECT_EQ(missing.error().payload().resource_kind, "deployments");
  EXPECT_EQ(missing.error().payload().name, "3");
  EXPECT_EQ(missing.error().message(), "deployments.apps \"3\" not found");
}

TEST(ListerTest, ListsEverythingNothingAndByLabels) {
  const Lister<Pod> lister(Some(), {"", "pods"});
  EXPECT_THAT(lister.List(), SizeIs(3));
  EXPECT_THAT(lister.List(Selector::Nothing()), IsEmpty());
  EXPECT_THAT(NamesOf(lister.List(Labels("app=web"))), ElementsAre("a/1", "b/1"));
}

TEST(ListerTest, NamespaceListerSeesItsNamespaceOnly) {
  const Lister<Pod> lister(Some(), {"", "pods"});
  const NamespaceLister<Pod> a = lister.Namespace("a");
  EXPECT_THAT(NamesOf(a.List()), ElementsAre("a/1", "a/2"));
  EXPECT_THAT(NamesOf(a.List(Labels("app=web"))), ElementsAre("a/1"));
  EXPECT_THAT(a.List(Selector::Nothing()), IsEmpty());
  EXPECT_TRUE(a.Get("2"));
  EXPECT_TRUE(IsNotFound(lister.Namespace("b").Get("2").error()));
  EXPECT_THAT(lister.Namespace("nowhere").List(), IsEmpty());
}

TEST(ListerTest, ShowsChangesAtOnce) {
  Indexer<Pod> pods = Some();
  const Lister<Pod> lister(pods, {"", "pods"});
  pods.Add(MakePod({.ns = "a", .name = "3"}));
  EXPECT_TRUE(lister.Get({"a", "3"}));
  pods.Delete({"a", "3"});
  EXPECT_FALSE(lister.Get({"a", "3"}));
}

TEST(ListerTest, HoldsWhatItWasGiven) {
  auto informer = std::make_shared<int>(1);
  {
    const NamespaceLister<Pod> ns = Lister<Pod>(Some(), {"", "pods"}, informer).Namespace("a");
    EXPECT_EQ(informer.use_count(), 2);
  }
  EXPECT_EQ(informer.use_count(), 1);
}

}  // namespace
}  // namespace kube
