// libcurl, loaded on demand: for HTTP/1.1, proxies and upgraded connections (exec, attach, port-forward).
//
// With the two dozen libraries that it depends on (LDAP, Kerberos, SSH ...) it takes 4.4 MB, a quarter of a small controller's memory. Most
// programs use HTTP/2 without a proxy and never load it.
#pragma once

#include <curl/curl.h>

#include "kube/base/export.h"
#include "kube/base/result.h"

namespace kube::internal {

// libcurl's functions, named without "curl_".
struct LibCurl {
  decltype(&curl_easy_cleanup) easy_cleanup = nullptr;
  decltype(&curl_easy_getinfo) easy_getinfo = nullptr;
  decltype(&curl_easy_init) easy_init = nullptr;
  decltype(&curl_easy_pause) easy_pause = nullptr;
  decltype(&curl_easy_perform) easy_perform = nullptr;
  decltype(&curl_easy_recv) easy_recv = nullptr;
  decltype(&curl_easy_reset) easy_reset = nullptr;
  decltype(&curl_easy_send) easy_send = nullptr;
  decltype(&curl_easy_setopt) easy_setopt = nullptr;
  decltype(&curl_easy_strerror) easy_strerror = nullptr;
  decltype(&curl_multi_add_handle) multi_add_handle = nullptr;
  decltype(&curl_multi_cleanup) multi_cleanup = nullptr;
  decltype(&curl_multi_info_read) multi_info_read = nullptr;
  decltype(&curl_multi_init) multi_init = nullptr;
  decltype(&curl_multi_perform) multi_perform = nullptr;
  decltype(&curl_multi_poll) multi_poll = nullptr;
  decltype(&curl_multi_remove_handle) multi_remove_handle = nullptr;
  decltype(&curl_multi_setopt) multi_setopt = nullptr;
  decltype(&curl_multi_socket_action) multi_socket_action = nullptr;
  decltype(&curl_multi_wakeup) multi_wakeup = nullptr;
  decltype(&curl_slist_append) slist_append = nullptr;
  decltype(&curl_slist_free_all) slist_free_all = nullptr;
};

// Loads libcurl once per process; may be called from any thread. Errors: kConfig if it is not installed or older than 7.80; the next call
// tries again.
KUBE_EXPORT Result<void> LoadCurl();
// Requires: LoadCurl has succeeded.
KUBE_EXPORT const LibCurl& Curl();

// Loads it from any file. Errors: kConfig.
Result<LibCurl> LoadCurlFrom(const char* file);

}  // namespace kube::internal
