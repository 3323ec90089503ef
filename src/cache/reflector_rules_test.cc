#include "cache/reflector_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/scripted_source_test_util.h"
#include "kube/base/fake_clock.h"
#include "kube/cache/informer_status.h"
#include "kube/transport/transport_errors.h"

namespace kube::internal {
namespace {

TEST(ReflectorRulesTest, BothReasonsOf410MeanExpired) {
  EXPECT_TRUE(IsExpired(ApiError(410, "Expired", "")));
  EXPECT_TRUE(IsExpired(ApiError(410, "Gone", "")));
  EXPECT_TRUE(IsExpired(ApiError(410, "", "")));
  EXPECT_FALSE(IsExpired(ApiError(404, "NotFound", "")));
}

TEST(ReflectorRulesTest, ATooLargeVersionIsRecognisedInThreeWays) {
  const auto with_cause = [](int code, std::string reason, ErrorCause cause) {
    return Error(Error::Payload{.kind = ErrorKind::kApi, .http_code = code, .reason = std::move(reason), .causes = {std::move(cause)}});
  };
  EXPECT_TRUE(IsTooLargeResourceVersion(with_cause(504, "Timeout", {"ResourceVersionTooLarge", "", ""})));
  EXPECT_TRUE(IsTooLargeResourceVersion(with_cause(500, "InternalError", {"ResourceVersionTooLarge", "", ""})));
  EXPECT_TRUE(IsTooLargeResourceVersion(with_cause(504, "Timeout", {"", "Too large resource version", ""})));
  EXPECT_FALSE(IsTooLargeResourceVersion(with_cause(500, "InternalError", {"", "Too large resource version", ""})));
  EXPECT_TRUE(IsTooLargeResourceVersion(ApiError(504, "Timeout", "Timeout: Too large resource version: 7, current: 5")));
  EXPECT_FALSE(IsTooLargeResourceVersion(ApiError(500, "InternalError", "Too large resource version: 7")));
  EXPECT_FALSE(IsTooLargeResourceVersion(ApiError(504, "Timeout", "something else")));
  EXPECT_FALSE(IsTooLargeResourceVersion(Error::Timeout("Too large resource version")));
}

TEST(ReflectorRulesTest, BusyAndRefusedServersAreWorthWaitingFor) {
  EXPECT_TRUE(IsWorthWaiting(TooManyRequests()));
  EXPECT_TRUE(IsWorthWaiting(TransportError(transport_reason::kConnectionRefused, "no")));
  EXPECT_FALSE(IsWorthWaiting(TransportError(transport_reason::kConnectionReset, "no")));
  EXPECT_FALSE(IsWorthWaiting(ApiError(503, "ServiceUnavailable", "no")));
}

TEST(ReflectorRulesTest, TroubleIsSaidInPlainWords) {
  EXPECT_EQ(TroubleText("networks.samplecrd.k8s.io",
                        ApiError(404, "NotFound", "the server could not find the requested resource").WithContext("list networks")),
            "networks.samplecrd.k8s.io: the server could not find the requested resource");
  EXPECT_EQ(TroubleText("pods", ApiError(403, "Forbidden", "pods is forbidden: User \"u\" cannot list resource \"pods\"")),
            "pods: forbidden: User \"u\" cannot list resource \"pods\"");
  EXPECT_EQ(TroubleText("pods", ApiError(503, "ServiceUnavailable", "")), "pods: ServiceUnavailable");
}

TEST(ReflectorRulesTest, TroublesThatDifferInNumbersAreOneKind) {
  EXPECT_EQ(TroubleKind(ApiError(500, "X", "failed at 12")), TroubleKind(ApiError(500, "X", "failed at 345")));
  EXPECT_NE(TroubleKind(ApiError(500, "X", "failed")), TroubleKind(ApiError(403, "X", "failed")));
  EXPECT_NE(TroubleKind(ApiError(500, "X", "failed")), TroubleKind(ApiError(500, "X", "broken")));
}

TEST(ReflectorRulesTest, SwitchesAreReadAsInGo) {
  for (const char* const on : {"1", "t", "T", "true", "TRUE", "True"}) EXPECT_EQ(ParseSwitch(on), true) << on;
  for (const char* const off : {"0", "f", "F", "false", "FALSE", "False"}) EXPECT_EQ(ParseSwitch(off), false) << off;
  for (const char* const other : {"", "yes", "off", "tRUE", " true"}) EXPECT_EQ(ParseSwitch(other), std::nullopt) << other;
}

TEST(ReflectorRulesTest, StreamsAreOnUnlessTheSwitchSaysOtherwise) {
  const auto lines = std::make_shared<RecordingLog>();
  const Logger log("cache.reflector", std::make_shared<LogBackend>(lines));
  EXPECT_TRUE(WatchListClientFrom(nullptr, log));
  EXPECT_TRUE(WatchListClientFrom("", log));
  EXPECT_TRUE(WatchListClientFrom("true", log));
  EXPECT_FALSE(WatchListClientFrom("false", log));
  EXPECT_FALSE(WatchListClientFrom("0", log));
  EXPECT_EQ(lines->text(), "");
  EXPECT_TRUE(WatchListClientFrom("perhaps", log));
  EXPECT_EQ(lines->Count("value=\"perhaps\""), 1U) << lines->text();
}

TEST(RetryWindowTest, IsOffByDefault) { EXPECT_FALSE(RetryWindow({}).Retry(Clock::Real()->Now())); }

TEST(RetryWindowTest, LastsFromTheFirstErrorAndStartsOverAfterwards) {
  using std::chrono::seconds;
  RetryWindow window(seconds(100));
  const Clock::TimePoint start = FakeClock().Now();
  EXPECT_TRUE(window.Retry(start));
  EXPECT_TRUE(window.Retry(start + seconds(50)));
  EXPECT_TRUE(window.Retry(start + seconds(100)));
  EXPECT_FALSE(window.Retry(start + seconds(101)));
  EXPECT_TRUE(window.Retry(start + seconds(102))) << "a new window";
}

TEST(RetryWindowTest, AMinuteWithoutErrorsStartsItAnew) {
  using std::chrono::seconds;
  RetryWindow window(seconds(10));
  const Clock::TimePoint start = FakeClock().Now();
  EXPECT_TRUE(window.Retry(start));
  EXPECT_TRUE(window.Retry(start + seconds(60)));
  EXPECT_TRUE(window.Retry(start + seconds(65)));
  EXPECT_FALSE(window.Retry(start + seconds(75)));
}

TEST(InformerStatusTest, IsOneLine) {
  InformerStatus status{.what = "pods", .synced = true, .objects = 20000, .handlers = {{}, {}}};
  status.reflector.state = ReflectorState::kWatching;
  status.reflector.resource_version = "48213";
  EXPECT_EQ(status.ToString(), "pods: watching, synced, 20000 objects at version 48213, 2 handlers");
}

TEST(InformerStatusTest, SaysWhatIsWrong) {
  InformerStatus status{
      .what = "carts.example.com", .ns = "shop", .label_selector = "a=b", .field_selector = "x=y", .handlers = {{.pending = 3}}};
  status.reflector.state = ReflectorState::kWaiting;
  status.reflector.failures = 2;
  status.reflector.error = ApiError(404, "NotFound", "the server could not find the requested resource");
  EXPECT_EQ(
      status.ToString(),
      "carts.example.com in shop with labels a=b with fields x=y: waiting, not synced, 0 objects, 1 handler, 3 notifications pending, "
      "2 failed rounds: the server could not find the requested resource");
}

TEST(InformerStatusTest, StatesHaveNames) {
  EXPECT_EQ(ToString(ReflectorState::kIdle), "idle");
  EXPECT_EQ(ToString(ReflectorState::kStarting), "starting");
  EXPECT_EQ(ToString(ReflectorState::kStreaming), "streaming");
  EXPECT_EQ(ToString(ReflectorState::kListing), "listing");
  EXPECT_EQ(ToString(ReflectorState::kWatching), "watching");
  EXPECT_EQ(ToString(ReflectorState::kWaiting), "waiting");
  EXPECT_EQ(ToString(ReflectorState::kStopped), "stopped");
}

}  // namespace
}  // namespace kube::internal
