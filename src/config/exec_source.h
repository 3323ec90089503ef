// Credentials from an exec plugin: when it runs, what is cached, which metrics it reports.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/exec_credential.h"
#include "config/pem.h"
#include "kube/base/context.h"
#include "kube/base/metrics.h"
#include "kube/base/mutex.h"
#include "kube/config/credentials.h"

namespace kube::internal {

// The environment that the plugin shares with this process; tests bring their own.
struct ExecEnvironment {
  std::function<bool()> stdin_is_terminal;  // empty: isatty
  int stdin_fd = 0;
  int stderr_fd = 2;
};

inline constexpr std::chrono::minutes kExecTimeLimit{5};

// Thread safety: all functions may be called from many threads at once. One caller runs the plugin; the others wait and share its result or
//   error.
class ExecSource final : public CredentialSource {
 public:
  // A null `cluster` is not passed to the plugin.
  ExecSource(ExecConfig config, Value cluster, ExecPolicy policy, std::shared_ptr<Clock> clock, ExecEnvironment environment);
  ~ExecSource() override;

  Result<Authorization> Get(const Context& ctx) override;
  void Rejected(const Authorization& used) override;
  std::shared_ptr<const ClientCertificate> Certificate() const override;

  // Only the first non-null sink is used.
  void OfferMetrics(const std::shared_ptr<MetricsSink>& metrics);

 private:
  struct Current {
    SecretString header;
    std::shared_ptr<const ClientCertificate> certificate;
    CertificateInfo certificate_info;
    std::optional<Clock::WallTime> expires;
    Clock::TimePoint obtained_at;
    std::uint64_t serial = 0;
  };
  struct Failure {
    std::uint64_t attempt;
    Error error;
  };

  Result<Current> Run(const Context& ctx);
  Result<bool> Interactive() const;
  Result<std::string> Permitted();  // the path of the command, if it exists and is allowed
  bool InAllowlist(const std::string& path) const;
  Error NotFound();
  Error Failed(const std::string& what) const;
  std::vector<std::string> Environment(bool interactive) const;
  std::shared_ptr<MetricsSink> metrics() const;
  void CountCall(int code, std::string_view status) const;
  void Install(Current fresh) KUBE_REQUIRES(mu_);
  bool Usable() const KUBE_REQUIRES(mu_);

  const ExecConfig config_;
  const Value cluster_;
  const ExecPolicy policy_;
  const std::shared_ptr<Clock> clock_;
  const ExecEnvironment environment_;
  const std::string command_;  // cleaned: "./a/../b" is "b"

  mutable Mutex mu_;
  CondVar changed_;
  bool running_ KUBE_GUARDED_BY(mu_) = false;
  std::uint64_t attempt_ KUBE_GUARDED_BY(mu_) = 0;
  std::optional<Failure> failure_ KUBE_GUARDED_BY(mu_);
  std::optional<Current> current_ KUBE_GUARDED_BY(mu_);
  bool rejected_ KUBE_GUARDED_BY(mu_) = false;
  std::shared_ptr<MetricsSink> metrics_ KUBE_GUARDED_BY(mu_);
  std::optional<Clock::TimePoint> hints_since_ KUBE_GUARDED_BY(mu_);
  int hints_ KUBE_GUARDED_BY(mu_) = 0;
};

// Rejects a contradictory policy, so that no plugin runs. Errors: kConfig.
Result<void> CheckExecPolicy(const ExecPolicy& policy);

// The source for this config: a new one, or the existing source of an equal config. Errors: kConfig.
Result<std::shared_ptr<CredentialSource>> MakeExecSource(const ClientConfig& config, const std::shared_ptr<Clock>& clock,
                                                         const CredentialOptions& options, ExecEnvironment environment = {});

}  // namespace kube::internal
