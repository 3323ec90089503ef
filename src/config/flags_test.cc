#include "kube/config/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/folder_test_util.h"
#include "config/suggest.h"

namespace kube {
namespace {

using internal::TestFile;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

enum class Mode { kSoft, kHard };

Result<Mode> ReadMode(const std::string& text) {
  if (text == "soft") return Mode::kSoft;
  if (text == "hard") return Mode::kHard;
  return Error::Invalid("expected soft or hard, not \"" + text + "\"");
}

// A program with a flag of each type.
struct Program {
  bool loud = false;
  int workers = 4;
  std::int64_t bytes = 0;
  std::uint16_t port = 80;
  double rate = 1.5;
  std::string text = "Hello";
  std::string token;
  milliseconds pause{250};
  std::optional<bool> maybe;
  std::vector<std::string> namespaces{"default"};
  std::vector<std::string> files;
  Mode mode = Mode::kSoft;
  std::vector<std::string> called;
  FlagSet flags{"greeter"};

  Program() {
    flags.SetEnvironment({});
    flags.Add("loud", &loud, "in capitals").Letter('l');
    flags.Add("workers", &workers, "namespaces at once").Range(1, 100);
    flags.Add("bytes", &bytes, "how much");
    flags.Add("port", &port, "where");
    flags.Add("rate", &rate, "how fast");
    flags.Add("text", &text, "what it says").Letter('t');
    flags.Add("token", &token, "who it is").Secret().Check([](const std::string& value) -> Result<void> {
      if (value.find(' ') != std::string::npos) return Error::Invalid("\"" + value + "\" has spaces");
      return {};
    });
    flags.Add("pause", &pause, "between greetings");
    flags.Add("maybe", &maybe, "or not");
    flags.Add("namespaces", &namespaces, "which ones").Alias("ns-list");
    flags.Add("file", &files, "what to read").Value("FILE").Whole();
    flags.Add("mode", &mode, &ReadMode, "how hard").Value("soft|hard").Default("soft");
    flags
        .Call(
            "call",
            [this](const std::string& value) -> Result<void> {
              if (value.empty()) return Error::Invalid("must not be empty");
              called.push_back(value);
              return {};
            },
            "somebody")
        .Value("NAME");
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::string Error(const std::vector<std::string>& arguments) {
    const Result<void> parsed = flags.Parse(arguments);
    if (parsed) return "fine";
    EXPECT_TRUE(IsUsageError(parsed.error())) << parsed.error().ToString();
    EXPECT_EQ(parsed.error().kind(), ErrorKind::kInvalid);
    return parsed.error().ToString();
  }
};

// ---- Types and spellings

TEST(FlagSetTest, EachTypeIsRead) {
  Program p;
  ASSERT_EQ(p.Error({"--loud", "--workers=7", "--bytes=9000000000", "--port", "65535", "--rate=-0.25", "--text=a=b", "--token", "s3cret",
                     "--pause=1m30s", "--maybe=false", "--namespaces=a,b", "--namespaces", "c", "--file=x,y", "--file=z", "--mode=hard",
                     "--call=1", "--call=2"}),
            "fine");
  EXPECT_TRUE(p.loud);
  EXPECT_EQ(p.workers, 7);
  EXPECT_EQ(p.bytes, 9'000'000'000);
  EXPECT_EQ(p.port, 65535);
  EXPECT_EQ(p.rate, -0.25);
  EXPECT_EQ(p.text, "a=b");
  EXPECT_EQ(p.token, "s3cret");
  EXPECT_EQ(p.pause, seconds(90));
  EXPECT_EQ(p.maybe, false);
  EXPECT_THAT(p.namespaces, ElementsAre("a", "b", "c"));
  EXPECT_THAT(p.files, ElementsAre("x,y", "z"));
  EXPECT_EQ(p.mode, Mode::kHard);
  EXPECT_THAT(p.called, ElementsAre("1", "2"));
}

TEST(FlagSetTest, WithoutFlagsTheVariablesStay) {
  Program p;
  ASSERT_EQ(p.Error({}), "fine");
  EXPECT_EQ(p.text, "Hello");
  EXPECT_EQ(p.workers, 4);
  EXPECT_THAT(p.namespaces, ElementsAre("default"));
  EXPECT_EQ(p.maybe, std::nullopt);
}

TEST(FlagSetTest, SpellingsOfGoAndOfKubectl) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--text=x", "--loud"},
                                             {"--text", "x", "-l"},
                                             {"-text=x", "-loud"},
                                             {"-text", "x", "-loud=true"},
                                             {"-t", "x", "--loud=1"},
                                             {"-t=x", "-l=T"},
                                             {"-tx", "-l"},
                                             {"--text=y", "--loud=false", "--text=x", "--loud=TRUE"}}) {
    Program p;
    ASSERT_EQ(p.Error(arguments), "fine") << arguments[0];
    EXPECT_EQ(p.text, "x") << arguments[0];
    EXPECT_TRUE(p.loud) << arguments[0];
  }
  Program p;
  ASSERT_EQ(p.Error({"--text", "--loud", "--ns-list=q"}), "fine");  // a value may look like a flag
  EXPECT_EQ(p.text, "--loud");
  EXPECT_FALSE(p.loud);
  EXPECT_THAT(p.namespaces, ElementsAre("q"));
  ASSERT_EQ(p.Error({"--text="}), "fine");
  EXPECT_EQ(p.text, "");
}

TEST(FlagSetTest, ALetterThatIsANameTakesTwoDashesToo) {
  int verbosity = 0;
  FlagSet flags;
  flags.Add("v", &verbosity, "how much is logged");
  for (const char* spelled : {"-v=3", "--v=3", "-v3"}) {
    verbosity = 0;
    EXPECT_TRUE(flags.Parse({spelled})) << spelled;
    EXPECT_EQ(verbosity, 3) << spelled;
  }
  EXPECT_THAT(flags.FlagLines(), StartsWith("  -v N "));
}

TEST(FlagSetTest, BadValuesNameTheFlag) {
  Program p;
  EXPECT_EQ(p.Error({"--loud=maybe"}), "--loud: expected true or false, not \"maybe\"");
  EXPECT_EQ(p.Error({"-l=maybe"}), "-l: expected true or false, not \"maybe\"");
  EXPECT_EQ(p.Error({"--maybe=perhaps"}), "--maybe: expected true or false, not \"perhaps\"");
  EXPECT_EQ(p.Error({"--workers=0"}), "--workers: expected a number from 1 to 100, not \"0\"");
  EXPECT_EQ(p.Error({"--workers=many"}), "--workers: expected a number from 1 to 100, not \"many\"");
  EXPECT_EQ(p.Error({"--workers=1.5"}), "--workers: expected a whole number, not \"1.5\"");
  EXPECT_EQ(p.Error({"--bytes="}), "--bytes: expected a whole number, not \"\"");
  EXPECT_EQ(p.Error({"--bytes=+-1"}), "--bytes: expected a whole number, not \"+-1\"");
  EXPECT_EQ(p.Error({"--port=65536"}), "--port: expected a whole number from 0 to 65535, not \"65536\"");
  EXPECT_EQ(p.Error({"--rate=nan"}), "--rate: expected a number, not \"nan\"");
  EXPECT_EQ(p.Error({"--pause=5"}), "--pause: expected a time such as 90s, 2m, 1h, not \"5\"");
  EXPECT_EQ(p.Error({"--mode=medium"}), "--mode: expected soft or hard, not \"medium\"");
  EXPECT_EQ(p.Error({"--call="}), "--call: must not be empty");
  EXPECT_EQ(p.Error({"--text"}), "--text needs a value: TEXT");
  EXPECT_EQ(p.Error({"-t"}), "-t needs a value: TEXT");
  EXPECT_EQ(p.Error({"-lt"}), "write the flags of -lt one by one");
  EXPECT_EQ(p.Error({"--text=x", "--workers=7", "--pause=soon"}), "--pause: expected a time such as 90s, 2m, 1h, not \"soon\"");
  EXPECT_EQ(p.text, "Hello");  // all flags or none
  EXPECT_EQ(p.workers, 4);
}

TEST(FlagSetTest, OneOfNamesTheChoices) {
  std::string format = "abc";
  FlagSet flags;
  flags.Add("format", &format, "the form").OneOf({"abc", "abd", "xyz"});
  EXPECT_EQ(flags.Parse({"--format", "xyy"}).error().message(), "--format: expected abc, abd or xyz, not \"xyy\" (did you mean xyz?)");
  ASSERT_TRUE(flags.Parse({"--format=abd"}));
  EXPECT_EQ(format, "abd");
  EXPECT_EQ(flags.FlagLines(),
            "      --format abc|abd|xyz          the form (default abc)\n"
            "  -h, --help                        print this text and exit\n");
}

// ---- Mistakes

TEST(FlagSetTest, UnknownFlagsAreErrorsWithASuggestion) {
  Program p;
  EXPECT_EQ(p.Error({"--worker=3"}), "unknown flag --worker (did you mean --workers?)");
  EXPECT_EQ(p.Error({"--lodu"}), "unknown flag --lodu (did you mean --loud?)");
  EXPECT_EQ(p.Error({"-namespces=x"}), "unknown flag -namespces (did you mean --namespaces?)");
  EXPECT_EQ(p.Error({"--zzzzzz"}), "unknown flag --zzzzzz");
  EXPECT_EQ(p.Error({"-z"}), "unknown flag -z");
  EXPECT_EQ(p.Error({"--t=x"}), "unknown flag --t (did you mean -t?)");
  EXPECT_EQ(p.Error({"-tokn"}), "fine");  // -t okn
  EXPECT_EQ(p.Error({"-tokne"}), "unknown flag -tokne (did you mean --token?)");
  EXPECT_EQ(p.Error({"--=x"}), "unknown flag --");
  EXPECT_EQ(p.Error({"--\x1b[31m"}), "unknown flag --U+001B[31m");
}

TEST(FlagSetTest, SuggestFindsTheClosest) {
  EXPECT_EQ(internal::Suggest("conver", {"convert", "version"}), "convert");
  EXPECT_EQ(internal::Suggest("con", {"convert", "version"}), "convert");
  EXPECT_EQ(internal::Suggest("apply", {"convert", "version"}), "");
  EXPECT_EQ(internal::Suggest(std::string(100'000, 'a'), {"convert"}), "");
}

TEST(FlagSetTest, RequiredFlagsAreMissed) {
  std::string name;
  FlagSet flags("greeter");
  flags.SetEnvironment({});
  flags.Add("lease-name", &name, "the Lease").Required();
  EXPECT_EQ(flags.Parse(std::vector<std::string>{}).error().message(), "--lease-name is missing: the Lease");
  EXPECT_TRUE(flags.Parse({"--lease-name=x"}));
  flags.SetEnvironment({"GREETER_LEASE_NAME=y"});
  EXPECT_TRUE(flags.Parse(std::vector<std::string>{}));
  EXPECT_EQ(name, "y");
}

TEST(FlagSetTest, AFlagThatIsDeclaredTwiceIsABug) {
  int a = 0, b = 0;
  FlagSet flags;
  flags.Add("x", &a, "");
  flags.Add("y", &b, "").Alias("x");
  const Result<void> parsed = flags.Parse(std::vector<std::string>{});
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().kind(), ErrorKind::kInternal);
  EXPECT_EQ(parsed.error().message(), "the flag -y is declared twice");
}

// ---- Arguments

TEST(FlagSetTest, ArgumentsAreErrorsUnlessDeclared) {
  Program p;
  EXPECT_EQ(p.Error({"pods"}), "unexpected argument \"pods\"");
  EXPECT_EQ(p.Error({"--", "pods"}), "unexpected argument \"pods\"");
  EXPECT_EQ(p.Error({"-"}), "unexpected argument \"-\"");
  EXPECT_EQ(p.Error({"--loud", "false"}), "unexpected argument \"false\"; write --loud=false");
  EXPECT_EQ(p.Error({"--text", "x", "false"}), "unexpected argument \"false\"");
}

TEST(FlagSetTest, TheFirstArgumentEndsTheFlags) {
  Program p;
  std::vector<std::string> rest;
  p.flags.Arguments("COMMAND...", &rest);
  ASSERT_EQ(p.Error({"--text=x", "exec", "ns", "pod", "echo", "-t", "hello", "--", "--unknown"}), "fine");
  EXPECT_EQ(p.text, "x");
  EXPECT_THAT(rest, ElementsAre("exec", "ns", "pod", "echo", "-t", "hello", "--", "--unknown"));
  ASSERT_EQ(p.Error({"--", "--text=y"}), "fine");
  EXPECT_THAT(rest, ElementsAre("--text=y"));
  EXPECT_EQ(p.text, "x");
  EXPECT_EQ(p.Error({"--text=y"}), "missing argument: COMMAND...");
  EXPECT_EQ(p.text, "x");
}

TEST(FlagSetTest, InterspersedArguments) {
  Program p;
  std::vector<std::string> rest;
  p.flags.Arguments("FILE [OTHER]", &rest);
  p.flags.Interspersed();
  ASSERT_EQ(p.Error({"a", "--text=x", "-", "--loud"}), "fine");
  EXPECT_THAT(rest, ElementsAre("a", "-"));
  EXPECT_EQ(p.text, "x");
  EXPECT_TRUE(p.loud);
  ASSERT_EQ(p.Error({"a", "--", "--text=z"}), "fine");
  EXPECT_THAT(rest, ElementsAre("a", "--text=z"));
  EXPECT_EQ(p.Error({}), "missing argument: FILE [OTHER]");
  EXPECT_EQ(p.Error({"a", "b", "c"}), "unexpected argument \"c\"");
}

// ---- Environment and file

TEST(FlagSetTest, CommandLineThenEnvironmentThenFileThenTheVariable) {
  Program p;
  const TestFile file("text: file\nworkers: 7\nport: 90\nloud: true\nrate: 0.5\nnamespaces: [a, b]\nmode: hard\n");
  p.flags.SetEnvironment({"GREETER_TEXT=environment", "GREETER_WORKERS=8", "GREETER_CONFIG=" + file.path(), "PATH=/bin", "TEXT=no"});
  ASSERT_EQ(p.Error({"--text", "line"}), "fine");
  EXPECT_EQ(p.text, "line");
  EXPECT_EQ(p.workers, 8);
  EXPECT_EQ(p.port, 90);
  EXPECT_TRUE(p.loud);
  EXPECT_EQ(p.rate, 0.5);
  EXPECT_THAT(p.namespaces, ElementsAre("a", "b"));
  EXPECT_EQ(p.mode, Mode::kHard);
  EXPECT_EQ(p.pause, milliseconds(250));
  // For a list, too, only the best source counts.
  p.flags.SetEnvironment({"GREETER_NAMESPACES=c,d"});
  ASSERT_EQ(p.Error({"--config", file.path()}), "fine");
  EXPECT_THAT(p.namespaces, ElementsAre("c", "d"));
  ASSERT_EQ(p.Error({"--config", file.path(), "--namespaces=e"}), "fine");
  EXPECT_THAT(p.namespaces, ElementsAre("e"));
}

TEST(FlagSetTest, VariablesAreChecked) {
  Program p;
  p.flags.SetEnvironment({"GREETER_WORKERS=none"});
  EXPECT_EQ(p.Error({}), "GREETER_WORKERS: expected a number from 1 to 100, not \"none\"");
  p.flags.SetEnvironment({"GREETER_WORKRES=3"});
  EXPECT_EQ(p.Error({}), "unknown environment variable GREETER_WORKRES (did you mean GREETER_WORKERS?)");
  // Empty ones, those of others, and those that Kubernetes makes for a Service.
  p.flags.SetEnvironment({"GREETER_WORKERS=", "GREETER_COLOR=red", "GREETER_PORT=tcp://10.0.0.1:80", "GREETER_SERVICE_HOST=10.0.0.1",
                          "GREETER_PORT_80_TCP=tcp://10.0.0.1:80", "GREETER_HELP=true", "GREETER_VERSION=2"});
  EXPECT_EQ(p.Error({}), "fine");
  EXPECT_EQ(p.port, 80);
  p.flags.SetEnvironment({"GREETER_PORT=81"});
  EXPECT_EQ(p.Error({}), "fine");
  EXPECT_EQ(p.port, 81);
}

// Anyone allowed to create a Service chooses these: they must neither set a flag nor prevent the program from starting.
TEST(FlagSetTest, VariablesOfServicesSetNoFlags) {
  FlagSet flags("greeter");
  int service_port = 1;
  std::string host = "db";
  flags.Add("service-port", &service_port, "where");
  flags.Add("database-host", &host, "which one");
  flags.SetEnvironment({"GREETER_PORT=tcp://10.0.0.1:80", "GREETER_SERVICE_HOST=10.0.0.1", "GREETER_SERVICE_PORT=80",
                        "GREETER_SERVICE_PORT_HTTP=80", "GREETER_DATABASE_PORT=tcp://10.0.0.2:5432",
                        "GREETER_DATABASE_SERVICE_HOST=10.0.0.2", "GREETER_DATABASE_PORT_5432_TCP_ADDR=10.0.0.2"});
  const Result<void> parsed = flags.Parse(std::vector<std::string>{});
  EXPECT_TRUE(parsed) << parsed.error().ToString();
  EXPECT_EQ(service_port, 1);
  EXPECT_EQ(host, "db");
  flags.SetEnvironment({"GREETER_SERVICE_PORT=80", "GREETER_DATABASE_HOST=other"});
  ASSERT_TRUE(flags.Parse(std::vector<std::string>{}));
  EXPECT_EQ(service_port, 80);
  EXPECT_EQ(host, "other");
}

TEST(FlagSetTest, AFlagNeedNotHaveAVariable) {
  FlagSet flags("github");
  std::string token;
  flags.Add("token", &token, "for the cluster").NotInEnvironment();
  flags.SetEnvironment({"GITHUB_TOKEN=secret", "GITHUB_TOKENS=secret"});
  ASSERT_TRUE(flags.Parse(std::vector<std::string>{}));
  EXPECT_EQ(token, "");
}

TEST(FlagSetTest, TextsOfAConfigFileStayTexts) {
  Program p;
  const auto read = [&](std::string_view content) {
    const TestFile file(content);
    return p.Error({"--config", file.path()});
  };
  for (const char* value : {"1.10", "010", "yes", "12345678901234567890"}) {
    EXPECT_THAT(read("text: " + std::string(value)), AnyOf(HasSubstr("expected a string: put it in quotes"), "fine")) << value;
    EXPECT_TRUE(p.text == "Hello" || p.text == value) << p.text;
  }
  EXPECT_EQ(read("text: \"1.10\""), "fine");
  EXPECT_EQ(p.text, "1.10");
  EXPECT_EQ(read("namespaces: [\"a,b\", c]"), "fine");
  EXPECT_THAT(p.namespaces, ElementsAre("a,b", "c"));
  EXPECT_EQ(read("workers: 7"), "fine");
  EXPECT_EQ(p.workers, 7);
}

TEST(FlagSetTest, DurationsAreExact) {
  FlagSet flags("greeter");
  std::chrono::seconds pause{1};
  std::chrono::duration<int, std::milli> wait{1};
  flags.Add("pause", &pause, "between greetings");
  flags.Add("wait", &wait, "at first");
  flags.SetEnvironment({});
  const auto error = [&](const std::string& argument) {
    const Result<void> parsed = flags.Parse({argument});
    return parsed ? "fine" : parsed.error().message();
  };
  EXPECT_EQ(error("--pause=500ms"), "--pause: expected a multiple of 1s in the range of the flag");
  EXPECT_EQ(error("--wait=1000h"), "--wait: expected a multiple of 1ms in the range of the flag");
  EXPECT_EQ(error("--pause=90s"), "fine");
  EXPECT_EQ(pause, std::chrono::seconds(90));
}

TEST(FlagSetTest, BadConfigFilesAreNamedWithTheLine) {
  Program p;
  const auto error = [&](std::string_view content) {
    const TestFile file(content);
    std::string message = p.Error({"--config", file.path()});
    if (const std::size_t at = message.find(file.path()); at != std::string::npos) message.replace(at, file.path().size(), "FILE");
    return message;
  };
  EXPECT_EQ(error("# greetings\ntext: x\nworker: 3\n"), "FILE:3: unknown flag \"worker\" (did you mean workers?)");
  EXPECT_EQ(error("text: x\nworkers: none\n"), "FILE:2: workers: expected a number from 1 to 100, not \"none\"");
  EXPECT_EQ(error("{\"text\": \"x\",\n \"workers\": 0}\n"), "FILE:2: workers: expected a number from 1 to 100, not \"0\"");
  EXPECT_EQ(error("text: {a: b}\n"), "FILE:1: text: expected a string, a number, true or false, or a list of these");
  EXPECT_EQ(error("text:\n"), "FILE:1: text: expected a string, a number, true or false, or a list of these");
  EXPECT_EQ(error("namespaces: [[a]]\n"), "FILE:1: namespaces: expected a string, a number, true or false, or a list of these");
  EXPECT_EQ(error("\nconfig: other.yaml\n"), "FILE:2: config: cannot be set in a config file");
  EXPECT_EQ(error("\nhelp: true\n"), "FILE:2: help: cannot be set in a config file");
  EXPECT_EQ(error("text: a\ntext: b\n"), "FILE: duplicate flag \"text\" (line 2, column 1)");
  EXPECT_EQ(error("namespaces: a\nns-list: b\n"), "FILE:2: namespaces: is also set under another name");
  EXPECT_EQ(error("[1]"), "FILE: expected one YAML map of flags, \"name: value\"");
  EXPECT_EQ(error("a: b\n---\nc: d\n"), "FILE: expected one YAML map of flags, \"name: value\"");
  EXPECT_THAT(error("text: x\na: ["), StartsWith("FILE: line 3, column 1: "));
  EXPECT_EQ(error("# nothing\n"), "fine");
  EXPECT_EQ(p.Error({"--config=/does/not/exist"}), "--config /does/not/exist: No such file or directory");
  EXPECT_EQ(p.Error({"--config", "/"}), "--config /: Is a directory");
  EXPECT_EQ(p.text, "Hello");
}

// ---- Secrets

TEST(FlagSetTest, SecretsAreNeverPrinted) {
  Program p;
  p.token = "default-s3cret";
  FlagSet& flags = p.flags;
  EXPECT_EQ(p.Error({"--token=s3 cret"}), "--token: the value is not acceptable");
  EXPECT_EQ(p.Error({"--tokn=s3cret"}), "unknown flag --tokn (did you mean --token?)");
  flags.SetEnvironment({"GREETER_TOKEN=s3 cret"});
  EXPECT_EQ(p.Error({}), "GREETER_TOKEN: the value is not acceptable");
  flags.SetEnvironment({"GREETER_TOKNE=s3cret"});
  EXPECT_THAT(p.Error({}), Not(HasSubstr("s3cret")));
  flags.SetEnvironment({});
  for (const char* content :
       {"token: s3 cret\n", "token: *s3cret\n", "token: !!int s3cret\n", "token: [{s3cret: x}]\n", "token: \"s3cret\n"}) {
    const TestFile file(content);
    std::string error = p.Error({"--config", file.path()});
    ASSERT_THAT(error, HasSubstr(file.path())) << content;
    error.erase(error.find(file.path()), file.path().size());  // whose random part may look like a piece of the secret
    EXPECT_THAT(error, Not(HasSubstr("s3"))) << content;
  }
  std::string password = "default-s3cret";
  flags.Add("password", &password, "of the user").Secret();
  EXPECT_THAT(flags.Help(), AllOf(HasSubstr("--password TEXT"), Not(HasSubstr("s3cret"))));
}

// ---- Help

TEST(FlagSetTest, HelpIsHandledByParse) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{{"--help"},
                                                                                         {"-h"},
                                                                                         {"-help"},
                                                                                         {"--loud", "--help=true"},
                                                                                         {"--unknown", "--help"},
                                                                                         {"pods", "-h"},
                                                                                         {"--workers=none", "--help"}}) {
    Program p;
    const Result<void> parsed = p.flags.Parse(arguments);
    ASSERT_FALSE(parsed);
    ASSERT_TRUE(IsHelpRequested(parsed.error())) << arguments[0] << ": " << parsed.error().ToString();
    EXPECT_EQ(parsed.error().message(), p.flags.Help());
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(p.flags.Fail(parsed.error()), 0);
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), p.flags.Help());
    EXPECT_FALSE(p.loud);
  }
  Program p;
  EXPECT_EQ(p.Error({"--help=false"}), "fine");
  EXPECT_EQ(p.Error({"--text", "--help"}), "fine");
  EXPECT_EQ(p.Error({"--unknown", "--", "--help"}), "unknown flag --unknown");
}

