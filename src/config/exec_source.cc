#include "config/exec_source.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <limits>
#include <map>
#include <utility>

#include "config/files.h"
#include "config/run_program.h"
#include "config/text.h"
#include "kube/base/log.h"
#include "kube/base/wait_until.h"
#include "kube/codec/json.h"
#include "kube/value/time.h"

namespace kube::internal {
namespace {

constexpr int kHintsPerWindow = 10;
constexpr std::chrono::hours kHintWindow{1};
constexpr std::size_t kKeptSources = 64;
constexpr const char* kPluginHelp =
    "; it is a credential plugin that the kubeconfig asks for and that is not installed"
    " (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins)";

const Logger& Log() {
  static const Logger logger("config.exec");
  return logger;
}

std::string CleanPath(const std::string& command) { return std::filesystem::path(command).lexically_normal().string(); }

// The earliest end of the certificates of all plugins that report to one sink.
class Expirations {
 public:
  static Expirations& Instance() {
    static auto* const instance = new Expirations();
    return *instance;
  }
  void Set(const void* source, MetricsSink& sink, std::optional<Clock::WallTime> not_after, Clock::WallTime now) {
    MutexLock lock(mu_);
    auto& sources = sinks_[&sink];
    sources.erase(source);
    if (not_after) sources.emplace(source, *not_after);
    double left = std::numeric_limits<double>::infinity();
    for (const auto& entry : sources) left = std::min(left, std::chrono::duration<double>(entry.second - now).count());
    if (sources.empty()) sinks_.erase(&sink);
    sink.Set("rest_client_exec_plugin_ttl_seconds", {}, left);
  }
  void Remove(const void* source, const MetricsSink* sink) {
    MutexLock lock(mu_);
    const auto found = sinks_.find(sink);
    if (found == sinks_.end()) return;
    found->second.erase(source);
    if (found->second.empty()) sinks_.erase(found);
  }

 private:
  Mutex mu_;
  std::map<const MetricsSink*, std::map<const void*, Clock::WallTime>> sinks_ KUBE_GUARDED_BY(mu_);
};

// The sources of this process by their config. Programs make clients again and again: the last ones used stay, so that a plugin is not
// run for each client.
class Sources {
 public:
  static Sources& Instance() {
    static auto* const instance = new Sources();
    return *instance;
  }
  std::shared_ptr<ExecSource> Get(const std::string& key, const std::function<std::shared_ptr<ExecSource>()>& make) {
    MutexLock lock(mu_);
    std::shared_ptr<ExecSource> source = sources_[key].lock();
    if (source == nullptr) {
      std::erase_if(sources_, [&key](const auto& entry) { return entry.second.expired() && entry.first != key; });
      source = make();
      sources_[key] = source;
    }
    kept_.erase(std::remove(kept_.begin(), kept_.end(), source), kept_.end());
    kept_.push_back(source);
    std::shared_ptr<ExecSource> dropped;  // destroyed after the lock
    if (kept_.size() > kKeptSources) {
      dropped = kept_.front();
      kept_.pop_front();
    }
    lock.Unlock();
    return source;
  }

 private:
  Mutex mu_;
  std::map<std::string, std::weak_ptr<ExecSource>> sources_ KUBE_GUARDED_BY(mu_);
  std::deque<std::shared_ptr<ExecSource>> kept_ KUBE_GUARDED_BY(mu_);
};

std::string KeyOf(const ExecConfig& exec, const Value& cluster, const ExecPolicy& policy, const Clock* clock) {
  Value key =
      Value::Array({exec.command, exec.api_version, exec.install_hint, exec.provide_cluster_info, static_cast<int>(exec.interactive_mode),
                    exec.stdin_unavailable, exec.stdin_unavailable_message, cluster, static_cast<int>(policy.mode),
                    policy.allowlist.has_value(), static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(clock))});
  Value args = Value::Array();
  for (const std::string& arg : exec.args) args.MutableList().push_back(arg);
  Value env = Value::Array();
  for (const auto& [name, value] : exec.env) env.MutableList().push_back(Value::Array({name, value}));
  Value allowed = Value::Array();
  for (const std::string& entry : policy.allowlist.value_or(std::vector<std::string>())) allowed.MutableList().push_back(entry);
  for (Value part : {args, env, allowed}) key.MutableList().push_back(std::move(part));
  return ToJson(key);
}

}  // namespace

