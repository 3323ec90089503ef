#include "kube/control/manager_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>

#include "kube/api/core/v1.h"
#include "kube/base/log.h"
#include "kube/control/main.h"

namespace kube {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

ManagerFlags Parsed(const std::vector<std::string>& arguments) {
  ManagerFlags flags("test");
  flags.SetEnvironment({});
  if (const Result<void> parsed = flags.Parse(arguments); !parsed) ADD_FAILURE() << parsed.error().ToString();
  return flags;
}

std::string ErrorOf(const std::vector<std::string>& arguments) {
  ManagerFlags flags("test");
  flags.SetEnvironment({});
  const Result<void> parsed = flags.Parse(arguments);
  if (parsed) return "ok";
  EXPECT_TRUE(IsUsageError(parsed.error()));
  return parsed.error().ToString();
}

TEST(ManagerFlagsTest, DefaultsAreKubebuilders) {
  const ManagerFlags flags = Parsed({});
  EXPECT_FALSE(flags.options.leader_election);
  EXPECT_EQ(flags.options.metrics_bind_address, "0");
  EXPECT_EQ(flags.options.health_probe_bind_address, ":8081");
  EXPECT_TRUE(flags.options.metrics_secure);
  EXPECT_TRUE(flags.options.metrics_authorization);
  EXPECT_EQ(flags.options.preflight, Preflight::kWarn);
  EXPECT_EQ(flags.options.informers.ns, "");
  EXPECT_FALSE(flags.options.print_rbac);
}

TEST(ManagerFlagsTest, LeaderElection) {
  const ManagerFlags flags =
      Parsed({"--leader-elect", "--leader-elect-lease-name=l", "--leader-elect-lease-namespace", "ops", "--leader-elect-lease-duration=30s",
              "--leader-elect-renew-deadline=20s", "--leader-elect-retry-period", "4s"});
  ASSERT_TRUE(flags.options.leader_election);
  const LeaderElectionOptions& election = *flags.options.leader_election;
  EXPECT_EQ(election.name, "l");
  EXPECT_EQ(election.ns, "ops");
  EXPECT_EQ(election.lease_duration, seconds(30));
  EXPECT_EQ(election.renew_deadline, seconds(20));
  EXPECT_EQ(election.retry_period, seconds(4));
  EXPECT_EQ(Parsed({"--leader-elect"}).options.leader_election->name, "test");
  EXPECT_FALSE(Parsed({"--leader-elect=false", "--leader-elect-lease-name=l"}).options.leader_election);
  // As the components of Kubernetes and older programs have it.
  EXPECT_EQ(Parsed({"--leader-elect", "--leader-elect-resource-name=r"}).options.leader_election->name, "r");
  EXPECT_EQ(Parsed({"-leader-elect=true", "--leader-election-id=i"}).options.leader_election->name, "i");
}

TEST(ManagerFlagsTest, Servers) {
  const ManagerFlags flags =
      Parsed({"--metrics-bind-address=:8443", "--metrics-cert-path=/certs", "--metrics-cert-name=c.pem", "--metrics-cert-key", "k.pem",
              "--health-probe-bind-address=0", "--log-level-endpoint", "--debug-endpoint=false"});
  EXPECT_EQ(flags.options.metrics_bind_address, ":8443");
  EXPECT_EQ(flags.options.metrics_cert_path, "/certs");
  EXPECT_EQ(flags.options.metrics_cert_name, "c.pem");
  EXPECT_EQ(flags.options.metrics_cert_key, "k.pem");
  EXPECT_EQ(flags.options.health_probe_bind_address, "0");
  EXPECT_TRUE(flags.options.log_level_endpoint);
  EXPECT_FALSE(flags.options.debug_endpoint);
  const ManagerFlags open = Parsed({"--metrics-secure=false"});
  EXPECT_FALSE(open.options.metrics_secure);
  EXPECT_FALSE(open.options.metrics_authorization);
}

TEST(ManagerFlagsTest, Http2AndTls) {
  EXPECT_FALSE(Parsed({}).options.server_limits.http2);
  EXPECT_TRUE(Parsed({"--enable-http2"}).options.server_limits.http2);
  EXPECT_EQ(Parsed({}).options.tls.min_version, "VersionTLS12");
  const ManagerFlags flags =
      Parsed({"--tls-min-version=VersionTLS13", "--tls-cipher-suites", "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384"});
  EXPECT_EQ(flags.options.tls.min_version, "VersionTLS13");
  EXPECT_EQ(flags.options.tls.cipher_suites, (std::vector<std::string>{"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"}));
  for (const char* wrong : {"--tls-min-version=1.2", "--tls-cipher-suites=AES128", "--enable-http2=yes"}) {
    ManagerFlags other("test");
    const auto parsed = other.Parse(std::vector<std::string>{wrong});
    ASSERT_FALSE(parsed) << wrong;
    const std::string flag = std::string(wrong).substr(0, std::string(wrong).find('='));
    EXPECT_EQ(parsed.error().ToString().find(flag + ": "), 0U) << parsed.error().ToString();
  }
}

TEST(ManagerFlagsTest, ShutdownPreflightAndRbac) {
  EXPECT_EQ(Parsed({"--graceful-shutdown-timeout=1m"}).options.graceful_shutdown_timeout, seconds(60));
  EXPECT_EQ(Parsed({"--graceful-shutdown-timeout", "-1s"}).options.graceful_shutdown_timeout, seconds(-1));
  EXPECT_EQ(Parsed({"--preflight=fail"}).options.preflight, Preflight::kFail);
  EXPECT_EQ(Parsed({"--preflight", "skip"}).options.preflight, Preflight::kSkip);
  EXPECT_EQ(Parsed({"--skip-preflight"}).options.preflight, Preflight::kSkip);
  EXPECT_EQ(Parsed({"--preflight=fail", "--skip-preflight"}).options.preflight, Preflight::kSkip);
  EXPECT_EQ(Parsed({"--skip-preflight", "--preflight=fail"}).options.preflight, Preflight::kFail);
  EXPECT_EQ(Parsed({"--skip-preflight=false"}).options.preflight, Preflight::kWarn);
  EXPECT_EQ(Parsed({"--print-rbac"}).options.print_rbac->name, "test");
  EXPECT_EQ(Parsed({"--print-rbac"}).options.print_rbac->service_account, "");
  const ManagerFlags bound = Parsed({"--print-rbac=ops/bot"});
  EXPECT_EQ(bound.options.print_rbac->service_account, "bot");
  EXPECT_EQ(bound.options.print_rbac->service_account_namespace, "ops");
  EXPECT_FALSE(Parsed({"--print-rbac=false"}).options.print_rbac);
  EXPECT_FALSE(Parsed({"--print-rbac"}).options.print_manifests);
  EXPECT_EQ(Parsed({"--print-manifests"}).options.print_manifests->name, "test");
  EXPECT_FALSE(Parsed({"--print-manifests"}).options.print_rbac);
  EXPECT_EQ(Parsed({"--print-manifests=ops/bot"}).options.print_manifests->service_account, "bot");
  EXPECT_FALSE(Parsed({"--print-manifests=false"}).options.print_manifests);
}

TEST(ManagerFlagsTest, TheNamespaceIsTheOneThatIsWatched) {
  const ManagerFlags flags = Parsed({"-n", "shop", "--kubeconfig=/k"});
  EXPECT_EQ(flags.options.informers.ns, "shop");
  EXPECT_EQ(flags.config.options.ns, "shop");
  EXPECT_EQ(flags.config.options.kubeconfig, "/k");
}

TEST(ManagerFlagsTest, UnknownFlagsAndArgumentsAreErrors) {
  EXPECT_EQ(ErrorOf({"--leader-elct"}), "unknown flag --leader-elct (did you mean --leader-elect?)");
  EXPECT_EQ(ErrorOf({"--leader-elect", "true"}), "unexpected argument \"true\"; write --leader-elect=true");
  EXPECT_EQ(ErrorOf({"run"}), "unexpected argument \"run\"");
}

TEST(ManagerFlagsTest, TheProgramsOwnFlagsStandBesideOurs) {
  ManagerFlags flags("greeter");
  std::string text = "Hello";
  int workers = 1;
  flags.Add("text", &text, "what the ConfigMap says");
  flags.Add("workers", &workers, "at once").Range(1, 9);
  flags.SetEnvironment({"GREETER_WORKERS=3", "GREETER_LEADER_ELECT=true"});
  const Result<void> parsed = flags.Parse({"--text=Hi", "-n", "x"});
  ASSERT_TRUE(parsed) << parsed.error().ToString();
  EXPECT_EQ(text, "Hi");
  EXPECT_EQ(workers, 3);
  EXPECT_TRUE(flags.options.leader_election);
  EXPECT_EQ(flags.options.informers.ns, "x");
  EXPECT_THAT(flags.Help(), HasSubstr("\n      --text TEXT "));
  EXPECT_THAT(flags.Help(), HasSubstr("what the ConfigMap says (default Hello)\n"));
}

TEST(ManagerFlagsTest, TheServerDecidesHowFastUnlessTheFlagsDo) {
  const auto config_of = [](std::vector<std::string> arguments) {
    arguments.push_back("--kubeconfig=/dev/null");
    arguments.push_back("--server=http://127.0.0.1:1");
    return Parsed(arguments).NewClient().value().config();
  };
  EXPECT_LT(config_of({}).qps, 0);
  EXPECT_EQ(config_of({"--kube-api-qps=7.5", "--kube-api-burst=9"}).qps, 7.5);
  EXPECT_EQ(config_of({"--kube-api-qps=7.5", "--kube-api-burst=9"}).burst, 9);
}

TEST(ManagerFlagsTest, BadValuesNameTheFlagAndChangeNothing) {
  EXPECT_EQ(ErrorOf({"--leader-elect=maybe"}), "--leader-elect: expected true or false, not \"maybe\"");
  EXPECT_EQ(ErrorOf({"--leader-elect-lease-name="}), "--leader-elect-lease-name: must not be empty");
  EXPECT_EQ(ErrorOf({"--leader-elect-retry-period=2"}), "--leader-elect-retry-period: expected a time such as 90s, 2m, 1h, not \"2\"");
  EXPECT_EQ(ErrorOf({"--leader-elect-retry-period=0s"}), "--leader-elect-retry-period: must be more than 0");
  EXPECT_EQ(ErrorOf({"--leader-elect", "--leader-elect-renew-deadline=15s"}),
            "--leader-elect-renew-deadline: 15s has to be less than --leader-elect-lease-duration, 15s");
  EXPECT_EQ(ErrorOf({"--leader-elect", "--leader-elect-retry-period=9s"}),
            "--leader-elect-retry-period: 1.2 times 9s has to be less than --leader-elect-renew-deadline, 10s");
  EXPECT_THAT(ErrorOf({"--metrics-bind-address=8080"}), HasSubstr("--metrics-bind-address: \"8080\" is not an address"));
  EXPECT_THAT(ErrorOf({"--health-probe-bind-address=host:port"}),
              HasSubstr("--health-probe-bind-address: \"host:port\" is not an address"));
  EXPECT_EQ(ErrorOf({"--preflight=maybe"}), "--preflight: expected warn, fail or skip, not \"maybe\"");
  EXPECT_EQ(ErrorOf({"--print-rbac=bot"}), "--print-rbac: expected nothing, or NAMESPACE/SERVICEACCOUNT, not \"bot\"");
  EXPECT_EQ(ErrorOf({"--print-manifests=/bot"}), "--print-manifests: expected nothing, or NAMESPACE/SERVICEACCOUNT, not \"/bot\"");
  EXPECT_EQ(ErrorOf({"--kube-api-qps=0"}), "--kube-api-qps: expected requests per second, such as 20, or -1 for no limit, not \"0\"");
  EXPECT_EQ(ErrorOf({"--kube-api-qps=20x"}), "--kube-api-qps: expected requests per second, such as 20, or -1 for no limit, not \"20x\"");
  EXPECT_EQ(ErrorOf({"--kube-api-burst=0"}), "--kube-api-burst: expected a number such as 30, not \"0\"");
  EXPECT_EQ(ErrorOf({"--graceful-shutdown-timeout"}), "--graceful-shutdown-timeout needs a value: TIME");
  EXPECT_EQ(ErrorOf({"-v=loud"}), "-v: expected a number such as 4, not \"loud\"");
  EXPECT_THAT(ErrorOf({"--log-level=loud"}), HasSubstr("--log-level: "));
  EXPECT_EQ(ErrorOf({"--logging-format=xml"}), "--logging-format: expected text or json, not \"xml\"");
  EXPECT_EQ(ErrorOf({"--kubeconfig"}), "--kubeconfig needs a value: FILE");

  ManagerFlags flags("test");
  EXPECT_FALSE(flags.Parse({"--leader-elect", "--metrics-bind-address=:1", "-n", "x", "--insecure-skip-tls-verify=perhaps"}));
  EXPECT_FALSE(flags.leader_elect);
  EXPECT_FALSE(flags.options.leader_election);
  EXPECT_EQ(flags.options.metrics_bind_address, "0");
  EXPECT_EQ(flags.options.informers.ns, "");
}

TEST(ManagerFlagsTest, LogFlagsCountForTheProcess) {
  const LogSettings before = LogBackend::Default()->settings();
  (void)Parsed({"-v", "3"});
  EXPECT_EQ(LogBackend::Default()->settings().everything, (LogThreshold{LogLevel::kInfo, 3}));
  (void)Parsed({"--log-level=warn,cache=4"});
  EXPECT_EQ(LogBackend::Default()->settings().everything, (LogThreshold{LogLevel::kWarn, 0}));
  EXPECT_EQ(LogBackend::Default()->settings().components.at("cache"), (LogThreshold{LogLevel::kInfo, 4}));
  (void)Parsed({});
  EXPECT_EQ(LogBackend::Default()->settings().everything, (LogThreshold{LogLevel::kWarn, 0}));
  LogBackend::Default()->SetSettings(before);
}

TEST(ManagerFlagsTest, HelpNamesTheFlagsAndThoseOfTheClient) {
  for (const char* flag : {"--help", "-h"}) {
    ManagerFlags flags("test");
    const Result<void> parsed = flags.Parse({flag});
    ASSERT_FALSE(parsed);
    EXPECT_TRUE(IsHelpRequested(parsed.error()));
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(flags.Fail(parsed.error()), 0);
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), flags.Help());
  }
  ManagerFlags flags("test");
  flags.election.retry_period = seconds(3);
  const std::string help = flags.Help();
  EXPECT_THAT(help, HasSubstr("usage: test [flags]\n\nall controllers:\n      --leader-elect "));
  for (const char* line :
       {"  --leader-elect                       work only", "  --leader-elect-lease-name NAME       the Lease (default test)\n",
        "  --metrics-bind-address ADDRESS ", "  --print-rbac[=NAMESPACE/NAME] ", "  --print-manifests[=NAMESPACE/NAME] ",
        "  --kubeconfig FILE ", "  -v N ", "  --metrics-secure ", "between tries (default 3s)\n",
        "on missing permissions at start: warn, fail or skip (default warn)\n", "(default VersionTLS12)\n"})
    EXPECT_THAT(help, HasSubstr(line));
}

