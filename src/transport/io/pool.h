// Pool: the connections of one set of certificates, and the requests on them.
//
// Connections are opened by a Dial, or by libcurl if there is a proxy. If the server chose HTTP/2, the connection is a Link, read and
// written here with our own session. Otherwise libcurl sends the requests over HTTP/1.1, on connections that it opens itself.
//
// A transport has one current pool. When the certificates change, or CloseConnections is called, it gets a new one, and the old one is
// deleted when its last request has ended.
//
// Everything here belongs to the thread that does the I/O of the transport: one thread at a time.
#pragma once

#include <curl/curl.h>
#include <openssl/ssl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/base/error.h"
#include "transport/curl/options.h"
#include "transport/io/link.h"
#include "transport/request/call.h"
#include "transport/request/settings.h"
#include "transport/tls/dial.h"
#include "transport/tls/tls_socket.h"

namespace kube::internal {

class IoLoop;
class Pool;
struct Transfer;

// A socket to the server or the proxy.
struct Connection {
  Pool* pool = nullptr;
  int fd = -1;
  int local_port = 0;  // 0 until queried; identifies the connection of a request
  bool used = false;   // a request was sent on it
  std::vector<Transfer*> active;
  std::optional<Error> cause;  // why it was abandoned
};

// A libcurl easy handle and its current HTTP/1.1 request. Handles are reused: setting one up costs more than a request.
struct Transfer {
  Pool* pool = nullptr;
  Easy easy;
  std::shared_ptr<Call> call;
  Connection* connection = nullptr;
  std::size_t slot = 0;  // in pool->active
  char detail[CURL_ERROR_SIZE] = {};

  // Options set on the handle.
  Slist connect_to;
  Slist headers;
  HttpHeaders headers_of;
  bool headers_with_body = false;
  std::string target;
  std::string method;
  bool body_set = false;
  std::optional<std::string> encoding;

  // State of the current request.
  int attempts = 0;
  std::size_t header_bytes = 0;
  bool head_done = false;
  bool paused = false;
  bool flushing = false;
  bool header_too_large = false;
  bool body_too_large = false;
  bool not_repeatable = false;  // libcurl tried to send it again, which is not allowed
};

class Pool {
 public:
  Pool(IoLoop& loop, std::shared_ptr<const Settings> settings, std::shared_ptr<const TlsMaterial> material);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // Requires: no active requests and no links.
  ~Pool();

  const std::shared_ptr<const TlsMaterial>& material() const { return material_; }
  // Null until libcurl is needed.
  CURLM* multi() const { return multi_; }
  const std::vector<std::unique_ptr<Connection>>& connections() const { return connections_; }

  // ---- HTTP/1.1 ----
  // The server supports only HTTP/1.1, or HTTP/2 is disabled.
  bool http1() const { return http1_only_ || http1_; }
  // The server chose HTTP/1.1 a while ago and may support HTTP/2 now: a connection should be opened to find out.
  bool ShouldOfferHttp2(TimePoint now) const { return !http1_only_ && http1_ && !opens() && now >= offer_http2_at_; }
  const std::vector<Transfer*>& active() const { return active_; }
  // Errors: the call is not started, because libcurl is missing or failed, for instance for lack of memory.
  Result<void> Start(std::shared_ptr<Call> call);
  // Removes the transfer from libcurl in any state and keeps its handle for reuse.
  void Remove(Transfer& transfer);

  // ---- HTTP/2 ----
  const std::vector<std::unique_ptr<Link>>& links() const { return links_; }
  // Opens one connection at a time. Errors: the certificates cannot be used, or libcurl is needed but missing.
  Result<void> Open(TimePoint now);
  // The Dial under way, if any.
  Dial* dial() const { return dial_.get(); }
  const Opening* opening() const { return opening_.get(); }
  bool opens() const { return dial_ != nullptr || opening_ != nullptr; }
  // Takes the opened connection; null if the server does not support HTTP/2.
  Link* FinishOpening(CallOwner& owner);
  void AbandonOpening();
  // Requires: its session has ended.
  void CloseLink(Link& link);
  // A link with room for another request; null if there is none.
  Link* FreeLink() const;
  bool HasUsableLink() const;
  bool busy() const;

  // The deadline of libcurl's timer.
  const std::optional<TimePoint>& timer() const { return timer_; }
  // Runs what is due; returns true if more is due immediately.
  bool RunTimer();
  void OnSocket(int fd, int bits);

 private:
  friend class IoLoop;
  Result<void> NeedCurl();
  Result<void> NeedContext();
  void ChoseHttp1();
  Result<void> OpenByProxy(TimePoint now);
  Link* FinishDial(CallOwner& owner);
  void DropDial();
  Result<std::unique_ptr<Transfer>> NewTransfer();
  Result<std::unique_ptr<Transfer>> TakeTransfer();
  void SetSocketOptions(CURL* easy);
  void Prepare(Transfer& transfer, const HttpRequest& request);
  void SetMethod(Transfer& transfer, const HttpRequest& request);
  void SetHeaders(Transfer& transfer, const HttpRequest& request);
  void SetTarget(Transfer& transfer, const HttpRequest& request);
  void Attach(Transfer& transfer, Connection* connection);
  Connection* FindConnection(int local_port);

  static int OnSocketChange(CURL* easy, curl_socket_t fd, int what, void* pool, void* unused);
  static int OnTimerChange(CURLM* multi, long milliseconds, void* pool);
  static curl_socket_t OnOpen(void* pool, curlsocktype purpose, curl_sockaddr* address);
  static int OnClose(void* pool, curl_socket_t fd);
  static CURLcode OnTlsContext(CURL* easy, void* context, void* opening);
  static int OnConnected(void* opening, char* ip, char* local_ip, int port, int local_port);
  static int OnReady(void* transfer, char* ip, char* local_ip, int port, int local_port);
  static std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* transfer);
  static std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* transfer);
  static void OnStatusLine(Transfer& transfer, std::string_view line);
  static void OnHeadEnd(Transfer& transfer);
  static std::size_t OnStreamBody(Transfer& transfer, const char* data, std::size_t size);

  IoLoop& loop_;
  const std::shared_ptr<const Settings> settings_;
  const std::shared_ptr<const TlsMaterial> material_;
  SslContext context_;  // created for the first connection
  CURLM* multi_ = nullptr;
  std::optional<TimePoint> timer_;
  const bool http1_only_;          // from the settings
  bool http1_ = false;             // the server's last choice
  TimePoint offer_http2_at_{};     // when to offer it again
  std::vector<Transfer*> active_;  // owned
  std::vector<std::unique_ptr<Transfer>> idle_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::unique_ptr<Dial> dial_;
  std::unique_ptr<Opening> opening_;
  std::vector<std::unique_ptr<Link>> links_;
};

}  // namespace kube::internal
