// Lists, pages, and lists that come as streams.
#include <array>

#include "cache/reflector_test_util.h"
#include "cache/undecodable_set.h"

namespace kube::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ReflectorListTest : public ReflectorFixture {
 protected:
  static std::vector<std::int64_t> Limits(const std::vector<ListOptions>& requests) {
    std::vector<std::int64_t> out;
    for (const ListOptions& request : requests) out.push_back(request.limit);
    return out;
  }
};

TEST_F(ReflectorListTest, SendsExactlyTheseRequestsInListMode) {
  options_.ns = "shop";
  options_.label_selector = "app=web";
  options_.field_selector = "spec.nodeName=n1";
  (void)StartWatching("10");
  const ListOptions list = source_->lists().at(0);
  EXPECT_EQ(list.ns, "shop");
  EXPECT_EQ(list.label_selector, "app=web");
  EXPECT_EQ(list.field_selector, "spec.nodeName=n1");
  EXPECT_EQ(list.resource_version, "0");
  EXPECT_EQ(list.limit, 500);
  EXPECT_EQ(list.continue_token, "");
  EXPECT_EQ(list.timeout_seconds, std::nullopt);
  EXPECT_NE(list.decode.interner, nullptr);
  const WatchOptions watch = source_->watches().at(0);
  EXPECT_EQ(watch.ns, "shop");
  EXPECT_EQ(watch.label_selector, "app=web");
  EXPECT_EQ(watch.field_selector, "spec.nodeName=n1");
  EXPECT_EQ(watch.resource_version, "10");
  EXPECT_EQ(watch.resource_version_match, "");
  EXPECT_EQ(watch.send_initial_events, std::nullopt);
  EXPECT_TRUE(watch.bookmarks);
  EXPECT_EQ(watch.timeout_seconds, 300);
  EXPECT_EQ(watch.decode.interner, list.decode.interner);
}

TEST_F(ReflectorListTest, SendsExactlyThisRequestInStreamMode) {
  options_.ns = "shop";
  options_.label_selector = "app=web";
  options_.share = false;
  const auto watch = source_->AddWatch();
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  const WatchOptions request = source_->watches().at(0);
  EXPECT_EQ(request.ns, "shop");
  EXPECT_EQ(request.label_selector, "app=web");
  EXPECT_EQ(request.resource_version, "");
  EXPECT_EQ(request.resource_version_match, "NotOlderThan");
  EXPECT_EQ(request.send_initial_events, true);
  EXPECT_TRUE(request.bookmarks);
  EXPECT_EQ(request.timeout_seconds, 300);
  EXPECT_EQ(request.decode.interner, nullptr) << "nothing is shared";
}

TEST_F(ReflectorListTest, FillsTheSinkAndWatchesFromTheListsVersion) {
  const auto watch = StartWatching("10");
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 1 @10"));
  EXPECT_EQ(sink_.flushes(), 1U);
  EXPECT_EQ(reflector_->last_resource_version(), "10");
  EXPECT_EQ(reflector_->status().state, ReflectorState::kWatching);
}

// Each page keeps few enough. A transform that refuses everything is no different.
TEST_F(ReflectorListTest, PagesKeepABoundedNumberOfReasonsTogether) {
  UseLists();
  options_.transform = [](void*) -> Result<void> { return Error(ErrorKind::kInvalid, std::string(100, 'x')); };
  constexpr std::size_t kPages = 3;
  for (std::size_t page = 0; page < kPages; ++page) {
    ListPage answer = PageOf<Pod>({PodAt("good" + std::to_string(page), "1")}, "10", page + 1 < kPages ? "next" : "");
    for (std::size_t i = 0; i < UndecodableSet::kMost / 2; ++i) {
      const std::string name = "p" + std::to_string(page) + "-" + std::to_string(i);
      answer.undecodable.push_back({.key = {"default", String(name)}, .resource_version = "1", .error = std::string(100, 'x')});
    }
    source_->AddList(std::move(answer));
  }
  const auto watch = source_->AddWatch();
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(sink_.skipped().size(), kPages * UndecodableSet::kMost / 2 + kPages);
  EXPECT_EQ(sink_.reasons(), UndecodableSet::kMost);
}