Result<void> CheckExecPolicy(const ExecPolicy& policy) {
  const auto wrong = [](std::string message) { return Error(ErrorKind::kConfig, "policy of exec plugins: " + std::move(message)); };
  switch (policy.mode) {
    case ExecPolicy::Mode::kAllowAll:
    case ExecPolicy::Mode::kDenyAll:
      if (policy.allowlist) return wrong("there is an allowlist, but the mode does not use one; set the mode to kAllowlist");
      return {};
    case ExecPolicy::Mode::kAllowlist:
      if (!policy.allowlist) return wrong("the mode is kAllowlist, but there is no allowlist");
      if (policy.allowlist->empty()) return wrong("the allowlist is empty; use the mode kDenyAll");
      for (const std::string& entry : *policy.allowlist) {
        if (entry.empty()) return wrong("the allowlist has an empty entry");
        if (CleanPath(entry) != entry) return wrong(Quoted(entry) + " in the allowlist has to be written as " + Quoted(CleanPath(entry)));
      }
      return {};
  }
  return wrong("unknown mode");
}

ExecSource::ExecSource(ExecConfig config, Value cluster, ExecPolicy policy, std::shared_ptr<Clock> clock, ExecEnvironment environment)
    : config_(std::move(config)),
      cluster_(std::move(cluster)),
      policy_(std::move(policy)),
      clock_(std::move(clock)),
      environment_(std::move(environment)),
      command_(CleanPath(config_.command)) {}

ExecSource::~ExecSource() { Expirations::Instance().Remove(this, metrics().get()); }

bool ExecSource::Usable() const { return current_ && (!current_->expires || clock_->WallNow() <= *current_->expires); }

Result<Authorization> ExecSource::Get(const Context& ctx) {
  const auto answer = [this] {
    mu_.AssertHeld();
    return Authorization{.header = current_->header, .obtained_at = current_->obtained_at, .serial = current_->serial};
  };
  MutexLock lock(mu_);
  for (;;) {
    if (Usable() && !rejected_) return answer();
    if (!running_) break;
    const std::uint64_t attempt = attempt_;
    const Result<void> waited = WaitUntil(ctx, mu_, changed_, [this, attempt] {
      mu_.AssertHeld();
      return !running_ || attempt_ != attempt;
    });
    if (!waited) return waited.error().WithContext("wait for exec plugin " + Quoted(config_.command));
    // The result of the attempt is good enough for its waiters, even if it has expired already.
    if (current_ && current_->serial == attempt && !rejected_) return answer();
    if (failure_ && failure_->attempt == attempt && !(Usable() && !rejected_)) return failure_->error;
  }
  running_ = true;
  const std::uint64_t attempt = ++attempt_;
  lock.Unlock();
  Result<Current> fresh = Run(ctx);
  lock.Lock();
  running_ = false;
  changed_.NotifyAll();
  if (fresh) {
    Install(*std::move(fresh));
    return answer();
  }
  if (ctx.stopped()) return fresh.error();  // this caller's own affair: the next one tries for itself
  failure_ = Failure{attempt, fresh.error()};
  if (!Usable()) return fresh.error();
  // After a 401 only: the credential has not expired, and the server may accept it next time.
  Log().Error(fresh.error(), "Failed to refresh credentials after a 401, continuing with the old ones", {{"command", config_.command}});
  rejected_ = false;
  return answer();
}

void ExecSource::Rejected(const Authorization& used) {
  MutexLock lock(mu_);
  if (current_ && current_->serial == used.serial) rejected_ = true;
}

std::shared_ptr<const ClientCertificate> ExecSource::Certificate() const {
  MutexLock lock(mu_);
  return current_ ? current_->certificate : nullptr;
}

void ExecSource::OfferMetrics(const std::shared_ptr<MetricsSink>& metrics) {
  MutexLock lock(mu_);
  if (metrics_ == nullptr) metrics_ = metrics;
}

std::shared_ptr<MetricsSink> ExecSource::metrics() const {
  MutexLock lock(mu_);
  return metrics_;
}

void ExecSource::CountCall(int code, std::string_view status) const {
  const std::shared_ptr<MetricsSink> sink = metrics();
  if (sink != nullptr) sink->Add("rest_client_exec_plugin_call_total", {{"code", std::to_string(code)}, {"call_status", status}});
}

void ExecSource::Install(Current fresh) {
  fresh.serial = attempt_;
  fresh.obtained_at = clock_->Now();
  // An equal certificate stays the same object, so that no connection is closed for it.
  const std::shared_ptr<const ClientCertificate> old = current_ ? current_->certificate : nullptr;
  const bool same = old != nullptr && fresh.certificate != nullptr && old->certificate_pem == fresh.certificate->certificate_pem &&
                    old->key_pem.reveal() == fresh.certificate->key_pem.reveal();
  if (same) fresh.certificate = old;
  const Clock::WallTime now = clock_->WallNow();
  if (metrics_ != nullptr) {
    if (old != nullptr && !same) {
      metrics_->Observe("rest_client_exec_plugin_certificate_rotation_age", {},
                        std::chrono::duration<double>(now - current_->certificate_info.not_before).count());
    }
    const bool has_certificate = fresh.certificate != nullptr;
    Expirations::Instance().Set(this, *metrics_, has_certificate ? std::optional(fresh.certificate_info.not_after) : std::nullopt, now);
  }
  current_ = std::move(fresh);
  rejected_ = false;
  failure_.reset();
}

