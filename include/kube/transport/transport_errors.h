// What went wrong on the way: the reason() of errors of kind kTransport.
//
//   if (IsConnectionRefused(error)) ...
//
// Retries and reflectors decide by these; messages are for people and may change.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"
#include "kube/base/export.h"

namespace kube {

namespace transport_reason {
inline constexpr std::string_view kConnectionRefused = "ConnectionRefused";
inline constexpr std::string_view kConnectionReset = "ConnectionReset";  // the peer reset it, or the stream
inline constexpr std::string_view kUnexpectedEof = "UnexpectedEof";      // it closed before the answer was complete
inline constexpr std::string_view kGoAway = "GoAway";                  // HTTP/2: the server ended the connection before it took the request
inline constexpr std::string_view kConnectionLost = "ConnectionLost";  // nothing came back, not even to a health probe
inline constexpr std::string_view kDns = "NameResolution";
inline constexpr std::string_view kTls = "Tls";      // handshake or verification; the message says what to fix
inline constexpr std::string_view kProxy = "Proxy";  // the proxy refused or could not be reached
inline constexpr std::string_view kTooLarge = "ResponseTooLarge";
inline constexpr std::string_view kProtocol = "Protocol";  // not HTTP, or broken HTTP
}  // namespace transport_reason

KUBE_EXPORT Error TransportError(std::string_view reason, std::string message);

KUBE_EXPORT bool IsTransportError(const Error& e, std::string_view reason);
inline bool IsConnectionRefused(const Error& e) { return IsTransportError(e, transport_reason::kConnectionRefused); }
inline bool IsConnectionReset(const Error& e) { return IsTransportError(e, transport_reason::kConnectionReset); }
// The connection ended too early: what a watch that was cut by a proxy or a restart looks like. Early ends, resets, GOAWAY and lost ones
// are among them; refused ones, and what went wrong before there was a connection, are not.
KUBE_EXPORT bool IsProbableEof(const Error& e);

}  // namespace kube
