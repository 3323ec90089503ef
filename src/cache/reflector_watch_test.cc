// Watches: how they end, what events do, waits, resyncs, stopping.
#include <atomic>
#include <stdexcept>

#include "cache/reflector_test_util.h"
#include "cache/undecodable_set.h"

namespace kube::internal {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

class ReflectorWatchTest : public ReflectorFixture {};

TEST_F(ReflectorWatchTest, AppliesEventsInOrder) {
  const auto watch = StartWatching("10");
  watch->Added(PodAt("b", "11"));
  watch->Modified(PodAt("a", "12"));
  watch->Deleted(PodAt("b", "13"));
  watch->Bookmark("20");
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 1 @10", "add default/b", "update default/a", "delete default/b", "bookmark @20"));
  EXPECT_EQ(reflector_->last_resource_version(), "20");
}

TEST_F(ReflectorWatchTest, TheVersionFollowsTheLastEventEvenDownwards) {
  const auto watch = StartWatching("10");
  watch->Added(PodAt("b", "32"));
  watch->Modified(PodAt("a", "7"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(reflector_->last_resource_version(), "7");
}

TEST_F(ReflectorWatchTest, EveryKindOfEventMovesTheVersion) {
  const auto watch = StartWatching("10");
  watch->Added(PodAt("b", "11"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(reflector_->last_resource_version(), "11");
  watch->Modified(PodAt("b", "12"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(reflector_->last_resource_version(), "12");
  watch->Bookmark("13");
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(reflector_->last_resource_version(), "13");
  watch->Deleted(PodAt("b", "14"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(reflector_->last_resource_version(), "14");
}

// However much of a streamed list is broken, its reasons take a bounded amount of memory.
TEST_F(ReflectorWatchTest, AStreamedListKeepsABoundedNumberOfReasons) {
  const std::size_t many = UndecodableSet::kMost + 100;
  const auto stream = source_->AddWatch();
  for (std::size_t i = 0; i < many; ++i) {
    stream->Undecodable(WatchEventType::kAdded,
                        {.key = {"default", String("p" + std::to_string(i))}, .resource_version = "1", .error = std::string(100, 'x')});
  }
  stream->Undecodable(WatchEventType::kAdded, {.error = std::string(100, 'x')});
  stream->Added(PodAt("good", "2"));
  stream->Synced("10");
  Start();
  ASSERT_TRUE(stream->WaitDrained());
  EXPECT_EQ(sink_.skipped().size(), many + 1);
  EXPECT_EQ(sink_.reasons(), UndecodableSet::kMost);
  EXPECT_EQ(sink_.content(), (Content{{"default/good", "2"}}));
}

TEST_F(ReflectorWatchTest, ABookmarkWithoutAVersionChangesNothing) {
  const auto watch = StartWatching("10");
  watch->Bookmark("");
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(reflector_->last_resource_version(), "10");
  EXPECT_THAT(sink_.calls(), SizeIs(1));
}

TEST_F(ReflectorWatchTest, FlushesWhereNothingMoreIsHere) {
  const auto watch = StartWatching("10");
  EXPECT_EQ(sink_.flushes(), 1U);
  watch->Hold();
  for (int i = 0; i < 10; ++i) watch->Modified(PodAt("a", std::to_string(11 + i)));
  watch->Release();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.calls(), SizeIs(11));
  EXPECT_EQ(sink_.flushes(), 2U) << "one for all ten";
}

TEST_F(ReflectorWatchTest, FlushesAfterAThousandEventsAtTheLatest) {
  const auto watch = StartWatching("10");
  watch->Hold();
  for (int i = 0; i < 2500; ++i) watch->Modified(PodAt("a", std::to_string(11 + i)));
  watch->Release();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.calls(), SizeIs(2501));
  EXPECT_EQ(sink_.flushes(), 4U);
}

// ---- How watches end ----

TEST_F(ReflectorWatchTest, AnErrorEventClosesTheWatch) {
  const auto watch = StartWatching("10");
  watch->Fail(ApiError(500, "InternalError", "boom"));
  ASSERT_TRUE(watch->WaitStopped());
  source_->AddList(PageOf<Pod>({}, "20"));
  PassWait(1);
  ASSERT_TRUE(source_->WaitForWatches(2));
  EXPECT_EQ(watch->stops(), 1);
  EXPECT_THAT(source_->requests(), ElementsAre("list", "watch", "list", "watch"));
}

TEST_F(ReflectorWatchTest, ErrorsOfAnOpenWatchAreLoggedAndNotTold) {
  int told = 0;
  options_.on_error = [&told](const Error&) { ++told; };
  const auto watch = StartWatching("10");
  watch->Fail(ApiError(500, "InternalError", "boom"));
  source_->AddList(PageOf<Pod>({}, "20"));
  PassWait(1);
  ASSERT_TRUE(source_->WaitForWatches(2));
  EXPECT_EQ(told, 0);
  EXPECT_EQ(log_->Count("W \"pods: boom\""), 1U);
}

TEST_F(ReflectorWatchTest, AnOpenErrorIsTold) {
  std::vector<std::string> told;
  options_.on_error = [&told](const Error& e) { told.push_back(e.message()); };
  UseLists();
  source_->AddList(PageOf<Pod>({}, "10"));
  source_->AddWatchError(ApiError(500, "InternalError", "boom"));
  source_->AddList(PageOf<Pod>({}, "11"));
  Start();
  PassWait(1);
  ASSERT_TRUE(source_->WaitForWatches(2));
  EXPECT_THAT(told, ElementsAre("boom"));
}

TEST_F(ReflectorWatchTest, AVeryShortWatchIsAnErrorAndListsAgain) {
  const auto watch = StartWatching("10");
  watch->End();
  source_->AddList(PageOf<Pod>({}, "20"));
  EXPECT_EQ(PassWait(1).count(), 800);
  ASSERT_TRUE(source_->WaitForWatches(2));
  EXPECT_THAT(source_->requests(), ElementsAre("list", "watch", "list", "watch"));
  EXPECT_EQ(source_->lists()[1].resource_version, "10");
  EXPECT_EQ(watch->stops(), 1);
  EXPECT_EQ(log_->Count("ended within a second without an event"), 1U);
}

TEST_F(ReflectorWatchTest, AStreamThatEndsRightAfterItsListIsNoVeryShortWatch) {
  const auto stream = source_->AddWatch();
  stream->Synced("10");
  stream->End();
  const auto watch = source_->AddWatch();
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(source_->watches()[1].resource_version, "10");
  EXPECT_EQ(source_->watches()[1].send_initial_events, std::nullopt);
  EXPECT_EQ(waits(), 0U);
}

TEST_F(ReflectorWatchTest, TooManyRequestsInTheStreamWaitsAndWatchesAgain) {
  UseLists();
  source_->AddList(PageOf<Pod>({}, "10"));
  source_->AddWatchError(TooManyRequests());
  source_->AddWatch()->Fail(TooManyRequests());
  const auto third = source_->AddWatch();
  Start();
  EXPECT_EQ(PassWait(1).count(), 800);
  EXPECT_EQ(PassWait(2).count(), 1600) << "one backoff for both";
  ASSERT_TRUE(third->WaitDrained());
  EXPECT_THAT(source_->requests(), ElementsAre("list", "watch", "watch", "watch"));
}

// A server that was restored from a backup: its versions are smaller, and it answers a watch from a larger one with silence.
class ReflectorRestoreTest : public ReflectorFixture {};

TEST_F(ReflectorRestoreTest, AServerThatWasAwayIsAskedForTheVersionAndListedAnew) {
  const auto first = StartWatching("10");
  first->Added(PodAt("b", "11"));
  source_->AddWatchError(Refused());
  const auto silent = source_->AddWatch();
  source_->FailChecks(TooLarge());
  source_->AddList(PageOf<Pod>({PodAt("c", "2")}, "3"));
  const auto watch = source_->AddWatch();
  clock_->Advance(std::chrono::seconds(2));
  first->End();
  PassWait(1);
  ASSERT_TRUE(silent->WaitStopped());
  PassWait(2);
  ASSERT_TRUE(watch->WaitDrained()) << log_->text();
  EXPECT_THAT(source_->requests(), ElementsAre("list", "watch", "watch", "watch", "list", "watch"));
  ASSERT_THAT(source_->checks(), ::testing::SizeIs(1));
  EXPECT_EQ(source_->checks()[0].resource_version, "11");
  EXPECT_EQ(source_->lists()[1].resource_version, "") << "a list at the old version is refused for as long";
  EXPECT_EQ(source_->watches().back().resource_version, "3");
  EXPECT_EQ(sink_.content(), (Content{{"default/c", "2"}}));
  watch->Added(PodAt("d", "4"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(reflector_->last_resource_version(), "4");
}

TEST_F(ReflectorRestoreTest, AServerThatHasTheVersionIsWatchedOn) {
  const auto first = StartWatching("10");
  source_->AddWatchError(Refused());
  const auto second = source_->AddWatch();
  clock_->Advance(std::chrono::seconds(2));
  first->End();
  PassWait(1);
  ASSERT_TRUE(second->WaitDrained());
  EXPECT_THAT(source_->requests(), ElementsAre("list", "watch", "watch", "watch"));
  EXPECT_THAT(source_->checks(), ::testing::SizeIs(1));
}

TEST_F(ReflectorRestoreTest, AWatchThatIsSilentForTwoMinutesIsChecked) {
  const auto silent = StartWatching("10");
  source_->FailChecks(TooLarge());
  source_->AddList(PageOf<Pod>({}, "3"));
  const auto watch = source_->AddWatch();
  clock_->Advance(std::chrono::seconds(119));
  ASSERT_TRUE(silent->WaitDrained());
  EXPECT_THAT(source_->checks(), IsEmpty());
  clock_->Advance(std::chrono::seconds(1));
  ASSERT_TRUE(silent->WaitStopped());
  PassWait(1);
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(source_->lists()[1].resource_version, "");
}

TEST_F(ReflectorRestoreTest, AWatchWithBookmarksIsNotChecked) {
  const auto watch = StartWatching("10");
  watch->Bookmark("12");
  ASSERT_TRUE(watch->WaitDrained());
  clock_->Advance(std::chrono::minutes(3));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(source_->checks(), IsEmpty());
}

TEST_F(ReflectorRestoreTest, AStreamedListThatIsNotCompletedIsChecked) {
  const auto first = source_->AddWatch();
  first->Synced("10");
  Start();
  ASSERT_TRUE(first->WaitDrained());
  const auto silent = source_->AddWatch();
  first->Fail(Expired());
  PassWait(1);
  silent->Added(PodAt("a", "2"));
  ASSERT_TRUE(silent->WaitDrained());
  EXPECT_EQ(source_->watches()[1].resource_version, "10");
  source_->FailChecks(TooLarge());
  const auto stream = source_->AddWatch();
  stream->Added(PodAt("a", "2"));
  stream->Synced("3");
  clock_->Advance(std::chrono::seconds(10));
  ASSERT_TRUE(stream->WaitDrained());
  EXPECT_EQ(source_->watches()[2].resource_version, "");
  EXPECT_EQ(reflector_->last_resource_version(), "3");
}

TEST_F(ReflectorWatchTest, TheOuterLoopAndTheWatchShareOneBackoff) {
  UseLists();
  source_->AddList(ApiError(500, "InternalError", "boom"));
  source_->AddList(PageOf<Pod>({}, "10"));
  source_->AddWatchError(TooManyRequests());
  const auto watch = source_->AddWatch();
  Start();
  EXPECT_EQ(PassWait(1).count(), 800);
  EXPECT_EQ(PassWait(2).count(), 1600);
  ASSERT_TRUE(watch->WaitDrained());
  watch->Fail(Expired());
  EXPECT_EQ(PassWait(3).count(), 3200);
}

TEST_F(ReflectorWatchTest, TheBackoffGrowsToThirtySecondsAndStartsOverAfterTwoMinutes) {
  UseLists();
  source_->AnswerLists([](const ListOptions&) { return ApiError(500, "InternalError", "down"); });
  Start();
  const int expected[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 30000, 800, 1600};
  for (std::size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(PassWait(i + 1).count(), expected[i]) << i;
}

TEST_F(ReflectorWatchTest, JitterStretchesWaitsUpToTwice) {
  options_.random = [] { return 0.5; };
  UseLists();
  source_->AnswerLists([](const ListOptions&) { return ApiError(500, "InternalError", "down"); });
  Start();
  EXPECT_EQ(PassWait(1).count(), 1200);
  EXPECT_EQ(PassWait(2).count(), 2400);
}

TEST_F(ReflectorWatchTest, AnotherBackoffCanBeGiven) {
  options_.backoff = {.duration = std::chrono::milliseconds(10), .factor = 3, .steps = 3, .cap = std::chrono::milliseconds(50)};
  UseLists();
  source_->AnswerLists([](const ListOptions&) { return ApiError(500, "InternalError", "down"); });
  Start();
  for (const auto& [n, delay] : {std::pair(1, 10), std::pair(2, 30), std::pair(3, 50), std::pair(4, 50)}) {
    EXPECT_EQ(PassWait(static_cast<std::size_t>(n)).count(), delay);
  }
}

TEST_F(ReflectorWatchTest, InternalErrorsAreRetriedForAsLongAsTold) {
  options_.internal_error_retry = std::chrono::seconds(10);
  std::shared_ptr<ScriptedWatch> watch = StartWatching("10");
  for (int i = 0; i < 2; ++i) {
    const auto next = source_->AddWatch();
    watch->Fail(ApiError(500, "InternalError", "boom"));
    ASSERT_TRUE(next->WaitDrained());
    watch = next;
    clock_->Advance(std::chrono::seconds(6));
  }
  EXPECT_THAT(source_->requests(), ElementsAre("list", "watch", "watch", "watch"));
  EXPECT_EQ(waits(), 0U);
  source_->AddList(PageOf<Pod>({}, "20"));
  watch->Fail(ApiError(500, "InternalError", "boom"));
  PassWait(1);
  ASSERT_TRUE(source_->WaitForWatches(4));
  EXPECT_THAT(source_->lists(), SizeIs(2));
}

TEST_F(ReflectorWatchTest, TimeoutsAreBetweenFiveAndTenMinutes) {
  for (const double random : {0.0, 0.25, 0.999}) {
    auto source = std::make_shared<ScriptedSource>();
    ReflectorOptions options = options_;
    options.random = [random] { return random; };
    options.min_watch_timeout = std::chrono::seconds(3);
    auto [ctx, cancel] = ctx_.WithCancel();
    Reflector reflector(source, sink_, options);
    const auto watch = source->AddWatch();
    Thread thread("reflector", [&reflector, context = ctx] { reflector.Run(context); });
    ASSERT_TRUE(watch->WaitDrained());
    EXPECT_THAT(source->watches()[0].timeout_seconds.value_or(0), AllOf(Ge(300), Le(600)));
    EXPECT_EQ(source->watches()[0].timeout_seconds, static_cast<std::int64_t>(300 * (1 + random)));
    cancel.Cancel();
  }
}

TEST_F(ReflectorWatchTest, LongerTimeoutsAreTaken) {
  options_.min_watch_timeout = std::chrono::minutes(20);
  (void)StartWatching();
  EXPECT_EQ(source_->watches()[0].timeout_seconds, 1200);
}

TEST_F(ReflectorWatchTest, AWatchThatTheServerForgetsToEndIsEndedHere) {
  const auto first = StartWatching("10");
  const auto second = source_->AddWatch();
  clock_->Advance(std::chrono::seconds(359));
  EXPECT_THAT(source_->watches(), SizeIs(1));
  clock_->Advance(std::chrono::seconds(1));
  ASSERT_TRUE(second->WaitDrained());
  EXPECT_EQ(first->stops(), 1);
  EXPECT_THAT(source_->requests(), ElementsAre("list", "watch", "watch"));
  EXPECT_EQ(waits(), 0U);
}

TEST_F(ReflectorWatchTest, AWatchThatIsNeverAnsweredIsGivenUp) {
  UseLists();
  source_->AddList(PageOf<Pod>({}, "10"));
  source_->AddList(PageOf<Pod>({}, "11"));
  Start();
  ASSERT_TRUE(source_->WaitForWatches(1));
  ASSERT_TRUE(clock_->WaitForWaiters(1));
  clock_->Advance(std::chrono::seconds(360));
  PassWait(1);
  ASSERT_TRUE(source_->WaitForWatches(2));
  EXPECT_EQ(log_->Count("W \"pods: the server did not answer a watch in 300 seconds\""), 1U) << log_->text();
}

// ---- Transforms ----

TEST_F(ReflectorWatchTest, WhatATransformRefusesIsUndecodableAndTheVersionMovesOn) {
  options_.transform = [](void* object) -> Result<void> {
    const std::string name = static_cast<Pod*>(object)->metadata.name.str();
    if (name == "bad") return Error::Invalid("not this one");
    if (name == "worse") throw std::runtime_error("oops");
    if (name == "worst") throw 7;  // NOLINT(hicpp-exception-baseclass)
    return {};
  };
  const auto watch = StartWatching("10");
  watch->Added(PodAt("bad", "11"));
  watch->Added(PodAt("worse", "12"));
  watch->Modified(PodAt("worst", "13"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(sink_.content(), (Content{{"default/a", "1"}}));
  EXPECT_EQ(reflector_->last_resource_version(), "13");
  EXPECT_THAT(sink_.calls(),
              ElementsAre("replace 1 @10", "undecodable default/bad", "undecodable default/worse", "undecodable default/worst"));
}

TEST_F(ReflectorWatchTest, ADeletionGoesThroughEvenWhereItsTransformFails) {
  bool fail = false;
  options_.transform = [&fail](void*) -> Result<void> {
    if (fail) return Error::Invalid("no");
    return {};
  };
  const auto watch = StartWatching("10");
  fail = true;
  watch->Deleted(PodAt("a", "11"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.content(), IsEmpty());
}

TEST_F(ReflectorWatchTest, ATransformThatRefusesAnObjectStopsNeitherListNorStream) {
  for (const bool streamed : {false, true}) {
    SCOPED_TRACE(streamed);
    auto source = std::make_shared<ScriptedSource>();
    RecordingSink sink;
    ReflectorOptions options = options_;
    options.watch_list = streamed;
    options.transform = [](void* object) -> Result<void> {
      Pod& pod = *static_cast<Pod*>(object);
      if (pod.metadata.name != "bad") return {};
      pod.metadata.name = "half done";
      throw std::runtime_error("oops");
    };
    Reflector reflector(source, sink, options);
    source->AddList(PageOf<Pod>({PodAt("a", "1"), PodAt("bad", "2")}, "10"));
    const auto watch = source->AddWatch();
    if (streamed) {
      watch->Added(PodAt("a", "1"));
      watch->Added(PodAt("bad", "2"));
      watch->Synced("10");
    }
    watch->Fail(Expired());
    EXPECT_FALSE(reflector.ListAndWatch(ctx_));
    EXPECT_THAT(sink.calls(), ElementsAre("replace 1 @10"));
    EXPECT_THAT(sink.skipped(), ElementsAre("default/bad"));
  }
}

// ---- Dynamic objects ----

class ReflectorDynamicTest : public ReflectorFixture {
 protected:
  ReflectorDynamicTest() {
    options_.form = &ObjectForm::Of<DynamicObject>();
    options_.gvk = {"example.com", "v1", "Cart"};
    options_.what = "carts.example.com";
  }
  static DynamicObject Cart(const Gvk& gvk, const char* name, const char* version) {
    DynamicObject cart(gvk, {"default", name});
    cart.set_resource_version(version);
    return cart;
  }
  RecordingSink dynamic_sink_{ObjectForm::Of<DynamicObject>()};
};

TEST_F(ReflectorDynamicTest, OtherKindsAndTablesAreSkippedAndDoNotMoveTheVersion) {
  Reflector reflector(source_, dynamic_sink_, options_);
  auto [ctx, cancel] = ctx_.WithCancel();
  Thread thread("reflector", [&reflector, context = ctx] { reflector.Run(context); });
  const auto watch = source_->AddWatch();
  watch->Added(Cart({"example.com", "v1", "Cart"}, "a", "1"));
  watch->Added(Cart({"example.com", "v1", "Basket"}, "b", "2"));
  watch->Synced<DynamicObject>("10");
  watch->Added(Cart({"example.com", "v2", "Cart"}, "c", "11"));
  watch->Added(Cart({"meta.k8s.io", "v1", "Table"}, "d", "12"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(dynamic_sink_.calls(), ElementsAre("replace 1 @10"));
  EXPECT_EQ(reflector.last_resource_version(), "10");
  EXPECT_EQ(log_->Count("E \"Skipped an object of another kind"), 3U) << log_->text();
  cancel.Cancel();
}

TEST_F(ReflectorDynamicTest, WhereTheKindIsNotKnownGroupAndVersionCount) {
  options_.gvk = {"example.com", "v1", ""};
  Reflector reflector(source_, dynamic_sink_, options_);
  auto [ctx, cancel] = ctx_.WithCancel();
  Thread thread("reflector", [&reflector, context = ctx] { reflector.Run(context); });
  const auto watch = source_->AddWatch();
  watch->Added(Cart({"example.com", "v1", "Cart"}, "a", "1"));
  watch->Added(Cart({"example.com", "v2", "Cart"}, "b", "2"));
  watch->Added(Cart({"other.example.com", "v1", "Cart"}, "c", "3"));
  watch->Synced<DynamicObject>("10");
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(dynamic_sink_.content(), (Content{{"default/a", "1"}}));
  cancel.Cancel();
}

TEST_F(ReflectorDynamicTest, TablesAreSkippedWhereTheKindIsNotKnown) {
  options_.gvk = {};
  Reflector reflector(source_, dynamic_sink_, options_);
  auto [ctx, cancel] = ctx_.WithCancel();
  Thread thread("reflector", [&reflector, context = ctx] { reflector.Run(context); });
  const auto watch = source_->AddWatch();
  watch->Added(Cart({"example.com", "v1", "Table"}, "a", "1"));
  watch->Added(Cart({"meta.k8s.io", "v1beta1", "Table"}, "b", "2"));
  watch->Synced<DynamicObject>("10");
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(dynamic_sink_.content(), (Content{{"default/a", "1"}})) << "somebody's own Table is a kind like any other";
  cancel.Cancel();
}

// ---- Resyncs ----

class ReflectorResyncTest : public ReflectorFixture {};

TEST_F(ReflectorResyncTest, ComesWhenItsTimeHasCome) {
  options_.resync_period = [] { return std::chrono::seconds(30); };
  const auto watch = StartWatching("10");
  clock_->Advance(std::chrono::seconds(29));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.calls(), SizeIs(1));
  clock_->Advance(std::chrono::seconds(1));
  ASSERT_TRUE(sink_.WaitForCalls(2));
  ASSERT_TRUE(watch->WaitDrained());
  ASSERT_TRUE(clock_->WaitForWaiters(1));
  clock_->Advance(std::chrono::seconds(30));
  ASSERT_TRUE(sink_.WaitForCalls(3));
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 1 @10", "resync", "resync"));
  EXPECT_THAT(source_->requests(), ElementsAre("list", "watch")) << "a resync asks the server nothing";
}

TEST_F(ReflectorResyncTest, GoesOnOverWatchesThatEnd) {
  options_.resync_period = [] { return std::chrono::seconds(30); };
  const auto first = StartWatching("10");
  clock_->Advance(std::chrono::seconds(20));
  const auto second = source_->AddWatch();
  first->End();
  ASSERT_TRUE(second->WaitDrained());
  ASSERT_TRUE(clock_->WaitForWaiters(1));
  clock_->Advance(std::chrono::seconds(10));
  ASSERT_TRUE(sink_.WaitForCalls(2));
}

TEST_F(ReflectorResyncTest, GoesOnWhileTheServerIsBusy) {
  options_.resync_period = [] { return std::chrono::milliseconds(500); };
  const auto first = StartWatching("10");
  first->Fail(TooManyRequests());
  ASSERT_TRUE(log_->WaitFor("\"Waiting\""));
  ASSERT_TRUE(clock_->WaitForWaiters(1));
  clock_->Advance(std::chrono::milliseconds(500));
  ASSERT_TRUE(sink_.WaitForCalls(2));
  EXPECT_EQ(sink_.calls()[1], "resync");
  EXPECT_THAT(source_->watches(), SizeIs(1));
}

TEST_F(ReflectorResyncTest, AnErrorEndsTheRoundAndIsNotTold) {
  int told = 0;
  options_.on_error = [&told](const Error&) { ++told; };
  options_.resync_period = [] { return std::chrono::seconds(30); };
  sink_.FailResyncs(Error::Internal("no resync today"));
  const auto watch = StartWatching("10");
  source_->AddList(PageOf<Pod>({}, "20"));
  clock_->Advance(std::chrono::seconds(30));
  PassWait(1);
  ASSERT_TRUE(source_->WaitForWatches(2));
  EXPECT_EQ(watch->stops(), 1);
  EXPECT_EQ(told, 0);
  EXPECT_THAT(source_->requests(), ElementsAre("list", "watch", "list", "watch"));
}

TEST_F(ReflectorResyncTest, ThePeriodMayChange) {
  std::atomic<int> seconds = 0;
  options_.resync_period = [&seconds] { return std::chrono::seconds(seconds.load()); };
  const auto watch = StartWatching("10");
  clock_->Advance(std::chrono::seconds(100));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.calls(), SizeIs(1)) << "none yet";
  seconds = 120;
  watch->Bookmark("11");
  ASSERT_TRUE(watch->WaitDrained());
  clock_->Advance(std::chrono::seconds(20));
  ASSERT_TRUE(sink_.WaitForCalls(3));
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 1 @10", "bookmark @11", "resync"));
}

TEST_F(ReflectorResyncTest, DoesNotRunDuringAList) {
  options_.resync_period = [] { return std::chrono::seconds(1); };
  UseLists();
  Start();
  ASSERT_TRUE(source_->WaitForLists(1));
  clock_->Advance(std::chrono::seconds(5));
  source_->AddList(PageOf<Pod>({}, "10"));
  const auto watch = source_->AddWatch();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 0 @10"));
}

TEST_F(ReflectorResyncTest, EventsWithoutPauseDoNotHoldItBack) {
  options_.resync_period = [] { return std::chrono::seconds(30); };
  options_.transform = [this](void* object) -> Result<void> {
    if (static_cast<Pod*>(object)->metadata.name == "slow") clock_->Advance(std::chrono::seconds(31));
    return {};
  };
  const auto watch = StartWatching("10");
  watch->Hold();
  watch->Added(PodAt("slow", "11"));
  watch->Added(PodAt("b", "12"));
  watch->Release();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 1 @10", "add default/slow", "resync", "add default/b"));
}

// ---- Stopping ----

class ReflectorStopTest : public ReflectorFixture {};

TEST_F(ReflectorStopTest, AStoppedContextSendsNothing) {
  cancel_.Cancel();
  Make().Run(ctx_);
  EXPECT_THAT(source_->requests(), IsEmpty());
  EXPECT_EQ(reflector_->status().state, ReflectorState::kStopped);
  EXPECT_EQ(reflector_->ListAndWatch(ctx_), std::nullopt);
  EXPECT_THAT(source_->requests(), IsEmpty());
}

TEST_F(ReflectorStopTest, EndsAListPromptly) {
  UseLists();
  Start();
  ASSERT_TRUE(source_->WaitForLists(1));
  Stop();
  EXPECT_EQ(reflector_->status().state, ReflectorState::kStopped);
  EXPECT_EQ(reflector_->status().failures, 0U) << "being stopped is no failure";
  EXPECT_THAT(sink_.calls(), IsEmpty());
  EXPECT_EQ(log_->Count("W "), 0U);
}

TEST_F(ReflectorStopTest, EndsAWatchAndStopsIt) {
  const auto watch = StartWatching("10");
  Stop();
  EXPECT_EQ(watch->stops(), 1);
  EXPECT_EQ(reflector_->status().failures, 0U);
  EXPECT_THAT(source_->requests(), ElementsAre("list", "watch"));
}

TEST_F(ReflectorStopTest, EndsAStreamAndStopsIt) {
  const auto watch = source_->AddWatch();
  watch->Added(PodAt("a", "1"));
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  Stop();
  EXPECT_EQ(watch->stops(), 1);
  EXPECT_THAT(sink_.calls(), IsEmpty());
}

TEST_F(ReflectorStopTest, EndsTheOpeningOfAWatch) {
  UseLists();
  source_->AddList(PageOf<Pod>({}, "10"));
  Start();
  ASSERT_TRUE(source_->WaitForWatches(1));
  Stop();
  EXPECT_EQ(reflector_->status().failures, 0U);
}

TEST_F(ReflectorStopTest, EndsAWait) {
  UseLists();
  source_->AddList(ApiError(500, "InternalError", "boom"));
  Start();
  ASSERT_TRUE(log_->WaitFor("\"Waiting\""));
  Stop();
  EXPECT_EQ(reflector_->status().state, ReflectorState::kStopped);
  EXPECT_THAT(source_->lists(), SizeIs(1));
}

TEST_F(ReflectorStopTest, EndsABusyStreamBeforeItRunsDry) {
  options_.transform = [this](void* object) -> Result<void> {
    if (static_cast<Pod*>(object)->metadata.name == "last") cancel_.Cancel();
    return {};
  };
  const auto watch = StartWatching("10");
  watch->Hold();
  watch->Added(PodAt("last", "11"));
  watch->Added(PodAt("never", "12"));
  watch->Release();
  Stop();
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 1 @10", "add default/last"));
  EXPECT_EQ(sink_.flushes(), 2U) << "what was taken is worked on";
}

}  // namespace
}  // namespace kube::internal
