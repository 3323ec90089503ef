// Exec plugins: real scripts, run as a kubeconfig would have them run.
#include "config/exec_source.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <limits>

#include "config/credentials_test_util.h"
#include "config/run_program.h"
#include "kube/base/fake_clock.h"
#include "kube/codec/json.h"

namespace kube::internal {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";
constexpr const char* kV1beta1 = "client.authentication.k8s.io/v1beta1";

std::string Answer(const Value& status, const std::string& version = kV1) {
  return ToJson(Value::Object({{"kind", "ExecCredential"}, {"apiVersion", version}, {"status", status}}));
}
std::string TokenAnswer(const std::string& token, const std::string& version = kV1) {
  return Answer(Value::Object({{"token", token}}), version);
}
std::string TokenAnswer(const std::string& token, const std::string& expires, const std::string& version) {
  return Answer(Value::Object({{"token", token}, {"expirationTimestamp", expires}}), version);
}
std::string PairAnswer(const serve::KeyPair& pair, const std::string& expires = "") {
  Value status = Value::Object({{"clientCertificateData", pair.certificate_pem}, {"clientKeyData", pair.key_pem}});
  if (!expires.empty()) status["expirationTimestamp"] = expires;
  return Answer(status);
}

// A plugin that prints the file "output", and records its runs and their input.
class PluginTest : public ::testing::Test {
 protected:
  PluginTest() {
    exec_.command = Script(
        "echo run >> runs\n"
        "printf '%s' \"$KUBERNETES_EXEC_INFO\" > info\n"
        "cat output\n");
    exec_.api_version = kV1;
    config_.host = "https://example.test:6443";
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    environment_ = {.stdin_is_terminal = [] { return false; }, .stdin_fd = null, .stderr_fd = null};
    null_ = null;
  }
  ~PluginTest() override { close(null_); }

  std::string Script(const std::string& body, const std::string& name = "plugin", mode_t mode = 0700) {
    return folder_.Write(name, "#!/bin/sh\ncd \"$(dirname \"$0\")\" || exit 99\n" + body, mode);
  }
  // Whether the process whose number is in the file has ended.
  bool Gone(const std::string& file) {
    std::ifstream stat("/proc/" + std::to_string(std::stol(folder_.Read(file))) + "/stat");
    std::string text;
    return !std::getline(stat, text) || text.compare(text.rfind(')') + 2, 1, "Z") == 0;
  }
  void Print(const std::string& output) { folder_.Write("output", output); }
  int Runs() {
    const std::string text = folder_.Read("runs");
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }
  std::shared_ptr<CredentialSource> Make() {
    config_.exec = std::make_shared<ExecConfig>(exec_);
    auto made = MakeExecSource(config_, clock_, options_, environment_);
    EXPECT_TRUE(made) << made.error().ToString();
    return made ? *made : nullptr;
  }
  // As a transport does: the header of the next request, or the error.
  static std::string Header(const std::shared_ptr<CredentialSource>& source, const Context& ctx) {
    const Result<Authorization> got = source->Get(ctx);
    return got ? got->header.reveal() : "error: " + got.error().ToString();
  }
  std::string Header(const std::shared_ptr<CredentialSource>& source) { return Header(source, ctx_); }
  // The error of a plugin that is made and asked once.
  Error Failure() {
    const std::shared_ptr<CredentialSource> source = Make();
    const Result<Authorization> got = source->Get(ctx_);
    EXPECT_FALSE(got);
    return got ? Error::Internal("no error") : got.error();
  }

  TestFolder folder_;
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  Context ctx_ = Context::Background(clock_);
  ClientConfig config_;
  ExecConfig exec_;
  CredentialOptions options_;
  ExecEnvironment environment_;
  int null_ = -1;
};

// ---- One call: its input and its answers ----

using Mode = ExecConfig::InteractiveMode;

struct RefreshCase {
  std::string name;
  Mode mode = Mode::kIfAvailable;
  bool stdin_unavailable = false;
  std::string stdin_message;
  bool terminal = false;
  std::string version = kV1beta1;
  std::string output;  // empty: the token "foo-bar"
  int exit_code = 0;
  bool cluster_info = false;
  std::string want_spec = R"({"interactive":false})";
  std::string want_header = "Bearer foo-bar";
  std::string want_error = {};  // empty: none
};

class Contract12ExecRefresh : public PluginTest, public ::testing::WithParamInterface<RefreshCase> {};

TEST_P(Contract12ExecRefresh, Case) {
  const RefreshCase& c = GetParam();
  Script("printf '%s' \"$KUBERNETES_EXEC_INFO\" > info\ncat output\nexit " + std::to_string(c.exit_code));
  exec_.api_version = c.version;
  exec_.interactive_mode = c.mode;
  exec_.stdin_unavailable = c.stdin_unavailable;
  exec_.stdin_unavailable_message = c.stdin_message;
  exec_.provide_cluster_info = c.cluster_info;
  exec_.cluster_extension = Value::Object({{"apiVersion", "group/v1"}, {"kind", "PluginConfig"}, {"audience", "snorlax"}});
  config_.tls.server_name = "bar";
  config_.tls.ca_data = "baz";
  environment_.stdin_is_terminal = [&c] { return c.terminal; };
  Print(c.output.empty() ? TokenAnswer("foo-bar", c.version) : c.output);

  const Result<Authorization> got = Make()->Get(ctx_);
  if (!c.want_error.empty()) {
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().kind(), ErrorKind::kAuth);
    EXPECT_THAT(got.error().ToString(), AllOf(HasSubstr(c.want_error), HasSubstr(exec_.command)));
    return;
  }
  ASSERT_TRUE(got) << got.error().ToString();
  EXPECT_EQ(got->header.reveal(), c.want_header);
  const Value want = Value::Object({{"kind", "ExecCredential"}, {"apiVersion", c.version}, {"spec", ParseJson(c.want_spec).value()}});
  EXPECT_EQ(ParseJson(folder_.Read("info")).value(), want) << folder_.Read("info");
}

