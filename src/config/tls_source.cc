#include <fmt/format.h>

#include <optional>
#include <utility>

#include "config/files.h"
#include "config/pem.h"
#include "config/text.h"
#include "kube/base/log.h"
#include "kube/base/mutex.h"
#include "kube/config/credentials.h"
#include "kube/value/time.h"

namespace kube {

TlsSource::~TlsSource() = default;

namespace internal {
namespace {

constexpr std::chrono::minutes kCaInterval{5};
constexpr std::chrono::seconds kCertificateInterval{1};

const Logger& Log() {
  static const Logger logger("config.tls");
  return logger;
}

Error Wrong(std::string message) { return Error(ErrorKind::kConfig, std::move(message)); }

std::string FileOf(const std::string& path) { return "the file " + Quoted(path); }

// Data, or what the file holds now.
Result<std::string> DataOrFile(const std::string& data, const std::string& path, const char* what) {
  if (!data.empty()) return data;
  FileText file = ReadFile(path);
  if (!file.ok()) return Wrong(fmt::format("cannot read the {} {}: {}", what, Quoted(path), file.problem()));
  return std::move(file.text);
}

bool Equal(const ClientCertificate* a, const ClientCertificate* b) {
  if (a == nullptr || b == nullptr || a == b) return a == b;
  return a->certificate_pem == b->certificate_pem && a->key_pem.reveal() == b->key_pem.reveal();
}

class FileTlsSource final : public TlsSource {
 public:
  FileTlsSource(TlsConfig config, std::shared_ptr<CredentialSource> credentials, std::shared_ptr<Clock> clock,
                std::shared_ptr<MetricsSink> metrics)
      : config_(std::move(config)), credentials_(std::move(credentials)), clock_(std::move(clock)), metrics_(std::move(metrics)) {}

  Result<void> Start() {
    MutexLock lock(mu_);
    TlsMaterial first{.generation = 1, .ca_generation = 1, .server_name = config_.server_name, .insecure = config_.insecure};
    if (config_.insecure && config_.has_ca()) return Wrong("a CA and insecure (insecure-skip-tls-verify) exclude each other; drop one");
    if (config_.has_ca()) {
      Result<std::string> ca = DataOrFile(config_.ca_data, config_.ca_file, "CA file");
      if (!ca) return ca.error();
      const bool from_file = config_.ca_data.empty();
      if (from_file && ca->empty()) {
        first.trust_nothing = true;  // it may be filled later
        Log().Warn("The CA file is empty: no server is trusted until it holds a certificate", {{"file", config_.ca_file}});
      } else if (Result<void> good = CheckCaBundle(*ca, from_file ? FileOf(config_.ca_file) : "certificate-authority-data"); !good) {
        return good;
      }
      first.ca_pem = *std::move(ca);
    }
    const bool has_key = !config_.key_data.empty() || !config_.key_file.empty();
    if (config_.has_certificate() != has_key) {
      return Wrong(has_key ? "there is a client key, but no client certificate; set client-certificate or client-certificate-data"
                           : "there is a client certificate, but no key; set client-key or client-key-data");
    }
    if (config_.has_certificate()) {
      Result<std::shared_ptr<const ClientCertificate>> certificate = Load();
      if (!certificate) return certificate.error();
      first.certificate = *std::move(certificate);
    }
    ca_checked_ = certificate_checked_ = clock_->Now();
    current_ = std::make_shared<const TlsMaterial>(std::move(first));
    return {};
  }

  std::shared_ptr<const TlsMaterial> Current() override {
    // Outside of the lock: it takes one of its own.
    const std::shared_ptr<const ClientCertificate> plugin = credentials_ == nullptr ? nullptr : credentials_->Certificate();
    MutexLock lock(mu_);
    const Clock::TimePoint now = clock_->Now();
    if (config_.ca_data.empty() && !config_.ca_file.empty() && now - ca_checked_ >= kCaInterval) {
      ca_checked_ = now;
      CheckCa();
    }
    if (!config_.has_certificate()) {
      Replace(plugin);
    } else if (config_.certificate_data.empty() && config_.key_data.empty() && now - certificate_checked_ >= kCertificateInterval) {
      certificate_checked_ = now;
      Result<std::shared_ptr<const ClientCertificate>> certificate = Load();
      if (certificate) {
        failing_ = false;
        Replace(*certificate);
      } else if (!std::exchange(failing_, true)) {  // said once, not every second
        Log().Error(certificate.error(), "Failed to read the client certificate again, continuing with the last one");
      }
    }
    return current_;
  }

