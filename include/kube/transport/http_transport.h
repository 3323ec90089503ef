// The transport over the network: HTTP/2 or HTTP/1.1, TLS, proxies; one I/O thread.
//
//   Result<std::shared_ptr<Transport>> transport = MakeHttpTransport({.base_url = "https://10.0.0.1:6443", .tls = tls});
//
// Clients make their own. It sends what it is given: credentials, retries and limits are the decorators' work. Targets go out as they are,
// redirects are not followed.
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

struct HttpTransportOptions {
  std::string base_url{};            // with scheme; a path is put before every target
  std::shared_ptr<TlsSource> tls{};  // asked before each request; null: the system's roots
  // http, https or socks5. Empty: as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say, by Go's rules.
  std::string proxy_url{};
  bool disable_http2 = false;  // plain http:// is HTTP/1.1 always
  // A server that chose HTTP/1.1 is offered HTTP/2 again after so long, on a connection beside those in use.
  std::chrono::milliseconds http2_retry = std::chrono::seconds(30);
  bool disable_compression = false;  // else gzip is asked for and undone; a request with its own Accept-Encoding gets what comes
  // To resolve the name, connect, pass the proxy and shake hands. Everything behind that has no limit but the context's.
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(30);
  // HTTP/2 connections with requests in flight: after so long without a byte the server is pinged, ...
  std::chrono::milliseconds read_idle_timeout = std::chrono::seconds(30);
  // ... and after so long without an answer the connection is given up, and all that is on it fails (ConnectionLost).
  std::chrono::milliseconds ping_timeout = std::chrono::seconds(15);
  // Bytes that a streaming answer may be ahead of its reader before its sender is held back: with HTTP/2 the window of its stream, with
  // HTTP/1.1 what the system keeps for the connection comes on top.
  std::size_t stream_buffer = 256 * 1024;
  std::size_t max_response = std::size_t{4} << 30;  // of an answer that is read whole
  std::size_t max_header_bytes = std::size_t{1} << 20;
};

// What connections did; for metrics and tests.
struct TransportStats {
  std::uint64_t requests = 0;
  std::uint64_t connections_opened = 0;
  std::uint64_t connections_open = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t paused = 0;     // streams that wait for their reader
  std::uint64_t receiving = 0;  // streams that are alone on their connection, and are received by the thread that reads them
};

// Requests share one HTTP/2 connection; more than the server allows at a time wait for a free stream. Another connection is opened where
// watches hold most of the streams, or where none becomes free.
// Over HTTP/1.1 each request at a time has a connection. A changed client certificate closes all connections, a changed CA is for new ones.
//
// Example:
//   HttpRequest request;
//   request.target = "/version";
//   Result<HttpResponse> answer = transport->RoundTrip(ctx, std::move(request));
//
// Thread safety: all functions from many threads at once.
// Lifetime: the destructor ends what is in flight (kClosed) and joins the I/O thread. Streams of answers may outlive it, and so may what
// Upgrade gave.
// Blocking and cancellation: as Transport. A request whose context stops is reset, and its connection stays in use; a Read whose context
// stops fails alone, the stream goes on until it is closed.
// Errors: as Transport; messages name the server and say what to fix. A GET that got no answer on a connection that was used before is sent
// again; nothing else is, unless the server said that it did not take it (HTTP/2: REFUSED_STREAM, GOAWAY).
// Cost: one thread ("kube-io") for a transport. A request costs one or two thread switches; its body, and an answer that is read whole, are
// copied once.
class KUBE_EXPORT HttpTransport : public Transport {
 public:
  virtual TransportStats stats() const = 0;
  // Closes connections that nothing uses, and lets none of the others be used again.
  virtual void CloseConnections() = 0;
};

// Errors: kConfig for a URL or proxy that cannot be understood.
KUBE_EXPORT Result<std::shared_ptr<HttpTransport>> MakeHttpTransport(HttpTransportOptions options);

}  // namespace kube
