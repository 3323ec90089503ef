// What becomes of events: contracts.md section 7, TestEventCorrelator and its neighbours.
#include "control/events/event_correlator.h"

#include <chrono>
#include <memory>
#include <string>

#include "control/events/event_test_util.h"

namespace kube::internal {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;
using Decision = EventCorrelator::Decision;

constexpr const char* kUuid = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";

class Contract07Correlator : public ::testing::Test {
 protected:
  void Make(EventRecorderOptions options) {
    options_ = std::move(options);
    correlator_ = std::make_unique<EventCorrelator>(options_, clock_);
  }
  void SetUp() override { Make({}); }
  EventInput Input(std::string reason, std::string note, EventObject object = PodObject()) const {
    return {.regarding = std::move(object),
            .controller = "test",
            .instance = "test-host",
            .reason = String(reason),
            .action = "Act",
            .note = String(note),
            .time = clock_->WallNow()};
  }
  // As the writer would do it.
  EventCorrelator::Outcome See(const EventInput& input) {
    EventCorrelator::Outcome outcome = correlator_->Correlate(input);
    if (outcome.decision == Decision::kWrite) {
      outcome.series->created = true;
      outcome.series->written_count = outcome.series->count;
    }
    return outcome;
  }
  EventCorrelator::Outcome See(const std::string& reason, const std::string& note) { return See(Input(reason, note)); }

  const std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  EventRecorderOptions options_;
  std::unique_ptr<EventCorrelator> correlator_;
};

TEST_F(Contract07Correlator, TheFirstIsCreatedTheSecondPatchedLaterOnesCounted) {
  const EventCorrelator::Outcome first = See("Started", "it runs");
  EXPECT_EQ(first.decision, Decision::kWrite);
  EXPECT_FALSE(first.series->Current().series);
  const EventCorrelator::Outcome second = See("Started", "it runs");
  EXPECT_EQ(second.decision, Decision::kWrite);
  EXPECT_EQ(second.series, first.series);
  EXPECT_EQ(second.series->Current().series->count, 2);
  for (int i = 3; i <= 30; ++i) {
    const EventCorrelator::Outcome more = See("Started", "it runs");
    EXPECT_EQ(more.decision, Decision::kCount);
    EXPECT_EQ(more.series->Current().series->count, i);
  }
}

TEST_F(Contract07Correlator, AnEventSaysWhatItIs) {
  EventInput input = Input("Refused", "no", PodObject("web", "shop"));
  input.type = EventType::kWarning;
  input.regarding.field_path = "spec.containers{web}";
  input.related = PodObject("db", "shop");
  const events::v1::Event event = See(input).series->Current();
  EXPECT_EQ(event.metadata.namespace_, "shop");
  EXPECT_EQ(event.type, "Warning");
  EXPECT_EQ(event.reason, "Refused");
  EXPECT_EQ(event.action, "Act");
  EXPECT_EQ(event.note, "no");
  EXPECT_EQ(event.reporting_controller, "test");
  EXPECT_EQ(event.reporting_instance, "test-host");
  EXPECT_EQ(event.regarding.name, "web");
  EXPECT_EQ(event.regarding.api_version, "v1");
  EXPECT_EQ(event.regarding.uid, "uid-web");
  EXPECT_EQ(event.regarding.field_path, "spec.containers{web}");
  EXPECT_EQ(event.related->name, "db");
  EXPECT_EQ(event.event_time.ToString(), "2020-01-01T00:00:00.000000Z");
}

TEST_F(Contract07Correlator, WithoutANamespaceTheEventIsInDefault) {
  const events::v1::Event event = See(Input("Ready", "yes", PodObject("node-1", ""))).series->Current();
  EXPECT_EQ(event.metadata.namespace_, "default");
  EXPECT_EQ(event.regarding.namespace_, "");
}

TEST_F(Contract07Correlator, TheNameIsTheObjectsAndTheTimeInHex) {
  const events::v1::Event event = See("Started", "it runs").series->Current();
  EXPECT_EQ(event.metadata.name, "web.15e59a35b98a0000");  // 1577836800 s
  EXPECT_EQ(EventName("web", 0x1234abcd), "web.1234abcd");
}

TEST_F(Contract07Correlator, TwoEventsOfOneMomentHaveDifferentNames) {
  EXPECT_NE(See("A", "x").series->event.metadata.name, See("B", "x").series->event.metadata.name);
}

TEST_F(Contract07Correlator, ANameThatTheServerWouldNotTakeBecomesAUuid) {
  EXPECT_THAT(EventName("Upper", 1), MatchesRegex(kUuid));
  EXPECT_THAT(EventName("system:node", 1), MatchesRegex(kUuid));
  EXPECT_THAT(EventName(std::string(253, 'a'), 1), MatchesRegex(kUuid));
  EXPECT_EQ(EventName(std::string(251, 'a'), 1), std::string(251, 'a') + ".1");
}

TEST_F(Contract07Correlator, ALongNoteIsCutBetweenCharacters) {
  EXPECT_EQ(CutNote(std::string(1024, 'x')).size(), 1024U);
  const std::string cut = CutNote(std::string(1025, 'x'));
  EXPECT_EQ(cut.size(), 1024U);
  EXPECT_EQ(cut.substr(1021), "...");
  // An e with an accent has two bytes: 1020 is even, so one byte before it the cut goes back.
  std::string accents;
  while (accents.size() < 1100) accents += "\xc3\xa9";
  EXPECT_EQ(CutNote(accents), accents.substr(0, 1020) + "...");
  EXPECT_EQ(CutNote("a" + accents), ("a" + accents).substr(0, 1021) + "...");
}

TEST_F(Contract07Correlator, TheTenthNoteOfAReasonIsCombined) {
  for (int i = 1; i <= 9; ++i) {
    const EventCorrelator::Outcome single = See("Failed", "attempt " + std::to_string(i));
    EXPECT_EQ(single.decision, Decision::kWrite);
    EXPECT_EQ(single.series->event.note, "attempt " + std::to_string(i));
  }
  const EventCorrelator::Outcome combined = See("Failed", "attempt 10");
  EXPECT_EQ(combined.decision, Decision::kWrite);
  EXPECT_EQ(combined.series->event.note, "(combined from similar events): attempt 10");
}

TEST_F(Contract07Correlator, CombinedOnesAreOneSeries) {
  for (int i = 1; i <= 10; ++i) See("Failed", "attempt " + std::to_string(i));
  const EventCorrelator::Outcome eleventh = See("Failed", "attempt 11");
  EXPECT_EQ(eleventh.decision, Decision::kWrite);
  EXPECT_EQ(eleventh.series->count, 2);
  const EventCorrelator::Outcome twelfth = See("Failed", "attempt 12");
  EXPECT_EQ(twelfth.decision, Decision::kCount);
  EXPECT_EQ(twelfth.series, eleventh.series);
  EXPECT_EQ(correlator_->size(), 10U);
}

TEST_F(Contract07Correlator, TheSameNoteAgainDoesNotCombine) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(See("Failed", "always the same").series->event.note.str(), Not(HasSubstr("combined")));
  }
}