std::vector<RefreshCase> RefreshCases() {
  const serve::KeyPair pair = TestPair("plugin");
  const auto beta = [](const Value& status) { return Answer(status, kV1beta1); };
  const std::string interactive = R"({"interactive":true})";
  return {
      {.name = "BetaWithTlsCredentials",
       .output = beta(Value::Object({{"clientCertificateData", pair.certificate_pem}, {"clientKeyData", pair.key_pem}})),
       .want_header = ""},
      {.name = "BetaWithBadTlsCredentials",
       .output = beta(Value::Object({{"clientCertificateData", "foo"}, {"clientKeyData", "bar"}})),
       .want_error = "holds no PEM certificate"},
      {.name = "BetaCertificateWithoutKey",
       .output = beta(Value::Object({{"clientCertificateData", pair.certificate_pem}})),
       .want_error = "no status.clientKeyData"},
      {.name = "BetaKeyWithoutCertificate",
       .output = beta(Value::Object({{"clientKeyData", pair.key_pem}, {"token", "t"}})),
       .want_error = "no status.clientCertificateData"},
      {.name = "BetaBasicRequest"},
      {.name = "BetaNeverInteractive", .mode = Mode::kNever},
      {.name = "BetaNeverInteractiveWithTerminal", .mode = Mode::kNever, .terminal = true},
      {.name = "BetaNeverInteractiveAndStdinUnavailable", .mode = Mode::kNever, .stdin_unavailable = true},
      {.name = "BetaIfAvailable"},
      {.name = "BetaIfAvailableAndStdinUnavailable", .stdin_unavailable = true},
      {.name = "BetaIfAvailableAndTerminal", .terminal = true, .want_spec = interactive},
      {.name = "BetaIfAvailableAndTerminalAndStdinUnavailable", .stdin_unavailable = true, .terminal = true},
      {.name = "BetaAlwaysWithoutTerminal", .mode = Mode::kAlways, .want_error = "standard input is not a terminal"},
      {.name = "BetaAlwaysAndTerminalAndStdinUnavailable",
       .mode = Mode::kAlways,
       .stdin_unavailable = true,
       .terminal = true,
       .want_error = "standard input is unavailable"},
      {.name = "BetaAlwaysAndTerminalAndStdinUnavailableWithMessage",
       .mode = Mode::kAlways,
       .stdin_unavailable = true,
       .stdin_message = "used by -f -",
       .terminal = true,
       .want_error = "standard input is unavailable: used by -f -"},
      {.name = "BetaAlwaysAndTerminal", .mode = Mode::kAlways, .terminal = true, .want_spec = interactive},
      {.name = "BetaUnsetIsIfAvailable", .mode = Mode::kUnset, .terminal = true, .want_spec = interactive},
      {.name = "BetaExpiry", .output = TokenAnswer("foo-bar", "2006-01-02T15:04:05Z", kV1beta1)},
      {.name = "BetaWithoutVersion",
       .output = R"({"kind":"ExecCredential","status":{"token":"foo-bar"}})",
       .want_error = "its output has none"},
      {.name = "BetaAnsweredAsV1", .output = TokenAnswer("foo-bar", kV1), .want_error = "its output has client.authentication.k8s.io/v1;"},
      {.name = "BetaWithoutStatus",
       .output = R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1"})",
       .want_error = "no status"},
      {.name = "BetaWithoutToken", .output = beta(Value::Object()), .want_error = "neither status.token nor"},
      {.name = "BinaryFails", .exit_code = 73, .want_error = "exit code 73"},
      {.name = "BetaWithClusterInfo",
       .cluster_info = true,
       .want_spec = R"({"interactive":false,"cluster":{"server":"https://example.test:6443","tls-server-name":"bar",
                        "certificate-authority-data":"YmF6","config":{"apiVersion":"group/v1","kind":"PluginConfig","audience":"snorlax"}}})"},
      {.name = "BetaWithoutClusterInfo"},
      {.name = "V1BasicRequest", .version = kV1},
      {.name = "V1AnsweredAsBeta", .version = kV1, .output = TokenAnswer("foo-bar", kV1beta1), .want_error = "its output has client.auth"},
      {.name = "V1WithoutInteractiveMode", .mode = Mode::kUnset, .version = kV1, .want_error = "interactiveMode"},
  };
}
INSTANTIATE_TEST_SUITE_P(All, Contract12ExecRefresh, ::testing::ValuesIn(RefreshCases()),
                         [](const ::testing::TestParamInfo<RefreshCase>& c) { return c.param.name; });

