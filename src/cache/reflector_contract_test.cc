// The first eight of the 25 contracts that are most likely to be got wrong. See docs/informers.md.
#include "cache/reflector_test_util.h"

namespace kube::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// 1. After a watch fails with 410, the next list carries the last version; "" follows only if that list also fails.
class Contract01_RelistAfterGone : public ReflectorFixture {};

TEST_F(Contract01_RelistAfterGone, TheNextListCarriesTheLastVersion) {
  const auto watch = StartWatching("10");
  watch->Added(PodAt("b", "12"));
  watch->Fail(Expired());
  source_->AddList(PageOf<Pod>({}, "20"));
  PassWait(1);
  ASSERT_TRUE(source_->WaitForWatches(2));
  EXPECT_THAT(Versions(source_->lists()), ElementsAre("0", "12"));
  EXPECT_EQ(source_->watches()[1].resource_version, "20");
}

TEST_F(Contract01_RelistAfterGone, TheNewestVersionIsAskedForOnlyWhereThatListIsGoneToo) {
  const auto watch = StartWatching("10");
  watch->Fail(Expired());
  source_->AddList(Expired());
  source_->AddList(PageOf<Pod>({}, "20"));
  PassWait(1);
  ASSERT_TRUE(source_->WaitForWatches(2));
  EXPECT_THAT(Versions(source_->lists()), ElementsAre("0", "10", ""));
  EXPECT_EQ(waits(), 1U) << "the third list follows at once";
}

TEST_F(Contract01_RelistAfterGone, OrWhereItsVersionIsTooLarge) {
  const auto watch = StartWatching("10");
  watch->Fail(Expired());
  source_->AddList(ApiError(504, "Timeout", "Timeout: Too large resource version: 10, current: 5"));
  source_->AddList(PageOf<Pod>({}, "20"));
  PassWait(1);
  ASSERT_TRUE(source_->WaitForWatches(2));
  EXPECT_THAT(Versions(source_->lists()), ElementsAre("0", "10", ""));
}

TEST_F(Contract01_RelistAfterGone, AStreamedRelistCarriesTheLastVersionAsWell) {
  const auto first = source_->AddWatch();
  first->Synced("10");
  first->Modified(PodAt("a", "13"));
  first->Fail(Expired());
  Start();
  const auto second = source_->AddWatch();
  PassWait(1);
  ASSERT_TRUE(second->WaitDrained());
  EXPECT_EQ(source_->watches()[1].resource_version, "13");
  EXPECT_EQ(source_->watches()[1].send_initial_events, true);
  EXPECT_THAT(source_->lists(), IsEmpty());
}

TEST_F(Contract01_RelistAfterGone, AStreamThatIsGoneAsksForTheNewestAtOnce) {
  const auto first = source_->AddWatch();
  first->Synced("10");
  first->Added(PodAt("a", "11"));
  first->Fail(Expired());
  source_->AddWatchError(Expired());
  const auto third = source_->AddWatch();
  Start();
  PassWait(1);
  ASSERT_TRUE(third->WaitDrained());
  EXPECT_EQ(source_->watches()[1].resource_version, "11");
  EXPECT_EQ(source_->watches()[2].resource_version, "");
  EXPECT_EQ(waits(), 1U);
  third->Synced("30");
  third->Added(PodAt("a", "31"));
  third->Fail(Expired());
  const auto fourth = source_->AddWatch();
  PassWait(2);
  ASSERT_TRUE(fourth->WaitDrained());
  EXPECT_EQ(source_->watches()[3].resource_version, "31") << "versions are trusted again after a list that worked";
}

// 2. The first list has version "0" and a limit of 500; one at a real version has no limit.
class Contract02_ListLimits : public ReflectorFixture {};

TEST_F(Contract02_ListLimits, TheFirstListTakesAnyVersionInPagesOf500) {
  (void)StartWatching();
  ASSERT_THAT(source_->lists(), SizeIs(1));
  EXPECT_EQ(source_->lists()[0].resource_version, "0");
  EXPECT_EQ(source_->lists()[0].resource_version_match, "");
  EXPECT_EQ(source_->lists()[0].limit, 500);
}

