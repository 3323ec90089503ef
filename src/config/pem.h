// Checks of PEM texts, so that a wrong file is a clear error at the start and not a failed handshake later.
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

// What is worth knowing of a certificate.
struct CertificateInfo {
  std::chrono::system_clock::time_point not_before;
  std::chrono::system_clock::time_point not_after;
  std::string subject;  // "CN = admin, O = system:masters"; cleaned for messages
};

// The certificates of a bundle, in DER. Each PEM block stands for itself: one that is damaged or cut off hides none of the others.
struct CaBundle {
  std::vector<std::string> certificates;
  std::size_t unreadable = 0;  // blocks that say CERTIFICATE and hold none, or have another label of OpenSSL's for one
};
KUBE_EXPORT CaBundle ReadCaBundle(std::string_view pem);

// A bundle with at least one certificate that can be read; others in it are skipped, with a warning in the log. `where` names the place for
// messages: the path of a file in quotes, or the field. Errors: kConfig.
Result<void> CheckCaBundle(std::string_view pem, const std::string& where);

// A certificate, with its chain behind it, and the key of the first one. Errors: kConfig, naming the place at fault. Never quotes the
// texts.
Result<CertificateInfo> CheckKeyPair(std::string_view certificate_pem, const SecretString& key_pem, const std::string& certificate_where,
                                     const std::string& key_where);

}  // namespace kube::internal
