#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <map>
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
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Step = ScriptedTransport::Step;

Step Busy(int code = 429, std::string after = "0") { return ScriptedTransport::Gives(code, {{"Retry-After", std::move(after)}}); }
Step Ok() { return ScriptedTransport::Gives(200, {}, "done"); }
Step Broken(std::string_view reason = transport_reason::kConnectionReset) { return ScriptedTransport::Fails(reason); }

const HttpRequest kGet{.method = "GET", .target = "/api/v1/pods/x", .verb = "get"};
const HttpRequest kPost{.method = "POST", .target = "/api/v1/pods", .body = "{}", .verb = "create"};
const HttpRequest kWatch{.method = "GET", .target = "/api/v1/pods?watch=true", .streaming = true, .verb = "watch"};
const HttpRequest kLogs{.method = "GET", .target = "/api/v1/pods/x/log", .streaming = true, .verb = "get"};

struct Rig {
  explicit Rig(std::vector<Step> steps, RetryOptions options = {})
      : server(std::make_shared<ScriptedTransport>(std::move(steps))), transport(WithRetry(server, std::move(options))) {}

  Result<HttpResponse> Send(const HttpRequest& request) {
    return RunThroughTime<Result<HttpResponse>>(*clock, [&] { return transport->RoundTrip(ctx, request); });
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  Context ctx = Context::Background(clock);
  std::shared_ptr<ScriptedTransport> server;
  std::shared_ptr<Transport> transport;
};

// How many attempts are made where every one of them comes out like this.
std::size_t AttemptsFor(const HttpRequest& request, Step step) {
  Rig s({std::move(step)}, {.max_retries = 2});
  (void)s.Send(request);
  return s.server->count();
}

// ---- TestRetryableConditions: what x verb x mode ----

TEST(Contract24No18, RetryAfterIsHonouredForEveryVerbAndMode) {
  for (const int code : {429, 500, 502, 503, 504, 599}) {
    for (const char* method : {"GET", "POST", "PUT", "DELETE", "PATCH"}) {
      for (HttpRequest request : {kGet, kWatch, kLogs}) {
        request.method = method;
        EXPECT_EQ(AttemptsFor(request, Busy(code)), 3U) << code << " " << method << " " << request.target;
      }
    }
  }
}

TEST(Contract24No18, WithoutRetryAfterNothingIsTriedAgain) {
  for (const int code : {429, 500, 503}) {
    for (const HttpRequest& request : {kGet, kPost, kWatch, kLogs}) {
      EXPECT_EQ(AttemptsFor(request, ScriptedTransport::Gives(code)), 1U) << code << " " << request.target;
    }
  }
}

TEST(Contract24No18, ARetryAfterThatIsNoIntegerDoesNotCount) {
  for (const char* after : {"", "soon", "1.5", "1s", " 1", "1 ", "0x1", "99999999999999999999", "+-1", "Wed, 21 Oct 2015 07:28:00 GMT"}) {
    EXPECT_EQ(AttemptsFor(kGet, Busy(429, after)), 1U) << after;
  }
  EXPECT_EQ(AttemptsFor(kGet, Busy(429, "+1")), 3U);
  EXPECT_EQ(AttemptsFor(kGet, Busy(429, "-1")), 3U);
}

TEST(Contract24No18, OtherAnswersWithRetryAfterAreGivenBack) {
  for (const int code : {200, 201, 301, 302, 304, 400, 401, 403, 404, 409, 410, 422}) {
    for (const HttpRequest& request : {kGet, kPost, kWatch, kLogs}) EXPECT_EQ(AttemptsFor(request, Busy(code)), 1U) << code;
  }
}

TEST(Contract24No18, AtMostTenRetries) {
  Rig s({Busy()});
  const Result<HttpResponse> response = s.Send(kPost);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->code, 429);
  EXPECT_EQ(s.server->count(), 11U);
}

TEST(Contract24No19, BrokenConnectionsAreRetriedForGetAndWatchOnly) {
  using namespace transport_reason;  // NOLINT(google-build-using-namespace)
  for (const std::string_view reason : {kConnectionReset, kUnexpectedEof, kGoAway, kConnectionLost}) {
    EXPECT_EQ(AttemptsFor(kGet, Broken(reason)), 3U) << reason;
    EXPECT_EQ(AttemptsFor(kWatch, Broken(reason)), 3U) << reason;
    EXPECT_EQ(AttemptsFor(kLogs, Broken(reason)), 1U) << reason;
    for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "HEAD"}) {
      HttpRequest request = kPost;
      request.method = method;
      EXPECT_EQ(AttemptsFor(request, Broken(reason)), 1U) << reason << " " << method;
    }
  }
}