TEST_F(Contract02_ListLimits, ARelistAtARealVersionHasNoLimit) {
  const auto watch = StartWatching("10");
  watch->Fail(Expired());
  source_->AddList(PageOf<Pod>({}, "20"));
  PassWait(1);
  ASSERT_TRUE(source_->WaitForWatches(2));
  ASSERT_THAT(source_->lists(), SizeIs(2));
  EXPECT_EQ(source_->lists()[1].resource_version, "10");
  EXPECT_EQ(source_->lists()[1].limit, 0);
}

TEST_F(Contract02_ListLimits, TheListOfTheNewestKeepsWhatTheRelistHad) {
  const auto watch = StartWatching("10");
  watch->Fail(Expired());
  source_->AddList(Expired());
  source_->AddList(PageOf<Pod>({}, "20"));
  PassWait(1);
  ASSERT_TRUE(source_->WaitForWatches(2));
  ASSERT_THAT(source_->lists(), SizeIs(3));
  EXPECT_EQ(source_->lists()[2].limit, 0);
}

// 3. 429 and refused connections when a watch is opened: another watch, later, and no list.
class Contract03_NoRelistWhereTheServerIsBusy : public ReflectorFixture {};

TEST_F(Contract03_NoRelistWhereTheServerIsBusy, TooManyRequestsDelaysTheWatchAndListsNothing) {
  UseLists();
  source_->AddList(PageOf<Pod>({}, "10"));
  for (int i = 0; i < 4; ++i) source_->AddWatchError(TooManyRequests());
  const auto watch = source_->AddWatch();
  Start();
  EXPECT_EQ(PassWait(1).count(), 800);
  EXPECT_EQ(PassWait(2).count(), 1600);
  EXPECT_EQ(PassWait(3).count(), 3200);
  EXPECT_EQ(PassWait(4).count(), 6400);
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(source_->requests(), ElementsAre("list", "watch", "watch", "watch", "watch", "watch"));
  for (const WatchOptions& request : source_->watches()) EXPECT_EQ(request.resource_version, "10");
}

TEST_F(Contract03_NoRelistWhereTheServerIsBusy, ARefusedConnectionDelaysTheWatchAndListsNothing) {
  UseLists();
  source_->AddList(PageOf<Pod>({}, "10"));
  source_->AddWatchError(Refused());
  const auto watch = source_->AddWatch();
  Start();
  EXPECT_EQ(PassWait(1).count(), 800);
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(source_->requests(), ElementsAre("list", "watch", "watch"));
}

TEST_F(Contract03_NoRelistWhereTheServerIsBusy, OtherErrorsEndTheRound) {
  UseLists();
  source_->AddList(PageOf<Pod>({}, "10"));
  source_->AddWatchError(ApiError(403, "Forbidden", "pods is forbidden"));
  source_->AddList(PageOf<Pod>({}, "11"));
  const auto watch = source_->AddWatch();
  Start();
  PassWait(1);
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(source_->requests(), ElementsAre("list", "watch", "list", "watch"));
}

// 4. A watch that closes normally is opened again at once, from the last version, without a list.
class Contract04_RewatchAtOnce : public ReflectorFixture {};

TEST_F(Contract04_RewatchAtOnce, FromTheLastVersionWithoutListAndDelay) {
  const auto first = StartWatching("10");
  first->Added(PodAt("b", "11"));
  first->Modified(PodAt("b", "12"));
  const auto second = source_->AddWatch();
  first->End();
  ASSERT_TRUE(second->WaitDrained());
  second->Bookmark("20");
  const auto third = source_->AddWatch();
  second->End();
  ASSERT_TRUE(third->WaitDrained());
  EXPECT_THAT(source_->requests(), ElementsAre("list", "watch", "watch", "watch"));
  EXPECT_EQ(source_->watches()[1].resource_version, "12");
  EXPECT_EQ(source_->watches()[2].resource_version, "20");
  EXPECT_EQ(waits(), 0U);
  EXPECT_EQ(first->stops(), 1);
  EXPECT_EQ(second->stops(), 1);
}