TEST_F(Contract07Correlator, OtherReasonsTypesObjectsAndControllersDoNotCombine) {
  Make({.spam_burst = 1000});
  for (int i = 1; i <= 9; ++i) See("Failed", "attempt " + std::to_string(i));
  EXPECT_THAT(See("Other", "attempt 10").series->event.note.str(), StartsWith("attempt"));
  EventInput warning = Input("Failed", "attempt 10");
  warning.type = EventType::kWarning;
  EXPECT_THAT(See(warning).series->event.note.str(), StartsWith("attempt"));
  EXPECT_THAT(See(Input("Failed", "attempt 10", PodObject("db"))).series->event.note.str(), StartsWith("attempt"));
  EventInput other = Input("Failed", "attempt 10");
  other.controller = "somebody-else";
  EXPECT_THAT(See(other).series->event.note.str(), StartsWith("attempt"));
  EXPECT_THAT(See("Failed", "attempt 10").series->event.note.str(), StartsWith("(combined"));
}

TEST_F(Contract07Correlator, AnotherContainerIsAnotherSeries) {
  EventInput web = Input("BackOff", "again");
  web.regarding.field_path = "spec.containers{web}";
  EventInput db = Input("BackOff", "again");
  db.regarding.field_path = "spec.containers{db}";
  EXPECT_NE(See(web).series, See(db).series);
}

TEST_F(Contract07Correlator, AnotherActionAndAnotherRelatedObjectAreAnotherSeries) {
  EventInput input = Input("Created", "made it");
  const EventSeriesPtr first = See(input).series;
  input.action = "Other";
  EXPECT_NE(See(input).series, first);
  input = Input("Created", "made it");
  input.related = PodObject("db");
  EXPECT_NE(See(input).series, first);
}

TEST_F(Contract07Correlator, NotesMoreThanTenMinutesApartDoNotCombine) {
  for (int i = 1; i <= 9; ++i) See("Failed", "attempt " + std::to_string(i));
  clock_->Advance(seconds(601));
  EXPECT_EQ(See("Failed", "attempt 10").series->event.note, "attempt 10");
}