TEST(Contract24No19, RefusedConnectionsAndOtherFailuresAreNeverRetried) {
  using namespace transport_reason;  // NOLINT(google-build-using-namespace)
  for (const std::string_view reason : {kConnectionRefused, kDns, kTls, kProxy, kTooLarge, kProtocol}) {
    for (const HttpRequest& request : {kGet, kPost, kWatch, kLogs}) EXPECT_EQ(AttemptsFor(request, Broken(reason)), 1U) << reason;
  }
  for (const ErrorKind kind : {ErrorKind::kAuth, ErrorKind::kClosed, ErrorKind::kCancelled, ErrorKind::kInvalid}) {
    for (const HttpRequest& request : {kGet, kWatch}) {
      EXPECT_EQ(AttemptsFor(request, ScriptedTransport::Fails(Error(kind, "no"))), 1U) << ToString(kind);
    }
  }
}

TEST(Contract24No19, ATimeoutOfTheConnectionIsRetriedForWatchOnly) {
  const Step step = ScriptedTransport::Fails(Error::Timeout("connect"));
  EXPECT_EQ(AttemptsFor(kWatch, step), 3U);
  EXPECT_EQ(AttemptsFor(kGet, step), 1U);
  EXPECT_EQ(AttemptsFor(kLogs, step), 1U);
}

// ---- TestRequestDoWithRetry, ...StreamWithRetry, ...WatchWithRetry ----

TEST(Contract9Retry, ARequestSucceedsAfterFailures) {
  Rig s({Busy(429, "5"), Busy(503, "2"), Broken(), Ok()});
  const Result<HttpResponse> response = s.Send(kGet);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "done");
  EXPECT_THAT(s.server->times(), ElementsAre(0, 5, 7, 8));
}

TEST(Contract9Retry, AWatchIsOpenedAfterFailures) {
  Rig s({Busy(429, "3"), Broken(transport_reason::kGoAway), ScriptedTransport::Fails(Error::Timeout("connect")), Ok()});
  Result<HttpResponse> response = s.Send(kWatch);
  ASSERT_TRUE(response);
  EXPECT_EQ(ReadAll(s.ctx, *response->stream).value(), "done");
  EXPECT_THAT(s.server->times(), ElementsAre(0, 3, 4, 5));
}

TEST(Contract9Retry, AStreamIsRetriedForRetryAfterAlone) {
  Rig s({Busy(500, "2"), Broken(), Ok()});
  const Result<HttpResponse> response = s.Send(kLogs);
  ASSERT_FALSE(response);
  EXPECT_TRUE(IsConnectionReset(response.error()));
  EXPECT_THAT(s.server->times(), ElementsAre(0, 2));
}

TEST(Contract9Retry, WhatIsSentIsTheSameEachTime) {
  Rig s({Busy(), Busy(), Ok()});
  HttpRequest request = kPost;
  request.headers.Add("X", "y");
  request.body = R"({"kind":"Pod"})";
  ASSERT_TRUE(s.Send(request));
  ASSERT_EQ(s.server->count(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(s.server->sent(i).body, request.body);
    EXPECT_EQ(s.server->sent(i).headers.Get("X"), "y");
    EXPECT_EQ(s.server->sent(i).target, request.target);
  }
}

// TestRequestMaxRetries
TEST(Contract9Retry, NoRetriesMeansOneAttempt) {
  Rig s({Busy(429, "1")}, {.max_retries = 0});
  const Result<HttpResponse> response = s.Send(kPost);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->code, 429);
  EXPECT_EQ(s.server->count(), 1U);
  EXPECT_EQ(s.server->sent().body, "{}");
}

// TestCheckRetryHandles429And5xx
TEST(Contract9Retry, TheServersDelayIsWaitedFor) {
  const std::map<std::pair<int, std::string>, std::vector<double>> rows = {
      {{429, "0"}, {0, 0}}, {{429, "1"}, {0, 1}}, {{500, "2"}, {0, 2}}, {{503, "30"}, {0, 30}}, {{504, "-7"}, {0, 0}}};
  for (const auto& [answer, times] : rows) {
    Rig s({Busy(answer.first, answer.second), Ok()});
    ASSERT_TRUE(s.Send(kPost));
    EXPECT_EQ(s.server->times(), times) << answer.first << " " << answer.second;
  }
}

// TestConnectionResetByPeerIsRetried
TEST(Contract9Retry, ConnectionResetTakesThreeAttemptsAndThreeSleeps) {
  Rig s({Broken(), Broken(), Broken(), Ok()});
  ASSERT_TRUE(s.Send(kGet));
  EXPECT_THAT(s.server->times(), ElementsAre(0, 1, 2, 3));
}

