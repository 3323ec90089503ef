#include "kube/control/manager_flags.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "control/manager_servers.h"
#include "kube/base/log.h"
#include "kube/value/time.h"

namespace kube {
namespace {

// Everything that flags may change, so that a failed Parse changes nothing.
struct State {
  ManagerOptions options;
  LeaderElectionOptions election;
  bool leader_elect = false;
  double qps = -1;
  int burst = 30;
  bool help = false;
  std::optional<LogSettings> log{};
  bool json = false;
  std::string name{};
};

// Empty where the value was taken; else what is wrong with it.
using Setter = std::string (*)(State&, const std::string&);

std::optional<bool> ParseBool(std::string_view value) {
  if (value == "true" || value == "True" || value == "TRUE" || value == "1" || value == "t" || value == "T") return true;
  if (value == "false" || value == "False" || value == "FALSE" || value == "0" || value == "f" || value == "F") return false;
  return std::nullopt;
}

std::string SetBool(bool& out, const std::string& value) {
  const std::optional<bool> parsed = ParseBool(value);
  if (!parsed) return "expected true or false, not \"" + value + "\"";
  out = *parsed;
  return {};
}

std::string SetDuration(std::chrono::nanoseconds& out, const std::string& value, bool negative) {
  const Result<Duration> duration = Duration::Parse(value);
  if (!duration || (!negative && *duration < Duration())) return "expected a time such as 90s, 2m, 1h, not \"" + value + "\"";
  out = std::chrono::nanoseconds(duration->nanoseconds());
  return {};
}

std::string SetPositive(std::chrono::nanoseconds& out, const std::string& value) {
  std::chrono::nanoseconds parsed{};
  if (std::string problem = SetDuration(parsed, value, false); !problem.empty()) return problem;
  if (parsed == std::chrono::nanoseconds(0)) return "must be more than 0";
  out = parsed;
  return {};
}

std::string SetAddress(std::string& out, const std::string& value) {
  if (!internal::BindAddress("", value)) return "\"" + value + "\" is no address: \":8080\", \"127.0.0.1:8080\" and \"0\" (none) are";
  out = value;
  return {};
}

std::string SetQps(State& state, const std::string& value) {
  double qps = 0;
  const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), qps);
  if (failed != std::errc() || end != value.data() + value.size() || !std::isfinite(qps) || qps == 0) {
    return "expected requests a second, such as 20, or -1 for no limit, not \"" + value + "\"";
  }
  state.qps = qps;
  return {};
}

std::string SetBurst(State& state, const std::string& value) {
  int burst = 0;
  const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), burst);
  if (failed != std::errc() || end != value.data() + value.size() || burst < 1) {
    return "expected a number such as 30, not \"" + value + "\"";
  }
  state.burst = burst;
  return {};
}

std::string SetPreflight(State& state, const std::string& value) {
  if (value == "warn") {
    state.options.preflight = Preflight::kWarn;
  } else if (value == "fail") {
    state.options.preflight = Preflight::kFail;
  } else if (value == "skip") {
    state.options.preflight = Preflight::kSkip;
  } else {
    return "expected warn, fail or skip, not \"" + value + "\"";
  }
  return {};
}

std::string SetPrintRbac(State& state, const std::string& value) {
  const std::optional<bool> wanted = ParseBool(value);
  if (wanted == false) {
    state.options.print_rbac.reset();
    return {};
  }
  RbacOptions rbac{.name = state.name};
  if (!wanted) {
    const std::size_t slash = value.find('/');
    if (slash == 0 || slash == std::string::npos || slash + 1 == value.size() || value.find('/', slash + 1) != std::string::npos)
      return "expected nothing, or NAMESPACE/SERVICEACCOUNT, not \"" + value + "\"";
    rbac.service_account_namespace = value.substr(0, slash);
    rbac.service_account = value.substr(slash + 1);
  }
  state.options.print_rbac = std::move(rbac);
  return {};
}

