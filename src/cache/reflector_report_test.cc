// What a reflector says: logs, status, metrics.
#include <stdexcept>

#include "cache/reflector_test_util.h"

namespace kube::internal {
namespace {

using ::testing::HasSubstr;

class ReflectorReportTest : public ReflectorFixture {
 protected:
  double Metric(std::string_view name) const { return metrics_.Value(name, {{"name", "pods"}}); }
  std::uint64_t Reports(std::string_view name) const { return metrics_.Count(name, {{"name", "pods"}}); }
};

TEST_F(ReflectorReportTest, AMissingKindIsSaidOnceAndRecoveryOnce) {
  options_.what = "networks.samplecrd.k8s.io";
  UseLists();
  for (int i = 0; i < 3; ++i) source_->AddList(ApiError(404, "NotFound", "the server could not find the requested resource"));
  source_->AddList(PageOf<Pod>({}, "10"));
  const auto watch = source_->AddWatch();
  Start();
  for (std::size_t n = 1; n <= 3; ++n) PassWait(n);
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(log_->Count("W \"networks.samplecrd.k8s.io: the server could not find the requested resource\""), 1U) << log_->text();
  EXPECT_EQ(log_->Count("I4 \"networks.samplecrd.k8s.io: the server could not find the requested resource\""), 2U);
  EXPECT_EQ(log_->Count("I \"networks.samplecrd.k8s.io: works again\""), 1U);
}

TEST_F(ReflectorReportTest, AnotherMessageIsSaidAsWell) {
  UseLists();
  source_->AddList(Refused());
  source_->AddList(ApiError(403, "Forbidden", "pods is forbidden: User \"u\" cannot list"));
  source_->AddList(Refused());
  Start();
  for (std::size_t n = 1; n <= 3; ++n) PassWait(n);
  EXPECT_EQ(log_->Count("W "), 2U) << log_->text();
  EXPECT_EQ(log_->Count("W \"pods: forbidden: User"), 1U);
  EXPECT_EQ(log_->Count("W \"pods: connect to 127.0.0.1:6443: connection refused\""), 1U);
  EXPECT_EQ(log_->Count("works again"), 0U);
}

TEST_F(ReflectorReportTest, AfterARecoveryTheSameTroubleIsSaidAgain) {
  UseLists();
  source_->AddList(Refused());
  source_->AddList(PageOf<Pod>({}, "10"));
  const auto watch = source_->AddWatch();
  Start();
  PassWait(1);
  ASSERT_TRUE(watch->WaitDrained());
  source_->AddList(Refused());
  watch->Fail(Expired());
  PassWait(2);
  PassWait(3);
  EXPECT_EQ(log_->Count("W \"pods: connect"), 2U) << log_->text();
}

TEST_F(ReflectorReportTest, AListThatWorksDoesNotHideAWatchThatDoesNot) {
  UseLists();
  source_->AnswerLists([](const ListOptions&) { return PageOf<Pod>({}, "10"); });
  for (int i = 0; i < 3; ++i) source_->AddWatch()->End();
  const auto watch = source_->AddWatch();
  Start();
  for (std::size_t n = 1; n <= 3; ++n) PassWait(n);
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(log_->Count("W \"pods: the watch ended within a second without an event\""), 1U) << log_->text();
  EXPECT_EQ(log_->Count("works again"), 0U);
  watch->Bookmark("11");
  ASSERT_TRUE(log_->WaitFor("I \"pods: works again\""));
}

TEST_F(ReflectorReportTest, AStreamThatRecoversSaysSo) {
  source_->AddWatchError(Refused());
  source_->AddWatchError(Refused());
  const auto watch = source_->AddWatch();
  watch->Synced("10");
  Start();
  PassWait(1);
  PassWait(2);
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(log_->Count("W "), 1U) << log_->text();
  EXPECT_EQ(log_->Count("works again"), 1U);
  EXPECT_EQ(reflector_->status().error, std::nullopt);
}

TEST_F(ReflectorReportTest, ExpiryIsQuiet) {
  const auto watch = StartWatching("10");
  watch->Fail(Expired());
  source_->AddList(Expired());
  source_->AddList(Expired());
  source_->AddList(PageOf<Pod>({}, "20"));
  PassWait(1);
  PassWait(2);
  ASSERT_TRUE(source_->WaitForWatches(2));
  EXPECT_EQ(log_->Count("W "), 0U) << log_->text();
}

TEST_F(ReflectorReportTest, NothingIsWarnedOfInAHealthyLife) {
  const auto stream = source_->AddWatch();
  stream->Added(PodAt("a", "1"));
  stream->Synced("10");
  stream->Modified(PodAt("a", "11"));
  const auto second = source_->AddWatch();
  stream->End();
  Start();
  ASSERT_TRUE(second->WaitDrained());
  Stop();
  EXPECT_EQ(log_->Count("W ") + log_->Count("E "), 0U) << log_->text();
}

TEST_F(ReflectorReportTest, EveryChangeOfStateIsLoggedWithItsReason) {
  UseLists();
  source_->AddList(Refused());
  source_->AddList(PageOf<Pod>({}, "10"));
  const auto watch = source_->AddWatch();
  Start();
  PassWait(1);
  ASSERT_TRUE(watch->WaitDrained());
  Stop();
  const std::string text = log_->text();
  std::size_t at = 0;
  for (const char* const change :
       {"from=\"idle\" to=\"starting\"", "from=\"starting\" to=\"listing\"", "from=\"listing\" to=\"waiting\"",
        "from=\"waiting\" to=\"listing\"", "from=\"listing\" to=\"watching\"", "from=\"watching\" to=\"stopped\""}) {
    at = text.find(change, at);
    ASSERT_NE(at, std::string::npos) << change << "\n" << text;
    EXPECT_THAT(text.substr(at, text.find('\n', at) - at), HasSubstr("why=\""));
  }
}

TEST_F(ReflectorReportTest, TheStatusTellsWhereItIs) {
  EXPECT_EQ(Make().status().state, ReflectorState::kIdle);
  UseLists();
  reflector_.reset();
  source_->AddList(ApiError(500, "InternalError", "boom"));
  Start();
  ASSERT_TRUE(log_->WaitFor("\"Waiting\""));
  ReflectorStatus status = reflector_->status();
  EXPECT_EQ(status.state, ReflectorState::kWaiting);
  EXPECT_EQ(status.failures, 1U);
  ASSERT_TRUE(status.error);
  EXPECT_EQ(status.error->message(), "boom");
  EXPECT_EQ(status.last_message, std::nullopt);

  PassWait(1);
  ASSERT_TRUE(source_->WaitForLists(2));
  EXPECT_EQ(reflector_->status().state, ReflectorState::kListing);
  source_->AddList(PageOf<Pod>({PodAt("a", "1")}, "10"));
  const auto watch = source_->AddWatch();
  ASSERT_TRUE(watch->WaitDrained());
  clock_->Advance(std::chrono::seconds(3));
  watch->Added(PodAt("b", "11"));
  watch->Bookmark("12");
  ASSERT_TRUE(watch->WaitDrained());
  status = reflector_->status();
  EXPECT_EQ(status.state, ReflectorState::kWatching);
  EXPECT_EQ(status.resource_version, "12");
  EXPECT_EQ(status.lists, 1U);
  EXPECT_EQ(status.watches, 1U);
  EXPECT_EQ(status.events, 2U);
  EXPECT_EQ(status.failures, 1U);
  EXPECT_EQ(status.error, std::nullopt);
  EXPECT_EQ(status.last_message, clock_->Now());
}

TEST_F(ReflectorReportTest, AServerThatIsAwayIsInTheStatusWhileItIsWaitedFor) {
  source_->AddWatchError(Refused());
  Start();
  ASSERT_TRUE(log_->WaitFor("\"Waiting\""));
  const ReflectorStatus status = reflector_->status();
  EXPECT_EQ(status.state, ReflectorState::kWaiting);
  ASSERT_TRUE(status.error);
  EXPECT_TRUE(IsConnectionRefused(*status.error));
}

TEST_F(ReflectorReportTest, StreamsCountAsListsAndAsWatches) {
  const auto stream = source_->AddWatch();
  stream->Added(PodAt("a", "1"));
  stream->Synced("10");
  Start();
  ASSERT_TRUE(stream->WaitDrained());
  const ReflectorStatus status = reflector_->status();
  EXPECT_EQ(status.lists, 1U);
  EXPECT_EQ(status.watches, 1U);
  EXPECT_EQ(status.events, 2U);
}

TEST_F(ReflectorReportTest, CountsListsAndWatchesUnderTheNamesOfClientGo) {
  const auto watch = StartWatching("10");
  watch->Added(PodAt("b", "11"));
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(Metric("reflector_lists_total"), 1);
  EXPECT_EQ(Reports("reflector_list_duration_seconds"), 1U);
  EXPECT_EQ(Metric("reflector_items_per_list"), 1);
  EXPECT_EQ(Metric("reflector_watches_total"), 1);
  EXPECT_EQ(Metric("reflector_last_resource_version"), 11);
  clock_->Advance(std::chrono::seconds(5));
  const auto second = source_->AddWatch();
  watch->End();
  ASSERT_TRUE(second->WaitDrained());
  EXPECT_EQ(Metric("reflector_watch_duration_seconds"), 5);
  EXPECT_EQ(Metric("reflector_items_per_watch"), 1);
  EXPECT_EQ(Metric("reflector_short_watches_total"), 0);
  EXPECT_EQ(Metric("reflector_watches_total"), 2);
  source_->AddList(PageOf<Pod>({}, "20"));
  second->End();
  PassWait(1);
  ASSERT_TRUE(source_->WaitForWatches(3));
  EXPECT_EQ(Metric("reflector_short_watches_total"), 1);
  EXPECT_EQ(Metric("reflector_lists_total"), 2);
}

TEST_F(ReflectorReportTest, ACallbackThatThrowsDoesNoHarm) {
  options_.on_error = [](const Error&) { throw std::runtime_error("oops"); };
  UseLists();
  source_->AddList(ApiError(500, "InternalError", "boom"));
  source_->AddList(PageOf<Pod>({}, "10"));
  const auto watch = source_->AddWatch();
  Start();
  PassWait(1);
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(log_->Count("The error callback threw"), 1U);
}

TEST_F(ReflectorReportTest, ASlowListIsSaid) {
  UseLists();
  source_->AnswerLists([this](const ListOptions&) {
    clock_->Advance(std::chrono::seconds(12));
    return PageOf<Pod>({}, "10");
  });
  const auto watch = source_->AddWatch();
  Start();
  ASSERT_TRUE(watch->WaitDrained());
  EXPECT_EQ(log_->Count("I \"A list took long\""), 1U);
}

TEST_F(ReflectorReportTest, ListAndWatchGivesTheErrorOfItsRound) {
  UseLists();
  source_->AddList(ApiError(403, "Forbidden", "pods is forbidden"));
  const std::optional<Error> error = Make().ListAndWatch(ctx_);
  ASSERT_TRUE(error);
  EXPECT_TRUE(IsForbidden(*error));
  source_->AddList(PageOf<Pod>({}, "10"));
  source_->AddWatch()->Fail(Expired());
  EXPECT_EQ(reflector_->ListAndWatch(ctx_), std::nullopt) << "an open watch that fails is no error of the round";
}

}  // namespace
}  // namespace kube::internal