Error ExecSource::Failed(const std::string& what) const {
  return Error(ErrorKind::kAuth, "exec plugin " + Quoted(config_.command) + ": " + what);
}

Error ExecSource::NotFound() {
  std::string message = "not found";
  if (command_.find('/') == std::string::npos) message += " in $PATH";
  MutexLock lock(mu_);
  const Clock::TimePoint now = clock_->Now();
  if (!hints_since_ || now - *hints_since_ >= kHintWindow) {
    hints_since_ = now;
    hints_ = 0;
  }
  if (hints_ < kHintsPerWindow) {
    ++hints_;
    message += kPluginHelp;
    if (!config_.install_hint.empty()) message += "\n\n" + CleanText(config_.install_hint, true);
  }
  return Failed(message);
}

Result<bool> ExecSource::Interactive() const {
  const auto terminal = [this] {
    return environment_.stdin_is_terminal ? environment_.stdin_is_terminal() : isatty(environment_.stdin_fd) == 1;
  };
  switch (config_.interactive_mode) {
    case ExecConfig::InteractiveMode::kNever:
      return false;
    case ExecConfig::InteractiveMode::kIfAvailable:
      return !config_.stdin_unavailable && terminal();
    case ExecConfig::InteractiveMode::kAlways:
      if (!terminal()) {
        return Failed("it has to be interactive (interactiveMode: Always), but standard input is not a terminal; run this program in one");
      }
      if (config_.stdin_unavailable) {
        const std::string& why = config_.stdin_unavailable_message;
        return Failed("it has to be interactive (interactiveMode: Always), but standard input is unavailable" +
                      (why.empty() ? "" : ": " + CleanText(why)));
      }
      return true;
    case ExecConfig::InteractiveMode::kUnset:
      if (config_.api_version == "client.authentication.k8s.io/v1beta1") return !config_.stdin_unavailable && terminal();
      break;
  }
  return Failed("interactiveMode of the exec entry in the kubeconfig has to be Never, IfAvailable or Always");
}

bool ExecSource::InAllowlist(const std::string& path) const {
  const std::string name = std::filesystem::path(path).filename().string();
  return std::any_of(policy_.allowlist->begin(), policy_.allowlist->end(), [&](const std::string& entry) {
    if (entry == command_ || entry == path) return true;
    if (std::filesystem::path(entry).filename() != name) return false;
    const std::optional<std::string> found = FindProgram(entry);
    return found && *found == path;
  });
}

Result<std::string> ExecSource::Permitted() {
  // The cleaned path of "./plugin" is "plugin", which must not be looked for in $PATH.
  const bool is_path = config_.command.find('/') != std::string::npos;
  const std::optional<std::string> path = FindProgram(is_path && command_.find('/') == std::string::npos ? "./" + command_ : command_);
  std::optional<Error> denied;
  if (policy_.mode == ExecPolicy::Mode::kDenyAll) {
    denied = Failed("may not be run: this program allows no exec plugins");
  } else if (policy_.mode == ExecPolicy::Mode::kAllowlist && !InAllowlist(path.value_or(command_))) {
    denied = Failed("may not be run: it is not in this program's list of allowed exec plugins");
  }
  if (const std::shared_ptr<MetricsSink> sink = metrics(); sink != nullptr) {
    sink->Add("rest_client_exec_plugin_policy_call_total", {{"status", denied ? "denied" : "allowed"}});
  }
  if (denied) return *denied;
  if (!path) {
    CountCall(1, "plugin_not_found_error");
    return NotFound();
  }
  return *path;
}

std::vector<std::string> ExecSource::Environment(bool interactive) const {
  // The last one of a name counts; a program sees the first.
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] : config_.env) variables[name] = value;
  variables["KUBERNETES_EXEC_INFO"] = ExecInfo(config_.api_version, interactive, cluster_);
  std::vector<std::string> out;
  out.reserve(variables.size());
  for (const auto& [name, value] : variables) out.push_back(name + "=" + value);
  return out;
}