TEST(ManagerFlagsTest, PrintRbacNeedsNoKubeconfig) {
  ManagerFlags flags("test");
  flags.config.options.getenv = [](const std::string&) { return std::optional<std::string>(); };
  flags.config.options.allow_in_cluster = false;
  ASSERT_TRUE(flags.Parse(std::vector<std::string>{"--print-rbac", "--leader-elect"}));
  const Result<Client> client = flags.NewClient();
  ASSERT_TRUE(client) << client.error().ToString();
  Manager manager(*client, flags.options);
  ASSERT_TRUE(manager.Add(
      ControllerFor<core::v1::Pod>("pods").Reconcile([](const Context&, const Request&) -> Result<Action> { return Action::Done(); })));
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(flags.Run(manager, Context::Background()), 0);
  const std::string printed = ::testing::internal::GetCapturedStdout();
  EXPECT_THAT(printed, HasSubstr("  - pods\n"));
  EXPECT_THAT(printed, HasSubstr("  - leases\n"));
  EXPECT_THAT(printed, HasSubstr("  name: test\n"));
  // Without it there has to be one.
  ManagerFlags real("test");
  real.config.options = flags.config.options;
  EXPECT_FALSE(real.NewClient());
}

TEST(ManagerFlagsTest, PrintManifestsReadsNoConfigurationAndDependsOnNoCluster) {
  const auto printed = [](const std::vector<std::string>& more) {
    ManagerFlags flags("test");
    flags.SetEnvironment({});
    std::vector<std::string> arguments = {"--print-manifests", "--leader-elect"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_TRUE(flags.Parse(arguments));
    const Result<Client> client = flags.NewClient();
    if (!client) return client.error().ToString();
    Manager manager(*client, flags.options);
    EXPECT_TRUE(manager.Add(
        ControllerFor<core::v1::Pod>("pods").Reconcile([](const Context&, const Request&) -> Result<Action> { return Action::Done(); })));
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(flags.Run(manager, Context::Background()), 0);
    const std::string out = ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(out, manager.ManifestsYaml({.name = "test"}));
    return out;
  };
  const std::string first = printed({});
  EXPECT_THAT(first, HasSubstr("kind: ClusterRole\n"));
  EXPECT_THAT(first, HasSubstr("kind: Role\n"));
  EXPECT_EQ(printed({"--kubeconfig=/nonexistent"}), first);
  EXPECT_EQ(printed({"--server=https://example.invalid", "--token=t"}), first);
}

TEST(ManagerFlagsTest, RunGivesAnExitCodeAndSaysWhy) {
  ManagerFlags flags("test");
  flags.options.health_probe_bind_address = "0";
  flags.config.options.master = "http://127.0.0.1:1";
  flags.config.options.getenv = [](const std::string&) { return std::optional<std::string>(); };
  const Client client = flags.NewClient().value();
  EXPECT_NE(flags.options.metrics, nullptr);
  Manager manager(client, flags.options);
  ASSERT_TRUE(manager.Add(Runnable{.name = "bad", .run = [](const Context&) -> Result<void> { return Error::Internal("no disk"); }}));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(flags.Run(manager, Context::Background()), 1);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("test: bad: no disk\n"));
}

