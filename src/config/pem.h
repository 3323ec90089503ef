// Checks PEM texts, so that an invalid file is a clear error at startup and not a failed handshake later.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/secret_string.h"

namespace kube::internal {

// The relevant contents of a certificate.
struct CertificateInfo {
  std::chrono::system_clock::time_point not_before;
  std::chrono::system_clock::time_point not_after;
  std::string subject;  // "CN = admin, O = system:masters"; cleaned for messages
};

// The certificates of a bundle, in DER. Each PEM block is parsed separately, so a damaged or truncated one does not hide the others.
struct CaBundle {
  std::vector<std::string> certificates;
  std::size_t unreadable = 0;  // blocks labeled CERTIFICATE (or with OpenSSL's other labels) that contain none
};
KUBE_EXPORT CaBundle ReadCaBundle(std::string_view pem);

// Requires at least one readable certificate; unreadable ones are skipped with a warning in the log. `where` is the source for messages:
// the quoted path of a file, or the field. Errors: kConfig.
Result<void> CheckCaBundle(std::string_view pem, const std::string& where);

// Checks a certificate followed by its chain, and the key of the first certificate. Errors: kConfig, naming the faulty source. Never quotes
// the texts.
Result<CertificateInfo> CheckKeyPair(std::string_view certificate_pem, const SecretString& key_pem, const std::string& certificate_where,
                                     const std::string& key_where);

}  // namespace kube::internal
