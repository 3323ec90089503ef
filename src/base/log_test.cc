#include "kube/base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "kube/base/fake_clock.h"
#include "kube/base/thread.h"

namespace kube {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class Lines {
 public:
  LogLineWriter writer() {
    return [this](std::string_view line) {
      MutexLock lock(mu_);
      lines_.emplace_back(line);
    };
  }
  std::vector<std::string> Take() {
    MutexLock lock(mu_);
    return std::exchange(lines_, {});
  }

 private:
  Mutex mu_;
  std::vector<std::string> lines_ KUBE_GUARDED_BY(mu_);
};

class LogTest : public ::testing::Test {
 protected:
  // What follows the location in the one line that was written.
  std::string Body() {
    const std::vector<std::string> lines = lines_.Take();
    if (lines.size() != 1) return "lines: " + std::to_string(lines.size());
    const std::size_t end = lines[0].find("] ");
    return end == std::string::npos ? lines[0] : lines[0].substr(end + 2);
  }

  Lines lines_;
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>(Clock::WallTime(seconds(1704207845) + microseconds(42)));
  std::shared_ptr<LogBackend> backend_ = std::make_shared<LogBackend>(MakeTextSink(lines_.writer()), LogSettings{}, clock_);
  Logger log_{"cache", backend_};
};

TEST_F(LogTest, TextHasTheFormOfKlog) {
  log_.Info("Listed", {{"resource", "pods"}, {"count", 3}}, {"/src/dir/reflector.cc", 88});
  const std::vector<std::string> lines = lines_.Take();
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0],
              ::testing::MatchesRegex(
                  "I0102 15:04:05\\.000042 +[0-9]+ reflector\\.cc:88\\] \"Listed\" logger=\"cache\" resource=\"pods\" count=3\n"));
}

TEST_F(LogTest, NamesTheCallersFile) {
  log_.Info("here");
  EXPECT_THAT(lines_.Take(), ElementsAre(HasSubstr(" log_test.cc:")));
}

TEST_F(LogTest, LevelsHaveTheirLetters) {
  log_.Info("a");
  log_.Warn("b");
  log_.Error("c");
  const std::vector<std::string> lines = lines_.Take();
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[0][0], 'I');
  EXPECT_EQ(lines[1][0], 'W');
  EXPECT_EQ(lines[2][0], 'E');
}

TEST_F(LogTest, ErrorsCarryTheirReason) {
  log_.Error(Error(ErrorKind::kTransport, "connection refused").WithContext("list pods"), "Failed to list", {{"ns", "x"}});
  EXPECT_EQ(Body(), "\"Failed to list\" logger=\"cache\" err=\"list pods: connection refused\" ns=\"x\"\n");
}

TEST_F(LogTest, PrintsEachTypeOfValue) {
  const std::string text = "owned";
  log_.Info("m", {{"b", true},
                  {"i", -5},
                  {"u", std::numeric_limits<std::uint64_t>::max()},
                  {"d", 0.5},
                  {"s", text},
                  {"e", Error::Invalid("bad")},
                  {"l", std::vector<std::string>{"a", "b\""}}});
  EXPECT_EQ(Body(), "\"m\" logger=\"cache\" b=true i=-5 u=18446744073709551615 d=0.5 s=\"owned\" e=\"bad\" l=[\"a\",\"b\\\"\"]\n");
}

TEST_F(LogTest, PrintsDurationsInSeconds) {
  log_.Info("m", {{"a", milliseconds(800)},
                  {"b", seconds(120)},
                  {"c", milliseconds(-1500)},
                  {"d", seconds(0)},
                  {"e", std::chrono::nanoseconds(1)},
                  {"f", std::chrono::nanoseconds::min()}});
  EXPECT_EQ(Body(), "\"m\" logger=\"cache\" a=\"0.8s\" b=\"120s\" c=\"-1.5s\" d=\"0s\" e=\"0.000000001s\" f=\"-9223372036.854775808s\"\n");
}

