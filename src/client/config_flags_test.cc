#include "kube/client/config_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "config/kubeconfig_test_util.h"

namespace kube {
namespace {

using internal::ErrorOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

LoadOptions Parsed(const std::vector<std::string>& arguments) {
  ConfigFlags flags;
  if (Result<void> parsed = flags.Parse(arguments); !parsed) ADD_FAILURE() << parsed.error().ToString();
  return flags.options;
}

TEST(ConfigFlagsTest, StandardFlagsInBothForms) {
  LoadOptions options = Parsed({"--kubeconfig=/k", "--context", "c", "--master=https://m", "-n", "ns"});
  EXPECT_EQ(options.kubeconfig, "/k");
  EXPECT_EQ(options.context, "c");
  EXPECT_EQ(options.master, "https://m");
  EXPECT_EQ(options.ns, "ns");
  options = Parsed({"-kubeconfig", "/k=1", "-context=", "--server", "https://s", "-n=ns"});
  EXPECT_EQ(options.kubeconfig, "/k=1");
  EXPECT_EQ(options.master, "https://s");
  EXPECT_EQ(options.ns, "ns");
}

TEST(ConfigFlagsTest, KubectlsOtherFlags) {
  const LoadOptions options = Parsed({"--cluster=c",
                                      "--user=u",
                                      "--token=t",
                                      "--username=n",
                                      "--password=p",
                                      "--client-certificate=cert",
                                      "--client-key=key",
                                      "--certificate-authority=ca",
                                      "--insecure-skip-tls-verify",
                                      "--tls-server-name=s",
                                      "--proxy-url=http://p",
                                      "--disable-compression=false",
                                      "--request-timeout=90s",
                                      "--as=a",
                                      "--as-uid=1",
                                      "--as-group=g",
                                      "--as-group",
                                      "h",
                                      "--as-user-extra=k=v=w",
                                      "--as-user-extra=k=x"});
  EXPECT_EQ(options.cluster, "c");
  EXPECT_EQ(options.user, "u");
  EXPECT_EQ(options.token, "t");
  EXPECT_EQ(options.username, "n");
  EXPECT_EQ(options.password, "p");
  EXPECT_EQ(options.certificate_file, "cert");
  EXPECT_EQ(options.key_file, "key");
  EXPECT_EQ(options.ca_file, "ca");
  EXPECT_EQ(options.insecure, true);
  EXPECT_EQ(options.tls_server_name, "s");
  EXPECT_EQ(options.proxy_url, "http://p");
  EXPECT_EQ(options.disable_compression, false);
  EXPECT_EQ(options.timeout, std::chrono::seconds(90));
  EXPECT_EQ(options.impersonate.user, "a");
  EXPECT_EQ(options.impersonate.uid, "1");
  EXPECT_THAT(options.impersonate.groups, ElementsAre("g", "h"));
  EXPECT_THAT(options.impersonate.extra.at("k"), ElementsAre("v=w", "x"));
  EXPECT_EQ(Parsed({"--request-timeout", "30"}).timeout, std::chrono::seconds(30));
}

TEST(ConfigFlagsTest, UnknownFlagsAndArgumentsAreErrors) {
  const auto error = [](const std::vector<std::string>& arguments) { return ErrorOf(ConfigFlags().Parse(arguments)); };
  EXPECT_EQ(error({"--namespces=x"}), "unknown flag --namespces (did you mean --namespace?)");
  EXPECT_EQ(error({"-kubeconfg", "x"}), "unknown flag -kubeconfg (did you mean --kubeconfig?)");
  EXPECT_EQ(error({"--n", "x"}), "unknown flag --n (did you mean -n?)");
  EXPECT_EQ(error({"get"}), "unexpected argument \"get\"");
}

// podtop exec ns pod echo -n hello
TEST(ConfigFlagsTest, TheArgumentsOfASubcommandStayWhole) {
  ConfigFlags flags("podtop");
  flags.SetEnvironment({});
  std::vector<std::string> rest;
  flags.Arguments("COMMAND [ARGUMENT...]", &rest);
  const char* argv[] = {"podtop", "--context=c", "-n", "x", "exec", "ns", "pod", "echo", "-n", "hello", "--context", "d"};
  const Result<void> parsed = flags.Parse(static_cast<int>(std::size(argv)), argv);
  ASSERT_TRUE(parsed) << parsed.error().ToString();
  EXPECT_THAT(rest, ElementsAre("exec", "ns", "pod", "echo", "-n", "hello", "--context", "d"));
  EXPECT_EQ(flags.options.context, "c");
  EXPECT_EQ(flags.options.ns, "x");
  EXPECT_TRUE(ConfigFlags().Parse(0, nullptr));
}

TEST(ConfigFlagsTest, TheProgramsOwnFlagsStandBesideOurs) {
  ConfigFlags flags("podtop");
  bool wide = false;
  flags.Add("wide", &wide, "print more columns");
  flags.options.getenv = [](const std::string& name) -> std::optional<std::string> {
    if (name == "PODTOP_WIDE") return "true";
    if (name == "PODTOP_KUBECONFIG") return "staging.kubeconfig";
    if (name == "PODTOP_TOKEN" || name == "PODTOP_USER" || name == "PODTOP_NAMESPACE") return "of another program";
    return std::nullopt;
  };
  ASSERT_TRUE(flags.Parse({"-n=x"}));
  EXPECT_TRUE(wide);
  EXPECT_EQ(flags.options.kubeconfig, "staging.kubeconfig");
  EXPECT_EQ(flags.options.token, "");
  EXPECT_EQ(flags.options.user, "");
  EXPECT_EQ(flags.options.ns, "x");
  EXPECT_THAT(flags.Help(), HasSubstr("usage: podtop [flags]\n\n      --wide                        print more columns\n\ncluster:\n"));
}

// Which server, as whom, in which namespace: never by a variable, which may be another program's (GITHUB_TOKEN).
TEST(ConfigFlagsTest, OnlyHarmlessFlagsHaveVariables) {
  FlagSet flags("podtop");
  LoadOptions options;
  ConfigFlags::AddTo(flags, options);
  EXPECT_THAT(flags.Variables(),
              UnorderedElementsAre("PODTOP_KUBECONFIG", "PODTOP_DISABLE_COMPRESSION", "PODTOP_REQUEST_TIMEOUT", "PODTOP_CONFIG"));
  EXPECT_THAT(flags.Help(), HasSubstr("a group to impersonate; may be repeated\n"));
}

TEST(ConfigFlagsTest, BadValuesAreErrorsAndChangeNothing) {
  ConfigFlags flags;
  const auto error = [&](const std::vector<std::string>& arguments) { return ErrorOf(flags.Parse(arguments)); };
  EXPECT_EQ(error({"--context=c", "--kubeconfig"}), "--kubeconfig needs a value: FILE");
  EXPECT_EQ(error({"-n"}), "-n needs a value: NAME");
  EXPECT_EQ(error({"--insecure-skip-tls-verify=maybe"}), "--insecure-skip-tls-verify: expected true or false, not \"maybe\"");
  EXPECT_EQ(error({"--request-timeout=soon"}), "--request-timeout: expected seconds or a time such as 90s, 2m, 1h, not \"soon\"");
  EXPECT_EQ(error({"--request-timeout=-1s"}), "--request-timeout: expected seconds or a time such as 90s, 2m, 1h, not \"-1s\"");
  EXPECT_EQ(error({"--as-user-extra=x"}), "--as-user-extra: expected key=value");
  EXPECT_EQ(flags.options.context, "");
  EXPECT_EQ(flags.Parse(std::vector<std::string>{"-n"}).error().kind(), ErrorKind::kInvalid);
}

TEST(Contract11NamespacePrefixStrip, WhatKubectlPrintsCanBePasted) {
  for (const char* text : {"web", "ns/web", "namespace/web", "namespaces/web", "NS/web", "Namespaces/web"})
    EXPECT_EQ(Parsed({"--namespace", text}).ns, "web") << text;
  EXPECT_EQ(Parsed({"--namespace=ns/"}).ns, "ns/");
}

TEST(ConfigFlagsTest, HelpNamesEveryFlag) {
  const std::string help = ConfigFlags("podtop").Help();
  for (const char* line : {"      --kubeconfig FILE             read this kubeconfig and no other\n", "  --context NAME ",
                           "  --master URL ", "  -n, --namespace NAME ", "  --insecure-skip-tls-verify ", "  --as-group GROUP ",
                           "  --config FILE ", "  --version ", "  -h, --help "}) {
    EXPECT_THAT(help, HasSubstr(line));
  }
}

TEST(ConfigFlagsTest, TokensAndPasswordsAreNotShown) {
  ConfigFlags flags("podtop");
  flags.options.token = flags.options.password = flags.options.proxy_url = "s3cret";
  EXPECT_THAT(flags.Help(), Not(HasSubstr("s3cret")));
}

TEST(ConfigFlagsTest, LoadUsesWhatWasParsed) {
  ConfigFlags flags;
  flags.options = internal::OptionsWith({});
  ASSERT_TRUE(flags.Parse(std::vector<std::string>{"--master=http://localhost:8001", "--namespace=x"}));
  Result<ClientConfig> config = flags.Load();
  ASSERT_TRUE(config) << config.error().ToString();
  EXPECT_EQ(config->host, "http://localhost:8001");
  EXPECT_EQ(config->ns, "x");
}

// ---- Run

struct Ran {
  int code = -1;
  bool called = false;
  std::string out{}, err{};
};

template <typename Body>
Ran RunPodtop(std::vector<const char*> arguments, Body body, const Context& ctx = Context::Background()) {
  ConfigFlags flags("podtop");
  flags.options = internal::OptionsWith({});
  flags.options.allow_in_cluster = false;
  arguments.insert(arguments.begin(), "podtop");
  Ran ran;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  ran.code = flags.Run(
      static_cast<int>(arguments.size()), arguments.data(),
      [&](const Context& context, const Client& client) {
        ran.called = true;
        return body(context, client);
      },
      ctx);
  ran.out = ::testing::internal::GetCapturedStdout();
  ran.err = ::testing::internal::GetCapturedStderr();
  return ran;
}

Result<void> Fine(const Context&, const Client&) { return {}; }

TEST(ConfigFlagsRunTest, CallsTheBodyWithAClient) {
  const Ran ran = RunPodtop({"--master=http://127.0.0.1:1", "-n", "shop"}, [](const Context&, const Client& client) -> Result<void> {
    EXPECT_EQ(client.default_namespace(), "shop");
    return {};
  });
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(ran.called);
}

TEST(ConfigFlagsRunTest, AnswersHelpAndVersion) {
  for (const char* flag : {"--help", "-h"}) {
    const Ran ran = RunPodtop({flag}, &Fine);
    EXPECT_EQ(ran.code, 0);
    EXPECT_FALSE(ran.called);
    EXPECT_THAT(ran.out, StartsWith("usage: podtop [flags]\n"));
    EXPECT_EQ(ran.err, "");
  }
  const Ran version = RunPodtop({"--version"}, &Fine);
  EXPECT_EQ(version.code, 0);
  EXPECT_FALSE(version.called);
  EXPECT_THAT(version.out, StartsWith("podtop (kubexx "));
}

TEST(ConfigFlagsRunTest, UnknownFlagsEndWithCode2) {
  const Ran ran = RunPodtop({"--contxt=x"}, &Fine);
  EXPECT_EQ(ran.code, 2);
  EXPECT_FALSE(ran.called);
  EXPECT_EQ(ran.err, "podtop: unknown flag --contxt (did you mean --context?)\nTry 'podtop --help'.\n");
}

TEST(ConfigFlagsRunTest, ErrorsBecomeAMessageAndAnExitCode) {
  const char* server = "--master=http://127.0.0.1:1";
  EXPECT_EQ(RunPodtop({}, &Fine).code, 1);  // no configuration
  EXPECT_THAT(RunPodtop({}, &Fine).err, StartsWith("podtop: no configuration: "));
  const Ran failed = RunPodtop({server}, [](const Context&, const Client&) -> Result<void> { return Error::Internal("no disk"); });
  EXPECT_EQ(failed.code, 1);
  EXPECT_EQ(failed.err, "podtop: no disk\n");
  const Ran usage = RunPodtop({server}, [](const Context&, const Client&) -> Result<void> { return UsageError("--a or --b"); });
  EXPECT_EQ(usage.code, 2);
  EXPECT_EQ(usage.err, "podtop: --a or --b\nTry 'podtop --help'.\n");
  EXPECT_EQ(RunPodtop({server}, [](const Context&, const Client&) -> Result<int> { return 42; }).code, 42);
}

TEST(ConfigFlagsRunTest, ExceptionsBecomeAMessageAndAnExitCode) {
  const char* server = "--master=http://127.0.0.1:1";
  const Ran thrown = RunPodtop({server}, [](const Context&, const Client&) -> Result<void> { throw std::runtime_error("boom"); });
  EXPECT_EQ(thrown.code, 1);
  EXPECT_EQ(thrown.err, "podtop: boom\n");
  const Ran value = RunPodtop({server}, [](const Context&, const Client&) -> Result<void> {
    return Result<void>(Error::Internal("no disk")).value(), Result<void>();
  });
  EXPECT_EQ(value.code, 1);
  EXPECT_EQ(value.err, "podtop: no disk\n");
}

TEST(ConfigFlagsRunTest, AStopThatWasAskedForIsNoError) {
  const auto [ctx, stop] = Context::Background().WithCancel();
  stop.Cancel();
  const auto cancelled = [](const Context&, const Client&) -> Result<void> { return Error::Cancelled("stopped"); };
  EXPECT_EQ(RunPodtop({"--master=http://127.0.0.1:1"}, cancelled, ctx).code, 0);
  EXPECT_EQ(RunPodtop({"--master=http://127.0.0.1:1"}, cancelled).code, 1);
  const auto thrown = [](const Context&, const Client&) { Result<void>(Error::Cancelled("stopped")).value(); };
  EXPECT_EQ(RunPodtop({"--master=http://127.0.0.1:1"}, thrown, ctx).code, 0);
  EXPECT_EQ(RunPodtop({"--master=http://127.0.0.1:1"}, thrown).code, 1);
}

TEST(ConfigFlagsRunTest, ABodyMayReturnNothing) {
  const Ran ran = RunPodtop({"--master=http://127.0.0.1:1"}, [](const Context&, const Client&) {});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.err, "");
}

}  // namespace
}  // namespace kube