// ---- Many calls: what is kept, and how long ----

using Contract12Exec = PluginTest;

TEST_F(Contract12Exec, RejectedTokenIsReplacedByTheNextRequest) {
  const std::shared_ptr<CredentialSource> source = Make();
  std::string accepted = "Bearer token1";
  const auto request = [&] {
    const Authorization used = source->Get(ctx_).value();
    if (used.header.reveal() == accepted) return 200;
    source->Rejected(used);
    return 401;
  };
  Print(TokenAnswer("token1"));
  EXPECT_EQ(request(), 200);
  Print(TokenAnswer("token2"));
  EXPECT_EQ(request(), 200);  // kept
  accepted = "Bearer token2";
  EXPECT_EQ(request(), 401);
  EXPECT_EQ(request(), 200);
  Print(TokenAnswer("token3", "2020-01-01T01:00:00Z", kV1));
  accepted = "Bearer token3";
  EXPECT_EQ(request(), 401);
  EXPECT_EQ(request(), 200);
  clock_->Advance(hours(2));
  Print(TokenAnswer("token4", "2020-01-01T03:00:00Z", kV1));
  accepted = "Bearer token4";
  EXPECT_EQ(request(), 200);  // by its end, without a 401
  EXPECT_EQ(Runs(), 4);
}

TEST_F(Contract12Exec, RejectionOfAnOlderCredentialDoesNothing) {
  const std::shared_ptr<CredentialSource> source = Make();
  Print(TokenAnswer("token1"));
  const Authorization first = source->Get(ctx_).value();
  Print(TokenAnswer("token2"));
  source->Rejected(first);
  EXPECT_EQ(Header(source), "Bearer token2");
  Print(TokenAnswer("token3"));
  source->Rejected(first);  // of requests that were under way meanwhile
  source->Rejected(first);
  EXPECT_EQ(Header(source), "Bearer token2");
  EXPECT_EQ(Runs(), 2);
}

TEST_F(Contract12Exec, FailedRefreshAfterA401KeepsTheOldCredential) {
  const ProcessLog log;
  const std::shared_ptr<CredentialSource> source = Make();
  Print(TokenAnswer("token1", "2020-01-01T01:00:00Z", kV1));
  source->Rejected(source->Get(ctx_).value());
  Print("rubbish");
  EXPECT_EQ(Header(source), "Bearer token1");
  EXPECT_EQ(Header(source), "Bearer token1");
  EXPECT_EQ(Runs(), 2);  // once for each 401
  EXPECT_THAT(log.text(), AllOf(HasSubstr("after a 401"), Not(HasSubstr("rubbish"))));
  clock_->Advance(hours(2));
  EXPECT_THAT(Header(source), HasSubstr("error: "));  // now there is nothing to go on with
}

TEST_F(Contract12Exec, IsKeptUntilTheVeryEndAndNotLonger) {
  const std::shared_ptr<CredentialSource> source = Make();
  Print(TokenAnswer("token1", "2020-01-01T01:00:00Z", kV1));
  EXPECT_EQ(Header(source), "Bearer token1");
  Print(TokenAnswer("token2"));
  clock_->Advance(hours(1));
  EXPECT_EQ(Header(source), "Bearer token1");
  clock_->Advance(seconds(1));
  EXPECT_EQ(Header(source), "Bearer token2");
  clock_->Advance(hours(24 * 3650));  // it never expires
  EXPECT_EQ(Header(source), "Bearer token2");
  EXPECT_EQ(Runs(), 2);
}