TEST_F(Contract07Correlator, NotesTenMinutesApartCombine) {
  for (int i = 1; i <= 9; ++i) See("Failed", "attempt " + std::to_string(i));
  clock_->Advance(seconds(600));
  EXPECT_THAT(See("Failed", "attempt 10").series->event.note.str(), StartsWith("(combined"));
}

TEST_F(Contract07Correlator, WhenToCombineIsAnOption) {
  Make({.aggregate_after = 3, .aggregate_window = seconds(10)});
  See("Failed", "1");
  See("Failed", "2");
  EXPECT_THAT(See("Failed", "3").series->event.note.str(), StartsWith("(combined"));
  clock_->Advance(seconds(11));
  EXPECT_EQ(See("Failed", "4").series->event.note, "4");
}

TEST_F(Contract07Correlator, TwentyFiveEventsOfAnObjectThenOneEveryFiveMinutes) {
  for (int i = 0; i < 25; ++i) EXPECT_EQ(See("Reason" + std::to_string(i), "x").decision, Decision::kWrite) << i;
  EXPECT_EQ(See("Reason25", "x").decision, Decision::kSpam);
  clock_->Advance(seconds(299));
  EXPECT_EQ(See("Reason26", "x").decision, Decision::kSpam);
  clock_->Advance(seconds(1));
  EXPECT_EQ(See("Reason27", "x").decision, Decision::kWrite);
  EXPECT_EQ(See("Reason28", "x").decision, Decision::kSpam);
}

TEST_F(Contract07Correlator, SpamOfOneObjectDoesNotSilenceAnother) {
  for (int i = 0; i < 30; ++i) See("Reason" + std::to_string(i), "x");
  EXPECT_EQ(See(Input("Reason", "x", PodObject("db"))).decision, Decision::kWrite);
  EventInput warning = Input("Reason", "x");
  warning.type = EventType::kWarning;
  EXPECT_EQ(See(warning).decision, Decision::kWrite);
  EventInput other = Input("Reason", "x");
  other.controller = "somebody-else";
  EXPECT_EQ(See(other).decision, Decision::kWrite);
}

TEST_F(Contract07Correlator, ARepetitionIsCountedEvenWhereItMayNotBeWritten) {
  for (int i = 0; i < 25; ++i) See("Reason" + std::to_string(i), "x");
  const EventCorrelator::Outcome again = See("Reason0", "x");
  EXPECT_EQ(again.decision, Decision::kCount);
  EXPECT_EQ(again.series->count, 2);
  EXPECT_EQ(again.series->written_count, 1);
}

TEST_F(Contract07Correlator, BurstAndRefillAreOptions) {
  Make({.spam_burst = 2, .spam_refill_per_second = 1});
  EXPECT_EQ(See("A", "x").decision, Decision::kWrite);
  EXPECT_EQ(See("B", "x").decision, Decision::kWrite);
  EXPECT_EQ(See("C", "x").decision, Decision::kSpam);
  clock_->Advance(seconds(1));
  EXPECT_EQ(See("D", "x").decision, Decision::kWrite);
}

TEST_F(Contract07Correlator, RemembersNoMoreThanTheCacheSize) {
  Make({.cache_size = 4});
  for (int i = 0; i < 100; ++i) See(Input("A", "x", PodObject("web-" + std::to_string(i))));
  EXPECT_EQ(correlator_->size(), 4U);
}

TEST_F(Contract07Correlator, WhatHasToGoIsHandedOutWhereItHasUnwrittenCounts) {
  Make({.cache_size = 1});
  for (int i = 0; i < 5; ++i) See("A", "x");
  const EventCorrelator::Outcome next = See("B", "x");
  ASSERT_NE(next.evicted, nullptr);
  EXPECT_EQ(next.evicted->count, 5);
  EXPECT_EQ(See("C", "x").evicted, nullptr);
}

TEST_F(Contract07Correlator, IdleSeriesAreTakenOutInTheirOrder) {
  See("A", "x");
  clock_->Advance(seconds(100));
  See("B", "x");
  clock_->Advance(seconds(100));
  See("A", "x");  // B is the older one now
  EXPECT_EQ(*correlator_->NextIdle() - clock_->Now(), seconds(260));
  EXPECT_TRUE(correlator_->TakeIdle().empty());
  clock_->Advance(seconds(260));
  const std::vector<EventSeriesPtr> idle = correlator_->TakeIdle();
  ASSERT_EQ(idle.size(), 1U);
  EXPECT_EQ(idle[0]->event.reason, "B");
  EXPECT_EQ(correlator_->size(), 1U);
}

}  // namespace
}  // namespace kube::internal
