// Objects that cannot be decoded: what an informer's cache, its readers and its handlers make of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/informer_test_util.h"
#include "cache/undecodable_set.h"
#include "kube/base/metrics.h"

namespace kube::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

UndecodableObject Bad(std::string_view name, std::string_view version, std::string_view uid = "") {
  return {.key = {"default", String(name)}, .uid = String(uid), .resource_version = String(version), .error = "spec: too deep"};
}
const UndecodableObject kUnnamed{.error = "malformed"};

core::v1::Pod PodOf(std::string_view name, std::string_view version, std::string_view uid) {
  core::v1::Pod pod = PodAt(name, version);
  pod.metadata.uid = String(uid);
  return pod;
}

class UndecodableTest : public InformerFixture {
 protected:
  // With lists, not streams. The first list is in the source already.
  void StartWithLists() {
    informer_.emplace(InformerAccess::Make<Pod>(std::make_shared<InformerHandle>(std::make_shared<InformerCore>(
        source_, ObjectForm::Of<Pod>(), Gvr{"", "v1", "pods"}, InformerOptions{.watch_list = false}, metrics_))));
    registration_ = *informer_->AddEventHandler(witness_.Handler());
    informer_->Start(ctx_);
    ASSERT_TRUE(informer_->WaitForSync(Soon()));
  }
  void List(std::vector<Pod> pods, std::string_view version, std::vector<UndecodableObject> undecodable) {
    ListPage page = PageOf(std::move(pods), version);
    page.undecodable = std::move(undecodable);
    source_->AddList(std::move(page));
  }
  // The watch fails with 410, and the next list is this.
  std::shared_ptr<ScriptedWatch> ListAgain(ScriptedWatch& watch, std::vector<Pod> pods, std::string_view version,
                                           std::vector<UndecodableObject> undecodable) {
    List(std::move(pods), version, std::move(undecodable));
    return AfterList(watch, [&] { watch.Fail(Expired()); });
  }
  template <typename F>
  std::shared_ptr<ScriptedWatch> AfterList(ScriptedWatch& watch, F end) {
    EXPECT_TRUE(watch.WaitDrained());
    const std::size_t watches = source_->watches().size();
    std::shared_ptr<ScriptedWatch> next = source_->AddWatch();
    end();
    const Context patience = Soon();
    while (source_->watches().size() <= watches && !patience.stopped()) {
      clock_->Advance(std::chrono::seconds(1));
      (void)Context::Background().SleepFor(std::chrono::milliseconds(2));
    }
    EXPECT_TRUE(next->WaitDrained());
    return next;
  }
  // What Get of the lister says.
  std::string Get(std::string_view name) const {
    const Result<Ptr<Pod>> pod = informer_->lister().Get({"default", String(name)});
    if (pod) return (*pod)->metadata.resource_version.str();
    EXPECT_FALSE(IsNotFound(pod.error()) && IsUndecodable(pod.error()));
    if (IsUndecodable(pod.error())) return "undecodable";
    return IsNotFound(pod.error()) ? "not found" : pod.error().ToString();
  }
  std::vector<std::string> Listed() const {
    std::vector<std::string> out;
    for (const Ptr<Pod>& pod : informer_->lister().List())
      out.push_back(pod->metadata.name.str() + "@" + pod->metadata.resource_version.str());
    return out;
  }

  std::shared_ptr<RecordedMetrics> metrics_ = std::make_shared<RecordedMetrics>();
  Witness<Pod> witness_;
  std::optional<SharedInformer<Pod>> informer_;
  HandlerRegistration registration_;
};

