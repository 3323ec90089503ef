#include "control/observability/log_level_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kube::internal {
namespace {

using ::testing::HasSubstr;

class LogLevelTest : public ::testing::Test {
 protected:
  // "200 body"
  std::string Ask(const std::string& method, const std::string& body = "", const std::string& query = "") {
    serve::HttpRequest request;
    request.method = method;
    request.path = kLogLevelPath;
    request.query = query;
    request.body = body;
    const serve::HttpResponse response = AnswerLogLevel(request, backend_);
    return std::to_string(response.status) + " " + response.body;
  }

  LogBackend backend_{MakeTextSink([this](std::string_view line) { lines_ += line; })};
  std::string lines_;
};

TEST_F(LogLevelTest, SaysWhatIsLogged) {
  EXPECT_EQ(Ask("GET"), "200 info\n");
  backend_.SetSettings(LogSettings::Parse("warn,queue=error,cache=4").value());
  EXPECT_EQ(Ask("GET"), "200 warn,cache=4,queue=error\n");
}

TEST_F(LogLevelTest, WhatItSaysCanBeSentBack) {
  for (const char* text : {"info", "error", "warn", "7", "info,cache=4,cache.reflector=warn,queue=error"}) {
    const LogSettings settings = LogSettings::Parse(text).value();
    const LogSettings again = LogSettings::Parse(ToText(settings)).value();
    EXPECT_EQ(again.everything, settings.everything) << text;
    EXPECT_EQ(again.components, settings.components) << text;
  }
}

TEST_F(LogLevelTest, ChangesItWhileLoggersAreInUse) {
  const std::shared_ptr<LogBackend> backend(std::shared_ptr<void>(), &backend_);
  const Logger log("cache.reflector", backend), other("queue", backend);
  log.V(4).Info("one");
  EXPECT_EQ(Ask("PUT", "info,cache=4\n"), "200 info,cache=4\n");
  log.V(4).Info("two");
  other.V(4).Info("three");
  EXPECT_EQ(Ask("PUT", "error"), "200 error\n");
  log.Info("four");
  EXPECT_THAT(lines_, HasSubstr("\"two\""));
  for (const char* not_wanted : {"one", "three", "four"}) EXPECT_EQ(lines_.find(not_wanted), std::string::npos) << lines_;
}

TEST_F(LogLevelTest, OneComponentAtATime) {
  EXPECT_EQ(Ask("PUT", "5", "component=control"), "200 info,control=5\n");
  EXPECT_EQ(Ask("PUT", "error", "component=cache"), "200 info,cache=error,control=5\n");
  EXPECT_EQ(Ask("PUT", "", "component=control"), "200 info,cache=error\n");
  EXPECT_EQ(Ask("PUT", "", "component=nobody"), "200 info,cache=error\n");
}

TEST_F(LogLevelTest, WrongTextsAreRefusedAndChangeNothing) {
  (void)Ask("PUT", "warn,cache=4");
  EXPECT_THAT(Ask("PUT", ""), HasSubstr("400 send the new level"));
  EXPECT_THAT(Ask("PUT", "loud"), HasSubstr("400 "));
  EXPECT_THAT(Ask("PUT", "=4"), HasSubstr("400 log setting"));
  EXPECT_THAT(Ask("PUT", "info,cache=5", "component=queue"), HasSubstr("400 with a component, the text is one level"));
  EXPECT_THAT(Ask("PUT", "5", "component="), HasSubstr("400 component: names"));
  EXPECT_THAT(Ask("PUT", "5", "component=a,b"), HasSubstr("400 component: names"));
  EXPECT_THAT(Ask("PUT", "5", "level=5"), HasSubstr("400 the query may only be component=NAME"));
  EXPECT_EQ(Ask("GET"), "200 warn,cache=4\n");
  EXPECT_THAT(Ask("POST", "info"), HasSubstr("405 GET reads it, PUT changes it"));
  EXPECT_THAT(Ask("DELETE"), HasSubstr("405 "));
}

}  // namespace
}  // namespace kube::internal