 private:
  Result<std::shared_ptr<const ClientCertificate>> Load() KUBE_REQUIRES(mu_) {
    Result<std::string> certificate = DataOrFile(config_.certificate_data, config_.certificate_file, "client certificate");
    if (!certificate) return certificate.error();
    Result<std::string> key = DataOrFile(config_.key_data.reveal(), config_.key_file, "client key");
    if (!key) return key.error();
    auto pair = std::make_shared<ClientCertificate>(
        ClientCertificate{.certificate_pem = *std::move(certificate), .key_pem = SecretString(*std::move(key))});
    if (current_ != nullptr && Equal(current_->certificate.get(), pair.get())) return current_->certificate;  // checked before
    const std::string where = config_.certificate_data.empty() ? FileOf(config_.certificate_file) : "client-certificate-data";
    const Result<CertificateInfo> info =
        CheckKeyPair(pair->certificate_pem, pair->key_pem, where, config_.key_data.empty() ? FileOf(config_.key_file) : "client-key-data");
    if (!info) return info.error();
    const auto text = [](Clock::WallTime time) { return Time(std::chrono::time_point_cast<std::chrono::seconds>(time)).ToString(); };
    if (const Clock::WallTime now = clock_->WallNow(); info->not_after < now) {
      Log().Warn("The client certificate has expired, and servers will refuse it; get a new one",
                 {{"from", where}, {"subject", info->subject}, {"expired", text(info->not_after)}});
    } else if (info->not_before > now) {
      Log().Warn("The client certificate is not valid yet; check the clock of this machine",
                 {{"from", where}, {"subject", info->subject}, {"validFrom", text(info->not_before)}});
    }
    return std::shared_ptr<const ClientCertificate>(std::move(pair));
  }

  void Replace(const std::shared_ptr<const ClientCertificate>& certificate) KUBE_REQUIRES(mu_) {
    if (Equal(current_->certificate.get(), certificate.get())) return;
    TlsMaterial next = *current_;
    ++next.generation;
    next.certificate = certificate;
    current_ = std::make_shared<const TlsMaterial>(std::move(next));
    Log().V(1).Info("The client certificate has changed");
  }

  void CheckCa() KUBE_REQUIRES(mu_) {
    const auto count = [this](std::string_view result, std::string_view reason) {
      if (metrics_ != nullptr) metrics_->Add("rest_client_transport_ca_reload_total", {{"result", result}, {"reason", reason}});
    };
    FileText file = ReadFile(config_.ca_file);
    if (!file.ok()) {
      Log().Error("Failed to read the CA file again, continuing with the last one",
                  {{"file", config_.ca_file}, {"reason", file.problem()}});
      return count("failure", "read_error");
    }
    if (file.text.empty()) {
      Log().Warn("The CA file is empty, continuing with its previous contents", {{"file", config_.ca_file}});
      return count("failure", "empty");
    }
    if (file.text == current_->ca_pem) return count("success", "unchanged");
    if (const Result<void> good = CheckCaBundle(file.text, FileOf(config_.ca_file)); !good) {
      Log().Error(good.error(), "Failed to read the CA file again, continuing with the last one");
      return count("failure", "ca_parse_error");
    }
    TlsMaterial next = *current_;
    ++next.ca_generation;
    next.ca_pem = std::move(file.text);
    next.trust_nothing = false;
    current_ = std::make_shared<const TlsMaterial>(std::move(next));
    Log().V(1).Info("The CA has changed", {{"file", config_.ca_file}});
    count("success", "updated");
  }

  const TlsConfig config_;
  const std::shared_ptr<CredentialSource> credentials_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<MetricsSink> metrics_;

  Mutex mu_;
  std::shared_ptr<const TlsMaterial> current_ KUBE_GUARDED_BY(mu_);
  Clock::TimePoint ca_checked_ KUBE_GUARDED_BY(mu_);
  Clock::TimePoint certificate_checked_ KUBE_GUARDED_BY(mu_);
  bool failing_ KUBE_GUARDED_BY(mu_) = false;
};

}  // namespace
}  // namespace internal

Result<std::shared_ptr<TlsSource>> MakeTlsSource(const ClientConfig& config, std::shared_ptr<CredentialSource> credentials,
                                                 std::shared_ptr<Clock> clock, std::shared_ptr<MetricsSink> metrics) {
  auto source = std::make_shared<internal::FileTlsSource>(config.tls, std::move(credentials), std::move(clock), std::move(metrics));
  if (Result<void> started = source->Start(); !started) return started.error();
  return std::shared_ptr<TlsSource>(std::move(source));
}

}  // namespace kube
