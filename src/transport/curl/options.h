// Converts the settings to libcurl's options, and libcurl's errors to failures.
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
// Adds a line. Returns false if memory is exhausted.
bool Append(Slist& list, const std::string& line);

struct EasyDeleter {
  void operator()(CURL* easy) const { Curl().easy_cleanup(easy); }
};
using Easy = std::unique_ptr<CURL, EasyDeleter>;

// Sets the connection options of a handle: target, proxy, timeouts, trust and client certificate. `settings`, `material`, `rules` (made
// from it by MakeSslContext) and `connect_to` (filled here) must outlive the handle. Errors: kConfig if this libcurl cannot apply them to
// TLS.
Result<void> SetConnectionOptions(CURL* easy, const Settings& settings, const TlsMaterial* material, SSL_CTX* rules, Slist& connect_to);

// The endpoint's URL for libcurl, with the name that the certificate must have.
std::string ConnectUrl(const Settings& settings, const TlsMaterial* material);

// `detail`: the contents of the handle's error buffer.
Failure ReadFailure(CURL* easy, CURLcode code, const char* detail);

}  // namespace kube::internal