TEST_F(Contract12Exec, CertificateChangesAfterItsEnd) {
  const serve::KeyPair a = TestPair("a");
  const serve::KeyPair b = TestPair("b");
  const std::shared_ptr<CredentialSource> source = Make();
  const std::shared_ptr<TlsSource> tls = MakeTlsSource(config_, source, clock_).value();
  EXPECT_EQ(tls->Current()->certificate, nullptr);
  const std::uint64_t before = tls->Current()->generation;

  Print(PairAnswer(a, "2020-01-01T01:00:00Z"));
  EXPECT_EQ(Header(source), "");
  const auto with_a = tls->Current();
  ASSERT_NE(with_a->certificate, nullptr);
  EXPECT_EQ(with_a->certificate->certificate_pem, a.certificate_pem);
  EXPECT_EQ(with_a->certificate->key_pem.reveal(), a.key_pem);
  EXPECT_GT(with_a->generation, before);

  clock_->Advance(hours(2));
  Print(PairAnswer(a, "2020-01-01T03:00:00Z"));
  EXPECT_EQ(Header(source), "");
  EXPECT_EQ(tls->Current(), with_a);  // the same certificate again: no connection is closed

  clock_->Advance(hours(2));
  Print(PairAnswer(b));
  EXPECT_EQ(Header(source), "");
  EXPECT_EQ(tls->Current()->certificate->certificate_pem, b.certificate_pem);
  EXPECT_EQ(tls->Current()->generation, with_a->generation + 1);
  EXPECT_EQ(tls->Current()->ca_generation, with_a->ca_generation);
  EXPECT_EQ(Runs(), 3);
}

TEST_F(Contract12Exec, CertificateOfTheConfigCountsMoreThanThePlugins) {
  const serve::KeyPair mine = TestPair("mine");
  Print(PairAnswer(TestPair("plugin")));
  const std::shared_ptr<CredentialSource> source = Make();
  EXPECT_EQ(Header(source), "");
  config_.tls.certificate_data = mine.certificate_pem;
  config_.tls.key_data = SecretString(mine.key_pem);
  EXPECT_EQ(MakeTlsSource(config_, source, clock_).value()->Current()->certificate->certificate_pem, mine.certificate_pem);
}

TEST_F(Contract12Exec, OneRunServesAllWhoWait) {
  Script("echo run >> runs\nwhile [ ! -e go ]; do sleep 0.01; done\ncat output");
  Print(TokenAnswer("shared"));
  const std::shared_ptr<CredentialSource> source = Make();
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back([&] { good += Header(source, ctx_) == "Bearer shared" ? 1 : 0; });
  EXPECT_TRUE(Eventually([&] { return folder_.Exists("runs"); }));
  folder_.Write("go", "");
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 8);
  EXPECT_EQ(Runs(), 1);
}

TEST_F(Contract12Exec, WhoWaitsForAnotherCallersRunStopsWithItsOwnContext) {
  Script("echo run >> runs\nwhile [ ! -e go ]; do sleep 0.01; done\ncat output");
  Print(TokenAnswer("slow"));
  const std::shared_ptr<CredentialSource> source = Make();
  std::thread first([&] { EXPECT_EQ(Header(source, ctx_), "Bearer slow"); });
  EXPECT_TRUE(Eventually([&] { return folder_.Exists("runs"); }));
  const Result<Authorization> second = source->Get(Context::Background().WithTimeout(std::chrono::milliseconds(20)));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind(), ErrorKind::kTimeout);
  EXPECT_THAT(second.error().ToString(), HasSubstr(exec_.command));
  folder_.Write("go", "");
  first.join();
}

TEST_F(Contract12Exec, CallerThatGivesUpLeavesTheWorkToTheNext) {
  Script("echo $$ >> runs\n[ -e go ] || sleep 1000\ncat output");
  Print(TokenAnswer("second"));
  const std::shared_ptr<CredentialSource> source = Make();
  auto [ctx, cancel] = ctx_.WithCancel();
  std::thread first([&, &stop_ctx = ctx] {
    const Result<Authorization> got = source->Get(stop_ctx);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().kind(), ErrorKind::kCancelled);
  });
  EXPECT_TRUE(Eventually([&] { return Runs() == 1; }));
  const pid_t pid = static_cast<pid_t>(std::stol(folder_.Read("runs")));
  folder_.Write("go", "");
  std::thread second([&] { EXPECT_EQ(Header(source, ctx_), "Bearer second"); });
  cancel.Cancel();
  first.join();
  second.join();
  EXPECT_EQ(kill(pid, 0), -1);  // it did not go on alone
  EXPECT_EQ(Runs(), 2);
}

TEST_F(Contract12Exec, InstallHintComesAtMostTenTimesAnHour) {
  exec_.command = "no-such-plugin-anywhere";
  exec_.install_hint = "get it from the shop";
  const std::shared_ptr<CredentialSource> source = Make();
  const auto hints = [&](int calls) {
    int seen = 0;
    for (int i = 0; i < calls; ++i) {
      const std::string error = Header(source);
      EXPECT_THAT(error, HasSubstr("exec plugin \"no-such-plugin-anywhere\": not found in $PATH"));
      seen += error.find("get it from the shop") != std::string::npos ? 1 : 0;
    }
    return seen;
  };
  EXPECT_EQ(hints(25), 10);
  clock_->Advance(minutes(59));
  EXPECT_EQ(hints(3), 0);
  clock_->Advance(minutes(1));
  EXPECT_EQ(hints(25), 10);
}

