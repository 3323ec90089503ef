#include "transport/curl/libcurl.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "kube/base/mutex.h"

namespace kube::internal {
namespace {

// The name of its binary interface, which has been the same since 2006.
constexpr const char* kFile = "libcurl.so.4";

constexpr unsigned kOldest = 0x075000;

Mutex loading;
LibCurl loaded;  // written once, under `loading`
bool is_loaded KUBE_GUARDED_BY(loading) = false;

}  // namespace

Result<LibCurl> LoadCurlFrom(const char* file) {
  const auto fail = [&]() -> Error {
    const char* why = dlerror();  // NOLINT(concurrency-mt-unsafe): of this thread
    return Error(ErrorKind::kConfig,
                 fmt::format("libcurl cannot be loaded, and HTTP/1.1, proxies and exec, attach and port-forward need it: "
                             "install it (Debian: libcurl4) ({})",
                             why == nullptr ? file : why));
  };
  void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);  // for the life of the process
  if (library == nullptr) return fail();
  LibCurl lib;
  bool complete = true;
  const auto get = [&](auto& function, const char* name) {
    void* found = dlsym(library, name);
    function = reinterpret_cast<std::decay_t<decltype(function)>>(found);
    complete = complete && found != nullptr;
  };
  decltype(&curl_version_info) version_info = nullptr;
  get(version_info, "curl_version_info");
  decltype(&curl_global_init) global_init = nullptr;
  get(global_init, "curl_global_init");
  get(lib.easy_cleanup, "curl_easy_cleanup");
  get(lib.easy_getinfo, "curl_easy_getinfo");
  get(lib.easy_init, "curl_easy_init");
  get(lib.easy_pause, "curl_easy_pause");
  get(lib.easy_perform, "curl_easy_perform");
  get(lib.easy_recv, "curl_easy_recv");
  get(lib.easy_reset, "curl_easy_reset");
  get(lib.easy_send, "curl_easy_send");
  get(lib.easy_setopt, "curl_easy_setopt");
  get(lib.easy_strerror, "curl_easy_strerror");
  get(lib.multi_add_handle, "curl_multi_add_handle");
  get(lib.multi_cleanup, "curl_multi_cleanup");
  get(lib.multi_info_read, "curl_multi_info_read");
  get(lib.multi_init, "curl_multi_init");
  get(lib.multi_perform, "curl_multi_perform");
  get(lib.multi_poll, "curl_multi_poll");
  get(lib.multi_remove_handle, "curl_multi_remove_handle");
  get(lib.multi_setopt, "curl_multi_setopt");
  get(lib.multi_socket_action, "curl_multi_socket_action");
  get(lib.multi_wakeup, "curl_multi_wakeup");
  get(lib.slist_append, "curl_slist_append");
  get(lib.slist_free_all, "curl_slist_free_all");
  if (!complete) return fail();
  // Older ones do not know some of the options, the CA among them.
  if (const unsigned version = version_info(CURLVERSION_NOW)->version_num; version < kOldest) {
    return Error(ErrorKind::kConfig, fmt::format("{} is too old ({:x}): kubexx needs libcurl 7.80", file, version));
  }
  if (global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return fail();
  return lib;
}

Result<void> LoadCurl() {
  MutexLock lock(loading);
  if (is_loaded) return {};
  Result<LibCurl> lib = LoadCurlFrom(kFile);
  if (!lib) return lib.error();
  loaded = *lib;
  is_loaded = true;
  return {};
}

const LibCurl& Curl() { return loaded; }

}  // namespace kube::internal