TEST(FlagSetTest, VersionIsHandledByParse) {
  Program p;
  const Result<void> parsed = p.flags.Parse({"--version"});
  ASSERT_FALSE(parsed);
  EXPECT_TRUE(IsHelpRequested(parsed.error()));
  EXPECT_THAT(parsed.error().message(), StartsWith("greeter (kubexx 0."));
  p.flags.Version("1.2.3");
  EXPECT_EQ(p.flags.Parse({"-version"}).error().message(), "greeter 1.2.3\n");
  // A program may have such a flag itself.
  std::string version;
  FlagSet own("get");
  own.SetEnvironment({});
  own.Add("version", &version, "of the API");
  ASSERT_TRUE(own.Parse({"--version", "v1"}));
  EXPECT_EQ(version, "v1");
}

TEST(FlagSetTest, FailSaysWhatIsWrongAndWhereHelpIs) {
  Program p;
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(p.flags.Fail(p.flags.Parse({"--worker=1"}).error()), 2);
  EXPECT_EQ(p.flags.Fail(UsageError("--from and --to exclude each other")), 2);
  EXPECT_EQ(p.flags.Fail(Error::Internal("no disk").WithContext("write")), 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "greeter: unknown flag --worker (did you mean --workers?)\nTry 'greeter --help'.\n"
            "greeter: --from and --to exclude each other\nTry 'greeter --help'.\n"
            "greeter: write: no disk\n");
}

