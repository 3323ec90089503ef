#include "kube/control/manager_flags.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "control/manager/manager_servers.h"
#include "kube/base/log.h"
#include "kube/control/main.h"
#include "kube/value/time.h"

namespace kube {
namespace internal {

// Everything that flags may change, so that a failed Parse changes nothing.
struct ManagerFlagState {
  ManagerOptions options;
  LeaderElectionOptions election;
  bool leader_elect = false;
  double qps = -1;
  int burst = 30;
  LoadOptions load;
  std::optional<LogSettings> log{};
  std::string log_format{};
};

}  // namespace internal

namespace {

using State = internal::ManagerFlagState;

using Chrono = std::chrono::nanoseconds;

Result<Chrono> ReadPositive(const std::string& value) {
  Result<Chrono> read = internal::ReadFlagDuration(value);
  if (!read || *read < Chrono(0)) return Error::Invalid("expected a time such as 90s, 2m, 1h, not \"" + value + "\"");
  if (*read == Chrono(0)) return Error::Invalid("must be more than 0");
  return read;
}

Result<std::string> ReadAddress(const std::string& value) {
  if (!internal::BindAddress("", value))
    return Error::Invalid("\"" + value + "\" is not an address: expected \":8080\", \"127.0.0.1:8080\" or \"0\" (none)");
  return value;
}

Result<std::string> ReadNotEmpty(const std::string& value) {
  if (value.empty()) return Error::Invalid("must not be empty");
  return value;
}

Result<double> ReadQps(const std::string& value) {
  Result<double> qps = internal::ReadFlagDouble(value);
  if (!qps || *qps == 0) return Error::Invalid("expected requests per second, such as 20, or -1 for no limit, not \"" + value + "\"");
  return qps;
}

Result<int> ReadBurst(const std::string& value) {
  Result<int> burst = internal::FlagType<int>::Read(value);
  if (!burst || *burst < 1) return Error::Invalid("expected a number such as 30, not \"" + value + "\"");
  return burst;
}

Result<Preflight> ReadPreflight(const std::string& value) {
  if (value == "warn") return Preflight::kWarn;
  if (value == "fail") return Preflight::kFail;
  if (value == "skip") return Preflight::kSkip;
  return Error::Invalid("expected warn, fail or skip, not \"" + value + "\"");
}

std::string_view NameOf(Preflight preflight) {
  return preflight == Preflight::kWarn ? "warn" : preflight == Preflight::kFail ? "fail" : "skip";
}

// Of --print-rbac and --print-manifests.
Result<void> SetPrinted(std::optional<RbacOptions>& printed, const std::string& name, const std::string& value) {
  const Result<bool> wanted = internal::ReadFlagBool(value);
  if (wanted && !*wanted) {
    printed.reset();
    return {};
  }
  RbacOptions rbac{.name = name};
  if (!wanted) {
    const std::size_t slash = value.find('/');
    if (slash == 0 || slash == std::string::npos || slash + 1 == value.size() || value.find('/', slash + 1) != std::string::npos)
      return Error::Invalid("expected nothing, or NAMESPACE/SERVICEACCOUNT, not \"" + value + "\"");
    rbac.service_account_namespace = value.substr(0, slash);
    rbac.service_account = value.substr(slash + 1);
  }
  printed = std::move(rbac);
  return {};
}

Result<void> SetVerbosity(State& state, const std::string& value) {
  const Result<std::int64_t> verbosity = internal::ReadFlagInteger(value, 0, 127);
  if (!verbosity) return Error::Invalid("expected a number such as 4, not \"" + value + "\"");
  if (!state.log) state.log.emplace();
  state.log->everything = {.level = LogLevel::kInfo, .verbosity = static_cast<int>(*verbosity)};
  return {};
}

void AddElectionFlags(FlagSet& flags, State& state) {
  LeaderElectionOptions& election = state.election;
  flags.Add("leader-elect", &state.leader_elect, "work only while this replica holds the lease");
  flags.Add("leader-elect-lease-name", &election.name, &ReadNotEmpty, "the Lease")
      .Value("NAME")
      .Default(election.name)
      .Alias("leader-elect-resource-name")
      .Alias("leader-election-id");
  flags.Add("leader-elect-lease-namespace", &election.ns, &ReadNotEmpty, "its namespace; default: the program's own")
      .Value("NAME")
      .Alias("leader-elect-resource-namespace")
      .Alias("leader-election-namespace");
  const auto add_time = [&](std::string_view name, Chrono* target, std::string_view help) {
    flags.Add(name, target, &ReadPositive, help).Value("TIME").Default(Duration(*target).ToString());
  };
  add_time("leader-elect-lease-duration", &election.lease_duration, "how long other replicas wait for a leader that does not renew");
  add_time("leader-elect-renew-deadline", &election.renew_deadline, "a leader that cannot renew for this long stops leading");
  add_time("leader-elect-retry-period", &election.retry_period, "between tries");
}

void AddServerFlags(FlagSet& flags, State& state) {
  ManagerOptions& options = state.options;
  flags.Add("metrics-bind-address", &options.metrics_bind_address, &ReadAddress, "/metrics and /debug: \":8443\"; \"0\": none")
      .Value("ADDRESS")
      .Default(options.metrics_bind_address);
  const auto set_secure = [&options](const std::string& value) -> Result<void> {
    const Result<bool> secure = internal::ReadFlagBool(value);
    if (!secure) return secure.error();
    options.metrics_secure = options.metrics_authorization = *secure;
    return {};
  };
  flags.Call("metrics-secure", set_secure, "HTTPS there, for users that the cluster authorizes")
      .Value("")
      .ImpliedValue("true")
      .Default(options.metrics_secure ? "true" : "false");
  flags.Add("metrics-cert-path", &options.metrics_cert_path, "folder of its certificate; default: self-signed").Value("FOLDER");
  flags.Add("metrics-cert-name", &options.metrics_cert_name, "in that folder").Value("FILE");
  flags.Add("metrics-cert-key", &options.metrics_cert_key, "in that folder").Value("FILE");
  flags.Add("enable-http2", &options.server_limits.http2, "HTTP/2 on the ports of metrics, health and webhooks");
  flags.Add("tls-min-version", &options.tls.min_version, "VersionTLS12 or VersionTLS13")
      .Value("VERSION")
      .Check([](const std::string& value) { return serve::CheckTlsVersion(value); });
  flags
      .Add("tls-cipher-suites", &options.tls.cipher_suites, &serve::ParseCipherSuites,
           "comma-separated, by Kubernetes' names; default: the secure ones")
      .Value("NAMES");
  flags.Add("debug-endpoint", &options.debug_endpoint, "/debug beside /metrics");
  flags.Add("log-level-endpoint", &options.log_level_endpoint, "/debug/log-level: change the log level at run time");
  flags.Add("health-probe-bind-address", &options.health_probe_bind_address, &ReadAddress, "/healthz and /readyz; \"0\": none")
      .Value("ADDRESS")
      .Default(options.health_probe_bind_address);
}

// Every program has them, as with kubebuilder: whether webhooks are added is not known yet.
void AddWebhookFlags(FlagSet& flags, State& state) {
  WebhookOptions& webhooks = state.options.webhooks;
  flags
      .Add("webhook-name", &webhooks.name, &ReadNotEmpty,
           "name of the webhook configurations; with a suffix, of the Service and the Secret")
      .Value("NAME")
      .Default(webhooks.name);
  flags.Add("webhook-port", &webhooks.port, "port of the webhooks, if the program has any").Range(0, 65535);
  flags.Add("webhook-bind-address", &webhooks.bind_address, "an IP address; default: all").Value("ADDRESS");
  flags.Add("webhook-cert-path", &webhooks.cert_path, "folder of its certificate; default: issued and rotated by the program")
      .Value("FOLDER");
  flags.Add("webhook-cert-name", &webhooks.cert_name, "in that folder").Value("FILE");
  flags.Add("webhook-cert-key", &webhooks.cert_key, "in that folder").Value("FILE");
  flags.Add("webhook-service", &webhooks.service, "the Service of that port; default: --webhook-name and -webhook").Value("NAME");
  flags.Add("webhook-url", &webhooks.url, "how API servers reach the program if there is no Service: https://HOST:PORT").Value("URL");
  flags.Add("webhook-inject", &webhooks.inject, "write the CA into the webhook configurations");
  flags.Add("webhook-install", &webhooks.install, "create the webhook configurations and their Service, and keep them as registered");
  flags.Add("webhook-shutdown-delay", &webhooks.shutdown_delay, "keep answering for this long after SIGTERM");
}

void AddOtherFlags(FlagSet& flags, State& state, const std::string& program) {
  ManagerOptions& options = state.options;
  flags.Add("kube-api-qps", &state.qps, &ReadQps, "maximum requests per second; -1: no limit")
      .Value("N")
      .Default(internal::ShowFlag(state.qps));
  flags.Add("kube-api-burst", &state.burst, &ReadBurst, "maximum burst, with --kube-api-qps")
      .Value("N")
      .Default(std::to_string(state.burst));
  flags.Add("graceful-shutdown-timeout", &options.graceful_shutdown_timeout, "wait this long for running work; negative: indefinitely");
  flags.Add("preflight", &options.preflight, &ReadPreflight, "on missing permissions at start: warn, fail or skip")
      .Value("MODE")
      .Default(NameOf(options.preflight));
  const auto skip_preflight = [](const std::string& value) -> Result<Preflight> {
    const Result<bool> skip = internal::ReadFlagBool(value);
    if (!skip) return skip.error();
    return *skip ? Preflight::kSkip : Preflight::kWarn;
  };
  flags.Add("skip-preflight", &options.preflight, skip_preflight, "the same as --preflight=skip").Value("").ImpliedValue("true");
  flags
      .Call(
          "print-rbac", [&options, program](const std::string& value) { return SetPrinted(options.print_rbac, program, value); },
          "print the roles that this program needs, and exit; with bindings for an account")
      .Value("NAMESPACE/NAME")
      .ImpliedValue("true");
  flags
      .Call(
          "print-manifests", [&options, program](const std::string& value) { return SetPrinted(options.print_manifests, program, value); },
          "print all objects that this program needs in the cluster, and exit")
      .Value("NAMESPACE/NAME")
      .ImpliedValue("true");
  flags
      .Call(
          "v", [&state](const std::string& value) { return SetVerbosity(state, value); }, "log up to this verbosity")
      .Value("N");
  const auto set_levels = [&state](const std::string& value) -> Result<void> {
    Result<LogSettings> settings = LogSettings::Parse(value);
    if (!settings) return settings.error();
    state.log = *std::move(settings);
    return {};
  };
  flags.Call("log-level", set_levels, "what is logged: \"info\", \"warn\", \"info,cache=4\"").Value("LEVELS");
  flags.Add("logging-format", &state.log_format, "how it is logged").OneOf({"text", "json"}).Value("FORMAT").Default("text");
}

// What only shows when all flags are known.
Result<void> Check(const State& state) {
  const LeaderElectionOptions& election = state.election;
  const auto text = [](Chrono time) { return Duration(time).ToString(); };
  if (!state.leader_elect) return {};
  if (election.renew_deadline >= election.lease_duration)
    return UsageError(fmt::format("--leader-elect-renew-deadline: {} has to be less than --leader-elect-lease-duration, {}",
                                  text(election.renew_deadline), text(election.lease_duration)));
  if (election.retry_period * 6 / 5 >= election.renew_deadline)
    return UsageError(fmt::format("--leader-elect-retry-period: 1.2 times {} has to be less than --leader-elect-renew-deadline, {}",
                                  text(election.retry_period), text(election.renew_deadline)));
  return {};
}

}  // namespace

ManagerFlags::ManagerFlags(std::string name) : FlagSet(std::move(name)) {
  options.health_probe_bind_address = ":8081";
  options.metrics_bind_address = "0";
  options.metrics_secure = true;
  options.metrics_authorization = true;
  election.name = program();
  options.webhooks.name = program();
}

internal::ManagerFlagState ManagerFlags::Now() const {
  return {.options = options,
          .election = election,
          .leader_elect = leader_elect,
          .qps = kube_api_qps,
          .burst = kube_api_burst,
          .load = config.options};
}

FlagSet ManagerFlags::All(internal::ManagerFlagState& to) const {
  FlagSet all = *this;
  all.Group("all controllers");
  AddElectionFlags(all, to);
  AddServerFlags(all, to);
  AddWebhookFlags(all, to);
  AddOtherFlags(all, to, program());
  all.Group("cluster");
  ConfigFlags::AddTo(all, to.load);
  if (!has_environment()) ConfigFlags::UseEnvironmentOf(all, to.load);
  return all;
}

Result<void> ManagerFlags::Parse(int argc, const char* const* argv) { return Parse(Start(argc, argv)); }

Result<void> ManagerFlags::Parse(const std::vector<std::string>& arguments) {
  State state = Now();
  if (Result<void> done = All(state).Parse(arguments); !done) return done;
  if (Result<void> good = Check(state); !good) return good;

  config.options = std::move(state.load);
  options = std::move(state.options);
  election = std::move(state.election);
  leader_elect = state.leader_elect;
  kube_api_qps = state.qps;
  kube_api_burst = state.burst;
  if (leader_elect) {
    options.leader_election = election;
  } else {
    options.leader_election.reset();
  }
  if (!config.options.ns.empty()) options.informers.ns = config.options.ns;
  if (state.log) LogBackend::Default()->SetSettings(*state.log);
  if (state.log_format == "json") LogBackend::Default()->SetSink(MakeJsonSink());
  return {};
}

std::string ManagerFlags::Help() const {
  State shown = Now();
  return All(shown).Help();
}

Result<Client> ManagerFlags::NewClient(ClientOptions client_options) {
  if (!options.metrics) options.metrics = std::make_shared<MetricsRegistry>();
  if (!client_options.metrics) client_options.metrics = options.metrics;
  const auto no_server = [&] {
    ClientConfig nobody;
    nobody.host = "http://127.0.0.1:1";  // never asked
    return Client::FromConfig(nobody, std::move(client_options));
  };
  if (options.print_manifests) return no_server();  // the same text on every machine
  Result<ClientConfig> loaded = config.Load();
  if (!loaded && options.print_rbac) return no_server();
  if (!loaded) return loaded.error();
  if (loaded->qps == 0) {
    loaded->qps = kube_api_qps;
    loaded->burst = kube_api_burst;
  }
  return Client::FromConfig(*loaded, std::move(client_options));
}

int ManagerFlags::Run(Manager& manager, const Context& ctx) const {
  const Result<void> ran = manager.Run(ctx);
  const int code = ran ? 0 : Fail(ran.error());
  // User code that ignores its stopped context. The manager's destructor would wait for it, and returning would destroy what it uses.
  if (!manager.StillRunning().empty()) {
    std::fflush(nullptr);
    std::quick_exit(1);
  }
  return code;
}

int ManagerFlags::Run(int argc, const char* const* argv, const std::function<Result<void>(Manager&)>& setup, const Context& ctx) {
  const auto all = [&]() -> Result<int> {
    if (Result<void> parsed = Parse(argc, argv); !parsed) return parsed.error();
    const Result<Client> client = NewClient();
    if (!client) return client.error();
    Manager manager(*client, options);
    if (Result<void> ready = setup(manager); !ready) return ready.error();
    return Run(manager, ctx);
  };
  return Finish(all);
}

int Main(int argc, const char* const* argv, std::string name, const std::function<Result<void>(Manager&)>& setup) {
  return ManagerFlags(std::move(name)).Run(argc, argv, setup);
}

}  // namespace kube