TEST_F(LogTest, SecretsAreRedactedEverywhere) {
  const SecretString token("s3cr3t-token-that-is-long-enough-for-the-heap");
  log_.Info("login", {{"token", token}});
  EXPECT_EQ(Body(), "\"login\" logger=\"cache\" token=\"[redacted]\"\n");
  log_.With({{"token", token}}).Info("login");
  EXPECT_THAT(Body(), Not(HasSubstr("s3cr3t")));
  std::ostringstream out;
  out << token;
  EXPECT_EQ(out.str(), "[redacted]");
  EXPECT_EQ(token.reveal().substr(0, 6), "s3cr3t");
}

TEST_F(LogTest, SecretsMoveAndCopyByValue) {
  SecretString a("short");
  SecretString b = a;
  SecretString c = std::move(a);
  EXPECT_TRUE(a.empty());  // NOLINT(bugprone-use-after-move): emptiness is the promise
  EXPECT_EQ(b.reveal(), "short");
  EXPECT_EQ(c.reveal(), "short");
  c = SecretString("other");
  b = c;
  EXPECT_EQ(b.reveal(), "other");
}

TEST_F(LogTest, EscapesWhatCouldForgeALineOrDriveATerminal) {
  log_.Info("two\nlines", {{"v", "a\"b\\c\r\t\x1b[31m\x7f"}});
  EXPECT_EQ(Body(), "\"two\\nlines\" logger=\"cache\" v=\"a\\\"b\\\\c\\r\\t\\x1b[31m\\x7f\"\n");
  log_.Info("m", {{"c1", "\xc2\x9b"}, {"line", "\xe2\x80\xa8"}, {"bidi", "\xe2\x80\xae"}});
  EXPECT_EQ(Body(), "\"m\" logger=\"cache\" c1=\"\\u009b\" line=\"\\u2028\" bidi=\"\\u202e\"\n");
  log_.Info("m", {{"k\n=", 1}, {"", 2}});
  EXPECT_EQ(Body(), "\"m\" logger=\"cache\" \"k\\n=\"=1 \"\"=2\n");
}

TEST_F(LogTest, KeepsUtf8AndEscapesWhatIsNot) {
  log_.Info("m", {{"ok", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x9a\x80"}, {"bad", "\xff\xc3(\xed\xa0\x80\xc0\xaf\xe2\x82"}});
  EXPECT_EQ(Body(),
            "\"m\" logger=\"cache\" ok=\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x9a\x80\" bad=\"\\xff\\xc3(\\xed\\xa0\\x80\\xc0\\xaf\\xe2\\x82\"\n");
}

TEST_F(LogTest, VerboseRecordsAppearFromTheirLevelOn) {
  log_.V(2).Info("hidden");
  EXPECT_FALSE(log_.V(2).enabled());
  backend_->SetSettings({.everything = {.verbosity = 2}});
  EXPECT_TRUE(log_.V(2));
  EXPECT_FALSE(log_.V(3));
  log_.V(2).Info("shown");
  log_.V(3).Info("hidden");
  EXPECT_THAT(lines_.Take(), ElementsAre(HasSubstr("\"shown\"")));
}

TEST_F(LogTest, ThresholdsHoldBackLowerLevels) {
  backend_->SetSettings({.everything = {.level = LogLevel::kWarn, .verbosity = 9}});
  log_.Info("info");
  log_.V(1).Info("verbose");
  log_.Warn("warn");
  EXPECT_THAT(lines_.Take(), ElementsAre(HasSubstr("\"warn\"")));
  backend_->SetSettings({.everything = {.level = LogLevel::kError}});
  log_.Warn("warn");
  log_.Error("error");
  EXPECT_THAT(lines_.Take(), ElementsAre(HasSubstr("\"error\"")));
}

TEST_F(LogTest, ComponentsHaveTheirOwnLevel) {
  const Logger reflector = log_.Named("reflector");
  const Logger queue("queue", backend_);
  const Logger cached("cached", backend_);
  backend_->SetSettings({.everything = {}, .components = {{"cache", {.verbosity = 4}}, {"cache.reflector", {.level = LogLevel::kError}}}});
  EXPECT_TRUE(log_.V(4).enabled());
  EXPECT_TRUE(log_.Named("indexer").V(4).enabled()) << "made after the settings";
  EXPECT_FALSE(reflector.V(0).enabled());
  EXPECT_FALSE(queue.V(1).enabled());
  EXPECT_FALSE(cached.V(1).enabled()) << "a name is not a prefix in the middle of a word";
}

TEST_F(LogTest, ReadsSettingsFromText) {
  const Result<LogSettings> settings = LogSettings::Parse("2,cache=4,queue=error,control=warn");
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->everything, (LogThreshold{LogLevel::kInfo, 2}));
  EXPECT_EQ(settings->components.at("cache"), (LogThreshold{LogLevel::kInfo, 4}));
  EXPECT_EQ(settings->components.at("queue"), (LogThreshold{LogLevel::kError, 0}));
  EXPECT_EQ(settings->components.at("control"), (LogThreshold{LogLevel::kWarn, 0}));
  EXPECT_EQ(LogSettings::Parse("")->everything, LogThreshold{});
  for (const char* bad : {"loud", "cache=", "=4", "-1", "4x", "a=b=c", ",", "99999999999"}) {
    const Result<LogSettings> result = LogSettings::Parse(bad);
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_EQ(result.error().kind(), ErrorKind::kConfig);
  }
}

TEST_F(LogTest, WithAddsPairsAndTheRecordsOwnWin) {
  Logger child = log_;
  {
    const std::string name = "a name that is long enough to live on the heap";
    child = log_.With({{"ns", "x"}, {"name", name}}).With({{"ns", "y"}});
  }
  child.Info("m", {{"name", "short"}, {"n", 1}});
  EXPECT_EQ(Body(), "\"m\" logger=\"cache\" ns=\"y\" name=\"short\" n=1\n");
  child.Info("m");
  EXPECT_EQ(Body(), "\"m\" logger=\"cache\" name=\"a name that is long enough to live on the heap\" ns=\"y\"\n");
  log_.Info("m");
  EXPECT_EQ(Body(), "\"m\" logger=\"cache\"\n");
}

TEST_F(LogTest, JsonIsOneObjectPerLine) {
  backend_->SetSink(MakeJsonSink(lines_.writer()));
  log_.Info("Listed\n", {{"resource", "p\"ods"}, {"count", 3}, {"ok", true}, {"took", milliseconds(5)}}, {"/x/reflector.cc", 88});
  const std::vector<std::string> lines = lines_.Take();
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], ::testing::MatchesRegex(
                            R"(\{"ts":"2024-01-02T15:04:05\.000042Z","level":"info","v":0,"logger":"cache","thread":[0-9]+,)"
                            R"("caller":"reflector\.cc:88","msg":"Listed\\n","resource":"p\\"ods","count":3,"ok":true,"took":"0\.005s"\})"
                            "\n"));
}