std::string SetVerbosity(State& state, const std::string& value) {
  int verbosity = 0;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), verbosity);
  if (problem != std::errc() || end != value.data() + value.size() || verbosity < 0 || verbosity > 127)
    return "expected a number such as 4, not \"" + value + "\"";
  if (!state.log) state.log.emplace();
  state.log->everything = {.level = LogLevel::kInfo, .verbosity = verbosity};
  return {};
}

std::string SetLogLevel(State& state, const std::string& value) {
  Result<LogSettings> settings = LogSettings::Parse(value);
  if (!settings) return settings.error().ToString();
  state.log = *std::move(settings);
  return {};
}

std::string SetLogFormat(State& state, const std::string& value) {
  if (value != "text" && value != "json") return "expected text or json, not \"" + value + "\"";
  state.json = value == "json";
  return {};
}

std::string SetTlsVersion(State& state, const std::string& value) {
  if (Result<void> known = serve::CheckTlsVersion(value); !known) return known.error().ToString();
  state.options.tls.min_version = value;
  return {};
}

std::string SetCipherSuites(State& state, const std::string& value) {
  Result<std::vector<std::string>> suites = serve::ParseCipherSuites(value);
  if (!suites) return suites.error().ToString();
  state.options.tls.cipher_suites = *std::move(suites);
  return {};
}

template <std::string LeaderElectionOptions::*member>
std::string SetElectionText(State& state, const std::string& value) {
  if (value.empty()) return "must not be empty";
  state.election.*member = value;
  return {};
}
template <std::chrono::nanoseconds LeaderElectionOptions::*member>
std::string SetElectionTime(State& state, const std::string& value) {
  return SetPositive(state.election.*member, value);
}
template <std::string ManagerOptions::*member>
std::string SetOptionText(State& state, const std::string& value) {
  state.options.*member = value;
  return {};
}
template <std::string ManagerOptions::*member>
std::string SetOptionAddress(State& state, const std::string& value) {
  return SetAddress(state.options.*member, value);
}
template <bool ManagerOptions::*member>
std::string SetOptionBool(State& state, const std::string& value) {
  return SetBool(state.options.*member, value);
}

struct Flag {
  std::string_view name;
  Setter set;
  bool takes_value;           // false: the value may be left out, and then is "true"
  std::string_view argument;  // for --help
  std::string_view help;      // empty: another name of the flag before, not shown
};

