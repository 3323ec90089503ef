#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "kube/transport/decorators.h"
#include "transport/redaction.h"
#include "transport/transport_test_util.h"

namespace kube {
namespace {

using internal::CapturedLog;
using internal::ScriptedTransport;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kBody[] = R"({"kind":"Pod","metadata":{"name":"web"}})";

std::string LogOf(int verbosity, HttpRequest request, HttpHeaders headers = {}, std::string body = "") {
  const CapturedLog log(verbosity);
  const auto transport = WithLogging(ScriptedTransport::Always(200, std::move(headers), std::move(body)), log.logger());
  EXPECT_TRUE(transport->RoundTrip(Context::Background(), std::move(request)));
  return log.text();
}

HttpRequest Ordinary() {
  return {.method = "POST",
          .target = "/api/v1/namespaces/default/pods?dryRun=All",
          .headers = {{"Authorization", "Bearer sesame"}, {"Accept", "application/json"}},
          .body = kBody};
}

TEST(Contract12Logging, NothingBelowSix) { EXPECT_THAT(LogOf(5, Ordinary(), {}, kBody), IsEmpty()); }

TEST(Contract12Logging, SixIsALineForEachExchange) {
  const CapturedLog log(6);
  const auto transport = WithLogging(ScriptedTransport::Always(201, {{"X", "y"}}, kBody), log.logger());
  ASSERT_TRUE(transport->RoundTrip(Context::Background(), Ordinary()));
  ASSERT_THAT(log.lines(), SizeIs(1));
  EXPECT_THAT(log.text(), HasSubstr("POST"));
  EXPECT_THAT(log.text(), HasSubstr("/api/v1/namespaces/default/pods?dryRun=All"));
  EXPECT_THAT(log.text(), HasSubstr("status=201"));
  EXPECT_THAT(log.text(), Not(HasSubstr("Accept")));
}

TEST(Contract12Logging, SevenAddsTheRequestsHeaders) {
  const std::string log = LogOf(7, Ordinary(), {{"X-Answer", "y"}}, kBody);
  EXPECT_THAT(log, HasSubstr("Accept: application/json"));
  EXPECT_THAT(log, HasSubstr("Authorization: Bearer <masked>"));
  EXPECT_THAT(log, Not(HasSubstr("X-Answer")));
  EXPECT_THAT(log, Not(HasSubstr("metadata")));
}

TEST(Contract12Logging, EightAddsTheAnswersHeadersAndBodies) {
  const std::string log = LogOf(8, Ordinary(), {{"X-Answer", "y"}}, "the answer");
  EXPECT_THAT(log, HasSubstr("X-Answer: y"));
  EXPECT_THAT(log, HasSubstr("metadata"));
  EXPECT_THAT(log, HasSubstr("the answer"));
}

TEST(Contract12Logging, FailuresAreLogged) {
  const CapturedLog log(6);
  const auto server = std::make_shared<ScriptedTransport>(std::vector{ScriptedTransport::Fails(transport_reason::kConnectionRefused)});
  ASSERT_FALSE(WithLogging(server, log.logger())->RoundTrip(Context::Background(), Ordinary()));
  EXPECT_THAT(log.text(), HasSubstr("ConnectionRefused"));
}

TEST(Contract12Logging, UpgradesAreLogged) {
  const CapturedLog log(8);
  ASSERT_TRUE(WithLogging(ScriptedTransport::Always(403, {}, "no way"), log.logger())->Upgrade(Context::Background(), Ordinary()));
  EXPECT_THAT(log.text(), HasSubstr("status=403"));
  EXPECT_THAT(log.text(), HasSubstr("no way"));
}

// TestMaskValue
TEST(Contract12Logging, OfAuthorizationTheSchemeIsShown) {
  const std::vector<std::array<std::string, 3>> rows = {
      {"Authorization", "Basic YWxhZGRpbjpvcGVuc2VzYW1l", "Basic <masked>"},
      {"Authorization", "basic", "basic"},
      {"Authorization", "Basic", "Basic"},
      {"authorization", "Bearer cn389ncoiwuencr", "Bearer <masked>"},
      {"Authorization", "Bearer", "Bearer"},
      {"Authorization", "bearer", "bearer"},
      {"Authorization", "bearer ", "bearer"},
      {"Authorization", "Negotiate cn389ncoiwuencr", "Negotiate <masked>"},
      {"ABC", "Negotiate cn389ncoiwuencr", "Negotiate cn389ncoiwuencr"},
      {"Authorization", "Negotiate ", "Negotiate"},
      {"Authorization", "negotiate", "negotiate"},
      {"Authorization", "abc cn389ncoiwuencr", "<masked>"},
      {"Authorization", "cn389ncoiwuencr", "<masked>"},
      {"Authorization", "", ""},
      {"Cookie", "a=b", "<masked>"},
      {"set-cookie", "a=b", "<masked>"},
      {"Proxy-Authorization", "Basic eHk=", "<masked>"},
      {"Impersonate-User", "jane", "jane"},
      {"Impersonate-Extra-scopes", "view", "view"},
      {"Sec-WebSocket-Protocol", "v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.c2VzYW1l",
       "v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.<masked>"},
  };
  for (const auto& row : rows) EXPECT_EQ(internal::MaskHeader(row[0], row[1]), row[2]) << row[0] << ": " << row[1];
}

TEST(Contract12Logging, TokensInQueriesAreMasked) {
  EXPECT_EQ(internal::MaskTarget("/a?x=1&token=abc&y=&access%5Ftoken=d"), "/a?x=1&token=<masked>&y=&access%5Ftoken=<masked>");
  EXPECT_EQ(internal::MaskTarget("/a?"), "/a?");
  EXPECT_EQ(internal::MaskTarget("/token=1"), "/token=1");
}

TEST(Contract12Logging, BodiesOfSecretsAndTokensAreMaskedAtEveryLevel) {
  const std::vector<std::string> targets = {
      "/api/v1/namespaces/default/secrets",
      "/api/v1/namespaces/default/secrets/db?dryRun=All",
      "/api/v1/secrets?limit=500",
      "/api/v1/namespaces/default/%73ecrets",
      "/api/v1/namespaces/default/serviceaccounts/builder/token",
      "/apis/authentication.k8s.io/v1/tokenreviews",
  };
  for (const std::string& target : targets) {
    const std::string log = LogOf(10, {.method = "POST", .target = target, .body = "sesame out"}, {}, "sesame in");
    EXPECT_THAT(log, Not(HasSubstr("sesame"))) << target;
    EXPECT_THAT(log, HasSubstr("<masked>")) << target;
  }
}

TEST(Contract12Logging, ASecretIsKnownByItsKindWhereverItGoes) {
  for (const std::string& body :
       {std::string(R"({"apiVersion":"v1","kind":"Secret","data":{"p":"c2VzYW1l"}})"), std::string("data:\n  p: c2VzYW1l\nkind:  Secret\n"),
        std::string(R"({"kind":"List","items":[{"kind" : "SecretList","x":"c2VzYW1l"}]})"),
        std::string(R"({"status":{"token":"c2VzYW1l"},"kind":"TokenRequest"})")}) {
    EXPECT_THAT(LogOf(10, {.method = "POST", .target = "/apis/x.example.com/v1/things", .body = body}, {}, body),
                Not(HasSubstr("c2VzYW1l")))
        << body;
  }
  EXPECT_FALSE(internal::IsSecretText(R"({"kind":"SecretStore","kindness":"Secret","x":"kind"})"));
}

// TestTruncateBody
TEST(Contract9TruncateBody, LevelsCutBodies) {
  const std::string body(20'000, 'x');
  const auto xs = [](const std::string& log) { return std::count(log.begin(), log.end(), 'x'); };
  EXPECT_EQ(xs(LogOf(8, {.target = "/a"}, {}, body)), 1024);
  EXPECT_EQ(xs(LogOf(9, {.target = "/a"}, {}, body)), 10240);
  EXPECT_EQ(xs(LogOf(10, {.target = "/a"}, {}, body)), 20'000);
  EXPECT_THAT(LogOf(8, {.target = "/a"}, {}, body), HasSubstr("[truncated 18976 bytes]"));
  EXPECT_THAT(LogOf(8, {.target = "/a"}, {}, std::string(1024, 'x')), Not(HasSubstr("truncated")));
}

TEST(Contract9TruncateBody, NoCharacterIsCutInTwo) { EXPECT_EQ(internal::ShowBody("ab\xE2\x82\xAC", false, 3), "ab [truncated 3 bytes]"); }

TEST(Contract12Logging, OfBinaryBodiesTheSizeIsShown) {
  EXPECT_EQ(internal::ShowBody(std::string("k8s\0abc", 7), false, 100), "<binary, 7 bytes>");
  EXPECT_EQ(internal::ShowBody("\xff\xfe", false, 100), "<binary, 2 bytes>");
  EXPECT_EQ(internal::ShowBody("two\nlines\twith\r\n", false, 100), "two\nlines\twith\r\n");
}

TEST(Contract12Logging, StreamsAreNotRead) {
  const CapturedLog log(10);
  const auto transport = WithLogging(ScriptedTransport::Always(200, {}, "streamed"), log.logger());
  Result<HttpResponse> response = transport->RoundTrip(Context::Background(), {.target = "/a", .streaming = true, .verb = "watch"});
  ASSERT_TRUE(response);
  EXPECT_THAT(log.text(), Not(HasSubstr("streamed")));
  EXPECT_EQ(ReadAll(Context::Background(), *response->stream).value(), "streamed");
}

TEST(Contract12Logging, WhatIsLoggedIsSentUnchanged) {
  const CapturedLog log(10);
  const auto server = ScriptedTransport::Always(200, {{"Set-Cookie", "c"}}, kBody);
  const Result<HttpResponse> response = WithLogging(server, log.logger())->RoundTrip(Context::Background(), Ordinary());
  ASSERT_TRUE(response);
  EXPECT_EQ(server->sent().headers.Get("Authorization"), "Bearer sesame");
  EXPECT_EQ(server->sent().body, kBody);
  EXPECT_EQ(response->headers.Get("Set-Cookie"), "c");
  EXPECT_THAT(log.text(), Not(HasSubstr("sesame")));
}

}  // namespace
}  // namespace kube
