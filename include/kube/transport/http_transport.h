// The transport over the network: HTTP/2 or HTTP/1.1, TLS, proxies; one I/O thread.
//
//   Result<std::shared_ptr<Transport>> transport = MakeHttpTransport({.base_url = "https://10.0.0.1:6443", .tls = tls});
//
// Clients make their own. It sends what it is given: credentials, retries and limits are the decorators' work.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kube/base/export.h"
#include "kube/base/result.h"
#include "kube/config/credentials.h"
#include "kube/transport/transport.h"

namespace kube {

struct HttpTransportOptions {
  std::string base_url;            // with scheme; a path is put before every target
  std::shared_ptr<TlsSource> tls;  // null: the system's roots
  std::string proxy_url;           // empty: as the environment says
  bool disable_http2 = false;
  bool disable_compression = false;
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(30);
  // HTTP/2 connections with requests in flight: after so long without a byte the server is probed, ...
  std::chrono::milliseconds read_idle_timeout = std::chrono::seconds(30);
  // ... and after so long without an answer the connection is given up.
  std::chrono::milliseconds ping_timeout = std::chrono::seconds(15);
  std::size_t stream_buffer = 256 * 1024;           // bytes that a streaming answer may be ahead of its reader
  std::size_t max_response = std::size_t{4} << 30;  // of an answer that is read whole
  std::size_t max_header_bytes = std::size_t{1} << 20;
};

// What connections did; for metrics and tests.
struct TransportStats {
  std::uint64_t requests = 0;
  std::uint64_t connections_opened = 0;
  std::uint64_t connections_open = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t paused = 0;  // streams that wait for their reader
};

// Lifetime: the destructor ends what is in flight (kClosed) and joins the I/O thread.
class KUBE_EXPORT HttpTransport : public Transport {
 public:
  virtual TransportStats stats() const = 0;
  // Closes connections that nothing uses, and lets none of the others be used again.
  virtual void CloseConnections() = 0;
};

// Errors: kConfig for a URL or proxy that cannot be understood.
KUBE_EXPORT Result<std::shared_ptr<HttpTransport>> MakeHttpTransport(HttpTransportOptions options);

}  // namespace kube
