// What all connections of a transport have in common, and how libcurl is told.
#pragma once

#include <curl/curl.h>
#include <openssl/ssl.h>

#include <memory>
#include <optional>
#include <string>

#include "kube/base/error.h"
#include "kube/base/result.h"
#include "kube/transport/http_transport.h"
#include "transport/curl/endpoint.h"
#include "transport/curl/libcurl.h"

namespace kube::internal {

struct Settings {
  HttpTransportOptions options;
  Endpoint endpoint;
  std::optional<Proxy> proxy;
  std::string authority;  // as Host and :authority have it

  // To the server, or to a proxy.
  bool uses_tls() const { return endpoint.tls || (proxy && proxy->kind == Proxy::Kind::kHttps); }
  // libcurl needs an absolute target only where a plain HTTP proxy passes the request on by itself.
  bool absolute_target() const { return !endpoint.tls && proxy && proxy->kind != Proxy::Kind::kSocks5; }
};

Result<std::shared_ptr<const Settings>> MakeSettings(HttpTransportOptions options);

struct SlistDeleter {
  void operator()(curl_slist* list) const { Curl().slist_free_all(list); }
};
using Slist = std::unique_ptr<curl_slist, SlistDeleter>;
// Adds a line. False where memory is short.
bool Append(Slist& list, const std::string& line);

struct EasyDeleter {
  void operator()(CURL* easy) const { Curl().easy_cleanup(easy); }
};
using Easy = std::unique_ptr<CURL, EasyDeleter>;

// A handle's options for connecting: where to, by which proxy, how long, what to trust and what to show. `settings`, `material`, `rules`
// (made of it by MakeSslContext) and `connect_to` (filled here) have to outlive the handle. Errors: kConfig if this libcurl cannot do TLS
// by them.
Result<void> SetConnectionOptions(CURL* easy, const Settings& settings, const TlsMaterial* material, SSL_CTX* rules, Slist& connect_to);

// The URL of the endpoint as libcurl sees it: with the name that the certificate has to have.
std::string ConnectUrl(const Settings& settings, const TlsMaterial* material);

// Nothing, or what is wrong with the request: characters that would break out of a header, a target that is no path.
std::optional<Error> CheckRequest(const HttpRequest& request);

// How a transfer ended, as libcurl saw it.
struct Failure {
  CURLcode code = CURLE_OK;
  std::string detail;  // of the error buffer
  long os_error = 0;
  long verify_result = 0;  // of OpenSSL, for the server's certificate
  long connect_code = 0;   // a proxy's answer to CONNECT
  bool answered = false;   // a header came
};
Failure ReadFailure(CURL* easy, CURLcode code, const char* detail);
// Names the host, says what to fix, has no secrets.
Error ToError(const Settings& settings, const Failure& failure);

}  // namespace kube::internal