Result<ExecSource::Current> ExecSource::Run(const Context& ctx) {
  if (const Result<void> go = ctx.Check(); !go) return go.error();
  const Result<bool> interactive = Interactive();
  if (!interactive) return interactive.error();
  const Result<std::string> path = Permitted();
  if (!path) return path.error();

  ProgramOptions program{.argv = {*path},
                         .environment = Environment(*interactive),
                         .stdin_fd = *interactive ? environment_.stdin_fd : -1,
                         .stderr_fd = environment_.stderr_fd,
                         .foreground = *interactive,
                         .max_output = kMaxExecOutput};
  program.argv.insert(program.argv.end(), config_.args.begin(), config_.args.end());
  const Context limited = ctx.WithTimeout(kExecTimeLimit);
  const Result<ProgramEnd> end = RunProgram(limited, program);
  if (!end) {
    const bool cannot_run = end.error().kind() == ErrorKind::kConfig;
    CountCall(1, cannot_run ? "plugin_not_found_error" : "client_internal_error");
    if (ctx.stopped()) return end.error().WithContext("run exec plugin " + Quoted(config_.command));
    if (limited.stopped()) {
      return Failed("it did not end within " + Duration(kExecTimeLimit).ToString() +
                    " and was killed; run it by hand to see what it waits for");
    }
    if (!cannot_run) return Failed(end.error().message());
    return Failed(end.error().message() + "; it has to be an executable file, and a script needs a first line such as #!/bin/sh");
  }
  if (end->too_much) {
    CountCall(1, "client_internal_error");
    return Failed(fmt::format("it printed more than {} bytes and was killed; it has to print one ExecCredential", kMaxExecOutput));
  }
  if (end->exit.signal != 0 || end->exit.code != 0) {
    CountCall(end->exit.signal != 0 ? -1 : end->exit.code, "plugin_execution_error");
    const std::string how = end->exit.signal != 0 ? "was " + end->exit.ToString() : "failed with " + end->exit.ToString();
    return Failed("it " + how + "; what it said is on standard error, and running it by hand shows more");
  }
  CountCall(0, "no_error");

  const Result<ExecCredential> credential = ParseExecCredential(end->output.reveal(), config_.api_version);
  if (!credential) return Failed(credential.error().message());
  Current fresh;
  fresh.expires = credential->expires;
  if (!credential->token.empty()) fresh.header = SecretString("Bearer " + credential->token.reveal());
  if (!credential->certificate_pem.empty()) {
    Result<CertificateInfo> info = CheckKeyPair(credential->certificate_pem, credential->key_pem,
                                                "status.clientCertificateData of its output", "status.clientKeyData of its output");
    if (!info) return Failed(info.error().message());
    if (info->not_after < clock_->WallNow()) {
      Log().Warn("The certificate of an exec plugin has expired", {{"command", config_.command}, {"subject", info->subject}});
    }
    fresh.certificate_info = *std::move(info);
    fresh.certificate = std::make_shared<ClientCertificate>(
        ClientCertificate{.certificate_pem = credential->certificate_pem, .key_pem = credential->key_pem});
  }
  return fresh;
}

Result<std::shared_ptr<CredentialSource>> MakeExecSource(const ClientConfig& config, const std::shared_ptr<Clock>& clock,
                                                         const CredentialOptions& options, ExecEnvironment environment) {
  const ExecConfig& exec = *config.exec;
  const auto wrong = [](std::string message) { return Error(ErrorKind::kConfig, "exec plugin: " + std::move(message)); };
  if (exec.command.empty()) return wrong("command is missing in the exec entry of the kubeconfig");
  if (!IsExecApiVersion(exec.api_version)) {
    return wrong(
        fmt::format("apiVersion {} of {} is not known; it has to be client.authentication.k8s.io/v1 or "
                    "client.authentication.k8s.io/v1beta1",
                    Quoted(exec.api_version), Quoted(exec.command)));
  }
  if (Result<void> checked = CheckExecPolicy(options.exec_policy); !checked) return checked.error();
  for (const auto& [name, value] : exec.env) {
    if (name.empty() || name.find_first_of(std::string_view("=\0", 2)) != std::string::npos || value.find('\0') != std::string::npos) {
      return wrong("the variable " + Quoted(name) + " in env of " + Quoted(exec.command) + " cannot be set");
    }
  }
  Value cluster;
  if (exec.provide_cluster_info) {
    std::string ca = config.tls.ca_data;
    if (ca.empty() && !config.tls.ca_file.empty()) {
      FileText file = ReadFile(config.tls.ca_file);
      if (!file.ok()) return wrong("cannot read the CA file " + Quoted(config.tls.ca_file) + ": " + file.problem());
      ca = std::move(file.text);
    }
    cluster = ExecClusterInfo(config, ca);
  }
  // Tests with an environment of their own share nothing.
  const bool shared = !environment.stdin_is_terminal && environment.stdin_fd == 0 && environment.stderr_fd == 2;
  const auto make = [&] { return std::make_shared<ExecSource>(exec, cluster, options.exec_policy, clock, environment); };
  std::shared_ptr<ExecSource> source =
      shared ? Sources::Instance().Get(KeyOf(exec, cluster, options.exec_policy, clock.get()), make) : make();
  source->OfferMetrics(options.metrics);
  return std::shared_ptr<CredentialSource>(std::move(source));
}

}  // namespace kube::internal