TEST_F(LogTest, JsonEscapesAndReplacesBrokenText) {
  backend_->SetSink(MakeJsonSink(lines_.writer()));
  log_.Error(Error::Invalid("bad"), "m", {{"raw", "\xff\x01\xe2\x80\xa8"}, {"inf", std::numeric_limits<double>::infinity()}, {"msg", "x"}});
  EXPECT_THAT(lines_.Take(), ElementsAre(EndsWith(R"("msg":"m","err":"bad","raw":"\ufffd\u0001\u2028","inf":"inf","msg_":"x"})"
                                                  "\n")));
}

TEST_F(LogTest, ASinkMayBeReplacedOrRemoved) {
  backend_->SetSink(nullptr);
  log_.Error("nobody listens");
  Lines other;
  backend_->SetSink(MakeTextSink(other.writer()));
  log_.Info("hello");
  EXPECT_THAT(other.Take(), SizeIs(1));
  EXPECT_THAT(lines_.Take(), SizeIs(0));
}

TEST_F(LogTest, StandsManyThreads) {
  {
    std::vector<Thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back("logger", [this, t] {
        const Logger own = Logger("worker", backend_).With({{"thread", t}});
        for (int i = 0; i < 100; ++i) own.V(i % 2).Info("line", {{"i", i}});
      });
    }
    for (int i = 0; i < 50; ++i) {
      backend_->SetSettings({.everything = {.verbosity = 1}});
      backend_->SetSink(MakeTextSink(lines_.writer()));
    }
  }
  EXPECT_GE(lines_.Take().size(), 200u);
}

TEST(DefaultLogTest, WritesToStandardErrorOnly) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Logger("main").Warn("to stderr");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("\"to stderr\" logger=\"main\"\n"));
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

}  // namespace
}  // namespace kube