constexpr Flag kFlags[] = {
    {"leader-elect", [](State& state, const std::string& value) { return SetBool(state.leader_elect, value); }, false, "",
     "work only while this replica holds the lease"},
    {"leader-elect-lease-name", &SetElectionText<&LeaderElectionOptions::name>, true, "NAME", "the Lease; default: the program's name"},
    {"leader-elect-resource-name", &SetElectionText<&LeaderElectionOptions::name>, true, "", ""},
    {"leader-election-id", &SetElectionText<&LeaderElectionOptions::name>, true, "", ""},
    {"leader-elect-lease-namespace", &SetElectionText<&LeaderElectionOptions::ns>, true, "NAME",
     "where it is; default: where the program runs"},
    {"leader-elect-resource-namespace", &SetElectionText<&LeaderElectionOptions::ns>, true, "", ""},
    {"leader-election-namespace", &SetElectionText<&LeaderElectionOptions::ns>, true, "", ""},
    {"leader-elect-lease-duration", &SetElectionTime<&LeaderElectionOptions::lease_duration>, true, "TIME",
     "others wait so long for a leader that is gone (15s)"},
    {"leader-elect-renew-deadline", &SetElectionTime<&LeaderElectionOptions::renew_deadline>, true, "TIME",
     "a leader that cannot renew for so long gives up (10s)"},
    {"leader-elect-retry-period", &SetElectionTime<&LeaderElectionOptions::retry_period>, true, "TIME", "between tries (2s)"},
    {"metrics-bind-address", &SetOptionAddress<&ManagerOptions::metrics_bind_address>, true, "ADDRESS",
     "/metrics and /debug: \":8443\"; \"0\": none (0)"},
    {"metrics-secure",
     [](State& state, const std::string& value) {
       std::string problem = SetBool(state.options.metrics_secure, value);
       state.options.metrics_authorization = state.options.metrics_secure;
       return problem;
     },
     false, "", "HTTPS there, for users whom the cluster allows it (true)"},
    {"metrics-cert-path", &SetOptionText<&ManagerOptions::metrics_cert_path>, true, "FOLDER", "its certificate; without: self-signed"},
    {"metrics-cert-name", &SetOptionText<&ManagerOptions::metrics_cert_name>, true, "FILE", "in that folder (tls.crt)"},
    {"metrics-cert-key", &SetOptionText<&ManagerOptions::metrics_cert_key>, true, "FILE", "in that folder (tls.key)"},
    {"enable-http2", [](State& state, const std::string& value) { return SetBool(state.options.server_limits.http2, value); }, false, "",
     "HTTP/2 on the ports of metrics and health (false)"},
    {"tls-min-version", &SetTlsVersion, true, "VERSION", "VersionTLS12 or VersionTLS13 (VersionTLS12)"},
    {"tls-cipher-suites", &SetCipherSuites, true, "NAMES", "with commas, under Kubernetes' names; default: those that are safe"},
    {"debug-endpoint", &SetOptionBool<&ManagerOptions::debug_endpoint>, false, "", "/debug beside /metrics (true)"},
    {"log-level-endpoint", &SetOptionBool<&ManagerOptions::log_level_endpoint>, false, "",
     "/debug/log-level: change the log level at run time"},
    {"health-probe-bind-address", &SetOptionAddress<&ManagerOptions::health_probe_bind_address>, true, "ADDRESS",
     "/healthz and /readyz; \"0\": none (:8081)"},
    {"kube-api-qps", &SetQps, true, "N", "requests a second at most; -1: as many as the server takes (-1)"},
    {"kube-api-burst", &SetBurst, true, "N", "that many at once, with --kube-api-qps (30)"},
    {"graceful-shutdown-timeout",
     [](State& state, const std::string& value) { return SetDuration(state.options.graceful_shutdown_timeout, value, true); }, true, "TIME",
     "wait so long for work that is under way; negative: for ever (25s)"},
    {"preflight", &SetPreflight, true, "MODE", "permissions that are missing at start: warn, fail or skip (warn)"},
    {"skip-preflight",
     [](State& state, const std::string& value) {
       bool skip = false;
       std::string problem = SetBool(skip, value);
       if (skip) state.options.preflight = Preflight::kSkip;
       return problem;
     },
     false, "", "the same as --preflight=skip"},
    {"print-rbac", &SetPrintRbac, false, "NAMESPACE/NAME",
     "print the roles that this program needs, and end; with bindings for an account"},
    {"v", &SetVerbosity, true, "N", "log up to this verbosity"},
    {"log-level", &SetLogLevel, true, "LEVELS", "what is logged: \"info\", \"warn\", \"info,cache=4\""},
    {"logging-format", &SetLogFormat, true, "FORMAT", "text or json (text)"},
    {"help", [](State& state, const std::string& value) { return SetBool(state.help, value); }, false, "", "this text"},
    {"h", [](State& state, const std::string& value) { return SetBool(state.help, value); }, false, "", ""},
};

const Flag* FindFlag(std::string_view name) {
  for (const Flag& flag : kFlags) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

std::string Shown(const Flag& flag) { return (flag.name.size() == 1 ? "-" : "--") + std::string(flag.name); }

// What only shows when all flags are known.
Result<void> Check(const State& state) {
  const LeaderElectionOptions& election = state.election;
  const auto text = [](std::chrono::nanoseconds time) { return Duration(time).ToString(); };
  if (!state.leader_elect) return {};
  if (election.renew_deadline >= election.lease_duration)
    return Error::Invalid(fmt::format("--leader-elect-renew-deadline: {} has to be less than --leader-elect-lease-duration, {}",
                                      text(election.renew_deadline), text(election.lease_duration)));
  if (election.retry_period * 6 / 5 >= election.renew_deadline)
    return Error::Invalid(fmt::format("--leader-elect-retry-period: 1.2 times {} has to be less than --leader-elect-renew-deadline, {}",
                                      text(election.retry_period), text(election.renew_deadline)));
  return {};
}

Result<std::vector<std::string>> Take(const std::vector<std::string>& arguments, State& state) {
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--") {
      rest.insert(rest.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      break;
    }
    const std::size_t dashes = argument.starts_with("--") ? 2 : argument.starts_with("-") ? 1 : 0;
    const std::size_t equals = argument.find('=');
    const std::string_view name = argument.substr(dashes, equals == std::string_view::npos ? equals : equals - dashes);
    const Flag* const flag = dashes == 0 ? nullptr : FindFlag(name);
    if (flag == nullptr) {
      rest.emplace_back(argument);
      continue;
    }
    std::string value = "true";
    if (equals != std::string_view::npos) {
      value = argument.substr(equals + 1);
    } else if (flag->takes_value) {
      if (++i == arguments.size()) return Error::Invalid(Shown(*flag) + " needs a value");
      value = arguments[i];
    }
    if (const std::string problem = flag->set(state, value); !problem.empty()) return Error::Invalid(Shown(*flag) + ": " + problem);
  }
  return rest;
}

}  // namespace