TEST_F(UndecodableTest, TheOthersOfAListAreServed) {
  List({PodAt("a", "1"), PodAt("c", "3")}, "10", {Bad("b", "2")});
  const auto watch = source_->AddWatch();
  StartWithLists();
  EXPECT_THAT(Listed(), UnorderedElementsAre("a@1", "c@3"));
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "undecodable");
  EXPECT_EQ(Get("x"), "not found");
  const Result<Ptr<Pod>> bad = informer_->lister().Namespace("default").Get("b");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().ToString(), "default/b cannot be decoded: spec: too deep");
  EXPECT_EQ(informer_->status().undecodable, 1U);
  EXPECT_FALSE(informer_->status().more_undecodable);
  EXPECT_THAT(informer_->status().ToString(), HasSubstr("1 object cannot be decoded: default/b (spec: too deep)"));
  EXPECT_EQ(metrics_->Value("kubexx_cache_undecodable_total", {{"resource", "pods"}, {"namespace", ""}}), 1);
  EXPECT_TRUE(witness_.WaitForCalls(2));

  // It heals when it changes.
  watch->Modified(PodAt("b", "11"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(Get("b"), "11");
  EXPECT_EQ(informer_->status().undecodable, 0U);
  EXPECT_TRUE(witness_.WaitFor("add default/b@11"));
  EXPECT_THAT(witness_.contradictions(), IsEmpty());
}

TEST_F(UndecodableTest, TheLastGoodVersionStays) {
  List({PodAt("a", "1"), PodAt("b", "2")}, "10", {});
  auto watch = source_->AddWatch();
  StartWithLists();
  ASSERT_TRUE(witness_.WaitForCalls(2));
  watch->Undecodable(WatchEventType::kModified, Bad("b", "11"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(Get("b"), "undecodable");
  EXPECT_THAT(Listed(), UnorderedElementsAre("a@1", "b@2"));

  // Lists do not delete it, however many there are.
  watch = ListAgain(*watch, {PodAt("a", "1")}, "20", {Bad("b", "11")});
  watch = ListAgain(*watch, {PodAt("a", "1")}, "30", {Bad("b", "21")});
  EXPECT_EQ(Get("b"), "undecodable");
  EXPECT_THAT(Listed(), UnorderedElementsAre("a@1", "b@2"));
  EXPECT_EQ(witness_.said().size(), 2U) << "no handler is called";

  watch->Modified(PodAt("b", "31"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(Get("b"), "31");
  ASSERT_TRUE(witness_.WaitFor("update default/b@2->31"));
  EXPECT_THAT(witness_.contradictions(), IsEmpty());
}

TEST_F(UndecodableTest, AListHealsToo) {
  List({PodAt("a", "1")}, "10", {Bad("b", "2")});
  auto watch = source_->AddWatch();
  StartWithLists();
  watch = ListAgain(*watch, {PodAt("a", "1"), PodAt("b", "12")}, "20", {});
  EXPECT_EQ(Get("b"), "12");
  EXPECT_EQ(informer_->status().undecodable, 0U);
}

TEST_F(UndecodableTest, ADeletionIsADeletion) {
  List({PodAt("a", "1"), PodAt("b", "2")}, "10", {Bad("c", "3"), Bad("d", "4")});
  const auto watch = source_->AddWatch();
  StartWithLists();
  ASSERT_TRUE(witness_.WaitForCalls(2));
  watch->Undecodable(WatchEventType::kModified, Bad("b", "11"));
  watch->Undecodable(WatchEventType::kDeleted, Bad("b", "12"));
  watch->Undecodable(WatchEventType::kDeleted, Bad("c", "13"));
  watch->Deleted(PodAt("d", "14"));  // its last state can be decoded
  ASSERT_TRUE(watch->WaitDrained());
  for (const char* name : {"b", "c", "d"}) EXPECT_EQ(Get(name), "not found") << name;
  EXPECT_THAT(Listed(), ElementsAre("a@1"));
  ASSERT_TRUE(witness_.WaitFor("delete default/b@2 unknown"));
  EXPECT_EQ(witness_.said().size(), 3U);
  EXPECT_EQ(informer_->status().undecodable, 0U);

  // And created again under the same name.
  watch->Added(PodAt("b", "15"));
  watch->Undecodable(WatchEventType::kAdded, Bad("c", "16"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(Get("b"), "15");
  EXPECT_EQ(Get("c"), "undecodable");
}

TEST_F(UndecodableTest, AListThatLacksItDeletesIt) {
  List({PodAt("a", "1"), PodAt("b", "2")}, "10", {Bad("c", "3")});
  auto watch = source_->AddWatch();
  StartWithLists();
  ASSERT_TRUE(witness_.WaitForCalls(2));
  watch->Undecodable(WatchEventType::kModified, Bad("b", "11"));
  watch = ListAgain(*watch, {PodAt("a", "1")}, "20", {});
  EXPECT_EQ(Get("b"), "not found");
  EXPECT_EQ(Get("c"), "not found");
  ASSERT_TRUE(witness_.WaitFor("delete default/b@2 unknown"));
}

TEST_F(UndecodableTest, OfAStreamedList) {
  informer_.emplace(Make());
  registration_ = *informer_->AddEventHandler(witness_.Handler());
  auto watch = source_->AddWatch();
  watch->Added(PodAt("a", "1"));
  watch->Undecodable(WatchEventType::kAdded, Bad("b", "2"));
  watch->Undecodable(WatchEventType::kAdded, Bad("c", "3"));
  watch->Undecodable(WatchEventType::kAdded, Bad("d", "4"));
  watch->Modified(PodAt("c", "5"));
  watch->Undecodable(WatchEventType::kDeleted, Bad("d", "6"));
  watch->Added(PodAt("e", "7"));
  watch->Undecodable(WatchEventType::kModified, Bad("e", "8"));
  watch->Synced("10");
  informer_->Start(ctx_);
  ASSERT_TRUE(informer_->WaitForSync(Soon()));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(Listed(), UnorderedElementsAre("a@1", "c@5", "e@7")) << "the version before stays";
  EXPECT_EQ(Get("b"), "undecodable");
  EXPECT_EQ(Get("c"), "5");
  EXPECT_EQ(Get("d"), "not found");
  EXPECT_EQ(Get("e"), "undecodable");

  // The next stream has a bad object that was good, and keeps it.
  std::shared_ptr<ScriptedWatch> next = source_->AddWatch();
  next->Undecodable(WatchEventType::kAdded, Bad("a", "11"));
  next->Added(PodAt("b", "12"));
  next->Added(PodAt("c", "5"));
  next->Synced("20");
  watch->Fail(Expired());
  PassWaits(*watch, *next, 2);
  EXPECT_THAT(Listed(), UnorderedElementsAre("a@1", "b@12", "c@5"));
  EXPECT_EQ(Get("a"), "undecodable");
  EXPECT_EQ(Get("e"), "not found");
  EXPECT_THAT(witness_.contradictions(), IsEmpty());
}

TEST_F(UndecodableTest, AnotherObjectOfTheSameNameReplacesTheOneThatIsGone) {
  List({PodOf("a", "1", "u1"), PodOf("b", "2", "u2")}, "10", {});
  auto watch = source_->AddWatch();
  StartWithLists();
  ASSERT_TRUE(witness_.WaitForCalls(2));
  watch = ListAgain(*watch, {PodOf("b", "2", "u2")}, "20", {Bad("a", "15", "u9")});
  EXPECT_EQ(Get("a"), "undecodable");
  EXPECT_THAT(Listed(), ElementsAre("b@2"));
  ASSERT_TRUE(witness_.WaitFor("delete default/a@1 unknown"));
  watch->Undecodable(WatchEventType::kAdded, Bad("b", "21", "u8"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(Get("b"), "undecodable");
  EXPECT_THAT(Listed(), IsEmpty());
  ASSERT_TRUE(witness_.WaitFor("delete default/b@2 unknown"));
  watch->Modified(PodOf("a", "22", "u9"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(Get("a"), "22");
  ASSERT_TRUE(witness_.WaitFor("add default/a@22"));
  EXPECT_THAT(witness_.contradictions(), IsEmpty());
}

TEST_F(UndecodableTest, WithoutANameNothingThatAListLacksIsTakenForDeleted) {
  List({PodAt("a", "1"), PodAt("b", "2")}, "10", {});
  auto watch = source_->AddWatch();
  StartWithLists();
  ASSERT_TRUE(witness_.WaitForCalls(2));
  watch = ListAgain(*watch, {PodAt("a", "1")}, "20", {kUnnamed});
  EXPECT_THAT(Listed(), UnorderedElementsAre("a@1", "b@2"));
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "undecodable") << "it may be the one without a name";
  EXPECT_EQ(Get("x"), "undecodable") << "so may this";
  EXPECT_TRUE(informer_->status().more_undecodable);
  EXPECT_EQ(witness_.said().size(), 2U);

  // A list in which all have names has the truth.
  watch = ListAgain(*watch, {PodAt("a", "1")}, "30", {});
  EXPECT_THAT(Listed(), ElementsAre("a@1"));
  EXPECT_EQ(Get("b"), "not found");
  EXPECT_EQ(Get("x"), "not found");
  EXPECT_TRUE(witness_.WaitFor("delete default/b@2 unknown"));
}

TEST_F(UndecodableTest, AKeyWithoutItsNamespaceIsNoKey) {
  List({PodAt("a", "1"), PodAt("b", "2")}, "10", {});
  auto watch = source_->AddWatch();
  StartWithLists();
  ASSERT_TRUE(witness_.WaitForCalls(2));
  const UndecodableObject half{.key = {"", "b"}, .resource_version = "11", .error = "malformed"};
  watch = ListAgain(*watch, {PodAt("a", "1")}, "20", {half});
  EXPECT_THAT(Listed(), UnorderedElementsAre("a@1", "b@2"));
  EXPECT_EQ(Get("b"), "undecodable");
  EXPECT_EQ(witness_.said().size(), 2U) << "nothing is deleted";

  // Which object a watch speaks of is known to a list alone.
  List({PodAt("a", "1")}, "30", {});
  watch = AfterList(*watch, [&] { watch->Undecodable(WatchEventType::kDeleted, half); });
  EXPECT_EQ(Get("b"), "not found");
  EXPECT_TRUE(witness_.WaitFor("delete default/b@2 unknown"));
}

TEST_F(UndecodableTest, WithoutANameOneNamespaceIsInDoubt) {
  List({PodAt("a", "1"), PodAt("b", "2"), PodAt("c", "3", "other")}, "10", {});
  auto watch = source_->AddWatch();
  StartWithLists();
  ASSERT_TRUE(witness_.WaitForCalls(3));
  watch = ListAgain(*watch, {PodAt("a", "1")}, "20", {{.key = {"default", ""}, .error = "malformed"}});
  EXPECT_THAT(Listed(), UnorderedElementsAre("a@1", "b@2"));
  EXPECT_EQ(Get("b"), "undecodable");
  EXPECT_TRUE(IsNotFound(informer_->lister().Get({"other", "c"}).error()));
  EXPECT_TRUE(witness_.WaitFor("delete other/c@3 unknown"));
}

TEST_F(UndecodableTest, AnEventWithoutANameIsAnsweredWithAList) {
  List({PodAt("a", "1"), PodAt("b", "2")}, "10", {});
  auto watch = source_->AddWatch();
  StartWithLists();
  List({PodAt("a", "11")}, "20", {});
  watch = AfterList(*watch, [&] { watch->Undecodable(WatchEventType::kDeleted, kUnnamed); });
  EXPECT_EQ(source_->lists().size(), 2U);
  EXPECT_THAT(Listed(), ElementsAre("a@11"));
}

// It can be decoded, but its key is missing, so the cached object is unknown.
TEST_F(UndecodableTest, ADecodableEventWithoutANameIsAnsweredWithAList) {
  List({PodAt("a", "1"), PodAt("b", "2")}, "10", {});
  auto watch = source_->AddWatch();
  StartWithLists();
  List({PodAt("a", "11")}, "20", {});
  watch = AfterList(*watch, [&] { watch->Deleted(PodAt("", "11")); });
  EXPECT_EQ(source_->lists().size(), 2U);
  EXPECT_THAT(Listed(), ElementsAre("a@11"));
  // Each one is answered with one list, after the backoff: no loop.
  List({PodAt("a", "11")}, "30", {});
  watch = AfterList(*watch, [&] { watch->Modified(PodAt("", "21")); });
  EXPECT_EQ(source_->lists().size(), 3U);
  watch->Modified(PodAt("a", "31"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(source_->lists().size(), 3U);
  EXPECT_THAT(Listed(), ElementsAre("a@31"));
}

TEST_F(UndecodableTest, ABoundedNumberIsRemembered) {
  std::vector<Pod> pods;
  std::vector<UndecodableObject> bad;
  const std::size_t many = UndecodableSet::kMost + 200;
  for (std::size_t i = 0; i < many; ++i) {
    const std::string name = "p" + std::to_string(10'000 + i);
    pods.push_back(PodAt(name, "1"));
    bad.push_back(Bad(name, "11"));
  }
  pods.push_back(PodAt("good", "1"));
  List(pods, "10", {});
  auto watch = source_->AddWatch();
  StartWithLists();
  ASSERT_TRUE(witness_.WaitForCalls(many + 1));
  watch = ListAgain(*watch, {PodAt("good", "1")}, "20", bad);
  EXPECT_EQ(Listed().size(), many + 1) << "all of them stay";
  EXPECT_EQ(witness_.said().size(), many + 1) << "none of them is deleted";
  EXPECT_EQ(informer_->status().undecodable, UndecodableSet::kMost);
  EXPECT_TRUE(informer_->status().more_undecodable);
  EXPECT_EQ(informer_->status().undecodable_objects.size(), 10U);
  EXPECT_EQ(Get("good"), "1");
  EXPECT_EQ(Get("p10000"), "undecodable");
  EXPECT_EQ(Get("p" + std::to_string(10'000 + many - 1)), "undecodable") << "the version that stayed is not the newest";
  EXPECT_EQ(Get("gone"), "not found") << "those that are too many for their reasons are known all the same";

  // What comes later counts.
  const std::string last = "p" + std::to_string(10'000 + many - 1), before_last = "p" + std::to_string(10'000 + many - 2);
  watch->Modified(PodAt(last, "5"));  // older than the one that could not be decoded
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(Get(last), "undecodable");
  watch->Modified(PodAt(last, "21"));
  watch->Undecodable(WatchEventType::kDeleted, Bad(before_last, "22"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(Get(last), "21");
  EXPECT_EQ(Get(before_last), "not found");
  EXPECT_TRUE(witness_.WaitFor("delete default/" + before_last + "@1 unknown"));

  // Nothing is in doubt, so the end of a watch needs no list.
  watch = AfterList(*watch, [&] {
    clock_->Advance(std::chrono::seconds(5));  // no short watch
    watch->End();
  });
  EXPECT_EQ(source_->lists().size(), 2U);
}

TEST_F(UndecodableTest, ATenantWithVeryManyHarmsNoOther) {
  std::vector<UndecodableObject> bad;
  for (std::size_t i = 0; i <= UndecodableSet::kMost; ++i) {
    bad.push_back({.key = {"a", String("p" + std::to_string(i))}, .resource_version = "2", .error = "spec: too deep"});
  }
  List({PodAt("mine", "1", "b")}, "10", bad);
  auto watch = source_->AddWatch();
  StartWithLists();
  const auto get = [&](const char* ns, const std::string& name) { return informer_->lister().Get({String(ns), String(name)}); };
  for (const UndecodableObject& object : bad) EXPECT_TRUE(IsUndecodable(get("a", object.key.name.str()).error())) << object.key;
  EXPECT_TRUE(IsNotFound(get("a", "none").error()));
  watch->Deleted(PodAt("mine", "11", "b"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_TRUE(IsNotFound(get("b", "mine").error()));
}

TEST_F(UndecodableTest, WhatIsDeletedIsGoneWhateverIsInDoubt) {
  List({PodAt("a", "1"), PodAt("b", "2")}, "10", {kUnnamed});
  auto watch = source_->AddWatch();
  StartWithLists();
  EXPECT_EQ(Get("x"), "undecodable");
  watch->Deleted(PodAt("a", "11"));
  watch->Undecodable(WatchEventType::kDeleted, Bad("b", "12"));
  watch->Deleted(PodAt("x", "13"));
  ASSERT_TRUE(watch->WaitDrained());
  for (const char* name : {"a", "b", "x"}) EXPECT_EQ(Get(name), "not found") << name;
  EXPECT_EQ(Get("y"), "undecodable");
  watch->Undecodable(WatchEventType::kAdded, Bad("a", "14"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(Get("a"), "undecodable");
}

// Which of the errors a read of the key gets.
std::string ErrorIn(const UndecodableSet& set, const ObjectKey& key, bool cached = false) {
  const std::optional<Error> error = set.ErrorOf(key, cached);
  return error ? error->message() : "";
}

TEST(UndecodableSetTest, NamespacesShareTheRoom) {
  UndecodableSet set;
  const auto add = [&](const std::string& ns, std::size_t i, bool cached) {
    set.Add({.key = {String(ns), String(std::to_string(i))}, .resource_version = "7", .error = "bad"}, cached);
  };
  const std::size_t many = UndecodableSet::kMost + UndecodableSet::kMostHashes;
  for (std::size_t i = 0; i < many; ++i) add("a", i, false);
  EXPECT_TRUE(set.doubtful());
  EXPECT_EQ(set.size(), UndecodableSet::kMost);
  EXPECT_THAT(ErrorIn(set, {"a", "0"}), HasSubstr("bad"));
  EXPECT_THAT(ErrorIn(set, {"a", "1000"}), HasSubstr("the reason was not kept"));
  EXPECT_THAT(ErrorIn(set, {"a", String(std::to_string(many - 1))}), HasSubstr("could not identify"));
  EXPECT_EQ(ErrorIn(set, {"a", "good"}, true), "");
  EXPECT_EQ(ErrorIn(set, {"b", "none"}), "") << "the doubt is about namespace a";

  // There is room for those of others, and always for what the cache has.
  for (std::size_t i = 0; i < 20'000; ++i) add("b", i, false);
  EXPECT_THAT(ErrorIn(set, {"b", "19999"}), HasSubstr("the reason was not kept"));
  EXPECT_EQ(ErrorIn(set, {"b", "none"}), "");
  for (std::size_t i = many; i < many + 10; ++i) add("a", i, true);
  EXPECT_THAT(ErrorIn(set, {"a", String(std::to_string(many + 9))}, true), HasSubstr("the reason was not kept"));
  ASSERT_TRUE(set.Find({"b", "19999"}));
  EXPECT_EQ(set.Find({"b", "19999"})->resource_version, "7");

  // All of them go, and so does the room that they took.
  for (std::size_t i = 0; i < many + 10; ++i) set.Healed({"a", String(std::to_string(i))});
  for (std::size_t i = 0; i < 20'000; ++i) set.Deleted({"b", String(std::to_string(i))});
  EXPECT_EQ(set.size(), 0U);
  EXPECT_EQ(ErrorIn(set, {"b", "1"}), "");
}

TEST(UndecodableSetTest, AnObjectWithoutANamePutsItsNamespaceInDoubt) {
  UndecodableSet set;
  set.Add({.key = {"a", ""}}, false);
  EXPECT_TRUE(set.doubtful());
  EXPECT_NE(ErrorIn(set, {"a", "x"}), "");
  EXPECT_EQ(ErrorIn(set, {"b", "x"}), "");
  set.Add({}, false);
  EXPECT_NE(ErrorIn(set, {"b", "x"}), "");
  EXPECT_EQ(ErrorIn(set, {"b", "x"}, true), "");
  set.Deleted({"b", "x"});
  EXPECT_EQ(ErrorIn(set, {"b", "x"}), "");
  set.Add({.key = {"b", "x"}, .error = "bad"}, false);
  EXPECT_NE(ErrorIn(set, {"b", "x"}), "");
}

TEST_F(UndecodableTest, EventsOfAWatchAreBoundedToo) {
  List({PodAt("good", "1")}, "10", {});
  auto watch = source_->AddWatch();
  StartWithLists();
  const std::size_t many = UndecodableSet::kMost + 5;
  for (std::size_t i = 0; i < many; ++i) watch->Undecodable(WatchEventType::kAdded, Bad("p" + std::to_string(i), std::to_string(11 + i)));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(informer_->status().undecodable, UndecodableSet::kMost);
  EXPECT_TRUE(informer_->status().more_undecodable);
  EXPECT_EQ(Get("p" + std::to_string(many - 1)), "undecodable");
  EXPECT_EQ(Get("good"), "1");
}

TEST_F(UndecodableTest, LateEventsChangeNothing) {
  List({PodAt("a", "5"), PodAt("b", "6")}, "10", {});
  auto watch = source_->AddWatch();
  StartWithLists();
  watch->Undecodable(WatchEventType::kModified, Bad("a", "4"));  // older than what is here
  watch->Undecodable(WatchEventType::kModified, Bad("b", "20"));
  watch->Modified(PodAt("b", "15"));  // older than the one that could not be decoded
  watch->Undecodable(WatchEventType::kModified, Bad("b", "20"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(Get("a"), "5");
  EXPECT_EQ(Get("b"), "undecodable");
  EXPECT_THAT(Listed(), UnorderedElementsAre("a@5", "b@6"));
  watch->Deleted(PodAt("a", "21"));
  watch->Undecodable(WatchEventType::kModified, Bad("a", "19"));  // deleted since
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(Get("a"), "not found");
}

TEST_F(UndecodableTest, AHandlerThatJoinsLateGetsTheLastGoodVersion) {
  List({PodAt("a", "1"), PodAt("b", "2")}, "10", {Bad("c", "3")});
  auto watch = source_->AddWatch();
  StartWithLists();
  watch->Undecodable(WatchEventType::kModified, Bad("b", "11"));
  ASSERT_TRUE(watch->WaitDrained());
  Witness<Pod> late;
  const HandlerRegistration registration = *informer_->AddEventHandler(late.Handler());
  ASSERT_TRUE(registration.WaitForSync(Soon()));
  EXPECT_THAT(late.said(), UnorderedElementsAre("add default/a@1 initial", "add default/b@2 initial"));
}

TEST_F(UndecodableTest, TheVersionMovesOn) {
  List({PodAt("a", "1")}, "10", {});
  auto watch = source_->AddWatch();
  StartWithLists();
  watch->Undecodable(WatchEventType::kAdded, Bad("b", "17"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(informer_->status().reflector.resource_version, "17");
  EXPECT_TRUE(informer_->WaitUntilSeen(Soon(), {"default", "b"}, "17")) << "a waiter for a write of it does not wait indefinitely";
  EXPECT_EQ(informer_->status().reflector.failures, 0U);
}

TEST_F(UndecodableTest, WhatATransformRefusesIsNotServedAsFresh) {
  List({PodAt("a", "1"), PodAt("b", "2")}, "10", {});
  auto watch = source_->AddWatch();
  informer_.emplace(InformerAccess::Make<Pod>(std::make_shared<InformerHandle>(std::make_shared<InformerCore>(
      source_, ObjectForm::Of<Pod>(), Gvr{"", "v1", "pods"}, InformerOptions{.watch_list = false}, metrics_))));
  ASSERT_TRUE(informer_->Transform([](Pod& pod) -> Result<void> {
    if (pod.metadata.labels.Get("bad") == "yes") return Error::Invalid("not this one");
    return {};
  }));
  informer_->Start(ctx_);
  ASSERT_TRUE(informer_->WaitForSync(Soon()));
  Pod bad = PodAt("b", "11");
  bad.metadata.labels["bad"] = "yes";
  watch->Modified(bad);
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(informer_->lister().Get({"default", "b"}).error().message(), "default/b cannot be decoded: transform: not this one");
  watch = ListAgain(*watch, {PodAt("a", "1"), bad}, "20", {});
  EXPECT_THAT(Listed(), UnorderedElementsAre("a@1", "b@2"));
  EXPECT_EQ(Get("b"), "undecodable");
  watch->Modified(PodAt("b", "21"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(Get("b"), "21");
}

TEST_F(UndecodableTest, TwoInformersKeepTheirOwn) {
  List({PodAt("a", "1")}, "10", {Bad("b", "2")});
  (void)source_->AddWatch();
  StartWithLists();
  auto other_source = std::make_shared<ScriptedSource>();
  other_source->AddList(PageOf<Pod>({PodAt("a", "1"), PodAt("b", "2")}, "10"));
  (void)other_source->AddWatch();
  const auto other = InformerAccess::Make<Pod>(std::make_shared<InformerHandle>(std::make_shared<InformerCore>(
      other_source, ObjectForm::Of<Pod>(), Gvr{"", "v1", "pods"}, InformerOptions{.watch_list = false}, nullptr)));
  other.Start(ctx_);
  ASSERT_TRUE(other.WaitForSync(Soon()));
  EXPECT_TRUE(other.lister().Get({"default", "b"}));
  EXPECT_EQ(Get("b"), "undecodable");
}

TEST_F(UndecodableTest, TheLogNamesTenInAMinute) {
  auto log = std::make_shared<RecordingLog>();
  LogBackend::Default()->SetSink(log);
  List({PodAt("a", "1")}, "10", {});
  auto watch = source_->AddWatch();
  StartWithLists();
  for (int i = 0; i < 25; ++i) watch->Undecodable(WatchEventType::kAdded, Bad("p" + std::to_string(i), std::to_string(11 + i)));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(log->Count("An object cannot be decoded"), 10U) << log->text();
  LogBackend::Default()->SetSink(MakeTextSink());
}

}  // namespace
}  // namespace kube::internal
