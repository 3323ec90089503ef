#include "command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace kube::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Flags {
  bool loud = false;
  std::string name;
  std::string format = "a";
  FlagSet set;
  Flags() {
    set.Bool(&loud, "loud", 'l', "in capitals");
    set.Text(&name, "name", 'n', "NAME", "whom to greet\nand how");
    set.Text(&format, "format", '\0', "abc|abd|xyz", "the form");
  }
};

TEST(FlagSetTest, ReadsAllSpellings) {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{{"x", "--loud", "--name", "n"},
                                                                                    {"--name=n", "x", "-l"},
                                                                                    {"-nn", "-l", "x"},
                                                                                    {"-n=n", "--loud=true", "x"},
                                                                                    {"-n", "n", "-l", "--", "x"}}) {
    Flags flags;
    Result<std::vector<std::string>> rest = flags.set.Parse(args);
    ASSERT_TRUE(rest) << rest.error().ToString();
    EXPECT_THAT(*rest, ElementsAre("x"));
    EXPECT_TRUE(flags.loud);
    EXPECT_EQ(flags.name, "n");
  }
}

TEST(FlagSetTest, DashAndWhatFollowsTwoDashesAreArguments) {
  Flags flags;
  Result<std::vector<std::string>> rest = flags.set.Parse({"-", "--", "--loud", "-n"});
  ASSERT_TRUE(rest);
  EXPECT_THAT(*rest, ElementsAre("-", "--loud", "-n"));
  EXPECT_FALSE(flags.loud);
}

TEST(FlagSetTest, SaysWhatIsWrong) {
  auto error = [](const std::vector<std::string>& args) {
    Result<std::vector<std::string>> rest = Flags().set.Parse(args);
    return rest ? std::string("fine") : rest.error().message();
  };
  EXPECT_EQ(error({"--luod"}), "unknown flag --luod (did you mean --loud?)");
  EXPECT_EQ(error({"--zzzzzz"}), "unknown flag --zzzzzz");
  EXPECT_EQ(error({"-z"}), "unknown flag -z");
  EXPECT_EQ(error({"--name"}), "--name needs a value: NAME");
  EXPECT_EQ(error({"--loud=maybe"}), "--loud is either true or false, not \"maybe\"");
  EXPECT_EQ(error({"--format", "xyy"}), "--format cannot be \"xyy\"; it is one of abc|abd|xyz (did you mean xyz?)");
  EXPECT_EQ(error({"-ln"}), "write the flags of -ln one by one");
}

TEST(FlagSetTest, HelpAlignsAndBreaks) {
  EXPECT_EQ(Flags().set.Help(),
            "  -l, --loud                        in capitals\n"
            "  -n, --name NAME                   whom to greet\n"
            "                                    and how\n"
            "      --format abc|abd|xyz          the form\n");
}

TEST(SuggestTest, FindsTheClosest) {
  EXPECT_EQ(Suggest("conver", {"convert", "version"}), "convert");
  EXPECT_EQ(Suggest("con", {"convert", "version"}), "convert");
  EXPECT_EQ(Suggest("apply", {"convert", "version"}), "");
}

struct Ran {
  ExitCode code;
  std::string out;
  std::string err;
};
Ran Kubexx(const std::vector<std::string>& args) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  Streams io{in, out, err};
  ExitCode code = RunProgram(args, io);
  return {code, out.str(), err.str()};
}

TEST(ProgramTest, ShowsHelp) {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{{"help"}, {"--help"}, {"-h"}}) {
    Ran ran = Kubexx(args);
    EXPECT_EQ(ran.code, ExitCode::kOk);
    EXPECT_THAT(ran.out, HasSubstr("convert        Converts Kubernetes objects"));
    EXPECT_THAT(ran.out, HasSubstr("version        Prints the version"));
  }
  for (const std::vector<std::string>& args :
       std::vector<std::vector<std::string>>{{"help", "convert"}, {"convert", "--help"}, {"convert", "-h"}}) {
    Ran ran = Kubexx(args);
    EXPECT_EQ(ran.code, ExitCode::kOk);
    EXPECT_THAT(ran.out, HasSubstr("kubexx convert [flags] FILE"));
    EXPECT_THAT(ran.out, HasSubstr("-o, --output json|yaml|protobuf"));
    EXPECT_THAT(ran.out, HasSubstr("Examples:"));
  }
  EXPECT_EQ(Kubexx({}).code, ExitCode::kUsage);
}

TEST(ProgramTest, ExplainsUsageErrors) {
  Ran unknown = Kubexx({"convrt"});
  EXPECT_EQ(unknown.code, ExitCode::kUsage);
  EXPECT_EQ(unknown.err, "kubexx: unknown command \"convrt\" (did you mean convert?)\nTry 'kubexx --help'.\n");
  EXPECT_EQ(Kubexx({"help", "nothing"}).code, ExitCode::kUsage);
  EXPECT_THAT(Kubexx({"--strict", "convert"}).err, HasSubstr("flags stand behind the command"));
  EXPECT_THAT(Kubexx({"convert"}).err, HasSubstr("missing argument: FILE"));
  EXPECT_THAT(Kubexx({"convert", "a", "b"}).err, HasSubstr("unexpected argument \"b\""));
  EXPECT_THAT(Kubexx({"convert", "--strcit", "a"}).err, HasSubstr("did you mean --strict?"));
  EXPECT_EQ(Kubexx({"convert", "-o", "xml", "a"}).code, ExitCode::kUsage);
}

TEST(ProgramTest, PrintsItsVersion) {
  EXPECT_THAT(Kubexx({"version"}).out, ::testing::StartsWith("kubexx 0."));
  EXPECT_THAT(Kubexx({"--version"}).out, ::testing::StartsWith("kubexx 0."));
  EXPECT_THAT(Kubexx({"version", "-o", "json"}).out, HasSubstr("\"version\": \"0."));
}

}  // namespace
}  // namespace kube::app