TEST_F(Contract12Exec, IdenticalConfigsShareOneSource) {
  const auto make = [&](const std::function<void(ExecConfig&, ClientConfig&)>& change) {
    ExecConfig exec = exec_;
    ClientConfig config = config_;
    change(exec, config);
    config.exec = std::make_shared<ExecConfig>(exec);
    return MakeCredentials(config, clock_).value();
  };
  const std::shared_ptr<CredentialSource> base = make([](ExecConfig&, ClientConfig&) {});
  EXPECT_EQ(make([](ExecConfig&, ClientConfig&) {}), base);
  // What the plugin is not told makes no difference.
  EXPECT_EQ(make([](ExecConfig&, ClientConfig& config) { config.host = "https://other.test"; }), base);
  EXPECT_NE(make([](ExecConfig& exec, ClientConfig&) { exec.args = {"x"}; }), base);
  EXPECT_NE(make([](ExecConfig& exec, ClientConfig&) { exec.env = {{"a", "b"}}; }), base);
  EXPECT_NE(make([](ExecConfig& exec, ClientConfig&) { exec.api_version = kV1beta1; }), base);
  EXPECT_NE(make([](ExecConfig& exec, ClientConfig&) { exec.stdin_unavailable = true; }), base);
  EXPECT_NE(make([](ExecConfig& exec, ClientConfig&) { exec.command += "x"; }), base);
  const auto told = make([](ExecConfig& exec, ClientConfig&) { exec.provide_cluster_info = true; });
  EXPECT_NE(told, base);
  EXPECT_NE(make([](ExecConfig& exec, ClientConfig& config) {
              exec.provide_cluster_info = true;
              config.host = "https://other.test";
            }),
            told);
  // Not one list of words: {"a", "b"} is not {"a b"}.
  EXPECT_NE(make([](ExecConfig& exec, ClientConfig&) {
              exec.args = {"a", "b"};
            }),
            make([](ExecConfig& exec, ClientConfig&) { exec.args = {"a b"}; }));
}

TEST_F(Contract12Exec, SharedSourceOutlivesItsFirstClient) {
  Print(TokenAnswer("kept"));
  config_.exec = std::make_shared<ExecConfig>(exec_);
  EXPECT_EQ(Header(MakeCredentials(config_, clock_).value()), "Bearer kept");
  EXPECT_EQ(Header(MakeCredentials(config_, clock_).value()), "Bearer kept");
  EXPECT_EQ(Runs(), 1);
}

TEST_F(Contract12Exec, OtherCredentialsKeepThePluginFromBeingRun) {
  Print(TokenAnswer("plugin"));
  config_.exec = std::make_shared<ExecConfig>(exec_);
  ClientConfig token = config_;
  token.token = SecretString("mine");
  EXPECT_EQ(Header(MakeCredentials(token, clock_).value()), "Bearer mine");
  ClientConfig file = config_;
  file.token_file = folder_.Write("token", "from-file\n");
  EXPECT_EQ(Header(MakeCredentials(file, clock_).value()), "Bearer from-file");
  ClientConfig basic = config_;
  basic.username = "admin";
  EXPECT_EQ(Header(MakeCredentials(basic, clock_).value()), "Basic YWRtaW46");
  const serve::KeyPair pair = TestPair("mine");
  ClientConfig certificate = config_;
  certificate.tls.certificate_data = pair.certificate_pem;
  certificate.tls.key_data = SecretString(pair.key_pem);
  EXPECT_EQ(Header(MakeCredentials(certificate, clock_).value()), "");
  EXPECT_EQ(Runs(), 0);
  EXPECT_EQ(Header(MakeCredentials(config_, clock_).value()), "Bearer plugin");
}

// ---- What the plugin sees ----

TEST_F(Contract12Exec, PluginGetsArgumentsAndVariables) {
  Script("printf '{\"kind\":\"ExecCredential\",\"apiVersion\":\"%s\",\"status\":{\"token\":\"%s\"}}' " + std::string(kV1) +
         " \"$1-$2-$KUBEXX_A-$KUBEXX_B-${HOME:+home}\"");
  exec_.args = {"one", "two words"};
  exec_.env = {{"KUBEXX_A", "first"}, {"KUBEXX_B", "b"}, {"KUBEXX_A", "last"}};
  exec_.args[1] = "two";
  setenv("HOME", "/", 0);
  EXPECT_EQ(Header(Make()), "Bearer one-two-last-b-home");
}

TEST_F(Contract12Exec, InteractivePluginReadsStandardInput) {
  Script("read -r line\nprintf '{\"kind\":\"ExecCredential\",\"apiVersion\":\"%s\",\"status\":{\"token\":\"got-%s\"}}' " +
         std::string(kV1) + " \"$line\"");
  for (const bool terminal : {true, false}) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    ASSERT_EQ(write(ends[1], "typed\n", 6), 6);
    close(ends[1]);
    environment_.stdin_fd = ends[0];
    environment_.stdin_is_terminal = [terminal] { return terminal; };
    EXPECT_EQ(Header(Make()), terminal ? "Bearer got-typed" : "Bearer got-");
    close(ends[0]);
  }
}