TEST_F(ReflectorListTest, TakesAllPagesAndTheFirstOnesVersion) {
  UseLists();
  source_->AddList(PageOf<Pod>({PodAt("a", "1"), PodAt("b", "2")}, "10", "t1"));
  source_->AddList(PageOf<Pod>({PodAt("c", "3")}, "11", "t2"));
  source_->AddList(PageOf<Pod>({PodAt("d", "4")}, "12"));
  const auto watch = source_->AddWatch();
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 4 @10"));
  EXPECT_THAT(Versions(source_->lists()), ElementsAre("0", "", "")) << "continue stands for the version";
  EXPECT_THAT(Limits(source_->lists()), ElementsAre(500, 500, 500));
  EXPECT_EQ(source_->lists()[1].continue_token, "t1");
  EXPECT_EQ(source_->lists()[2].continue_token, "t2");
}

TEST_F(ReflectorListTest, AnExplicitPageSizeIsAlwaysUsed) {
  options_.page_size = 4;
  const auto watch = StartWatching("10");
  watch->Fail(Expired());
  source_->AddList(PageOf<Pod>({PodAt("a", "1")}, "20", "t"));
  source_->AddList(PageOf<Pod>({PodAt("b", "1")}, "20"));
  PassWait(1);
  ASSERT_TRUE(source_->WaitForWatches(2));
  EXPECT_THAT(Limits(source_->lists()), ElementsAre(4, 4, 4));
  EXPECT_THAT(Versions(source_->lists()), ElementsAre("0", "10", ""));
}

TEST_F(ReflectorListTest, KeepsPagingWhereTheFirstListCameInPages) {
  UseLists();
  source_->AddList(PageOf<Pod>({PodAt("a", "1")}, "10", "t"));
  source_->AddList(PageOf<Pod>({PodAt("b", "1")}, "10"));
  const auto watch = source_->AddWatch();
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  watch->Fail(Expired());
  source_->AddList(PageOf<Pod>({}, "20"));
  PassWait(1);
  ASSERT_TRUE(source_->WaitForWatches(2));
  EXPECT_THAT(Limits(source_->lists()), ElementsAre(500, 500, 500));
  EXPECT_THAT(Versions(source_->lists()), ElementsAre("0", "", "10"));
}

TEST_F(ReflectorListTest, PagesOfALaterListDoNotMakePagingStay) {
  UseLists();
  source_->AddList(Expired());
  source_->AddList(PageOf<Pod>({PodAt("a", "1")}, "10"));
  const auto watch = source_->AddWatch();
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  watch->Fail(Expired());
  source_->AddList(PageOf<Pod>({PodAt("a", "1")}, "20", "t"));
  source_->AddList(PageOf<Pod>({}, "20"));
  const auto second = source_->AddWatch();
  PassWait(1);
  ASSERT_TRUE(second->WaitDrained());
  second->Fail(Expired());
  source_->AddList(PageOf<Pod>({}, "30"));
  PassWait(2);
  ASSERT_TRUE(source_->WaitForWatches(3));
  EXPECT_EQ(source_->lists().back().resource_version, "20");
  EXPECT_EQ(source_->lists().back().limit, 0);
}

TEST_F(ReflectorListTest, ExpiredPagesMakeOneFullListAtTheOriginalVersion) {
  options_.page_size = 4;
  const auto watch = StartWatching("10");
  watch->Fail(Expired());
  source_->AddList(PageOf<Pod>({PodAt("old", "1")}, "20", "t"));
  source_->AddList(Expired());
  source_->AddList(PageOf<Pod>({PodAt("new", "25")}, "25"));
  const auto second = source_->AddWatch();
  PassWait(1);
  ASSERT_TRUE(second->WaitDrained());
  EXPECT_THAT(Versions(source_->lists()), ElementsAre("0", "10", "", "10"));
  EXPECT_THAT(Limits(source_->lists()), ElementsAre(4, 4, 4, 0));
  EXPECT_EQ(source_->lists().back().continue_token, "");
  EXPECT_EQ(sink_.content(), (Content{{"default/new", "25"}})) << "what the pages had is forgotten";
  EXPECT_EQ(source_->watches()[1].resource_version, "25");
}

TEST_F(ReflectorListTest, AFullListThatIsGoneTooMakesOneOfTheNewest) {
  UseLists();
  source_->AddList(PageOf<Pod>({PodAt("old", "1")}, "20", "t"));
  source_->AddList(Expired());
  source_->AddList(Expired());
  source_->AddList(PageOf<Pod>({}, "30"));
  Start();
  ASSERT_TRUE(source_->WaitForWatches(1));
  EXPECT_THAT(Versions(source_->lists()), ElementsAre("0", "", "0", ""));
  EXPECT_THAT(Limits(source_->lists()), ElementsAre(500, 500, 0, 500));
}