// TestRequestConcurrencyWithRetry
TEST(Contract9Retry, RequestsCountTheirOwnAttempts) {
  Rig s({Busy()}, {.max_retries = 3});
  std::vector<Thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back("request", [&] { EXPECT_TRUE(s.transport->RoundTrip(s.ctx, kGet)); });
  }
  threads.clear();
  EXPECT_EQ(s.server->count(), 80U);
}

// ---- TestCheckRetryClosesBody ----

class CountingBody : public BodyStream {
 public:
  struct Counts {
    std::size_t read = 0;
    bool closed = false;
  };
  CountingBody(std::shared_ptr<Counts> counts, bool hangs) : counts_(std::move(counts)), hangs_(hangs) {}
  Result<std::size_t> Read(const Context& ctx, char* buffer, std::size_t size) override {
    if (hangs_) {
      ctx.WaitUntilStopped();
      return *ctx.Err();
    }
    std::fill(buffer, buffer + size, 'x');
    counts_->read += size;
    return size;
  }
  void Close() override { counts_->closed = true; }

 private:
  const std::shared_ptr<Counts> counts_;
  const bool hangs_;
};

struct BodyRig {
  BodyRig(HttpHeaders headers, bool hangs)
      : s({[this, headers, hangs](const Context&, const HttpRequest&) -> Result<HttpResponse> {
             HttpResponse response = internal::Answer(429, headers);
             response.stream = std::make_unique<CountingBody>(counts, hangs);
             return response;
           },
           Ok()}) {}
  std::shared_ptr<CountingBody::Counts> counts = std::make_shared<CountingBody::Counts>();
  Rig s;
};

TEST(Contract9Retry, TheBodyOfAFailedAttemptIsDrainedUpTo2KiBAndClosed) {
  BodyRig b({{"Retry-After", "1"}}, false);
  ASSERT_TRUE(b.s.Send(kWatch));
  EXPECT_EQ(b.counts->read, 2048U);
  EXPECT_TRUE(b.counts->closed);
}

TEST(Contract9Retry, ALongBodyIsClosedUnread) {
  BodyRig b({{"Retry-After", "1"}, {"Content-Length", "2049"}}, false);
  ASSERT_TRUE(b.s.Send(kWatch));
  EXPECT_EQ(b.counts->read, 0U);
  EXPECT_TRUE(b.counts->closed);
}

TEST(Contract9Retry, ABodyThatNeverEndsDoesNotHoldUpTheNextAttempt) {
  BodyRig b({{"Retry-After", "3"}}, true);
  ASSERT_TRUE(b.s.Send(kWatch));
  EXPECT_THAT(b.s.server->times(), ElementsAre(0, 3));
  EXPECT_TRUE(b.counts->closed);
}

TEST(Contract9Retry, TheBodyOfTheLastAnswerIsTheCallers) {
  Rig s({ScriptedTransport::Gives(503, {{"Retry-After", "1"}}, "busy")}, {.max_retries = 1});
  Result<HttpResponse> response = s.Send(kLogs);
  ASSERT_TRUE(response);
  EXPECT_EQ(ReadAll(s.ctx, *response->stream).value(), "busy");
}

// ---- TestWrapPreviousError ----

TEST(Contract9WrapPreviousError, TheFinalErrorNamesTheOneBefore) {
  Rig s({Broken(transport_reason::kUnexpectedEof), Broken(transport_reason::kConnectionRefused)});
  const Result<HttpResponse> response = s.Send(kGet);
  ASSERT_FALSE(response);
  EXPECT_TRUE(IsConnectionRefused(response.error()));
  EXPECT_EQ(response.error().message(), "ConnectionRefused");
  EXPECT_THAT(response.error().ToString(), AllOf(HasSubstr("UnexpectedEof"), HasSubstr("ConnectionRefused")));
}

TEST(Contract9WrapPreviousError, EqualErrorsAreSaidOnce) {
  Rig s({Broken()}, {.max_retries = 3});
  const Result<HttpResponse> response = s.Send(kGet);
  ASSERT_FALSE(response);
  EXPECT_THAT(response.error().context(), IsEmpty());
}

TEST(Contract9WrapPreviousError, AFirstErrorHasNoneBefore) {
  Rig s({Broken(transport_reason::kConnectionRefused)});
  EXPECT_THAT(s.Send(kGet).error().context(), IsEmpty());
}

TEST(Contract9WrapPreviousError, AnAnswerIsGivenBackAsItIs) {
  Rig s({Broken(), ScriptedTransport::Gives(404)});
  EXPECT_EQ(s.Send(kGet).value().code, 404);
}