// ---- The whole program

struct Ran {
  int code = -1;
  bool called = false;
  std::string out{}, err{};
};

Ran RunTest(std::vector<const char*> arguments, const std::function<Result<void>(Manager&)>& setup,
            const Context& ctx = Context::Background()) {
  ManagerFlags flags("test");
  flags.options.health_probe_bind_address = "0";
  flags.config.options.getenv = [](const std::string&) { return std::optional<std::string>(); };
  flags.config.options.allow_in_cluster = false;
  arguments.insert(arguments.begin(), "test");
  Ran ran;
  const auto counted = [&](Manager& manager) {
    ran.called = true;
    return setup(manager);
  };
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  ran.code = flags.Run(static_cast<int>(arguments.size()), arguments.data(), counted, ctx);
  ran.out = ::testing::internal::GetCapturedStdout();
  ran.err = ::testing::internal::GetCapturedStderr();
  return ran;
}

constexpr const char* kNoServer = "--master=http://127.0.0.1:1";

TEST(ManagerFlagsRunTest, HelpVersionAndMistakesStartNothing) {
  const auto setup = [](Manager&) -> Result<void> { return Error::Internal("it was started"); };
  const Ran help = RunTest({kNoServer, "--help"}, setup);
  EXPECT_EQ(help.code, 0);
  EXPECT_FALSE(help.called);
  EXPECT_THAT(help.out, HasSubstr("usage: test [flags]\n"));
  const Ran version = RunTest({"--version"}, setup);
  EXPECT_EQ(version.code, 0);
  EXPECT_FALSE(version.called);
  EXPECT_THAT(version.out, HasSubstr("test (kubexx "));
  const Ran unknown = RunTest({kNoServer, "--leader-elct"}, setup);
  EXPECT_EQ(unknown.code, 2);
  EXPECT_FALSE(unknown.called);
  EXPECT_EQ(unknown.err, "test: unknown flag --leader-elct (did you mean --leader-elect?)\nTry 'test --help'.\n");
  const Ran nowhere = RunTest({}, setup);
  EXPECT_EQ(nowhere.code, 1);
  EXPECT_FALSE(nowhere.called);
  EXPECT_THAT(nowhere.err, HasSubstr("test: no configuration: "));
}

