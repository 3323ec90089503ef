// The reasons of transport errors: reason() of errors of kind kTransport.
//
//   if (IsConnectionRefused(error)) ...
//
// Retries and reflectors depend on these values; messages are for display and may change.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"
#include "kube/base/export.h"

namespace kube {

namespace transport_reason {
inline constexpr std::string_view kConnectionRefused = "ConnectionRefused";  // no process listens on the address
inline constexpr std::string_view kConnectionReset = "ConnectionReset";      // the peer reset the connection or the stream
inline constexpr std::string_view kUnexpectedEof = "UnexpectedEof";          // the peer closed before the response was complete
inline constexpr std::string_view kGoAway = "GoAway";  // HTTP/2: the server ended the connection before it accepted the request
inline constexpr std::string_view kConnectionLost = "ConnectionLost";  // no data arrived, not even a response to a ping
inline constexpr std::string_view kDns = "NameResolution";             // the host name has no address
inline constexpr std::string_view kTls = "Tls";                        // handshake or verification failed; the message says how to fix it
inline constexpr std::string_view kProxy = "Proxy";                    // the proxy refused or was unreachable
inline constexpr std::string_view kTooLarge = "ResponseTooLarge";      // the response exceeded a size limit
inline constexpr std::string_view kProtocol = "Protocol";              // not HTTP, or invalid HTTP
}  // namespace transport_reason

// Creates an error of kind kTransport.
KUBE_EXPORT Error TransportError(std::string_view reason, std::string message);

// IsTransportError, IsConnectionRefused and IsConnectionReset are true for an error of kind kTransport with this reason.
KUBE_EXPORT bool IsTransportError(const Error& e, std::string_view reason);
inline bool IsConnectionRefused(const Error& e) { return IsTransportError(e, transport_reason::kConnectionRefused); }
inline bool IsConnectionReset(const Error& e) { return IsTransportError(e, transport_reason::kConnectionReset); }
// True if the connection ended early, as when a proxy or a restart cuts a watch: early end, reset, GOAWAY or lost. False for refused
// connections and for failures before the connection existed.
KUBE_EXPORT bool IsProbableEof(const Error& e);

}  // namespace kube
