// A server's certificate in files that somebody else replaces now and then: cert-manager, a mounted Secret.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kube/base/metrics.h"
#include "kube/base/result.h"
#include "kube/serve/http_server.h"

namespace kube::internal {

// Thread safety: none.
class CertificateFiles {
 public:
  // certwatcher_read_certificate_total and _errors_total go to `metrics`.
  CertificateFiles(std::string certificate_file, std::string key_file, std::shared_ptr<MetricsSink> metrics)
      : certificate_file_(std::move(certificate_file)), key_file_(std::move(key_file)), metrics_(std::move(metrics)) {}

  // What is in the files; nothing where that is as it was. Errors: kConfig, naming the file. What was read with an error is read again.
  Result<std::optional<serve::HttpTlsOptions>> ReadIfChanged();
  // It was not usable: count it, and offer it again.
  void Refused();

 private:
  Result<std::string> Read(const std::string& file) const;

  const std::string certificate_file_, key_file_;
  const std::shared_ptr<MetricsSink> metrics_;
  std::string certificate_, key_;
};

// For a server that nobody gave a certificate: valid for a year, made anew at each start. Clients cannot verify it.
Result<serve::HttpTlsOptions> SelfSignedCertificate();

}  // namespace kube::internal