TEST(ManagerFlagsRunTest, ErrorsOfTheSetupAndOfTheRunAreExitCodes) {
  const Ran setup = RunTest({kNoServer}, [](Manager&) -> Result<void> { return Error::Internal("no disk"); });
  EXPECT_EQ(setup.code, 1);
  EXPECT_EQ(setup.err, "test: no disk\n");
  const Ran thrown = RunTest({kNoServer}, [](Manager&) -> Result<void> { throw std::runtime_error("boom"); });
  EXPECT_EQ(thrown.code, 1);
  EXPECT_EQ(thrown.err, "test: boom\n");
  const Ran run = RunTest({kNoServer}, [](Manager& manager) {
    return manager.Add(Runnable{.name = "bad", .run = [](const Context&) -> Result<void> { return Error::Internal("no disk"); }});
  });
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("test: bad: no disk\n"));
}

TEST(ManagerFlagsRunTest, TheManagerIsDestroyedBeforeItReturns) {
  struct Seen {
    std::atomic<bool> running{false}, returned{false}, destroyed{false};
  } seen;
  // What the manager holds: it dies with it.
  struct Held {
    explicit Held(Seen& s) : seen(s) {}
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    ~Held() { seen.destroyed = seen.returned.load(); }
    Seen& seen;
  };
  const auto stoppable = Context::Background().WithCancel();
  const auto setup = [&](Manager& manager) {
    const auto run = [held = std::make_shared<Held>(seen), &stoppable](const Context& context) -> Result<void> {
      held->seen.running = true;
      stoppable.second.Cancel();
      context.WaitUntilStopped();
      held->seen.returned = true;
      return {};
    };
    return manager.Add(Runnable{.name = "held", .run = run});
  };
  const Ran ran = RunTest({kNoServer}, setup, stoppable.first);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(seen.running);
  EXPECT_TRUE(seen.destroyed);
}

