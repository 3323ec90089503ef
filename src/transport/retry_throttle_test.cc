// WithRetry together with the rate limit, the URL backoff, metrics and logs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "kube/transport/decorators.h"
#include "transport/throttled_log.h"
#include "transport/transport_test_util.h"
#include "transport/url_backoff.h"

namespace kube {
namespace {

using internal::CapturedLog;
using internal::RunThroughTime;
using internal::ScriptedTransport;
using internal::ThrottledLog;
using internal::UrlBackoffState;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Step = ScriptedTransport::Step;

const HttpRequest kGet{.method = "GET", .target = "/api/v1/pods/x", .verb = "get"};
const HttpRequest kWatch{.method = "GET", .target = "/api/v1/pods?watch=true", .streaming = true, .verb = "watch"};
const HttpRequest kLogs{.method = "GET", .target = "/api/v1/pods/x/log", .streaming = true, .verb = "get"};

// What happened, in order and with the second of the clock.
struct Story {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  Clock::TimePoint start = clock->Now();
  Mutex mu;
  std::vector<std::string> events KUBE_GUARDED_BY(mu);

  void Tell(const std::string& what) {
    MutexLock lock(mu);
    events.push_back(what + "@" + std::to_string(std::chrono::duration_cast<seconds>(clock->Now() - start).count()));
  }
  std::vector<std::string> All() {
    MutexLock lock(mu);
    return events;
  }
};

class ToldLimiter : public RateLimiter {
 public:
  ToldLimiter(Story& story, std::chrono::nanoseconds wait = {}) : story_(story), wait_(wait) {}
  bool TryAccept() override { return true; }
  Result<void> Wait(const Context& ctx) override {
    story_.Tell("limit");
    if (wait_.count() > 0) return ctx.SleepFor(wait_);
    return ctx.Check();
  }
  double qps() const override { return 1; }

 private:
  Story& story_;
  const std::chrono::nanoseconds wait_;
};

class ToldMetrics : public RecordedMetrics {
 public:
  explicit ToldMetrics(Story& story) : story_(story) {}
  void Add(std::string_view counter, MetricLabels labels, double value = 1) override {
    story_.Tell("count");
    RecordedMetrics::Add(counter, labels, value);
  }

 private:
  Story& story_;
};

struct Rig {
  explicit Rig(std::vector<Step> steps, UrlBackoff backoff = {}, std::chrono::nanoseconds wait = {}, int verbosity = 0) : log(verbosity) {
    for (Step& step : steps) {
      step = [this, step](const Context& c, const HttpRequest& request) {
        story.Tell("send");
        return step(c, request);
      };
    }
    server = std::make_shared<ScriptedTransport>(std::move(steps));
    metrics = std::make_shared<ToldMetrics>(story);
    transport = WithRetry(server, {.limiter = std::make_shared<ToldLimiter>(story, wait),
                                   .url_backoff = backoff,
                                   .metrics = metrics,
                                   .host = "h",
                                   .logger = log.logger()});
  }
  Result<HttpResponse> Send(const HttpRequest& request) {
    return RunThroughTime<Result<HttpResponse>>(*story.clock, [&] { return transport->RoundTrip(ctx, request); });
  }

