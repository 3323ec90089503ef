// How a connection or a request failed, whoever carried it (a Dial, a TLS connection, libcurl), and the error that its caller gets.
#pragma once

#include <string>

#include "kube/base/error.h"

namespace kube::internal {

struct Settings;

enum class FailureKind {
  kNone,
  kUnknownHost,
  kUnknownProxy,
  kConnect,            // nothing accepted the connection
  kProxy,              // the proxy did not lead to the server
  kTimeout,            // of connecting
  kCertificate,        // the server's was not accepted
  kTls,                // any other failure of the handshake
  kClientCertificate,  // ours cannot be used
  kCa,                 // the configured CA cannot be used
  kNoAnswer,           // the connection ended before an answer came
  kPartialAnswer,      // ... in the middle of one
  kConnection,         // reading or writing failed
  kNotHttp,
  kNotCompressed,  // though the header says so
  kTooLarge,       // or memory is short
  kOther,
};

struct Failure {
  FailureKind kind = FailureKind::kNone;
  std::string detail;  // in the words of the library that noticed it
  long os_error = 0;
  long verify_result = 0;  // OpenSSL's, for the server's certificate
  long connect_code = 0;   // a proxy's answer to CONNECT
  bool answered = false;   // a header came
};

// The verify result of a certificate without any DNS name or address in its subjectAltName: its common name does not count. OpenSSL's
// X509_V_ERR_APPLICATION_VERIFICATION.
inline constexpr long kNoHostNames = 50;

// Names the host, says what to fix, has no secrets.
Error ToError(const Settings& settings, const Failure& failure);

}  // namespace kube::internal