TEST_F(Contract12Exec, StandardErrorIsPassedThrough) {
  Script("echo 'please visit https://login.test' >&2\ncat output");
  Print(TokenAnswer("t"));
  const int file = open(folder_.At("stderr").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  environment_.stderr_fd = file;
  EXPECT_EQ(Header(Make()), "Bearer t");
  close(file);
  EXPECT_EQ(folder_.Read("stderr"), "please visit https://login.test\n");
}

TEST_F(Contract12Exec, CommandIsFoundThroughPath) {
  Print(TokenAnswer("found"));
  const std::string old_path = getenv("PATH");
  exec_.command = "plugin";
  setenv("PATH", (folder_.At("missing") + ":.::" + folder_.path() + ":" + old_path).c_str(), 1);
  EXPECT_EQ(Header(Make()), "Bearer found");
  setenv("PATH", ("." + old_path).c_str(), 1);  // relative parts are never looked at
  EXPECT_THAT(Header(Make()), HasSubstr("not found"));
  setenv("PATH", old_path.c_str(), 1);
  chmod(folder_.At("plugin").c_str(), 0600);
  setenv("PATH", (folder_.path() + ":" + old_path).c_str(), 1);
  EXPECT_THAT(Header(Make()), HasSubstr("not found"));
  setenv("PATH", old_path.c_str(), 1);
}

// ---- Plugins that fail ----

class ExecFaultTest : public PluginTest {
 protected:
  // kAuth, names the command, and does not repeat what it printed.
  void ExpectFault(const std::string& what) {
    const Error error = Failure();
    EXPECT_EQ(error.kind(), ErrorKind::kAuth) << error.ToString();
    EXPECT_THAT(error.ToString(), AllOf(HasSubstr("exec plugin \"" + exec_.command), HasSubstr(what), Not(HasSubstr("hunter2"))));
  }
};

TEST_F(ExecFaultTest, RubbishIsNotRepeated) {
  for (const char* text :
       {"hunter2", "{\"token\": \"hunter2\"", "[\"hunter2\"]", "Error: hunter2", "\x01\xff hunter2", "hunter2: &a [*a]"}) {
    Print(text);
    ExpectFault("");
  }
  Print("hunter2");
  ExpectFault("the 7 bytes that it printed are not an ExecCredential in JSON");
  Print("");
  ExpectFault("it printed nothing");
  Print(" \n");
  ExpectFault("it printed nothing");
  Print(R"({"kind":"hunter2","apiVersion":"hunter2"})");
  ExpectFault("of the kind ExecCredential");
  Print(TokenAnswer("t", "hunter2"));
  ExpectFault("its output has another");
  Print(Answer(Value::Object({{"token", "hunter2\r\nX-Evil: 1"}})));
  ExpectFault("characters that a header cannot have");
  Print(Answer(Value::Object({{"token", 7}})));
  ExpectFault("status.token of its output has to be a string");
  Print(Answer(Value::Object({{"token", "t"}, {"expirationTimestamp", "hunter2"}})));
  ExpectFault("status.expirationTimestamp");
}

TEST_F(ExecFaultTest, KeyOfAnotherCertificate) {
  serve::KeyPair pair = TestPair("a");
  pair.key_pem = TestPair("b").key_pem;
  Print(PairAnswer(pair));
  ExpectFault("does not belong to the certificate");
}

TEST_F(ExecFaultTest, TooMuchOutputIsCutOff) {
  Script("while :; do echo hunter2hunter2hunter2hunter2hunter2hunter2; done");
  ExpectFault("more than 1048576 bytes");
}

TEST_F(ExecFaultTest, EndsBySignal) {
  Script("echo hunter2; kill -9 $$");
  ExpectFault("killed by signal 9");
}

TEST_F(ExecFaultTest, MissingFile) {
  exec_.command = folder_.At("nothing");
  exec_.install_hint = "make it";
  ExpectFault("make it");
}

TEST_F(ExecFaultTest, FileThatIsNotExecutable) {
  Script("true", "plugin", 0600);
  ExpectFault("it has to be an executable file");
  folder_.Write("plugin", "echo no first line\n", 0700);
  ExpectFault("#!/bin/sh");
  exec_.command = folder_.path();
  ExpectFault("it has to be an executable file");
}

TEST_F(ExecFaultTest, HangingPluginIsKilledAfterFiveMinutes) {
  Script("sleep 1000 & echo $! > pid.part; mv pid.part pid; wait");
  const std::shared_ptr<CredentialSource> source = Make();
  std::string error;
  std::thread caller([&] { error = Header(source, ctx_); });
  EXPECT_TRUE(Eventually([&] { return folder_.Exists("pid"); }));
  clock_->Advance(kExecTimeLimit);
  caller.join();
  EXPECT_THAT(error, AllOf(HasSubstr("did not end within 5m0s"), HasSubstr("run it by hand")));
  EXPECT_TRUE(Eventually([&] { return Gone("pid"); }));  // and so is what it started
}

TEST_F(ExecFaultTest, HangingPluginEndsWithTheContext) {
  Script("exec 1>&-; sleep 1000 & echo $! > pid.part; mv pid.part pid; wait");  // not even its output ends
  const std::shared_ptr<CredentialSource> source = Make();
  auto [ctx, cancel] = ctx_.WithCancel();
  std::thread caller([&, &stop_ctx = ctx] {
    const Result<Authorization> got = source->Get(stop_ctx);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().kind(), ErrorKind::kCancelled);
    EXPECT_THAT(got.error().ToString(), HasSubstr(exec_.command));
  });
  EXPECT_TRUE(Eventually([&] { return folder_.Exists("pid"); }));
  cancel.Cancel();
  caller.join();
  EXPECT_TRUE(Eventually([&] { return Gone("pid"); }));  // and so is what it started
}

