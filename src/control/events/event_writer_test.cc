// How events are written, retried and dropped: contracts.md section 7.
#include "control/events/event_writer.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "control/events/event_test_util.h"
#include "kube/api/core/v1.h"
#include "kube/base/metrics.h"

namespace kube::internal {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Error Api(int code, std::string reason) {
  Error::Payload payload;
  payload.kind = ErrorKind::kApi;
  payload.http_code = code;
  payload.reason = std::move(reason);
  payload.message = "scripted";
  return Error(std::move(payload));
}
const Error kRefused(ErrorKind::kTransport, "connection refused");

class Contract07Events : public ::testing::Test {
 protected:
  EventRecorder Make(EventRecorderOptions options = {}) {
    options.clock = clock_;
    options.metrics = metrics_;
    options.random = [] { return 0.0; };
    auto writer = std::make_shared<EventWriter>(std::make_unique<FakeSink>(log_), options);
    return RecorderAccess::Make(std::move(writer), "test", "test-host");
  }
  void Emit(const EventRecorder& recorder, const std::string& reason = "Started", const std::string& note = "it runs",
            const EventObject& object = PodObject()) {
    recorder.Event(object, EventType::kNormal, reason, "Act", note);
  }
  // Moves time from one try to the next until there are so many requests.
  bool AdvanceUntilWritten(const EventRecorder& recorder, std::size_t n) {
    for (;;) {
      if (!recorder.Flush()) return false;
      const std::size_t before = log_->written().size();
      if (before >= n) return true;
      // Idle, and asleep.
      if (!clock_->WaitForWaiters(1)) return false;
      if (!clock_->AdvanceToNextTimer() || !log_->WaitFor(before + 1)) return false;
    }
  }