TEST_F(ReflectorListTest, AllShapesOfATooLargeVersionAreRetriedWithTheNewest) {
  const std::array shapes = {Error(Error::Payload{.kind = ErrorKind::kApi,
                                                  .http_code = 504,
                                                  .reason = "Timeout",
                                                  .message = "x",
                                                  .causes = {{"ResourceVersionTooLarge", "Too large resource version", ""}}}),
                             Error(Error::Payload{.kind = ErrorKind::kApi,
                                                  .http_code = 504,
                                                  .reason = "Timeout",
                                                  .message = "x",
                                                  .causes = {{"", "Too large resource version", ""}}}),
                             ApiError(504, "Timeout", "Too large resource version: 10, current: 5")};
  UseLists();
  source_->AddList(PageOf<Pod>({}, "10"));
  std::shared_ptr<ScriptedWatch> watch = source_->AddWatch();
  Start();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    ASSERT_TRUE(watch->WaitDrained());
    source_->AddList(shapes[i]);
    source_->AddList(PageOf<Pod>({}, "10"));
    const auto next = source_->AddWatch();
    watch->Fail(Expired());
    watch = next;
    PassWait(i + 1);
  }
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(Versions(source_->lists()), ElementsAre("0", "10", "", "10", "", "10", ""));
}

TEST_F(ReflectorListTest, AVersionStaysUnavailableUntilAListWorks) {
  const auto watch = StartWatching("10");
  watch->Fail(Expired());
  source_->AddList(Expired());
  source_->AddList(ApiError(500, "InternalError", "no"));
  source_->AddList(PageOf<Pod>({}, "20"));
  PassWait(1);
  PassWait(2);
  ASSERT_TRUE(source_->WaitForWatches(2));
  EXPECT_THAT(Versions(source_->lists()), ElementsAre("0", "10", "", ""));
}

TEST_F(ReflectorListTest, AFailedListIsGivenToTheCallerAndTriedAgainAfterAWait) {
  UseLists();
  std::vector<std::string> told;
  options_.on_error = [&told](const Error& e) { told.push_back(e.message()); };
  source_->AddList(ApiError(500, "InternalError", "boom"));
  source_->AddList(ApiError(500, "InternalError", "bang"));
  source_->AddList(PageOf<Pod>({PodAt("a", "1")}, "10"));
  const auto watch = source_->AddWatch();
  Start();
  EXPECT_EQ(PassWait(1).count(), 800);
  EXPECT_EQ(PassWait(2).count(), 1600);
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(told, ElementsAre("boom", "bang"));
  EXPECT_THAT(Versions(source_->lists()), ElementsAre("0", "0", "0"));
  EXPECT_EQ(sink_.content(), (Content{{"default/a", "1"}}));
}

TEST_F(ReflectorListTest, ARelistReplacesWhatIsGone) {
  const auto watch = StartWatching("10");
  watch->Added(PodAt("b", "11"));
  watch->Fail(ApiError(500, "StorageReadError", "corrupt"));
  source_->AddList(PageOf<Pod>({PodAt("b", "11")}, "20"));
  const auto second = source_->AddWatch();
  PassWait(1);
  ASSERT_TRUE(second->WaitDrained());
  EXPECT_EQ(sink_.content(), (Content{{"default/b", "11"}}));
}

TEST_F(ReflectorListTest, ObjectsWithoutANameAreSkipped) {
  UseLists();
  source_->AddList(PageOf<Pod>({PodAt("", "1"), PodAt("a", "2")}, "10"));
  const auto watch = source_->AddWatch();
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(sink_.content(), (Content{{"default/a", "2"}}));
  EXPECT_EQ(log_->Count("without a name"), 1U);
}