TEST_F(ExecFaultTest, WhatAPluginLeavesRunningDoesNotHoldUsUp) {
  Print(TokenAnswer("t"));
  Script("sleep 1000 & echo $! > pid\ncat output");  // the sleep has the pipe too
  EXPECT_EQ(Header(Make()), "Bearer t");
  environment_.stdin_is_terminal = [] { return true; };  // in our own process group: no signal reaches it
  EXPECT_EQ(Header(Make()), "Bearer t");
  kill(static_cast<pid_t>(std::stol(folder_.Read("pid"))), SIGKILL);
}

TEST_F(ExecFaultTest, StoppedContextRunsNothing) {
  auto [ctx, cancel] = ctx_.WithCancel();
  cancel.Cancel();
  EXPECT_THAT(Header(Make(), ctx), HasSubstr("error: "));
  EXPECT_EQ(Runs(), 0);
}

TEST_F(ExecFaultTest, ConfigThatCannotWork) {
  const auto problem = [&] {
    config_.exec = std::make_shared<ExecConfig>(exec_);
    const auto made = MakeCredentials(config_, clock_);
    EXPECT_FALSE(made);
    if (made) return std::string();
    EXPECT_EQ(made.error().kind(), ErrorKind::kConfig);
    return made.error().ToString();
  };
  exec_.api_version = "client.authentication.k8s.io/v1alpha1";
  EXPECT_THAT(problem(), HasSubstr("v1alpha1"));
  exec_.api_version = kV1;
  exec_.env = {{"A=B", "c"}};
  EXPECT_THAT(problem(), HasSubstr("A=B"));
  exec_.env.clear();
  exec_.provide_cluster_info = true;
  config_.tls.ca_file = folder_.At("no-ca");
  EXPECT_THAT(problem(), HasSubstr("no-ca"));
  exec_.provide_cluster_info = false;
  config_.auth_provider = std::make_shared<AuthProviderConfig>(AuthProviderConfig{.name = "oidc"});
  EXPECT_THAT(problem(), HasSubstr("exclude each other"));
  config_.auth_provider = nullptr;
  exec_.command = "";
  EXPECT_THAT(problem(), HasSubstr("command"));
}

// ---- Policy ----

using Contract12ExecPolicy = PluginTest;

TEST_F(Contract12ExecPolicy, DenyAllRunsNothing) {
  Print(TokenAnswer("t"));
  options_.exec_policy = {.mode = ExecPolicy::Mode::kDenyAll};
  EXPECT_THAT(Header(Make()), HasSubstr("may not be run"));
  EXPECT_EQ(Runs(), 0);
}

TEST_F(Contract12ExecPolicy, AllowlistMatchesTheCommandOrItsPath) {
  Print(TokenAnswer("t"));
  const std::string path = exec_.command;
  const std::string old_path = getenv("PATH");
  setenv("PATH", (folder_.path() + ":" + old_path).c_str(), 1);
  options_.exec_policy.mode = ExecPolicy::Mode::kAllowlist;
  for (const std::string& command : {path, std::string("plugin")}) {
    exec_.command = command;
    for (const std::string& entry : {path, std::string("plugin")}) {
      options_.exec_policy.allowlist = {"foo", entry, "bar"};
      EXPECT_EQ(Header(Make()), "Bearer t") << command << " " << entry;
    }
    for (const std::string& entry : {std::string("/elsewhere/plugin"), std::string("other"), path + "2"}) {
      options_.exec_policy.allowlist = {entry};
      EXPECT_THAT(Header(Make()), HasSubstr("not in this program's list")) << command << " " << entry;
    }
  }
  EXPECT_EQ(Runs(), 4);
  exec_.command = "missing-plugin";
  options_.exec_policy.allowlist = {"missing-plugin"};
  EXPECT_THAT(Header(Make()), HasSubstr("not found"));
  setenv("PATH", old_path.c_str(), 1);
}

