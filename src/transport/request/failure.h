// The failure of a connection or request from any source (a Dial, a TLS connection, libcurl), and the error for its caller.
#pragma once

#include <string>

#include "kube/base/error.h"

namespace kube::internal {

struct Settings;

enum class FailureKind {
  kNone,
  kUnknownHost,
  kUnknownProxy,
  kConnect,            // the connection was not accepted
  kProxy,              // the proxy did not connect to the server
  kTimeout,            // while connecting
  kCertificate,        // the server's certificate was rejected
  kTls,                // any other handshake failure
  kClientCertificate,  // the client certificate cannot be used
  kCa,                 // the configured CA cannot be used
  kNoAnswer,           // the connection ended before a response
  kPartialAnswer,      // ... in the middle of a response
  kConnection,         // reading or writing failed
  kNotHttp,
  kNotCompressed,  // although the header says so
  kTooLarge,       // or memory is exhausted
  kOther,
};

struct Failure {
  FailureKind kind = FailureKind::kNone;
  std::string detail;  // in the words of the library that reported it
  long os_error = 0;
  long verify_result = 0;  // OpenSSL's result for the server's certificate
  long connect_code = 0;   // the proxy's response code to CONNECT
  bool answered = false;   // a header has arrived
};

// The verify result for a certificate without DNS names and addresses in its subjectAltName, because the common name is not used. OpenSSL's
// X509_V_ERR_APPLICATION_VERIFICATION.
inline constexpr long kNoHostNames = 50;

// Names the host, states the fix, contains no secrets.
Error ToError(const Settings& settings, const Failure& failure);

}  // namespace kube::internal
