#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/transport/decorators.h"
#include "transport/transport_test_util.h"

namespace kube {
namespace {

using internal::CapturedLog;
using internal::ScriptedTransport;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> Parse(std::vector<std::string> values) {
  HttpHeaders headers;
  for (std::string& value : values) headers.Add("Warning", std::move(value));
  std::vector<std::string> out;
  for (const ApiWarning& w : ParseWarnings(headers)) out.push_back(std::to_string(w.code) + "|" + w.agent + "|" + w.text);
  return out;
}

TEST(Contract9Warnings, OneHeaderOneWarning) { EXPECT_THAT(Parse({R"(299 - "old api")"}), ElementsAre("299|-|old api")); }

TEST(Contract9Warnings, ADateIsReadOver) {
  EXPECT_THAT(Parse({R"(199 agent:80 "text" "Wed, 21 Oct 2015 07:28:00 GMT")"}), ElementsAre("199|agent:80|text"));
}

TEST(Contract9Warnings, CommasSeparateSeveral) {
  EXPECT_THAT(Parse({R"(299 - "one", 299 - "two, with a comma" "a date, with one too" ,299 x "three")"}),
              ElementsAre("299|-|one", "299|-|two, with a comma", "299|x|three"));
}

TEST(Contract9Warnings, SeveralHeaders) { EXPECT_THAT(Parse({R"(299 - "one")", R"(100 y "two")"}), ElementsAre("299|-|one", "100|y|two")); }

TEST(Contract9Warnings, BackslashesEscape) { EXPECT_THAT(Parse({R"(299 - "say \"hi\" \\ \x")"}), ElementsAre(R"(299|-|say "hi" \ x)")); }

TEST(Contract9Warnings, TextMayBeUtf8) { EXPECT_THAT(Parse({"299 - \"\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80\""}), SizeIs(1)); }

TEST(Contract9Warnings, AnEmptyTextIsOne) { EXPECT_THAT(Parse({R"(299 - "")"}), ElementsAre("299|-|")); }

TEST(Contract9Warnings, RubbishIsLeftOut) {
  for (const char* text : {"",
                           "   ",
                           "299",
                           "299 -",
                           "299 - text",
                           "299 - \"open",
                           "29 - \"a\"",
                           "2999 - \"a\"",
                           "abc - \"a\"",
                           "-99 - \"a\"",
                           "299 - \"a\" \"open date",
                           "299 - \"a\" rubbish",
                           "299 - \"a\\",
                           "299 - \"\xff\"",
                           "299 - \"a\x01z\"",
                           "299 - \"\xC2\x85\"",
                           "299 \xff \"a\"",
                           "299 - \"\xED\xA0\x80\"",
                           "299 - \"\xC0\x80\"",
                           ",",
                           "\"",
                           "299  "}) {
    EXPECT_THAT(Parse({text}), IsEmpty()) << text;
  }
}

TEST(Contract9Warnings, RubbishEndsItsHeaderOnly) {
  EXPECT_THAT(Parse({R"(299 - "one", rubbish, 299 - "lost")", R"(299 - "two")"}), ElementsAre("299|-|one", "299|-|two"));
}

TEST(Contract9Warnings, TheHandlerGetsEveryCode) {
  std::vector<std::string> got;
  const auto transport = WithWarnings(ScriptedTransport::Always(200, {{"warning", "299 - \"a\", 199 - \"b\""}}),
                                      [&](const ApiWarning& w) { got.push_back(w.text); });
  ASSERT_TRUE(transport->RoundTrip(Context::Background(), {}));
  ASSERT_TRUE(transport->RoundTrip(Context::Background(), {.streaming = true, .verb = "watch"}));
  ASSERT_TRUE(transport->Upgrade(Context::Background(), {}));
  EXPECT_THAT(got, ElementsAre("a", "b", "a", "b", "a", "b"));
}

TEST(Contract9Warnings, ErrorsOfTheServerHaveThemToo) {
  std::vector<std::string> got;
  const auto transport =
      WithWarnings(ScriptedTransport::Always(404, {{"Warning", "299 - \"a\""}}), [&](const ApiWarning& w) { got.push_back(w.text); });
  const Result<HttpResponse> response = transport->RoundTrip(Context::Background(), {});
  ASSERT_TRUE(response);
  EXPECT_EQ(response->code, 404);
  EXPECT_THAT(got, ElementsAre("a"));
}

TEST(Contract9Warnings, TheDefaultLogsCode299Only) {
  const CapturedLog log(0);
  const WarningHandler handler = LogWarnings(log.logger());
  handler({100, "-", "not this one"});
  handler({299, "-", ""});
  EXPECT_THAT(log.lines(), IsEmpty());
  handler({299, "-", "this one"});
  ASSERT_THAT(log.lines(), SizeIs(1));
  EXPECT_THAT(log.text(), HasSubstr("this one"));
}

TEST(Contract9Warnings, TheDefaultSaysEachTextOnce) {
  const CapturedLog log(0);
  const WarningHandler handler = LogWarnings(log.logger());
  const WarningHandler copy = handler;
  handler({299, "-", "a"});
  copy({299, "-", "a"});
  handler({299, "other", "a"});
  handler({299, "-", "b"});
  EXPECT_THAT(log.lines(), SizeIs(2));
}

TEST(WarningsTransportTest, MemoryOfTextsIsBounded) {
  const CapturedLog log(0);
  const WarningHandler handler = LogWarnings(log.logger());
  for (int i = 0; i < 1001; ++i) handler({299, "-", "text " + std::to_string(i)});
  EXPECT_THAT(log.lines(), SizeIs(1001));
  handler({299, "-", "text 0"});
  EXPECT_THAT(log.lines(), SizeIs(1002));
}

TEST(WarningsTransportTest, WithoutAHandlerNothingIsWrapped) {
  const auto server = ScriptedTransport::Always(200);
  EXPECT_EQ(WithWarnings(server, {}), server);
}

}  // namespace
}  // namespace kube
