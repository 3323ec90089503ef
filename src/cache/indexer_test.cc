#include "kube/cache/indexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "base/process_log_test_util.h"
#include "cache/store_test_util.h"

namespace kube {
namespace {

using cache_test::Labels;
using cache_test::MakePod;
using cache_test::NamesOf;
using cache_test::NodeOf;
using cache_test::Pod;
using cache_test::Texts;
using internal::ProcessLog;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TEST(IndexerTest, GivesOutTheVeryObjectThatWasAdded) {
  Indexer<Pod> pods;
  const Ptr<Pod> pod = MakePod({.name = "web"});
  pods.Add(pod);
  EXPECT_EQ(pods.Get({"default", "web"}), pod);
  EXPECT_EQ(pods.size(), 1u);
}

TEST(IndexerTest, MissIsNull) {
  Indexer<Pod> pods;
  EXPECT_EQ(pods.Get({"default", "web"}), nullptr);
  pods.Add(MakePod({.name = "web"}));
  EXPECT_EQ(pods.Get({"other", "web"}), nullptr);
  EXPECT_EQ(pods.Get({"", "web"}), nullptr);
}

TEST(IndexerTest, AddReplacesWhatHasTheSameKey) {
  Indexer<Pod> pods;
  pods.Add(MakePod({.name = "web", .version = "1"}));
  pods.Add(MakePod({.name = "web", .version = "2"}));
  EXPECT_EQ(pods.size(), 1u);
  EXPECT_EQ(pods.Get({"default", "web"})->metadata.resource_version, "2");
}

TEST(IndexerTest, DeleteSaysWhetherItWasThere) {
  Indexer<Pod> pods;
  pods.Add(MakePod({.name = "web"}));
  EXPECT_TRUE(pods.Delete({"default", "web"}));
  EXPECT_FALSE(pods.Delete({"default", "web"}));
  EXPECT_EQ(pods.size(), 0u);
  EXPECT_THAT(pods.List(), IsEmpty());
}

TEST(IndexerTest, ObjectsLiveOnWithThoseWhoHoldThem) {
  Indexer<Pod> pods;
  pods.Add(MakePod({.name = "web", .version = "1"}));
  const Ptr<Pod> held = pods.Get({"default", "web"});
  pods.Delete({"default", "web"});
  EXPECT_EQ(held->metadata.resource_version, "1");
  EXPECT_EQ(held.use_count(), 1);
}

TEST(IndexerTest, CopiesShareOneStore) {
  Indexer<Pod> pods;
  const Indexer<Pod> same = pods;  // NOLINT(performance-unnecessary-copy-initialization)
  pods.Add(MakePod({.name = "web"}));
  EXPECT_EQ(same.size(), 1u);
}

TEST(IndexerTest, KeysAreThoseOfAllObjects) {
  Indexer<Pod> pods;
  pods.Add(MakePod({.ns = "a", .name = "x"}));
  pods.Add(MakePod({.ns = "b", .name = "x"}));
  EXPECT_THAT(pods.Keys(), UnorderedElementsAre(ObjectKey{"a", "x"}, ObjectKey{"b", "x"}));
}

TEST(IndexerTest, HoldsDynamicObjects) {
  Indexer<DynamicObject> carts;
  auto cart = std::make_shared<DynamicObject>(Gvk{"example.com", "v1", "Cart"}, ObjectKey{"default", "mine"});
  cart->set_label("app", "cart");
  cart->set_resource_version("4");
  carts.Add(cart);
  EXPECT_EQ(carts.Get({"default", "mine"}), cart);
  EXPECT_THAT(carts.List("default", Labels("app=cart")), ElementsAre(cart));
  EXPECT_EQ(carts.resource_version(), "4");
}

TEST(IndexerTest, ClusterScopedObjectsHaveTheEmptyNamespace) {
  Indexer<Pod> nodes;
  nodes.Add(MakePod({.ns = "", .name = "node-1"}));
  EXPECT_NE(nodes.Get({"", "node-1"}), nullptr);
  EXPECT_THAT(nodes.List(""), SizeIs(1));
  EXPECT_THAT(*nodes.KeysByIndex(kNamespaceIndex, ""), ElementsAre(ObjectKey{"", "node-1"}));
  EXPECT_THAT(nodes.List("default"), IsEmpty());
}

// ---- Selectors ----

TEST(IndexerSelectTest, EverythingAndNothing) {
  Indexer<Pod> pods;
  pods.Add(MakePod({.name = "a"}));
  pods.Add(MakePod({.ns = "other", .name = "b"}));
  EXPECT_THAT(pods.List(), SizeIs(2));
  EXPECT_THAT(pods.List(Selector::Everything()), SizeIs(2));
  EXPECT_THAT(pods.List(Selector::Nothing()), IsEmpty());
  EXPECT_THAT(pods.List("default", Selector::Nothing()), IsEmpty());
}

TEST(IndexerSelectTest, NamespaceAndLabelsBothCount) {
  Indexer<Pod> pods;
  pods.Add(MakePod({.ns = "a", .name = "1", .labels = {{"app", "web"}}}));
  pods.Add(MakePod({.ns = "a", .name = "2", .labels = {{"app", "db"}}}));
  pods.Add(MakePod({.ns = "b", .name = "3", .labels = {{"app", "web"}}}));
  EXPECT_THAT(NamesOf(pods.List("a")), ElementsAre("a/1", "a/2"));
  EXPECT_THAT(NamesOf(pods.List("a", Labels("app=web"))), ElementsAre("a/1"));
  EXPECT_THAT(NamesOf(pods.List(Labels("app=web"))), ElementsAre("a/1", "b/3"));
  EXPECT_THAT(NamesOf(pods.List("c", Labels("app=web"))), IsEmpty());
}

// So many that an index is worth it.
Indexer<Pod> ManyPods(int count) {
  Indexer<Pod> pods;
  std::vector<Ptr<Pod>> all;
  for (int i = 0; i < count; ++i) {
    Map<String> labels{{"app", i % 50 == 0 ? "web" : "db"}, {"tier", i % 2 == 0 ? "front" : "back"}};
    if (i % 10 == 0) labels.Set("canary", "");
    all.push_back(MakePod({.ns = "ns" + std::to_string(i % 4), .name = "p" + std::to_string(i), .labels = labels}));
  }
  pods.Replace(all, "1");
  return pods;
}

TEST(IndexerSelectTest, FirstQuestionForALabelMakesItsIndex) {
  const Indexer<Pod> pods = ManyPods(1000);
  EXPECT_THAT(internal::IndexerAccess::StoreOf(pods)->LabelIndexes(), IsEmpty());
  EXPECT_THAT(pods.List(Labels("app=web")), SizeIs(20));
  EXPECT_THAT(Texts(internal::IndexerAccess::StoreOf(pods)->LabelIndexes()), ElementsAre("app"));
  EXPECT_THAT(pods.List(Labels("app==db")), SizeIs(980));
  EXPECT_THAT(pods.List(Labels("app=none")), IsEmpty());
  EXPECT_THAT(Texts(internal::IndexerAccess::StoreOf(pods)->LabelIndexes()), ElementsAre("app"));
}

TEST(IndexerSelectTest, OperatorsThatNameNoValueMakeNoIndex) {
  const Indexer<Pod> pods = ManyPods(1000);
  EXPECT_THAT(pods.List(Labels("app!=web")), SizeIs(980));
  EXPECT_THAT(pods.List(Labels("canary")), SizeIs(100));
  EXPECT_THAT(pods.List(Labels("!canary")), SizeIs(900));
  EXPECT_THAT(pods.List(Labels("app notin (web)")), SizeIs(980));
  EXPECT_THAT(internal::IndexerAccess::StoreOf(pods)->LabelIndexes(), IsEmpty());
}

TEST(IndexerSelectTest, EmptyValueIsNotAnAbsentLabel) {
  const Indexer<Pod> pods = ManyPods(1000);
  EXPECT_THAT(pods.List(Labels("canary=")), SizeIs(100));
  EXPECT_THAT(Texts(internal::IndexerAccess::StoreOf(pods)->LabelIndexes()), ElementsAre("canary"));
}

TEST(IndexerSelectTest, InTakesAllItsValuesOnce) {
  const Indexer<Pod> pods = ManyPods(1000);
  EXPECT_THAT(pods.List(Labels("app in (web,db,none)")), SizeIs(1000));
  const Result<LabelRequirement> twice = LabelRequirement::Create("app", SelectorOperator::kIn, {"web", "web"});
  ASSERT_TRUE(twice);
  EXPECT_THAT(pods.List(Selector::FromRequirements({*twice})), SizeIs(20));
  EXPECT_THAT(pods.List("ns0", Labels("app in (web)")), SizeIs(10));
}

TEST(IndexerSelectTest, ContradictionsMatchNothing) {
  const Indexer<Pod> pods = ManyPods(1000);
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(pods.List(Labels("app=web,app=db")), IsEmpty());
    EXPECT_THAT(pods.List(Labels("app=web,app!=web")), IsEmpty());
    EXPECT_THAT(pods.List(Labels("app=web,tier=back")), IsEmpty());
  }
}

TEST(IndexerSelectTest, FewObjectsNeedNoIndex) {
  const Indexer<Pod> pods = ManyPods(20);
  EXPECT_THAT(pods.List(Labels("app=web")), SizeIs(1));
  EXPECT_THAT(internal::IndexerAccess::StoreOf(pods)->LabelIndexes(), IsEmpty());
}

TEST(IndexerSelectTest, LabelIndexFollowsChanges) {
  Indexer<Pod> pods = ManyPods(200);
  EXPECT_THAT(pods.List(Labels("app=web")), SizeIs(4));
  pods.Add(MakePod({.ns = "ns1", .name = "p1", .labels = {{"app", "web"}}}));  // had another value
  EXPECT_THAT(pods.List(Labels("app=web")), SizeIs(5));
  pods.Add(MakePod({.ns = "ns0", .name = "p0"}));  // has none any more
  EXPECT_THAT(pods.List(Labels("app=web")), SizeIs(4));
  pods.Add(MakePod({.ns = "x", .name = "new", .labels = {{"app", "web"}}}));
  EXPECT_THAT(pods.List(Labels("app=web")), SizeIs(5));
  pods.Delete({"ns1", "p1"});
  EXPECT_THAT(pods.List(Labels("app=web")), SizeIs(4));
  pods.Replace({MakePod({.name = "only", .labels = {{"app", "web"}}})});
  EXPECT_THAT(NamesOf(pods.List(Labels("app=web"))), ElementsAre("default/only"));
  EXPECT_THAT(Texts(internal::IndexerAccess::StoreOf(pods)->LabelIndexes()), ElementsAre("app"));
}

TEST(IndexerSelectTest, AtMostSixteenLabelIndexesTheLeastUsedGoes) {
  Indexer<Pod> pods;
  std::vector<Ptr<Pod>> all;
  for (int i = 0; i < 100; ++i) {
    Map<String> labels;
    for (int key = 0; key < 20; ++key) labels.Set("k" + std::to_string(key), std::to_string(i % 5));
    all.push_back(MakePod({.name = "p" + std::to_string(i), .labels = labels}));
  }
  pods.Replace(all);
  for (int key = 0; key < 16; ++key) EXPECT_THAT(pods.List(Labels("k" + std::to_string(key) + "=3")), SizeIs(20));
  EXPECT_THAT(internal::IndexerAccess::StoreOf(pods)->LabelIndexes(), SizeIs(16));
  EXPECT_THAT(pods.List(Labels("k0=3")), SizeIs(20));  // used again: k1 is the oldest now
  EXPECT_THAT(pods.List(Labels("k16=3")), SizeIs(20));
  const std::vector<std::string> kept = Texts(internal::IndexerAccess::StoreOf(pods)->LabelIndexes());
  EXPECT_THAT(kept, SizeIs(16));
  EXPECT_THAT(kept, testing::Contains("k0"));
  EXPECT_THAT(kept, testing::Contains("k16"));
  EXPECT_THAT(kept, testing::Not(testing::Contains("k1")));
  // The one that went still gets right answers, and the rest stays up to date.
  pods.Add(MakePod({.name = "new", .labels = {{"k1", "3"}, {"k16", "3"}}}));
  EXPECT_THAT(pods.List(Labels("k16=3")), SizeIs(21));
  EXPECT_THAT(pods.List(Labels("k1=3")), SizeIs(21));
}

// ---- Named indexes ----

TEST(IndexerIndexTest, FindsObjectsByTheirValues) {
  Indexer<Pod> pods;
  ASSERT_TRUE(pods.AddIndex("node", NodeOf));
  pods.Add(MakePod({.name = "a", .node = "n1"}));
  pods.Add(MakePod({.name = "b", .node = "n2"}));
  pods.Add(MakePod({.name = "c", .node = "n1"}));
  pods.Add(MakePod({.name = "d"}));
  EXPECT_THAT(NamesOf(*pods.ByIndex("node", "n1")), ElementsAre("default/a", "default/c"));
  EXPECT_THAT(*pods.ByIndex("node", "n3"), IsEmpty());
  EXPECT_THAT(*pods.KeysByIndex("node", "n1"), ElementsAre(ObjectKey{"default", "a"}, ObjectKey{"default", "c"}));
  EXPECT_THAT(Texts(*pods.IndexValues("node")), ElementsAre("n1", "n2"));
}

TEST(IndexerIndexTest, AddedAfterTheDataIndexesItAtOnce) {
  Indexer<Pod> pods;
  pods.Add(MakePod({.name = "a", .node = "n1"}));
  pods.Add(MakePod({.name = "b", .node = "n1"}));
  pods.Delete({"default", "b"});
  ASSERT_TRUE(pods.AddIndex("node", NodeOf));
  EXPECT_THAT(NamesOf(*pods.ByIndex("node", "n1")), ElementsAre("default/a"));
}

TEST(IndexerIndexTest, ManyValuesAnObject) {
  Indexer<Pod> pods;
  ASSERT_TRUE(pods.AddIndex("label", [](const Pod& pod) {
    std::vector<String> out;
    for (const auto& [key, value] : pod.metadata.labels) out.push_back(value);
    return out;
  }));
  pods.Add(MakePod({.name = "ernie", .labels = {{"x", "a"}, {"y", "b"}, {"z", "a"}}}));
  pods.Add(MakePod({.name = "bert", .labels = {{"x", "b"}, {"y", "c"}}}));
  EXPECT_THAT(NamesOf(*pods.ByIndex("label", "a")), ElementsAre("default/ernie"));  // once, though two labels have it
  EXPECT_THAT(NamesOf(*pods.ByIndex("label", "b")), ElementsAre("default/bert", "default/ernie"));
  pods.Add(MakePod({.name = "ernie", .labels = {{"x", "c"}, {"y", "d"}}}));  // values move with an update
  EXPECT_THAT(NamesOf(*pods.ByIndex("label", "a")), IsEmpty());
  EXPECT_THAT(NamesOf(*pods.ByIndex("label", "b")), ElementsAre("default/bert"));
  EXPECT_THAT(NamesOf(*pods.ByIndex("label", "c")), ElementsAre("default/bert", "default/ernie"));
  EXPECT_THAT(Texts(*pods.IndexValues("label")), ElementsAre("b", "c", "d"));
}

TEST(IndexerIndexTest, EmptyBucketsAreRemovedSharedOnesKept) {
  Indexer<Pod> pods;
  ASSERT_TRUE(pods.AddIndex("node", NodeOf));
  pods.Add(MakePod({.name = "a", .node = "n1"}));
  pods.Add(MakePod({.name = "b", .node = "n1"}));
  pods.Add(MakePod({.name = "c", .node = "n2"}));
  pods.Delete({"default", "c"});
  EXPECT_THAT(Texts(*pods.IndexValues("node")), ElementsAre("n1"));
  pods.Delete({"default", "a"});
  EXPECT_THAT(NamesOf(*pods.ByIndex("node", "n1")), ElementsAre("default/b"));
}

TEST(IndexerIndexTest, UnknownIndexIsAnErrorThatNamesTheOthers) {
  Indexer<Pod> pods;
  ASSERT_TRUE(pods.AddIndex("node", NodeOf));
  for (const Error& error :
       {pods.ByIndex("owner", "x").error(), pods.KeysByIndex("owner", "x").error(), pods.IndexValues("owner").error()}) {
    EXPECT_EQ(error.kind(), ErrorKind::kInvalid);
    EXPECT_EQ(error.message(), "index \"owner\" does not exist; there are: namespace, node");
  }
}

TEST(IndexerIndexTest, NameThatIsTakenChangesNothing) {
  Indexer<Pod> pods;
  ASSERT_TRUE(pods.AddIndex("node", NodeOf));
  pods.Add(MakePod({.name = "a", .node = "n1"}));
  const Result<void> again = pods.AddIndex("node", [](const Pod&) { return std::vector<String>{"x"}; });
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind(), ErrorKind::kInvalid);
  EXPECT_THAT(again.error().message(), HasSubstr("\"node\""));
  EXPECT_FALSE(pods.AddIndex(std::string(kNamespaceIndex), NodeOf));
  pods.Add(MakePod({.name = "b", .node = "n1"}));
  EXPECT_THAT(*pods.ByIndex("node", "n1"), SizeIs(2));
  EXPECT_THAT(*pods.ByIndex("node", "x"), IsEmpty());
  EXPECT_THAT(*pods.ByIndex(kNamespaceIndex, "default"), SizeIs(2));
}