TEST_F(ReflectorListTest, NoObjectKeepsItsPageAlive) {
  const auto watch = StartWatching("10");
  const std::weak_ptr<const void> seen = sink_.Get("default/a");
  EXPECT_EQ(seen.use_count(), 1) << "the sink alone holds it";
  watch->Deleted(PodAt("a", "11"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_TRUE(seen.expired());
}

// ---- Streams ----

class ReflectorStreamTest : public ReflectorFixture {};

TEST_F(ReflectorStreamTest, TheSwitchTurnsItOff) {
  UseLists();
  source_->AddList(PageOf<Pod>({}, "10"));
  const auto watch = source_->AddWatch();
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(source_->requests(), ElementsAre("list", "watch"));
}

TEST_F(ReflectorStreamTest, TooManyRequestsIsTriedAgainAfterAWait) {
  source_->AddWatchError(TooManyRequests());
  source_->AddWatchError(TooManyRequests());
  const auto watch = source_->AddWatch();
  watch->Synced("5");
  Start();
  EXPECT_EQ(PassWait(1).count(), 800);
  EXPECT_EQ(PassWait(2).count(), 1600);
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(source_->requests(), ElementsAre("watch", "watch", "watch"));
  for (const WatchOptions& request : source_->watches()) EXPECT_EQ(request.send_initial_events, true);
}

TEST_F(ReflectorStreamTest, SoIsARefusedConnection) {
  source_->AddWatchError(Refused());
  const auto watch = source_->AddWatch();
  Start();
  EXPECT_EQ(PassWait(1).count(), 800);
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(source_->lists(), IsEmpty());
}

TEST_F(ReflectorStreamTest, TooManyRequestsInsideTheStreamStartsItAnew) {
  const auto first = source_->AddWatch();
  first->Added(PodAt("gone", "1"));
  first->Fail(TooManyRequests());
  const auto second = source_->AddWatch();
  second->Added(PodAt("a", "2"));
  second->Synced("5");
  Start();
  EXPECT_EQ(PassWait(1).count(), 800);
  ASSERT_TRUE(second->WaitDrained());
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 1 @5")) << "what the first stream had is forgotten";
  EXPECT_EQ(first->stops(), 1);
}

TEST_F(ReflectorStreamTest, AnEarlyEndIsTriedAgainAtOnceWithTheSameRequest) {
  const auto first = source_->AddWatch();
  first->Added(PodAt("gone", "1"));
  first->End();
  const auto second = source_->AddWatch();
  second->Synced("5");
  Start();
  ASSERT_TRUE(second->WaitDrained());
  EXPECT_EQ(waits(), 0U);
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 0 @5"));
  const std::vector<WatchOptions> requests = source_->watches();
  EXPECT_EQ(requests[0].resource_version, requests[1].resource_version);
  EXPECT_EQ(requests[0].send_initial_events, requests[1].send_initial_events);
  EXPECT_EQ(requests[0].resource_version_match, requests[1].resource_version_match);
}

TEST_F(ReflectorStreamTest, ManyEarlyEndsInARowAreNotAHotLoop) {
  for (int i = 0; i < 11; ++i) {
    const auto watch = source_->AddWatch();
    watch->Added(PodAt("a", "1"));
    watch->End();
  }
  const auto last = source_->AddWatch();
  Start();
  EXPECT_EQ(PassWait(1).count(), 800);
  ASSERT_TRUE(last->WaitDrained());
  EXPECT_THAT(source_->lists(), IsEmpty());
}

TEST_F(ReflectorStreamTest, AVeryShortStreamFallsBackToAList) {
  source_->AddWatch()->End();
  source_->AddList(PageOf<Pod>({}, "10"));
  const auto watch = source_->AddWatch();
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(source_->requests(), ElementsAre("watch", "list", "watch"));
}

TEST_F(ReflectorStreamTest, AnErrorInsideTheStreamFallsBackToAList) {
  const auto first = source_->AddWatch();
  first->Added(PodAt("a", "1"));
  first->Fail(Error(Error::Payload{.kind = ErrorKind::kDecode, .http_code = 500, .reason = "ClientWatchDecoding", .message = "bad"}));
  source_->AddList(PageOf<Pod>({PodAt("b", "1")}, "10"));
  const auto watch = source_->AddWatch();
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(source_->requests(), ElementsAre("watch", "list", "watch"));
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 1 @10"));
}

TEST_F(ReflectorStreamTest, AStreamOfTheNewestThatIsGoneIsNotTriedForEver) {
  source_->AddWatchError(Expired());
  source_->AddList(PageOf<Pod>({}, "10"));
  const auto watch = source_->AddWatch();
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(source_->requests(), ElementsAre("watch", "list", "watch"));
}

TEST_F(ReflectorStreamTest, ATooLargeVersionIsTriedAgainWithTheNewest) {
  const auto first = source_->AddWatch();
  first->Synced("10");
  first->Added(PodAt("a", "11"));
  first->Fail(Expired());
  const auto second = source_->AddWatch();
  second->Fail(ApiError(504, "Timeout", "Too large resource version: 11, current: 5"));
  const auto third = source_->AddWatch();
  third->Added(PodAt("b", "3"));
  third->Synced("5");
  Start();
  PassWait(1);
  ASSERT_TRUE(third->WaitDrained());
  EXPECT_EQ(source_->watches()[2].resource_version, "");
  EXPECT_EQ(sink_.content(), (Content{{"default/b", "3"}}));
  EXPECT_EQ(reflector_->last_resource_version(), "5") << "lower, but what the server has";
}

TEST_F(ReflectorStreamTest, GoneInTheWatchBehindTheStreamEndsTheRound) {
  const auto first = source_->AddWatch();
  first->Synced("10");
  first->Added(PodAt("a", "11"));
  first->End();
  source_->AddWatchError(Expired());
  std::vector<Error> told;
  options_.on_error = [&told](const Error& e) { told.push_back(e); };
  const auto third = source_->AddWatch();
  Start();
  PassWait(1);
  ASSERT_TRUE(third->WaitDrained());
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_TRUE(IsResourceExpired(told[0]));
  EXPECT_EQ(source_->watches()[2].resource_version, "11");
  EXPECT_EQ(source_->watches()[2].send_initial_events, true);
}

TEST_F(ReflectorStreamTest, ASecondBookmarkOfThatKindIsJustABookmark) {
  const auto watch = source_->AddWatch();
  watch->Synced("10");
  watch->Synced("12");
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 0 @10", "bookmark @12"));
}

TEST_F(ReflectorStreamTest, WarnsEveryTenSecondsWhereNothingComes) {
  const auto watch = source_->AddWatch();
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  clock_->Advance(std::chrono::seconds(9));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(log_->Count("No event of a streamed list has arrived yet"), 0U);
  clock_->Advance(std::chrono::seconds(1));
  ASSERT_TRUE(log_->WaitFor("W \"No event of a streamed list has arrived yet\""));
  EXPECT_EQ(log_->Count("since=\"10s\""), 1U) << log_->text();
  ASSERT_TRUE(clock_->WaitForWaiters(1));
  ASSERT_TRUE(watch->WaitDrained());
  clock_->Advance(std::chrono::seconds(10));
  ASSERT_TRUE(log_->WaitFor("No event of a streamed list has arrived yet", 2));
  EXPECT_THAT(sink_.calls(), IsEmpty());
}

TEST_F(ReflectorStreamTest, WarnsWhereTheBookmarkDoesNotCome) {
  const auto watch = source_->AddWatch();
  watch->Added(PodAt("a", "1"));
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  clock_->Advance(std::chrono::seconds(5));
  watch->Added(PodAt("b", "2"));
  ASSERT_TRUE(watch->WaitDrained());
  clock_->Advance(std::chrono::seconds(5));
  ASSERT_TRUE(watch->WaitDrained());
  ASSERT_TRUE(clock_->WaitForWaiters(1));
  EXPECT_EQ(log_->Count("has not arrived"), 0U) << "the last event is five seconds old";
  clock_->Advance(std::chrono::seconds(10));
  ASSERT_TRUE(log_->WaitFor("W \"The bookmark that ends a streamed list has not arrived\""));
  EXPECT_EQ(log_->Count("since=\"15s\""), 1U) << log_->text();
  watch->Synced("9");
  ASSERT_TRUE(sink_.WaitForCalls(1));
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 2 @9"));
}

TEST_F(ReflectorStreamTest, TransformsApplyToStreamedLists) {
  options_.transform = [](void* object) -> Result<void> {
    static_cast<Pod*>(object)->metadata.labels["seen"] = "yes";
    return {};
  };
  const auto watch = source_->AddWatch();
  watch->Added(PodAt("a", "1"));
  watch->Synced("9");
  watch->Added(PodAt("b", "10"));
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  for (const char* const key : {"default/a", "default/b"}) {
    const auto pod = std::static_pointer_cast<const Pod>(sink_.Get(key));
    ASSERT_NE(pod, nullptr);
    EXPECT_EQ(pod->metadata.labels.Get("seen"), "yes");
  }
}

TEST_F(ReflectorStreamTest, AStreamThatNeverEndsIsEndedHere) {
  const auto first = source_->AddWatch();
  Start();
  ASSERT_TRUE(first->WaitDrained());
  const auto second = source_->AddWatch();
  second->Synced("3");
  // Ten seconds at a time, as the warnings come.
  for (int i = 0; i < 36 && first->stops() == 0; ++i) {
    ASSERT_TRUE(clock_->WaitForWaiters(1));
    clock_->Advance(std::chrono::seconds(10));
    ASSERT_TRUE(log_->WaitFor("\"No event of a streamed list has arrived yet", static_cast<std::size_t>(std::min(i + 1, 35))));
  }
  ASSERT_TRUE(first->WaitStopped());
  ASSERT_TRUE(second->WaitDrained());
  EXPECT_THAT(sink_.calls(), ElementsAre("replace 0 @3"));
}

}  // namespace
}  // namespace kube::internal
