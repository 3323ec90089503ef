// HttpLimits: what one client, and all clients together, may consume of an HttpServer. HttpUsage: what they consume now.
//
// The defaults are safe for ports that anyone in the cluster can reach, such as health and metrics. ForWebhooks() adds a bounded body.
// ForApi() is for servers that trust their clients to list, watch and upload.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kube/base/export.h"
#include "kube/base/std_chrono.h"

namespace kube::serve {

// Limits of an HttpServer.
struct KUBE_EXPORT HttpLimits {
  // HTTP/2, by ALPN or with prior knowledge. Off by default: HTTP/2 gives clients more ways to consume the server than HTTP/1.1.
  bool http2 = false;

  // ---- A request ----
  std::size_t max_header_bytes = std::size_t{16} << 10;  // names and values, plus 32 bytes for each header
  // Beyond it a handler sees HttpRequest::body_too_large. By default no body is accepted.
  std::size_t max_body_bytes = 0;

  // ---- A connection ----
  std::uint32_t max_streams = 32;  // concurrent HTTP/2 requests
  // Budget of HTTP/2 frames that do not advance a request: PING, SETTINGS, RST_STREAM, CONTINUATION, WINDOW_UPDATE and the like. It refills
  // by a tenth per second, and with each answer and KiB sent. A connection that exhausts it is closed.
  std::uint32_t max_control_frames = 200;
  // Kernel buffers of each connection. 0 for the system's default.
  std::size_t send_buffer_bytes = std::size_t{32} << 10;
  std::size_t receive_buffer_bytes = std::size_t{16} << 10;
  // Deadlines. A connection that misses one is closed.
  // From the first byte of a request, or of the TLS handshake, to the end of the headers.
  std::chrono::milliseconds header_timeout = std::chrono::seconds(10);
  std::chrono::milliseconds body_timeout = std::chrono::seconds(10);    // from the end of the headers to the end of the body
  std::chrono::milliseconds answer_timeout = std::chrono::seconds(30);  // from the end of an answer until the client has received all of it
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(90);    // between requests

  // ---- All connections ----
  // A peer is an IPv4 address or an IPv6 /64. At a limit the new connection is accepted, and the connection whose last answer is oldest
  // is closed: one of the same peer if that peer is over its limit, otherwise one of the peer with the most connections.
  std::size_t max_connections = 128;
  std::size_t max_connections_per_peer = 32;
  // Bytes held for clients: requests, pending answers, buffers, and an allowance for TLS and HTTP/2. Beyond the limit, the connections that
  // hold the most are closed. A single read of a connection may exceed it briefly, by up to max_streams answers.
  std::size_t max_bytes = std::size_t{8} << 20;
  std::size_t max_bytes_per_peer = std::size_t{4} << 20;

  // Limits for admission and conversion webhooks: objects of up to 7 MiB, two per body, from few peers with many connections.
  static HttpLimits ForWebhooks();
  // Limits for API servers and tests: HTTP/2, large bodies, thousands of streams and connections.
  static HttpLimits ForApi();

  bool operator==(const HttpLimits&) const = default;
};

// What clients of an HttpServer consume.
struct HttpUsage {
  std::size_t connections = 0;  // open now
  std::size_t bytes_held = 0;   // held now, for HttpLimits::max_bytes
  // Maximum values so far.
  std::size_t most_connections = 0;
  std::size_t most_bytes_held = 0;
  // Connections closed to enforce the limits, by cause.
  std::uint64_t closed_for_connections = 0;
  std::uint64_t closed_for_bytes = 0;
  std::uint64_t closed_for_deadline = 0;
  std::uint64_t closed_for_flood = 0;
};

}  // namespace kube::serve