  const std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  const std::shared_ptr<SinkLog> log_ = std::make_shared<SinkLog>();
  const std::shared_ptr<RecordedMetrics> metrics_ = std::make_shared<RecordedMetrics>();
};

TEST_F(Contract07Events, CreatePatchThenOnlyCounted) {
  const EventRecorder recorder = Make();
  for (int i = 0; i < 5; ++i) Emit(recorder);
  ASSERT_TRUE(recorder.Flush());
  EXPECT_THAT(log_->lines(), ElementsAre("create 1", "patch 2"));
  const EventRecorderStats stats = recorder.stats();
  EXPECT_EQ(stats.recorded, 5U);
  EXPECT_EQ(stats.written, 2U);
  EXPECT_EQ(stats.counted, 3U);
  EXPECT_EQ(log_->written()[0].event.metadata.name, log_->written()[1].event.metadata.name);
}

TEST_F(Contract07Events, DifferentEventsAreAllCreated) {
  const EventRecorder recorder = Make();
  Emit(recorder, "A");
  Emit(recorder, "B");
  Emit(recorder, "A", "other note");
  ASSERT_TRUE(recorder.Flush());
  EXPECT_THAT(log_->lines(), ElementsAre("create 1", "create 1", "create 1"));
}

TEST_F(Contract07Events, NoNamespaceIsDefault) {
  const EventRecorder recorder = Make();
  Emit(recorder, "Ready", "yes", PodObject("node-1", ""));
  ASSERT_TRUE(recorder.Flush());
  ASSERT_THAT(log_->written(), SizeIs(1));
  EXPECT_EQ(log_->written()[0].event.metadata.namespace_, "default");
}

TEST_F(Contract07Events, ObjectsAndReferencesCanBeRecordedAlike) {
  const EventRecorder recorder = Make();
  core::v1::Pod pod;
  pod.metadata.name = "web";
  pod.metadata.namespace_ = "shop";
  pod.metadata.uid = "u1";
  pod.metadata.resource_version = "7";
  recorder.Event(pod, EventType::kWarning, "Bad", "Look", "a pod");
  core::v1::ObjectReference reference;
  reference.kind = "Deployment";
  reference.api_version = "apps/v1";
  reference.name = "web";
  reference.namespace_ = "shop";
  recorder.Event(reference, EventType::kNormal, "Good", "Look", "a reference", EventObjectOf(pod));
  DynamicObject cart(Gvk{"shop.example.com", "v1", "Cart"}, {"shop", "c1"});
  recorder.Event(cart, EventType::kNormal, "Good", "", "a cart");
  ASSERT_TRUE(recorder.Flush());
  const std::vector<Written> written = log_->written();
  ASSERT_THAT(written, SizeIs(3));
  EXPECT_EQ(written[0].event.regarding.kind, "Pod");
  EXPECT_EQ(written[0].event.regarding.api_version, "v1");
  EXPECT_EQ(written[0].event.regarding.uid, "u1");
  EXPECT_EQ(written[0].event.regarding.resource_version, "7");
  EXPECT_EQ(written[0].event.type, "Warning");
  EXPECT_EQ(written[1].event.regarding.api_version, "apps/v1");
  EXPECT_EQ(written[1].event.related->kind, "Pod");
  EXPECT_EQ(written[2].event.regarding.kind, "Cart");
  EXPECT_EQ(written[2].event.action, "Good");  // the server wants one
}

TEST_F(Contract07Events, WhatCannotBeReferredToIsDropped) {
  const EventRecorder recorder = Make();
  recorder.Event(EventObject{.name = "web"}, EventType::kNormal, "A", "Act", "no kind");
  recorder.Event(EventObject{.kind = "Pod"}, EventType::kNormal, "A", "Act", "no name");
  recorder.Event(PodObject(), EventType::kNormal, "", "Act", "no reason");
  ASSERT_TRUE(recorder.Flush());
  EXPECT_THAT(log_->lines(), IsEmpty());
  EXPECT_EQ(recorder.stats().dropped_invalid, 3U);
  EXPECT_EQ(metrics_->Value("kubexx_events_dropped_total", {{"reason", "invalid"}}), 3);
}

TEST_F(Contract07Events, ARefusalOfTheServerIsOneAttempt) {
  log_->Fail("create", Api(403, "Forbidden"));
  const EventRecorder recorder = Make();
  Emit(recorder);
  ASSERT_TRUE(recorder.Flush());
  EXPECT_THAT(log_->lines(), ElementsAre("create 1"));
  EXPECT_EQ(recorder.stats().dropped_rejected, 1U);
  // What it refused once is made when it comes again.
  Emit(recorder);
  ASSERT_TRUE(recorder.Flush());
  EXPECT_THAT(log_->lines(), ElementsAre("create 1", "create 2"));
}

TEST_F(Contract07Events, ARequestThatCannotBeMadeIsOneAttempt) {
  log_->Fail("create", Error::Invalid("no such path"));
  const EventRecorder recorder = Make();
  Emit(recorder);
  ASSERT_TRUE(recorder.Flush());
  EXPECT_THAT(log_->lines(), ElementsAre("create 1"));
  EXPECT_EQ(recorder.stats().dropped_rejected, 1U);
}

TEST_F(Contract07Events, TransportErrorsAreTriedTwelveTimes) {
  log_->Fail("create", kRefused, 100);
  const EventRecorder recorder = Make();
  const Clock::TimePoint begin = clock_->Now();
  Emit(recorder);
  ASSERT_TRUE(AdvanceUntilWritten(recorder, 12));
  ASSERT_TRUE(recorder.Flush());
  EXPECT_EQ(clock_->Now() - begin, seconds(110));  // ten seconds apart
  clock_->Advance(seconds(60));
  ASSERT_TRUE(recorder.Flush());
  EXPECT_THAT(log_->lines(), SizeIs(12));
  EXPECT_EQ(recorder.stats().dropped_gave_up, 1U);
}

TEST_F(Contract07Events, TheDelayHasAQuarterOfJitter) {
  log_->Fail("create", kRefused);
  EventRecorderOptions options;
  options.clock = clock_;
  options.random = [] { return 1.0; };
  const EventRecorder recorder = RecorderAccess::Make(std::make_shared<EventWriter>(std::make_unique<FakeSink>(log_), options), "test");
  const Clock::TimePoint begin = clock_->Now();
  Emit(recorder);
  ASSERT_TRUE(AdvanceUntilWritten(recorder, 2));
  EXPECT_EQ(clock_->Now() - begin, std::chrono::milliseconds(12500));
}

TEST_F(Contract07Events, OneThatWaitsDoesNotHoldUpOthers) {
  log_->Fail("create", kRefused);
  const EventRecorder recorder = Make();
  Emit(recorder, "A");
  Emit(recorder, "B");
  ASSERT_TRUE(recorder.Flush());
  ASSERT_THAT(log_->lines(), ElementsAre("create 1", "create 1"));
  EXPECT_EQ(log_->written()[1].event.reason, "B");
  ASSERT_TRUE(AdvanceUntilWritten(recorder, 3));
  EXPECT_EQ(log_->written()[2].event.reason, "A");
}

TEST_F(Contract07Events, RepetitionsMeanwhileAreInTheNextTry) {
  log_->Fail("create", kRefused);
  const EventRecorder recorder = Make();
  for (int i = 0; i < 4; ++i) Emit(recorder);
  ASSERT_TRUE(recorder.Flush());
  ASSERT_TRUE(AdvanceUntilWritten(recorder, 2));
  EXPECT_THAT(log_->lines(), ElementsAre("create 1", "create 4"));
}

TEST_F(Contract07Events, APatchOfAnExpiredEventCreatesItAgain) {
  const EventRecorder recorder = Make();
  Emit(recorder);
  ASSERT_TRUE(recorder.Flush());
  log_->Fail("patch", Api(404, "NotFound"));
  Emit(recorder);
  ASSERT_TRUE(recorder.Flush());
  EXPECT_THAT(log_->lines(), ElementsAre("create 1", "patch 2", "create 2"));
  EXPECT_EQ(log_->written()[2].event.metadata.resource_version, "");
}

TEST_F(Contract07Events, ACreationOfASeriesThatIsThereIsTriedAgainAsAPatch) {
  log_->Fail("create", kRefused);  // the server took it, and its answer was lost
  log_->Fail("create", Api(409, "AlreadyExists"));
  const EventRecorder recorder = Make();
  Emit(recorder);
  Emit(recorder);
  ASSERT_TRUE(recorder.Flush());
  ASSERT_TRUE(AdvanceUntilWritten(recorder, 3));
  EXPECT_THAT(log_->lines(), ElementsAre("create 1", "create 2", "patch 2"));
}

TEST_F(Contract07Events, ACreationOfASingleEventThatIsThereIsDone) {
  log_->Fail("create", Api(409, "AlreadyExists"));
  const EventRecorder recorder = Make();
  Emit(recorder);
  ASSERT_TRUE(recorder.Flush());
  EXPECT_EQ(recorder.stats().dropped_rejected, 0U);
  Emit(recorder);
  ASSERT_TRUE(recorder.Flush());
  EXPECT_THAT(log_->lines(), ElementsAre("create 1", "patch 2"));
}

TEST_F(Contract07Events, ASeriesIsFinishedAfterSixMinutesWithItsFinalCount) {
  const EventRecorder recorder = Make();
  for (int i = 0; i < 7; ++i) Emit(recorder);
  ASSERT_TRUE(recorder.Flush());
  ASSERT_TRUE(clock_->WaitForWaiters(1));
  clock_->Advance(minutes(6));
  ASSERT_TRUE(log_->WaitFor(3));
  EXPECT_THAT(log_->lines(), ElementsAre("create 1", "patch 2", "patch 7"));
  // The next one is a new event.
  Emit(recorder);
  ASSERT_TRUE(recorder.Flush());
  EXPECT_EQ(log_->lines().back(), "create 1");
  EXPECT_NE(log_->written()[3].event.metadata.name, log_->written()[0].event.metadata.name);
}

TEST_F(Contract07Events, AFinishedSingleEventCostsNothing) {
  const EventRecorder recorder = Make();
  Emit(recorder);
  ASSERT_TRUE(recorder.Flush());
  ASSERT_TRUE(clock_->WaitForWaiters(1));
  clock_->Advance(minutes(6));
  Emit(recorder, "Other");
  ASSERT_TRUE(recorder.Flush());
  EXPECT_THAT(log_->lines(), ElementsAre("create 1", "create 1"));
}

TEST_F(Contract07Events, AFinalCountThatCannotBeWrittenIsTriedAgain) {
  const EventRecorder recorder = Make();
  for (int i = 0; i < 3; ++i) Emit(recorder);
  ASSERT_TRUE(recorder.Flush());
  log_->Fail("patch", kRefused);
  ASSERT_TRUE(clock_->WaitForWaiters(1));
  clock_->Advance(minutes(6));
  ASSERT_TRUE(log_->WaitFor(3));
  ASSERT_TRUE(AdvanceUntilWritten(recorder, 4));
  EXPECT_THAT(log_->lines(), ElementsAre("create 1", "patch 2", "patch 3", "patch 3"));
}

TEST_F(Contract07Events, ALastingSeriesIsRefreshedEveryHalfHour) {
  const EventRecorder recorder = Make();
  int emitted = 0;
  while (emitted < 7) {  // one every five minutes: never idle
    Emit(recorder);
    ++emitted;
    ASSERT_TRUE(recorder.Flush());
    ASSERT_TRUE(clock_->WaitForWaiters(1));
    clock_->Advance(minutes(5));
  }
  ASSERT_TRUE(log_->WaitFor(3));
  EXPECT_EQ(log_->lines().front(), "create 1");
  EXPECT_EQ(log_->lines()[1], "patch 2");
  EXPECT_THAT(log_->lines()[2], ::testing::AnyOf("patch 6", "patch 7"));
}

TEST_F(Contract07Events, ARefreshThatFailsKeepsTheSeries) {
  const EventRecorder recorder = Make({.series_refresh = minutes(1)});
  for (int i = 0; i < 3; ++i) Emit(recorder);
  ASSERT_TRUE(recorder.Flush());
  log_->Fail("patch", Api(500, "InternalError"));
  ASSERT_TRUE(clock_->WaitForWaiters(1));
  clock_->Advance(minutes(1));
  ASSERT_TRUE(log_->WaitFor(3));
  ASSERT_TRUE(recorder.Flush());
  Emit(recorder);
  ASSERT_TRUE(recorder.Flush());
  ASSERT_TRUE(clock_->WaitForWaiters(1));
  clock_->Advance(minutes(1));
  ASSERT_TRUE(log_->WaitFor(4));
  EXPECT_THAT(log_->lines(), ElementsAre("create 1", "patch 2", "patch 3", "patch 4"));
}

TEST_F(Contract07Events, SpamIsDroppedAndCounted) {
  const EventRecorder recorder = Make();
  for (int i = 0; i < 40; ++i) Emit(recorder, "Reason" + std::to_string(i));
  ASSERT_TRUE(recorder.Flush());
  EXPECT_THAT(log_->lines(), SizeIs(25));
  EXPECT_EQ(recorder.stats().dropped_spam, 15U);
  EXPECT_EQ(metrics_->Value("kubexx_events_dropped_total", {{"reason", "spam"}}), 15);
}

TEST_F(Contract07Events, AFullQueueDropsAndNeverBlocks) {
  log_->Close();
  const EventRecorder recorder = Make({.queue_size = 10});
  Emit(recorder, "First");
  ASSERT_TRUE(log_->WaitForWaiting());
  for (int i = 0; i < 30; ++i) Emit(recorder, "Reason", "x", PodObject("web-" + std::to_string(i)));
  EXPECT_EQ(recorder.stats().dropped_full, 20U);
  EXPECT_EQ(metrics_->Value("kubexx_events_dropped_total", {{"reason", "queue_full"}}), 20);
  log_->Open();
  ASSERT_TRUE(recorder.Flush());
  EXPECT_THAT(log_->lines(), SizeIs(11));
}

TEST_F(Contract07Events, LotsOfEventsNoneDroppedEachTried) {
  const EventRecorder recorder = Make({.queue_size = 3000});
  for (int i = 0; i < 2000; ++i) Emit(recorder, "Reason", "x", PodObject("web-" + std::to_string(i)));
  ASSERT_TRUE(recorder.Flush());
  EXPECT_THAT(log_->lines(), SizeIs(2000));
  EXPECT_EQ(recorder.stats().dropped_full, 0U);
}

TEST_F(Contract07Events, WhileTooManyWaitForATryNothingMoreIsTaken) {
  log_->Fail("create", kRefused, 1000);
  const EventRecorder recorder = Make({.queue_size = 5});
  for (int i = 0; i < 5; ++i) {
    Emit(recorder, "Reason", "x", PodObject("web-" + std::to_string(i)));
    ASSERT_TRUE(recorder.Flush());
  }
  for (int i = 5; i < 20; ++i) Emit(recorder, "Reason", "x", PodObject("web-" + std::to_string(i)));
  EXPECT_EQ(recorder.stats().dropped_full, 10U);
  EXPECT_THAT(log_->lines(), SizeIs(5));
}

TEST_F(Contract07Events, AtShutdownEachIsTriedOnceMore) {
  log_->Fail("create", kRefused, 1000);
  const EventRecorder recorder = Make();
  Emit(recorder, "A");
  ASSERT_TRUE(recorder.Flush());  // tried once, waits
  Emit(recorder, "B");
  recorder.Shutdown();
  const std::vector<Written> written = log_->written();
  int a = 0;
  int b = 0;
  for (const Written& w : written) (w.event.reason == "A" ? a : b)++;
  EXPECT_EQ(a, 2);
  EXPECT_LE(b, 2);  // at most one of them after the shutdown began
  EXPECT_GE(b, 1);
}

TEST_F(Contract07Events, AtShutdownCountsAreWritten) {
  {
    const EventRecorder recorder = Make();
    for (int i = 0; i < 9; ++i) Emit(recorder);
    ASSERT_TRUE(recorder.Flush());
  }
  EXPECT_THAT(log_->lines(), ElementsAre("create 1", "patch 2", "patch 9"));
}

TEST_F(Contract07Events, AShutdownThatTakesTooLongIsCutOff) {
  log_->Close();
  const EventRecorder recorder = Make();
  Emit(recorder);
  ASSERT_TRUE(log_->WaitForWaiting());
  std::atomic<bool> done{false};
  Thread shutdown("shutdown", [&] {
    recorder.Shutdown();
    done = true;
  });
  while (!done) {
    clock_->Advance(seconds(1));
    std::this_thread::yield();
  }
  shutdown.Join();
  EXPECT_THAT(log_->lines(), IsEmpty());
}

TEST_F(Contract07Events, AfterShutdownNothingIsTaken) {
  const EventRecorder recorder = Make();
  recorder.Shutdown();
  Emit(recorder);
  recorder.Shutdown();
  EXPECT_THAT(log_->lines(), IsEmpty());
  EXPECT_EQ(recorder.stats().dropped_full, 1U);
}

TEST_F(Contract07Events, EmittingAndShuttingDownAtOnceIsSafe) {
  for (int round = 0; round < 20; ++round) {
    const EventRecorder recorder = Make();
    std::vector<Thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back("emit", [&recorder, t] {
        for (int i = 0; i < 50; ++i) {
          recorder.Event(PodObject("web-" + std::to_string(t)), EventType::kNormal, "Reason", "Act", std::to_string(i));
        }
      });
    }
    recorder.Shutdown();
    for (Thread& thread : threads) thread.Join();
    EXPECT_EQ(recorder.stats().recorded, 200U);
  }
}

