// Pool: the connections of one set of certificates, and the requests on them. One libcurl multi handle.
//
// A transport has one current pool. When the certificates change, or connections shall not be used again, it gets a new one, and the old
// one goes when its last request is over: libcurl itself has no way to retire a connection.
//
// Everything here belongs to the I/O thread.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/error.h"
#include "transport/curl/call.h"
#include "transport/curl/settings.h"

namespace kube::internal {

class IoLoop;
class Pool;
struct Transfer;

using TimePoint = std::chrono::steady_clock::time_point;

// One socket of libcurl's that leads to the server, or to the proxy.
struct Connection {
  Pool* pool = nullptr;
  int fd = -1;
  int local_port = 0;  // 0 until somebody asked; it tells which connection a request went to
  bool used = false;   // a request went out on it
  bool http2 = false;  // an answer said so
  std::vector<Transfer*> active;
  Transfer* reader = nullptr;  // who got bytes last
  Transfer* bulk = nullptr;    // who got many bytes in this round: there may be more, where no socket event tells of it
  int quiet_rounds = 0;        // that gave nothing to anybody
  std::uint64_t delivered = 0;

  TimePoint last_read{};
  std::optional<TimePoint> probed_at;
  Transfer* probe = nullptr;
  std::optional<TimePoint> unflushed_since;  // a RST_STREAM waits in libcurl's buffer for something else to be sent
  std::optional<Error> cause;                // why it was given up
};

// A libcurl easy handle and what it does now. Handles are used again and again: setting one up costs more than a request.
struct Transfer {
  Pool* pool = nullptr;
  Easy easy;
  std::shared_ptr<Call> call;  // null: a health probe, or nothing
  Connection* connection = nullptr;
  std::size_t slot = 0;  // in pool->active
  char detail[CURL_ERROR_SIZE] = {};

  // Options that the handle has.
  Slist connect_to;
  Slist headers;
  HttpHeaders headers_of;
  bool headers_with_body = false;
  bool headers_in_target = false;
  std::string target;
  std::string method;
  bool body_set = false;
  std::optional<std::string> encoding;

  // Of the request under way.
  int attempts = 0;
  std::size_t header_bytes = 0;
  std::uint64_t round = 0;
  std::size_t round_bytes = 0;
  bool head_done = false;
  bool paused = false;
  bool flushing = false;
  bool header_too_large = false;
  bool body_too_large = false;
  bool refusable = false;         // a server that ends it without an error has not taken it: HTTP/2, or the first on its connection
  bool not_repeatable = false;    // libcurl wanted to send it a second time, and it must not be
  Connection* suspect = nullptr;  // of a probe: the connection that it has to use
};

class Pool {
 public:
  Pool(IoLoop& loop, std::shared_ptr<const Settings> settings, std::shared_ptr<const TlsMaterial> material);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // Requires: nothing is active.
  ~Pool();

  const std::shared_ptr<const TlsMaterial>& material() const { return material_; }
  CURLM* multi() const { return multi_; }
  const std::vector<Transfer*>& active() const { return active_; }
  const std::vector<std::unique_ptr<Connection>>& connections() const { return connections_; }
  std::size_t http2_connections() const { return http2_connections_; }

  // Null, and the call is not started: libcurl failed, as for want of memory.
  Transfer* Start(std::shared_ptr<Call> call);
  // A request that nobody waits for, to see whether the server still answers on that connection.
  Transfer* StartProbe(Connection& suspect);
  // Takes it out of libcurl, wherever it is, and keeps the handle for the next one.
  void Remove(Transfer& transfer);
  // Lets the transfer run, as if its socket had something: it reads what is there for all that share its connection. This costs the same
  // with one and with a hundred streams; libcurl's own way is to let all of them look, each with a system call.
  static void Poke(Transfer& transfer);

  // libcurl's timer.
  const std::optional<TimePoint>& timer() const { return timer_; }
  // Runs what is due; true where more is due at once.
  bool RunTimer();
  void OnSocket(int fd, int bits);

 private:
  friend class IoLoop;
  std::unique_ptr<Transfer> NewTransfer();
  std::unique_ptr<Transfer> TakeTransfer();
  void Prepare(Transfer& transfer, const HttpRequest& request);
  void SetMethod(Transfer& transfer, const HttpRequest& request);
  void SetHeaders(Transfer& transfer, const HttpRequest& request, bool in_target);
  void SetTarget(Transfer& transfer, const HttpRequest& request, bool with_headers);
  bool Add(std::unique_ptr<Transfer> transfer);
  void Attach(Transfer& transfer, Connection* connection);
  Connection* FindConnection(int local_port);

  static int OnSocketChange(CURL* easy, curl_socket_t fd, int what, void* pool, void* unused);
  static int OnTimerChange(CURLM* multi, long milliseconds, void* pool);
  static curl_socket_t OnOpen(void* pool, curlsocktype purpose, curl_sockaddr* address);
  static int OnClose(void* pool, curl_socket_t fd);
  static int OnReady(void* transfer, char* ip, char* local_ip, int port, int local_port);
  static std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* transfer);
  static std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* transfer);
  static void OnStatusLine(Transfer& transfer, std::string_view line);
  static void OnHeadEnd(Transfer& transfer);
  static std::size_t OnStreamBody(Transfer& transfer, const char* data, std::size_t size);

  IoLoop& loop_;
  const std::shared_ptr<const Settings> settings_;
  const std::shared_ptr<const TlsMaterial> material_;
  CURLM* multi_ = nullptr;
  std::optional<TimePoint> timer_;
  std::vector<Transfer*> active_;  // owned
  std::vector<std::unique_ptr<Transfer>> idle_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::size_t http2_connections_ = 0;
};

}  // namespace kube::internal