ManagerFlags::ManagerFlags(std::string name) : name_(std::move(name)) {
  options.health_probe_bind_address = ":8081";
  options.metrics_bind_address = "0";
  options.metrics_secure = true;
  options.metrics_authorization = true;
  election.name = name_;
}

Result<std::vector<std::string>> ManagerFlags::Parse(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i) arguments.emplace_back(argv[i]);
  return Parse(arguments);
}

Result<std::vector<std::string>> ManagerFlags::Parse(const std::vector<std::string>& arguments) {
  // These first: a value of theirs may look like one of the standard flags.
  State state{.options = options,
              .election = election,
              .leader_elect = leader_elect,
              .qps = kube_api_qps,
              .burst = kube_api_burst,
              .help = help,
              .name = name_};
  Result<std::vector<std::string>> others = Take(arguments, state);
  if (!others) return others.error();
  ConfigFlags standard = config;
  Result<std::vector<std::string>> rest = standard.Parse(*others);
  if (!rest) return rest.error();
  if (Result<void> good = Check(state); !good) return good.error();

  config = std::move(standard);
  options = std::move(state.options);
  election = std::move(state.election);
  leader_elect = state.leader_elect;
  kube_api_qps = state.qps;
  kube_api_burst = state.burst;
  help = state.help;
  if (leader_elect) {
    options.leader_election = election;
  } else {
    options.leader_election.reset();
  }
  if (!config.options.ns.empty()) options.informers.ns = config.options.ns;
  if (state.log) LogBackend::Default()->SetSettings(*state.log);
  if (state.json) LogBackend::Default()->SetSink(MakeJsonSink());
  return rest;
}

std::string ManagerFlags::Help() const {
  std::string out;
  for (const Flag& flag : kFlags) {
    if (flag.help.empty()) continue;
    std::string left = Shown(flag);
    if (!flag.argument.empty()) left += (flag.takes_value ? "=" : "[=") + std::string(flag.argument) + (flag.takes_value ? "" : "]");
    out += fmt::format("  {:<36} {}\n", left, flag.help);
  }
  return out + ConfigFlags::Help();
}

int ManagerFlags::PrintHelp() const {
  const std::string text = "usage: " + name_ + " [flags]\n" + Help();
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

Result<Client> ManagerFlags::NewClient(ClientOptions client_options) {
  if (!options.metrics) options.metrics = std::make_shared<serve::MetricsRegistry>();
  if (!client_options.metrics) client_options.metrics = options.metrics;
  Result<ClientConfig> loaded = config.Load();
  if (!loaded && options.print_rbac) {
    ClientConfig nobody;
    nobody.host = "http://127.0.0.1:1";  // never asked
    return Client::FromConfig(nobody, std::move(client_options));
  }
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
  // The manager's destructor would wait for it.
  if (!manager.StillRunning().empty()) {
    std::fflush(nullptr);
    std::quick_exit(1);
  }
  return code;
}

int ManagerFlags::Fail(const Error& error) const {
  const std::string text = name_ + ": " + error.ToString() + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
  return 1;
}

}  // namespace kube
