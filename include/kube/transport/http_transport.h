// HttpTransport: the network transport, with HTTP/2 or HTTP/1.1, TLS and proxies. Uses one I/O thread.
//
//   Result<std::shared_ptr<Transport>> transport = MakeHttpTransport({.base_url = "https://10.0.0.1:6443", .tls = tls});
//
// Each Client creates its own. It sends requests unchanged: credentials, retries and limits are added by decorators. It does not normalize
// targets and does not follow redirects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/base/std_chrono.h"
#include "kube/base/std_memory.h"
#include "kube/config/credentials.h"
#include "kube/transport/transport.h"

namespace kube {

// Options of MakeHttpTransport.
struct HttpTransportOptions {
  std::string base_url{};            // with a scheme; its path is prepended to every target
  std::shared_ptr<TlsSource> tls{};  // checked before each request; null: the system's roots
  // http, https or socks5. Empty: from HTTPS_PROXY, HTTP_PROXY and NO_PROXY, by Go's rules.
  std::string proxy_url{};
  bool disable_http2 = false;  // plain http:// always uses HTTP/1.1
  // If a server chose HTTP/1.1, HTTP/2 is offered again after this time, on an additional connection.
  std::chrono::milliseconds http2_retry = std::chrono::seconds(30);
  // By default gzip is requested and decoded. A request with its own Accept-Encoding gets the body undecoded.
  bool disable_compression = false;
  // Covers DNS, connect, proxy and TLS handshake. Everything after that is limited only by the context.
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(30);
  // For HTTP/2 connections with requests in flight: the server is pinged after this time without a byte.
  std::chrono::milliseconds read_idle_timeout = std::chrono::seconds(30);
  // If the ping is not answered within this time, the connection is closed and its requests fail (ConnectionLost).
  std::chrono::milliseconds ping_timeout = std::chrono::seconds(15);
  // Bytes that a streaming response may be ahead of its reader before the sender is paused. With HTTP/2 this is the window of the stream;
  // with HTTP/1.1 the system's socket buffer is added.
  std::size_t stream_buffer = 256 * 1024;
  std::size_t max_response = std::size_t{4} << 30;  // for a response that is read whole
  // Limit for all headers of a response.
  std::size_t max_header_bytes = std::size_t{1} << 20;
};

// Counters of the transport, for metrics and tests.
struct TransportStats {
  std::uint64_t requests = 0;
  std::uint64_t connections_opened = 0;
  std::uint64_t connections_open = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t paused = 0;     // streams that wait for their reader
  std::uint64_t receiving = 0;  // streams alone on their connection that the reading thread itself receives
};

// The network transport. Requests share one HTTP/2 connection; beyond the server's limit of concurrent streams they wait for a free one.
// Another connection is opened if watches hold most of the streams, or if none becomes free. Over HTTP/1.1 each concurrent request has its
// own connection. A new client certificate closes all connections; a new CA applies to new connections.
//
// Example:
//   HttpRequest request;
//   request.target = "/version";
//   Result<HttpResponse> answer = transport->RoundTrip(ctx, std::move(request));
//
// Thread safety: all functions may be called from many threads at once.
// Lifetime: the destructor ends all requests in flight (kClosed) and joins the I/O thread. Response streams and upgraded connections may
//   outlive it.
// Blocking and cancellation: as Transport. If the context of a request stops, only its stream is reset and the connection stays in use. If
//   the context of a Read stops, only that Read fails; the stream continues until it is closed.
// Errors: as Transport; messages name the server and the fix. A GET without a response on a reused connection is sent again. Nothing else
//   is, unless the server stated that it did not process the request (HTTP/2: REFUSED_STREAM, GOAWAY).
// Cost: one thread ("kube-io") per transport. A request costs one or two thread switches; its body, and a response that is read whole, are
//   copied once.
class KUBE_EXPORT HttpTransport : public Transport {
 public:
  // The current counters.
  virtual TransportStats stats() const = 0;
  // Closes idle connections and does not reuse the others.
  virtual void CloseConnections() = 0;
};

// Creates the network transport. Errors: kConfig for an invalid URL or proxy.
KUBE_EXPORT Result<std::shared_ptr<HttpTransport>> MakeHttpTransport(HttpTransportOptions options);

}  // namespace kube