TEST(ManagerFlagsRunTest, MainIsTheShorthand) {
  const char* argv[] = {"/bin/anything", "--leader-elct"};
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(Main(2, argv, "greeter", [](Manager&) -> Result<void> { return {}; }), 2);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("greeter: unknown flag --leader-elct (did you mean --leader-elect?)\n"));
}

// As a main would: what is asked to stop and does not.
[[noreturn]] void RunSomethingThatHangs() {
  ManagerFlags flags("test");
  flags.options.health_probe_bind_address = "0";
  flags.options.graceful_shutdown_timeout = std::chrono::milliseconds(20);
  flags.config.options.master = "http://127.0.0.1:1";
  flags.config.options.getenv = [](const std::string&) { return std::optional<std::string>(); };
  Manager manager(flags.NewClient().value(), flags.options);
  const auto stoppable = Context::Background().WithCancel();
  const auto hang = [&stoppable](const Context&) -> Result<void> {
    stoppable.second.Cancel();
    Context::Background().WaitUntilStopped();
    return {};
  };
  (void)manager.Add(Runnable{.name = "stuck", .run = hang});
  std::exit(flags.Run(manager, stoppable.first) + 10);  // not reached
}

// The destructors of main would wait for it.
TEST(ManagerFlagsDeathTest, RunLeavesTheProcessWhereSomethingHangs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(RunSomethingThatHangs(), ::testing::ExitedWithCode(1),
              "test: shutdown did not finish within 0.02s, still running: runnable stuck");
}

}  // namespace
}  // namespace kube