TEST(IndexerIndexTest, IndexWithoutAFunctionIsRefused) {
  internal::Store store(internal::ObjectForm::Of<Pod>());
  EXPECT_FALSE(store.AddIndex("node", nullptr));
  EXPECT_FALSE(store.ByIndex("node", "x"));
}

TEST(IndexerIndexTest, NamespaceIndexIsBuiltIn) {
  Indexer<Pod> pods;
  pods.Add(MakePod({.ns = "b", .name = "2"}));
  pods.Add(MakePod({.ns = "a", .name = "1"}));
  pods.Add(MakePod({.ns = "b", .name = "1"}));
  EXPECT_THAT(Texts(*pods.IndexValues(kNamespaceIndex)), ElementsAre("a", "b"));
  EXPECT_THAT(NamesOf(*pods.ByIndex("namespace", "b")), ElementsAre("b/1", "b/2"));
  EXPECT_THAT(*pods.KeysByIndex("namespace", "b"), ElementsAre(ObjectKey{"b", "1"}, ObjectKey{"b", "2"}));
  pods.Delete({"a", "1"});
  EXPECT_THAT(Texts(*pods.IndexValues(kNamespaceIndex)), ElementsAre("b"));
}

TEST(IndexerIndexTest, FunctionThatThrowsIsLoggedAndTheObjectStays) {
  const ProcessLog log;
  Indexer<Pod> pods;
  ASSERT_TRUE(pods.AddIndex("node", [](const Pod& pod) -> std::vector<String> {
    if (pod.spec.node_name == "bad") throw std::runtime_error("no such node");
    if (pod.spec.node_name == "worse") throw 7;  // NOLINT(hicpp-exception-baseclass)
    return {pod.spec.node_name};
  }));
  pods.Add(MakePod({.name = "a", .node = "n1"}));
  pods.Add(MakePod({.name = "a", .node = "bad"}));
  EXPECT_THAT(*pods.ByIndex("node", "n1"), IsEmpty());
  EXPECT_THAT(*pods.IndexValues("node"), IsEmpty());
  EXPECT_NE(pods.Get({"default", "a"}), nullptr);
  ASSERT_THAT(log.lines(), SizeIs(1));
  EXPECT_THAT(log.lines()[0],
              testing::AllOf(HasSubstr("cache.store"), HasSubstr("node"), HasSubstr("default/a"), HasSubstr("no such node")));
  pods.Add(MakePod({.name = "a", .node = "worse"}));
  EXPECT_THAT(log.lines(), SizeIs(2));
  pods.Add(MakePod({.name = "a", .node = "n2"}));
  EXPECT_THAT(*pods.ByIndex("node", "n2"), SizeIs(1));
}

