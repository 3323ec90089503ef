// A server's certificate in files that another program replaces at times: cert-manager, a mounted Secret.
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

  // Returns the content of the files, or nullopt if it has not changed. Errors: kConfig, naming the file. Files that failed are read again.
  Result<std::optional<serve::HttpTlsOptions>> ReadIfChanged();
  // The content was not usable: count that, and return it again.
  void Refused();

 private:
  Result<std::string> Read(const std::string& file) const;

  const std::string certificate_file_, key_file_;
  const std::shared_ptr<MetricsSink> metrics_;
  std::string certificate_, key_;
};

// A self-signed certificate for a server without one: valid for a year, new at each start. Clients cannot verify it.
Result<serve::HttpTlsOptions> SelfSignedCertificate();

}  // namespace kube::internal
