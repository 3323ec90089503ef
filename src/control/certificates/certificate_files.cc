#include "control/certificates/certificate_files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "kube/serve/certificate.h"

namespace kube::internal {

Result<std::string> CertificateFiles::Read(const std::string& file) const {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (in.bad() || (!in.is_open() || text.empty())) {
    const std::string why = errno != 0 ? std::strerror(errno) : "it is empty";
    return Error(ErrorKind::kConfig, fmt::format("read the certificate file {}: {}", file, why));
  }
  return text;
}

Result<std::optional<serve::HttpTlsOptions>> CertificateFiles::ReadIfChanged() {
  Result<std::string> certificate = Read(certificate_file_);
  if (!certificate) {
    Refused();
    return certificate.error();
  }
  Result<std::string> key = Read(key_file_);
  if (!key) {
    Refused();
    return key.error();
  }
  if (*certificate == certificate_ && *key == key_) return std::optional<serve::HttpTlsOptions>();
  certificate_ = *certificate;
  key_ = *key;
  if (metrics_) metrics_->Add("certwatcher_read_certificate_total", {});
  return std::optional(serve::HttpTlsOptions{.certificate_pem = *std::move(certificate), .key_pem = *std::move(key)});
}

void CertificateFiles::Refused() {
  certificate_.clear();
  key_.clear();
  if (metrics_) metrics_->Add("certwatcher_read_certificate_errors_total", {});
}

Result<serve::HttpTlsOptions> SelfSignedCertificate() {
  Result<serve::CertificateAuthority> ca = serve::CertificateAuthority::Create("metrics");
  if (!ca) return ca.error();
  Result<serve::KeyPair> pair =
      ca->Issue({.common_name = "localhost", .dns_names = {"localhost"}, .addresses = {"127.0.0.1", "::1"}, .server = true});
  if (!pair) return pair.error();
  return serve::HttpTlsOptions{.certificate_pem = std::move(pair->certificate_pem), .key_pem = std::move(pair->key_pem)};
}

}  // namespace kube::internal