TEST(IndexerIndexTest, FunctionThatAlwaysThrowsIsLoggedOnceAWrite) {
  const ProcessLog log;
  Indexer<Pod> pods;
  std::vector<Ptr<Pod>> all;
  for (int i = 0; i < 500; ++i) all.push_back(MakePod({.name = std::to_string(i)}));
  pods.Replace(all);
  ASSERT_TRUE(pods.AddIndex("broken", [](const Pod&) -> std::vector<String> { throw std::runtime_error("always"); }));
  EXPECT_THAT(log.lines(), SizeIs(1));
  EXPECT_THAT(log.lines()[0], HasSubstr("500"));
  pods.Replace(all);
  EXPECT_THAT(log.lines(), SizeIs(2));
}

// One that answers differently every time must not leave objects behind in buckets.
TEST(IndexerIndexTest, FunctionThatIsNotPureLeavesNothingBehind) {
  Indexer<Pod> pods;
  int calls = 0;
  ASSERT_TRUE(pods.AddIndex("calls", [&calls](const Pod&) { return std::vector<String>{String(std::to_string(++calls))}; }));
  pods.Add(MakePod({.name = "a"}));
  pods.Add(MakePod({.name = "a"}));
  EXPECT_THAT(Texts(*pods.IndexValues("calls")), ElementsAre("2"));
  pods.Delete({"default", "a"});
  EXPECT_THAT(*pods.IndexValues("calls"), IsEmpty());
  EXPECT_EQ(calls, 2);
}

