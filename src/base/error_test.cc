#include "kube/base/error.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "kube/base/result.h"

namespace kube {
namespace {

using std::chrono::seconds;

Error Api(int code, std::string reason) {
  Error::Payload payload;
  payload.kind = ErrorKind::kApi;
  payload.http_code = code;
  payload.reason = std::move(reason);
  return Error(std::move(payload));
}

TEST(ErrorTest, IsOnePointerWideAndCopiesShareThePayload) {
  static_assert(sizeof(Error) == sizeof(void*));
  const Error a = Error::Invalid("bad");
  const Error b = a;
  EXPECT_EQ(&a.payload(), &b.payload());
}

TEST(ErrorTest, PrintsContextOutermostFirst) {
  const Error inner(ErrorKind::kTransport, "connection refused");
  const Error outer = inner.WithContext("list pods in ns x").WithContext("sync");
  EXPECT_EQ(outer.ToString(), "sync: list pods in ns x: connection refused");
  EXPECT_EQ(outer.kind(), ErrorKind::kTransport);
  EXPECT_EQ(inner.ToString(), "connection refused");
}

TEST(ErrorTest, SaysSomethingWithoutAMessage) {
  EXPECT_EQ(Api(404, "NotFound").ToString(), "NotFound");
  EXPECT_EQ(Api(502, "").ToString(), "HTTP 502");
  EXPECT_EQ(Error(ErrorKind::kClosed, "").ToString(), "closed error");
}

TEST(ErrorTest, EveryKindHasAName) {
  for (int kind = 0; kind <= static_cast<int>(ErrorKind::kInternal); ++kind) {
    EXPECT_NE(ToString(static_cast<ErrorKind>(kind)), "unknown") << kind;
  }
}

struct PredicateCase {
  const char* name;
  bool (*predicate)(const Error&);
  const char* reason;
  int code;
  bool by_code;         // matches an unknown reason with this code
  bool by_code_always;  // matches even a known other reason with this code
};

class ErrorPredicateTest : public ::testing::TestWithParam<PredicateCase> {};

TEST_P(ErrorPredicateTest, PrefersTheReasonOverTheCode) {
  const PredicateCase& c = GetParam();
  EXPECT_TRUE(c.predicate(Api(c.code, c.reason)));
  EXPECT_TRUE(c.predicate(Api(0, c.reason)));
  EXPECT_EQ(c.predicate(Api(c.code, "")), c.by_code);
  EXPECT_EQ(c.predicate(Api(c.code, "SomethingNew")), c.by_code);
  const char* other = std::string(c.reason) == "Expired" ? "Gone" : "Expired";
  EXPECT_EQ(c.predicate(Api(c.code, other)), c.by_code_always);
  EXPECT_FALSE(c.predicate(Api(418, "SomethingNew")));
  EXPECT_FALSE(c.predicate(Error(ErrorKind::kTransport, "reset")));
  EXPECT_TRUE(c.predicate(Api(c.code, c.reason).WithContext("outer")));
}

INSTANTIATE_TEST_SUITE_P(
    All, ErrorPredicateTest,
    ::testing::Values(PredicateCase{"NotFound", IsNotFound, "NotFound", 404, true, false},
                      PredicateCase{"AlreadyExists", IsAlreadyExists, "AlreadyExists", 409, false, false},
                      PredicateCase{"Conflict", IsConflict, "Conflict", 409, true, false},
                      PredicateCase{"Invalid", IsInvalid, "Invalid", 422, true, false},
                      PredicateCase{"Gone", IsGone, "Gone", 410, true, false},
                      PredicateCase{"Expired", IsResourceExpired, "Expired", 410, false, false},
                      PredicateCase{"Forbidden", IsForbidden, "Forbidden", 403, true, false},
                      PredicateCase{"Unauthorized", IsUnauthorized, "Unauthorized", 401, true, false},
                      PredicateCase{"Timeout", IsTimeout, "Timeout", 504, true, false},
                      PredicateCase{"ServerTimeout", IsServerTimeout, "ServerTimeout", 500, false, false},
                      PredicateCase{"TooManyRequests", IsTooManyRequests, "TooManyRequests", 429, true, true},
                      PredicateCase{"BadRequest", IsBadRequest, "BadRequest", 400, true, false},
                      PredicateCase{"MethodNotSupported", IsMethodNotSupported, "MethodNotAllowed", 405, true, false},
                      PredicateCase{"NotAcceptable", IsNotAcceptable, "NotAcceptable", 406, true, false},
                      PredicateCase{"UnsupportedMediaType", IsUnsupportedMediaType, "UnsupportedMediaType", 415, true, false},
                      PredicateCase{"TooLarge", IsRequestEntityTooLarge, "RequestEntityTooLarge", 413, true, true},
                      PredicateCase{"ServiceUnavailable", IsServiceUnavailable, "ServiceUnavailable", 503, true, false},
                      PredicateCase{"InternalError", IsInternalError, "InternalError", 500, true, false},
                      PredicateCase{"StoreReadError", IsStoreReadError, "StorageReadError", 500, false, false}),
    [](const ::testing::TestParamInfo<PredicateCase>& c) { return c.param.name; });

TEST(ErrorTest, AlreadyExistsIsNotAConflict) {
  EXPECT_TRUE(IsAlreadyExists(Api(409, "AlreadyExists")));
  EXPECT_FALSE(IsConflict(Api(409, "AlreadyExists")));
}

TEST(ErrorTest, TellsOwnDeadlineFromServerTimeout) {
  EXPECT_TRUE(IsDeadlineExceeded(Error::Timeout("late")));
  EXPECT_FALSE(IsTimeout(Error::Timeout("late")));
  EXPECT_FALSE(IsDeadlineExceeded(Api(504, "Timeout")));
  EXPECT_TRUE(IsCancelled(Error::Cancelled("stop")));
}

TEST(ErrorTest, SuggestsTheServersDelay) {
  Error::Payload payload;
  payload.kind = ErrorKind::kApi;
  payload.reason = "TooManyRequests";
  EXPECT_EQ(SuggestsClientDelay(Error(payload)), std::nullopt);
  payload.retry_after_seconds = 0;
  EXPECT_EQ(SuggestsClientDelay(Error(payload)), std::nullopt);
  payload.retry_after_seconds = 7;
  EXPECT_EQ(SuggestsClientDelay(Error(payload)), 7);
  payload.reason = "ServerTimeout";
  payload.retry_after_seconds = std::nullopt;
  EXPECT_EQ(SuggestsClientDelay(Error(payload)), 0);
  EXPECT_EQ(SuggestsClientDelay(Error::Timeout("ours")), std::nullopt);
}

TEST(ResultTest, HoldsAValueOrAnError) {
  Result<int> good = 3;
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(*good, 3);
  EXPECT_EQ(good.value(), 3);
  EXPECT_EQ(good.value_or(9), 3);
  Result<int> bad = Error::Invalid("no");
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.error().message(), "no");
  EXPECT_EQ(bad.value_or(9), 9);
}

TEST(ResultTest, ValueThrowsForThoseWhoWantExceptions) {
  Result<std::string> bad = Error::Decode("offset 3").WithContext("read file");
  try {
    (void)bad.value();
    FAIL() << "no exception";
  } catch (const ErrorException& e) {
    EXPECT_STREQ(e.what(), "read file: offset 3");
    EXPECT_EQ(e.error().kind(), ErrorKind::kDecode);
  }
  Result<void> nothing = Error::Internal("x");
  EXPECT_THROW(nothing.value(), ErrorException);
}

TEST(ResultTest, CarriesMoveOnlyValues) {
  Result<std::unique_ptr<int>> r = std::make_unique<int>(5);
  std::unique_ptr<int> taken = *std::move(r);
  EXPECT_EQ(*taken, 5);
  Result<std::unique_ptr<int>> s = std::make_unique<int>(6);
  EXPECT_EQ(*std::move(s).value(), 6);
}

// Loops over it and references to it would otherwise outlive the Result that they refer into.
TEST(ResultTest, ATemporaryGivesItsValueAway) {
  using Numbers = std::vector<int>;
  const auto numbers = []() -> Result<Numbers> { return Numbers{1, 2, 3}; };
  static_assert(std::is_same_v<decltype(numbers().value()), Numbers>);
  static_assert(std::is_same_v<decltype(*numbers()), Numbers>);
  int sum = 0;
  for (const int n : numbers().value()) sum += n;
  for (const int n : *numbers()) sum += n;
  const Numbers& kept = numbers().value();
  EXPECT_EQ(sum + kept.at(2), 15);
}

TEST(ResultTest, ConvertsFromWhatTheValueConvertsFrom) {
  Result<std::string> r = "text";
  EXPECT_EQ(r->size(), 4u);
  static_assert(!std::is_convertible_v<void*, Result<std::string>>);
}

TEST(ResultTest, VoidIsOkByDefault) {
  Result<void> r;
  EXPECT_TRUE(r.ok());
  r.value();
}

TEST(ResultTest, ChainsStepsUntilTheFirstError) {
  const auto half = [](int n) -> Result<int> { return n % 2 == 0 ? Result<int>(n / 2) : Error::Invalid("odd"); };
  const Result<int> twelve = 12;
  EXPECT_EQ(*twelve.and_then(half).and_then(half), 3);
  EXPECT_EQ(twelve.and_then(half).and_then(half).and_then(half).and_then(half).error().message(), "odd");
  EXPECT_EQ(*twelve.transform([](int n) { return std::to_string(n); }), "12");
  EXPECT_EQ(twelve.and_then([](int) -> Result<std::string> { return Error::Invalid("no"); }).error().message(), "no");
  EXPECT_EQ(*twelve.and_then(half).and_then(half).and_then(half).or_else([](const Error&) { return Result<int>(-1); }), -1);
  EXPECT_EQ(*twelve.or_else([](const Error&) { return Result<int>(-1); }), 12);
  int seen = 0;
  const Result<void> told = twelve.transform([&](int n) { seen = n; });
  EXPECT_TRUE(told.ok());
  EXPECT_EQ(seen, 12);
  EXPECT_EQ(*told.transform([] { return 5; }).and_then([](int n) -> Result<int> { return n + 1; }), 6);
  EXPECT_EQ(told.and_then([]() -> Result<int> { return Error::Invalid("bad"); }).error().message(), "bad");
  EXPECT_TRUE(Result<void>(Error::Invalid("bad")).or_else([](const Error&) { return Result<void>(); }).ok());
}

TEST(ResultTest, ChainsMoveOnlyValues) {
  Result<std::unique_ptr<int>> r = std::make_unique<int>(5);
  const Result<int> sum = std::move(r).transform([](std::unique_ptr<int> p) { return *p + 1; });
  EXPECT_EQ(*sum, 6);
  Result<std::unique_ptr<int>> bad = Error::Invalid("bad");
  EXPECT_EQ(**std::move(bad).or_else([](const Error&) -> Result<std::unique_ptr<int>> { return std::make_unique<int>(7); }), 7);
}

using ResultDeathTest = ::testing::Test;

TEST(ResultDeathTest, ErrorOfAGoodResultAborts) {
  Result<int> good = 1;
  EXPECT_DEATH((void)good.error(), "");
}

}  // namespace
}  // namespace kube
