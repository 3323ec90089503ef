#include "command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace kube::app {
namespace {

using ::testing::HasSubstr;

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
    EXPECT_THAT(ran.out, HasSubstr("convert          Converts Kubernetes objects"));
    EXPECT_THAT(ran.out, HasSubstr("version          Prints the version"));
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
  EXPECT_THAT(Kubexx({"--strict", "convert"}).err, HasSubstr("flags follow the command"));
  EXPECT_THAT(Kubexx({"convert"}).err, HasSubstr("missing argument: FILE"));
  EXPECT_THAT(Kubexx({"convert", "a", "b"}).err, HasSubstr("unexpected argument \"b\""));
  EXPECT_THAT(Kubexx({"convert", "--strcit", "a"}).err, HasSubstr("did you mean --strict?"));
  EXPECT_EQ(Kubexx({"convert", "-o", "xml", "a"}).code, ExitCode::kUsage);
  EXPECT_THAT(Kubexx({"convert", "-o", "jsno", "a"}).err,
              HasSubstr("-o: expected json, yaml, protobuf or pb, not \"jsno\" (did you mean json?)"));
  EXPECT_THAT(Kubexx({"convert", "-cx", "a"}).err, HasSubstr("write the flags of -cx one by one"));
  EXPECT_THAT(Kubexx({"apiserver", "--tls-min-version=1.2"}).err, HasSubstr("kubexx apiserver: --tls-min-version: "));
}

TEST(ProgramTest, PrintsItsVersion) {
  EXPECT_THAT(Kubexx({"version"}).out, ::testing::StartsWith("kubexx 0."));
  EXPECT_THAT(Kubexx({"--version"}).out, ::testing::StartsWith("kubexx 0."));
  EXPECT_THAT(Kubexx({"version", "-o", "json"}).out, HasSubstr("\"version\": \"0."));
}

}  // namespace
}  // namespace kube::app
