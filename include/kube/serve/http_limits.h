// HttpLimits: what one client, and all of them together, may cost an HttpServer. HttpUsage: what they cost it now.
//
// The defaults are safe for ports that anyone in the cluster can reach: health, metrics. ForWebhooks() adds a bounded body, ForApi() is
// for a server whose clients are trusted to list, watch and upload.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kube/base/export.h"
#include "kube/base/std_chrono.h"

namespace kube::serve {

struct KUBE_EXPORT HttpLimits {
  // HTTP/2, by ALPN or with prior knowledge. Off: a client has more ways to make an HTTP/2 server work than an HTTP/1.1 server.
  bool http2 = false;

  // ---- A request ----
  std::size_t max_header_bytes = std::size_t{16} << 10;  // names, values and 32 bytes for each
  std::size_t max_body_bytes = 0;

  // ---- A connection ----
  std::uint32_t max_streams = 32;  // HTTP/2 requests at a time
  // HTTP/2 frames that a client may send ahead of what it gets done: PING, SETTINGS, RST_STREAM, CONTINUATION, WINDOW_UPDATE and the like.
  // A tenth of it is added each second, and each answer and KiB sent adds some. A connection that has used them up is closed.
  std::uint32_t max_control_frames = 200;
  // Of the kernel, for each connection. 0: what the system gives.
  std::size_t send_buffer_bytes = std::size_t{32} << 10;
  std::size_t receive_buffer_bytes = std::size_t{16} << 10;
  // Deadlines. A connection that misses one is closed.
  std::chrono::milliseconds header_timeout = std::chrono::seconds(10);  // from the first byte of a request, or of TLS, to its headers' end
  std::chrono::milliseconds body_timeout = std::chrono::seconds(10);    // from there to the end of its body
  std::chrono::milliseconds answer_timeout = std::chrono::seconds(30);  // from the end of an answer until the client has taken all of it
  std::chrono::milliseconds idle_timeout = std::chrono::seconds(90);    // between requests

  // ---- All connections ----
  // A peer is an IPv4 address or an IPv6 /64. When a limit is reached, the newcomer is let in, and the connection without an answer for the
  // longest time is closed: of the same peer if that has too many, else of the peer with most.
  std::size_t max_connections = 128;
  std::size_t max_connections_per_peer = 32;
  // Bytes held for clients: requests, answers that were not taken yet, buffers, and an allowance for TLS and HTTP/2. Beyond it, the
  // connections that hold most are closed. Exceeded for a moment, by what one read of a connection brings: up to max_streams answers.
  std::size_t max_bytes = std::size_t{8} << 20;
  std::size_t max_bytes_per_peer = std::size_t{4} << 20;

  // Admission and conversion webhooks: objects of up to 7 MiB, twice in a body, from few peers with many connections.
  static HttpLimits ForWebhooks();
  // API servers, and tests: HTTP/2, large bodies, thousands of streams and connections.
  static HttpLimits ForApi();

  bool operator==(const HttpLimits&) const = default;
};

struct HttpUsage {
  std::size_t connections = 0;
  std::size_t bytes_held = 0;
  // The largest values so far.
  std::size_t most_connections = 0;
  std::size_t most_bytes_held = 0;
  // Connections that were closed to keep the limits, by cause.
  std::uint64_t closed_for_connections = 0;
  std::uint64_t closed_for_bytes = 0;
  std::uint64_t closed_for_deadline = 0;
  std::uint64_t closed_for_flood = 0;
};

}  // namespace kube::serve