TEST(FlagSetTest, HelpAlignsAndBreaks) {
  bool loud = true;
  std::string name = "World";
  int workers = 0;
  std::chrono::nanoseconds pause = seconds(90);
  std::vector<std::string> rest;
  FlagSet flags("greeter");
  flags.About("Greets.");
  flags.Arguments("WHOM...", &rest);
  flags.Add("loud", &loud, "in capitals").Letter('l');
  flags.Add("name", &name, "whom to greet\nand how").Letter('n').Value("NAME");
  flags.Group("rarely used");
  flags.Add("a-rather-long-name-of-a-flag-that-breaks", &workers, "at once").Required();
  flags.Add("pause", &pause, "between greetings");
  flags
      .Call(
          "print", [](const std::string&) -> Result<void> { return {}; }, "print it")
      .ImpliedValue("true")
      .Value("FORM");
  EXPECT_EQ(flags.Help(),
            "usage: greeter [flags] WHOM...\n"
            "\n"
            "Greets.\n"
            "\n"
            "  -l, --loud                        in capitals (default true)\n"
            "  -n, --name NAME                   whom to greet\n"
            "                                    and how (default World)\n"
            "\n"
            "rarely used:\n"
            "      --a-rather-long-name-of-a-flag-that-breaks N\n"
            "                                    at once (required)\n"
            "      --pause TIME                  between greetings (default 1m30s)\n"
            "      --print[=FORM]                print it\n"
            "\n"
            "general:\n"
            "      --config FILE                 a YAML file with flags: \"name: value\"\n"
            "      --version                     print the version and exit\n"
            "  -h, --help                        print this text and exit\n"
            "\n"
            "Flags can also be set by environment variables (GREETER_LOUD) and in the --config file (loud: ...).\n");
}

TEST(FlagSetTest, TheNameIsThatOfTheProgram) {
  int workers = 0;
  FlagSet flags;
  flags.SetEnvironment({"POD_TOP_WORKERS=3"});
  flags.Add("workers", &workers, "");
  const char* argv[] = {"/usr/bin/pod-top"};
  ASSERT_TRUE(flags.Parse(1, argv));
  EXPECT_EQ(flags.program(), "pod-top");
  EXPECT_EQ(workers, 3);
  EXPECT_THAT(flags.Variables(), ElementsAre("POD_TOP_WORKERS", "POD_TOP_CONFIG"));
  EXPECT_TRUE(FlagSet().Parse(0, nullptr));
  EXPECT_THAT(FlagSet().Variables(), IsEmpty());
}

}  // namespace
}  // namespace kube