TEST_F(Contract07Events, RecordersOfOneQueueReportUnderTheirOwnNames) {
  const EventRecorder recorder = Make();
  const EventRecorder other = recorder.For("other");
  Emit(recorder);
  Emit(other);
  ASSERT_TRUE(recorder.Flush());
  ASSERT_THAT(log_->written(), SizeIs(2));
  EXPECT_EQ(log_->written()[0].event.reporting_controller, "test");
  EXPECT_EQ(log_->written()[0].event.reporting_instance, "test-host");
  EXPECT_EQ(log_->written()[1].event.reporting_controller, "other");
  EXPECT_EQ(log_->written()[1].event.reporting_instance.view().substr(0, 6), "other-");
}

TEST_F(Contract07Events, TwoRecordersCorrelateIndependently) {
  auto second_log = std::make_shared<SinkLog>();
  const EventRecorder first = Make();
  EventRecorderOptions options;
  options.clock = clock_;
  const EventRecorder second = RecorderAccess::Make(std::make_shared<EventWriter>(std::make_unique<FakeSink>(second_log), options), "test");
  Emit(first);
  Emit(first);
  Emit(second);
  ASSERT_TRUE(first.Flush() && second.Flush());
  EXPECT_THAT(log_->lines(), ElementsAre("create 1", "patch 2"));
  EXPECT_THAT(second_log->lines(), ElementsAre("create 1"));
}

TEST(EventRecorderTest, ADefaultOneDoesNothing) {
  const EventRecorder nothing;
  nothing.Event(PodObject(), EventType::kNormal, "A", "Act", "x");
  EXPECT_TRUE(nothing.Flush());
  nothing.Shutdown();
  nothing.For("other").Event(PodObject(), EventType::kNormal, "A", "Act", "x");
  EXPECT_EQ(nothing.stats().recorded, 0U);
}

TEST(RecordedEventsTest, KeepsTypeReasonAndNote) {
  RecordedEvents fake;
  const EventRecorder recorder = fake.recorder();
  recorder.Event(PodObject("web"), EventType::kNormal, "Started", "Act", "it runs");
  recorder.Event(PodObject("db"), EventType::kWarning, "Failed", "Act", "it does not");
  EXPECT_TRUE(fake.WaitForEvents(2));
  EXPECT_THAT(fake.events(), ElementsAre("Normal Started it runs", "Warning Failed it does not"));
  EXPECT_EQ(fake.objects()[1].name, "db");
  EXPECT_FALSE(fake.WaitForEvents(3, std::chrono::milliseconds(1)));
}

}  // namespace
}  // namespace kube::internal