// ---- Versions ----

TEST(IndexerVersionTest, LastWriteCountsNotTheGreatest) {
  Indexer<Pod> pods;
  EXPECT_EQ(pods.resource_version(), "");
  pods.Add(MakePod({.name = "a", .version = "10"}));
  EXPECT_EQ(pods.resource_version(), "10");
  pods.Add(MakePod({.name = "b", .version = "9"}));
  EXPECT_EQ(pods.resource_version(), "9");
  pods.Replace({}, "7");
  EXPECT_EQ(pods.resource_version(), "7");
}

TEST(IndexerVersionTest, WritesWithoutAVersionLeaveIt) {
  Indexer<Pod> pods;
  pods.Add(MakePod({.name = "a", .version = "10"}));
  pods.Add(MakePod({.name = "b"}));
  EXPECT_EQ(pods.resource_version(), "10");
  pods.Delete({"default", "a"});
  EXPECT_EQ(pods.resource_version(), "10");
  pods.Replace({});
  EXPECT_EQ(pods.resource_version(), "10");
}

// ---- Stats ----

TEST(IndexerStatsTest, SharedPartsCountOnce) {
  Indexer<Pod> pods;
  const String text(std::string(10000, 'x'));
  for (int i = 0; i < 10; ++i) {
    auto pod = MakePod({.name = "p" + std::to_string(i)});
    pod->spec.node_name = text;  // one text for all
    pods.Add(pod);
  }
  const CacheStats stats = pods.Stats();
  EXPECT_EQ(stats.objects, 10u);
  EXPECT_GT(stats.logical_bytes, 100000u);
  EXPECT_LT(stats.real_bytes, 50000u);
  EXPECT_GT(stats.real_bytes, 10000u);
  EXPECT_EQ(Indexer<Pod>().Stats().real_bytes, 0u);
}

TEST(IndexerStatsTest, CountsDynamicObjects) {
  Indexer<DynamicObject> carts;
  auto cart = std::make_shared<DynamicObject>(Gvk{"example.com", "v1", "Cart"}, ObjectKey{"default", "mine"});
  cart->set_annotation("note", std::string(5000, 'x'));
  carts.Add(cart);
  EXPECT_EQ(carts.Stats().objects, 1u);
  EXPECT_GT(carts.Stats().real_bytes, 5000u);
  EXPECT_EQ(carts.Stats().real_bytes, carts.Stats().logical_bytes);
}

}  // namespace
}  // namespace kube
