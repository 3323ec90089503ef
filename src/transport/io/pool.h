// Pool: the connections of one set of certificates, and the requests on them.
//
// Connections are opened by a Dial, or by libcurl where a proxy is in between. Where the server chose HTTP/2, the connection is a Link:
// read and written here, with a session of our own. Else libcurl carries the requests, by HTTP/1.1 and on connections that it opens itself.
//
// A transport has one current pool. When the certificates change, or connections shall not be used again, it gets a new one, and the old
// one goes when its last request is over.
//
// Everything here belongs to who does the I/O of the transport: one thread at a time.
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

// One socket that leads to the server, or to the proxy.
struct Connection {
  Pool* pool = nullptr;
  int fd = -1;
  int local_port = 0;  // 0 until somebody asked; it tells which connection a request went to
  bool used = false;   // a request went out on it
  std::vector<Transfer*> active;
  std::optional<Error> cause;  // why it was given up
};

// A libcurl easy handle and the HTTP/1.1 request that it does now. Handles are used again and again: setting one up costs more than a
// request.
struct Transfer {
  Pool* pool = nullptr;
  Easy easy;
  std::shared_ptr<Call> call;
  Connection* connection = nullptr;
  std::size_t slot = 0;  // in pool->active
  char detail[CURL_ERROR_SIZE] = {};

  // Options that the handle has.
  Slist connect_to;
  Slist headers;
  HttpHeaders headers_of;
  bool headers_with_body = false;
  std::string target;
  std::string method;
  bool body_set = false;
  std::optional<std::string> encoding;

  // Of the request under way.
  int attempts = 0;
  std::size_t header_bytes = 0;
  bool head_done = false;
  bool paused = false;
  bool flushing = false;
  bool header_too_large = false;
  bool body_too_large = false;
  bool not_repeatable = false;  // libcurl wanted to send it a second time, and it must not be
};

class Pool {
 public:
  Pool(IoLoop& loop, std::shared_ptr<const Settings> settings, std::shared_ptr<const TlsMaterial> material);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  // Requires: nothing is active, and there are no links.
  ~Pool();

  const std::shared_ptr<const TlsMaterial>& material() const { return material_; }
  // Null until something needs libcurl.
  CURLM* multi() const { return multi_; }
  const std::vector<std::unique_ptr<Connection>>& connections() const { return connections_; }

  // ---- HTTP/1.1 ----
  // The server speaks nothing better, or shall not.
  bool http1() const { return http1_only_ || http1_; }
  // The server chose HTTP/1.1 a while ago, and may have learned HTTP/2 since: a connection shall be opened to see.
  bool ShouldOfferHttp2(TimePoint now) const { return !http1_only_ && http1_ && !opens() && now >= offer_http2_at_; }
  const std::vector<Transfer*>& active() const { return active_; }
  // Errors: the call is not started. There is no libcurl, or it failed, as for want of memory.
  Result<void> Start(std::shared_ptr<Call> call);
  // Takes it out of libcurl, wherever it is, and keeps the handle for the next one.
  void Remove(Transfer& transfer);

  // ---- HTTP/2 ----
  const std::vector<std::unique_ptr<Link>>& links() const { return links_; }
  // One at a time. Errors: the certificates cannot be used; no libcurl, where that is needed.
  Result<void> Open(TimePoint now);
  // At most one of these.
  Dial* dial() const { return dial_.get(); }
  const Opening* opening() const { return opening_.get(); }
  bool opens() const { return dial_ != nullptr || opening_ != nullptr; }
  // The connection is there: null where the server speaks no HTTP/2.
  Link* FinishOpening(CallOwner& owner);
  void AbandonOpening();
  // Requires: its session has ended.
  void CloseLink(Link& link);
  // One that takes another request; null where there is none.
  Link* FreeLink() const;
  bool HasUsableLink() const;
  bool busy() const;

  // libcurl's timer.
  const std::optional<TimePoint>& timer() const { return timer_; }
  // Runs what is due; true where more is due at once.
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
  SslContext context_;  // made for the first connection
  CURLM* multi_ = nullptr;
  std::optional<TimePoint> timer_;
  const bool http1_only_;          // as the settings say
  bool http1_ = false;             // as the server chose last
  TimePoint offer_http2_at_{};     // again
  std::vector<Transfer*> active_;  // owned
  std::vector<std::unique_ptr<Transfer>> idle_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::unique_ptr<Dial> dial_;
  std::unique_ptr<Opening> opening_;
  std::vector<std::unique_ptr<Link>> links_;
};

}  // namespace kube::internal