  Story story;
  CapturedLog log;
  Context ctx = Context::Background(story.clock);
  std::shared_ptr<ScriptedTransport> server;
  std::shared_ptr<ToldMetrics> metrics;
  std::shared_ptr<Transport> transport;
};

std::vector<Step> BusyThenOk(std::string after = "2") {
  return {ScriptedTransport::Gives(429, {{"Retry-After", after}}), ScriptedTransport::Gives(503, {{"Retry-After", after}}),
          ScriptedTransport::Gives(200, {}, "done")};
}

// ---- TestRequest{Do,Stream,Watch}RetryWithRateLimiterBackoffAndMetrics ----

TEST(Contract9RetryOrder, ARequestWaitsThenIsLimitedThenSentThenCounted) {
  Rig s(BusyThenOk());
  ASSERT_TRUE(s.Send(kGet));
  EXPECT_THAT(s.story.All(), ElementsAre("limit@0", "send@0", "limit@2", "send@2", "count@2", "limit@4", "send@4", "count@4"));
}

TEST(Contract9RetryOrder, AStreamIsLimitedEachTime) {
  Rig s(BusyThenOk());
  ASSERT_TRUE(s.Send(kLogs));
  EXPECT_THAT(s.story.All(), ElementsAre("limit@0", "send@0", "limit@2", "send@2", "count@2", "limit@4", "send@4", "count@4"));
}

TEST(Contract9RetryOrder, AWatchIsLimitedFromItsSecondAttempt) {
  Rig s(BusyThenOk());
  ASSERT_TRUE(s.Send(kWatch));
  EXPECT_THAT(s.story.All(), ElementsAre("send@0", "limit@2", "send@2", "count@2", "limit@4", "send@4", "count@4"));
}

TEST(Contract9RetryOrder, UpgradesAreNeitherLimitedNorRepeated) {
  Rig s(BusyThenOk());
  ASSERT_TRUE(s.transport->Upgrade(s.ctx, kGet));
  EXPECT_THAT(s.story.All(), ElementsAre("send@0"));
}

TEST(Contract9RetryOrder, WithUrlBackoffTheLongerWaitCounts) {
  Rig s(BusyThenOk("3"), {seconds(2), seconds(60)});
  ASSERT_TRUE(s.Send(kGet));
  EXPECT_THAT(s.server->times(), ElementsAre(0, 3, 7));  // 3 > 2, then 4 > 3
}

// ---- TestURLBackoff*, TestBackoffLifecycle ----

TEST(Contract9UrlBackoff, GrowsOnOverloadUpToItsLimit) {
  UrlBackoffState state({seconds(1), seconds(10)});
  const Clock::TimePoint now{};
  EXPECT_EQ(state.Delay(), seconds(0));
  std::vector<std::int64_t> delays;
  for (int i = 0; i < 6; ++i) {
    state.Update(i % 2 == 0 ? 429 : 500, now);
    delays.push_back(std::chrono::duration_cast<seconds>(state.Delay()).count());
  }
  EXPECT_THAT(delays, ElementsAre(1, 2, 4, 8, 10, 10));
}

TEST(Contract9UrlBackoff, EndsWithAnyOtherAnswerOrError) {
  for (const int code : {200, 302, 404, 499, 0}) {
    UrlBackoffState state({seconds(1), seconds(10)});
    state.Update(503, {});
    EXPECT_EQ(state.Delay(), seconds(1));
    state.Update(code, {});
    EXPECT_EQ(state.Delay(), seconds(0)) << code;
  }
}

TEST(Contract9UrlBackoff, StartsOverAfterALongTime) {
  UrlBackoffState state({seconds(1), seconds(10)});
  const Clock::TimePoint now{};
  for (int i = 0; i < 5; ++i) state.Update(503, now);
  state.Update(503, now + seconds(20));
  EXPECT_EQ(state.Delay(), seconds(10));
  state.Update(503, now + seconds(41));
  EXPECT_EQ(state.Delay(), seconds(1));
}

TEST(Contract9UrlBackoff, HoldsUpTheFirstAttemptOfTheNextRequest) {
  Rig s({ScriptedTransport::Gives(500), ScriptedTransport::Gives(500), ScriptedTransport::Gives(200), ScriptedTransport::Gives(200)},
        {seconds(5), seconds(60)});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(s.Send(kGet));
  EXPECT_THAT(s.server->times(), ElementsAre(0, 5, 15, 15));
}

TEST(Contract9UrlBackoff, IsOffByDefault) {
  Rig s({ScriptedTransport::Gives(500)});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(s.Send(kGet));
  EXPECT_THAT(s.server->times(), ElementsAre(0, 0, 0));
}

TEST(Contract9UrlBackoff, TheEnvironmentSaysBothOrNothing) {
  struct Env {
    ~Env() {
      unsetenv("KUBE_CLIENT_BACKOFF_BASE");
      unsetenv("KUBE_CLIENT_BACKOFF_DURATION");
    }
  } restore;
  const auto with = [](const char* base, const char* duration) {
    base == nullptr ? unsetenv("KUBE_CLIENT_BACKOFF_BASE") : setenv("KUBE_CLIENT_BACKOFF_BASE", base, 1);
    duration == nullptr ? unsetenv("KUBE_CLIENT_BACKOFF_DURATION") : setenv("KUBE_CLIENT_BACKOFF_DURATION", duration, 1);
    const UrlBackoff got = UrlBackoffFromEnvironment();
    return std::pair(got.base, got.max);
  };
  using Pair = std::pair<std::chrono::nanoseconds, std::chrono::nanoseconds>;
  EXPECT_EQ(with("2", "60"), Pair(seconds(2), seconds(60)));
  EXPECT_EQ(with("2", nullptr), Pair());
  EXPECT_EQ(with(nullptr, "60"), Pair());
  EXPECT_EQ(with("2s", "60"), Pair());
  EXPECT_EQ(with("", "60"), Pair());
}

// ---- Metrics ----

TEST(Contract20RetryMetrics, RetriesCountFromTheSecondAttempt) {
  Rig s({ScriptedTransport::Gives(429, {{"Retry-After", "1"}}), ScriptedTransport::Fails(transport_reason::kConnectionReset),
         ScriptedTransport::Gives(200)});
  ASSERT_TRUE(s.Send(kGet));
  EXPECT_EQ(s.metrics->Value("rest_client_request_retries_total", {{"code", "429"}, {"verb", "GET"}, {"host", "h"}}), 0);
  EXPECT_EQ(s.metrics->Value("rest_client_request_retries_total", {{"code", "<error>"}, {"verb", "GET"}, {"host", "h"}}), 1);
  EXPECT_EQ(s.metrics->Value("rest_client_request_retries_total", {{"code", "200"}, {"verb", "GET"}, {"host", "h"}}), 1);
}

TEST(Contract20RetryMetrics, TheDurationIsThatOfTheWholeRequest) {
  Rig s(BusyThenOk("2"), {}, seconds(1));
  ASSERT_TRUE(s.Send(kGet));
  EXPECT_EQ(s.metrics->Value("rest_client_request_duration_seconds", {{"verb", "GET"}, {"host", "h"}}), 7);
  EXPECT_EQ(s.metrics->Count("rest_client_request_duration_seconds", {{"verb", "GET"}, {"host", "h"}}), 1U);
  EXPECT_EQ(s.metrics->Value("rest_client_rate_limiter_duration_seconds", {{"verb", "GET"}, {"host", "h"}}), 3);
  EXPECT_EQ(s.metrics->Count("rest_client_rate_limiter_duration_seconds", {{"verb", "GET"}, {"host", "h"}}), 3U);
}

TEST(Contract20RetryMetrics, StreamsHaveNoDuration) {
  Rig s({ScriptedTransport::Gives(200)});
  ASSERT_TRUE(s.Send(kWatch));
  ASSERT_TRUE(s.Send(kLogs));
  EXPECT_EQ(s.metrics->Count("rest_client_request_duration_seconds", {{"verb", "GET"}, {"host", "h"}}), 0U);
}

// ---- Throttling ----

TEST(Contract9Throttle, WaitsOver50MillisecondsAreLoggedAtThree) {
  Rig quiet({ScriptedTransport::Gives(200)}, {}, milliseconds(50), 3);
  ASSERT_TRUE(quiet.Send(kGet));
  EXPECT_THAT(quiet.log.lines(), IsEmpty());
  Rig s({ScriptedTransport::Gives(200)}, {}, milliseconds(51), 3);
  ASSERT_TRUE(s.Send(kGet));
  ASSERT_THAT(s.log.lines(), SizeIs(1));
  EXPECT_THAT(s.log.text(), HasSubstr("the client's own rate limit"));
  Rig two({ScriptedTransport::Gives(200)}, {}, milliseconds(51), 2);
  ASSERT_TRUE(two.Send(kGet));
  EXPECT_THAT(two.log.lines(), IsEmpty());
}

TEST(Contract9Throttle, WaitsOverASecondAreLoggedAtInfoNowAndThen) {
  Rig s({ScriptedTransport::Gives(200)}, {}, milliseconds(1001), 0);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(s.Send(kGet));
  EXPECT_THAT(s.log.lines(), SizeIs(1));
  ASSERT_TRUE(s.Send(kGet));
  EXPECT_THAT(s.log.lines(), SizeIs(2));
  Rig exactly({ScriptedTransport::Gives(200)}, {}, seconds(1), 0);
  ASSERT_TRUE(exactly.Send(kGet));
  EXPECT_THAT(exactly.log.lines(), IsEmpty());
}

TEST(Contract9Throttle, ALimitedServerNamesItsFlowSchema) {
  Rig s({ScriptedTransport::Gives(429, {{"Retry-After", "1"}, {"X-Kubernetes-PF-FlowSchema-UID", "schema-1"}}),
         ScriptedTransport::Gives(200)},
        {}, {}, 4);
  ASSERT_TRUE(s.Send(kGet));
  EXPECT_THAT(s.log.text(), HasSubstr("schema-1"));
}

// TestTryThrottleWithInfoContextDeadline
TEST(Contract9Throttle, AContextThatEndsMeanwhileIsItsError) {
  auto clock = std::make_shared<FakeClock>();
  const auto limiter = MakeTokenBucket(1, 1, clock);
  ASSERT_TRUE(limiter->TryAccept());
  const auto server = ScriptedTransport::Always(200);
  const auto transport = WithRetry(server, {.limiter = limiter});
  const Result<HttpResponse> late = transport->RoundTrip(Context::Background(clock).WithTimeout(milliseconds(10)), kGet);
  ASSERT_FALSE(late);
  EXPECT_TRUE(IsDeadlineExceeded(late.error()));
  EXPECT_THAT(late.error().ToString(), HasSubstr("rate limit"));
  auto [ctx, cancel] = Context::Background(clock).WithCancel();
  cancel.Cancel();
  const Result<HttpResponse> cancelled = transport->RoundTrip(ctx, kGet);
  ASSERT_FALSE(cancelled);
  EXPECT_TRUE(IsCancelled(cancelled.error()));
  EXPECT_EQ(server->count(), 0U);
}

TEST(Contract9Throttle, OneBucketIsSharedByAllRequests) {
  auto clock = std::make_shared<FakeClock>();
  const auto server = ScriptedTransport::Always(200);
  const auto transport = WithRetry(server, {.limiter = MakeTokenBucket(1, 2, clock)});
  const Context ctx = Context::Background(clock);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(RunThroughTime<Result<HttpResponse>>(*clock, [&] { return transport->RoundTrip(ctx, kGet); }));
  }
  EXPECT_THAT(server->times(), ElementsAre(0, 0, 1, 2));
}

TEST(Contract9Throttle, ARequestMayBringItsOwnLimiter) {
  Rig s({ScriptedTransport::Gives(200)});
  Story other;
  HttpRequest request = kGet;
  request.limiter = std::make_shared<ToldLimiter>(other);
  ASSERT_TRUE(s.Send(request));
  EXPECT_THAT(s.story.All(), ElementsAre("send@0"));
  EXPECT_THAT(other.All(), ElementsAre("limit@0"));
}

// ---- TestThrottledLogger ----

TEST(Contract9ThrottledLogger, OnceInTenSecondsAtInfo) {
  const CapturedLog log(0);
  ThrottledLog throttled;
  int allowed = 0;
  for (int second = 0; second < 100; ++second) {
    const std::optional<int> verbosity = throttled.Allow(log.logger(), Clock::TimePoint{} + seconds(second));
    if (!verbosity) continue;
    EXPECT_EQ(*verbosity, 0);
    ++allowed;
  }
  EXPECT_EQ(allowed, 10);
}

TEST(Contract9ThrottledLogger, OnceASecondAtTwo) {
  const CapturedLog log(2);
  ThrottledLog throttled;
  int allowed = 0;
  for (int i = 0; i < 100; ++i) {
    const std::optional<int> verbosity = throttled.Allow(log.logger(), Clock::TimePoint{} + milliseconds(100 * i));
    if (!verbosity) continue;
    EXPECT_EQ(*verbosity, 2);
    ++allowed;
  }
  EXPECT_EQ(allowed, 10);
}

TEST(Contract9ThrottledLogger, OneOfManyThreadsWins) {
  const CapturedLog log(0);
  ThrottledLog throttled;
  std::atomic<int> allowed = 0;
  std::vector<Thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back("log", [&] {
      if (throttled.Allow(log.logger(), Clock::TimePoint{} + seconds(1))) ++allowed;
    });
  }
  threads.clear();
  EXPECT_EQ(allowed, 1);
}

}  // namespace
}  // namespace kube