TEST(Contract9WrapPreviousError, ADeadlineWhileWaitingSaysWhy) {
  Rig s({Broken()});
  const Context ctx = s.ctx.WithTimeout(milliseconds(500));
  const Result<HttpResponse> response = RunThroughTime<Result<HttpResponse>>(
      *s.clock, [&] { return s.transport->RoundTrip(ctx, kGet); }, 1);
  ASSERT_FALSE(response);
  EXPECT_TRUE(IsDeadlineExceeded(response.error()));
  EXPECT_THAT(response.error().ToString(), HasSubstr("ConnectionReset"));
  EXPECT_EQ(s.server->count(), 1U);
}

TEST(Contract9WrapPreviousError, CancellingWhileWaitingSaysWhy) {
  Rig s({Busy(429, "3600")});
  auto [ctx, cancel] = s.ctx.WithCancel();
  const Context waiting = ctx;
  std::optional<Result<HttpResponse>> response;
  Thread thread("call", [&] { response.emplace(s.transport->RoundTrip(waiting, kGet)); });
  ASSERT_TRUE(s.clock->WaitForWaiters(1));
  cancel.Cancel();
  thread.Join();
  ASSERT_FALSE(*response);
  EXPECT_TRUE(IsCancelled(response->error()));
  EXPECT_THAT(response->error().ToString(), HasSubstr("429"));
}

TEST(Contract9Retry, AStoppedContextEndsItEvenForRetryableErrors) {
  std::promise<void> asked;
  Rig s({[&](const Context& ctx, const HttpRequest&) -> Result<HttpResponse> {
    asked.set_value();
    ctx.WaitUntilStopped();
    return *ctx.Err();
  }});
  const Context soon = s.ctx.WithTimeout(seconds(5));
  std::optional<Result<HttpResponse>> response;
  Thread thread("call", [&] { response.emplace(s.transport->RoundTrip(soon, kWatch)); });
  asked.get_future().wait();
  s.clock->Advance(seconds(5));
  thread.Join();
  ASSERT_FALSE(*response);
  EXPECT_TRUE(IsDeadlineExceeded(response->error()));
  EXPECT_EQ(s.server->count(), 1U);
}

TEST(Contract9Retry, AContextThatIsStoppedSendsNothing) {
  Rig s({Ok()});
  auto [ctx, cancel] = s.ctx.WithCancel();
  cancel.Cancel();
  const Result<HttpResponse> response = s.transport->RoundTrip(ctx, kGet);
  ASSERT_FALSE(response);
  EXPECT_TRUE(IsCancelled(response.error()));
  EXPECT_EQ(s.server->count(), 0U);
}

// ---- Timeout of a request ----

TEST(Contract9Timeout, CoversAllAttempts) {
  Rig s({Busy(429, "4")});
  HttpRequest request = kGet;
  request.timeout = seconds(10);
  const Result<HttpResponse> response = RunThroughTime<Result<HttpResponse>>(
      *s.clock, [&] { return s.transport->RoundTrip(s.ctx, request); }, 1);
  ASSERT_FALSE(response);
  EXPECT_TRUE(IsDeadlineExceeded(response.error()));
  EXPECT_THAT(s.server->times(), ElementsAre(0, 4, 8));
}

TEST(Contract9Timeout, StartsAfterTheFirstWaitForTheLimiter) {
  auto clock = std::make_shared<FakeClock>();
  const auto limiter = MakeTokenBucket(0.1, 1, clock);
  ASSERT_TRUE(limiter->TryAccept());
  std::optional<std::chrono::nanoseconds> left;
  Rig s({[&](const Context& ctx, const HttpRequest&) -> Result<HttpResponse> {
          left = ctx.remaining();
          return internal::Answer(200);
        }},
        {.limiter = limiter, .logger = CapturedLog(0).logger()});
  s.clock = clock;
  s.ctx = Context::Background(clock);
  HttpRequest request = kGet;
  request.timeout = seconds(2);
  Thread thread("call", [&] { EXPECT_TRUE(s.transport->RoundTrip(s.ctx, request)); });
  ASSERT_TRUE(clock->WaitForWaiters(1));
  clock->Advance(seconds(10));
  thread.Join();
  EXPECT_EQ(left, seconds(2));
}

TEST(Contract9Timeout, DoesNotConcernStreams) {
  for (HttpRequest request : {kWatch, kLogs}) {
    Rig s({[&](const Context& ctx, const HttpRequest&) -> Result<HttpResponse> {
      EXPECT_FALSE(ctx.deadline());
      return internal::Answer(200);
    }});
    request.timeout = seconds(2);
    ASSERT_TRUE(s.Send(request));
  }
}

}  // namespace
}  // namespace kube
