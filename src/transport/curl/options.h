// How libcurl is told what the settings say, and what it tells of a failure.
#pragma once

#include <curl/curl.h>
#include <openssl/ssl.h>

#include <memory>
#include <string>

#include "kube/base/result.h"
#include "kube/config/credentials.h"
#include "transport/curl/libcurl.h"
#include "transport/request/failure.h"
#include "transport/request/settings.h"

namespace kube::internal {

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

// `detail`: of the handle's error buffer.
Failure ReadFailure(CURL* easy, CURLcode code, const char* detail);

}  // namespace kube::internal