TEST_F(Contract04_RewatchAtOnce, AlsoWithoutEventsWhereItWasOpenForAWhile) {
  const auto first = StartWatching("10");
  clock_->Advance(std::chrono::seconds(2));
  const auto second = source_->AddWatch();
  first->End();
  ASSERT_TRUE(second->WaitDrained());
  EXPECT_EQ(source_->watches()[1].resource_version, "10");
  EXPECT_EQ(waits(), 0U);
}

// 5. In streaming mode nothing changes before a bookmark with k8s.io/initial-events-end: "true".
class Contract05_StreamedListEndsWithItsBookmark : public ReflectorFixture {};

TEST_F(Contract05_StreamedListEndsWithItsBookmark, NothingIsSeenBefore) {
  const auto watch = source_->AddWatch();
  watch->Added(PodAt("a", "5"));
  watch->Added(PodAt("b", "3"));
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.calls(), IsEmpty());
  EXPECT_EQ(sink_.flushes(), 0U);
  EXPECT_EQ(reflector_->last_resource_version(), "");
  watch->Synced("7");
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 2 @7"));
  EXPECT_EQ(sink_.content(), (Content{{"default/a", "5"}, {"default/b", "3"}}));
  EXPECT_EQ(reflector_->last_resource_version(), "7");
}

TEST_F(Contract05_StreamedListEndsWithItsBookmark, TheValueFalseDoesNotCount) {
  const auto watch = source_->AddWatch();
  watch->Added(PodAt("a", "5"));
  watch->Bookmark("6", "false");
  watch->Bookmark("7");
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.calls(), IsEmpty());
  EXPECT_EQ(reflector_->status().state, ReflectorState::kStreaming);
  watch->Synced("8");
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 1 @8"));
}

TEST_F(Contract05_StreamedListEndsWithItsBookmark, ChangesMeanwhileAreApplied) {
  const auto watch = source_->AddWatch();
  watch->Added(PodAt("a", "1"));
  watch->Added(PodAt("b", "2"));
  watch->Modified(PodAt("a", "3"));
  watch->Deleted(PodAt("b", "4"));
  watch->Modified(PodAt("c", "5"));
  watch->Synced("6");
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 2 @6"));
  EXPECT_EQ(sink_.content(), (Content{{"default/a", "3"}, {"default/c", "5"}}));
}

TEST_F(Contract05_StreamedListEndsWithItsBookmark, AnEmptyListIsAReplaceWithNothing) {
  const auto watch = source_->AddWatch();
  watch->Synced("6");
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 0 @6"));
}

// 6. After that bookmark the same stream goes on.
class Contract06_TheSameStreamGoesOn : public ReflectorFixture {};

TEST_F(Contract06_TheSameStreamGoesOn, NoSecondWatchIsOpened) {
  const auto watch = source_->AddWatch();
  watch->Added(PodAt("a", "1"));
  watch->Synced("6");
  watch->Added(PodAt("b", "7"));
  watch->Modified(PodAt("a", "8"));
  watch->Deleted(PodAt("b", "9"));
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 1 @6", "add default/b", "update default/a", "delete default/b"));
  EXPECT_THAT(source_->requests(), ElementsAre("watch"));
  EXPECT_EQ(reflector_->last_resource_version(), "9");
  EXPECT_EQ(watch->stops(), 0);
}

TEST_F(Contract06_TheSameStreamGoesOn, WhenItEndsASteadyWatchFollows) {
  const auto watch = source_->AddWatch();
  watch->Synced("6");
  watch->Added(PodAt("b", "7"));
  const auto second = source_->AddWatch();
  watch->End();
  Start();
  ASSERT_TRUE(second->WaitDrained());
  EXPECT_THAT(source_->requests(), ElementsAre("watch", "watch"));
  const WatchOptions steady = source_->watches()[1];
  EXPECT_EQ(steady.resource_version, "7");
  EXPECT_EQ(steady.resource_version_match, "");
  EXPECT_EQ(steady.send_initial_events, std::nullopt);
  EXPECT_TRUE(steady.bookmarks);
}

