#include "transport/request/failure.h"

#include <fmt/format.h>

#include <cerrno>
#include <string_view>

#include "kube/transport/transport_errors.h"
#include "transport/request/settings.h"

namespace kube::internal {
namespace {

namespace reason = transport_reason;

// OpenSSL's X509_V_ERR_*; part of its interface, so they do not change.
constexpr long kNotYetValid = 9;
constexpr long kExpired = 10;
constexpr long kSelfSignedLeaf = 18;
constexpr long kSelfSignedInChain = 19;
constexpr long kNoIssuer = 20;
constexpr long kNoIssuerOfLeaf = 21;
constexpr long kHostnameMismatch = 62;
constexpr long kAddressMismatch = 64;

bool Has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string Join(std::string text, const std::string& detail) { return detail.empty() ? text : text + " (" + detail + ")"; }

Error CertificateError(const Settings& settings, const Failure& failure) {
  const std::string host = settings.endpoint.HostPort();
  const std::string& detail = failure.detail;
  switch (failure.verify_result) {
    case kExpired:
      return TransportError(reason::kTls,
                            fmt::format("the certificate of {} has expired: it has to be renewed on the server, or the clock of "
                                        "this machine is wrong",
                                        host));
    case kNotYetValid:
      return TransportError(reason::kTls,
                            fmt::format("the certificate of {} is not valid yet: the clock of this machine or of the one that "
                                        "made it is wrong",
                                        host));
    case kSelfSignedLeaf:
    case kSelfSignedInChain:
    case kNoIssuer:
    case kNoIssuerOfLeaf:
      return TransportError(reason::kTls,
                            fmt::format("the certificate of {} was signed by an unknown authority: the configured CA is not the "
                                        "one of this server",
                                        host));
    case kNoHostNames:
      return TransportError(reason::kTls,
                            fmt::format("the certificate of {} has no subjectAltName with a DNS name or an IP address, and its "
                                        "common name does not count: issue one that has the server's names",
                                        host));
    case kHostnameMismatch:
    case kAddressMismatch:
      break;
    default:
      if (failure.verify_result != 0 && !Has(detail, "no alternative certificate subject name")) {
        return TransportError(reason::kTls, Join(fmt::format("the certificate of {} was not accepted", host), detail));
      }
  }
  if (failure.verify_result == kHostnameMismatch || failure.verify_result == kAddressMismatch || Has(detail, "subject name") ||
      Has(detail, "does not match")) {
    return TransportError(reason::kTls,
                          Join(fmt::format("the certificate of {} is for another name: use a name that it has as the server's "
                                           "host, or set tls-server-name",
                                           host),
                               detail));
  }
  return TransportError(reason::kTls, Join(fmt::format("the certificate of {} was not accepted", host), detail));
}

Error TlsError(const Settings& settings, const Failure& failure) {
  const std::string host = settings.endpoint.HostPort();
  const std::string& detail = failure.detail;
  if (Has(detail, "wrong version number") || Has(detail, "http request") || Has(detail, "packet length too long")) {
    return TransportError(reason::kTls,
                          fmt::format("{} does not speak TLS: the server's URL has to begin with http:// there, or the port is "
                                      "another one",
                                      host));
  }
  if (Has(detail, "certificate required") || Has(detail, "bad certificate") || Has(detail, "certificate unknown") ||
      Has(detail, "unknown ca") || Has(detail, "certificate expired") || Has(detail, "certificate revoked") ||
      Has(detail, "certificate_required")) {
    return TransportError(
        reason::kTls,
        Join(fmt::format("{} refused the client certificate: it needs one that the server's client CA signed", host), detail));
  }
  if (failure.kind == FailureKind::kClientCertificate) {
    return TransportError(reason::kTls, "the client certificate or its key cannot be used: both have to be PEM and belong together");
  }
  if (failure.kind == FailureKind::kCa) {
    return TransportError(reason::kTls, "the CA cannot be used: it has to be PEM with at least one certificate");
  }
  if (failure.os_error == ECONNRESET || Has(detail, "SSL_ERROR_SYSCALL") || Has(detail, "unexpected eof")) {
    return TransportError(reason::kTls, Join(fmt::format("{} ended the connection during the TLS handshake", host), detail));
  }
  return TransportError(reason::kTls, Join(fmt::format("the TLS handshake with {} failed", host), detail));
}

Error ProxyError(const Settings& settings, const Failure& failure) {
  const std::string proxy = settings.proxy ? settings.proxy->Describe() : "the proxy";
  if (failure.connect_code == 407) {
    return TransportError(reason::kProxy, fmt::format("the proxy {} wants other credentials (407)", proxy));
  }
  if (failure.connect_code != 0 && failure.connect_code / 100 != 2) {
    return TransportError(reason::kProxy, fmt::format("the proxy {} refused to connect to {} ({})", proxy, settings.endpoint.HostPort(),
                                                      failure.connect_code));
  }
  return TransportError(reason::kProxy,
                        Join(fmt::format("the way to {} by the proxy {} failed", settings.endpoint.HostPort(), proxy), failure.detail));
}

Error ConnectError(const Settings& settings, const Failure& failure) {
  const std::string host = settings.endpoint.HostPort();
  if (settings.proxy) {
    if (failure.os_error == ECONNREFUSED) {
      return TransportError(reason::kProxy, fmt::format("the proxy {} cannot be reached: connection refused", settings.proxy->Describe()));
    }
    return ProxyError(settings, failure);
  }
  if (failure.os_error == ECONNREFUSED || failure.os_error == 0) {
    return TransportError(reason::kConnectionRefused,
                          fmt::format("connection to {} refused: is the server running, and are host and port right?", host));
  }
  return TransportError(reason::kConnectionRefused, Join(fmt::format("{} cannot be reached", host), failure.detail));
}

}  // namespace

Error ToError(const Settings& settings, const Failure& failure) {
  const std::string host = settings.endpoint.HostPort();
  const std::string& detail = failure.detail;
  if (failure.connect_code != 0 && failure.connect_code / 100 != 2) return ProxyError(settings, failure);
  switch (failure.kind) {
    case FailureKind::kUnknownHost:
      return TransportError(reason::kDns, fmt::format("the name {} of the server cannot be resolved: is it spelled right, does DNS work?",
                                                      settings.endpoint.host));
    case FailureKind::kUnknownProxy:
      return TransportError(reason::kDns,
                            fmt::format("the name of the proxy {} cannot be resolved", settings.proxy ? settings.proxy->Describe() : ""));
    case FailureKind::kConnect:
      return ConnectError(settings, failure);
    case FailureKind::kProxy:
      return ProxyError(settings, failure);
    case FailureKind::kTimeout:
      return Error::Timeout(fmt::format("connecting to {} took longer than {} ms: a firewall may drop the packets, or the host is down",
                                        host, settings.options.connect_timeout.count()));
    case FailureKind::kCertificate:
      return CertificateError(settings, failure);
    case FailureKind::kTls:
    case FailureKind::kClientCertificate:
    case FailureKind::kCa:
      return TlsError(settings, failure);
    case FailureKind::kNoAnswer:
      return TransportError(reason::kUnexpectedEof, fmt::format("{} closed the connection without an answer", host));
    case FailureKind::kPartialAnswer:
      return TransportError(reason::kUnexpectedEof, fmt::format("{} closed the connection before the answer was complete", host));
    case FailureKind::kConnection:
      if (settings.endpoint.tls && !failure.answered && Has(detail, "alert")) return TlsError(settings, failure);
      if (Has(detail, "wrong version number") || Has(detail, "http request")) return TlsError(settings, failure);
      if (Has(detail, "unexpected eof") || Has(detail, "bad record")) {
        return TransportError(reason::kUnexpectedEof, Join(fmt::format("{} cut the connection", host), detail));
      }
      return TransportError(reason::kConnectionReset, Join(fmt::format("the connection to {} was reset", host), detail));
    case FailureKind::kNotHttp:
      if (!settings.endpoint.tls) {
        return TransportError(reason::kProtocol,
                              fmt::format("{} does not answer with HTTP: if it speaks TLS, the server's URL has to begin "
                                          "with https://",
                                          host));
      }
      return TransportError(reason::kProtocol, Join(fmt::format("{} does not answer with HTTP", host), detail));
    case FailureKind::kNotCompressed:
      return TransportError(reason::kProtocol, fmt::format("the answer of {} is not compressed as its header says", host));
    case FailureKind::kTooLarge:
      return TransportError(reason::kTooLarge, Join(fmt::format("the answer of {} is too large", host), detail));
    case FailureKind::kNone:
    case FailureKind::kOther:
      break;
  }
  if (Has(detail, "header"))
    return TransportError(reason::kProtocol, Join(fmt::format("the answer of {} has a broken header", host), detail));
  return TransportError(reason::kProtocol, Join(fmt::format("the request to {} failed", host), detail));
}

}  // namespace kube::internal