TEST_F(Contract12ExecPolicy, ContradictionsFailClosed) {
  using List = std::optional<std::vector<std::string>>;
  const auto good = [](ExecPolicy::Mode mode, const List& list) { return CheckExecPolicy({.mode = mode, .allowlist = list}).ok(); };
  EXPECT_TRUE(good(ExecPolicy::Mode::kAllowAll, {}));
  EXPECT_TRUE(good(ExecPolicy::Mode::kDenyAll, {}));
  EXPECT_FALSE(good(ExecPolicy::Mode::kAllowAll, List({"x"})));
  EXPECT_FALSE(good(ExecPolicy::Mode::kAllowAll, List(std::vector<std::string>())));
  EXPECT_FALSE(good(ExecPolicy::Mode::kDenyAll, List({"x"})));
  EXPECT_FALSE(good(ExecPolicy::Mode::kAllowlist, {}));
  EXPECT_FALSE(good(ExecPolicy::Mode::kAllowlist, List(std::vector<std::string>())));
  EXPECT_FALSE(good(ExecPolicy::Mode::kAllowlist, List({"x", ""})));
  EXPECT_FALSE(good(ExecPolicy::Mode::kAllowlist, List({"/a/../b"})));
  EXPECT_TRUE(good(ExecPolicy::Mode::kAllowlist, List({"/b", "c"})));
  EXPECT_FALSE(good(static_cast<ExecPolicy::Mode>(7), {}));
  config_.exec = std::make_shared<ExecConfig>(exec_);
  options_.exec_policy.allowlist = {"x"};
  EXPECT_EQ(MakeCredentials(config_, clock_, options_).error().kind(), ErrorKind::kConfig);
}

// ---- Metrics ----

using Contract20ExecMetrics = PluginTest;

TEST_F(Contract20ExecMetrics, CallsAreCountedByCodeAndStatus) {
  const auto metrics = std::make_shared<RecordedMetrics>();
  options_.metrics = metrics;
  const auto calls = [&](const char* code, const char* status) {
    return metrics->Value("rest_client_exec_plugin_call_total", {{"code", code}, {"call_status", status}});
  };
  Print(TokenAnswer("t"));
  Header(Make());
  EXPECT_EQ(calls("0", "no_error"), 1);
  Script("exit 42");
  Header(Make());
  EXPECT_EQ(calls("42", "plugin_execution_error"), 1);
  exec_.command = "no-such-plugin-anywhere";
  Header(Make());
  EXPECT_EQ(calls("1", "plugin_not_found_error"), 1);
  const auto policy = [&](const char* status) { return metrics->Value("rest_client_exec_plugin_policy_call_total", {{"status", status}}); };
  EXPECT_EQ(policy("allowed"), 3);
  options_.exec_policy.mode = ExecPolicy::Mode::kDenyAll;
  Header(Make());
  EXPECT_EQ(policy("denied"), 1);
}

TEST_F(Contract20ExecMetrics, TtlIsTheEarliestEndOfAnyPluginsCertificate) {
  const auto metrics = std::make_shared<RecordedMetrics>();
  options_.metrics = metrics;
  const auto ttl = [&] { return metrics->Value("rest_client_exec_plugin_ttl_seconds"); };
  const auto start = clock_->WallNow();
  Print(TokenAnswer("t"));
  auto token = Make();
  Header(token);
  EXPECT_EQ(ttl(), std::numeric_limits<double>::infinity());
  Print(PairAnswer(TestPair("long", {.not_before = start, .lifetime = hours(10)})));
  auto long_lived = Make();
  Header(long_lived);
  EXPECT_EQ(ttl(), 36000);
  Print(PairAnswer(TestPair("short", {.not_before = start, .lifetime = hours(1)})));
  auto short_lived = Make();
  Header(short_lived);
  EXPECT_EQ(ttl(), 3600);
  short_lived = nullptr;
  Print(PairAnswer(TestPair("long2", {.not_before = start, .lifetime = hours(20)})));
  auto another = Make();
  Header(another);
  EXPECT_EQ(ttl(), 36000);
}

TEST_F(Contract20ExecMetrics, RotationAgeIsHowOldTheReplacedCertificateWas) {
  const auto metrics = std::make_shared<RecordedMetrics>();
  options_.metrics = metrics;
  const auto source = Make();
  Print(PairAnswer(TestPair("a", {.not_before = clock_->WallNow() - hours(1)}), "2020-01-01T00:30:00Z"));
  Header(source);
  EXPECT_EQ(metrics->Count("rest_client_exec_plugin_certificate_rotation_age"), 0U);
  clock_->Advance(hours(1));
  Print(PairAnswer(TestPair("b")));
  Header(source);
  EXPECT_EQ(metrics->Count("rest_client_exec_plugin_certificate_rotation_age"), 1U);
  EXPECT_EQ(metrics->Value("rest_client_exec_plugin_certificate_rotation_age"), 7200);
}

}  // namespace
}  // namespace kube::internal