// 7. A server that refuses sendInitialEvents is listed in that round; the next full sync tries the stream again.
class Contract07_FallBackIsNotSticky : public ReflectorFixture {};

TEST_F(Contract07_FallBackIsNotSticky, ListsInThatRoundAndStreamsInTheNext) {
  source_->AddWatchError(ApiError(422, "Invalid", "sendInitialEvents is forbidden for watch"));
  source_->AddList(PageOf<Pod>({PodAt("a", "1")}, "10"));
  const auto watch = source_->AddWatch();
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(source_->requests(), ElementsAre("watch", "list", "watch"));
  EXPECT_EQ(source_->lists()[0].resource_version, "0");
  EXPECT_EQ(source_->lists()[0].limit, 500);
  EXPECT_EQ(source_->watches()[1].send_initial_events, std::nullopt);
  EXPECT_EQ(source_->watches()[1].resource_version, "10");
  EXPECT_EQ(waits(), 0U) << "the list follows at once";

  const auto stream = source_->AddWatch();
  watch->Fail(Expired());
  PassWait(1);
  ASSERT_TRUE(stream->WaitDrained());
  EXPECT_EQ(source_->watches()[2].send_initial_events, true);
  EXPECT_EQ(source_->watches()[2].resource_version, "10");
  EXPECT_THAT(source_->lists(), SizeIs(1));
}

TEST_F(Contract07_FallBackIsNotSticky, AnyOtherErrorFallsBackToo) {
  source_->AddWatchError(ApiError(500, "InternalError", "no"));
  source_->AddList(PageOf<Pod>({}, "10"));
  const auto watch = source_->AddWatch();
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(source_->requests(), ElementsAre("watch", "list", "watch"));
}

// 8. The versions of synthetic ADDED events never become the version to go on from.
class Contract08_SyntheticVersionsDoNotCount : public ReflectorFixture {};

TEST_F(Contract08_SyntheticVersionsDoNotCount, OfAStreamThatEndsEarly) {
  const auto first = source_->AddWatch();
  first->Added(PodAt("a", "100"));
  first->Added(PodAt("b", "3"));
  const auto second = source_->AddWatch();
  first->End();
  Start();
  ASSERT_TRUE(second->WaitDrained());
  EXPECT_EQ(source_->watches()[1].resource_version, "");
  EXPECT_EQ(reflector_->last_resource_version(), "");
}

TEST_F(Contract08_SyntheticVersionsDoNotCount, OfAWatchThatBeginsWithWhatIsThere) {
  for (const char* const version : {"", "0"}) {
    SCOPED_TRACE(version);
    auto source = std::make_shared<ScriptedSource>();
    RecordingSink sink;
    ReflectorOptions options = options_;
    options.watch_list = false;
    Reflector reflector(source, sink, options);
    source->AddList(PageOf<Pod>({}, version));
    const auto first = source->AddWatch();
    first->Added(PodAt("a", "100"));
    first->Added(PodAt("b", "3"));
    const auto second = source->AddWatch();
    auto [ctx, cancel] = ctx_.WithCancel();
    Thread thread("reflector", [&reflector, context = ctx] { reflector.Run(context); });
    ASSERT_TRUE(first->WaitDrained());
    EXPECT_EQ(reflector.last_resource_version(), version);
    first->End();
    ASSERT_TRUE(second->WaitDrained());
    EXPECT_EQ(source->watches()[1].resource_version, version);
    second->Added(PodAt("c", "90"));
    second->Modified(PodAt("c", "101"));
    second->Added(PodAt("d", "102"));
    ASSERT_TRUE(second->WaitDrained());
    EXPECT_EQ(reflector.last_resource_version(), "102") << "after an event that is no ADDED they are in order";
    cancel.Cancel();
  }
}

TEST_F(Contract08_SyntheticVersionsDoNotCount, ButThoseOfAWatchFromARealVersionDo) {
  const auto watch = StartWatching("10");
  watch->Added(PodAt("b", "11"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(reflector_->last_resource_version(), "11");
}

}  // namespace
}  // namespace kube::internal
